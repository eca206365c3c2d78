"""Table files: what is read is what was there, and what is written back is what was read.

Python's csv module and pandas, which share no code with ours, are the judges.
"""

import csv
import datetime
import gzip
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgvae import files
from mgvae.errors import DataError, ParameterError
from mgvae.files._csv_reader import read_csv


def read_text(text: str | bytes, **options: object) -> files.TableFile:
    data = text.encode() if isinstance(text, str) else text
    return read_csv(data, source="test", **options)  # type: ignore[arg-type]


def written(file: files.TableFile, folder: Path, *, exact: bool = True) -> bytes:
    """Write a table as it was read, cell by cell or from its values alone."""
    path = folder / "out.csv"
    rows = file.table.num_rows if exact else 0
    files.write(file.table, str(path), file, format=file.format, originals=rows)
    return path.read_bytes()


def column(*cells: str, **options: object) -> pa.ChunkedArray:
    lines = "".join(f'"{cell}";x\n' for cell in cells)
    return read_text(f"a;b\n{lines}", delimiter=";", **options).table["a"]


# what the cells are


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["18446744073709551615"], [2**64 - 1]),
        (["1.10", "2.50"], [1.1, 2.5]),
        (["5", "0.25", "1e-3"], [5.0, 0.25, 1e-3]),
        (["+1.5", "-.5"], [1.5, -0.5]),
        (["1,5", "2,25"], [1.5, 2.25]),
        (["inf", "-Inf", "1.5"], [math.inf, -math.inf, 1.5]),
        ([" 12", "7 "], [12, 7]),
        (["true", "false"], [True, False]),
        (["TRUE", "", "FALSE"], [True, None, False]),
        (["2024-02-29", "NA"], [datetime.date(2024, 2, 29), None]),
        (["31/01/2024", "1/2/2024"], [datetime.date(2024, 1, 31), datetime.date(2024, 2, 1)]),
        (["2024-01-31 10:20"], [datetime.datetime(2024, 1, 31, 10, 20)]),
        (
            ["2024-01-31T10:20:30.5Z"],
            [datetime.datetime(2024, 1, 31, 10, 20, 30, 500_000, datetime.UTC)],
        ),
    ],
)
def test_typed(cells: list[str], values: list[object]) -> None:
    assert column(*cells).to_pylist() == values


@pytest.mark.parametrize(
    "cells",
    [
        ["00123", "45"],  # codes with leading zeros
        ["12345678901234567890123"],  # more digits than any integer type has
        ["1.5", "12345678901234567890"],  # a double would round the second
        ["+441234", "+449876"],  # telephone numbers
        ["1e999", "1.5"],  # a double would make it infinite
        ["0x10", "5"],
        ["1_000", "5"],
        ["1,234", "5,678"],  # thousands, or decimals?
        ["2024-02-30", "2024-01-01"],  # no such day
        ["31/02/2024"],
        ["01/02/2024", "03/04/2024"],  # January or February?
        ["2024-01-31 10:00", "2024-01-31T10:00"],
        ["yes", "no"],
        ["true", "False"],
        ["#1", "12"],
        [" a", "b"],  # a space that not every cell has is part of the value
        ["é", "日本"],
    ],
)
def test_text_stays_text(cells: list[str]) -> None:
    assert column(*cells).to_pylist() == cells


def test_mixed_column_is_refused_with_both_remedies() -> None:
    cells = [*map(str, range(30)), "it's"]
    with pytest.raises(DataError, match=r"""'a'.*row 30.*missing=\["it's"\].*mixed=\['a'\]"""):
        column(*cells)
    assert column(*cells, missing=["it's"]).to_pylist() == [*range(30), None]
    assert column(*cells, mixed=["a"]).to_pylist() == cells


def test_few_numbers_beside_text_are_categories() -> None:
    cells = ["0", "1", "2", "3+"] * 30
    assert column(*cells).to_pylist() == cells


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_exact(numbers: list[int]) -> None:
    assert column(*map(str, numbers)).to_pylist() == numbers


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_floats_exact(numbers: list[float]) -> None:
    found = column(*map(repr, numbers)).to_pylist()
    assert found == numbers
    assert [math.copysign(1, x) for x in found] == [math.copysign(1, x) for x in numbers]


