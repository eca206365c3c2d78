"""Some whole rows of a table that comes in batches, to suspect relations from."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column, take_cells
from mgvae.codec._facts import sieve, survives
from mgvae.codec._fitted import Fitted
from mgvae.codec._kinds import Cells
from mgvae.codec.relations._block import Block

__all__ = ["MOST_COLUMNS", "RowSample"]

MOST_COLUMNS = 256  # that are compared with each other: the first ones
_ROWS = 8192  # most rows that are kept


class RowSample:
    """At most 8,192 rows, picked by a hash of their position: the cut into batches is no matter.

    Examples
    --------
    >>> import numpy as np
    >>> sample = RowSample()
    >>> for start in range(0, 40_000, 1000):
    ...     taken = sample.next_rows(1000)
    ...     cells = take_cells(Column("a", np.arange(start, start + 1000)), taken)
    ...     sample.add(taken, [cells], 1000)
    >>> 4096 < len(sample) <= 8192
    True
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._depth = 0
        self._parts: list[tuple[NDArray[np.intp], list[Column]]] = []

    def __len__(self) -> int:
        return sum(len(rows) for rows, _ in self._parts)

    def next_rows(self, n_rows: int) -> NDArray[np.intp]:
        """Return which of the next rows shall be kept, after making room for them."""
        while True:
            taken = sieve(self.n_rows, self.n_rows + n_rows, self._depth) - self.n_rows
            if len(self) + len(taken) <= _ROWS:
                return taken
            self._depth += 1
            self._parts = [self._thin(rows, columns) for rows, columns in self._parts]

    def add(self, taken: NDArray[np.intp], columns: list[Column], n_rows: int) -> None:
        """Keep the cells of all columns in the rows that :meth:`next_rows` gave."""
        self._parts.append((self.n_rows + taken, columns))
        self.n_rows += n_rows

    def block(self, fitted: Sequence[Fitted]) -> Block:
        """Return the rows as the kinds decode them."""
        parts = [Block.of(fitted, columns).cells for _, columns in self._parts]
        return Block(fitted, [_join(cells) for cells in zip(*parts, strict=True)])

    def _thin(
        self, rows: NDArray[np.intp], columns: list[Column]
    ) -> tuple[NDArray[np.intp], list[Column]]:
        taken = np.flatnonzero(survives(rows, self._depth))
        return rows[taken], [take_cells(column, taken) for column in columns]


def _join(cells: Sequence[Cells]) -> Cells:
    missing = None
    if any(gone is not None for _, gone in cells):
        missing = np.concatenate(
            [np.zeros(len(values), bool) if gone is None else gone for values, gone in cells]
        )
    return np.concatenate([values for values, _ in cells]), missing
