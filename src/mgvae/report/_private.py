"""Figures that tell whether new rows give away the rows that they were made from."""

import numpy as np

from mgvae.report._data import Rows
from mgvae.report._figures import Figure, judge, unknown
from mgvae.report._intervals import clustered_share
from mgvae.report._neighbours import Closeness, closeness
from mgvae.report._parts import ENOUGH_TO_CROSS, TOO_FEW, Parts

__all__ = ["closest_record", "distance_ratio", "exact_copies", "nearer_to_learned"]

_FEWEST = 20  # held-out rows below which a quantile of theirs means nothing


def nearer_to_learned(parts: Parts, rng: np.random.Generator) -> Figure:
    """Judge the share of new rows nearer to a learned row than to an unseen one.

    If there are more of one kind than of the other, chance alone favours it; the odds are divided
    by the numbers, so that 50% is always what rows give that were not copied.
    """
    name, title = "nearer", "Nearer to what was learned"
    if parts.held_out is None:
        return unknown(
            name, "private", title,
            "Without real rows that the sampler never saw it cannot be known whether new rows lie "
            "nearer to the rows that they were made from.",
        )  # fmt: skip
    n, m = len(parts.learned), len(parts.held_out)
    if min(n, m) < 2:
        return unknown(name, "private", title, TOO_FEW)
    learned = closeness(parts.new.encoded, parts.learned.encoded)
    unseen = closeness(parts.new.encoded, parts.held_out.encoded)
    same = np.isclose(learned.nearest, unseen.nearest, rtol=1e-6, atol=1e-6)
    hits = np.where(same, n / (n + m), learned.nearest < unseen.nearest)
    clusters = np.where(hits > 0.5, learned.index, n + unseen.index)
    raw, ends = clustered_share(hits, clusters, rng)
    value, low, high = (_even_odds(share, n, m) for share in (raw, *ends))
    return Figure(
        name, "private", title, value, 0.5, judge(value, 0.6, 0.75, (low, high)),
        "good up to 60%, caution up to 75%",
        f"{value:.0%} of the new rows lie nearer to a row that the sampler learned from than to "
        "any real row that it never saw. If no row were copied, 50% would.",
        (low, high), "without copying", as_share=True,
    )  # fmt: skip


def _even_odds(share: float, n: int, m: int) -> float:
    return (share / n) / (share / n + (1 - share) / m)


def closest_record(parts: Parts, rng: np.random.Generator) -> Figure:
    """Judge the share of new rows that lie closer to a learned row than real ones do."""
    name, title = "closest", "Distance to the closest record"
    if len(parts.learned) < 3 or len(parts.unseen) < ENOUGH_TO_CROSS:
        return unknown(name, "private", title, TOO_FEW)
    found = closeness(parts.new.encoded, parts.learned.encoded)
    usual = _usual(parts)
    who = "real rows lie to each other" if parts.held_out is None else "unseen real rows do"
    limit = float(np.quantile(usual.nearest, 0.05))
    hits = (found.nearest < limit * (1 - 1e-9)).astype(np.float64)
    value, interval = clustered_share(hits, found.index, rng)
    verdict = judge(value, 0.1, 0.25, interval)
    few = len(usual.nearest) < _FEWEST
    return Figure(
        name, "private", title, value, 0.05, "unknown" if few and verdict != "bad" else verdict,
        "good up to 10%, caution up to 25%",
        f"{value:.0%} of the new rows lie closer to a row that the sampler learned from than 95% "
        f"of {who}. The median distance is {np.median(found.nearest):.2f} for new rows and "
        f"{np.median(usual.nearest):.2f} for real ones.",
        interval, "other real rows", as_share=True,
    )  # fmt: skip


def distance_ratio(parts: Parts) -> Figure:
    """Judge whether new rows cling to single rows."""
    name, title = "ratio", "Nearest-neighbour distance ratio"
    if len(parts.learned) < 3 or len(parts.unseen) < ENOUGH_TO_CROSS:
        return unknown(name, "private", title, TOO_FEW)
    found, usual = closeness(parts.new.encoded, parts.learned.encoded), _usual(parts)
    ratio, reference = float(np.median(found.ratio)), float(np.median(usual.ratio))
    return Figure(
        name, "private", title, ratio, reference,
        judge(ratio / reference if reference > 0 else 1.0, 0.8, 0.5),
        f"good from 80%, caution from 50% of the real rows' ratio, which is {reference:.2f}",
        "Of the rows that the sampler learned from, the closest is "
        f"{ratio:.2f} times as far from a new row as the second closest. For real rows it is "
        f"{reference:.2f} times. New rows {'do not' if ratio >= 0.8 * reference else 'may'} cling "
        "to single rows.",
    )  # fmt: skip


def _usual(parts: Parts) -> Closeness:
    """Return how close real rows are to those that were learned from."""
    if parts.held_out is None:
        return closeness(parts.learned.encoded, parts.learned.encoded, same=True)
    return closeness(parts.held_out.encoded, parts.learned.encoded)


def exact_copies(made: Rows, real: Rows) -> Figure:
    """Judge the share of new rows that equal a real row of any class."""
    count = int(np.isin(made.keys, real.keys).sum())
    value = count / len(made)
    _, places, counts = np.unique(real.keys, return_inverse=True, return_counts=True)
    own = real.labels == made.labels[0]
    usual = float(np.mean(counts[places][own] > 1))
    return Figure(
        "copies", "private", "Exact copies", value, usual, judge(value - usual, 0.01, 0.05),
        "good up to 1 point above the share among real rows, caution up to 5 points above it",
        f"{count:,} of {len(made):,} new rows ({value:.1%}) equal a real row in "
        f"{'every modelled column' if made.columns else 'every pixel'}. Of the real minority rows, "
        f"{usual:.1%} have a double.",
        as_share=True,
    )  # fmt: skip