@given(st.lists(st.datetimes(), min_size=1))
def test_times_exact(times: list[datetime.datetime]) -> None:
    found = column(*(t.isoformat(timespec="microseconds") for t in times))
    assert found.cast(pa.timestamp("us")).to_pylist() == times


# back to text

NASTY = st.one_of(
    st.text(st.sampled_from("ab ,;|\t\"\n\r'=é€\u2028"), max_size=6),
    st.sampled_from(["007", "1.10", "1.0", "1e5", "-0", "NA", "", "?", " x", "2024-01-31", "true"]),
    st.integers().map(str),
    st.floats().map(str),
)


@st.composite
def text_tables(draw: st.DrawFn) -> list[list[str]]:
    width = draw(st.integers(2, 4))
    pools = [draw(st.lists(NASTY, min_size=1, max_size=4)) for _ in range(width)]
    rows = draw(st.lists(st.tuples(*map(st.sampled_from, pools)), min_size=1, max_size=8))
    return [list(row) for row in rows]


@given(
    text_tables(),
    st.sampled_from(",;\t|"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_cell_survives(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    delimiter: str,
    quoting: int,
    line_end: str,
) -> None:
    if "\r" not in line_end and quoting == csv.QUOTE_MINIMAL:  # csv forgets the quotes there
        rows = [[cell.replace("\r", "") for cell in row] for row in rows]
    names = [f"column {i}" for i in range(len(rows[0]))]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=line_end)
    writer.writerows([names, *rows])
    file = read_text(text.getvalue(), delimiter=delimiter, mixed=names)
    assert file.table.num_rows == len(rows)
    out = written(file, tmp_path_factory.mktemp("csv")).decode()
    assert list(csv.reader(io.StringIO(out, newline=""), delimiter=delimiter)) == [names, *rows]
    # and once more from what we wrote ourselves
    again = read_text(out, delimiter=delimiter, mixed=names)
    assert again.table.equals(file.table)


@pytest.mark.parametrize(
    "text",
    [
        b"a,b\n1,x\n2,y\n",
        b"a;b\r\n1;x\r\n",
        b"a\tb\n1\tx\n",
        b'"a";"b"\n1;"x"\n2;""\n',
        b'"a","b"\n"1","x"\n"2",NA\n',  # as R writes it
        b"\xef\xbb\xbfa,b\n1,\xc3\xa9\n",  # with a byte order mark
        "a,b\n1,é\n".encode("utf-16"),
        b"a,b\n1, x\n2, ?\n",
        b'a, b\n1, "x, y"\n2, "z"\n',
        b'a, b\n1, "x, y"\n2, " z"\n3, z\n',
        b"a,b\n1.10,x\n2.00,y\n",
        b"a,b\n1.0,5\n0.25,NULL\n",
        b"a,b\n1e5,007\n2.5,008\n",
        b"a;b\n1,50;x\n2,25;y\n",
        b"a,b\n31/01/2024,2024-01-31T10:00:00Z\n1/2/2024,2024-01-31T11:00:00Z\n",
        b"a,b\nTrue,x\nFalse,NA\nTrue,\n",
        b'a,b\n"x\ny",1\n"say ""hi""",2\n',
        b"a,b\n0.%s,1\n0.%s,2\n" % (b"1" * 50, b"2" * 50),
        b",b\n1,x\n",  # a column without a name
    ],
)
def test_bytes_survive(text: bytes, tmp_path: Path) -> None:
    file = read_text(text, missing=["?"])
    assert written(file, tmp_path) == text


def test_new_rows_look_like_the_old_ones(tmp_path: Path) -> None:
    text = 'price;when;ok;code;n\n"12,50";31.01.2024;TRUE;"a;b";1\n"3,00";01.02.2024;?;c;\n'
    file = read_text(text, missing=["?"])
    new = pa.table(
        [[7.256, None], [datetime.date(2024, 12, 3)] * 2, [False, None], ["a;b", "c"], [5, None]],
        schema=file.table.schema,
    )
    path = tmp_path / "out.csv"
    files.write(new, str(path), file)
    assert path.read_text() == (
        'price;when;ok;code;n\n"7,26";03.12.2024;FALSE;"a;b";5\n;03.12.2024;?;c;\n'
    )


def test_several_missing_markers_come_back_and_new_ones_are_empty(tmp_path: Path) -> None:
    file = read_text("a,b\n1,x\nNA,y\n?,z\n", missing=["?"])
    assert file.table["a"].to_pylist() == [1, None, None]
    table = pa.concat_tables([file.table, file.table.slice(1, 1)])
    files.write(table, str(tmp_path / "out.csv"), file, originals=3)
    assert (tmp_path / "out.csv").read_text() == "a,b\n1,x\nNA,y\n?,z\n,y\n"


def test_empty_text_is_not_missing(tmp_path: Path) -> None:
    table = pa.table({"a": ["", None, "x"]})
    files.write(table, str(tmp_path / "a.csv"), files.TableFile(table, "parquet"))
    # one column: even a missing cell needs quotes, for an empty line is no row
    assert (tmp_path / "a.csv").read_text() == 'a\n""\n""\nx\n'
    table = table.append_column("b", pa.array([1, 2, 3]))
    files.write(table, str(tmp_path / "a.csv"), files.TableFile(table, "parquet"))
    assert (tmp_path / "a.csv").read_text() == 'a,b\n"",1\n,2\nx,3\n'


def test_formulas_are_escaped_in_text_only(tmp_path: Path) -> None:
    table = pa.table({"=a": ["=1+1", "-x", "@y", "fine"], "n": [-1, -2, -3, -4]})
    like = files.TableFile(table, "parquet")
    path = tmp_path / "a.csv"
    files.write(table, str(path), like, escape_formulas=True)
    assert path.read_text() == "'=a,n\n'=1+1,-1\n'-x,-2\n'@y,-3\nfine,-4\n"
    files.write(table, str(path), like)
    assert path.read_text() == "=a,n\n=1+1,-1\n-x,-2\n@y,-3\nfine,-4\n"


# what the layout is


@given(
    st.lists(
        st.tuples(
            st.integers(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(st.sampled_from("ab ,;|.'"), max_size=8).map(lambda s: f"t{s}"),
        ),
        min_size=2,
        max_size=10,
    ),
    st.sampled_from(",;\t|"),
)
def test_delimiter_is_found(rows: list[tuple[int, float, str]], delimiter: str) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([("first", "second", "third"), *rows])
    assert read_text(text.getvalue()).layout.delimiter == delimiter


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("1,5;2,5;3,5\n2,5;3,5;4,5\n", ";"),  # decimal commas, no header
        ("a,b\nx;y,1\nz;w,2\n", ","),
        ("name|text\nx|a, b\ny|c, d\n", "|"),
        ("one\n1\n2\n", ","),
    ],
)
def test_delimiter_of_hard_cases(text: str, delimiter: str) -> None:
    assert read_text(text, header=text.startswith(("a", "n", "o"))).layout.delimiter == delimiter


