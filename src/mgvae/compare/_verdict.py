"""The verdict in words."""

from mgvae.compare._gains import JUDGED, Scores, change, mean_rank
from mgvae.compare._methods import BASELINE, UNTREATED
from mgvae.compare._scores import METRICS
from mgvae.experiments.judging import Interval, holm

__all__ = ["FEWEST_SPLITS", "verdict"]

FEWEST_SPLITS = 5
"""Splits below which an interval says nothing."""

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
    MGVAE raises GM by 0.20 over doing nothing; tuning the threshold alone raises it by 0.20. So
    over-sampling adds little here. What no threshold can move, MGVAE changes as follows: average
    precision by +0.00. There are too few splits, 3, to say how sure this is.
    """
    n = len(scores["nothing"]["gm"])
    methods = [method for method in scores if method not in UNTREATED]
    tuned = change(scores, BASELINE, "nothing", "gm", folds)
    if not methods:
        return f"Tuning the threshold changes GM by {_plus_minus(tuned, n)} over doing nothing."
    best = min(methods, key=lambda method: mean_rank(scores, method))
    p_values = holm([change(scores, m, BASELINE, "gm", folds).p_value for m in methods])
    significant = dict(zip(methods, p_values, strict=True))
    first = "MGVAE" if "MGVAE" in methods else best
    alone = change(scores, first, "nothing", "gm", folds)
    sentences = [
        f"{first} {_moves(alone, n)} over doing nothing; tuning the threshold alone "
        f"{_moves(tuned, n, 'it')}.",
        _judgement(scores, first, significant[first], folds),
    ]
    if best != first:
        alone = change(scores, best, "nothing", "gm", folds)
        judged = _judgement(scores, best, significant[best], folds)
        named = f"The best of the methods that make rows is {best}, which {_moves(alone, n)}."
        # one judgement of both is said once
        sentences[1:] = [named, judged] if judged == sentences[1] else [sentences[1], named, judged]
    others = [metric for metric in JUDGED if metric != "gm" and metric in scores[best]]
    changes = [
        f"{METRICS[m]} by {_plus_minus(change(scores, best, 'nothing', m, folds), n)}"
        for m in others
    ]
    listed = " and ".join([", ".join(changes[:-1]), changes[-1]] if changes[1:] else changes)
    sentences.append(f"What no threshold can move, {best} changes as follows: {listed}.")
    if n < FEWEST_SPLITS:
        sentences.append(f"There are too few splits, {n}, to say how sure this is.")
    return " ".join(sentences)


def _moves(alone: Interval, n: int, what: str = "GM") -> str:
    word = "raises" if alone.mean >= 0 else "lowers"
    return f"{word} {what} by {abs(alone.mean):.2f}{_reach(alone, n)}"


def _reach(interval: Interval, n: int) -> str:
    """Return half the width of an interval, or nothing if the splits are too few for one."""
    return "" if n < FEWEST_SPLITS else f" ± {(interval.high - interval.low) / 2:.2f}"


def _judgement(scores: Scores, method: str, p_value: float, folds: int) -> str:
    beside = change(scores, method, BASELINE, "gm", folds)
    n = len(scores[method]["gm"])
    if abs(beside.mean) < _LITTLE:
        return "So over-sampling adds little here."
    if p_value >= 0.05:
        side = "above" if beside.mean > 0 else "below"
        return (
            f"{method} stands {abs(beside.mean):.3f} {side} the tuned threshold, which may be the "
            "luck of the splits."
        )
    if beside.mean > 0:
        return f"So over-sampling adds {_plus_minus(beside, n)} here."
    return f"So over-sampling does worse than a tuned threshold, by {_plus_minus(beside, n)}."


def _plus_minus(interval: Interval, n: int) -> str:
    mean = interval.mean + 0.0 if abs(interval.mean) >= 0.005 else 0.0
    return f"{mean:+.2f}{_reach(interval, n)}"
