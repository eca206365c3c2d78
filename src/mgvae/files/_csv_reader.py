"""Delimited text files: their layout is found out from the file itself."""

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import cast

import pyarrow as pa
import pyarrow.csv

from mgvae.errors import DataError, Setting
from mgvae.files._cells import MISSING, read_cells
from mgvae.files._table import Format, Layout, TableFile
from mgvae.files._text import as_utf8

__all__ = ["read_csv"]

_DELIMITERS = ",;\t|"
_SAMPLE = 1 << 18  # bytes looked at to find the layout
_BLOCK = 1 << 24  # bytes parsed at a time


def read_csv(
    data: bytes,
    *,
    source: str,
    format: Format = "csv",  # noqa: A002
    delimiter: str | None = None,
    header: bool = True,
    encoding: str | None = None,
    missing: Collection[str] = (),
    mixed: Collection[str] = (),
) -> TableFile:
    r"""Read delimited text.

    Parameters
    ----------
    data : bytes
        The whole file.
    source : str
        What to call it in messages.
    format : {"csv", "tsv"}
        Tabs stand between the cells of a ``tsv`` file.
    delimiter : str, optional
        What stands between two cells; found out by default.
    header : bool
        Whether the first line names the columns.
    encoding : str, optional
        UTF-8, or UTF-16 where the file begins by saying so, by default.
    missing : collection of str
        Cells that stand for a missing value, besides the usual ones.
    mixed : collection of str
        Columns in which numbers and text may stand together, and are text then.

    Raises
    ------
    mgvae.errors.DataError
        When the file cannot be read as a table.

    Examples
    --------
    >>> file = read_csv(b"id;price\n007;1,50\n008;?\n", source="example", missing=["?"])
    >>> file.table.to_pydict()
    {'id': ['007', '008'], 'price': [1.5, None]}
    """
    text, encoding, marked = as_utf8(data, encoding, source)
    sample = _sample(text)
    if not sample.strip():
        raise DataError(f"{source} is empty: it holds no table.")
    delimiter = delimiter or ("\t" if format == "tsv" else _sniff(sample))
    (first, end), *others = _records(sample, delimiter, limit=200)
    start = end if header else 0
    if len(text) < start + _SAMPLE and not text[start:].strip(b" \r\n"):
        raise DataError(f"{source} has a header but no rows.")
    names = (
        _names(sample[:end], delimiter, source) if header else [f"c{i}" for i in range(len(first))]
    )
    rows = [fields for fields, _ in others] if header else [first, *(f for f, _ in others)]
    markers = {*MISSING, *missing}
    seen = [(name, [row[i] for row in rows if i < len(row)]) for i, name in enumerate(names)]
    layout = Layout(
        delimiter=delimiter,
        header=header,
        line_end=_line_end(sample[:end]),
        encoding=encoding,
        marked=marked,
        quoted=frozenset(n for n, fields in seen if _quoted(fields, markers, missing=False)),
        quoted_missing=frozenset(n for n, fields in seen if _quoted(fields, markers, missing=True)),
        quoted_header=header and all(field.startswith(b'"') for field in first),
        spaced=all(field.startswith(b" ") for row in rows for field in row[1:])
        and re.compile(re.escape(delimiter.encode()) + rb' +"').search(text, start) is not None,
        header_cells={
            name: cell.decode() for name, cell in zip(names, first, strict=False) if header
        },
    )
    cells = _parse(text, start, layout, names, source)
    comma = delimiter != ","
    columns = {
        name: read_cells(name, column, missing=markers, comma=comma, mixed=name in mixed)
        for name, column in zip(names, cells, strict=True)
    }
    return TableFile(
        pa.table({name: column.values for name, column in columns.items()}),
        format,
        layout,
        {name: column.spelling for name, column in columns.items()},
        {name: column.cells for name, column in columns.items() if column.cells is not None},
    )


def _sample(text: bytes) -> bytes:
    """Return the beginning of the text, up to the end of a line."""
    if len(text) <= _SAMPLE:
        return text
    end = max(text.rfind(b"\n", 0, _SAMPLE), text.rfind(b"\r", 0, _SAMPLE - 1))
    return text[: end + 1] if end >= 0 else text


def _line_end(line: bytes) -> str:
    """Return what ends a line: as Windows, old Macs or all others do it."""
    return "\r\n" if line.endswith(b"\r\n") else "\r" if line.endswith(b"\r") else "\n"