def test_no_header_and_empty_lines() -> None:
    assert read_text("1,x\n\n2,y\n\n", header=False).table.to_pydict() == {
        "c0": [1, 2],
        "c1": ["x", "y"],
    }


def test_header_names_are_trimmed() -> None:
    assert read_text('a , "b c" ,d\n1,2,3\n').table.column_names == ["a", "b c", "d"]


def test_files_larger_than_a_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("mgvae.files._csv_reader._BLOCK", 200)
    monkeypatch.setattr("mgvae.files._csv_writer._ROWS", 7)
    text = "n,t\n" + "".join(f'{i},"x\n{i % 5}"\n' for i in range(200))
    file = read_text(text)
    assert file.table["n"].to_pylist() == list(range(200))
    assert written(file, tmp_path).decode() == text


# what is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"a,b\n", "header but no rows"),
        (b'a,b\n1,"x\ny"\n2,3\n4\n', "line 5: 1 fields where the header has 2"),
        (b"a,b\n1,2,3\n", "line 2: 3 fields"),
        (b"a,b,a\n1,2,3\n", "more than one column called 'a'"),
        (b"a,b\n1,x\n2,\xe9\n", "byte 0xe9 at position 10 .line 3.*encoding='latin-1'"),
        (b"a,b\n1,\0\n", "zero bytes"),
        (b"a" * 200_000 + b",b\n1,2\n", "header cannot be read"),
        ("a,b\n1,2\n".encode("utf-16-le"), "utf-16"),
    ],
)
def test_bad_text(text: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_text(text)


def test_other_encodings(tmp_path: Path) -> None:
    text = "a,b\n1,é\n".encode("latin-1")
    file = read_text(text, encoding="latin-1")
    assert file.table["b"].to_pylist() == ["é"]
    assert written(file, tmp_path) == text
    with pytest.raises(ParameterError, match="no text encoding called 'klingon'"):
        read_text(text, encoding="klingon")
    with pytest.raises(DataError, match="ascii"):
        read_text(text, encoding="ascii")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow", "t.jsonl", "t.csv"])
def test_broken_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    table = pa.table({"a": list(range(500)), "b": ["x"] * 500})
    files.write(table, str(path), files.TableFile(table, "parquet"))
    whole = path.read_bytes()
    assert files.read(str(path)).table.equals(table)
    rng = np.random.default_rng(0)
    for _ in range(20):
        cut = bytearray(whole[: rng.integers(len(whole))])
        for place in rng.integers(0, max(len(cut), 1), 3 if cut else 0):
            cut[place] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(cut))
        try:
            files.read(str(path)).table.validate(full=True)
        except DataError as error:
            assert name in str(error) or "Column" in str(error)  # noqa: PT017


