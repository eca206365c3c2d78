"""BalancedClassifier: Bayes' rule, scikit-learn's contract, and better probabilities."""

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imblearn.over_sampling import SMOTE, RandomOverSampler
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from mgvae import MGVAE, BalancedClassifier
from mgvae.classifiers.balanced import correct_priors
from mgvae.errors import DataError


@parametrize_with_checks(
    [
        BalancedClassifier(LogisticRegression(), RandomOverSampler(random_state=0)),
        BalancedClassifier(
            DecisionTreeClassifier(random_state=0),
            RandomOverSampler(random_state=0),
            calibration="sigmoid",
            decide="corrected",
            random_state=0,
        ),
    ]
)
def test_scikit_learns_contract(estimator: BalancedClassifier, check: Callable[..., None]) -> None:
    check(estimator)


shares = st.lists(st.integers(1, 50), min_size=3, max_size=3).map(lambda n: np.array(n) / sum(n))


@given(shares, shares, st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_the_correction_is_bayes_rule(
    true: np.ndarray, trained: np.ndarray, log_likelihoods: list[float]
) -> None:
    likelihoods = np.exp(log_likelihoods)
    at_trained = likelihoods * trained / (likelihoods @ trained)
    at_true = likelihoods * true / (likelihoods @ true)
    np.testing.assert_allclose(correct_priors(at_trained[None], true, trained)[0], at_true)


def test_the_correction_survives_certainty() -> None:
    found = correct_priors(np.array([[0.0, 1.0]]), np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    assert found.sum() == pytest.approx(1.0)


def test_a_model_that_knows_the_truth_is_given_back() -> None:
    """Naive Bayes on copied rows differs from naive Bayes on the rows by its priors alone."""
    X, y = make_classification(2000, 4, n_redundant=0, weights=[0.9], random_state=0)
    sampler = RandomOverSampler(random_state=0)
    model = BalancedClassifier(GaussianNB(), sampler).fit(X, y)
    inner = model.estimator_
    same = GaussianNB(priors=np.bincount(y) / len(y)).fit(*sampler.fit_resample(X, y))
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), inner.predict(X))
    corrected = clone(model).set_params(decide="corrected").fit(X, y)
    np.testing.assert_array_equal(corrected.predict(X), same.predict(X))


def split(n_classes: int) -> list[np.ndarray]:
    weights = [0.93] if n_classes == 2 else [0.85, 0.1]
    X, y = make_classification(
        3000, 8, n_informative=5, n_classes=n_classes, weights=weights, class_sep=0.7,
        random_state=3,
    )  # fmt: skip
    return train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("calibration", [None, "sigmoid", "isotonic"])
def test_probabilities_improve(n_classes: int, calibration: str | None) -> None:
    X, X_test, y, y_test = split(n_classes)
    brier, logs = {}, {}
    for name, options in {
        "uncorrected": {"correct": "none"},
        "corrected": {"calibration": calibration, "random_state": 0},
    }.items():
        model = BalancedClassifier(LogisticRegression(), SMOTE(random_state=0), **options)
        said = model.fit(X, y).predict_proba(X_test)
        np.testing.assert_allclose(said.sum(1), 1.0)
        brier[name] = np.mean(np.sum((said - np.eye(n_classes)[y_test]) ** 2, axis=1))
        logs[name] = log_loss(y_test, said)
    assert brier["corrected"] < 0.7 * brier["uncorrected"]
    if calibration != "isotonic":  # which says 0 of what happens after all
        assert logs["corrected"] < 0.7 * logs["uncorrected"]


@pytest.mark.parametrize("name", ["cm1", "abalone"])
def test_real_tables(name: str, data_folder: Callable[[str], Path]) -> None:
    table = pd.read_csv(data_folder(f"tabular/{name}.csv.gz"))
    X, y = table.drop(columns="target"), table["target"]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    estimator = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    sampler = MGVAE(pretrain_steps=200, finetune_steps=100, random_state=0)
    model = BalancedClassifier(estimator, sampler).fit(X, y)
    raw = model.estimator_.predict_proba(X_test)
    said = model.predict_proba(X_test)
    assert log_loss(y_test, said) < log_loss(y_test, raw)
    assert brier_score_loss(y_test, said[:, 1]) < brier_score_loss(y_test, raw[:, 1])
    assert abs(said[:, 1].mean() - y_test.mean()) < abs(raw[:, 1].mean() - y_test.mean())
    assert list(model.feature_names_in_) == list(X.columns)


def test_calibration_rows_are_seen_by_nobody_else() -> None:
    seen = []

    class Spy(RandomOverSampler):
        def fit_resample(self, X, y):
            seen.append(len(y))
            return super().fit_resample(X, y)

    X, y = make_classification(200, weights=[0.9], random_state=0)
    model = BalancedClassifier(LogisticRegression(), Spy(random_state=0), calibration="sigmoid")
    model.set_params(calibration_fraction=0.25).fit(X, y)
    assert seen == [150]


def test_no_probabilities_where_there_are_none() -> None:
    model = BalancedClassifier(LinearSVC(), RandomOverSampler())
    assert not hasattr(model, "predict_proba")
    X, y = make_classification(100, weights=[0.8], random_state=0)
    assert set(model.fit(X, y).predict(X)) <= {0, 1}


def test_errors() -> None:
    X, _ = make_classification(100, weights=[0.8], random_state=0)
    few = np.zeros(100, int)
    few[0] = 1
    model = BalancedClassifier(LogisticRegression(), RandomOverSampler(), calibration="sigmoid")
    with pytest.raises(DataError, match="calibration=None"):
        model.fit(X, few)

    class Loses(RandomOverSampler):
        def fit_resample(self, X, y):
            return X[y < 2], y[y < 2]

    with pytest.raises(DataError, match="keep every class"):
        BalancedClassifier(LogisticRegression(), Loses()).fit(X, np.arange(100) % 3)
    parameters = inspect.signature(BalancedClassifier).parameters
    assert set(parameters) == set(BalancedClassifier._parameter_constraints)
