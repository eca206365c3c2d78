r"""Metrics that count every class, not only the largest.

With :math:`r_c` the recall of class :math:`c` (the share of its rows that are recognised) and
:math:`K` classes present,

.. math::
    \mathrm{ACSA} = \frac1K \sum_c r_c, \qquad
    \mathrm{GM} = \Bigl(\prod_c r_c\Bigr)^{1/K}.

The paper's "B-ACC" is plain accuracy, :func:`accuracy`. Its ACSA and GM are not those of the test
set but means over shuffled test batches of 100 rows. :func:`batched_acsa` and
:func:`batched_geometric_mean` compute these, for comparison with the published tables only.

Labels may be of any type that can be sorted. A class without a true row has no recall: it is NaN in
:func:`per_class_recall` and left out of the means. (In imbalanced-learn's
``geometric_mean_score`` such a class has the recall 0.)
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.sparse import coo_array
from sklearn import metrics

from mgvae.errors import DataError, ParameterError

__all__ = [
    "accuracy",
    "acsa",
    "batched_acsa",
    "batched_geometric_mean",
    "confusion_matrix",
    "geometric_mean",
    "per_class_recall",
    "recall_at",
    "scorers",
]

RandomState = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState

_Floats = NDArray[np.float64]
_Ints = NDArray[np.intp]


def accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Compute the share of rows that are recognised; the paper's "B-ACC".

    .. versionadded:: 0.1

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true and the predicted labels.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    See Also
    --------
    mgvae.metrics.acsa : The mean recall of the classes.

    Examples
    --------
    >>> accuracy(["cat", "cat", "cat", "dog"], ["cat", "cat", "cat", "cat"])
    0.75
    """
    true, predicted, _ = _encode(y_true, y_pred)
    return float(metrics.accuracy_score(true, predicted))


