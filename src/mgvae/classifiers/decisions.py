r"""Decisions: from probabilities to labels.

A decision is linear in the probabilities: of row :math:`x` the class :math:`c` is chosen that has
the largest :math:`\sum_k p(k \mid x) M_{kc}`.

* ``"balanced"``: :math:`M = \mathrm{diag}(1 / \pi)` decides at the shares of the classes, so that
  every class is recognised about as well as every other. Of two classes, it is the rarer one from
  the probability on that it has among all rows.
* ``"probable"``: :math:`M = I`, the most probable class.
* ``"costs"``: :math:`M = -C`, the least expected cost, where :math:`C_{kc}` is the cost of deciding
  c where k is true.
* ``"tuned"``: :math:`M = \mathrm{diag}(w)` with the weights that do best out of bag by a metric or
  by costs.
* a number t: of two classes, the second from the probability t on.
"""

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mgvae.classifiers.bags import Positions
from mgvae.classifiers.priors import Floats
from mgvae.common.shown import is_long, shown
from mgvae.errors import DataError, ParameterError

__all__ = [
    "METRICS",
    "Judged",
    "at_threshold",
    "check_decision",
    "check_metric",
    "decide",
    "decision_matrix",
    "read_costs",
    "tuned_weights",
]

Confusion = Floats
Judge = Callable[[Positions, Positions, Floats], float]

_CANDIDATES = 200  # thresholds of a class that are tried at most
_ROUNDS = 3  # in which the classes take turns


def decide(probabilities: Floats, matrix: Floats) -> Positions:
    """Return the class that each row is decided to be.

    Examples
    --------
    >>> said = np.array([[0.9, 0.1], [0.97, 0.03]])
    >>> decide(said, np.diag([1 / 0.95, 1 / 0.05]))
    array([1, 0])
    """
    chosen: Positions = (probabilities @ matrix).argmax(1)
    return chosen


class Judged(NamedTuple):
    """Probabilities of rows that nothing which says them was trained on, and what they are."""

    said: Floats
    codes: Positions
    weight: Floats | None


def check_decision(how: str | float, cost_matrix: Any, classes: NDArray[Any]) -> None:
    """Raise if a decision cannot be made between these classes."""
    if isinstance(how, Real) and len(classes) != 2:
        raise ParameterError(
            f'decide={how!r} is a threshold of two classes; y holds {len(classes)}. Use "tuned" or '
            "cost_matrix."
        )
    if how == "costs" and cost_matrix is None:
        raise ParameterError('decide="costs" needs cost_matrix.')
    if cost_matrix is not None:
        if how not in ("costs", "tuned"):
            raise ParameterError(
                f'cost_matrix says nothing to decide={how!r}. Set decide to "costs" or "tuned".'
            )
        read_costs(cost_matrix, classes)


def check_metric(metric: Callable[[Any, Any], float], y: NDArray[Any]) -> None:
    """Raise if a user's metric gives no number, where all labels are right."""
    try:
        value = float(metric(y, y))
    except TypeError as error:
        raise ParameterError(
            f"metric must take true and predicted labels and return a number: {error}. Use a "
            "function such as sklearn.metrics.f1_score."
        ) from error
    if np.isnan(value):
        raise ParameterError("metric must return a number; it returned NaN for right labels.")


