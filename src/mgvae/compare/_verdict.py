"""The verdict in words."""

from collections.abc import Mapping

import numpy as np

from mgvae.compare._methods import UNTREATED
from mgvae.compare._scores import METRICS
from mgvae.experiments.judging import Interval, holm, paired_difference

__all__ = ["FEWEST_SPLITS", "verdict"]

FEWEST_SPLITS = 5
"""Splits below which an interval says nothing."""

Scores = Mapping[str, Mapping[str, list[float]]]

_LITTLE = 0.01  # a difference that nobody would notice


def verdict(scores: Scores, folds: int) -> str:
    """Say what over-sampling is worth beside a tuned threshold.

    Parameters
    ----------
    scores : mapping
        By method and metric, one score for each split.
    folds : int
        Of the cross-validation.

    Examples
    --------
    >>> one = lambda gm: {"gm": gm, "average_precision": [0.5, 0.5, 0.5]}
    >>> print(verdict({
    ...     "nothing": one([0.50, 0.51, 0.49]), "tuned threshold": one([0.70, 0.71, 0.69]),
    ...     "MGVAE": one([0.70, 0.71, 0.69]),
    ... }, folds=3))
    MGVAE raises GM by 0.20 over doing nothing; tuning the threshold alone gives +0.20:
    over-sampling adds little here. Average precision, which no threshold can move, changes by
    +0.00 with MGVAE. There are too few splits, 3, to say how sure this is.
    """
    n = len(scores["nothing"]["gm"])
    methods = [method for method in scores if method not in UNTREATED]
    tuned = _difference(scores, "tuned threshold", "nothing", "gm", folds)
    if not methods:
        return f"Tuning the threshold changes GM by {_plus_minus(tuned, n)} over doing nothing."
    best = max(methods, key=lambda method: float(np.mean(scores[method]["gm"])))
    p_values = holm(
        [_difference(scores, m, "tuned threshold", "gm", folds).p_value for m in methods]
    )
    significant = dict(zip(methods, p_values, strict=True))
    first = "MGVAE" if "MGVAE" in methods else best
    alone = _difference(scores, first, "nothing", "gm", folds)
    sentences = [
        f"{first} {_moves(alone, n)} over doing nothing; tuning the threshold alone gives "
        f"{tuned.mean:+.2f}: {_judgement(scores, first, significant[first], folds)}."
    ]
    if best != first:
        alone = _difference(scores, best, "nothing", "gm", folds)
        sentences.append(
            f"The best sampler, {best}, {_moves(alone, n)}: "
            f"{_judgement(scores, best, significant[best], folds)}."
        )
    precision = _difference(scores, best, "nothing", "average_precision", folds)
    beside = ""
    for metric in ("roc_auc", "log_loss"):
        if metric in scores[best]:
            change = _difference(scores, best, "nothing", metric, folds)
            beside += f", {METRICS[metric]} by {_plus_minus(change, n)}"
    sentences.append(
        f"Average precision, which no threshold can move, changes by {_plus_minus(precision, n)}"
        f" with {best}{beside}."
    )
    if n < FEWEST_SPLITS:
        sentences.append(f"There are too few splits, {n}, to say how sure this is.")
    return " ".join(sentences)


def _moves(alone: Interval, n: int) -> str:
    word = "raises" if alone.mean >= 0 else "lowers"
    return f"{word} GM by {abs(alone.mean):.2f}{_reach(alone, n)}"


def _reach(interval: Interval, n: int) -> str:
    """Return half the width of an interval, or nothing if the splits are too few for one."""
    return "" if n < FEWEST_SPLITS else f" ± {(interval.high - interval.low) / 2:.2f}"


def _judgement(scores: Scores, method: str, p_value: float, folds: int) -> str:
    beside = _difference(scores, method, "tuned threshold", "gm", folds)
    n = len(scores[method]["gm"])
    if abs(beside.mean) < _LITTLE:
        return "over-sampling adds little here"
    if p_value >= 0.05:
        word = "more" if beside.mean > 0 else "less"
        return f"the {abs(beside.mean):.2f} {word} may be the luck of the splits"
    if beside.mean > 0:
        return f"over-sampling adds {_plus_minus(beside, n)} here"
    return f"over-sampling does worse than that, by {_plus_minus(beside, n)}"


def _difference(scores: Scores, a: str, b: str, metric: str, folds: int) -> Interval:
    return paired_difference(scores[a][metric], scores[b][metric], folds)


def _plus_minus(interval: Interval, n: int) -> str:
    mean = interval.mean + 0.0 if abs(interval.mean) >= 0.005 else 0.0
    return f"{mean:+.2f}{_reach(interval, n)}"
