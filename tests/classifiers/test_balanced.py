"""BalancedClassifier: honest out-of-bag predictions, Bayes' rule, decisions, and the contract."""

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.under_sampling import RandomUnderSampler
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from mgvae import MGVAE, BalancedClassifier, TorchClassifier
from mgvae.classifiers.balanced import correct_priors
from mgvae.errors import DataError, ParameterError

QUICK = {"pretrain_steps": 5, "finetune_steps": 5, "ewc_weight": 0.0}


def not_asked(estimator: BalancedClassifier) -> dict[str, str]:
    why = "a weight is not as many bootstrapped rows, but on average"
    checks = {
        "check_sample_weight_equivalence_on_dense_data": why,
        "check_sample_weight_equivalence_on_sparse_data": why,
    }
    if estimator.decide == "tuned":
        checks["check_classifiers_train"] = "it wants the most probable class, not a tuned one"
    return checks


@parametrize_with_checks(
    [
        BalancedClassifier(LogisticRegression(), RandomOverSampler(), n_draws=3, random_state=0),
        BalancedClassifier(DecisionTreeClassifier(), MGVAE(**QUICK), n_draws=5, random_state=0),
        BalancedClassifier(
            DecisionTreeClassifier(), MGVAE(**QUICK), n_draws=2, decide="tuned", random_state=0
        ),
    ],
    expected_failed_checks=not_asked,
)
def test_scikit_learns_contract(estimator: BalancedClassifier, check: Callable[..., None]) -> None:
    check(estimator)