def test_missing_files_and_unknown_extensions(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        files.read(str(tmp_path / "a.csv"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="folder"):
        files.read(str(tmp_path / "folder.csv"))
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"a,b\n1,2\n")[:-9])
    with pytest.raises(DataError, match="broken gzip"):
        files.read(str(tmp_path / "a.csv"))
    for name in ("a.xlsx", "a", "a.parquet.gz"):
        with pytest.raises(ParameterError, match="extension"):
            files.find_format(name)


# other formats


def every_type() -> pa.Table:
    day, zone = datetime.datetime(2024, 1, 31, 10, 20, 30), "Europe/Berlin"
    return pa.table(
        {
            "int8": pa.array([1, None, -3], pa.int8()),
            "uint64": pa.array([2**64 - 1, 0, None], pa.uint64()),
            "float": pa.array([0.1, None, 1e300]),
            "float32": pa.array([0.5, 1.5, None], pa.float32()),
            "text": ["é,\n", "", None],
            "category": pa.array(["x", None, "y"]).dictionary_encode(),
            "flag": [True, None, False],
            "date": [day.date(), None, day.date()],
            "time": pa.array([day, None, day], pa.timestamp("us")),
            "zoned": pa.array([day, None, day], pa.timestamp("ms", zone)),
            "span": pa.array([1, None, 2], pa.duration("s")),
        }
    )


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_binary_formats_keep_everything(name: str, tmp_path: Path) -> None:
    table = every_type()
    path = str(tmp_path / name)
    files.write(pa.concat_tables([table, table]), path, files.TableFile(table, "parquet"))
    found = files.read(path).table
    assert found.schema.equals(table.schema)
    assert found.to_pylist() == 2 * table.to_pylist()


def test_json_lines_keep_values(tmp_path: Path) -> None:
    table = every_type().drop_columns(["span", "zoned", "uint64"])
    path = str(tmp_path / "t.jsonl.gz")
    files.write(table, path, files.TableFile(table, "parquet"))
    assert files.read(path).table.to_pydict() == table.to_pydict()


