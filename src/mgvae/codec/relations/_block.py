"""Some rows of a table as the relations between its columns see them.

Every cell becomes one float, its token: the number itself (dates count from the earliest of their
type), the position of a level among the levels of its column, 0 for a constant, and NaN where the
cell is missing. Tokens of a column are equal exactly when its cells are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column
from mgvae.codec._fitted import Fitted
from mgvae.codec._kinds import Cells, Kind, Numeric, distance
from mgvae.codec._levels import Constant, Levels, as_cells
from mgvae.codec._scales import Quantile

__all__ = ["Block", "Tokens", "is_related"]

Tokens = NDArray[np.float64]

_EXACT = 2.0**53  # integers up to here are floats


def is_related(fitted: Fitted) -> bool:
    """Return whether a column can have relations: its cells are modelled and exact as floats."""
    kind = fitted.kind
    if isinstance(kind, Numeric):
        times = np.dtype(kind.dtype).kind in "mM"
        reach = kind.high - kind.low if times else max(abs(kind.high), abs(kind.low))
        return reach < _EXACT
    return isinstance(kind, Levels) or (isinstance(kind, Constant) and kind.nullable)


class Block:
    """Some rows, column by column.

    Parameters
    ----------
    columns : sequence of Fitted
        What the columns are.
    cells : sequence of (ndarray, ndarray of bool or None)
        Their cells, as kinds decode them; those of columns that nobody asks for may be left out.

    Attributes
    ----------
    cells : list of (ndarray, ndarray of bool or None)
        The cells, with what was written.
    """

    def __init__(self, columns: Sequence[Fitted], cells: Sequence[Cells]) -> None:
        self.columns = columns
        self.cells = list(cells)
        self._n_rows = max((len(values) for values, _ in cells), default=0)
        self._own: set[int] = set()  # columns whose arrays may be written to
        self._tokens: dict[int, Tokens] = {}
        self._offsets: dict[int, float] = {}

    @classmethod
    def of(cls, fitted: Sequence[Fitted], columns: Sequence[Column]) -> "Block":
        """Return columns of a table as the kinds decode them."""
        return cls(fitted, [_as_decoded(f, c) for f, c in zip(fitted, columns, strict=True)])

    def __len__(self) -> int:
        return self._n_rows

    def tokens(self, j: int) -> Tokens:
        """Return the tokens of a column; they must not be written to."""
        if j not in self._tokens:
            self._tokens[j] = self._read(j)
        return self._tokens[j]

    def put(self, j: int, rows: NDArray[np.intp], tokens: Tokens) -> None:
        """Write tokens into some rows of a column; numbers are rounded into its range."""
        if not rows.size:
            return
        kind = self.columns[j].kind
        values, missing = self.cells[j]
        if j not in self._own:
            values = values.copy()
            missing = None if missing is None else missing.copy()
            self._own.add(j)
        absent = np.isnan(tokens)
        known = np.where(absent, 0.0, tokens)
        if isinstance(kind, Numeric):
            numbers = known - self.offset(j)
            if absent.any():
                numbers[absent] = 0.0
            values[rows] = kind.cells(numbers)
        elif isinstance(kind, Levels):
            places = known.astype(np.intp)
            values[rows] = places if kind.coded else as_cells(kind.levels, kind.dtype)[places]
        if missing is None and absent.any():
            missing = np.zeros(len(values), bool)
        if missing is not None:
            missing[rows] = absent
        self.cells[j] = values, missing
        self._tokens.pop(j, None)

    def offset(self, j: int) -> float:
        """Return what a column's token is more than its number.

        Numbers of integer cells are distances from the lowest.
        """
        if j not in self._offsets:
            self._offsets[j] = self._offset(self.columns[j].kind)
        return self._offsets[j]

    def _offset(self, kind: Kind) -> float:
        if not isinstance(kind, Numeric):
            return 0.0
        letter = np.dtype(kind.dtype).kind
        if letter in "iu":
            return float(kind.low)
        if letter in "mM":
            same = [c.kind for c in self.columns if isinstance(c.kind, Numeric)]
            return float(int(kind.low) - min(int(k.low) for k in same if k.dtype == kind.dtype))
        return 0.0

    def span(self, j: int) -> tuple[float, float]:
        """Return the smallest and the largest token of a column of numbers."""
        kind = self.columns[j].kind
        if not isinstance(kind, Numeric):
            raise TypeError(f"column {j} holds no numbers")
        if np.dtype(kind.dtype).kind == "f":
            return float(kind.low), float(kind.high)
        return self.offset(j), self.offset(j) + float(kind.high - kind.low)

    def step(self, j: int, near: Tokens) -> Tokens:
        """Return how far the cells of a column of numbers lie apart near some tokens."""
        kind = self.columns[j].kind
        if not isinstance(kind, Numeric):
            raise TypeError(f"column {j} holds no numbers")
        dtype = np.dtype(kind.dtype)
        if dtype.kind != "f":
            return np.full(len(near), float(kind.step))
        if kind.decimals is not None:
            return np.full(len(near), 10.0**-kind.decimals)
        return np.asarray(np.abs(np.spacing(near.astype(dtype))), np.float64)

    def another(self, j: int, n: int, token: float, rng: np.random.Generator) -> Tokens:
        """Draw tokens of a column at random, but not one of them."""
        kind = self.columns[j].kind
        if isinstance(kind, Levels):
            weights = np.array(kind.counts, float)
            if not np.isnan(token):
                weights[int(token)] = 0.0
            return rng.choice(len(weights), n, p=weights / weights.sum()).astype(float)
        if isinstance(kind, Numeric):
            numbers = kind.scale.backward(rng.normal(size=n))
            if isinstance(kind.scale, Quantile):
                others = kind.scale.values[kind.scale.values + self.offset(j) != token]
                taken = numbers + self.offset(j) == token
                numbers[taken] = rng.choice(others, int(taken.sum()))
            tokens: Tokens = numbers + self.offset(j)
            return tokens
        return np.zeros(n)  # a constant that is not missing

    def _read(self, j: int) -> Tokens:
        kind = self.columns[j].kind
        values, missing = self.cells[j]
        tokens: Tokens
        if isinstance(kind, Numeric):
            if np.dtype(kind.dtype).kind == "f":
                tokens = values.astype(np.float64) + 0.0  # a negative zero is a zero
            else:
                tokens = distance(values, int(kind.low), int(kind.high)) + self.offset(j)
        elif isinstance(kind, Levels):
            tokens = (values if kind.coded else kind.places(values)).astype(np.float64)
        else:
            tokens = np.zeros(len(values))
        if missing is not None and missing.any():
            tokens[missing] = np.nan
        return tokens


def _as_decoded(fitted: Fitted, column: Column) -> Cells:
    """Return a column's cells as its kind would decode them."""
    kind, values = fitted.kind, column.values
    if isinstance(kind, Levels) and kind.coded and column.levels is not None:
        place = {level: i for i, level in enumerate(kind.levels)}
        places = np.array([place.get(level, 0) for level in column.levels] or [0], np.intp)
        values = places[values]
    elif isinstance(kind, Numeric):
        dtype = np.dtype(kind.dtype)
        if column.missing is not None and (values.dtype.kind == "O" or dtype.kind in "iu"):
            values = np.where(column.missing, 0, values)
        values = values.astype(dtype, copy=False)
        if column.missing is not None and dtype.kind in "iumM":  # a placeholder may be anything
            low = np.array(int(kind.low), np.uint64 if dtype.kind == "u" else np.int64)
            values = np.where(column.missing, low.astype(dtype), values)
    return values, column.missing