def table(n: int = 400, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    weights = [0.88] if n_classes == 2 else [0.8, 0.12]
    return make_classification(
        n, 6, n_informative=4, n_classes=n_classes, weights=weights, class_sep=0.8,
        random_state=seed,
    )  # fmt: skip


# out of bag


class Spy(ClassifierMixin, BaseEstimator):
    """Knows which rows it has seen, says 1 of those, and of anything near to them too."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rows_, self.labels_ = np.asarray(X), np.asarray(y)
        return self

    def predict_proba(self, X):
        near = np.array([np.abs(self.rows_ - row).sum(1).min() < 1e-6 for row in np.asarray(X)])
        return np.stack([1.0 - near, near], axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(1)]


@pytest.mark.parametrize("sampler", [MGVAE(**QUICK), SMOTE()])
def test_out_of_bag_predictions_are_of_rows_never_seen(sampler) -> None:
    X, y = table(300)
    options = {"n_draws": 6, "share": 1.0, "calibration": None, "correct": "none"}
    model = BalancedClassifier(Spy(), sampler, **options, random_state=0).fit(X, y)
    said = model.oob_probabilities_
    known = ~np.isnan(said[:, 0])
    assert known.mean() > 0.8
    assert (said[known, 1] == 0).all()
    bags = [member.rows_[: len(y)] for member in model.estimators_]
    for bag in bags:  # stratified, and different
        assert len(np.unique(bag, axis=0)) < 0.75 * len(y)
    assert not np.array_equal(bags[0], bags[1])
    for member in model.estimators_:
        np.testing.assert_array_equal(np.bincount(member.labels_[: len(y)]), np.bincount(y))
        counts = np.bincount(member.labels_)
        assert counts[0] == counts[1]


def test_new_rows_start_from_the_bag_only(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(300)
    drawn = []
    draw = MGVAE.draw

    def overheard(self, n, label, random_state=None, *, among=None):
        made = draw(self, n, label, random_state, among=among)
        drawn.append((made, among))
        return made

    monkeypatch.setattr(MGVAE, "draw", overheard)
    model = BalancedClassifier(Spy(), MGVAE(**QUICK), n_draws=3, share=1.0, random_state=0)
    model.fit(X, y)
    assert len(drawn) == 3
    for member, (made, bag) in zip(model.estimators_, drawn, strict=True):
        np.testing.assert_array_equal(member.rows_[: len(y)], X[bag])
        np.testing.assert_array_equal(member.rows_[len(y) :], made.rows)
        assert np.isin(made.anchor_indices, bag).all()
        assert (y[made.anchor_indices] == 1).all()


def test_a_group_is_in_a_bag_or_out_of_it() -> None:
    X, y = table(300)
    groups = np.arange(300) // 5
    X[:, 0] = groups
    model = BalancedClassifier(
        Spy(), RandomOverSampler(), n_draws=5, share=0.0, calibration=None, random_state=0
    ).fit(X, y, groups=groups)
    assert not np.isnan(model.oob_probabilities_).all()
    for member in model.estimators_:
        seen, times = np.unique(member.rows_[:, 0], return_counts=True)
        assert len(seen) < 60
        assert (times % 5 == 0).all()  # whole groups
        assert set(member.labels_) == {0, 1}


def test_out_of_bag_probabilities_are_the_averages_of_members() -> None:
    X, y = table(200)
    model = BalancedClassifier(
        GaussianNB(), RandomOverSampler(), n_draws=4, share=0.5, calibration=None, random_state=0
    ).fit(X, y)
    n0, n1 = np.bincount(y)
    trained = np.array([n0, round(n0 / 2)]) / (n0 + round(n0 / 2))
    each = [
        correct_priors(member.predict_proba(X), np.array([n0, n1]) / 200, trained)
        for member in model.estimators_
    ]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(each, 0))
    known = ~np.isnan(model.oob_probabilities_[:, 0])
    said = model.oob_probabilities_[known]
    assert (np.min(each, 0)[known] <= said + 1e-9).all()
    assert (said <= np.max(each, 0)[known] + 1e-9).all()


def test_members_without_new_rows_are_judged_by_the_rows_that_judge_the_first() -> None:
    X, y = table(200)
    model = BalancedClassifier(Spy(), SMOTE(), n_draws=10, calibration=None, random_state=0)
    members = model.fit(X, y).estimators_
    assert model.member_shares_ == [1.0, 1.0, 0.5, 1.0, 1.0, 0.5, 1.0, 1.0, 0.5, 1.0, 0.0, 0.0]
    for first, without in zip(members, members[10:], strict=False):
        np.testing.assert_array_equal(first.rows_[: len(y)], without.rows_)


def test_no_probability_is_above_one() -> None:
    """Rounded sums of weights are: scikit-learn's Brier score refuses them."""
    X, y = table(300)
    for n in range(3, 12):
        model = BalancedClassifier(
            DecisionTreeClassifier(), RandomOverSampler(), n_draws=n, calibration=None,
            random_state=0,
        ).fit(X, y)  # fmt: skip
        known = ~np.isnan(model.oob_probabilities_[:, 0])
        for labels, said in (
            (y, model.predict_proba(X)),
            (y[known], model.oob_probabilities_[known]),
        ):
            assert said.max() <= 1
            brier_score_loss(labels, said[:, 1])


# one fit, many draws


def test_the_sampler_is_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    fit = MGVAE.fit
    monkeypatch.setattr(MGVAE, "fit", lambda self, X, y: fits.append(len(y)) or fit(self, X, y))
    X, y = table(200)
    BalancedClassifier(GaussianNB(), MGVAE(**QUICK), n_draws=5, random_state=0).fit(X, y)
    assert fits == [200]
    fitted = MGVAE(**QUICK, random_state=0).fit(X, y)
    fits.clear()
    frozen = FrozenEstimator(fitted)
    model = BalancedClassifier(GaussianNB(), frozen, n_draws=3, random_state=0).fit(X, y)
    assert not fits
    assert model.sampler_ is fitted
    with pytest.raises(DataError, match="fitted on 200 rows"):
        BalancedClassifier(GaussianNB(), frozen).fit(X[:150], y[:150])


@pytest.mark.parametrize("sampler", [MGVAE(**QUICK), SMOTE()])
def test_the_same_with_any_number_of_jobs_and_any_engine(sampler) -> None:
    X, y = table(200)
    model = BalancedClassifier(DecisionTreeClassifier(), sampler, n_draws=4, random_state=3)
    expected = model.fit(X, y).predict_proba(X)
    np.random.seed(5)  # noqa: NPY002
    np.testing.assert_array_equal(
        clone(model).set_params(n_jobs=2).fit(X, y).predict_proba(X), expected
    )
    with parallel_config("threading", n_jobs=3):
        np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), expected)
    assert np.random.randint(1000) == np.random.RandomState(5).randint(1000)  # noqa: NPY002
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)  # noqa: S301
    assert not np.array_equal(model.set_params(random_state=4).fit(X, y).predict_proba(X), expected)


