"""Columns and labels -> pandas."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mgvae.codec._columns import Column
from mgvae.codec.containers._arrow import build_array
from mgvae.codec.containers._index import fresh_index
from mgvae.codec.containers._objects import neutral_level, positions, to_objects

__all__ = ["append_labels", "append_rows", "build_labels", "build_rows"]


def build_rows(frame: Any, columns: Sequence[Column], index: Any = None) -> Any:
    """Return columns as a DataFrame with the types of ``frame``."""
    types = zip(columns, frame.dtypes, strict=True)
    cells = {i: _cells(column, dtype) for i, (column, dtype) in enumerate(types)}
    new = frame._constructor(pd.DataFrame(cells, copy=False))
    new.columns = frame.columns
    if index is not None:
        new.index = index
    new.attrs = frame.attrs
    return new


def append_rows(frame: Any, columns: Sequence[Column]) -> Any:
    """Append columns to the rows of ``frame``."""
    new = build_rows(frame, columns, fresh_index(frame.index, len(columns[0].values)))
    return pd.concat([frame, new])


def build_labels(y: Any, labels: Any) -> Any:
    """Return class labels as a Series or a DataFrame of the type of ``y``."""
    if isinstance(y, pd.DataFrame):
        columns = labels.reshape(len(labels), -1).T
        cells = {
            i: pd.array(c, dtype=t) for i, (c, t) in enumerate(zip(columns, y.dtypes, strict=True))
        }
        return pd.DataFrame(cells).set_axis(y.columns, axis=1)
    return pd.Series(pd.array(labels, dtype=y.dtype), name=y.name)


def append_labels(y: Any, labels: Any, index: Any) -> Any:
    """Append class labels to ``y``; ``index`` is that of the rows, if they have one."""
    new = build_labels(y, labels)
    new.index = fresh_index(y.index, len(new))
    both = pd.concat([y, new])
    if index is not None:
        both.index = index
    return both


def _cells(column: Column, dtype: Any) -> Any:
    """Return a column's cells as an array of a pandas dtype."""
    if isinstance(dtype, pd.SparseDtype):
        return pd.arrays.SparseArray(_cells(column, dtype.subtype), dtype=dtype)
    if isinstance(dtype, pd.ArrowDtype):
        return pd.array(build_array(column, dtype.pyarrow_dtype), dtype=dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        codes = positions(column, [neutral_level(level) for level in dtype.categories])
        return pd.Categorical.from_codes(codes, dtype=dtype)
    if pd.api.types.is_object_dtype(dtype):
        return pd.Series(to_objects(column), dtype=object)  # no type is guessed from it
    if isinstance(dtype, pd.StringDtype):
        return pd.array(to_objects(column), dtype=dtype)
    if isinstance(dtype, np.dtype):
        cells = column.values.astype(dtype)
    elif isinstance(dtype, pd.DatetimeTZDtype):
        times = pd.DatetimeIndex(column.values).tz_localize("UTC").tz_convert(dtype.tz)
        cells = times.array.astype(dtype)
    else:
        cells = pd.array(column.values, dtype=dtype)
    if column.missing is not None:
        cells[column.missing] = None
    return cells
