"""The protocol draws: one sampler for all arms, figures against scikit-learn, and the page."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline

from mgvae import MGVAE, BalancedClassifier
from mgvae.experiments import Cell
from mgvae.experiments.estimators import make_oversampler
from mgvae.experiments.tables import IndicatorEncoder, LabelledTable, NumericEncoder
from mgvae_paper import draws
from mgvae_paper.controls import BorrowedDifference
from mgvae_paper.draws import FIGURES, evaluate_arms
from mgvae_paper.draws_page import DESIGN, arm_scores, draws_parts, row_spreads
from mgvae_paper.shared_members import EnsembleArm, Fold, SharedMembers
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
    cells = find_table("draws").cells("draws", seeds=1, only=["arms"])[:12]
    assert draws_parts(store) == []
    assert set(DESIGN) < set(find_table("draws").columns("draws"))
    for cell in cells:
        figures = {
            arm: {name: float(rng.random()) for name in (*FIGURES, "seconds")}
            for arm in cell.parameters["arms"]
        }
        figures = {arm: {**by, "said": [10, 990]} for arm, by in figures.items()}
        other = {arm: {**by, "ap": by["ap"] + 1.0} for arm, by in figures.items()}
        folds = [{"seconds": 1.0, "watched": [4, 7], "arms": {"knn": figures, "mlp": other}}]
        store.put(cell, {"folds": folds, "commit": "abc"})
    scores = arm_scores(store, "arms", "knn")["ap"]["BalancedClassifier"]
    first = store.get(cells[0])["folds"][0]["arms"]["knn"]["BalancedClassifier"]["ap"]
    assert scores[cells[0].dataset] == pytest.approx(first)
    scores = arm_scores(store, "arms")["ap"]["BalancedClassifier"]
    assert scores[cells[0].dataset] == pytest.approx(first + 0.5)
    assert row_spreads(store) == {}
    again = find_table("draws").cells("draws", seeds=2, only=["arms"])[57]
    said = {arm: {**by, "said": [30, 990]} for arm, by in figures.items()}
    folds = [{"seconds": 1.0, "watched": [4, 7], "arms": {"knn": said, "mlp": said}}]
    assert again.dataset == cells[0].dataset
    store.put(again, {"folds": folds, "commit": "abc"})
    spread = row_spreads(store)["knn", "BalancedClassifier"]  # of 1 and 3 points, and of 99 and 99
    assert spread == pytest.approx(np.sqrt(2) / 2)
    text, revision = "\n".join(draws_parts(store)), f"revision {again.parameters['revision']}"
    for said in (
        "12 of 57 tables",
        "2 of 3 seeds",
        "What it was to show",
        "Without the ten tables",
        revision,
        "BalancedClassifier against",
        "| mlp | BalancedRandomForest |",
    ):
        assert said in text


def test_main_arms_of_the_first_seed_come_first():
    table = find_table("draws")
    assert len(table.columns("draws")) == 57
    cells = table.cells("draws", only=["arms"])
    assert len(cells) == 3 * 57
    assert {cell.seed for cell in cells[:57]} == {0}


@pytest.mark.parametrize(
    "declared",
    [
        {"sampler": "MGVAE", "n_draws": 5, "calibrated": True},
        {"sampler": "no VAE", "n_draws": 2, "share": 0.5},
        {"sampler": "SMOTE", "n_draws": 2, "share": 1.0, "bootstrap": False},
    ],
)
def test_an_arm_is_what_balanced_classifier_gives(declared):
    rng = np.random.default_rng(1)
    y = (np.arange(180) % 6 == 0).astype(np.int64)
    numbers = rng.normal(size=(180, 2)) + y[:, None]
    table = pa.table({"a": numbers[:, 0], "b": numbers[:, 1], "c": rng.choice(["x", "y"], 180)})
    X, X_test = table.slice(0, 120), table.slice(120)
    y, y_test = y[:120], y[120:]
    encoder = NumericEncoder().fit(X)
    sampler = MGVAE(pretrain_steps=5, finetune_steps=5, random_state=0).fit(X, y)
    Z, Z_test = encoder.transform(X), encoder.transform(X_test)
    fold = Fold(X, Z, y, Z_test, y_test, None, encoder, sampler, 3)
    arm = EnsembleArm(**declared)
    combined, said, _ = SharedMembers(fold, 5).train(arm, "logistic", {"max_iter": 200})

    chain = make_pipeline(IndicatorEncoder(encoder.categorical_), LogisticRegression(max_iter=200))
    given = {
        "SMOTE": lambda: make_oversampler("SMOTE", 3, y, encoder.categorical_),
        "no VAE": lambda: BorrowedDifference(random_state=3),
        "MGVAE": lambda: FrozenEstimator(sampler),
    }[declared["sampler"]]()
    options = {k: v for k, v in declared.items() if k in ("n_draws", "share", "bootstrap")}
    calibration = "auto" if declared.get("calibrated") else None
    if declared["sampler"] == "SMOTE":
        rows, rows_test = Z, Z_test
    else:
        rows, rows_test = X, X_test
        chain = make_pipeline(FrozenEstimator(encoder), *(clone(step) for _, step in chain.steps))
    model = BalancedClassifier(chain, given, calibration=calibration, random_state=3, **options)
    expected = model.fit(rows, y).predict_proba(rows_test)[:, 1]
    np.testing.assert_allclose(said, expected, atol=1e-12)
    np.testing.assert_allclose(combined.weights, model.member_weights_)
