"""Columns and labels -> polars."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from mgvae.codec._columns import Column, ticks
from mgvae.codec.containers._objects import to_objects

__all__ = ["append_labels", "append_rows", "build_labels", "build_rows"]


def build_rows(frame: Any, columns: Sequence[Column]) -> Any:
    """Return columns as a DataFrame with the schema of ``frame``."""
    schema = frame.schema
    return pl.DataFrame([_series(c, schema[c.name]) for c in columns])


def append_rows(frame: Any, columns: Sequence[Column]) -> Any:
    """Append columns to the rows of ``frame``."""
    return pl.concat([frame, build_rows(frame, columns)])


def build_labels(y: Any, labels: Any) -> Any:
    """Return class labels as a Series or a DataFrame of the type of ``y``."""
    if isinstance(y, pl.DataFrame):
        columns = labels.reshape(len(labels), -1).T
        return pl.DataFrame([build_labels(s, c) for s, c in zip(y, columns, strict=True)])
    return pl.Series(y.name, labels.tolist(), dtype=y.dtype)


def append_labels(y: Any, labels: Any, index: Any) -> Any:  # noqa: ARG001
    """Append class labels to ``y``; there is no index in polars."""
    return pl.concat([y, build_labels(y, labels)])


def _series(column: Column, dtype: Any) -> Any:
    name = str(column.name)
    values, missing = column.values, column.missing
    if missing is not None and missing.all():
        return pl.Series(name, [None] * len(values), dtype=dtype)
    if column.levels is not None or values.dtype.kind == "O":
        return pl.Series(name, to_objects(column).tolist(), dtype=dtype)
    if values.dtype.kind in "mM":
        unit = {pl.Date: "D", pl.Time: "ns"}.get(dtype.base_type()) or dtype.time_unit
        values = ticks(values.astype(f"{values.dtype.kind}8[{unit}]"))
    if missing is not None and column.marker == "nan" and values.dtype.kind == "f":
        values, missing = np.where(missing, np.nan, values), None
    elif missing is not None:
        values = np.where(missing, values.dtype.type(0), values)  # the placeholder might not fit
    series = pl.Series(name, values).cast(dtype)
    return series if missing is None else series.set(pl.Series(missing), None)
