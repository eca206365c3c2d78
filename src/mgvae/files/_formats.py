"""Files of every format: which one it is, reading it, writing it."""

import gzip
import io
import os
import stat
import sys
import time
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from mgvae.common.atomic import atomic_write, write_stdout
from mgvae.errors import DataError, ParameterError, Setting
from mgvae.files._cells import check_text
from mgvae.files._csv_reader import read_csv
from mgvae.files._csv_writer import write_csv
from mgvae.files._json import read_jsonl, write_jsonl
from mgvae.files._table import Format, Layout, TableFile

__all__ = [
    "EXTENSIONS",
    "check_types",
    "find_format",
    "read",
    "without",
    "write",
    "write_parquet",
]

EXTENSIONS: dict[str, Format] = {
    ".csv": "csv",
    ".data": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
"""Format by file name extension; ``.gz`` may follow those of text files."""

_TEXT = ("csv", "tsv", "jsonl")
_ROW_GROUP = 2**17  # rows of a Parquet file that are written at once
_PATIENCE = 5.0  # seconds until somebody must have begun to write to a pipe


def find_format(path: str, format: str | None = None) -> Format:  # noqa: A002
    """Return the format of a file: the one that is said, or the one that its name says.

    Parameters
    ----------
    path : str
        The file; ``-`` (standard input or output) is CSV unless said otherwise.
    format : str, optional
        The format, if it is said.

    Raises
    ------
    mgvae.errors.ParameterError
        When there is no such format, or the name's extension is not known.

    Examples
    --------
    >>> find_format("loans.csv.gz"), find_format("loans.bak", "parquet")
    ('csv', 'parquet')
    """
    formats: tuple[Format, ...] = get_args(Format)
    for known in formats:
        if format == known:
            return known
    if format is not None:
        raise ParameterError(
            Setting("format"), f" must be one of {', '.join(formats)}; got {format!r:.60}."
        )
    if path == "-":
        return "csv"
    name = Path(path).name.lower()
    extension = Path(name.removesuffix(".gz")).suffix
    found = EXTENSIONS.get(extension)
    if found is None or (name.endswith(".gz") and found not in _TEXT):
        raise ParameterError(
            f"{path}: the extension {extension or name!r} does not say which format this is. "
            f"Known are {', '.join(EXTENSIONS)}, and .gz after those of text files; or say which "
            "by ",
            Setting("format"),
            f": {', '.join(formats)}.",
        )
    return found


def read(
    path: str,
    *,
    format: Format | None = None,  # noqa: A002
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    missing: Collection[str] = (),
    mixed: Collection[str] = (),
) -> TableFile:
    """Read a table.

    Parameters
    ----------
    path : str
        The file; ``-`` is standard input.
    format : str, optional
        By the file's name by default.
    encoding : str, optional
        Of a text file; UTF-8, or UTF-16 where the file begins by saying so, by default.
    delimiter : str, optional
        What stands between the cells of a delimited file; found out by default.
    header : bool
        Whether the first line of a delimited file names the columns.
    missing : collection of str
        Text that stands for a missing value, besides what usually does in a delimited file.
    mixed : collection of str
        Columns of a text file in which values of several types may stand; they are text then.

    Returns
    -------
    file : TableFile
        The table, and how it was written.

    Raises
    ------
    mgvae.errors.DataError
        When there is no such file or no table in it.
    """
    format = format or find_format(path)  # noqa: A001
    source = "standard input" if path == "-" else path
    data = _bytes(path, source)
    if format == "csv" or format == "tsv":
        file = read_csv(
            data,
            source=source,
            format=format,
            delimiter=delimiter,
            header=header,
            encoding=encoding,
            missing=missing,
            mixed=mixed,
        )
    elif format == "jsonl":
        file = read_jsonl(data, source=source, encoding=encoding, mixed=mixed)
    else:
        file = TableFile(_read_binary(data, format, source), format)
    if missing and format not in ("csv", "tsv"):
        file = replace(file, table=without(file.table, missing))
    names = file.table.column_names
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"{source} has more than one column called {twice[0]!r}.")
    if file.table.num_rows == 0 or not names:
        raise DataError(f"{source} holds no rows.")
    return file


def write(
    table: pa.Table,
    path: str,
    like: TableFile,
    *,
    format: Format | None = None,  # noqa: A002
    originals: int = 0,
    escape_formulas: bool = False,
) -> None:
    """Write a table; a file appears under its name only when it is whole.

    Parameters
    ----------
    table : pyarrow.Table
        What to write.
    path : str
        The file; ``-`` is standard output.
    like : TableFile
        What the rows come from. Delimited text is written as it was there: delimiter, quotes, line
        ends, encoding, header or none, and how numbers, dates and missing cells are spelled.
    format : str, optional
        By the file's name by default.
    originals : int
        So many rows at the beginning are the rows of ``like``, and their cells come out in text
        exactly as they were read.
    escape_formulas : bool
        Whether text cells of a delimited file that a spreadsheet would run as a formula get a
        ``'`` in front.
    """
    format = format or find_format(path)  # noqa: A001
    check_types(table.to_batches(), format)

    def put(file: BinaryIO) -> None:
        if format == "csv" or format == "tsv":
            layout = _layout(like, format)
            write_csv(
                file,
                table,
                like,
                layout=layout,
                originals=originals,
                escape_formulas=escape_formulas,
            )
        elif format == "jsonl":
            write_jsonl(file, table, like, originals=originals)
        elif format == "parquet":
            _put_parquet(table.to_batches(), table.schema, file)
        else:
            options = pyarrow.ipc.IpcWriteOptions(
                compression="lz4" if format == "feather" else None
            )
            with pyarrow.ipc.new_file(file, table.schema, options=options) as writer:
                writer.write_table(table.unify_dictionaries())  # one for the whole file

    if path == "-":
        whole = io.BytesIO()  # some formats need a file in which they can go back
        put(whole)
        write_stdout(whole.getbuffer())
        return
    with atomic_write(path) as file:
        if path.lower().endswith(".gz"):
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                put(packed)  # type: ignore[arg-type]
        else:
            put(file)


