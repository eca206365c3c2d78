import subprocess
import sys

import imblearn.metrics
import numpy as np
import pytest
import sklearn.metrics
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate

from mgvae import metrics
from mgvae.errors import DataError, ParameterError


@st.composite
def predictions(draw, max_classes=5):
    classes = draw(st.integers(1, max_classes))
    size = draw(st.integers(1, 60))
    label = st.integers(0, classes - 1)
    y_true = draw(st.lists(label, min_size=size, max_size=size))
    y_pred = draw(st.lists(label, min_size=size, max_size=size))
    return np.array(y_true), np.array(y_pred)


@given(predictions())
def test_accuracy_and_confusion_matrix_agree_with_sklearn(pair):
    assert metrics.accuracy(*pair) == pytest.approx(sklearn.metrics.accuracy_score(*pair))
    np.testing.assert_array_equal(
        metrics.confusion_matrix(*pair), sklearn.metrics.confusion_matrix(*pair)
    )


@given(predictions())
@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
def test_acsa_agrees_with_balanced_accuracy(pair):
    expected = sklearn.metrics.balanced_accuracy_score(*pair)
    assert metrics.acsa(*pair) == pytest.approx(expected, abs=1e-12)


@given(predictions())
def test_geometric_mean_agrees_with_imblearn_where_every_class_has_a_recall(pair):
    assume(set(pair[1]) <= set(pair[0]))
    expected = imblearn.metrics.geometric_mean_score(*pair)
    assert metrics.geometric_mean(*pair) == pytest.approx(expected, abs=1e-12)


@given(predictions())
def test_recall_agrees_with_sklearn_and_is_nan_without_true_rows(pair):
    y_true, y_pred = pair
    labels = list(range(6))  # class 5 never occurs
    ours = metrics.per_class_recall(y_true, y_pred, labels=labels)
    theirs = sklearn.metrics.recall_score(
        y_true, y_pred, labels=labels, average=None, zero_division=np.nan
    )
    np.testing.assert_allclose(ours, theirs)
    assert np.isnan(ours[5])


@given(predictions(), st.permutations(range(5)))
def test_order_of_labels_is_the_callers(pair, labels):
    np.testing.assert_array_equal(
        metrics.confusion_matrix(*pair, labels=labels),
        sklearn.metrics.confusion_matrix(*pair, labels=labels),
    )


@given(
    predictions(max_classes=4),
    st.sampled_from(
        [
            np.array(["a", "bb", "ccc", "dddd"]),
            np.array(["a", "bb", "ccc", "dddd"], dtype=object),
            np.array([-2.5, 0.0, 1.5, 7.0]),
            np.array(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"], dtype="M8[D]"),
        ]
    ),
)
def test_the_type_of_labels_does_not_matter(pair, names):
    renamed = names[pair[0]], names[pair[1]]
    for metric in (metrics.accuracy, metrics.acsa, metrics.geometric_mean):
        assert metric(*renamed) == metric(*pair)


def test_boolean_and_mixed_width_text_labels():
    assert metrics.accuracy([True, False], np.array([True, True])) == 0.5
    assert metrics.accuracy(np.array(["a", "b"]), np.array(["a", "long"])) == 0.5
    assert metrics.accuracy(np.array(["a", "b"]), np.array(["a", "long"], dtype=object)) == 0.5


def slow_batched(metric, y_true, y_pred, batch_size, seed):
    """Literal reading: shuffle, cut, measure every batch, average."""
    order = np.random.default_rng(seed).permutation(len(y_true))
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return np.mean([metric(y_true[b], y_pred[b]) for b in batches])


@given(predictions(), st.integers(1, 70), st.integers(0, 2**32))
def test_batched_metrics_are_means_over_batches(pair, batch_size, seed):
    for name in ("acsa", "geometric_mean"):
        batched = getattr(metrics, f"batched_{name}")
        expected = slow_batched(getattr(metrics, name), *pair, batch_size, seed)
        assert batched(*pair, batch_size=batch_size, random_state=seed) == pytest.approx(
            expected, abs=1e-12
        )


def test_batched_metrics_leave_the_global_random_state_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    y = np.arange(300) % 3
    a = metrics.batched_acsa(y, np.zeros_like(y), random_state=np.random.RandomState(3))
    b = metrics.batched_acsa(y, np.zeros_like(y), random_state=np.random.RandomState(3))
    assert a == b == pytest.approx(1 / 3)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=30),
    st.lists(st.integers(-5, 5), min_size=1, max_size=30),
    st.floats(0, 1),
)
def test_recall_at_is_the_best_admissible_threshold(majority, minority, wanted):
    """By brute force over every threshold that can make a difference."""
    majority, minority = np.array(majority), np.array(minority)
    thresholds = np.concatenate([[-np.inf], majority, minority])
    admissible = [t for t in thresholds if np.mean(majority <= t) >= wanted - 1e-12]
    best = max(np.mean(minority > t) for t in admissible)
    y = ["many"] * len(majority) + ["rare"] * len(minority)
    score = np.concatenate([majority, minority])
    assert metrics.recall_at(y, score, majority_recall=wanted) == pytest.approx(best)
    y = ["z"] * len(majority) + ["a"] * len(minority)  # now the minority sorts first
    named = metrics.recall_at(y, score, majority_recall=wanted, minority="a")
    assert named == pytest.approx(best)


