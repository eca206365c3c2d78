"""All figures of one class."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from mgvae.codec import LEVELS, NUMBERS
from mgvae.report._association import association
from mgvae.report._columns import ColumnQuality, compare_column
from mgvae.report._data import PairedRows, cells_at, sample
from mgvae.report._figures import Figure, judge, unknown
from mgvae.report._neighbours import (
    K,
    closeness,
    coverage_density,
    foreign_share,
    spread,
)

__all__ = ["MOST", "Parts", "measure", "measure_columns"]

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

MOST = 2000
"""Most rows of each kind that distances are worked out for."""

_DISCRIMINATED = 1000
_PAIRED = 150  # most columns whose relations are looked at
_ENOUGH = 10  # rows below which a class cannot be judged by cross-validation
_DRAWS = 5


class Parts:
    """The rows of one class, cut to size: real, synthetic and majority positions."""

    def __init__(self, tables: PairedRows, label: str, rng: np.random.Generator) -> None:
        self.all_real = np.flatnonzero(tables.labels == label)
        self.all_new = np.flatnonzero(tables.labels_new == label)
        self.real = sample(self.all_real, MOST, rng)
        self.new = sample(self.all_new, MOST, rng)
        others = np.flatnonzero(tables.labels == tables.majority)
        self.majority = sample(others, MOST, rng)
        self.even = min(len(self.real), len(self.new))  # rows of each in an even comparison
        self.even_real = sample(self.real, self.even, rng)
        self.even_new = sample(self.new, self.even, rng)


def measure_columns(tables: PairedRows, parts: Parts) -> list[ColumnQuality]:
    """Compare every column that is modelled, the farthest first."""
    found = [
        compare_column(
            cells_at(real, parts.real),
            cells_at(new, parts.new),
            cells_at(real, parts.majority),
            kind,
        )
        for (real, new), kind in zip(tables.columns, tables.kinds, strict=True)
        if kind in NUMBERS + LEVELS
    ]
    return sorted(found, key=lambda column: column.chance - column.distance)


def measure(
    tables: PairedRows,
    parts: Parts,
    columns: Sequence[ColumnQuality],
    held_out: Floats | None,
    rng: np.random.Generator,
) -> list[Figure]:
    """Measure one class.

    Parameters
    ----------
    tables : PairedRows
        All rows.
    parts : Parts
        Those of the class.
    columns : sequence of ColumnQuality
        Its columns, the farthest first.
    held_out : ndarray or None
        Encoded real rows of the class that the sampler has not seen.
    rng : numpy.random.Generator
        Draws and shuffles.
    """
    real, new = tables.encoded[parts.real], tables.encoded_new[parts.new]
    majority = tables.encoded[parts.majority]
    of_columns = []
    if columns:
        of_columns = [_column_distance(columns), _association_difference(tables, parts, rng)]
    return [
        *of_columns,
        _discriminator(tables, parts, rng),
        *_coverage(tables, parts),
        _distinct(tables, parts),
        _spread(real, new),
        _separation(real, new, majority, rng),
        *_privacy(real, new, held_out),
        _copies(tables, parts),
    ]


def _column_distance(columns: Sequence[ColumnQuality]) -> Figure:
    value = float(np.mean([column.distance for column in columns]))
    chance = float(np.mean([column.chance for column in columns]))
    far = columns[0]
    return Figure(
        "columns", "fidelity", "Column distributions", value, chance,
        judge(value - chance, 0.1, 0.2),
        f"good up to 0.10, caution up to 0.20 above chance, which is {chance:.2f} here",
        f"On average the distributions of a column differ by {value:.2f} (0 is the same, 1 is "
        f"nothing in common); the farthest is {far.name}, {far.distance:.2f}.",
    )  # fmt: skip


def _association_difference(tables: PairedRows, parts: Parts, rng: np.random.Generator) -> Figure:
    name, title = "association", "Relations between columns"
    modelled = [i for i, kind in enumerate(tables.kinds) if kind in NUMBERS + LEVELS]
    used = sample(np.array(modelled), _PAIRED, rng)
    if len(used) < 2 or parts.even < _ENOUGH:
        return unknown(
            name, "fidelity", title, f"It takes two columns and {_ENOUGH} rows to see relations."
        )
    kinds = [tables.kinds[i] for i in used]
    a = association([cells_at(tables.columns[i][0], parts.even_real) for i in used], kinds)
    b = association([cells_at(tables.columns[i][1], parts.even_new) for i in used], kinds)
    above = np.triu_indices(len(used), 1)
    gaps = np.abs(a - b)[above]
    value, chance = float(gaps.mean()), float(0.8 * np.sqrt(2 / parts.even))
    worst = int(gaps.argmax())
    pair = [tables.columns[used[axis[worst]]][0].name for axis in above]
    cut = len(used) < len(modelled)
    some = f"; {len(used)} of {len(modelled)} columns were looked at" if cut else ""
    return Figure(
        name, "fidelity", title, value, chance,
        judge(value - chance, 0.05, 0.15),
        f"good up to 0.05, caution up to 0.15 above chance, about {chance:.2f} here",
        f"Correlations (and their like for categories) differ by {value:.2f} on average, most, by "
        f"{gaps[worst]:.2f}, between {pair[0]} and {pair[1]}{some}.",
    )  # fmt: skip


def _discriminator(tables: PairedRows, parts: Parts, rng: np.random.Generator) -> Figure:
    name, title = "discriminator", "Told apart by a classifier"
    n = min(parts.even, _DISCRIMINATED)
    if n < _ENOUGH:
        return unknown(name, "fidelity", title, f"It takes {_ENOUGH} real and new rows to tell.")
    real, new = sample(parts.even_real, n, rng), sample(parts.even_new, n, rng)
    X = np.concatenate([tables.encoded[real], tables.encoded_new[new]])
    y = np.repeat([0, 1], n)
    folds = StratifiedKFold(5, shuffle=True, random_state=_seed(rng))
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=_seed(rng))
    scores = cross_val_predict(forest, X, y, cv=folds, method="predict_proba")[:, 1]
    value = float(roc_auc_score(y, scores))
    words = "hardly" if value <= 0.65 else "often" if value <= 0.8 else "almost always"
    return Figure(
        name, "fidelity", title, value, 0.5, judge(value, 0.65, 0.8),
        "good up to 0.65, caution up to 0.80; 0.5 is guessing, 1 is certainty",
        f"A random forest can {words} tell a new row from a real one (cross-validated ROC AUC "
        f"{value:.2f}).",
    )  # fmt: skip


def _coverage(tables: PairedRows, parts: Parts) -> list[Figure]:
    if parts.even < K + 1:
        why = f"It takes {K + 1} real and new rows to see neighbourhoods."
        return [
            unknown("coverage", "diversity", "Coverage", why),
            unknown("density", "diversity", "Density", why),
        ]
    coverage, density = coverage_density(
        tables.encoded[parts.even_real], tables.encoded_new[parts.even_new]
    )
    return [
        Figure(
            "coverage", "diversity", "Coverage", coverage, 1.0, judge(coverage, 0.8, 0.5),
            "good from 0.80, caution from 0.50",
            f"{coverage:.0%} of the real rows have a new row in their neighbourhood, as many new "
            "rows as real ones taken.",
        ),
        Figure(
            "density", "diversity", "Density", density, 1.0, judge(density, 0.6, 0.3),
            "good from 0.60, caution from 0.30; 1 is as dense as the real rows",
            f"A new row lies in {density:.2f} times as many neighbourhoods of real rows as another "
            f"real row would{'; new rows keep to the crowded middle' if density > 1.5 else ''}.",
        ),
    ]  # fmt: skip


def _distinct(tables: PairedRows, parts: Parts) -> Figure:
    keys, keys_new = tables.keys[parts.even_real], tables.keys_new[parts.even_new]
    usual = len(np.unique(keys)) / len(keys)
    value = len(np.unique(keys_new)) / len(keys_new)
    return Figure(
        "distinct", "diversity", "Distinct rows", value, usual, judge(value / usual, 0.9, 0.6),
        f"good from 90%, caution from 60% of the share among real rows, {usual:.0%}",
        f"{value:.0%} of as many new rows as there are real ones differ from each other; among the "
        f"real ones {usual:.0%} do.",
    )  # fmt: skip


def _spread(real: Floats, new: Floats) -> Figure:
    usual = spread(real)
    if usual == 0:
        return unknown("spread", "diversity", "Spread", "The real rows of the class are all alike.")
    value = spread(new) / usual
    verdict = judge(value, 0.7, 0.4)
    word = {"good": "", "caution": " They are rather alike.", "bad": " The model has collapsed."}
    return Figure(
        "spread", "diversity", "Spread", value, 1.0, verdict,
        "good from 0.70, caution from 0.40; below, the model has collapsed",
        f"New rows are spread {value:.2f} times as widely as the real ones.{word[verdict]}",
    )  # fmt: skip


def _separation(real: Floats, new: Floats, majority: Floats, rng: np.random.Generator) -> Figure:
    n = min(len(real), len(majority))
    if n < K:
        return unknown(
            "separation", "separation", "Majority territory", f"It takes {K} real rows to see."
        )
    usual, value = [], []
    for _ in range(_DRAWS):
        own = real[rng.permutation(len(real))[:n]]
        foreign = majority[rng.permutation(len(majority))[:n]]
        usual.append(foreign_share(own, own, foreign, same=True))
        value.append(foreign_share(new, own, foreign))
    share, reference = float(np.mean(value)), float(np.mean(usual))
    return Figure(
        "separation", "separation", "Majority territory", share, reference,
        judge(share - reference, 0.1, 0.25),
        f"good up to 10, caution up to 25 points above the real rows' own {reference:.0%}",
        f"{share:.0%} of the new rows have mostly majority rows among their {K} nearest real ones "
        f"(as many majority as minority rows taken); of the real minority {reference:.0%} do.",
    )  # fmt: skip


def _privacy(real: Floats, new: Floats, held_out: Floats | None) -> list[Figure]:
    if len(real) < 3 or (held_out is not None and len(held_out) == 0):
        why = "There are too few real rows of this class to compare distances with."
        return [
            unknown("closest", "privacy", "Distance to the closest record", why),
            unknown("ratio", "privacy", "Nearest-neighbour distance ratio", why),
        ]
    found = closeness(new, real)
    usual = closeness(real, real, same=True) if held_out is None else closeness(held_out, real)
    who = "real rows, each held out in turn," if held_out is None else "held-out real rows"
    limit = float(np.quantile(usual.nearest, 0.05))
    value = float(np.mean(found.nearest < limit * (1 - 1e-9)))
    ratio, reference = float(np.median(found.ratio)), float(np.median(usual.ratio))
    return [
        Figure(
            "closest", "privacy", "Distance to the closest record", value, 0.05,
            judge(value, 0.1, 0.25),
            "good up to 10%, caution up to 25%; 5% is what new real rows would give",
            f"{value:.0%} of the new rows lie closer to a real minority row than 95% of {who} do; "
            f"the median distance is {np.median(found.nearest):.2f}, among real rows "
            f"{np.median(usual.nearest):.2f}.",
        ),
        Figure(
            "ratio", "privacy", "Nearest-neighbour distance ratio", ratio, reference,
            judge(ratio / reference if reference > 0 else 1.0, 0.8, 0.5),
            f"good from 80%, caution from 50% of the real rows' own, {reference:.2f}",
            f"The closest real row is {ratio:.2f} times as far as the second closest, for real "
            f"rows {reference:.2f} times: {'no' if ratio >= 0.8 * reference else 'some'} sign that "
            "new rows cling to single real ones.",
        ),
    ]  # fmt: skip


def _copies(tables: PairedRows, parts: Parts) -> Figure:
    count = int(np.isin(tables.keys_new[parts.all_new], tables.keys).sum())
    value = count / len(parts.all_new)
    _, places, counts = np.unique(tables.keys, return_inverse=True, return_counts=True)
    usual = float(np.mean(counts[places][parts.all_real] > 1))
    return Figure(
        "copies", "privacy", "Exact copies", value, usual, judge(value - usual, 0.01, 0.05),
        f"good up to 1, caution up to 5 points above the share among real rows, {usual:.1%}",
        f"{count:,} of {len(parts.all_new):,} new rows ({value:.1%}) equal a real row in "
        f"{'every modelled column' if tables.columns else 'every pixel'}; of the real minority "
        f"{usual:.1%} have a double.",
    )  # fmt: skip


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