def _bytes(path: str, source: str) -> bytes:
    """Return the whole file, unpacked."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else _read_file(path)
    except IsADirectoryError:
        raise DataError(f"{path} is a folder, not a file with a table.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{source} is a broken gzip file: {error}.") from None


def _read_file(path: str) -> bytes:
    """Read a file, or a pipe that somebody writes to; raise for anything that might never end."""
    mode = os.stat(path).st_mode
    if stat.S_ISFIFO(mode):
        return _read_pipe(path)
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DataError(f"{path} is a device or a socket, not a file with a table.")
    return Path(path).read_bytes()


def _read_pipe(path: str) -> bytes:
    # Opening a pipe for reading waits for a writer, for ever if need be, unless it is told not to.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        until = time.monotonic() + _PATIENCE
        while True:
            first = pipe.read(1)  # nothing: there is no writer; None: there is, but no byte yet
            if first != b"":
                break
            if time.monotonic() > until:
                raise DataError(
                    f"{path} is a pipe that nobody writes to. Start the writer first, or pass the "
                    "table on standard input as - ."
                )
            time.sleep(0.05)
        os.set_blocking(pipe.fileno(), True)
        return (first or b"") + pipe.readall()


def check_types(batches: Iterable[pa.RecordBatch], format: Format) -> None:  # noqa: A002
    """Raise if a file of a format cannot hold some rows; text holds less than other formats do.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The rows.
    format : str
        The format.

    Raises
    ------
    mgvae.errors.DataError
        When bytes that are not text, or dates beyond the calendar, would be written as text.

    Examples
    --------
    >>> check_types(pa.table({"key": [b"1", b"2"]}).to_batches(), "csv")
    """
    if format not in _TEXT:
        return
    for batch in batches:
        for field, cells in zip(batch.schema, batch.columns, strict=True):
            check_text(field.name, cells, format)


def _read_binary(data: bytes, format: Format, source: str) -> pa.Table:  # noqa: A002
    buffer = pa.py_buffer(data)
    try:
        if format == "parquet":
            return pq.ParquetFile(pa.BufferReader(buffer)).read()
        if data.startswith(b"FEA1"):
            raise DataError(f"{source} is a Feather file of version 1; write it as version 2.")
        opened = pyarrow.ipc.open_file if data.startswith(b"ARROW1") else pyarrow.ipc.open_stream
        table = opened(buffer).read_all()
        table.validate(full=True)  # offsets of a damaged file could point anywhere
        return table
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"{source} is not a whole {format} file: {reason}.") from None


def without(table: pa.Table, missing: Collection[str]) -> pa.Table:
    """Take text that stands for a missing value out of a table."""
    markers = pa.array(list(missing), pa.string())
    for i, column in enumerate(table.columns):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            absent = pc.is_in(column.cast(pa.string()), value_set=markers)
            column = pc.if_else(absent, pa.scalar(None, column.type), column)
            table = table.set_column(i, table.field(i), column)
    return table


def write_parquet(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: str) -> None:
    """Write batches to a Parquet file, a row group at a time; it appears when it is whole.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        The rows.
    schema : pyarrow.Schema
        Their columns.
    path : str
        The file; ``-`` is standard output.
    """
    if path == "-":
        whole = io.BytesIO()  # a Parquet file ends with what is found by going back
        _put_parquet(batches, schema, whole)
        write_stdout(whole.getbuffer())
        return
    with atomic_write(path) as file:
        _put_parquet(batches, schema, file)


def _put_parquet(batches: Iterable[pa.RecordBatch], schema: pa.Schema, file: BinaryIO) -> None:
    # Fractions hardly repeat: a dictionary of them takes ten times as long and half as much room.
    repeat = [field.name for field in schema if not pa.types.is_floating(field.type)]
    with pq.ParquetWriter(file, schema, use_dictionary=repeat) as writer:
        for group in _row_groups(batches, schema):
            writer.write_table(group, _ROW_GROUP)


def _row_groups(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Put rows together so that the file does not depend on how they were cut into batches."""
    waiting: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        waiting.append(batch)
        n += batch.num_rows
        while n >= _ROW_GROUP:
            table = pa.Table.from_batches(waiting, schema)
            yield table.slice(0, _ROW_GROUP)
            waiting = table.slice(_ROW_GROUP).to_batches()
            n -= _ROW_GROUP
    if n:
        yield pa.Table.from_batches(waiting, schema)


def _layout(like: TableFile, format: Format) -> Layout:  # noqa: A002
    """Return the layout of the file that is written: that of the one read, if it has one."""
    usual = "\t" if format == "tsv" else ","
    if like.format == format:
        return like.layout
    return replace(like.layout, delimiter=usual, header_cells={})
