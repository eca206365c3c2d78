"""All figures of one class, from three samples: learned from, held out, and new."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from mgvae.codec import LEVELS, NUMBERS
from mgvae.report._association import association
from mgvae.report._columns import ColumnQuality, compare_column
from mgvae.report._data import Rows, sample
from mgvae.report._figures import Figure, judge, judge_between, unknown
from mgvae.report._intervals import Interval, auc_interval, clustered_share, wilson
from mgvae.report._neighbours import (
    Closeness,
    K,
    closeness,
    coverage_density,
    foreign_share,
    spread,
)

__all__ = ["MOST", "Parts", "measure", "measure_columns", "relations"]

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

MOST = 2000
"""Most rows of each kind that distances are worked out for."""

_SEARCHED = 10_000  # most real rows among which the nearest is looked for
_DISCRIMINATED = 1000
_PAIRED = 150  # most columns whose relations are looked at
_ENOUGH = 10  # rows below which a class cannot be judged by cross-validation
_FEWEST = 20  # held-out rows below which a quantile of theirs means nothing
_DRAWS = 5


@dataclass(frozen=True)
class Parts:
    """The rows of one class, cut to size.

    Parameters
    ----------
    learned : Rows
        Real rows that the sampler learned from.
    held_out : Rows or None
        Real rows that it never saw.
    new : Rows
        The rows that it made of the first.
    majority : Rows
        Rows of the largest class.
    """

    learned: Rows
    held_out: Rows | None
    new: Rows
    majority: Rows

    @property
    def unseen(self) -> Rows:
        """The real rows that new ones are compared with: those held out, if there are any."""
        return self.learned if self.held_out is None else self.held_out

    @classmethod
    def cut(
        cls,
        learned: Rows,
        held_out: Rows | None,
        new: Rows,
        majority: Rows,
        rng: np.random.Generator,
    ) -> "Parts":
        """Draw as many rows of each as are looked at."""

        def few(rows: Rows, most: int) -> Rows:
            return rows.at(sample(np.arange(len(rows)), most, rng))

        return cls(
            few(learned, _SEARCHED),
            None if held_out is None else few(held_out, _SEARCHED),
            few(new, MOST),
            few(majority, MOST),
        )

    def even(self, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Draw as many real rows, unseen ones if there are any, as new ones."""
        n = min(len(self.unseen), len(self.new), MOST)
        return (
            self.unseen.at(sample(np.arange(len(self.unseen)), n, rng)),
            self.new.at(sample(np.arange(len(self.new)), n, rng)),
        )


def measure_columns(parts: Parts, kinds: Sequence[str]) -> list[ColumnQuality]:
    """Compare every column that is modelled, the farthest first."""
    found = [
        compare_column(real, new, majority, kind)
        for real, new, majority, kind in zip(
            parts.unseen.columns, parts.new.columns, parts.majority.columns, kinds, strict=True
        )
        if kind in NUMBERS + LEVELS
    ]
    return sorted(found, key=lambda column: column.chance - column.distance)


def relations(
    real: Rows, new: Rows, kinds: Sequence[str], rng: np.random.Generator
) -> tuple[Positions, Floats, Floats]:
    """Compute the associations of columns among real and among new rows.

    Returns
    -------
    used : ndarray of int
        Which columns; of many, some are drawn.
    real, new : ndarray of shape (n_used, n_used)
        The matrices of associations.
    """
    modelled = np.array([i for i, kind in enumerate(kinds) if kind in NUMBERS + LEVELS], np.int64)
    used = sample(modelled, _PAIRED, rng)
    a, b = (
        association([rows.columns[i] for i in used], [kinds[i] for i in used])
        for rows in (real, new)
    )
    return used, a, b


def measure(
    parts: Parts,
    made: Rows,
    real: Rows,
    columns: Sequence[ColumnQuality],
    names: Sequence[str],
    kinds: Sequence[str],
    rng: np.random.Generator,
) -> list[Figure]:
    """Measure one class.

    Parameters
    ----------
    parts : Parts
        The three samples.
    made : Rows
        All new rows of the class that the user has, among which copies are counted.
    real : Rows
        All real rows, of every class.
    columns : sequence of ColumnQuality
        The columns of the class, the farthest first.
    names, kinds : sequence of str
        The columns of the table.
    rng : numpy.random.Generator
        Draws and shuffles.
    """
    even_real, even_new = parts.even(rng)
    of_columns = []
    if columns:
        of_columns = [
            _column_distance(columns),
            _association_difference(even_real, even_new, parts, names, kinds, rng),
        ]
    learned = _told_apart(parts.learned, parts.new, rng)
    unseen = None if parts.held_out is None else _told_apart(parts.held_out, parts.new, rng)
    return [
        *of_columns,
        _discriminator(learned, unseen, parts),
        _separation(parts, rng),
        *_coverage(even_real, even_new, parts, rng),
        _distinct(even_real, even_new),
        _spread(parts),
        _nearer(parts, rng),
        _closest(parts, rng),
        _ratio(parts),
        _told_from_learned(learned),
        _copies(made, real),
    ]