def test_dask_gives_the_same() -> None:
    distributed = pytest.importorskip("distributed")
    X, y = table(200)
    frame = pd.DataFrame(X).add_prefix("x")
    model = BalancedClassifier(GaussianNB(), MGVAE(**QUICK), n_draws=3, random_state=3)
    expected = model.fit(frame, y).predict_proba(frame)
    options = {"processes": False, "n_workers": 1, "dashboard_address": None}
    with distributed.Client(**options), parallel_config("dask"):
        np.testing.assert_array_equal(clone(model).fit(frame, y).predict_proba(frame), expected)


def test_more_draws_begin_with_the_same_members() -> None:
    X, y = table(200)
    few, many = (
        BalancedClassifier(GaussianNB(), SMOTE(), n_draws=n, random_state=0).fit(X, y)
        for n in (2, 5)
    )
    for a, b in zip(few.estimators_, many.estimators_, strict=False):
        np.testing.assert_array_equal(a.theta_, b.theta_)


# shares


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("sampler", [MGVAE(**QUICK), RandomOverSampler()])
def test_a_number_is_the_share_of_every_class(share: float, sampler) -> None:
    X, y = table(300, 3)
    names = np.array(["many", "some", "few"])[y]
    model = BalancedClassifier(Spy3(), sampler, n_draws=2, share=share, random_state=0)
    model.fit(X, names)
    before = pd.Series(names).value_counts()
    for member in model.estimators_:
        after = pd.Series(member.labels_).value_counts()
        for label in before.index:
            assert after[label] == max(before[label], round(share * before["many"]))


class Spy3(Spy):
    """Says the same of every row."""

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


class Harmful(RandomOverSampler):
    """Adds rows of the wrong class."""

    def fit_resample(self, X, y):
        X_new, y_new = super().fit_resample(X, y)
        X_new[len(y) :] = np.resize(X[y == 0], X_new[len(y) :].shape)
        return X_new, y_new


def test_auto_leaves_out_what_does_harm() -> None:
    X, y = make_classification(
        1500, 4, n_redundant=0, weights=[0.85], class_sep=1.5, random_state=0
    )
    harmed = BalancedClassifier(KNeighborsClassifier(15), Harmful(), random_state=0).fit(X, y)
    assert set(harmed.share_weights_) == {0.0, 0.5, 1.0}
    assert sum(harmed.share_weights_.values()) == pytest.approx(1.0)
    assert harmed.share_weights_[0.0] > 0.6


def test_other_samplers_decide_themselves() -> None:
    X, y = table(300)
    model = BalancedClassifier(Spy3(), RandomUnderSampler(), n_draws=5, random_state=0).fit(X, y)
    assert model.member_shares_ == [*[None] * 5, 0.0]
    assert [np.ptp(np.bincount(m.labels_)) == 0 for m in model.estimators_] == [True] * 5 + [False]
    strategy = MGVAE(sampling_strategy=0.5, **QUICK)
    with pytest.raises(ParameterError, match="share=None"):
        BalancedClassifier(Spy3(), strategy).fit(X, y)
    with pytest.raises(ParameterError, match="share=None"):
        BalancedClassifier(Spy3(), RandomUnderSampler(), share=0.5).fit(X, y)
    model = BalancedClassifier(Spy3(), strategy, n_draws=1, share=None).fit(X, y)
    many, few = np.bincount(model.estimators_[0].labels_)
    assert few == many // 2


