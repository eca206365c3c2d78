"""The protocol draws: one sampler for all arms, figures against scikit-learn, and the page."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from mgvae import MGVAE
from mgvae.experiments import Cell
from mgvae.experiments.tables import LabelledTable, NumericEncoder
from mgvae_paper import draws
from mgvae_paper.draws import FIGURES, evaluate_arms
from mgvae_paper.draws_page import arm_scores, draws_parts
from mgvae_paper.store import open_store
from mgvae_paper.tables import find_table

ARMS = {
    "nothing": {"n_draws": 1, "share": 0.0, "bootstrap": False},
    "BalancedRandomForest": {"ensemble": "BalancedRandomForest"},
    "no VAE as BalancedClassifier": {"sampler": "no VAE", "n_draws": 3, "calibrated": True},
    "BalancedClassifier": {"sampler": "MGVAE", "n_draws": 3, "calibrated": True},
}


@pytest.fixture
def result(monkeypatch):
    rng = np.random.default_rng(0)
    y = (np.arange(240) % 6 == 0).astype(np.int64)
    numbers = rng.normal(size=(240, 2)) + 1.5 * y[:, None]
    table = pa.table({"a": numbers[:, 0], "b": numbers[:, 1], "c": rng.choice(["x", "y"], 240)})
    data = LabelledTable(table, y)
    fits = []

    def quick(**options):
        fits.append(options)
        return MGVAE(pretrain_steps=5, finetune_steps=5, **options)

    monkeypatch.setattr(draws, "read_labelled_table", lambda *_: data)
    monkeypatch.setattr(draws, "MGVAE", quick)
    parameters = {
        "folds": {"number": 3, "max_rows": 1000},
        "classifiers": {"logistic": {}, "knn": {}},
        "arms": ARMS,
    }
    return data, evaluate_arms(Cell("ecoli1", "arms", "draws", parameters=parameters), None), fits


def test_one_sampler_a_fold_and_nothing_is_what_scikit_learn_says(result):
    data, found, fits = result
    assert len(fits) == len(found["folds"]) == 3
    for number, fold in enumerate(found["folds"]):
        assert set(fold["arms"]["knn"]) == set(ARMS)
        train, test = data.split(3, 0, 0, number)
        encoder = NumericEncoder().fit(data.X.take(train))
        Z, Z_test = (encoder.transform(data.X.take(rows)) for rows in (train, test))
        Z, Z_test = (np.column_stack([z[:, :2], z[:, 2:] == 0, z[:, 2:] == 1]) for z in (Z, Z_test))
        said = LogisticRegression(max_iter=1000).fit(Z, data.y[train]).predict_proba(Z_test)[:, 1]
        figures = fold["arms"]["logistic"]["nothing"]
        expected = 100 * roc_auc_score(data.y[test], said)
        assert figures["roc_auc"] == pytest.approx(expected, abs=1e-3)
        assert figures["log_loss"] == pytest.approx(log_loss(data.y[test], said), abs=1e-3)
        assert "gm_tuned" not in figures
        assert set(FIGURES) < set(fold["arms"]["logistic"]["BalancedClassifier"])
        forests = [fold["arms"][name]["BalancedRandomForest"] for name in ("logistic", "knn")]
        assert forests[0] == forests[1]


def test_the_page_has_means_over_the_tables_there_are(tmp_path):
    store, rng = open_store(tmp_path), np.random.default_rng(0)
    cells = find_table("draws").cells("draws", seeds=1, only=["arms"])[:4]
    assert draws_parts(store) == []
    for cell in cells:
        figures = {
            arm: {name: float(rng.random()) for name in (*FIGURES, "seconds")}
            for arm in cell.parameters["arms"]
        }
        folds = [{"seconds": 1.0, "arms": {"knn": figures, "mlp": figures}}]
        store.put(cell, {"folds": folds, "commit": "abc"})
    scores = arm_scores(store, "arms")["ap"]["BalancedClassifier"]
    first = store.get(cells[0])["folds"][0]["arms"]["knn"]["BalancedClassifier"]["ap"]
    assert scores[cells[0].dataset] == pytest.approx(first)
    text = "\n".join(draws_parts(store))
    for said in ("4 of 57 tables", "1 of 3 seeds", "revision 1", "BalancedClassifier against"):
        assert said in text


def test_main_arms_of_the_first_seed_come_first():
    table = find_table("draws")
    assert len(table.columns("draws")) == 57
    cells = table.cells("draws", only=["arms"])
    assert len(cells) == 3 * 57
    assert {cell.seed for cell in cells[:57]} == {0}