def _column_distance(columns: Sequence[ColumnQuality]) -> Figure:
    value = float(np.mean([column.distance for column in columns]))
    chance = float(np.mean([column.chance for column in columns]))
    far = columns[0]
    return Figure(
        "columns", "faithful", "Column distributions", value, chance,
        judge(value - chance, 0.1, 0.2),
        f"good up to 0.10, caution up to 0.20 above chance, which is {chance:.2f} here",
        f"On average the distributions of a column differ by {value:.2f} (0 is the same, 1 is "
        f"nothing in common); the farthest is {far.name}, {far.distance:.2f}.",
    )  # fmt: skip


def _association_difference(
    real: Rows,
    new: Rows,
    parts: Parts,
    names: Sequence[str],
    kinds: Sequence[str],
    rng: np.random.Generator,
) -> Figure:
    name, title = "association", "Relations between columns"
    n_modelled = sum(kind in NUMBERS + LEVELS for kind in kinds)
    if n_modelled < 2 or len(real) < _ENOUGH:
        return unknown(
            name, "faithful", title, f"It takes two columns and {_ENOUGH} rows to see relations."
        )
    used, a, b = relations(real, new, kinds, rng)
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
    some = f"; {len(used)} of {n_modelled} columns were looked at" if cut else ""
    return Figure(
        name, "faithful", title, value, chance,
        judge(value - chance, 0.05, 0.15),
        f"good up to 0.05, caution up to 0.15 above chance, about {chance:.2f} here",
        f"Correlations (and their like for categories) differ by {value:.2f} on average; the "
        f"largest difference is {gaps[worst]:.2f}, between {pair[0]} and {pair[1]}{some}.",
    )  # fmt: skip


def _told_apart(real: Rows, new: Rows, rng: np.random.Generator) -> tuple[float, Interval] | None:
    """Return how well a random forest tells new rows from real ones, as many of both."""
    n = min(len(real), len(new), _DISCRIMINATED)
    if n < _ENOUGH:
        return None
    a, b = (rows.encoded[sample(np.arange(len(rows)), n, rng)] for rows in (real, new))
    y = np.repeat([0, 1], n)
    folds = StratifiedKFold(5, shuffle=True, random_state=_seed(rng))
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=_seed(rng))
    X = np.concatenate([a, b])
    scores = cross_val_predict(forest, X, y, cv=folds, method="predict_proba")[:, 1]
    return auc_interval(scores[:n], scores[n:])


def _discriminator(
    learned: tuple[float, Interval] | None,
    unseen: tuple[float, Interval] | None,
    parts: Parts,
) -> Figure:
    name, title = "discriminator", "Told from unseen real rows"
    if parts.held_out is not None and unseen is not None:
        value, interval = unseen
        words = (
            "hardly tell a new row from a real row that the sampler never saw" if value <= 0.65
            else "often tell a new row from a real row that the sampler never saw" if value <= 0.8
            else "almost always tell a new row from a real row that the sampler never saw"
        )  # fmt: skip
        beside = "" if learned is None else (
            f" Against the rows that the sampler learned from it has {learned[0]:.2f}: the "
            "difference is what was learned by heart."
        )  # fmt: skip
        low = (
            " Far below 0.5 new rows follow the unseen ones too closely: these were not unseen."
            if value < 0.4 else ""
        )  # fmt: skip
        return Figure(
            name, "faithful", title, value, 0.5,
            judge_between(value, (0.4, 0.65), (0.3, 0.8), interval),
            "good from 0.40 to 0.65, caution from 0.30 to 0.80; 0.5 is guessing, 1 is certainty",
            f"A random forest can {words} (cross-validated ROC AUC).{beside}{low}",
            interval,
        )  # fmt: skip
    if learned is None:
        return unknown(name, "faithful", title, f"It takes {_ENOUGH} real and new rows to tell.")
    value, interval = learned
    verdict = judge(value, 0.65, 0.8, interval)
    return Figure(
        name, "faithful", title, value, 0.5, "unknown" if verdict == "good" else verdict,
        "caution from 0.65, bad from 0.80; below, only unseen rows could tell",
        "A random forest was set only against the rows that the new ones were made from (ROC AUC "
        f"{value:.2f}). Whether new rows pass beside unseen real rows cannot be known without "
        "some.",
        interval,
    )  # fmt: skip


