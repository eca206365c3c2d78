"""The neutral form of a table: a list of columns that no longer know their container."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mgvae.errors import DataError

__all__ = [
    "CellTypeError",
    "Column",
    "Level",
    "Marker",
    "Table",
    "join_columns",
    "label",
    "refuse_infinite",
    "take_cells",
    "ticks",
]

Level = str | bytes | bool | int | float
Marker = Literal["null", "nan", "NA", "NaT"]

MARKERS: tuple[Marker, ...] = ("null", "NA", "NaT", "nan")  # the first of those seen stands
_GROUP, _ROWS = 32, 512  # columns of a row-major array, and rows, that are copied out together


class CellTypeError(DataError, TypeError):
    """A column holds objects that are not cells of a table."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column, with what is needed to restore its container's types.

    Parameters
    ----------
    name : hashable
        The column's name, or its position in an array.
    values : ndarray of shape (n,)
        Numbers, booleans, ``datetime64`` (in UTC), ``timedelta64``, strings or bytes; with
        ``levels`` the positions in them. Where a cell is missing the value is a placeholder.
    missing : ndarray of bool, optional
        Where cells are missing; None where none is.
    dtype : str
        What the column's owner calls its type, such as ``"Int64"`` or ``"object[date]"``.
    levels : tuple, optional
        Every category the type declares, in its order.
    ordered : bool
        Whether the order of ``levels`` means something.
    marker : {"null", "nan", "NA", "NaT"}
        What stands in a missing cell: the container's own null (None among objects), or another
        value where the type holds several.
    nullable : bool
        Whether the type can hold a missing cell.
    size : int, optional
        How many bytes every cell has, if the type says so.

    Examples
    --------
    >>> import numpy as np
    >>> from mgvae.codec import Column
    >>> Column("size", np.array([1, 0]), levels=("small", "large")).levels[1]
    'large'
    """

    name: Hashable
    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    dtype: str = ""
    levels: tuple[Level, ...] | None = None
    ordered: bool = False
    marker: Marker = "null"
    nullable: bool = True
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length.

    Parameters
    ----------
    columns : list of Column
        The columns, in order.
    n_rows : int
        Their length.
    names : list, optional
        The columns' names; None for an array, whose columns are known by position.
    array : ndarray, optional
        The array whose columns these are, if they are views.
    """

    columns: list[Column]
    n_rows: int
    names: list[Hashable] | None = None
    array: NDArray[Any] | None = None

    def contiguous(self) -> Iterator[Column]:
        """Yield the columns one by one, each with contiguous values.

        Columns of a row-major array are copied out in small groups, which is many times faster
        than walking through the whole array once for each.
        """
        if self.array is None or not self.array.flags.c_contiguous:
            yield from self.columns
            return
        for start in range(0, len(self.columns), _GROUP):
            group = self.columns[start : start + _GROUP]
            copies = np.empty((len(group), self.n_rows), self.array.dtype)
            for row in range(0, self.n_rows, _ROWS):
                rows = slice(row, row + _ROWS)
                copies[:, rows] = self.array[rows, start : start + _GROUP].T
            yield from (replace(c, values=v) for c, v in zip(group, copies, strict=True))


def join_columns(parts: Sequence[Sequence[Column]]) -> list[Column]:
    """Concatenate decoded rows.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = Column(0, np.array([1])), Column(0, np.array([0]), np.array([True]))
    >>> join_columns([[a], [b]])[0].missing
    array([False,  True])
    """
    return [_join(cells) if len(cells) > 1 else cells[0] for cells in zip(*parts, strict=True)]


def _join(cells: Sequence[Column]) -> Column:
    missing = None
    if any(c.missing is not None for c in cells):
        marks = [np.zeros(len(c.values), bool) if c.missing is None else c.missing for c in cells]
        missing = np.concatenate(marks)
    return replace(cells[0], values=np.concatenate([c.values for c in cells]), missing=missing)


def take_cells(column: Column, rows: NDArray[np.intp]) -> Column:
    """Return the cells of a column at some positions."""
    missing = None if column.missing is None else column.missing[rows]
    return replace(column, values=column.values[rows], missing=missing)


def label(name: Hashable) -> str:
    """Call a column what an error message should call it.

    Examples
    --------
    >>> label("age"), label(3)
    ("column 'age'", 'column 3')
    """
    return f"column {name!r}"


def refuse_infinite(name: Hashable, values: NDArray[Any]) -> None:
    """Raise if a float column holds an infinite value."""
    infinite = np.isinf(values)
    if infinite.any():
        raise DataError(
            f"{label(name)} holds {int(infinite.sum())} infinite value(s) (inf), the first in row "
            f"{int(infinite.argmax())}. Replace them by numbers, or by NaN if they are unknown."
        )


def ticks(values: NDArray[Any]) -> NDArray[Any]:
    """Return dates and durations as their integers, and anything else unchanged."""
    return values.view(np.int64) if values.dtype.kind in "mM" else values