# probabilities


def test_a_model_that_knows_the_truth_is_given_back() -> None:
    """Naive Bayes on copied rows differs from naive Bayes on the rows by its priors alone."""
    X, y = make_classification(2000, 4, n_redundant=0, weights=[0.9], random_state=0)
    once = {"n_draws": 1, "share": 1.0, "bootstrap": False, "random_state": 0}
    model = BalancedClassifier(GaussianNB(), RandomOverSampler(), **once).fit(X, y)
    inner = model.estimators_[0]
    same = clone(inner).set_params(priors=np.bincount(y) / len(y))
    same.fit(X, y)
    same.theta_, same.var_ = inner.theta_, inner.var_
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), inner.predict(X))
    probable = clone(model).set_params(decide="probable").fit(X, y)
    np.testing.assert_array_equal(probable.predict(X), same.predict(X))
    old_name = clone(model).set_params(decide="corrected").fit(X, y)
    np.testing.assert_array_equal(old_name.predict(X), same.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("calibration", [None, "sigmoid", "isotonic"])
def test_probabilities_improve(n_classes: int, calibration: str | None) -> None:
    weights = [0.93] if n_classes == 2 else [0.85, 0.1]
    X, y = make_classification(
        3000, 8, n_informative=5, n_classes=n_classes, weights=weights, class_sep=0.7,
        random_state=3,
    )  # fmt: skip
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    brier, logs = {}, {}
    for name, options in {
        "uncorrected": {"correct": "none"},
        "corrected": {"calibration": calibration},
    }.items():
        model = BalancedClassifier(
            LogisticRegression(), SMOTE(), n_draws=5, share=1.0, random_state=0, **options
        )
        said = model.fit(X, y).predict_proba(X_test)
        np.testing.assert_allclose(said.sum(1), 1.0)
        brier[name] = np.mean(np.sum((said - np.eye(n_classes)[y_test]) ** 2, axis=1))
        logs[name] = log_loss(y_test, said)
    assert brier["corrected"] < 0.7 * brier["uncorrected"]
    if calibration != "isotonic":  # which says 0 of what happens after all
        assert logs["corrected"] < 0.7 * logs["uncorrected"]


@pytest.mark.parametrize("name", ["cm1", "abalone"])
def test_real_tables(name: str, data_folder: Callable[[str], Path]) -> None:
    rows = pd.read_csv(data_folder(f"tabular/{name}.csv.gz"))
    X, y = rows.drop(columns="target"), rows["target"]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    estimator = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    sampler = MGVAE(pretrain_steps=200, finetune_steps=100)
    model = BalancedClassifier(estimator, sampler, n_draws=4, random_state=0).fit(X, y)
    raw = clone(model).set_params(correct="none", share=1.0).fit(X, y).predict_proba(X_test)
    said = model.predict_proba(X_test)
    assert log_loss(y_test, said) < log_loss(y_test, raw)
    assert brier_score_loss(y_test, said[:, 1]) < brier_score_loss(y_test, raw[:, 1])
    assert list(model.feature_names_in_) == list(X.columns)


# decisions


def test_decisions_are_what_they_are_called() -> None:
    X, y = table(1200)
    names = np.array(["healthy", "ill"])[y]
    options = {"n_draws": 4, "random_state": 0}
    model = BalancedClassifier(GaussianNB(), RandomOverSampler(), **options)
    said = model.fit(X, names).predict_proba(X)[:, 1]
    assert (np.equal(model.predict(X) == "ill", said > y.mean())).all()

    def predicted(**changes: object) -> np.ndarray:
        return clone(model).set_params(**changes).fit(X, names).predict(X) == "ill"

    assert (predicted(decide="probable") == (said > 0.5)).all()
    assert (predicted(decide=0.3) == (said > 0.3)).all()
    costs = {"healthy": 1, "ill": 4}  # expected cost is least from 1 / (1 + 4) on
    assert (predicted(decide="costs", cost_matrix=costs) == (said > 0.2)).all()
    assert (predicted(decide="costs", cost_matrix=[[0, 1], [4, 0]]) == (said > 0.2)).all()
    # tuned: no threshold is better out of bag
    tuned = clone(model).set_params(decide="tuned", metric="f1", calibration=None).fit(X, names)
    out = tuned.oob_probabilities_
    known = ~np.isnan(out[:, 0])
    out, true = out[known], y[known]

    def f1(chosen: np.ndarray) -> float:
        return 2 * (chosen & (true == 1)).sum() / (chosen.sum() + true.sum())

    own = f1((out @ tuned.decision_matrix_).argmax(1) == 1)
    best = max(f1(out[:, 1] > t) for t in np.unique(out[:, 1]))
    assert own == pytest.approx(best, abs=0.01)
    by_hand = predicted(decide="tuned", metric=lambda _, said: np.mean(said == "ill"))
    assert by_hand.all()  # a metric that likes everybody ill
    dear = predicted(decide="tuned", cost_matrix={"healthy": 1, "ill": 1e6})
    assert dear[y == 1].all()


def test_costs_of_several_classes() -> None:
    X, y = table(600, 3)
    model = BalancedClassifier(GaussianNB(), RandomOverSampler(), n_draws=3, random_state=0)
    matrix = np.array([[0.0, 1, 2], [5, 0, 1], [9, 3, 0]])
    model.set_params(decide="costs", cost_matrix=matrix).fit(X, y)
    expected = (model.predict_proba(X) @ matrix).argmin(1)
    np.testing.assert_array_equal(model.predict(X), expected)
    model.set_params(decide="tuned", cost_matrix=None).fit(X, y)
    plain = clone(model).set_params(decide="probable").fit(X, y)
    recalls = [[np.mean(m.predict(X)[y == c] == c) for c in range(3)] for m in (model, plain)]
    assert np.prod(recalls[0]) > np.prod(recalls[1])


# what users bring


def mixed(n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.15, "yes", "no")
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + (y == "yes")),
            "b": rng.integers(5, size=n),
            "c": pd.Categorical(rng.choice(["x", "y"], n)),
        }
    )
    return frame, y


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_with_all_kinds_of_columns(kind: str) -> None:
    frame, y = mixed()
    X = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "pyarrow": lambda: pa.Table.from_pandas(frame),
    }[kind]()
    seen = []

    class Keeps(DummyClassifier):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(np.zeros((len(y), 1)), y)

        def predict_proba(self, X):
            return super().predict_proba(np.zeros((len(X), 1)))

    BalancedClassifier(Keeps(), MGVAE(**QUICK), n_draws=2, random_state=0).fit(X, y)
    for rows in seen:
        assert type(rows) is type(X)
        if kind == "pandas":
            assert (rows.dtypes == X.dtypes).all()
        else:
            assert rows.schema == X.schema if kind == "polars" else rows.schema.equals(X.schema)


