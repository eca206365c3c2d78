"""Random tables of every kind of column, and the same table in several containers."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

EPOCH = dt.datetime(2001, 2, 3, 4, 5, 6)
LEVELS = ["red", "green", "blue", "Ω", "", "=1+1", "unused"]
FLOATS = ("normal", "heavy", "zeros", "cents", "whole")
INTEGERS = ("int8", "int64", "uint64", "count")
TIMES = ("datetime", "zoned", "date", "duration")
GROUPS = ("bool", "text", "category", "ordered")
KINDS = (*FLOATS, *INTEGERS, *TIMES, *GROUPS)


@dataclass
class Spec:
    """A column as a list of plain Python cells; None is a missing cell."""

    name: str
    kind: str
    cells: list[Any]
    backend: str = "numpy"  # how pandas holds it

    @property
    def present(self) -> list[Any]:
        return [cell for cell in self.cells if cell is not None]

    @property
    def gaps(self) -> bool:
        return any(cell is None for cell in self.cells)


@dataclass
class Spreadsheet:
    """Columns of equal length, which can be given as any container."""

    columns: list[Spec] = field(default_factory=list)

    def to(self, container: str) -> Any:
        if container == "pandas":
            return pd.DataFrame({c.name: _pandas(c) for c in self.columns})
        if container == "polars":
            return pl.DataFrame(
                [pl.Series(c.name, c.cells, dtype=_POLARS[c.kind]) for c in self.columns]
            )
        return pa.table({c.name: pa.array(c.cells, _ARROW[c.kind]) for c in self.columns})


_POLARS: dict[str, Any] = {
    **dict.fromkeys(FLOATS, pl.Float64),
    "normal": pl.Float32,
    "int8": pl.Int8,
    "int64": pl.Int64,
    "uint64": pl.UInt64,
    "count": pl.Int32,
    "datetime": pl.Datetime("us"),
    "zoned": pl.Datetime("ms", "Europe/Berlin"),
    "date": pl.Date,
    "duration": pl.Duration("ms"),
    "bool": pl.Boolean,
    "text": pl.String,
    "category": pl.Categorical,
    "ordered": pl.Enum(LEVELS),
}
_ARROW: dict[str, Any] = {
    **dict.fromkeys(FLOATS, pa.float64()),
    "normal": pa.float32(),
    "int8": pa.int8(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "count": pa.int32(),
    "datetime": pa.timestamp("us"),
    "zoned": pa.timestamp("ms", "Europe/Berlin"),
    "date": pa.date32(),
    "duration": pa.duration("ms"),
    "bool": pa.bool_(),
    "text": pa.string(),
    "category": pa.dictionary(pa.int16(), pa.string()),
    "ordered": pa.dictionary(pa.int8(), pa.string(), ordered=True),
}
_NULLABLE = {"int8": "Int8", "int64": "Int64", "uint64": "UInt64", "count": "Int32"}


def _pandas(spec: Spec) -> Any:
    if spec.kind in ("category", "ordered"):
        return pd.Categorical(spec.cells, categories=LEVELS, ordered=spec.kind == "ordered")
    if spec.backend == "arrow" or spec.kind == "date":
        return pd.array(
            pa.array(spec.cells, _ARROW[spec.kind]), dtype=pd.ArrowDtype(_ARROW[spec.kind])
        )
    if spec.kind in INTEGERS:
        masked = spec.gaps or spec.backend == "nullable"
        return pd.array(
            spec.cells, dtype=_NULLABLE[spec.kind] if masked else _NULLABLE[spec.kind].lower()
        )
    if spec.kind == "bool":
        return pd.array(spec.cells, dtype="boolean" if spec.gaps else "bool")
    if spec.kind in FLOATS:
        dtype = "float32" if spec.kind == "normal" else "float64"
        return pd.array(spec.cells, dtype=dtype.title() if spec.backend == "nullable" else dtype)
    if spec.kind == "text":
        return pd.Series(spec.cells, dtype=object if spec.backend == "numpy" else "string")
    if spec.kind == "duration":
        return pd.Series(spec.cells, dtype="timedelta64[ms]")
    unit = "datetime64[us]" if spec.kind == "datetime" else "datetime64[ms, Europe/Berlin]"
    return pd.Series(spec.cells, dtype=unit)


def cells(kind: str, n: int, rng: np.random.Generator) -> list[Any]:
    """Draw plain cells of a kind."""
    normal = rng.normal(size=n) * 10.0 ** rng.integers(-3, 6)
    if kind == "normal":
        return normal.astype(np.float32).tolist()
    if kind == "heavy":
        return np.exp(3 * rng.normal(size=n)).tolist()
    if kind == "zeros":
        return np.where(rng.random(n) < 0.6, 0.0, rng.gamma(1.0, size=n)).tolist()
    if kind == "cents":
        return np.round(rng.gamma(2.0, 30.0, n), 2).tolist()
    if kind == "whole":
        return np.rint(rng.normal(0, 100, n)).tolist()
    if kind == "int8":
        return rng.integers(-128, 128, n).tolist()
    if kind == "int64":
        return rng.integers(-(2**63), 2**63, n).tolist()
    if kind == "uint64":
        return rng.integers(2**63, 2**64, n, dtype=np.uint64).tolist()
    if kind == "count":
        return rng.poisson(2.0, n).tolist()
    if kind == "bool":
        return (rng.random(n) < 0.3).tolist()
    if kind in ("text", "category", "ordered"):
        return [LEVELS[i] for i in rng.integers(0, 6, n)]
    days = rng.integers(0, 20_000, n).tolist()
    if kind == "date":
        return [EPOCH.date() + dt.timedelta(days=d) for d in days]
    steps = [dt.timedelta(seconds=d * 977) for d in days]
    if kind == "duration":
        return steps
    zone = dt.UTC if kind == "zoned" else None
    return [EPOCH.replace(tzinfo=zone) + step for step in steps]


@st.composite
def spreadsheets(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Spreadsheet:
    """Draw tables of 1 to 200 rows and 1 to 12 columns with random gaps."""
    n = draw(st.one_of(st.integers(1, 8), st.integers(9, 200)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = Spreadsheet()
    for i, kind in enumerate(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=12))):
        drawn = cells(kind, n, rng)
        shape = draw(st.sampled_from(["as is", "as is", "gaps", "constant", "empty"]))
        if shape == "constant":
            drawn = drawn[:1] * n
        if shape in ("gaps", "empty"):
            rate = 1.0 if shape == "empty" else rng.random()
            drawn = [None if rng.random() < rate else cell for cell in drawn]
        backend = draw(st.sampled_from(["numpy", "nullable", "arrow"]))
        table.columns.append(Spec(f"c{i}", kind, drawn, backend))
    return table


def to_lists(frame: Any) -> dict[str, list[Any]]:
    """Return any container's columns as plain cells, by its own means; None is a missing cell."""
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    return {
        name: [
            None if gone else _python(c)
            for c, gone in zip(frame[name], frame[name].isna(), strict=True)
        ]
        for name in frame
    }


def _python(cell: Any) -> Any:
    if isinstance(cell, pd.Timestamp):
        return cell.to_pydatetime()
    if isinstance(cell, pd.Timedelta):
        return cell.to_pytimedelta()
    return cell.item() if isinstance(cell, np.generic) else cell


def types(frame: Any) -> Any:
    """Return the types of a container's columns, comparable by ``==``."""
    if isinstance(frame, pa.Table):
        return frame.schema
    if isinstance(frame, pl.DataFrame):
        return frame.schema
    return frame.dtypes.tolist()
