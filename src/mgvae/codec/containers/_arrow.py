"""Columns and labels -> pyarrow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from mgvae.codec._columns import Column, ticks
from mgvae.codec.containers._objects import to_objects

__all__ = ["append_labels", "append_rows", "build_array", "build_labels", "build_rows"]


def build_rows(table: Any, columns: Sequence[Column]) -> Any:
    """Return columns as a Table with the schema of ``table``."""
    arrays = [
        build_array(column, field.type) for column, field in zip(columns, table.schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=table.schema)


def append_rows(table: Any, columns: Sequence[Column]) -> Any:
    """Append columns to the rows of ``table``."""
    return pa.concat_tables([table, build_rows(table, columns)])


def build_labels(y: Any, labels: Any) -> Any:
    """Return class labels as an array or a Table of the type of ``y``."""
    if isinstance(y, pa.Table):
        columns = labels.reshape(len(labels), -1).T
        arrays = [build_labels(a, c) for a, c in zip(y.columns, columns, strict=True)]
        return pa.Table.from_arrays(arrays, schema=y.schema)
    if types.is_dictionary(y.type):
        new = pa.array(labels.tolist(), y.type.value_type).dictionary_encode()
        codes = new.indices.cast(y.type.index_type)
        return pa.DictionaryArray.from_arrays(codes, new.dictionary, ordered=y.type.ordered)
    return pa.array(labels.tolist(), y.type)


def append_labels(y: Any, labels: Any, index: Any) -> Any:  # noqa: ARG001
    """Append class labels to ``y``; there is no index in Arrow."""
    new = build_labels(y, labels)
    if isinstance(y, pa.Table):
        return pa.concat_tables([y, new])
    if isinstance(y, pa.ChunkedArray):
        return pa.chunked_array([*y.chunks, new], y.type)
    if types.is_dictionary(y.type):
        both = pa.chunked_array([y, new]).unify_dictionaries()
        return pa.concat_arrays(both.chunks)
    return pa.concat_arrays([y, new])


def build_array(column: Column, kind: Any) -> Any:
    """Return a column's cells as an Arrow array of a type."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, build_array(column, kind.storage_type))
    missing, values = column.missing, column.values
    if missing is not None and missing.all():
        return pa.nulls(len(values), kind)
    if column.levels is not None:
        codes = pa.array(values.astype(kind.index_type.to_pandas_dtype()), mask=missing)
        levels = pa.array(list(column.levels)).cast(kind.value_type)
        return pa.DictionaryArray.from_arrays(codes, levels, ordered=kind.ordered)
    if types.is_temporal(kind):
        return _times(column, kind)
    if types.is_floating(kind) and missing is not None and column.marker == "nan":
        return pa.array(np.where(missing, np.nan, values).astype(values.dtype), kind)
    if values.dtype.kind == "O":
        return pa.array(to_objects(column), kind)
    return pa.array(values, mask=missing).cast(kind)


def _times(column: Column, kind: Any) -> Any:
    unit = "D" if types.is_date32(kind) else "ms" if types.is_date64(kind) else kind.unit
    counted = ticks(column.values.astype(f"{column.values.dtype.kind}8[{unit}]"))
    narrow = np.int32 if kind.bit_width == 32 else np.int64
    return pa.array(counted.astype(narrow), mask=column.missing).cast(kind)