def test_weights_of_rows_reach_the_members() -> None:
    X, y = table(300)
    weight = np.where(y == 1, 3.0, 1.0)
    seen = []

    class Notes(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append((y, sample_weight))
            return super().fit(X, y, sample_weight)

    for sampler in (MGVAE(**QUICK), SMOTE(), RandomUnderSampler()):
        seen.clear()
        model = BalancedClassifier(Notes(), sampler, n_draws=3, random_state=0)
        model.fit(X, y, sample_weight=weight)
        for labels, weights in seen:
            np.testing.assert_array_equal(weights, np.where(labels == 1, 3.0, 1.0))
        share = weight[y == 1].sum() / weight.sum()
        np.testing.assert_allclose(model.priors_, [1 - share, share])
    with pytest.raises(ParameterError, match="takes no weights"):
        BalancedClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weight)


def test_weights_reach_the_last_step_of_a_pipeline() -> None:
    X, y = table(300)
    weight = np.where(X[:, 0] > 0, 2.0, 0.5)
    sampler = RandomOverSampler()
    plain = BalancedClassifier(GaussianNB(), sampler, n_draws=2, random_state=0)
    piped = clone(plain).set_params(estimator=make_pipeline("passthrough", GaussianNB()))
    expected = plain.fit(X, y, sample_weight=weight).predict_proba(X)
    np.testing.assert_allclose(piped.fit(X, y, weight).predict_proba(X), expected)
    assert not np.allclose(plain.fit(X, y).predict_proba(X), expected)