def decision_matrix(
    how: str | float,
    classes: NDArray[Any],
    shares: Floats,
    judged: Judged,
    *,
    metric: str | Callable[[Any, Any], float] = "gm",
    cost_matrix: Any = None,
) -> Floats:
    """Return the matrix of a decision.

    Parameters
    ----------
    how : str or float
        See above.
    classes : ndarray
        The labels.
    shares : ndarray of shape (n_classes,)
        The shares of the classes that the probabilities speak of.
    judged : Judged
        What ``"tuned"`` goes by; may be empty for the others.
    metric : str or callable
        What ``"tuned"`` makes large unless there are costs.
    cost_matrix : array-like or mapping, optional
        As in :func:`read_costs`.

    Examples
    --------
    >>> nobody = Judged(np.empty((0, 2)), np.empty(0, int), None)
    >>> decision_matrix("balanced", np.array([0, 1]), np.array([0.8, 0.2]), nobody)
    array([[1.25, 0.  ],
           [0.  , 5.  ]])
    """
    if how == "balanced":
        return np.diag(1.0 / shares)
    if how in ("probable", "corrected"):  # which is an earlier name
        return np.eye(len(classes))
    if how == "costs":
        return -read_costs(cost_matrix, classes)
    if how != "tuned":
        return at_threshold(float(how))
    if not np.bincount(judged.codes, minlength=len(classes)).all():
        raise DataError(
            'decide="tuned" needs rows of every class that were not trained on, and a class has '
            "none: it has too few rows. Raise n_draws or validation_fraction, or set another "
            "decide."
        )
    by = metric if cost_matrix is None else read_costs(cost_matrix, classes)
    found = tuned_weights(judged.said, judged.codes, 1.0 / shares, by, classes, judged.weight)
    return np.diag(found)


def at_threshold(threshold: float) -> Floats:
    """Return the matrix that decides for the second of two classes from a probability on.

    Examples
    --------
    >>> decide(np.array([[0.75, 0.25], [0.7, 0.3]]), at_threshold(0.28))
    array([0, 1])
    """
    return np.diag([threshold, 1.0 - threshold])


def read_costs(costs: Any, classes: NDArray[Any]) -> Floats:
    """Return costs as a matrix, true classes in rows and decisions in columns.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_classes) or mapping
        The matrix itself, also as a pandas DataFrame with labels in any order, or by label the
        cost of missing a row of the class.
    classes : ndarray
        The labels, sorted.

    Examples
    --------
    >>> read_costs({"ill": 20, "well": 1}, np.array(["ill", "well"]))
    array([[ 0., 20.],
           [ 1.,  0.]])
    """
    labels = classes.tolist()
    if isinstance(costs, Mapping):
        if set(costs) != set(labels) or any(is_long(cost) for cost in costs.values()):
            raise ParameterError(
                f"cost_matrix must give each of the labels {labels!r} the cost of missing it; got "
                f"{shown(dict(costs), 200)}."
            )
        missing = _numbers([costs[label] for label in labels])
        if (missing < 0).any():
            raise ParameterError(
                f"cost_matrix must give costs of 0 or more; got {dict(costs)!r}. Give what is "
                "gained in a matrix."
            )
        return missing[:, None] * (1.0 - np.eye(len(labels)))
    matrix = _numbers(_in_order(costs, labels))
    if matrix.shape != (len(classes), len(classes)):
        raise ParameterError(
            f"cost_matrix must hold a number for each of {len(classes)} true classes (rows) and "
            f"decisions (columns), in the order {labels!r}; got shape {matrix.shape}."
        )
    return matrix


def _in_order(costs: Any, labels: list[Any]) -> Any:
    """Return a pandas DataFrame of costs in the order of the labels, anything else as it is."""
    if not hasattr(costs, "loc"):
        return costs
    names = [list(costs.index), list(costs.columns)]
    if all(set(given) == set(labels) and len(given) == len(labels) for given in names):
        return costs.loc[labels, labels]
    if all(given == list(range(len(given))) for given in names):
        return costs
    raise ParameterError(
        f"cost_matrix is a DataFrame, whose index and columns must be the labels {labels!r}; got "
        f"{names[0]!r} and {names[1]!r}."
    )


def _numbers(costs: Any) -> Floats:
    try:
        found = np.asarray(costs, np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"cost_matrix must hold numbers: {error}.") from error
    if not np.isfinite(found).all():
        raise ParameterError(
            f"cost_matrix must hold finite numbers; got {found.tolist()!r}. A cost that is beyond "
            "all others is a large number."
        )
    return found


