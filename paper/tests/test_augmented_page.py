"""The tables and tests of images on top of augmentation, from results made up to be known."""

import re

import numpy as np
import pytest
from scipy.stats import wilcoxon

from mgvae_paper.augmented_page import augmented_parts
from mgvae_paper.store import open_store
from mgvae_paper.tables import find_table

TABLE = find_table("augmented_images")
SHOWN = ("ROS + both", "MGVAE + both", "SMOTE")


@pytest.fixture
def made(tmp_path):
    """Fill three rows; the second has one seed less than the others."""
    store, rng, figures = open_store(tmp_path / "results"), np.random.default_rng(0), {}
    for cell in TABLE.cells("clean", seeds=6, budget="cpu"):
        if cell.method not in SHOWN or (cell.method == "MGVAE + both" and cell.seed == 5):
            continue
        value = 80 + 5 * (cell.method == "MGVAE + both") + float(rng.normal(0, 3))
        figures[cell.method, cell.dataset, cell.seed] = value
        names = ("b_acc", "acsa", "gm", "roc_auc", "ap")
        tuned = {"threshold": 0.3, "b_acc": 1.0, "acsa": 1.0, "gm": value + 1}
        store.put(cell, {"metrics": dict.fromkeys(names, value), "tuned": tuned, "commit": "abc"})
    return store, figures


def test_pairs_are_of_the_draws_and_seeds_that_both_rows_have(made):
    store, figures = made
    *_, pairs = augmented_parts("augmented_images", store)
    for other in ("ROS + both", "SMOTE"):
        d = np.array(
            [
                value - figures[other, dataset, seed]
                for (method, dataset, seed), value in figures.items()
                if method == "MGVAE + both"
            ]
        )
        assert len(d) == 4 * 5
        line = next(x for x in pairs.splitlines() if x.startswith(f"| {other} |"))
        assert line.count(f"{d.mean():+.1f} ({(d > 0).sum()}:{(d < 0).sum()})") == 4
        for p in re.findall(r"p = ([\d.e-]+)", line):
            assert 0.99 * wilcoxon(d).pvalue <= float(p) <= 2.02 * wilcoxon(d).pvalue  # Holm's


def test_means_stand_in_a_table_for_each_data_set(made):
    store, figures = made
    parts = augmented_parts("augmented_images", store)
    tables = [part for part in parts if part.startswith("| method |")]
    assert len(tables) == 4
    for table, dataset in zip(tables, TABLE.columns("clean"), strict=True):
        own = [v for (m, d, _), v in figures.items() if (m, d) == ("SMOTE", dataset)]
        line = next(x for x in table.splitlines() if x.startswith("| SMOTE |"))
        found = [float(x) for x in re.findall(r"([\d.]+)(?:\*\*|</u>)? ±", line)]
        assert found == pytest.approx([np.mean(own)] * 3 + [np.mean(own) + 1], abs=0.051)
        assert "Fewer than 6 seeds: MGVAE + both (5)." in table


def test_there_is_nothing_to_say_without_results(tmp_path):
    assert augmented_parts("magnetic_tiles", open_store(tmp_path / "results")) == []