def _records(sample: bytes, delimiter: str, limit: int) -> Iterator[tuple[list[bytes], int]]:
    """Take text apart into records of fields, quotes and all, and say where each record ends."""
    d = re.escape(delimiter.encode())
    field = re.compile(rb'( *"(?:[^"]|"")*" *|[^%b\r\n]*)(%b|\r?\n|\r|\Z)' % (d, d))
    record: list[bytes] = []
    position = count = 0
    while position < len(sample) and count < limit:
        match = cast(re.Match[bytes], field.match(sample, position))  # the empty field always fits
        record.append(match[1])
        position = match.end()
        if match[2] != delimiter.encode():
            if record != [b""]:  # not an empty line
                yield record, position
                count += 1
            record = []
    if record:  # a delimiter was the last there is
        yield [*record, b""], position


def _sniff(sample: bytes) -> str:
    """Find the delimiter that cuts the text into equally many, clean fields."""

    def score(delimiter: str) -> tuple[float, int]:
        records = [fields for fields, _ in _records(sample, delimiter, limit=200)]
        width, often = Counter(map(len, records)).most_common(1)[0]
        others = "".join(d for d in _DELIMITERS if d != delimiter).encode()
        dirty = re.compile(rb"^(?! *\"|[+-]?\d+,\d+$).*[%b]" % re.escape(others))
        fields = [field for record in records for field in record]
        clean = sum(dirty.match(field) is None for field in fields) / len(fields)
        return (clean * often / len(records), width) if width > 1 else (0.0, 1)

    return max(_DELIMITERS, key=score)


def _names(header: bytes, delimiter: str, source: str) -> list[str]:
    lines = io.StringIO(header.decode(), newline="")
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        names = [name.strip() for name in next(row for row in rows if row)]
    except csv.Error as error:
        raise DataError(f"{source}: the header cannot be read: {error}.") from None
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f"{source} has more than one column called {twice[0]!r}. Give each column a name of "
            "its own; if the first line is no header, add ",
            Setting("header", False),
            ".",
        )
    return names


def _quoted(fields: Sequence[bytes], markers: Collection[str], *, missing: bool) -> bool:
    """Return whether all fields that are missing, or all that are not, stand in quotes."""
    texts = [field.strip() for field in fields]
    chosen = [t for t in texts if (t.strip(b'"').decode() in markers) == missing]
    if not missing and not chosen:
        chosen = texts
    return bool(chosen) and all(text.startswith(b'"') for text in chosen)


def _parse(
    text: bytes, start: int, layout: Layout, names: Sequence[str], source: str
) -> list[pa.ChunkedArray]:
    """Cut the text from ``start`` on into columns of cells."""
    if layout.spaced:  # pyarrow does not take the quotes in 1, "a, b" for such
        cells = zip(*_slowly(text, start, layout, names, source), strict=True)
        return [
            pa.chunked_array([pa.array([f" {c}" for c in column] if i else column, pa.string())])
            for i, column in enumerate(cells)
        ]
    body = pa.py_buffer(text).slice(start)
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(body),
            pyarrow.csv.ReadOptions(
                column_names=list(names), block_size=min(max(len(body), 1), _BLOCK)
            ),
            pyarrow.csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=text.find(b'"', start) >= 0
            ),
            pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid as error:
        for _ in _slowly(text, start, layout, names, source):
            pass  # it finds the line and raises
        raise DataError(f"{source} cannot be read: {str(error).splitlines()[0]}") from None
    return list(table.columns)


def _slowly(
    text: bytes, start: int, layout: Layout, names: Sequence[str], source: str
) -> Iterator[list[str]]:
    """Yield the records that are not empty; raise where one has too few or too many fields."""
    raw = pa.BufferReader(pa.py_buffer(text).slice(start))
    lines = io.TextIOWrapper(raw, encoding="utf-8", newline="")
    reader = csv.reader(lines, delimiter=layout.delimiter, skipinitialspace=layout.spaced)
    before = text.count(b"\r" if layout.line_end == "\r" else b"\n", 0, start)
    try:
        for row in reader:
            if row and len(row) != len(names):
                raise DataError(
                    f"{source}, line {before + reader.line_num}: {len(row)} fields where the "
                    f"{'header' if layout.header else 'first line'} has {len(names)}. Put cells "
                    "that hold the delimiter in quotes, or say another ",
                    Setting("delimiter"),
                    ".",
                )
            if row:
                yield row
    except csv.Error as error:
        raise DataError(f"{source}, line {before + reader.line_num}: {error}.") from None
