"""Examples of new rows, each with its source row and the nearest real row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mgvae.codec import cell_texts
from mgvae.report._data import PairedRows, cells_at, sample
from mgvae.report._images import png
from mgvae.report._measure import Parts
from mgvae.report._neighbours import closeness

__all__ = ["Example", "examples"]

_CELLS = 6000  # shown at most, so that the page stays small
_MOST = 30


@dataclass(frozen=True)
class Example:
    """One new row with its relatives.

    Parameters
    ----------
    row : int
        Its position among the synthetic rows.
    source : int or None
        The row of the real table it was made from.
    nearest : int
        The row of the real table, of the same class, that is nearest to it.
    cells : list of (str, str or None, str, str)
        By column: the column's name and the cells of source, new row and nearest row.
    pictures : list of str or None
        The same three as images, each a data address; empty for rows of a table. (The name is the
        one in the JSON.)
    """

    row: int
    source: int | None
    nearest: int
    cells: list[tuple[str, str | None, str, str]]
    pictures: list[str | None]


def examples(
    tables: PairedRows, parts: Parts, sources: NDArray[np.int64] | None, rng: np.random.Generator
) -> list[Example]:
    """Draw some new rows of a class and find their relatives."""
    n = min(_MOST, max(3, _CELLS // (3 * max(1, len(tables.columns)))))
    rows = sample(parts.all_new, n, rng)
    found = closeness(tables.encoded_new[rows], tables.encoded[parts.real])
    nearest = parts.real[found.index]
    origins = np.full(len(rows), -1) if sources is None else sources[rows]
    known = origins >= 0
    texts = []
    for real, new in tables.columns:
        source = cell_texts(cells_at(real, np.where(known, origins, 0)))
        made, closest = cell_texts(cells_at(new, rows)), cell_texts(cells_at(real, nearest))
        texts.append((str(real.name), source, made, closest))
    return [
        Example(
            int(row),
            int(origins[i]) if known[i] else None,
            int(nearest[i]),
            [(name, a[i] if known[i] else None, b[i], c[i]) for name, a, b, c in texts],
            _images(tables, int(origins[i]), int(row), int(nearest[i])),
        )
        for i, row in enumerate(rows)
    ]


def _images(tables: PairedRows, source: int, row: int, nearest: int) -> list[str | None]:
    if tables.images is None or tables.images_new is None:
        return []
    return [
        png(tables.images[source]) if source >= 0 else None,
        png(tables.images_new[row]),
        png(tables.images[nearest]),
    ]