def _recalls(confusion: Confusion) -> Floats:
    recalls: Floats = confusion.diagonal() / np.maximum(confusion.sum(1), 1e-300)
    return recalls


def _f1(confusion: Confusion) -> float:
    """Compute the F1 score: of two classes that of the rarer one, of more their mean."""
    hits, true, said = confusion.diagonal(), confusion.sum(1), confusion.sum(0)
    scores = 2 * hits / np.maximum(true + said, 1e-300)
    return float(scores[true.argmin()] if len(true) == 2 else scores.mean())


METRICS: dict[str, Callable[[Confusion], float]] = {
    "gm": lambda confusion: float(np.prod(_recalls(confusion)) ** (1 / len(confusion))),
    "balanced_accuracy": lambda confusion: float(_recalls(confusion).mean()),
    "f1": _f1,
    "accuracy": lambda confusion: float(confusion.trace() / confusion.sum()),
}
"""What ``"tuned"`` knows by name, as functions of the matrix of true and decided classes."""


def tuned_weights(
    said: Floats,
    codes: Positions,
    start: Floats,
    metric: str | Callable[[Any, Any], float] | Floats,
    classes: NDArray[Any],
    weight: Floats | None = None,
) -> Floats:
    """Find the weights of the classes under which decisions on known rows are best.

    The classes take turns: the weight of one is moved over the values at which decisions change,
    the others stay. Of equally good values the one nearest to where it was is taken.

    Parameters
    ----------
    said : ndarray of shape (n_samples, n_classes)
        Probabilities of rows that nothing which says them was trained on.
    codes : ndarray of int
        Their true classes.
    start : ndarray of shape (n_classes,)
        Where to begin.
    metric : str, callable or ndarray
        One of :data:`METRICS`, a function ``metric(y_true, y_pred)`` of which more is better, or a
        matrix of costs.
    classes : ndarray
        The labels, which such a function sees.
    weight : ndarray, optional
        Weight of each row.

    Examples
    --------
    >>> said = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> codes = np.array([0, 0, 1, 1])
    >>> weights = tuned_weights(said, codes, np.ones(2), "gm", np.array([0, 1]))
    >>> decide(said, np.diag(weights))
    array([0, 0, 1, 1])
    """
    judge = _judge(metric, classes, weight)
    weights: Floats = start / start.max()
    turns = [1] if len(weights) == 2 else list(range(len(weights))) * _ROUNDS
    for code in turns:
        others = np.delete(said * weights, code, axis=1).max(1)
        with np.errstate(divide="ignore"):
            edges = np.unique((np.log(others) - np.log(said[:, code])).clip(-50, 50))
        middles = (edges[1:] + edges[:-1]) / 2
        tried = np.concatenate([[edges[0] - 1.0], middles, [edges[-1] + 1.0]])
        if len(tried) > _CANDIDATES:
            places = np.linspace(0, len(tried) - 1, _CANDIDATES).round().astype(int)
            tried = tried[places]
        now = np.log(weights[code])
        tried = np.append(now, tried[np.argsort(abs(tried - now), kind="stable")])
        values = []
        for value in tried:
            weights[code] = np.exp(value)
            values.append(judge(codes, decide(said, np.diag(weights)), said))
        weights[code] = np.exp(tried[int(np.argmax(values))])
    return weights


def _judge(metric: Any, classes: NDArray[Any], weight: Floats | None) -> Judge:
    if callable(metric):
        return lambda codes, chosen, _: float(metric(classes[codes], classes[chosen]))

    def confusion(codes: Positions, chosen: Positions) -> Confusion:
        n = len(classes)
        return np.bincount(codes * n + chosen, weight, n * n).reshape(n, n).astype(np.float64)

    if isinstance(metric, str):
        figure = METRICS[metric]
        return lambda codes, chosen, _: figure(confusion(codes, chosen))
    return lambda codes, chosen, _: -float((confusion(codes, chosen) * metric).sum())
