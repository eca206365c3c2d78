"""Figures, marks, forms and tests."""

import csv
import io
import statistics
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from mgvae.errors import DataError
from mgvae_paper.page import write_page
from mgvae_paper.ranks import _alike, rank_methods
from mgvae_paper.render import FORMATS, render
from mgvae_paper.store import open_store
from mgvae_paper.summary import summarise
from mgvae_paper.tables import find_table

TABLE = find_table("water_quality")
VALUES = {"ERM": [50.0, 52.0, 54.0], "SMOTE": [70.0, 71.0, 72.0], "MGVAE": [71.0, 71.0, 71.0],
          "LDAM": [60.0]}  # fmt: skip


def fill(store, protocol="paper", table=TABLE, values=VALUES, shift=0.0):
    for row in table.rows(protocol):
        for column in table.columns(protocol):
            for seed, value in enumerate(values.get(row.name, [])):
                figures = dict.fromkeys(("b_acc", "acsa", "gm", "roc_auc", "ap"), value + shift)
                tuned = dict.fromkeys(("b_acc", "acsa", "gm"), value + 20.0)
                store.put(
                    row.cell(column, protocol, "full", seed),
                    {"metrics": figures, "tuned": tuned, "seconds": {"classifier": 36.0}},
                )
    return store


@pytest.fixture
def store(tmp_path):
    return fill(open_store(tmp_path / "results"))


def test_means_spreads_and_marks(store):
    entries = summarise(TABLE, "paper", store).entries
    erm = entries["ERM", "water_quality", "gm"]
    assert (erm.mean, erm.sd, erm.seeds, erm.paper) == (52.0, 2.0, 3, 0.0)
    marks = {row: entries[row, "water_quality", "gm"].mark for row in VALUES}
    assert marks == {"ERM": "", "SMOTE": "best", "MGVAE": "best", "LDAM": "second"}
    assert entries["LDAM", "water_quality", "gm"].sd is None
    assert ("ROS", "water_quality", "gm") not in entries


def test_every_form_shows_the_figure_the_mark_and_the_papers_value(store):
    summary = summarise(TABLE, "paper", store)
    for form, best, second in [
        ("md", "**71.0** ± 1.0 (56.8, +14.2)", "<u>60.0</u> (65.8, -5.8)"),
        ("html", "<b>71.0</b> ± 1.0 (56.8, +14.2)", "<u>60.0</u> (65.8, -5.8)"),
        ("latex", r"\textbf{71.0} $\pm$ 1.0 (56.8, +14.2)", r"\underline{60.0} (65.8, -5.8)"),
    ]:
        text = render(summary, form)
        assert best in text, form
        assert second in text, form
    assert "Fewer than 3 seeds: LDAM (1)." in render(summary)


def test_csv_has_the_promised_columns(store):
    text = render(summarise(TABLE, "paper", store), "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0])[:12] == [
        "dataset", "method", "b_acc", "acsa", "gm", "b_acc_sd", "acsa_sd", "gm_sd", "seeds",
        "paper_b_acc", "paper_acsa", "paper_gm",
    ]  # fmt: skip
    assert [row["method"] for row in rows] == [r.name for r in TABLE.all_rows if r.name in VALUES]
    smote = next(row for row in rows if row["method"] == "SMOTE")
    assert float(smote["gm"]) == statistics.fmean(VALUES["SMOTE"])
    assert (smote["seeds"], smote["paper_gm"]) == ("3", "51.90")


def test_protocols_are_not_mixed(tmp_path):
    store = fill(open_store(tmp_path), "clean")
    assert summarise(TABLE, "paper", store).entries == {}
    entries = summarise(TABLE, "clean", store).entries
    assert all(entry.paper is None for entry in entries.values())
    tuned = entries["ERM (tuned threshold)", "water_quality", "gm"]
    assert tuned.mean == entries["ERM", "water_quality", "gm"].mean + 20.0


def test_a_shortened_budget_steps_in_and_is_marked(tmp_path):
    store, table = open_store(tmp_path), find_table("mnist")
    (row,) = table.rows("paper", only=["mgvae"])
    store.put(
        row.cell("mnist-100", "paper", "cpu", 0), {"metrics": {"b_acc": 1, "acsa": 2, "gm": 3}}
    )
    text = render(summarise(table, "paper", store))
    assert "| 1.0 (85.0, -84.0)† |" in text
    assert "shortened budget: cpu" in text
    assert "†" not in render(summarise(table, "paper", store, budget="full"))