def test_recall_at_agrees_with_the_roc_curve():
    rng = np.random.default_rng(0)
    y = (rng.random(2_000) < 0.1).astype(int)
    score = rng.normal(size=2_000) + 1.5 * y
    false_rate, true_rate, _ = sklearn.metrics.roc_curve(y, score, drop_intermediate=False)
    expected = true_rate[false_rate <= 0.02].max()
    assert metrics.recall_at(y, score, majority_recall=0.98) == pytest.approx(expected)


def test_scorers_work_in_model_selection():
    X, y = make_classification(n_samples=300, weights=[0.9], random_state=0)
    names = ["text" if v else "a" for v in y]
    every = metrics.scorers(
        "accuracy", "acsa", "geometric_mean", "batched_acsa", "batched_geometric_mean", "recall_at"
    )
    result = cross_validate(LogisticRegression(), X, names, scoring=every, error_score="raise")
    theirs = cross_validate(LogisticRegression(), X, names, scoring="balanced_accuracy")
    np.testing.assert_allclose(result["test_acsa"], theirs["test_score"])
    model = LogisticRegression().fit(X, y)
    expected = metrics.recall_at(y, model.decision_function(X))
    assert metrics.scorers("recall_at")["recall_at"](model, X, y) == expected
    search = GridSearchCV(
        LogisticRegression(),
        {"class_weight": [None, "balanced"]},
        scoring=metrics.scorers()["geometric_mean"],
    ).fit(X, y)
    assert search.best_params_ == {"class_weight": "balanced"}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: metrics.acsa([0, 1], [0]), DataError, "y_pred must be equally long"),
        (lambda: metrics.acsa([], []), DataError, "y_true must be one-dimensional"),
        (lambda: metrics.acsa(["a"], [1]), DataError, "one type"),
        (lambda: metrics.acsa(np.array(["a", 1], object), [1, 1]), DataError, "int, str"),
        (lambda: metrics.per_class_recall([0, 1], [0, 1], labels=[0]), ParameterError, "labels"),
        (lambda: metrics.confusion_matrix([0], [0], labels=[0, 0]), ParameterError, "each once"),
        (
            lambda: metrics.batched_acsa([0], [0], batch_size=0, random_state=0),
            ParameterError,
            "batch_size",
        ),
        (lambda: metrics.recall_at([0, 1, 2], [0, 1, 2]), DataError, "two classes; got 3"),
        (lambda: metrics.recall_at([0, 1], [0, np.nan]), DataError, "finite"),
        (lambda: metrics.recall_at([0, 1], [0, 1], minority=5), ParameterError, "minority"),
        (
            lambda: metrics.recall_at([0, 1], [0, 1], majority_recall=98),
            ParameterError,
            "majority_recall",
        ),
        (lambda: metrics.scorers("gm"), ParameterError, "got 'gm'"),
    ],
)
def test_errors_name_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_importing_metrics_does_not_load_torch():
    code = "import sys, mgvae.metrics; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_no_metric_warns_where_a_class_is_missing_or_alone(recwarn):
    for y_true, y_pred in (([0, 0], [0, 0]), ([0, 0, 1], [0, 2, 2])):
        for name in ("accuracy", "confusion_matrix", "per_class_recall", "acsa", "geometric_mean"):
            getattr(metrics, name)(y_true, y_pred)
    assert not recwarn.list
