"""The figures of one split."""

import math

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
)

from mgvae.metrics import acsa, geometric_mean

__all__ = ["LOWER_IS_BETTER", "METRICS", "scores"]

METRICS = {
    "balanced_accuracy": "balanced accuracy",
    "gm": "GM",
    "f1": "F1",
    "recall": "recall",
    "precision": "precision",
    "average_precision": "average precision",
    "roc_auc": "ROC AUC",
    "brier": "Brier score",
    "log_loss": "log loss",
}
"""The figures with their names for people."""

LOWER_IS_BETTER = ("brier", "log_loss", "seconds")


def scores(
    y: NDArray[np.int64],
    predicted: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    rare: int,
) -> dict[str, float]:
    """Judge predictions; recall, precision, F1, average precision and ROC AUC are the rare class's.

    The Brier score is half the summed squared difference, so that of two classes it is the usual
    one.

    Examples
    --------
    >>> said = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.8, 0.2]])
    >>> found = scores(np.array([0, 0, 1, 1]), said.argmax(1), said, 1)
    >>> found["recall"], found["precision"], round(found["brier"], 3)
    (0.5, 1.0, 0.225)
    """
    n_classes = probabilities.shape[1]
    precision, recall, f1, _ = precision_recall_fscore_support(
        y == rare, predicted == rare, average="binary", zero_division=0.0
    )
    found = {
        "balanced_accuracy": acsa(y, predicted),
        "gm": geometric_mean(y, predicted),
        "f1": f1,
        "recall": recall,
        "precision": precision,
        "average_precision": average_precision_score(y == rare, probabilities[:, rare]),
        "roc_auc": roc_auc_score(y == rare, probabilities[:, rare]),
        "brier": np.mean(np.sum((probabilities - np.eye(n_classes)[y]) ** 2, axis=1)) / 2,
        "log_loss": log_loss(y, probabilities, labels=np.arange(n_classes)),
    }
    if not all(math.isfinite(value) for value in found.values()):
        raise ValueError(f"a figure is not a number: {found}")
    return {name: float(value) for name, value in found.items()}