def test_json_lines_survive(tmp_path: Path) -> None:
    lines = (
        '{"a": 1, "when": "2024-01-31T10:00:00Z", "b": "007", "c": true}\n'
        '{"a": 2.5, "when": "2024-01-31T10:00:00.25Z", "b": "é", "c": null}\n'
    )
    path = tmp_path / "a.jsonl"
    path.write_text(lines)
    file = files.read(str(path))
    assert file.table.schema.field("when").type == pa.timestamp("ms", "UTC")
    files.write(file.table, str(path), file, originals=2)
    assert path.read_text() == lines.replace('"a": 1,', '"a": 1.0,')


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "empty"),
        ('{"a": 1}\n{"a": "x"}\n', "line 2: column 'a' holds a string here and a number before"),
        ('{"a": 1}\n\n{"a": \n', "line 3: this is not JSON"),
        ("[1, 2]\n", "line 1: a JSON list"),
        ('{"a": 1.5}\n{"a": 12345678901234567890123}\n', "'a'.*too large"),
        ('{"a": 99999999999999999999}\n{"a": 1}\n', "'a'.*too large"),
        ('{"a": 1e999}\n', "'a'.*too large"),
        ('{"a": [1]}\n', r"line 1: column 'a' holds a list.*mixed=\['a'\]"),
        ("null\n", "line 1: a JSON null"),
        ("[" * 100_000, "line 1"),
    ],
)
def test_bad_json_lines(lines: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(lines)
    with pytest.raises(DataError, match=message):
        files.read(str(path))


def test_json_columns_may_appear_late_and_widen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("mgvae.files._json._ROWS", 2)
    rows = [
        {"a": 1, "b": None, "n": 1},
        {"a": 2, "b": None, "n": None},
        {"a": 2.5, "b": "x", "n": None, "c": True},
        {"a": None, "b": "y", "n": 2**64 - 1},
        {"b": "z"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    want = {name: [row.get(name) for row in rows] for name in ("a", "b", "n", "c")}
    assert files.read(str(path)).table.to_pydict() == want
    path.write_text('{"a": 1}\n{"a": 2}\n{"a": "x"}\n{"a": [1]}\n')
    with pytest.raises(DataError, match="line 3"):
        files.read(str(path))
    assert files.read(str(path), mixed=["a"]).table["a"].to_pylist() == ["1", "2", "x", "[1]"]


def test_missing_markers_in_typed_files(tmp_path: Path) -> None:
    table = pa.table(
        {"a": ["?", "x"], "b": pa.array(["y", "?"]).dictionary_encode(), "n": [1.5, None]}
    )
    path = str(tmp_path / "a.parquet")
    files.write(table, path, files.TableFile(table, "parquet"))
    found = files.read(path, missing=["?"]).table
    assert found.to_pydict() == {"a": [None, "x"], "b": ["y", None], "n": [1.5, None]}
    assert found.schema.equals(table.schema)


def test_format_may_change(tmp_path: Path) -> None:
    file = read_text("id;price;when\n007;1,50;2024-01-31\n008;;2024-02-01\n")
    for name in ("a.parquet", "a.feather", "a.jsonl", "a.tsv", "a.csv.gz"):
        path = str(tmp_path / name)
        files.write(file.table, path, file, originals=2)
        assert files.read(path).table.to_pydict() == file.table.to_pydict()
    assert (tmp_path / "a.tsv").read_text().startswith("id\tprice\twhen\n007\t1,50\t2024")


# real files

REAL = [
    ("mixed/adult.data.gz", {"header": False, "missing": ["?"]}, {"skipinitialspace": True}),
    ("mixed/bank-full.csv.gz", {"missing": ["unknown"]}, {"sep": ";"}),
    ("musk2/musk2.csv.gz", {"header": False}, {}),
    ("water_quality/waterQuality1.csv.gz", {"missing": ["#NUM!"]}, {}),
    ("tabular/hypothyroid.csv.gz", {}, {}),
]


@pytest.mark.parametrize(("name", "ours", "theirs"), REAL)
def test_real_files(
    name: str,
    ours: dict[str, object],
    theirs: dict[str, object],
    data_folder: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    path = data_folder(name)
    file = files.read(str(path), **ours)  # type: ignore[arg-type]
    with gzip.open(path) as text:
        assert written(file, tmp_path).strip() == text.read().strip()
    frame = pd.read_csv(
        path,
        header=0 if ours.get("header", True) else None,
        na_values=ours.get("missing"),
        **theirs,
    )
    for mine, other in zip(file.table.columns, frame, strict=True):
        values = frame[other]
        if pd.api.types.is_numeric_dtype(values):
            assert np.array_equal(mine.to_numpy(), values.to_numpy(), equal_nan=True)
        else:
            assert mine.to_pylist() == [None if v is pd.NA or v != v else v for v in values]


def test_amounts_may_have_commas_before_thousands(tmp_path: Path) -> None:
    """They are read as numbers, and new ones are written in the same way."""
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    text = 'price,exact,plain\n$759,"£1,234.50","1,234"\n"-$1,098",£7.25,"5,678"\n'
    path.write_text(text)
    found = files.read(str(path))
    assert found.table["price"].to_pylist() == [759, -1098]
    assert found.table["exact"].to_pylist() == [1234.5, 7.25]
    assert found.table["plain"].to_pylist() == ["1,234", "5,678"]  # no unit: it may be a decimal
    more = pa.table({"price": [1234567], "exact": [0.5], "plain": ["1,234"]})
    files.write(pa.concat_tables([found.table, more]), str(out), found, format="csv", originals=2)
    assert out.read_text() == text + '"$1,234,567",£0.50,"1,234"\n'


def test_numbers_with_a_unit_are_numbers(tmp_path: Path) -> None:
    """A currency or a percent sign is how a number is written, and new cells have it too."""
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("price,share,both,odd\n$759,74%,$1,$5\n-$12,3%,2%,five%\n$3,100%,$2,$7\n")
    found = files.read(str(path))
    assert found.table["price"].to_pylist() == [759, -12, 3]
    assert found.table["share"].to_pylist() == [74, 3, 100]
    assert found.table["both"].to_pylist() == ["$1", "2%", "$2"]
    assert found.table["odd"].to_pylist() == ["$5", "five%", "$7"]
    more = pa.concat_tables([found.table, found.table.slice(0, 1)])
    more = more.set_column(0, "price", pa.array([759, -12, 3, -8]))
    files.write(more, str(out), found, format="csv", originals=3)
    assert out.read_text() == path.read_text() + "-$8,74%,$1,$5\n"


@given(
    st.builds(
        files.Spelling,
        prefix=st.sampled_from(["", " ", "\t"]),
        missing=st.none() | st.text(max_size=9),
        decimals=st.none() | st.integers(0, 15),
        point=st.booleans(),
        mark=st.sampled_from(".,"),
        flags=st.sampled_from([None, ("false", "true"), ("FALSE", "TRUE")]),
        date=st.sampled_from([None, "%d/%m/%Y", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M+00:00"]),
        unit=st.sampled_from([("", ""), ("$ ", ""), ("", "%"), ("", " €")]),
        grouped=st.booleans(),
    )
)
def test_spellings_are_plain_data(how: files.Spelling) -> None:
    assert files.Spelling.from_plain(json.loads(json.dumps(how.to_plain()))) == how


@pytest.mark.parametrize(
    "plain",
    [
        {"unit": ["\\1", ""]}, {"unit": ["", "%", ""]}, {"unit": "%"}, {"unit": [1, ""]},
        {"date": "%n"},
        {"decimals": 99}, {"decimals": True}, {"mark": ";"}, {"flags": ["a", "b"]}, {"prefix": "x"},
        {"missing": 5}, {"missing": "x" * 10**5}, {"grouped": 1}, {"colour": "red"},
    ],
)  # fmt: skip
def test_spellings_from_anywhere_are_checked(plain: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        files.Spelling.from_plain(plain)