def test_an_earlier_revision_steps_in_until_there_is_a_new_one_and_is_marked(tmp_path):
    store = open_store(tmp_path)
    (row,) = (row for row in TABLE.rows("clean") if row.name == "MGVAE")
    declared = row.cell("water_quality", "clean", "full", 0)
    revision = declared.parameters["revision"]
    earlier = replace(declared, parameters={**declared.parameters, "revision": revision - 1})

    def shown():
        filled = summarise(TABLE, "clean", store)
        return filled.entries["MGVAE", "water_quality", "gm"], render(filled)

    store.put(earlier, {"metrics": {"gm": 60.0}, "seconds": {}})
    entry, page = shown()
    assert (entry.mean, entry.is_earlier) == (60.0, True)
    assert "60.0**‡" in page
    assert "‡ an earlier revision" in page
    store.put(declared, {"metrics": {"gm": 70.0}, "seconds": {}})
    entry, page = shown()
    assert (entry.mean, entry.is_earlier) == (70.0, False)
    assert "‡" not in page


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_table_can_be_written(tmp_path, form):
    assert render(summarise(TABLE, "clean", open_store(tmp_path)), form).endswith("\n")


def test_ranks_against_scipy_and_the_literature():
    rng = np.random.default_rng(0)
    table = rng.random((14, 4))
    scores = {f"m{j}": {f"d{i}": table[i, j] for i in range(14)} for j in range(4)}
    ranking = rank_methods(scores)
    assert ranking.p_value == pytest.approx(friedmanchisquare(*table.T).pvalue)
    assert sum(ranking.mean_ranks.values()) == pytest.approx(10.0)
    assert list(ranking.mean_ranks.values()) == sorted(ranking.mean_ranks.values())
    assert ranking.critical_difference == pytest.approx(1.25, abs=0.005)  # k=4, N=14, 5 %


def test_ties_share_their_rank_and_incomplete_data_sets_are_left_out():
    scores = {"a": {"x": 1, "y": 5, "z": 0}, "b": {"x": 1, "y": 6}, "c": {"x": 0, "y": 7, "z": 3}}
    ranking = rank_methods(scores)
    assert ranking.n_datasets == 2
    assert ranking.mean_ranks == {"b": 1.75, "c": 2.0, "a": 2.25}
    with pytest.raises(DataError, match="three methods"):
        rank_methods({"a": {"x": 1}, "b": {"x": 2}})


def test_bars_join_all_that_are_alike_and_no_others():
    assert _alike([1.0, 1.4, 2.2, 3.0, 5.0], 1.3) == [(0, 2), (2, 3)]
    assert _alike([1.0, 3.0, 5.0], 1.0) == []


def test_the_page_keeps_the_reading_and_ranks_the_methods(tmp_path):
    store = open_store(tmp_path / "results")
    for shift, name in enumerate(("water_quality", "isolet", "musk")):
        fill(store, "clean", find_table(name), shift=float(shift))
    page = tmp_path / "pages" / "results.md"
    page.parent.mkdir()
    reading = page.with_name("results-reading.md")
    words = "# Results\n\nMGVAE helps a little.\n\n"
    words += "### Isolet, letters A and B against the rest\n\nNo.\n"
    reading.write_text(words, encoding="utf-8")
    write_page(store, page)
    write_page(store, page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Results\n\nMGVAE helps a little.\n\n## Protocol")
    assert text.count("MGVAE helps a little.") == 1
    assert text.count("### Isolet, letters A and B against the rest\n\nNo.\n\n|") == 1
    assert reading.read_text(encoding="utf-8") == words
    assert "Friedman" in text
    assert "## Protocol `paper`" not in text
    for picture in ("ranks-gm.png", "ranks-roc_auc.png"):
        assert (page.parent / "figures" / picture).read_bytes().startswith(b"\x89PNG")
        assert f"(figures/{picture})" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [("## No such heading\n\nWell.", "'## No such heading', which results.md does not have"),
     ("Well.\n\n# Results", "begins with a heading of its page; it has 'Well.'")],
)  # fmt: skip
def test_a_reading_that_does_not_fit_its_page_leaves_the_page_as_it_is(words, said, tmp_path):
    page = tmp_path / "results.md"
    page.write_text("as it was")
    page.with_name("results-reading.md").write_text(words)
    with pytest.raises(DataError, match=said):
        write_page(open_store(tmp_path / "results"), page)
    assert page.read_text() == "as it was"


def test_the_page_shows_the_figures_that_have_been_drawn(tmp_path):
    page = tmp_path / "results.md"
    write_page(open_store(tmp_path / "results"), page)
    assert "## Figures" not in page.read_text(encoding="utf-8")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "pretraining.png").write_bytes(b"")
    write_page(open_store(tmp_path / "results"), page)
    text = page.read_text(encoding="utf-8")
    assert "(figures/pretraining.png)" in text
    assert "(figures/exemplars-mnist.png)" not in text
