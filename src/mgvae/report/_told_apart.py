"""How well a random forest tells new rows from real ones."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from mgvae.report._data import Rows, sample
from mgvae.report._figures import Figure, judge, unknown
from mgvae.report._intervals import Interval, auc_interval
from mgvae.report._parts import ENOUGH_TO_CROSS

__all__ = ["ToldApart", "told_apart", "told_from_learned"]

ToldApart = tuple[float, Interval] | None
"""A ROC AUC and the ends of its interval; None where there are too few rows."""

_DISCRIMINATED = 1000  # most rows of each kind


def told_apart(real: Rows, new: Rows, rng: np.random.Generator) -> ToldApart:
    """Return the cross-validated ROC AUC of a random forest, with as many rows of both."""
    n = min(len(real), len(new), _DISCRIMINATED)
    if n < ENOUGH_TO_CROSS:
        return None
    a, b = (rows.encoded[sample(np.arange(len(rows)), n, rng)] for rows in (real, new))
    y = np.repeat([0, 1], n)
    folds = StratifiedKFold(5, shuffle=True, random_state=_seed(rng))
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=_seed(rng))
    X = np.concatenate([a, b])
    scores = cross_val_predict(forest, X, y, cv=folds, method="predict_proba")[:, 1]
    return auc_interval(scores[:n], scores[n:])


def told_from_learned(learned: ToldApart) -> Figure:
    """Judge how well new rows are told from those that were learned from: too badly is a sign."""
    name, title = "learned", "Told from the rows learned from"
    if learned is None:
        return unknown(name, "private", title, f"It takes {ENOUGH_TO_CROSS} real and new rows.")
    value, interval = learned
    words = (
        "New rows lie so close to the rows that the sampler learned from that a random forest "
        "mistakes one for the other more often than by guessing. That is a sign of near copies"
        if value < 0.45
        else "A random forest sees no sign of near copies"
    )
    return Figure(
        name, "private", title, value, 0.5, judge(value, 0.45, 0.4, interval),
        "good from 0.45, caution from 0.40; far below 0.5 new rows are near copies",
        f"{words} (cross-validated ROC AUC {value:.2f}).", interval, "guessing",
    )  # fmt: skip


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