@pytest.mark.parametrize("change", ["renamed", "in another order"])
def test_other_columns_than_those_of_fit_are_refused(change: str) -> None:
    """LightGBM itself takes columns as they come."""
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table(200)
    frame = pd.DataFrame(X).add_prefix("x")
    tree = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)
    model = BalancedClassifier(tree, RandomOverSampler(), n_draws=2, random_state=0).fit(frame, y)
    other = frame.iloc[:, ::-1] if change != "renamed" else frame.rename(columns={"x0": "z"})
    for ask in (model.predict, model.predict_proba):
        with pytest.raises(ValueError, match="feature names should match"):
            ask(other)


def test_costs_in_a_frame_go_by_their_labels() -> None:
    X, y = table(200)
    y = np.where(y == 1, "ill", "well")
    costs = pd.DataFrame([[0, 1], [9, 0]], index=["well", "ill"], columns=["well", "ill"])
    model = BalancedClassifier(
        GaussianNB(), RandomOverSampler(), n_draws=1, decide="costs", cost_matrix=costs
    ).fit(X, y)
    np.testing.assert_array_equal(model.decision_matrix_, [[0, -9], [-1, 0]])
    with pytest.raises(ParameterError, match="index and columns must be the labels"):
        clone(model).set_params(cost_matrix=costs.rename(index={"ill": "sick"})).fit(X, y)


def test_an_under_sampler_keeps_its_own_strategy() -> None:
    X, y = table(300)
    sampler = RandomUnderSampler(sampling_strategy=0.5)
    model = BalancedClassifier(Spy3(), sampler, n_draws=2, random_state=0).fit(X, y)
    assert model.share_weights_ == {None: 1.0}


def test_importances_are_averaged() -> None:
    X, y = table(200)
    model = BalancedClassifier(
        DecisionTreeClassifier(), RandomOverSampler(), n_draws=3, share=1.0, random_state=0
    ).fit(X, y)
    expected = np.mean([m.feature_importances_ for m in model.estimators_], 0)
    np.testing.assert_allclose(model.feature_importances_, expected)
    plain = BalancedClassifier(GaussianNB(), RandomOverSampler(), n_draws=1).fit(X, y)
    assert not hasattr(plain, "feature_importances_")


def test_members_without_probabilities_vote() -> None:
    model = BalancedClassifier(LinearSVC(), RandomOverSampler(), n_draws=3, random_state=0)
    assert not hasattr(model, "predict_proba")
    X, y = table(200)
    votes = np.mean([m.predict(X) for m in model.fit(X, y).estimators_], 0)
    np.testing.assert_array_equal(model.predict(X), votes > 0.5)
    with pytest.raises(ParameterError, match="predict_proba"):
        clone(model).set_params(decide="tuned").fit(X, y)


def test_a_class_of_one_row_is_enough() -> None:
    X, _ = table(200)
    few = np.zeros(200, int)
    few[0] = 1
    model = BalancedClassifier(GaussianNB(), MGVAE(**QUICK), n_draws=3, random_state=0)
    assert model.fit(X, few).predict_proba(X).shape == (200, 2)
    with pytest.raises(DataError, match="calibration=None"):
        clone(model).set_params(calibration="sigmoid").fit(X, few)
    with pytest.raises(DataError, match="too few rows"):
        clone(model).set_params(decide="tuned").fit(X, few)