def _told_from_learned(learned: tuple[float, Interval] | None) -> Figure:
    name, title = "learned", "Told from the rows learned from"
    if learned is None:
        return unknown(name, "private", title, f"It takes {_ENOUGH} real and new rows to tell.")
    value, interval = learned
    words = (
        "New rows sit so close to rows that the sampler learned from that a random forest takes "
        "one for the other, worse than by guessing: a sign of near copies"
        if value < 0.45
        else "A random forest sees no sign of near copies"
    )
    return Figure(
        name, "private", title, value, 0.5, judge(value, 0.45, 0.4, interval),
        "good from 0.45, caution from 0.40; far below 0.5 new rows are near copies",
        f"{words} (cross-validated ROC AUC {value:.2f}).", interval,
    )  # fmt: skip


def _coverage(real: Rows, new: Rows, parts: Parts, rng: np.random.Generator) -> list[Figure]:
    if len(real) < K + 1:
        why = f"It takes {K + 1} real and new rows to see neighbourhoods."
        return [
            unknown("coverage", "diverse", "Coverage", why),
            unknown("density", "faithful", "Density", why),
        ]
    coverage, density = coverage_density(real.encoded, new.encoded)
    usual, usual_density, who = 1.0, 1.0, "real rows"
    if parts.held_out is not None:
        who = "unseen real rows"
        n = min(len(parts.learned), len(real))
        others = parts.learned.encoded[sample(np.arange(len(parts.learned)), n, rng)]
        usual, usual_density = coverage_density(real.encoded, others)
    interval = wilson(coverage, len(real))
    return [
        Figure(
            "coverage", "diverse", "Coverage", coverage, usual,
            judge(coverage, 0.8 * usual, 0.5 * usual, interval),
            f"good from {0.8 * usual:.2f}, caution from {0.5 * usual:.2f}: 80% and 50% of what "
            "other real rows cover",
            f"{coverage:.0%} of the {who} have a new row in their neighbourhood, as many of both "
            "taken.",
            interval,
        ),
        Figure(
            "density", "faithful", "Density", density, usual_density,
            judge(density, 0.6 * usual_density, 0.3 * usual_density),
            f"good from {0.6 * usual_density:.2f}, caution from {0.3 * usual_density:.2f}: 60% "
            "and 30% of what other real rows have",
            f"New rows lie in {density:.2f} times as many neighbourhoods of {who} as these "
            f"themselves{'; they keep to the crowded middle' if density > 1.5 else ''}.",
        ),
    ]  # fmt: skip


def _distinct(real: Rows, new: Rows) -> Figure:
    usual = len(np.unique(real.keys)) / len(real)
    value = len(np.unique(new.keys)) / len(new)
    return Figure(
        "distinct", "diverse", "Distinct rows", value, usual, judge(value / usual, 0.9, 0.6),
        f"good from 90%, caution from 60% of the share among real rows, {usual:.0%}",
        f"Of {len(new):,} new rows {value:.0%} are different from each other; of as many real "
        f"rows {usual:.0%} are.",
    )  # fmt: skip


def _spread(parts: Parts) -> Figure:
    usual = spread(parts.unseen.encoded)
    if usual == 0:
        return unknown("spread", "diverse", "Spread", "The real rows of the class are all alike.")
    value = spread(parts.new.encoded) / usual
    verdict = judge(value, 0.7, 0.4)
    word = {"good": "", "caution": " They are rather alike.", "bad": " The model has collapsed."}
    return Figure(
        "spread", "diverse", "Spread", value, 1.0, verdict,
        "good from 0.70, caution from 0.40; below, the model has collapsed",
        f"New rows are spread {value:.2f} times as widely as real ones.{word[verdict]}",
    )  # fmt: skip


def _separation(parts: Parts, rng: np.random.Generator) -> Figure:
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
        f"good up to 10, caution up to 25 points above the real rows' own {reference:.0%}",
        f"{share:.0%} of the new rows have mostly majority rows among their {K} nearest real ones "
        f"(as many majority as minority rows taken); of the real minority {reference:.0%} do.",
    )  # fmt: skip


_TOO_FEW = "There are too few real rows of this class to compare distances with."


