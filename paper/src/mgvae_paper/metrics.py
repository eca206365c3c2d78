"""How each protocol judges a classifier; all figures in percent."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from mgvae.metrics import (
    accuracy,
    acsa,
    batched_acsa,
    batched_geometric_mean,
    geometric_mean,
    recall_at,
)

__all__ = ["at_threshold", "judge_clean", "judge_paper"]

Labels = NDArray[np.int64]
Scores = NDArray[np.floating[Any]]


def judge_paper(y: Labels, predicted: Labels, seed: int) -> dict[str, float]:
    """Compute the published metrics: ACSA and GM are means over shuffled test batches of 100."""
    return _percent(
        {
            "b_acc": accuracy(y, predicted),
            "acsa": batched_acsa(y, predicted, random_state=seed),
            "gm": batched_geometric_mean(y, predicted, random_state=seed),
        }
    )


def judge_clean(y: Labels, probabilities: Scores) -> dict[str, float]:
    """Compute the same metrics on the whole test set, and those that no threshold can move.

    Of several classes, these are means over one class against the others.

    Examples
    --------
    >>> import numpy as np
    >>> judge_clean(np.array([0, 0, 1, 1]), np.array([[.9, .1], [.6, .4], [.7, .3], [.2, .8]]))
    {'b_acc': 75.0, 'acsa': 75.0, 'gm': 70.7107, 'roc_auc': 75.0, 'ap': 83.3333, 'recall_98': 50.0}
    """
    figures = at_threshold(y, probabilities.argmax(axis=1))
    classes = range(1, 2) if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    for name, metric in (
        ("roc_auc", roc_auc_score),
        ("ap", average_precision_score),
        ("recall_98", recall_at),
    ):
        values = [float(metric(y == c, probabilities[:, c])) for c in classes]
        figures |= _percent({name: float(np.mean(values))})
    return figures


def at_threshold(y: Labels, predicted: Labels) -> dict[str, float]:
    """Compute the three metrics of the paper on all rows at once."""
    return _percent(
        {
            "b_acc": accuracy(y, predicted),
            "acsa": acsa(y, predicted),
            "gm": geometric_mean(y, predicted),
        }
    )


def _percent(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(100 * value, 4) for name, value in figures.items()}
