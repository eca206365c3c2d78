"""Any container in, the same container out."""

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from mgvae.codec import (
    Column,
    TableCodec,
    append_labels,
    append_rows,
    only_labels,
    only_rows,
    read_table,
)
from mgvae.errors import DataError


def through_the_codec(X: Any) -> Any:
    table = read_table(X)
    codec = TableCodec(numeric="minmax").fit(table)  # which rounds nothing
    return only_rows(X, codec.decode(codec.encode(table), np.random.default_rng(0)))


def repeated(X: Any) -> Any:
    return append_rows(X, read_table(X).columns)


# Reading


def test_columns_of_arrays_are_views() -> None:
    X = np.arange(12.0).reshape(4, 3)
    table = read_table(X)
    assert table.names is None
    assert [c.name for c in table.columns] == [0, 1, 2]
    assert all(np.shares_memory(c.values, X) for c in table.columns)


@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed"])
def test_contiguous_columns_are_the_columns(order: str) -> None:
    full = np.random.default_rng(0).normal(size=(1_200, 150)).astype(np.float32)
    X = {
        "C": full,
        "F": np.asfortranarray(full),
        "strided": full[::2, ::3],
        "reversed": full[::-1, ::-1],
    }[order]
    columns = list(read_table(X).contiguous())
    np.testing.assert_array_equal(np.stack([c.values for c in columns], axis=1), X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(5), r"Expected 2D array, got 1D array instead(.|\n)*Reshape your data"),
        (pd.Series([1.0]), "Expected 2D array, got 1D array instead.*Reshape your data"),
        ([1, 2, 3], "Expected 2D array, got 1D array instead"),
        (np.zeros((2, 2, 2)), "Expected 2D array, got 3D"),
        (np.zeros((0, 3)), r"Found array with 0 sample\(s\)"),
        (pd.DataFrame({"a": []}), r"Found array with 0 sample\(s\)"),
        (np.zeros((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required."),
        (pd.DataFrame(index=range(3)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
        (pd.DataFrame({"z": [1j, 2j]}), "Complex data not supported.*'z'"),
        (np.zeros(3, [("a", "f8"), ("b", "i4")]), "Structured"),
        (np.array([[1.0, 2.0], [np.inf, 3.0]]), "column 0.*inf.*row 1"),
        (pd.DataFrame({"ok": [1.0, 2.0], "bad": [1.0, -np.inf]}), "'bad'.*inf"),
        (pl.DataFrame({"bad": [1.0, float("inf")]}), "'bad'.*inf"),
        ([[1.0, float("inf")], [2.0, 2.0]], "column 1.*inf"),
        (scipy.sparse.csr_matrix(np.eye(3)), r"sparse.*toarray\(\)"),
        (scipy.sparse.coo_array(np.eye(3)), r"sparse.*toarray\(\)"),
        (pl.LazyFrame({"a": [1]}), r"collect\(\)"),
        (np.ma.masked_array(np.eye(2), mask=np.eye(2)), "masked"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column named 'a'"),
        (pa.table([pa.array([1]), pa.array([2])], names=["b", "b"]), "named 'b'"),
        ([[1, 2], [3]], "differ in length"),
        ([[1, "a"], [2, 3]], "column 1 mixes values of type int and str"),
        (pd.DataFrame({"m": [1, "a", None]}, dtype=object), "'m' mixes values of type int and str"),
        (pd.DataFrame({"l": [[1], [2]]}), "'l' holds objects of type list"),
        (pl.DataFrame({"l": [[1], [2]]}), "'l' has the type List"),
        (pa.table({"s": [{"a": 1}]}), "'s' has the type struct"),
        (pd.DataFrame({"p": pd.period_range("2020", periods=2, freq="M")}), "'p'.*Period"),
        (pd.DataFrame({"big": [2**70, 1]}, dtype=object), "'big'.*64 bits"),
    ],
)
def test_what_is_not_a_table_is_refused_with_a_remedy(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(X)


def test_objects_that_are_no_cells_are_also_a_type_error() -> None:
    X = np.array([[1.0], [{"foo": "bar"}]], dtype=object)
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        read_table(X)


class NotAnArray:
    """An object that only numpy can read."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)


def test_array_likes_give_arrays() -> None:
    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(repeated(NotAnArray(X)), np.vstack([X, X]))


def test_arrow_fields_say_whether_they_can_be_missing() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64())])
    table = read_table(pa.table([[1, 2], [3, None]], schema=schema))
    assert [c.nullable for c in table.columns] == [False, True]


# Types


OBJECTS: dict[str, list[Any]] = {
    "int": [1, None, 300, 2],
    "float": [1.5, None, 2.25, 3.0],
    "bool": [True, False, None, True],
    "str": ["a", None, "b", "a"],
    "bytes": [b"a", b"b", None, b"a"],
    "date": [dt.date(2020, 1, 1), dt.date(2021, 5, 6), None, dt.date(1999, 1, 1)],
    "datetime": [
        dt.datetime(2020, 1, 1, 12),
        None,
        dt.datetime(2021, 1, 1),
        dt.datetime(1999, 1, 1),
    ],
    "timedelta": [dt.timedelta(1), None, dt.timedelta(3), dt.timedelta(hours=30)],
    "Decimal": [Decimal("1.50"), None, Decimal("2.25"), Decimal("99.99")],
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("container", ["pandas", "numpy", "list"])
def test_columns_of_python_objects_come_back_as_such(name: str, container: str) -> None:
    cells = np.array([*OBJECTS[name], "end"], dtype=object)[:-1]
    if container == "pandas":
        X: Any = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
        out = through_the_codec(X)["x"].tolist()
    elif container == "numpy":
        X = cells[:, None]
        out = through_the_codec(X)[:, 0].tolist()
    else:
        X = [[cell] for cell in OBJECTS[name]]
        out = [row[0] for row in through_the_codec(X)]
    if name == "Decimal":  # of no fixed scale: numbers as near as encoded ones are
        assert [type(cell) for cell in out] == [type(cell) for cell in OBJECTS[name]]
        seen = [(a, b) for a, b in zip(out, OBJECTS[name], strict=True) if b is not None]
        assert all(abs(a - b) < abs(b) / 10**6 for a, b in seen)
        return
    assert out == OBJECTS[name]
    assert [type(cell) for cell in out] == [type(cell) for cell in OBJECTS[name]]


@pytest.mark.parametrize("marker", [None, float("nan"), pd.NA])
def test_object_columns_keep_their_missing_marker(marker: Any) -> None:
    X = pd.DataFrame({"x": pd.Series(["a", marker, "b"], dtype=object)})
    out = through_the_codec(X)["x"][1]
    assert out is marker or (out != out and isinstance(marker, float))


def test_polars_tells_null_from_nan() -> None:
    nan = pl.DataFrame({"x": [1.5, float("nan"), 2.25, 4.0]})
    null = pl.DataFrame({"x": [1.5, None, 2.25, 4.0]})
    assert through_the_codec(nan)["x"].is_nan().to_list() == [False, True, False, False]
    assert through_the_codec(null)["x"].is_null().to_list() == [False, True, False, False]


EVERY_PANDAS_TYPE = pd.DataFrame(
    {
        "float16": pd.Series([1.5, np.nan, 2.25], dtype="float16"),
        "Float32": pd.array([1.5, None, 2.25], dtype="Float32"),
        "uint16": pd.Series([1, 2, 60_000], dtype="uint16"),
        "Int8": pd.array([1, None, 127], dtype="Int8"),
        "int[arrow]": pd.array([1, None, 3], dtype="int16[pyarrow]"),
        "bool": [True, False, True],
        "boolean": pd.array([True, None, False], dtype="boolean"),
        "string": pd.array(["a", None, "b"], dtype="string"),
        "str": ["a", None, "b"],
        "string[arrow]": pd.array(["a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
        "category": pd.Categorical(["u", None, "v"], categories=["w", "v", "u"], ordered=True),
        "numbers": pd.Categorical([3, 1, 3]),
        "intervals": pd.cut([1, 2, 3], 3),
        "days": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01", "2020-01-01"])),
        "datetime": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
        "zoned": pd.to_datetime(["2020-01-01", None, "2021-07-01"]).tz_localize("America/New_York"),
        "zoned[arrow]": pd.array(
            [dt.datetime(2020, 1, 1), None, dt.datetime(2021, 7, 1)],
            dtype=pd.ArrowDtype(pa.timestamp("us", "America/New_York")),
        ),
        "timedelta": pd.to_timedelta([1, None, 2], unit="s"),
        "date[arrow]": pd.array(
            [dt.date(2020, 1, 1), None, dt.date(2020, 1, 3)], dtype=pd.ArrowDtype(pa.date32())
        ),
        "decimal[arrow]": pd.array(
            [Decimal("1.10"), None, Decimal("2.22")], dtype=pd.ArrowDtype(pa.decimal128(10, 2))
        ),
        "dictionary[arrow]": pd.array(
            ["a", None, "b"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
        ),
        "sparse": pd.arrays.SparseArray([0, 0, 1]),
        "sparse float": pd.arrays.SparseArray([np.nan, 1.5, np.nan]),
        ("a", "tuple"): [1, 2, 3],
        5: [0.5, 0.25, 0.75],
    }
)


@pytest.mark.parametrize("name", EVERY_PANDAS_TYPE.columns, ids=str)
def test_every_pandas_type_comes_back(name: Any) -> None:
    X = pd.DataFrame({0: EVERY_PANDAS_TYPE[name]}).set_axis(
        pd.Index([name], tupleize_cols=False), axis=1
    )
    pd.testing.assert_frame_equal(through_the_codec(X), X, rtol=1e-5)
    both = repeated(X)
    assert both.dtypes.tolist() == X.dtypes.tolist()
    pd.testing.assert_frame_equal(both.iloc[:3], X, check_exact=True)


EVERY_ARROW_TYPE = [
    *[pa.array([1, None, 3], t) for t in (pa.int8(), pa.uint64(), pa.float32(), pa.float64())],
    pa.array([1.5, 2.5, 4.0], pa.float16()),
    *[pa.array(["a", None, "b"], t) for t in (pa.string(), pa.large_string(), pa.string_view())],
    *[pa.array([b"a", None, b"b"], t) for t in (pa.binary(), pa.large_binary())],
    pa.array([True, None, False]),
    pa.array(["b", None, "a"]).dictionary_encode(),
    pa.DictionaryArray.from_arrays(
        pa.array([1, None, 0], pa.int8()), ["x", "y", "z"], ordered=True
    ),
    pa.DictionaryArray.from_arrays(pa.array([1, 0, 0], pa.int32()), pa.array([10, 20])),
    *[
        pa.array([86_400_000, None, 0], t)
        for t in (pa.timestamp("s"), pa.timestamp("ns", "Asia/Tokyo"))
    ],
    *[pa.array([86_400_000, None, 0], t) for t in (pa.date64(), pa.duration("ms"))],
    *[pa.array([5, None, 0], t) for t in (pa.date32(), pa.time32("s"), pa.time64("us"))],
    pa.array([Decimal("1.10"), None, Decimal("2.22")], pa.decimal128(10, 2)),
    pa.nulls(3),
]


@pytest.mark.parametrize("array", EVERY_ARROW_TYPE, ids=lambda a: str(a.type))
def test_every_arrow_type_comes_back(array: Any) -> None:
    X = pa.table({"x": pa.chunked_array([array.slice(0, 1), array.slice(1)])})
    X = X.replace_schema_metadata({"owner": "me"})
    out = through_the_codec(X)
    assert out.schema.equals(X.schema, check_metadata=True)
    assert out["x"].to_pylist() == X["x"].to_pylist()
    both = repeated(X)
    assert both.schema.equals(X.schema, check_metadata=True)
    assert both.slice(0, 3).equals(X)
    assert both["x"].to_pylist() == X["x"].to_pylist() * 2
    if array.type != pa.float16():
        frame = pl.from_arrow(X)
        assert through_the_codec(frame).equals(frame)
        assert repeated(frame).equals(pl.concat([frame, frame]))


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", "i1", "u8", "?", "U3", "S3", "M8[D]", "m8[ms]"]
)
def test_arrays_keep_their_dtype(dtype: str) -> None:
    X = np.array([[1, 0], [0, 1], [1, 1]]).astype(dtype)
    both = append_rows(X, read_table(through_the_codec(X)).columns)
    assert both.dtype == X.dtype
    np.testing.assert_array_equal(both, np.vstack([X, X]))


def test_text_that_an_array_cannot_hold_is_refused() -> None:
    with pytest.raises(DataError, match="<U3"):
        only_rows(np.array([["abc"]]), [Column(0, np.array(["abcd"], dtype=object))])


@pytest.mark.parametrize("container", [list, pd.DataFrame, pl.DataFrame, np.array])
def test_an_empty_template_is_enough_for_new_rows(container: Callable[..., Any]) -> None:
    X = container([[1.5, 2], [2.5, 3], [4.0, 9]])
    columns = read_table(X).columns
    none = [Column(c.name, c.values[:0], dtype=c.dtype) for c in columns]
    template = only_rows(X, none)
    assert len(template) == 0
    out = only_rows(template, columns)
    assert type(out) is type(X)
    np.testing.assert_array_equal(np.asarray(out), np.asarray(X))


# pandas: index, attributes, subclasses


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (pd.RangeIndex(3), [3, 4]),
        (pd.RangeIndex(10, 40, 10), [40, 50]),
        (pd.RangeIndex(3, 0, -1), [0, -1]),
        (pd.Index([7, 3, 3]), [8, 9]),
        (pd.Index([7, 3, 120], dtype="int8"), [121, 122]),
        (pd.Index([0.5, 1.5, np.nan]), [2.0, 3.0]),
        (pd.Index(["a", "b", "synthetic-6"]), ["synthetic-7", "synthetic-8"]),
        (pd.Index(["a", 1, None], dtype=object), ["synthetic-0", "synthetic-1"]),
        (pd.Index([True, False, True]), ["synthetic-0", "synthetic-1"]),
        (pd.CategoricalIndex(["a", "b", "a"]), ["synthetic-0", "synthetic-1"]),
        (
            pd.DatetimeIndex(["2020-01-01", "2021-01-01", "2019-01-01"], tz="Asia/Tokyo"),
            list(pd.DatetimeIndex(["2021-01-01 00:00:01", "2021-01-01 00:00:02"], tz="Asia/Tokyo")),
        ),
        (pd.TimedeltaIndex(["1D", "2D", "3D"]), list(pd.TimedeltaIndex(["3D 1s", "3D 2s"]))),
        (
            pd.period_range("2020", periods=3, freq="M"),
            [pd.Period("2020-04"), pd.Period("2020-05")],
        ),
        (
            pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["k", "n"]),
            [("synthetic-0", 3), ("synthetic-1", 4)],
        ),
        (pd.Index([1e300, 0.0, 1.0]), ["synthetic-0", "synthetic-1"]),
        (pd.Index([2**63 - 1, 0, 1]), ["synthetic-0", "synthetic-1"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_new_rows_get_labels_that_were_free(index: Any, expected: list[Any]) -> None:
    X = pd.DataFrame({"x": [1.5, 2.5, 3.75]}, index=index)
    both = append_rows(X, [Column("x", np.array([8.0, 9.0]))])
    assert list(both.index[3:]) == expected
    assert both.index.names == index.names
    assert list(both["x"]) == [1.5, 2.5, 3.75, 8.0, 9.0]
    if not isinstance(expected[0], str):
        assert both.index[:3].equals(index)
        assert both.index.dtype == index.dtype
    y = append_labels(pd.Series([0, 0, 1], index=index, name="y"), np.array([1, 1]), both)
    assert y.index.equals(both.index)
    assert (y.name, y.dtype, y.tolist()) == ("y", np.int64, [0, 0, 1, 1, 1])


def test_no_new_rows_change_nothing() -> None:
    X = pd.DataFrame({"x": [1.5, 2.5], "c": pd.Categorical(["a", "b"])}, index=["p", "q"])
    none = [Column(c.name, c.values[:0], levels=c.levels) for c in read_table(X).columns]
    pd.testing.assert_frame_equal(append_rows(X, none), X)
    pd.testing.assert_series_equal(append_labels(X["x"], np.empty(0), X), X["x"])


class Frame(pd.DataFrame):
    """A user's own kind of DataFrame."""

    _metadata = ("unit",)

    @property
    def _constructor(self) -> Callable[..., "Frame"]:
        return Frame


def test_attributes_columns_and_subclasses_are_kept() -> None:
    X = Frame({("a", "x"): [1.5, 2.5], ("a", "y"): [1, 2]})
    X.columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")], names=["outer", "inner"])
    X.attrs["source"] = {"file": "loans.csv"}
    for out in (repeated(X), only_rows(X, read_table(X).columns)):
        assert type(out) is Frame
        assert out.attrs == X.attrs
        pd.testing.assert_index_equal(out.columns, X.columns)


# Labels


@pytest.mark.parametrize(
    "y",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([0, 1], dtype=np.int8),
        np.array([False, True]),
        ["no", "yes"],
        [0, 1],
        pd.Series(["no", "yes"], name="y"),
        pd.Series(pd.Categorical(["no", "yes"], ["yes", "no", "maybe"], ordered=True), name="y"),
        pd.Series([0, 1], dtype="Int8"),
        pd.Series(["no", "yes"], dtype="string[pyarrow]"),
        pd.DataFrame({"target": ["no", "yes"]}),
        pl.Series("y", ["no", "yes"]),
        pl.Series("y", ["no", "yes"], dtype=pl.Categorical),
        pl.Series("y", ["no", "yes"], dtype=pl.Enum(["yes", "no"])),
        pl.DataFrame({"target": [0, 1]}),
        pa.array(["no", "yes"]),
        pa.array(["no", "yes"]).dictionary_encode(),
        pa.chunked_array([["no"], ["yes"]]),
        pa.table({"target": [0, 1]}),
    ],
    ids=lambda y: type(y).__module__ + "." + type(y).__name__,
)
def test_labels_keep_container_name_and_type(y: Any) -> None:
    values = np.asarray(
        y.to_pandas() if isinstance(y, pa.Table | pa.ChunkedArray | pa.Array) else y
    )
    labels = values.reshape(-1)[[1, 1, 0]]
    both, new = append_labels(y, labels), only_labels(y, labels)
    for out, expected in ((both, [*values.reshape(-1), *labels]), (new, [*labels])):
        assert type(out) is type(y) or isinstance(y, pa.ChunkedArray)
        cells = out.to_pandas() if isinstance(out, pa.Table | pa.ChunkedArray | pa.Array) else out
        assert np.asarray(cells).reshape(-1).tolist() == expected
        if isinstance(y, pd.DataFrame | pl.DataFrame | pa.Table):
            assert list(out.columns if not isinstance(y, pa.Table) else out.column_names) == [
                "target"
            ]
        elif not isinstance(y, list):
            kind = "type" if isinstance(y, pa.Array | pa.ChunkedArray) else "dtype"
            assert getattr(out, kind) == getattr(y, kind)
            assert getattr(out, "name", None) == getattr(y, "name", None)


def test_labels_of_several_columns_stay_so() -> None:
    new = np.array([[0, 1], [1, 0]])
    y = np.array([[1, 0], [1, 0], [0, 1]])
    assert append_labels(y, new).tolist() == [*y.tolist(), *new.tolist()]
    frame = pd.DataFrame(y, columns=["a", "b"]).astype("int8")
    out = append_labels(frame, new)
    assert out.to_numpy().tolist() == [*y.tolist(), *new.tolist()]
    assert out.dtypes.tolist() == frame.dtypes.tolist()


# Imports


def test_only_the_users_own_library_is_imported() -> None:
    script = """
import sys
import numpy as np
from mgvae.codec import TableCodec, append_labels, append_rows, read_table
X = np.random.default_rng(0).normal(size=(30, 3))
for table in (X, X.astype(object), X.tolist()):
    codec = TableCodec().fit(read_table(table))
    append_rows(table, codec.decode(codec.encode(read_table(table)), np.random.default_rng(0)))
append_labels(np.zeros(3), np.zeros(2))
print(sorted({"pandas", "polars", "pyarrow", "torch", "sklearn"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
