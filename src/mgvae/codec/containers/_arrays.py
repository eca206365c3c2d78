"""numpy arrays and lists of lists <-> columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column, Table, label, refuse_infinite
from mgvae.codec.containers._objects import from_objects, to_objects
from mgvae.errors import DataError

__all__ = ["as_array", "build_array", "read_array"]


def as_array(X: Any) -> NDArray[Any]:
    """Take anything that numpy understands, without turning numbers beside text into text."""
    if isinstance(X, np.ma.MaskedArray):
        raise DataError(
            "X is a masked array, whose mask would be lost: pass X.filled(numpy.nan) instead."
        )
    try:
        array = np.asarray(X)
        if array.dtype.kind in "USO" and not hasattr(X, "__array__"):
            array = np.array(X, dtype=object)
    except ValueError as error:
        raise DataError(
            f"X cannot be read as a table, because its rows differ in length: {error}"
        ) from error
    return array


def read_array(array: NDArray[Any]) -> Table:
    """Give every column of a two-dimensional array as a view."""
    if array.dtype.kind in "cV":
        what = "Complex data not supported" if array.dtype.kind == "c" else "Structured arrays"
        raise DataError(f"{what}: X has dtype {array.dtype}. Pass one real value per cell.")
    if array.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {array.ndim}D array instead: X has shape {array.shape}. "
            "Reshape your data either using array.reshape(-1, 1) if it has a single feature or "
            "array.reshape(1, -1) if it is a single sample."
        )
    n, width = array.shape
    if array.dtype.kind == "O":
        return Table([from_objects(j, array[:, j]) for j in range(width)], n)
    dtype = str(array.dtype)
    if array.dtype.kind == "f" and not _all_finite(array):
        columns = []
        for j in range(width):
            values = array[:, j]
            missing = np.isnan(values)
            refuse_infinite(j, values)
            has = bool(missing.any())
            columns.append(Column(j, values, missing if has else None, dtype, marker="nan"))
        return Table(columns, n)
    if array.dtype.kind in "mM":
        nat = [np.isnat(array[:, j]) for j in range(width)]
        return Table(
            [Column(j, array[:, j], m if m.any() else None, dtype) for j, m in enumerate(nat)], n
        )
    return Table([Column(j, array[:, j], dtype=dtype, marker="nan") for j in range(width)], n)


def build_array(columns: Sequence[Column], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Put columns side by side in an array of one dtype."""
    n = len(columns[0].values)
    array = np.empty((n, len(columns)), dtype)
    for j, column in enumerate(columns):
        if dtype.kind == "O":
            array[:, j] = to_objects(column)
            continue
        values = column.values
        if dtype.kind in "US" and values.dtype.kind == "O":
            values = values.astype(dtype.kind)
            if values.dtype.itemsize > dtype.itemsize:
                raise DataError(
                    f"{label(column.name)} needs text longer than X's dtype {dtype} holds. "
                    "Pass X as an object array or a DataFrame."
                )
        array[:, j] = values
        if column.missing is not None:
            array[column.missing, j] = "NaT" if dtype.kind in "mM" else np.nan
    return array


def _all_finite(array: NDArray[Any]) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum(dtype=np.float64)
    return bool(np.isfinite(total)) or bool(np.isfinite(array).all())
