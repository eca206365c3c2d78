"""How methods stand to each other: differences over the splits, and ranks over four figures.

A method is judged by GM, which depends on the threshold, and by average precision, ROC AUC and log
loss, which do not.
"""

from collections.abc import Mapping

import numpy as np

from mgvae.compare._scores import LOWER_IS_BETTER
from mgvae.experiments.judging import Interval, paired_difference

__all__ = ["JUDGED", "Scores", "change", "gain", "mean_rank"]

Scores = Mapping[str, Mapping[str, list[float]]]
"""By method and metric, one score for each split."""

JUDGED = ("gm", "average_precision", "roc_auc", "log_loss")
"""The figures that a method is judged by."""


def change(scores: Scores, method: str, other: str, metric: str, folds: int) -> Interval:
    """Compute how much higher a figure of one method is than that of another."""
    return paired_difference(scores[method][metric], scores[other][metric], folds)


def gain(scores: Scores, method: str, other: str, metric: str, folds: int) -> Interval:
    """Compute how much better one method is than another, whichever way the figure goes."""
    if metric in LOWER_IS_BETTER:
        method, other = other, method
    return change(scores, method, other, metric, folds)


def mean_rank(scores: Scores, method: str) -> float:
    """Return how many methods are better, as a mean over the figures judged by.

    Examples
    --------
    >>> scores = {"a": {"gm": [0.5], "log_loss": [0.2]}, "b": {"gm": [0.6], "log_loss": [0.3]}}
    >>> mean_rank(scores, "a")
    0.5
    """
    ranks = []
    for metric in JUDGED:
        if metric in scores[method]:
            sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
            own = sign * np.mean(scores[method][metric])
            ranks.append(sum(sign * np.mean(other[metric]) > own for other in scores.values()))
    return float(np.mean(ranks))