def _nearer(parts: Parts, rng: np.random.Generator) -> Figure:
    """Return the share of new rows nearer to a learned row than to an unseen one.

    If there are more of one kind than of the other, chance alone favours it; the odds are divided
    by the numbers, so that 50% is always what rows give that were not copied.
    """
    name, title = "nearer", "Nearer to what was learned"
    if parts.held_out is None:
        return unknown(
            name, "private", title,
            "Whether new rows lie nearer to the rows they were made from than to other real rows "
            "cannot be known without real rows that the sampler never saw.",
        )  # fmt: skip
    n, m = len(parts.learned), len(parts.held_out)
    if min(n, m) < 2:
        return unknown(name, "private", title, _TOO_FEW)
    learned = closeness(parts.new.encoded, parts.learned.encoded)
    unseen = closeness(parts.new.encoded, parts.held_out.encoded)
    same = np.isclose(learned.nearest, unseen.nearest, rtol=1e-6, atol=1e-6)
    hits = np.where(same, n / (n + m), learned.nearest < unseen.nearest)
    clusters = np.where(hits > 0.5, learned.index, n + unseen.index)
    raw, ends = clustered_share(hits, clusters, rng)
    value, low, high = (_even_odds(share, n, m) for share in (raw, *ends))
    return Figure(
        name, "private", title, value, 0.5, judge(value, 0.6, 0.75, (low, high)),
        "good up to 60%, caution up to 75%; 50% is what rows give that copy nobody",
        f"{value:.0%} of the new rows lie nearer to a row that the sampler learned from than to "
        "any real row that it never saw.",
        (low, high),
    )  # fmt: skip


def _even_odds(share: float, n: int, m: int) -> float:
    return (share / n) / (share / n + (1 - share) / m)


def _closest(parts: Parts, rng: np.random.Generator) -> Figure:
    name, title = "closest", "Distance to the closest record"
    if len(parts.learned) < 3 or len(parts.unseen) < _ENOUGH:
        return unknown(name, "private", title, _TOO_FEW)
    found = closeness(parts.new.encoded, parts.learned.encoded)
    usual = _usual(parts)
    in_turn = parts.held_out is None
    who = "real rows, each held out in turn," if in_turn else "unseen real rows"
    limit = float(np.quantile(usual.nearest, 0.05))
    hits = (found.nearest < limit * (1 - 1e-9)).astype(np.float64)
    value, interval = clustered_share(hits, found.index, rng)
    verdict = judge(value, 0.1, 0.25, interval)
    few = len(usual.nearest) < _FEWEST
    return Figure(
        name, "private", title, value, 0.05, "unknown" if few and verdict != "bad" else verdict,
        "good up to 10%, caution up to 25%; 5% is what other real rows give",
        f"{value:.0%} of the new rows lie closer to a row that the sampler learned from than 95% "
        f"of {who} do; the median distance is {np.median(found.nearest):.2f}, for {who.rstrip(',')}"
        f" {np.median(usual.nearest):.2f}.",
        interval,
    )  # fmt: skip


def _ratio(parts: Parts) -> Figure:
    name, title = "ratio", "Nearest-neighbour distance ratio"
    if len(parts.learned) < 3 or len(parts.unseen) < _ENOUGH:
        return unknown(name, "private", title, _TOO_FEW)
    found, usual = closeness(parts.new.encoded, parts.learned.encoded), _usual(parts)
    ratio, reference = float(np.median(found.ratio)), float(np.median(usual.ratio))
    return Figure(
        name, "private", title, ratio, reference,
        judge(ratio / reference if reference > 0 else 1.0, 0.8, 0.5),
        f"good from 80%, caution from 50% of the real rows' own, {reference:.2f}",
        f"The closest row that the sampler learned from is {ratio:.2f} times as far as the second "
        f"closest, for real rows {reference:.2f} times: "
        f"{'no' if ratio >= 0.8 * reference else 'some'} sign that new rows cling to single rows.",
    )  # fmt: skip


def _usual(parts: Parts) -> Closeness:
    """Return how close real rows are to those that were learned from."""
    if parts.held_out is None:
        return closeness(parts.learned.encoded, parts.learned.encoded, same=True)
    return closeness(parts.held_out.encoded, parts.learned.encoded)


def _copies(made: Rows, real: Rows) -> Figure:
    count = int(np.isin(made.keys, real.keys).sum())
    value = count / len(made)
    _, places, counts = np.unique(real.keys, return_inverse=True, return_counts=True)
    own = real.labels == made.labels[0]
    usual = float(np.mean(counts[places][own] > 1))
    return Figure(
        "copies", "private", "Exact copies", value, usual, judge(value - usual, 0.01, 0.05),
        f"good up to 1, caution up to 5 points above the share among real rows, {usual:.1%}",
        f"{count:,} of {len(made):,} new rows ({value:.1%}) equal a real row in "
        f"{'every modelled column' if made.columns else 'every pixel'}; of the real minority "
        f"{usual:.1%} have a double.",
    )  # fmt: skip


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
