"""DataFrames and Arrow tables -> columns, through narwhals."""

import datetime as dt
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import CellTypeError, Column, Level, Marker, Table, label, refuse_infinite
from mgvae.codec.containers._objects import from_objects, neutral_level
from mgvae.errors import DataError

__all__ = ["read_frame"]

_Series = nw.Series[Any]
_DAY = dt.date(2000, 1, 1)
_MIDNIGHT = dt.datetime(2000, 1, 1)


def read_frame(frame: Any, names: list[Hashable]) -> Table:
    """Return the columns of a pandas or polars DataFrame or of a pyarrow Table."""
    repeated = [repr(name) for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"X has more than one column named {', '.join(repeated)}. Rename or drop the others."
        )
    native = nw.from_native(frame, eager_only=True)
    columns = [_read_typed(n, s) for n, s in zip(names, native.iter_columns(), strict=True)]
    if hasattr(frame, "schema") and hasattr(frame, "column_names"):  # pyarrow
        columns = [
            replace(column, nullable=field.nullable)
            for column, field in zip(columns, frame.schema, strict=True)
        ]
    return Table(columns, len(native), names)


def _read_typed(name: Hashable, series: _Series) -> Column:
    try:
        return _read(name, series)
    except DataError:
        raise
    except Exception as error:  # the container's own library cannot handle them
        known = isinstance(error, TypeError | ValueError | NotImplementedError)
        if not known and not type(error).__module__.startswith("polars"):
            raise
        raise CellTypeError(
            f"{label(name)} has cells that cannot be used ({error}). Convert it or drop it."
        ) from error


def _read(name: Hashable, series: _Series) -> Column:
    native = series.to_native()
    dtype = str(getattr(native, "dtype", None) or native.type)
    native = _simplify(native)
    series = nw.from_native(native, series_only=True)
    nulls: NDArray[np.bool_] | None = np.asarray(series.is_null().to_numpy(), bool)
    nulls = nulls if nulls is not None and nulls.any() else None
    kind = series.dtype
    if isinstance(kind, nw.Int128 | nw.UInt128):
        series = _narrowed(name, series)

    if isinstance(kind, nw.Categorical | nw.Enum):
        codes, levels, ordered = _codes(native)
        return Column(name, codes, nulls, dtype, levels, ordered)
    if isinstance(kind, nw.Boolean) or kind.is_integer():
        fill = False if isinstance(kind, nw.Boolean) else 0
        values = (series if nulls is None else series.fill_null(fill)).to_numpy()
        plain = isinstance(getattr(native, "dtype", None), np.dtype)
        return Column(name, values, nulls, dtype, nullable=not plain)
    if kind.is_nested():
        raise CellTypeError(
            f"{label(name)} has the type {dtype}, whose cells are tables themselves. Spread them "
            "over columns of their own, or drop the column."
        )
    values = series.to_numpy()
    if values.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {label(name)} has the type {dtype}.")
    if values.dtype.kind == "f":
        refuse_infinite(name, values)
        missing = np.isnan(values)
        marker: Marker = "nan" if nulls is None else "null"
        return Column(name, values, missing if missing.any() else None, dtype, marker=marker)
    if values.dtype.kind in "mM":
        return Column(name, values, nulls, dtype)
    if isinstance(kind, nw.Time):
        present = slice(None) if nulls is None else ~nulls
        since = [dt.datetime.combine(_DAY, time) - _MIDNIGHT for time in values[present]]
        values = np.full(len(values), None, object)
        values[present] = since
    column = from_objects(name, values)
    if dtype == "object":
        return column
    return replace(column, dtype=dtype, marker="null", size=_size(native))


def _narrowed(name: Hashable, series: _Series) -> _Series:
    """Return integers of 128 bits as ones of 64, which numpy has."""
    low, high = series.min() or 0, series.max() or 0
    if low >= -(2**63) and high < 2**63:
        return series.cast(nw.Int64)
    if low >= 0 and high < 2**64:
        return series.cast(nw.UInt64)
    raise DataError(
        f"{label(name)} holds integers from {low} to {high}, which do not fit 64 bits. Convert the "
        "column to float, or to text if it names something."
    )


def _size(native: Any) -> int | None:
    """Return how many bytes all cells of an Arrow column have, if their type says so."""
    kind: Any = getattr(native, "type", None)
    kind = getattr(kind, "storage_type", kind)
    if str(kind).startswith("fixed_size_binary"):
        return int(kind.byte_width)
    return None


def _simplify(native: Any) -> Any:
    """Take what narwhals does not know out of a pandas Series."""
    dtype = getattr(native, "dtype", None)
    if hasattr(dtype, "pyarrow_dtype"):
        return native.array.__arrow_array__()
    if hasattr(dtype, "subtype") and hasattr(dtype, "fill_value"):
        return native.sparse.to_dense()
    return native if getattr(dtype, "tz", None) is None else native.dt.tz_convert("UTC")


def _codes(native: Any) -> tuple[NDArray[Any], tuple[Level, ...], bool]:
    """Return the positions and levels of a categorical column, and whether these are ordered."""
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas
        hash(native.dtype)  # raises for categories that pandas could not put below each other
        levels = tuple(neutral_level(level) for level in native.cat.categories)
        return native.cat.codes.to_numpy(), levels, bool(native.cat.ordered)
    if hasattr(native, "to_physical"):  # polars
        import polars as pl

        if not isinstance(native.dtype, pl.Enum):
            native = native.cast(pl.Enum(native.unique().drop_nulls().cast(pl.String).sort()))
        levels = tuple(native.dtype.categories.to_list())
        return native.to_physical().fill_null(0).to_numpy(), levels, False
    array = native.unify_dictionaries().combine_chunks()
    array = array.chunk(0) if hasattr(array, "chunk") else array
    levels = tuple(neutral_level(level) for level in array.dictionary.to_pylist())
    return array.indices.fill_null(0).to_numpy(), levels, bool(native.type.ordered)