def confusion_matrix(
    y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Count rows by true class (down) and predicted class (across).

    .. versionadded:: 0.1

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true and the predicted labels.
    labels : array-like of shape (n_classes,), optional
        The classes and their order; by default every label that occurs, sorted. Every label that
        occurs must be among them.

    Returns
    -------
    counts : ndarray of shape (n_classes, n_classes)
        ``counts[i, j]`` rows of class i were taken for class j.

    See Also
    --------
    mgvae.metrics.per_class_recall : Its diagonal, divided by the sums of its rows.

    Examples
    --------
    >>> confusion_matrix(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    array([[1, 1],
           [0, 1]])
    """
    true, predicted, n = _encode(y_true, y_pred, labels)
    ones = np.ones(len(true), dtype=np.int64)
    # As in scikit-learn's, which however warns if there is one class only.
    counts: NDArray[np.int64] = coo_array((ones, (true, predicted)), shape=(n, n)).toarray()
    return counts


def per_class_recall(
    y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None
) -> _Floats:
    """Compute the share of each class that is recognised.

    .. versionadded:: 0.1

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true and the predicted labels.
    labels : array-like of shape (n_classes,), optional
        The classes and their order; by default every label that occurs, sorted. Every label that
        occurs must be among them.

    Returns
    -------
    recall : ndarray of shape (n_classes,)
        NaN where a class has no true row.

    See Also
    --------
    mgvae.metrics.acsa : Their mean.
    mgvae.metrics.geometric_mean : Their geometric mean.

    Examples
    --------
    >>> per_class_recall(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    array([0.5, 1. ])
    """
    true, predicted, n = _encode(y_true, y_pred, labels)
    recalls: _Floats = metrics.recall_score(
        true, predicted, labels=np.arange(n), average=None, zero_division=np.nan
    )
    return recalls


def acsa(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Compute the average class-specific accuracy, the mean of the classes' recalls.

    .. versionadded:: 0.1

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true and the predicted labels.

    Returns
    -------
    acsa : float
        Between 0 and 1; 1/K for a classifier that always predicts the same of K classes.

    See Also
    --------
    mgvae.metrics.geometric_mean : The geometric mean of the same recalls.
    mgvae.metrics.batched_acsa : The average over batches that the paper prints.

    Examples
    --------
    >>> acsa(["cat", "cat", "cat", "dog"], ["cat", "cat", "cat", "cat"])
    0.5
    """
    return float(np.nanmean(per_class_recall(y_true, y_pred)))


def geometric_mean(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Compute the geometric mean of the classes' recalls.

    .. versionadded:: 0.1

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true and the predicted labels.

    Returns
    -------
    geometric_mean : float
        Between 0 and 1; 0 as soon as one class is never recognised.

    See Also
    --------
    mgvae.metrics.acsa : The arithmetic mean of the same recalls.
    mgvae.metrics.scorers : This and others for scikit-learn.

    Examples
    --------
    >>> geometric_mean(["cat", "cat", "dog", "dog"], ["cat", "cat", "cat", "dog"])
    0.707...
    >>> geometric_mean(["cat", "cat", "cat", "dog"], ["cat", "cat", "cat", "cat"])
    0.0
    """
    recalls = per_class_recall(y_true, y_pred)
    return float(stats.gmean(recalls[~np.isnan(recalls)]))


def batched_acsa(
    y_true: ArrayLike, y_pred: ArrayLike, *, random_state: RandomState, batch_size: int = 100
) -> float:
    """Compute the mean of :func:`acsa` over shuffled batches, as in the paper's tables.

    In each batch the mean is taken over the classes that have a true row there. The last batch may
    be smaller and counts as much as the others.

    .. versionadded:: 0.1

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The true and the predicted labels.
    random_state : int, SeedSequence, Generator or RandomState
        Shuffles the rows.
    batch_size : int, default=100
        Rows in a batch.

    Returns
    -------
    acsa : float
        Between 0 and 1.

    See Also
    --------
    mgvae.metrics.acsa : The same over all rows at once.

    Examples
    --------
    >>> y_true, y_pred = [0, 0, 0, 1, 1], [0, 0, 0, 1, 0]
    >>> batched_acsa(y_true, y_pred, batch_size=5, random_state=0) == acsa(y_true, y_pred)
    True
    """
    recalls = _batched_recalls(y_true, y_pred, batch_size, random_state)
    return float(np.mean(np.nanmean(recalls, axis=1)))


def batched_geometric_mean(
    y_true: ArrayLike, y_pred: ArrayLike, *, random_state: RandomState, batch_size: int = 100
) -> float:
    """Compute the mean of :func:`geometric_mean` over shuffled batches, as in the paper's tables.

    The batches are those of :func:`batched_acsa`.

    .. versionadded:: 0.1

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    random_state : int, Generator, RandomState or None
        Decides the shuffle.
    batch_size : int, default=100
        Rows in a batch.

    Returns
    -------
    score : float
        The mean, between 0 and 1.

    See Also
    --------
    mgvae.metrics.geometric_mean : The same over all rows at once.

    Examples
    --------
    >>> y_true, y_pred = [0, 0, 0, 1, 1], [0, 0, 0, 1, 0]
    >>> batched_geometric_mean(y_true, y_pred, batch_size=5, random_state=0)
    0.707...
    """
    recalls = _batched_recalls(y_true, y_pred, batch_size, random_state)
    with np.errstate(divide="ignore"):  # log 0 = -inf, and exp(-inf) = 0
        means = np.exp(np.nanmean(np.log(recalls), axis=1))
    return float(np.mean(means))


def recall_at(
    y_true: ArrayLike, score: ArrayLike, *, majority_recall: float = 0.98, minority: Any = None
) -> float:
    """Compute the minority's recall at a fixed recall of the majority.

    The threshold is the lowest score that at least ``majority_recall`` of the majority rows do not
    exceed. The minority rows above it are the recognised ones. Unlike the recall at a given
    threshold, this value cannot be raised by moving the threshold.

    .. versionadded:: 0.1

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels, of two classes.
    score : array-like of shape (n_samples,)
        Higher means more likely minority; a column of ``predict_proba`` or a ``decision_function``.
    majority_recall : float, default=0.98
        Share of the majority that must be recognised.
    minority : label, optional
        The class that ``score`` belongs to; by default the second in sorted order, as everywhere in
        scikit-learn.

    Returns
    -------
    recall : float
        Between 0 and 1.

    See Also
    --------
    mgvae.metrics.per_class_recall : Recalls at the threshold of the classifier.

    Examples
    --------
    >>> recall_at([0, 0, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.8, 0.7, 0.9], majority_recall=0.75)
    1.0
    >>> recall_at([0, 0, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.8, 0.7, 0.9], majority_recall=1.0)
    0.5
    """
    if not 0.0 <= majority_recall <= 1.0:
        raise ParameterError(f"majority_recall must lie in [0, 1]; got {majority_recall!r}.")
    labels, scores = _column(y_true, "y_true"), _column(score, "score").astype(np.float64)
    _check_lengths(labels, scores, "score")
    if not np.isfinite(scores).all():
        raise DataError("score must be finite in every row; remove or repair the other rows.")
    classes = _unique(labels)[0].tolist()
    if len(classes) != 2:
        raise DataError(f"y_true must hold two classes; got {len(classes)}: {classes[:10]!r}.")
    if minority is None:
        minority = classes[1]
    elif minority not in classes:
        raise ParameterError(f"minority must be one of {classes!r}; got {minority!r}.")
    is_minority = labels == minority
    majority = np.sort(scores[~is_minority])
    kept = math.ceil(majority_recall * len(majority) - 1e-9)  # rows at or below the threshold
    threshold = majority[kept - 1] if kept else -np.inf
    return float(np.mean(scores[is_minority] > threshold))


def scorers(*names: str) -> dict[str, Callable[..., float]]:
    """Return scikit-learn scorers of the metrics.

    .. versionadded:: 0.1

    Parameters
    ----------
    *names : str
        Which: ``"accuracy"``, ``"acsa"``, ``"geometric_mean"``, ``"batched_acsa"``,
        ``"batched_geometric_mean"`` (both shuffled by seed 0) or ``"recall_at"`` (two classes, at
        98 % majority recall). By default the first three.

    Returns
    -------
    scorers : dict of str to scorer
        As ``cross_validate(scoring=...)`` takes them, or one by one for ``GridSearchCV``.

    See Also
    --------
    mgvae.metrics.geometric_mean : One of the metrics.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> X, y = make_classification(weights=[0.9], random_state=0)
    >>> sorted(cross_validate(LogisticRegression(), X, y, scoring=scorers()))
    ['fit_time', 'score_time', 'test_accuracy', 'test_acsa', 'test_geometric_mean']
    """
    threshold_free = {"response_method": ("decision_function", "predict_proba")}
    known: dict[str, tuple[Callable[..., float], dict[str, Any]]] = {
        "accuracy": (accuracy, {}),
        "acsa": (acsa, {}),
        "geometric_mean": (geometric_mean, {}),
        "batched_acsa": (batched_acsa, {"random_state": 0}),
        "batched_geometric_mean": (batched_geometric_mean, {"random_state": 0}),
        "recall_at": (recall_at, threshold_free),
    }
    for name in names:
        if name not in known:
            raise ParameterError(f"a scorer must be one of {', '.join(known)}; got {name!r}.")
    chosen = names or ("accuracy", "acsa", "geometric_mean")
    return {name: metrics.make_scorer(known[name][0], **known[name][1]) for name in chosen}


def _batched_recalls(
    y_true: ArrayLike, y_pred: ArrayLike, batch_size: int, random_state: RandomState
) -> _Floats:
    if batch_size < 1:
        raise ParameterError(f"batch_size must be at least 1; got {batch_size!r}.")
    true, predicted, n = _encode(y_true, y_pred)
    if isinstance(random_state, np.random.RandomState):
        order = random_state.permutation(len(true))
    else:
        order = np.random.default_rng(random_state).permutation(len(true))
    return _recalls(true[order], predicted[order], n, np.arange(len(true)) // batch_size)


def _recalls(true: _Ints, predicted: _Ints, n_classes: int, batch: _Ints) -> _Floats:
    """Compute recalls by batch and class, NaN where a class has no true row in a batch."""
    shape = (int(batch[-1]) + 1, n_classes)
    cell = batch * n_classes + true
    rows = np.bincount(cell, minlength=shape[0] * n_classes).reshape(shape)
    hits = np.bincount(cell[true == predicted], minlength=shape[0] * n_classes).reshape(shape)
    with np.errstate(invalid="ignore"):
        recalls: _Floats = hits / rows
    return recalls


def _encode(
    y_true: ArrayLike, y_pred: ArrayLike, labels: ArrayLike | None = None
) -> tuple[_Ints, _Ints, int]:
    """Return labels as positions among the classes, and the number of classes."""
    true, predicted = _column(y_true, "y_true"), _column(y_pred, "y_pred")
    _check_lengths(true, predicted, "y_pred")
    kinds = {"text" if a.dtype.kind in "US" else a.dtype.kind for a in (true, predicted)}
    if "text" in kinds and len(kinds) > 1 and "O" not in kinds:
        raise DataError(
            f"y_true (dtype {true.dtype}) and y_pred (dtype {predicted.dtype}) must hold labels of "
            "one type; convert one of them."
        )
    if "O" in kinds:  # keep every label as it is, rather than let numpy turn 1 into "1"
        true, predicted = true.astype(object), predicted.astype(object)
    classes, codes = _unique(np.concatenate([true, predicted]))
    if labels is not None:
        wanted = _column(labels, "labels").tolist()
        position = {label: i for i, label in enumerate(wanted)}
        missing = [label for label in classes.tolist() if label not in position]
        if missing or len(position) < len(wanted):
            raise ParameterError(
                "labels must hold every label that occurs, each once; "
                f"got {wanted!r}, and {missing!r} occur besides."
            )
        codes = np.asarray([position[label] for label in classes.tolist()], dtype=np.intp)[codes]
        return codes[: len(true)], codes[len(true) :], len(position)
    return codes[: len(true)], codes[len(true) :], len(classes)


def _unique(labels: NDArray[Any]) -> tuple[NDArray[Any], _Ints]:
    """Return the sorted distinct labels, and each label's position among them."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        types = sorted({type(label).__name__ for label in labels})
        raise DataError(
            f"the labels must be of one sortable type; got {', '.join(types)}. Convert them to str."
        ) from error


def _column(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) == 0:
        raise DataError(f"{name} must be one-dimensional and not empty; got shape {array.shape}.")
    return array


def _check_lengths(y_true: NDArray[Any], other: NDArray[Any], name: str) -> None:
    if len(y_true) != len(other):
        raise DataError(
            f"y_true and {name} must be equally long; got {len(y_true)} and {len(other)} rows."
        )