def test_errors_come_before_the_sampler_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(200)
    monkeypatch.setattr(MGVAE, "fit", lambda *_: pytest.fail("it was fitted"))
    for said, options in {
        "bootstrap=True": {"bootstrap": False, "decide": "tuned"},
        "needs cost_matrix": {"decide": "costs"},
        "Set decide to": {"cost_matrix": {0: 1, 1: 2}},
        "cost of missing": {"decide": "costs", "cost_matrix": {"no": 1}},
        "in the order": {"decide": "costs", "cost_matrix": [[0, 1]]},
        "hold numbers": {"decide": "costs", "cost_matrix": {0: 1, 1: "much"}},
        "finite numbers; got .*nan": {"decide": "costs", "cost_matrix": [[0, 1], [np.nan, 0]]},
        "0 or more": {"decide": "costs", "cost_matrix": {0: 1, 1: -2}},
        "return a number": {"decide": "tuned", "metric": lambda *_: None},
        "returned NaN": {"decide": "tuned", "metric": lambda *_: np.nan},
        "n_jobs must not be 0": {"n_jobs": 0},
        "cannot draw again": {"sampler": FrozenEstimator(SMOTE())},
    }.items():
        with pytest.raises(ParameterError, match=said):
            BalancedClassifier(GaussianNB(), **options).fit(X, y)
    with pytest.raises(ParameterError, match="two classes"):
        BalancedClassifier(GaussianNB(), decide=0.4).fit(X, np.arange(200) % 3)
    for said, groups in {
        "two groups": np.zeros(200),
        "200 rows, groups has 3": [1, 2, 3],
        "2 missing values": [None, np.nan, *range(198)],
    }.items():
        with pytest.raises(DataError, match=said):
            BalancedClassifier(GaussianNB()).fit(X, y, groups=groups)
    for said, labels in {
        r"one class only \(0\)": np.zeros(200, int),
        "1 missing label": [None, *y[1:].astype(str)],
        "2 missing label": pd.Series(y).astype("Int64").mask(np.arange(200) < 2),
        "mixes labels": ["a", *y[1:]],
    }.items():
        with pytest.raises(DataError, match=said):
            BalancedClassifier(GaussianNB()).fit(X, labels)
    with pytest.raises(DataError, match="DataFrame"):
        BalancedClassifier(GaussianNB()).fit({"a": X[:, 0]}, y)
    with pytest.raises(ParameterError, match="LinearRegression is a regressor"):
        BalancedClassifier(LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match="'share' parameter"):
        BalancedClassifier(GaussianNB(), share=5).fit(X, y)

    class Loses(RandomOverSampler):
        def fit_resample(self, X, y):
            return X[y < 2], y[y < 2]

    with pytest.raises(DataError, match="keep every class"):
        BalancedClassifier(GaussianNB(), Loses()).fit(X, np.arange(200) % 3 + (np.arange(200) == 5))
    parameters = inspect.signature(BalancedClassifier).parameters
    assert set(parameters) == set(BalancedClassifier._parameter_constraints)


def test_a_network_on_images_gets_the_same_decisions_and_shares() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((80, 8, 8)).astype(np.float32), np.repeat(["no", "yes"], [65, 15])
    X[65:, 2:5] += 0.5
    model = BalancedClassifier(
        TorchClassifier(hidden_sizes=(8,), epochs=3),
        MGVAE(**QUICK),
        n_draws=3,
        decide="costs",
        cost_matrix={"no": 1, "yes": 3},
        random_state=0,
    ).fit(X, y)
    said = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X) == "yes", said > 0.25)
    assert model.oob_probabilities_.shape == (80, 2)
