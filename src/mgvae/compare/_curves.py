"""The curves of one split: ROC, precision-recall, calibration and costs.

A split is kept as points on fixed grids, so that splits can be averaged and a result stays small
whatever the number of rows.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["BINS", "COSTS", "GRID", "curves"]

GRID: list[float] = np.linspace(0, 1, 51).tolist()
"""False-alarm rates of a ROC curve, and recalls of a precision-recall curve."""

COSTS: list[float] = np.geomspace(1, 1000, 25).tolist()
"""How many false alarms a missed row costs."""

BINS = 10
"""Bins of equal width into which probabilities are put for calibration."""


def curves(rare: NDArray[np.bool_], score: NDArray[np.float64]) -> dict[str, list[float]]:
    """Compute the curves of one class against the others.

    Parameters
    ----------
    rare : ndarray of bool
        Which rows are of the class.
    score : ndarray of float
        The probability that they are.

    Returns
    -------
    curves : dict of str to list of float
        ``"roc"``, the recall at each false-alarm rate of ``GRID``; ``"precision"``, the precision
        at each recall of ``GRID``; ``"rows"``, ``"rare"`` and ``"said"``, by bin of probability
        the rows, those of the class, and the sum of the probabilities; ``"cost"``, the mean cost
        of a row where a missed one costs as many false alarms as in ``COSTS`` and the decision is
        the cheaper one by the probability.

    Examples
    --------
    >>> found = curves(np.array([False, False, True, True]), np.array([0.1, 0.6, 0.4, 0.9]))
    >>> found["roc"][0], found["roc"][-1], found["precision"][-1]
    (0.5, 1.0, 0.6666666666666666)
    >>> found["cost"][0]
    0.5
    """
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)  # of equal scores
    hits = np.cumsum(rare[order])[ends]
    alarms = ends + 1 - hits
    recall, fall_out = hits / rare.sum(), alarms / (~rare).sum()
    roc = np.interp(GRID, *_highest(np.append(0.0, fall_out), np.append(0.0, recall)))
    best = np.maximum.accumulate((hits / (hits + alarms))[::-1])[::-1]
    precision = best[np.searchsorted(recall, np.asarray(GRID) - 1e-12).clip(0, len(best) - 1)]
    bins = np.minimum((score * BINS).astype(np.int64), BINS - 1)
    costs = np.asarray(COSTS)[:, None]
    alarm = score >= 1 / (1 + costs)
    cost = np.where(rare, ~alarm * costs, alarm).mean(1)
    return {
        "roc": roc.tolist(),
        "precision": precision.tolist(),
        "rows": np.bincount(bins, minlength=BINS).astype(float).tolist(),
        "rare": np.bincount(bins, rare, minlength=BINS).tolist(),
        "said": np.bincount(bins, score, minlength=BINS).tolist(),
        "cost": cost.tolist(),
    }


def _highest(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Keep the highest y of each x; both rise."""
    last = np.append(np.diff(x) > 0, True)
    return x[last], y[last]
