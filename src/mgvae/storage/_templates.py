"""Containers <-> plain data: which library a table is of, and which types its columns have.

New rows are given in the container that the sampler was trained on. Its name is stored, and the
types' own names are in the codec; from both an empty container of the same kind is made. A type's
name is matched against the ones that are known, never handed to a library as it is.
"""

import re
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from narwhals import dependencies as of

from mgvae.codec import MOST_TEXT, Column
from mgvae.errors import ModelFileError

__all__ = ["KINDS", "describe_template", "same_template", "template"]

KINDS = ("numpy", "list", "pandas", "polars", "pyarrow")

_UNIT = "(s|ms|us|ns)"
_ZONE = r"([A-Za-z0-9_+:/-]{1,64})"
_NUMPY = re.compile(
    r"[<>|=]?(b1|[iu][1248]|f(2|4|8|12|16)|O|[US]\d{1,6}|[mM]8(\[\d{0,6}\w{1,2}\])?)"
)
_PANDAS = re.compile(
    rf"u?int(8|16|32|64)|float(16|32|64|128)|bool|U?Int(8|16|32|64)|Float(32|64)|boolean|str"
    rf"|string|(datetime64|timedelta64)\[{_UNIT}\]|datetime64\[{_UNIT}, {_ZONE}\]"
)
_SPARSE = re.compile(r"Sparse\[(u?int\d\d?|float\d\d|bool), (nan|0|0\.0|False)\]")
_FILLS = {"nan": np.nan, "0": 0, "0.0": 0.0, "False": False}
_ARROW = re.compile(
    rf"u?int(8|16|32|64)|halffloat|float|double|bool|null|(large_)?(string|binary)"
    rf"|(string|binary)_view|date32\[day\]|date64\[ms\]"
    rf"|time32\[(s|ms)\]|time64\[(us|ns)\]|(timestamp|duration)\[{_UNIT}\]"
)
_FIXED = re.compile(r"fixed_size_binary\[(\d{1,4})\]")
_LONGEST_TYPE = 1000
_DICTIONARY = re.compile(r"dictionary<values=([^<>]{1,40}), indices=(u?int\d\d?), ordered=([01])>")
_POLARS = re.compile(
    r"U?Int(8|16|32|64|128)|Float(32|64)|String|Binary|Boolean|Date|Time|Null|Categorical"
)


def describe_template(empty: Any) -> dict[str, str]:
    """Return a container as plain data.

    Examples
    --------
    >>> describe_template(np.zeros((0, 2), np.float32))
    {'kind': 'numpy', 'dtype': '<f4'}
    """
    for kind, found in (
        ("pandas", of.is_pandas_dataframe(empty)),
        ("polars", of.is_polars_dataframe(empty)),
        ("pyarrow", of.is_pyarrow_table(empty)),
        ("list", isinstance(empty, list)),
    ):
        if found:
            return {"kind": kind}
    return {"kind": "numpy", "dtype": np.asarray(empty).dtype.str}


def template(kind: str, dtype: str | None, columns: Sequence[Column]) -> Any:
    """Make an empty container with such columns; ``dtype`` is that of a numpy array."""
    if kind == "list":
        return []
    if kind == "numpy":
        cell = np.dtype(_known(_NUMPY, dtype or ""))
        _check_width(
            cell.itemsize // (4 if cell.kind == "U" else 1) * len(columns), cell.kind in "US"
        )
        return np.empty((0, len(columns)), cell)
    _check_width(sum(int(n) for c in columns for n in _FIXED.findall(c.dtype[:_LONGEST_TYPE])))
    try:
        return {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}[kind](columns)
    except ModuleNotFoundError:
        raise ModelFileError(
            f"the model was trained on a table of {kind}, which is not installed. Install it"
        ) from None


