"""What can be seen of a class: associations of columns, a map of the rows, the worst pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from mgvae.codec import NUMBERS, Column, cell_numbers, cell_texts
from mgvae.report._association import Links
from mgvae.report._data import Rows, sample
from mgvae.report._figures import plain_number
from mgvae.report._parts import Parts

__all__ = ["Associations", "PairView", "RowMap", "map_rows", "view_associations"]

Floats = NDArray[np.float64]
Points = list[tuple[float, float]]

_SHOWN = 24  # most columns of a heat map
_DOTS = 300  # of each kind on a map or in a pair
_WORST = 6  # pairs drawn
_FEW = 12  # different numbers that are drawn like categories
_LEVELS = 6  # of a category on an axis; the others share one place


@dataclass(frozen=True)
class Associations:
    """The associations of columns, among real and among new rows.

    Parameters
    ----------
    names : list of str
        The columns; of many, those whose associations differ most.
    real, new : list of list of float
        The matrices.
    """

    names: list[str]
    real: list[list[float]]
    new: list[list[float]]


@dataclass(frozen=True)
class PairView:
    """Two columns whose association differs.

    Parameters
    ----------
    names : (str, str)
        The columns, that of the x-axis first.
    association, association_new : float
        Among real and among new rows.
    real, new : list of (float, float)
        Some rows, on axes from 0 to 1.
    ticks : (list of (float, str), list of (float, str))
        Places on the axes and what stands there.
    """

    names: tuple[str, str]
    association: float
    association_new: float
    real: Points
    new: Points
    ticks: tuple[list[tuple[float, str]], list[tuple[float, str]]]


@dataclass(frozen=True)
class RowMap:
    """Rows on the plane that shows most of the differences between them.

    Parameters
    ----------
    points : dict of str to list of (float, float)
        By kind (``"majority"``, ``"learned"``, ``"held_out"``, ``"new"``), on axes from 0 to 1.
    explained : float
        The share of the variance that the plane shows.
    """

    points: dict[str, Points]
    explained: float


def map_rows(parts: Parts, rng: np.random.Generator) -> RowMap:
    """Draw the main plane of minority and majority, and place new rows on it."""
    kinds = {"majority": parts.majority, "learned": parts.learned}
    if parts.held_out is not None:
        kinds["held_out"] = parts.held_out
    kinds["new"] = parts.new
    few = {
        name: rows.encoded[sample(np.arange(len(rows)), _DOTS, rng)] for name, rows in kinds.items()
    }
    real = np.concatenate([rows for name, rows in few.items() if name != "new"])
    n = min(2, *real.shape)
    plane = PCA(n, random_state=0).fit(real)
    flat = {name: np.zeros((len(rows), 2)) for name, rows in few.items()}
    for name, rows in few.items():
        flat[name][:, :n] = plane.transform(rows)
    everything = np.concatenate(list(flat.values()))
    low, high = np.quantile(everything, [0.005, 0.995], axis=0)
    span = np.where(high > low, high - low, 1.0)
    points = {name: _points(((rows - low) / span).clip(0, 1)) for name, rows in flat.items()}
    explained = float(np.nan_to_num(plane.explained_variance_ratio_).sum())
    return RowMap(points, round(explained, 4))


def view_associations(
    even: tuple[Rows, Rows],
    links: Links,
    names: Sequence[str],
    kinds: Sequence[str],
    rng: np.random.Generator,
) -> tuple[Associations | None, list[PairView]]:
    """Return the heat maps of associations, and draw the pairs that differ most."""
    (real, new), (used, a, b) = even, links
    if len(used) < 2 or len(real) < 2:
        return None, []
    gap = np.abs(a - b)
    order = np.sort(np.argsort(-gap.sum(1), kind="stable")[:_SHOWN])
    shown = Associations(
        [names[used[i]] for i in order],
        a[np.ix_(order, order)].round(2).tolist(),
        b[np.ix_(order, order)].round(2).tolist(),
    )
    first, second = np.triu_indices(len(used), 1)
    worst = np.argsort(-gap[first, second], kind="stable")[:_WORST]
    pairs = []
    for k in worst:
        i, j = int(first[k]), int(second[k])
        pairs.append(
            _pair(real, new, int(used[i]), int(used[j]), names, kinds, a[i, j], b[i, j], rng)
        )
    return shown, pairs


def _pair(
    real: Rows,
    new: Rows,
    i: int,
    j: int,
    names: Sequence[str],
    kinds: Sequence[str],
    usual: float,
    found: float,
    rng: np.random.Generator,
) -> PairView:
    rows = sample(np.arange(len(real)), _DOTS, rng)
    few, few_new = real.at(rows), new.at(rows)
    axes, ticks = [], []
    for place in (i, j):
        both = [few.columns[place], few_new.columns[place]]
        values, marks = _axis(both, kinds[place], rng)
        axes.append(values)
        ticks.append(marks)
    (x, x_new), (y, y_new) = axes
    return PairView(
        (names[i], names[j]),
        round(float(usual), 3),
        round(float(found), 3),
        _points(np.stack([x, y], 1)),
        _points(np.stack([x_new, y_new], 1)),
        (ticks[0], ticks[1]),
    )


def _axis(
    columns: list[Column], kind: str, rng: np.random.Generator
) -> tuple[list[Floats], list[tuple[float, str]]]:
    """Return places from 0 to 1 of the cells of two columns, and marks on the axis."""
    if kind in NUMBERS:
        seen = np.concatenate([cell_numbers(column) for column in columns])
        low, high = np.quantile(seen, [0.01, 0.99]) if len(seen) else (0.0, 1.0)
        span = high - low or 1.0
        apart = 0.03 if len(np.unique(seen)) <= _FEW else 0.0  # or dots would hide each other
        places = []
        for column in columns:
            values = np.full(len(column.values), low - 0.06 * span)  # where a cell is missing
            present = slice(None) if column.missing is None else ~column.missing
            values[present] = cell_numbers(column).clip(low, high)
            places.append(((values - low) / span * 0.9 + 0.06).clip(0, 1))
            places[-1] += rng.uniform(-apart, apart, len(values))
        ends = [(0.06, low), (0.96, high)]
        marks = [(at, plain_number(round(end) if kind == "integer" else end)) for at, end in ends]
        return places, marks if kind in ("continuous", "integer") else []
    texts = [cell_texts(column) for column in columns]
    levels, counts = np.unique(np.concatenate(texts), return_counts=True)
    order = levels[np.argsort(-counts, kind="stable")]
    place = {level: min(i, _LEVELS - 1) for i, level in enumerate(order)}
    n = min(len(order), _LEVELS)
    marks = [((i + 0.5) / n, str(order[i])) for i in range(n)]
    if len(order) > _LEVELS:
        marks[-1] = (marks[-1][0], f"{len(order) - _LEVELS + 1} others")
    jittered = [
        (np.array([place[t] for t in text]) + 0.5 + rng.uniform(-0.3, 0.3, len(text))) / n
        for text in texts
    ]
    return jittered, marks


def _points(rows: Floats) -> Points:
    return [(round(float(x), 3), round(float(y), 3)) for x, y in rows]
