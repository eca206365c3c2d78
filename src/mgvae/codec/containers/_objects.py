"""Columns of Python objects <-> typed values."""

import datetime as dt
import math
from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import (
    MARKERS,
    CellTypeError,
    Column,
    Level,
    Marker,
    label,
    refuse_infinite,
)
from mgvae.errors import DataError

__all__ = ["from_objects", "neutral_level", "positions", "to_objects"]

_MARKERS: dict[str, Marker] = {"NoneType": "null", "NAType": "NA", "NaTType": "NaT"}
_NEUTRAL: dict[type, type] = {
    str: str,
    np.str_: str,
    bytes: bytes,
    np.bytes_: bytes,
    bool: bool,
    np.bool_: bool,
    dt.date: dt.date,
    dt.datetime: dt.datetime,
    dt.timedelta: dt.timedelta,
    Decimal: Decimal,
}
_DTYPES: dict[type, str] = {
    bool: "bool",
    float: "float64",
    Decimal: "float64",
    dt.date: "datetime64[D]",
    dt.datetime: "datetime64[us]",
    dt.timedelta: "timedelta64[us]",
}


def from_objects(name: Hashable, objects: NDArray[Any]) -> Column:
    """Find the one type that all present cells share, and return them as a column of that type.

    Examples
    --------
    >>> import numpy as np
    >>> column = from_objects("age", np.array([31, None, 48], dtype=object))
    >>> column.dtype, column.values, column.missing
    ('object[int]', array([31,  0, 48]), array([False,  True, False]))
    """
    cells = objects.tolist()
    missing, marker = _missing(objects, cells)
    present = cells if missing is None else objects[~missing].tolist()
    if not present:
        return Column(name, np.full(len(cells), None, object), missing, "object", marker=marker)
    kind = _shared_type(name, present)
    if kind in (str, bytes):
        return Column(name, objects, missing, f"object[{kind.__name__}]", marker=marker)
    typed = _typed(name, present, kind)
    values = typed
    if missing is not None:
        values = np.zeros(len(cells), typed.dtype)
        values[~missing] = typed
    return Column(name, values, missing, f"object[{kind.__name__}]", marker=marker)


def to_objects(column: Column) -> NDArray[Any]:
    """Return a column's cells as the Python objects that they were."""
    cells = np.empty(len(column.values), object)
    if column.levels is not None:
        levels = np.empty(len(column.levels), object)
        levels[:] = column.levels
        cells[:] = levels[column.values]
    elif column.dtype.endswith("[Decimal]"):
        cells[:] = [Decimal(repr(value)) for value in column.values.tolist()]
    else:
        values = column.values
        cells[:] = values if values.dtype.kind == "O" else values.tolist()
    if column.missing is not None:
        cells[column.missing] = _marker(column.marker)
    return cells


def neutral_level(value: Any) -> Level:
    """Return a category as text unless it is a plain value already."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | bytes | bool | int | float) else str(value)


def positions(column: Column, levels: Sequence[Level]) -> NDArray[np.int64]:
    """Return a coded column as positions in other levels, -1 where a cell is missing."""
    known = {level: i for i, level in enumerate(levels)}
    places = np.array([known[level] for level in column.levels or ()] or [-1])
    codes: NDArray[np.int64] = places[column.values]
    if column.missing is not None:
        codes[column.missing] = -1
    return codes


def _missing(objects: NDArray[Any], cells: list[Any]) -> tuple[NDArray[np.bool_] | None, Marker]:
    """Find the missing cells and the marker that stands in them."""
    types = {t.__name__: t for t in set(map(type, cells))}
    markers = [name for name in types if name in _MARKERS]
    floats = tuple(t for t in types.values() if issubclass(t, float | np.floating))
    if not markers and not floats:
        return None, "null"
    gone = tuple(types[name] for name in markers)
    if {*types.values()} <= {str, float, type(None)}:  # as in most columns with missing cells
        mask = ((objects != objects) | (objects == None)).astype(bool)  # noqa: E711
    else:
        marks = (isinstance(c, gone) or (isinstance(c, floats) and c != c) for c in cells)
        mask = np.fromiter(marks, bool, len(cells))
    if not mask.any():
        return None, "null"
    found = {_MARKERS[name] for name in markers} | {"nan"}
    return mask, next(marker for marker in MARKERS if marker in found)


def _marker(marker: Marker) -> Any:
    if marker == "null":
        return None
    if marker == "nan":
        return math.nan
    import pandas as pd

    return pd.NA if marker == "NA" else pd.NaT


def _shared_type(name: Hashable, present: list[Any]) -> type:
    found = set(map(type, present))
    kinds = set()
    for t in found:
        if t in _NEUTRAL:
            kinds.add(_NEUTRAL[t])
        elif issubclass(t, float | np.floating):
            kinds.add(float)
        elif issubclass(t, int | np.integer):
            kinds.add(int)
        else:
            raise CellTypeError(
                f"{label(name)} holds objects of type {t.__name__}, which mean nothing to the "
                "codec (a cell argument must be a string, a number, a boolean, a date or "
                "missing). Convert the column or drop it."
            )
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) > 1:
        names = " and ".join(sorted(t.__name__ for t in found))
        raise DataError(
            f"{label(name)} mixes values of type {names}. Give all its cells one type, for "
            "example by converting the column to text or to numbers."
        )
    return kinds.pop()


def _typed(name: Hashable, present: list[Any], kind: type) -> NDArray[Any]:
    if kind is int:
        low, high = int(min(present)), int(max(present))
        if low >= -(2**63) and high < 2**63:
            return np.array(present, np.int64)
        if low >= 0 and high < 2**64:
            return np.array(present, np.uint64)
        raise DataError(
            f"{label(name)} holds integers from {low} to {high}, which do not fit 64 bits. "
            "Convert the column to float, or to text if it names something."
        )
    if kind is dt.datetime and any(cell.tzinfo is not None for cell in present):
        raise DataError(
            f"{label(name)} holds datetime objects with a time zone. Convert the column to a "
            "date-time dtype, for example with pandas.to_datetime(..., utc=True)."
        )
    values = np.array(present, _DTYPES[kind])
    if values.dtype.kind == "f":
        refuse_infinite(name, values)
    return values
