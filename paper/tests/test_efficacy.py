"""Means, ranks, tests and the page over many tables, from results made up to be known."""

import csv
import io

import numpy as np
import pytest
from scipy.stats import wilcoxon

from mgvae.cli.program import run_app
from mgvae_paper.cli import app
from mgvae_paper.efficacy import FIGURES_OF_MERIT, gather
from mgvae_paper.ranks import compare_pairs
from mgvae_paper.store import open_store
from mgvae_paper.tables import find_table

TABLE = find_table("efficacy")
CELLS = TABLE.cells("folds", seeds=2, budget="cpu")
CLASSIFIERS = ("lightgbm", "knn")


def made_up(rng, shift):
    names = (*FIGURES_OF_MERIT, "gm_prevalence", "balanced_accuracy_prevalence")
    folds = [
        {
            "seconds": 0.5,
            "classifiers": {
                c: {n: 50 + shift + float(rng.random()) for n in names} for c in CLASSIFIERS
            },
        }
        for _ in range(3)
    ]
    return {"metrics": {}, "folds": folds, "seconds": {"sampler": 1.5}, "commit": "abc"}


@pytest.fixture
def store(tmp_path):
    """Fill all cells but those of the last table, whose MGVAE is missing."""
    store, rng = open_store(tmp_path / "results"), np.random.default_rng(0)
    *_, last = TABLE.columns("folds")
    for cell in CELLS:
        if cell.dataset != last or cell.method != "MGVAE":
            store.put(cell, made_up(rng, 5.0 if cell.method == "MGVAE" else 0.0))
    return store


def all_values(store, method, metric, classifier=None):
    return {
        dataset: np.mean(
            [
                fold["classifiers"][c][metric]
                for cell in CELLS
                if (cell.dataset, cell.method) == (dataset, method)
                for fold in store.get(cell)["folds"]
                for c in ([classifier] if classifier else CLASSIFIERS)
            ]
        )
        for dataset in TABLE.columns("folds")[:-1]
    }


def test_a_table_counts_once_and_only_where_all_methods_have_it(store):
    found = gather(TABLE, store)
    assert list(found.datasets) == TABLE.columns("folds")[:-1]
    for metric, classifier in (("gm", None), ("ap", "knn")):
        scores = found.scores(metric, classifier)
        for method in ("nothing", "MGVAE"):
            expected = all_values(store, method, metric, classifier)
            assert scores[method] == pytest.approx(expected)
    mean = np.mean(list(all_values(store, "MGVAE", "gm").values()))
    entry = found.summary().entries["MGVAE", "all tables", "gm"]
    assert (entry.mean, entry.seeds, entry.mark) == (pytest.approx(mean), 2, "best")


def test_thresholds_are_views_of_doing_nothing(store):
    found = gather(TABLE, store)
    nothing = found.scores("gm_tuned")["nothing"]
    assert found.scores("gm")["nothing (tuned threshold)"] == pytest.approx(nothing)
    expected = all_values(store, "nothing", "gm_prevalence")
    assert found.scores("gm")["nothing (prevalence threshold)"] == pytest.approx(expected)
    assert not [row for row in found.scores("ap") if "threshold" in row]


def test_pairs_against_scipy():
    rng = np.random.default_rng(1)
    a, b, c = rng.random((3, 12)) + np.array([[0.3], [0.0], [0.3]])
    scores = {n: dict(enumerate(v)) for n, v in (("a", a), ("b", b), ("c", c), ("d", a))}
    pairs = {pair.other: pair for pair in compare_pairs(scores, "a")}
    raw = {"b": wilcoxon(a - b).pvalue, "c": wilcoxon(a - c).pvalue}
    assert pairs["b"].p_value == pytest.approx(min(1, 3 * raw["b"]))
    assert pairs["c"].p_value == pytest.approx(min(1, 2 * raw["c"]))
    assert (pairs["d"].p_value, pairs["d"].wins, pairs["d"].losses) == (1.0, 0, 0)
    assert pairs["b"].difference == pytest.approx(np.mean(a - b))
    assert (pairs["b"].wins, pairs["b"].losses) == ((a > b).sum(), (a < b).sum())


def test_page_table_and_figures_from_the_command(store, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "efficacy-reading.md").write_text("# Efficacy\n\nIn short: it helps.\n")
    assert run_app(app, "mgvae-paper", ["page", "efficacy"]) == 0
    text = (tmp_path / "pages" / "efficacy.md").read_text()
    assert text.count("In short: it helps.") == 1
    for said in ("Friedman", "MGVAE against", "By classifier", "shortened budget", "25 tables"):
        assert said in text
    pictures = {p.name for p in (tmp_path / "pages" / "figures").iterdir()}
    assert {"efficacy-ranks.png", "efficacy-ranks-ap.png", "efficacy-heat.png"} <= pictures
    assert all(f"(figures/{picture})" in text for picture in pictures)
    assert run_app(app, "mgvae-paper", ["page", "results"]) == 0
    assert "Real tables" not in (tmp_path / "pages" / "results.md").read_text()
    assert run_app(app, "mgvae-paper", ["figure", "efficacy-heat-gm_tuned"]) == 0
    assert (tmp_path / "efficacy-heat-gm_tuned.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert run_app(app, "mgvae-paper", ["table", "efficacy", "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(lines) == 26 * 11  # 25 tables and their mean
    assert lines[-1]["dataset"] == "all tables"
    for form in ("md", "html", "latex"):
        assert run_app(app, "mgvae-paper", ["table", "efficacy", "--format", form]) == 0
        assert capsys.readouterr().out.count("MGVAE as published") == 1


def test_without_results_there_is_a_page_and_no_figure(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_app(app, "mgvae-paper", ["page", "efficacy"]) == 0
    for name in ("efficacy-heat", "efficacy-ranks"):
        assert run_app(app, "mgvae-paper", ["figure", name]) != 0
        assert capsys.readouterr().err.count("\n") == 1


def test_seeds_of_images_share_draws_and_the_first_are_those_of_the_published_tables():
    images = find_table("efficacy_images")
    cells = images.cells("clean", only=["ERM"])
    published = {cell.key for cell in find_table("mnist").cells("clean", only=["ERM"])}
    mnist = [cell for cell in cells if cell.dataset.startswith("mnist")]
    assert len(cells) == 4 * 6
    assert {cell.key for cell in mnist if cell.seed < 3} == published
    draws = [cell.parameters.get("draw", cell.seed) for cell in mnist]
    assert draws == [seed % 3 for seed in range(6) for _ in range(2)]
