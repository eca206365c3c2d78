"""Where published numbers lie: spreads, their table, their figure, their place on the page."""

import json
import statistics

import pytest

from mgvae.errors import DataError
from mgvae_paper.cli import app
from mgvae_paper.grids import draw_spreads, gather_spreads, spread_table
from mgvae_paper.page import write_page
from mgvae_paper.store import open_store
from mgvae_paper.tables import find_table

GRID = find_table("grid_musk")


@pytest.fixture
def store(tmp_path):
    """Fill a part of Musk's grid: the value grows from choice to choice, a seed is worth 1."""
    store = open_store(tmp_path / "results")
    for number, row in enumerate(GRID.rows("paper")[:10]):
        for seed in range(3 if number < 9 else 1):
            found = {"metrics": {"b_acc": 85.0 + number + seed}, "seconds": {"classifier": 1.0}}
            store.put(row.cell("musk", "paper", "full", seed), found)
    return store


def test_a_spread_is_that_of_means_over_seeds(store):
    (spread,) = gather_spreads(store)
    assert spread.column == "musk"
    assert spread.published == (92.4, 1.2)
    assert spread.own is None
    assert spread.declared == len(GRID.rows("paper"))
    means = [86.0 + number for number in range(9)] + [94.0]
    assert [point.mean for point in spread.points] == sorted(means)
    assert spread.above == sum(mean >= 92.4 for mean in means)
    assert spread.trainings_above == 1 + 2 + 3 + 1  # of the last four choices
    best = spread.points[-1]
    assert best.settings in [row.settings for row in GRID.rows("paper")[8:10]]
    line = spread_table([spread]).splitlines()[-1]
    assert f"| 10 of {spread.declared} (28) | 86.0 | {statistics.median(means):.1f} |" in line
    assert "| 94.0 (+1.6) |" in line
    assert line.endswith(f"| {spread.above} (7) |")


def test_the_main_tables_row_stands_beside_it(store):
    (row,) = (row for row in find_table("musk").rows("paper") if row.name == "MGVAE")
    for seed, value in enumerate((80.0, 83.0)):
        store.put(row.cell("musk", "paper", "full", seed), {"metrics": {"b_acc": value}})
    (spread,) = gather_spreads(store)
    assert spread.own == 81.5


def test_the_page_says_that_the_test_set_chose(store, tmp_path):
    write_page(store, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "no evidence that the method works" in text
    assert "| musk | 92.4 ± 1.2 |" in text
    assert (tmp_path / "figures" / "grids.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_shows_what_was_varied(store, tmp_path):
    lines = [
        {"dataset": "musk", "varied": "nothing", "b_acc": [80.0, 82.0]},
        {"dataset": "isolet", "varied": "nothing", "b_acc": [90.0]},
        {"dataset": "musk", "varied": "the noise", "b_acc": [84.0, 84.0]},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (store.folder / "differences.jsonl").write_text(text, encoding="utf-8")
    write_page(store, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| nothing | 81.0 ± 1.4 (+0.0) | 90.0 (+0.0) |" in page
    assert "| the noise | 84.0 ± 0.0 (+3.0) |  |" in page


def test_without_results_there_is_nothing_to_draw(tmp_path):
    empty = open_store(tmp_path)
    assert gather_spreads(empty) == []
    with pytest.raises(DataError, match="grid_musk"):
        draw_spreads([], tmp_path / "grids.png")


def test_the_figure_by_its_command(store, tmp_path, capsys):
    picture = tmp_path / "strip.png"
    app(
        ["figure", "grids", "-o", str(picture), "--results", str(store.folder)],
        standalone_mode=False,
    )
    assert picture.stat().st_size > 1000
    assert "Wrote" in capsys.readouterr().out