def same_template(a: Any, b: Any) -> bool:
    """Tell whether two empty containers have the same columns and types."""
    if of.is_pandas_dataframe(a):
        levels = [[list(t.categories) for t in x.dtypes if str(t) == "category"] for x in (a, b)]
        same = [str(t) for t in a.dtypes] == [str(t) for t in b.dtypes]
        return list(a.columns) == list(b.columns) and same and levels[0] == levels[1]
    if hasattr(a, "schema"):
        return bool(a.schema == b.schema)
    return isinstance(a, list) or bool(a.dtype == b.dtype)


def _pandas(columns: Sequence[Column]) -> Any:
    import pandas as pd

    def dtype(column: Column) -> Any:
        name = column.dtype
        if name.endswith("[pyarrow]"):
            return pd.ArrowDtype(_arrow_type(name.removesuffix("[pyarrow]")))
        if name == "category":
            return pd.CategoricalDtype(list(column.levels or ()), column.ordered)
        if sparse := _SPARSE.fullmatch(name):
            return pd.SparseDtype(sparse[1], _FILLS[sparse[2]])
        if name == "object" or name.startswith("object["):
            return np.dtype(object)
        return pd.api.types.pandas_dtype(_known(_PANDAS, name))

    cells = {i: pd.array([], dtype=dtype(column)) for i, column in enumerate(columns)}
    frame = pd.DataFrame(cells)
    frame.columns = pd.Index([column.name for column in columns])
    return frame


def _polars(columns: Sequence[Column]) -> Any:
    import polars as pl

    def dtype(column: Column) -> Any:
        name = column.dtype
        if name.startswith("Enum("):
            return pl.Enum(list(column.levels or ()))
        if found := re.fullmatch(rf"Datetime\(time_unit='{_UNIT}', time_zone='{_ZONE}'\)", name):
            return pl.Datetime(found[1], _zone(found[2]))
        if found := re.fullmatch(rf"Datetime\(time_unit='{_UNIT}', time_zone=None\)", name):
            return pl.Datetime(found[1])
        if found := re.fullmatch(rf"Duration\(time_unit='{_UNIT}'\)", name):
            return pl.Duration(found[1])
        if found := re.fullmatch(r"Decimal\(precision=(\d\d?), scale=(\d\d?)\)", name):
            return pl.Decimal(int(found[1]), int(found[2]))
        return getattr(pl, _known(_POLARS, name))

    return pl.DataFrame(schema={str(column.name): dtype(column) for column in columns})


def _pyarrow(columns: Sequence[Column]) -> Any:
    import pyarrow as pa

    schema = [pa.field(str(c.name), _arrow_type(c.dtype), nullable=c.nullable) for c in columns]
    return pa.schema(schema).empty_table()


def _arrow_type(name: str) -> Any:
    import pyarrow as pa

    if found := _DICTIONARY.fullmatch(name):
        return pa.dictionary(_arrow_type(found[2]), _arrow_type(found[1]), found[3] == "1")
    if found := re.fullmatch(rf"timestamp\[{_UNIT}, tz={_ZONE}\]", name):
        return pa.timestamp(found[1], _zone(found[2]))
    if found := re.fullmatch(r"decimal(32|64|128|256)\((\d\d?), (\d\d?)\)", name):
        return getattr(pa, f"decimal{found[1]}")(int(found[2]), int(found[3]))
    if name == "extension<arrow.uuid>":
        return pa.uuid()
    if found := _FIXED.fullmatch(name):
        return pa.binary(int(found[1]))
    return pa.type_for_alias(_known(_ARROW, name))


def _check_width(characters: int, texts: bool = True) -> None:
    """Refuse rows whose texts of fixed length take more memory than a model's rows may."""
    if texts and characters > MOST_TEXT:
        raise ModelFileError(
            f"its rows have texts of {characters} characters, more than the {MOST_TEXT} allowed"
        )


def _zone(name: str) -> str:
    """Return a time zone's name if there is such a zone."""
    if not re.fullmatch(r"[+-]\d\d:\d\d", name):
        ZoneInfo(name)
    return name


def _known(pattern: re.Pattern[str], name: str) -> str:
    if not pattern.fullmatch(name):
        raise ModelFileError(f"the type {name!r:.60} is not one that a model file can hold")
    return name
