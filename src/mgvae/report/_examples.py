"""Examples of new rows, each with both parents and the nearest real row.

A row made by a bridge has two parents: the minority row that it starts from, its *anchor*, and the
majority row that it goes towards, its *guide*. A translated row has a guide only.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec import LEVELS, cell_texts
from mgvae.report._data import Rows, Tables, cells_at, sample
from mgvae.report._images import png
from mgvae.report._neighbours import closeness

__all__ = ["Example", "Parentage", "examples", "parentage"]

Positions = NDArray[np.int64]

_CELLS = 6000  # shown at most, so that the page stays small
_MOST = 30


@dataclass(frozen=True)
class Example:
    """One new row with its relatives.

    Parameters
    ----------
    row : int
        Its position among the synthetic rows.
    anchor : int or None
        The row of the real table that it started from.
    source : int or None
        The row of the real table that guided it.
    nearest : int
        The row of the real table, of the same class, that is nearest to it.
    cells : list of (str, str or None, str or None, str, str)
        By column: its name and the cells of anchor, guide, new row and nearest row.
    pictures : list of str or None
        The same four as images, each a data address; empty for rows of a table. (The name is the
        one in the JSON.)
    """

    row: int
    anchor: int | None
    source: int | None
    nearest: int
    cells: list[tuple[str, str | None, str | None, str, str]]
    pictures: list[str | None]


@dataclass(frozen=True)
class Parentage:
    """Which cells of new rows came from which parent.

    Parameters
    ----------
    levels : dict of str to float
        Of the cells of categories the shares that equal those of ``"both"`` parents, of the
        ``"anchor"`` alone, of the ``"guide"`` alone, and of ``"neither"``.
    numbers : dict of str to float
        How far new rows are, in the codec's space, from ``"anchor"`` and ``"guide"``, as a share
        of the distance between these; medians.
    """

    levels: dict[str, float]
    numbers: dict[str, float]


def parentage(
    made: Rows, real: Rows, anchors: Positions, guides: Positions, kinds: list[str]
) -> Parentage | None:
    """Compare new rows with their parents; None if no row has two."""
    known = np.flatnonzero((anchors >= 0) & (guides >= 0))
    if not len(known):
        return None
    a, g = anchors[known], guides[known]
    alike = np.zeros(4)
    for old, new, kind in zip(real.columns, made.columns, kinds, strict=True):
        if kind in LEVELS:
            cells, texts = cell_texts(cells_at(new, known)), cell_texts(old)
            of_anchor, of_guide = cells == texts[a], cells == texts[g]
            alike += [
                np.sum(of_anchor & of_guide),
                np.sum(of_anchor & ~of_guide),
                np.sum(of_guide & ~of_anchor),
                np.sum(~of_anchor & ~of_guide),
            ]
    rows = made.encoded[known]
    apart = np.linalg.norm(real.encoded[a] - real.encoded[g], axis=1)
    apart = np.where(apart > 0, apart, np.inf)
    far = {
        name: float(np.median(np.linalg.norm(rows - real.encoded[parent], axis=1) / apart))
        for name, parent in (("anchor", a), ("guide", g))
    }
    names = ("both", "anchor", "guide", "neither")
    shares = alike / alike.sum() if alike.sum() else alike
    return Parentage(
        dict(zip(names, shares.round(4).tolist(), strict=True)) if alike.sum() else {},
        {name: round(value, 4) for name, value in far.items()},
    )


def examples(
    tables: Tables,
    made: Rows,
    label: str,
    anchors: Positions,
    guides: Positions,
    rng: np.random.Generator,
) -> list[Example]:
    """Draw some new rows of a class and find their relatives."""
    real = tables.rows[0]
    n = min(_MOST, max(3, _CELLS // (4 * max(1, len(tables.names)))))
    rows = sample(made.of(label), n, rng)
    members = sample(real.of(label), 10_000, rng)
    nearest = members[closeness(made.encoded[rows], real.encoded[members]).index]
    parents = [anchors[rows], guides[rows]]
    texts: list[tuple[str, Any, Any, Any, Any]] = []
    for name, old, new in zip(tables.names, real.columns, made.columns, strict=True):
        a, b = (cell_texts(cells_at(old, np.maximum(known, 0))) for known in parents)
        cells, closest = cell_texts(cells_at(new, rows)), cell_texts(cells_at(old, nearest))
        texts.append((name, a, b, cells, closest))
    found = []
    for i, row in enumerate(rows):
        anchor, guide = (int(parent[i]) for parent in parents)
        found.append(
            Example(
                int(row),
                anchor if anchor >= 0 else None,
                guide if guide >= 0 else None,
                int(nearest[i]),
                [
                    (name, a[i] if anchor >= 0 else None, b[i] if guide >= 0 else None, c[i], d[i])
                    for name, a, b, c, d in texts
                ],
                _images(real, made, anchor, guide, int(row), int(nearest[i])),
            )
        )
    return found


def _images(
    real: Rows, made: Rows, anchor: int, guide: int, row: int, nearest: int
) -> list[str | None]:
    if real.images is None or made.images is None:
        return []
    return [
        png(real.images[anchor]) if anchor >= 0 else None,
        png(real.images[guide]) if guide >= 0 else None,
        png(made.images[row]),
        png(real.images[nearest]),
    ]
