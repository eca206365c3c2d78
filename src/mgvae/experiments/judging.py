r"""Judging scores: the best threshold, and whether a difference is more than luck.

Scores on the splits of repeated cross-validation are not independent: their training rows overlap.
Nadeau and Bengio (2003) correct the variance of a mean of :math:`J` paired differences :math:`d_j`
with sample variance :math:`s^2` to

.. math:: \Bigl(\frac1J + \frac{n_\text{test}}{n_\text{train}}\Bigr) s^2 ,

and compare with Student's t of :math:`J - 1` degrees of freedom. Of several methods, the p-values
are raised by Holm's rule, so that the chance of any false alarm stays below the level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["Interval", "best_threshold", "holm", "paired_difference"]


@dataclass(frozen=True)
class Interval:
    """A mean difference with its 95% interval and p-value.

    Parameters
    ----------
    mean, low, high : float
        The difference, and the ends of the interval.
    p_value : float
        How likely so large a difference would be if there were none.
    """

    mean: float
    low: float
    high: float
    p_value: float


def paired_difference(a: Sequence[float], b: Sequence[float], folds: int) -> Interval:
    """Compute the mean of a - b over the splits of repeated cross-validation.

    Examples
    --------
    >>> found = paired_difference([0.8, 0.9, 0.7, 0.8], [0.7, 0.7, 0.6, 0.6], folds=2)
    >>> round(found.mean, 3), found.low < 0 < found.high
    (0.15, True)
    """
    differences = np.subtract(a, b)
    n = len(differences)
    mean, variance = float(differences.mean()), float(differences.var(ddof=1)) if n > 1 else 0.0
    error = float(np.sqrt((1 / n + 1 / (folds - 1)) * variance))
    if error <= 1e-12:  # every split says the same
        return Interval(mean, mean, mean, 1.0 if abs(mean) <= 1e-12 else 0.0)
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    p_value = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    return Interval(mean, mean - reach, mean + reach, p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """Raise p-values by Holm's rule.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    raised, largest = [0.0] * len(p_values), 0.0
    for i, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - i) * p_values[place]))
        raised[place] = largest
    return raised


def best_threshold(y: NDArray[np.int64], score: NDArray[np.floating]) -> float:
    """Find the threshold on a score with the largest geometric mean of two recalls.

    Ties go to the middle of the first best gap, so that the rows it was tuned on decide no more
    than they must.

    Examples
    --------
    >>> round(best_threshold(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.9])), 3)
    0.25
    """
    order = np.argsort(score, kind="stable")
    sorted_scores, minority = score[order].astype(np.float64), y[order] == 1
    below = np.arange(1, len(y) + 1)  # rows below the gap after each row
    minority_below = np.cumsum(minority)
    recalls = (below - minority_below) / max(1, (~minority).sum())
    recalls = recalls * (1 - minority_below / max(1, minority.sum()))
    distinct = np.append(np.diff(sorted_scores) > 0, True)
    best = int(np.argmax(np.where(distinct, recalls, -1.0)))
    if best + 1 == len(y):
        return float(np.nextafter(sorted_scores[best], np.inf))
    return float((sorted_scores[best] + sorted_scores[best + 1]) / 2)
