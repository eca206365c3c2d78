"""numpy arrays and lists of lists <-> columns."""

from collections.abc import Sequence, Sized
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column, Table, label, refuse_infinite
from mgvae.codec.containers._objects import from_objects, to_objects
from mgvae.errors import DataError

__all__ = ["as_array", "build_array", "read_array"]

_ROWS = 4096  # written at once: a processor's cache holds them


def as_array(X: Any) -> NDArray[Any]:
    """Take anything that numpy understands; cells of lists keep their Python types."""
    if isinstance(X, np.ma.MaskedArray):
        raise DataError(
            "X is a masked array, whose mask would be lost. Pass X.filled(numpy.nan) instead."
        )
    if hasattr(X, "__array__"):
        return np.asarray(X)
    try:
        array = np.array(X, dtype=object)
    except ValueError as error:
        raise DataError(f"X cannot be read as a table of rows and columns: {error}.") from error
    if array.ndim == 1 and any(
        isinstance(row, Sized) and not isinstance(row, str) for row in array
    ):
        raise DataError("X cannot be read as a table: its rows differ in length.")
    return array


def read_array(array: NDArray[Any]) -> Table:
    """Return every column of a two-dimensional array as a view."""
    if array.dtype.kind in "cV":
        what = "Complex data not supported" if array.dtype.kind == "c" else "Structured array"
        raise DataError(f"{what}: X has dtype {array.dtype}. Pass one real value per cell.")
    if array.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {array.ndim}D array instead: X has shape {array.shape}. "
            "Reshape your data either using array.reshape(-1, 1) if it has a single feature or "
            "array.reshape(1, -1) if it is a single sample."
        )
    n_rows, n_columns = array.shape
    if array.dtype.kind == "O":
        return Table([from_objects(j, array[:, j]) for j in range(n_columns)], n_rows)
    columns = [_view(j, array[:, j]) for j in range(n_columns)]
    if array.dtype.kind == "f" and not _all_finite(array):
        for column in columns:
            refuse_infinite(column.name, column.values)
        columns = [_with_missing(column, np.isnan(column.values)) for column in columns]
    elif array.dtype.kind in "mM":
        columns = [_with_missing(column, np.isnat(column.values)) for column in columns]
    return Table(columns, n_rows, array=array)


def _view(position: int, values: NDArray[Any]) -> Column:
    nullable = values.dtype.kind in "fmM"
    return Column(position, values, dtype=str(values.dtype), nullable=nullable, marker="nan")


def _with_missing(column: Column, missing: NDArray[np.bool_]) -> Column:
    return replace(column, missing=missing) if missing.any() else column


def build_array(columns: Sequence[Column], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Stack columns side by side in an array of one dtype."""
    cells = [_as_type(column, dtype) for column in columns]
    array = np.empty((len(cells[0]), len(cells)), dtype)
    for start in range(0, len(array), _ROWS):
        rows = slice(start, start + _ROWS)
        for j, values in enumerate(cells):
            array[rows, j] = values[rows]
    for j, column in enumerate(columns):
        if column.missing is not None and dtype.kind != "O":
            array[column.missing, j] = "NaT" if dtype.kind in "mM" else np.nan
    return array


def _as_type(column: Column, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a column's cells in a form that an array of a dtype takes."""
    if dtype.kind == "O":
        return to_objects(column)
    values = column.values
    if dtype.kind in "US" and values.dtype.kind == "O":
        values = values.astype(dtype.kind)
        if values.dtype.itemsize > dtype.itemsize:
            raise DataError(
                f"{label(column.name)} needs text longer than X's dtype {dtype} holds. "
                "Pass X as an object array or a DataFrame."
            )
    return values


def _all_finite(array: NDArray[Any]) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum(dtype=np.float64)
    return bool(np.isfinite(total)) or bool(np.isfinite(array).all())
