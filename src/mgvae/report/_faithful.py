"""Figures that tell whether new rows could have stood in the table."""

from collections.abc import Sequence

import numpy as np

from mgvae.codec import LEVELS, NUMBERS
from mgvae.report._association import Links, association
from mgvae.report._columns import ColumnQuality
from mgvae.report._data import Rows, sample
from mgvae.report._figures import Figure, judge, judge_between, unknown
from mgvae.report._neighbours import K, foreign_share
from mgvae.report._parts import ENOUGH_TO_CROSS, Parts
from mgvae.report._told_apart import ToldApart

__all__ = [
    "association_difference",
    "broken_relations",
    "column_distance",
    "majority_territory",
    "told_from_unseen",
]

_DRAWS = 5


def column_distance(columns: Sequence[ColumnQuality]) -> Figure:
    """Judge how far the distributions of single columns are apart."""
    value = float(np.mean([column.distance for column in columns]))
    chance = float(np.mean([column.chance for column in columns]))
    far = columns[0]
    return Figure(
        "columns", "faithful", "Column distributions", value, chance,
        judge(value - chance, 0.1, 0.2),
        f"good up to 0.10 above chance, caution up to 0.20 above it; chance is {chance:.2f} here",
        f"The distribution of a column differs by {value:.2f} on average between new and real rows "
        "(0 means the same, 1 means nothing in common). The farthest column is "
        f"{far.name}, {far.distance:.2f}.",
        reference_name="chance",
    )  # fmt: skip


def association_difference(
    real: Rows,
    links: Links,
    parts: Parts,
    names: Sequence[str],
    kinds: Sequence[str],
    rng: np.random.Generator,
) -> Figure:
    """Judge how far the associations of two columns are apart."""
    name, title = "association", "Associations of columns"
    n_modelled = sum(kind in NUMBERS + LEVELS for kind in kinds)
    if n_modelled < 2 or len(real) < ENOUGH_TO_CROSS:
        return unknown(
            name, "faithful", title, f"It takes two columns and {ENOUGH_TO_CROSS} rows to see them."
        )
    used, a, b = links
    above = np.triu_indices(len(used), 1)
    gaps = np.abs(a - b)[above]
    value, chance = float(gaps.mean()), float(0.8 * np.sqrt(2 / len(real)))
    if parts.held_out is not None:  # two samples of real rows differ as well
        n = min(len(real), len(parts.learned))
        learned = parts.learned.at(sample(np.arange(len(parts.learned)), n, rng))
        columns = [learned.columns[i] for i in used]
        own = association(columns, [kinds[i] for i in used])
        chance = max(chance, float(np.abs(a - own)[above].mean()))
    worst = int(gaps.argmax())
    pair = [names[used[axis[worst]]] for axis in above]
    cut = len(used) < n_modelled
    some = f" {len(used)} of {n_modelled} columns were looked at." if cut else ""
    return Figure(
        name, "faithful", title, value, chance,
        judge(value - chance, 0.05, 0.15),
        "good up to 0.05 above chance, caution up to 0.15 above it; chance is about "
        f"{chance:.2f} here",
        "The association of two columns (a correlation, or its like for categories) differs by "
        f"{value:.2f} on average. The largest difference is {gaps[worst]:.2f}, between {pair[0]} "
        f"and {pair[1]}.{some}",
        reference_name="chance",
    )  # fmt: skip


def broken_relations(made: Rows, real: Rows) -> Figure:
    """Judge how many new rows break a relation between columns.

    Every real row keeps the relations that were found. Those that the user asked for may be broken
    by real rows too.
    """
    n, count = made.broken.shape[1], int(made.broken.any(1).sum())
    value, usual = count / len(made), float(real.broken.any(1).mean())
    who = f"{count:,} of {len(made):,} new rows break"
    if count == 0:
        who = f"None of the {len(made):,} new rows breaks"
    which = "the relation" if n == 1 else f"one of the {n:,} relations"
    whose = "that every real row keeps" if usual == 0 else "that were found or asked for"
    return Figure(
        "relations", "faithful", "Relations between columns", value, usual,
        judge(value, 0.01, 0.05),
        "good up to 1%, caution up to 5%",
        f"{who} {which} between columns {whose}.",
        as_share=True,
    )  # fmt: skip


def told_from_unseen(learned: ToldApart, unseen: ToldApart, parts: Parts) -> Figure:
    """Judge how well new rows are told from unseen ones, too well or too badly."""
    name, title = "discriminator", "Told from unseen real rows"
    if parts.held_out is not None and unseen is not None:
        value, interval = unseen
        often = "hardly" if value <= 0.65 else "often" if value <= 0.8 else "almost always"
        beside = "" if learned is None else (
            f" Against the rows that the sampler learned from it reaches {learned[0]:.2f}; the "
            "gap shows how much was learned by heart."
        )  # fmt: skip
        low = (
            " Far below 0.5 new rows follow the unseen rows too closely: the sampler must have "
            "seen them."
            if value < 0.4 else ""
        )  # fmt: skip
        return Figure(
            name, "faithful", title, value, 0.5,
            judge_between(value, (0.4, 0.65), (0.3, 0.8), interval),
            "good from 0.40 to 0.65, caution from 0.30 to 0.80; 0.5 is guessing, 1 is certainty",
            f"A random forest can {often} tell a new row from a real row that the sampler never "
            f"saw (cross-validated ROC AUC {value:.2f}).{beside}{low}",
            interval, "guessing",
        )  # fmt: skip
    if learned is None:
        why = f"It takes {ENOUGH_TO_CROSS} real and new rows to tell."
        return unknown(name, "faithful", title, why)
    value, interval = learned
    verdict = judge(value, 0.65, 0.8, interval)
    return Figure(
        name, "faithful", title, value, 0.5, "unknown" if verdict == "good" else verdict,
        "caution from 0.65, bad from 0.80; below, only unseen rows could tell",
        "There are no unseen real rows to tell new ones from. Against the rows that they were "
        f"made from, a random forest reaches a ROC AUC of {value:.2f}.",
        interval, "guessing",
    )  # fmt: skip


def majority_territory(parts: Parts, rng: np.random.Generator) -> Figure:
    """Judge how many new rows lie among the majority."""
    real, new, majority = parts.unseen.encoded, parts.new.encoded, parts.majority.encoded
    n = min(len(real), len(majority))
    if n < K:
        return unknown(
            "separation", "faithful", "Majority territory", f"It takes {K} real rows to see."
        )
    usual, value = [], []
    for _ in range(_DRAWS):
        own = real[rng.permutation(len(real))[:n]]
        foreign = majority[rng.permutation(len(majority))[:n]]
        usual.append(foreign_share(own, own, foreign, same=True))
        value.append(foreign_share(new, own, foreign))
    share, reference = float(np.mean(value)), float(np.mean(usual))
    return Figure(
        "separation", "faithful", "Majority territory", share, reference,
        judge(share - reference, 0.1, 0.25),
        "good up to 10 points above the real rows' share, caution up to 25 points above it",
        f"{share:.0%} of the new rows have mostly majority rows among their {K} nearest real rows, "
        f"when as many of both classes are taken. Of the real minority rows, {reference:.0%} do.",
        as_share=True,
    )  # fmt: skip
