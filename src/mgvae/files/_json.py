"""JSON lines: one object per line, one key per column."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from mgvae.errors import DataError
from mgvae.files._cells import Spelling, read_dates, spell
from mgvae.files._table import TableFile
from mgvae.files._text import as_utf8

__all__ = ["read_jsonl", "write_jsonl"]

_BLOCK = 1 << 24
_ROWS = 1 << 14
_EXACT = 2**53  # a double holds every whole number up to here


def read_jsonl(data: bytes, *, source: str, encoding: str | None = None) -> TableFile:
    r"""Read JSON lines.

    Parameters
    ----------
    data : bytes
        The whole file.
    source : str
        What to call it in messages.
    encoding : str, optional
        UTF-8, or UTF-16 where the file begins by saying so, by default.

    Raises
    ------
    mgvae.errors.DataError
        When a line is no JSON object or a key holds values of several types.

    Examples
    --------
    >>> file = read_jsonl(b'{"a": 1}\n{"a": null, "b": "2024-01-31"}\n', source="example")
    >>> file.table.to_pydict()
    {'a': [1, None], 'b': [None, datetime.date(2024, 1, 31)]}
    """
    text, _ = as_utf8(data, encoding, source)
    if not text.strip():
        raise DataError(f"{source} is empty: it holds no table.")
    table = _parse(text, source, pa.schema([]))
    # strings that look like times would be cut to the second: they are taken as strings instead
    times = [(f.name, pa.string()) for f in table.schema if pa.types.is_timestamp(f.type)]
    if times:
        table = _parse(text, source, pa.schema(times)).select(table.column_names)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_floating(column.type) and _largest(column) >= _EXACT:
            _refuse_rounded(text, name, source)
    read = {
        name: found
        for name, column in zip(table.column_names, table.columns, strict=True)
        if pa.types.is_string(column.type) and (found := read_dates(column)) is not None
    }
    columns = {n: read[n].values if n in read else table[n] for n in table.column_names}
    return TableFile(
        pa.table(columns),
        "jsonl",
        spellings={name: column.spelling for name, column in read.items()},
        cells={name: column.cells for name, column in read.items() if column.cells is not None},
    )


def write_jsonl(file: BinaryIO, table: pa.Table, like: TableFile, *, originals: int = 0) -> None:
    r"""Write a table as JSON lines; a missing cell is null.

    Parameters
    ----------
    file : binary file
        Where to write.
    table : pyarrow.Table
        What to write.
    like : TableFile
        The file that the columns come from, which says how dates are spelled.
    originals : int
        So many rows at the beginning are the rows of ``like``.

    Examples
    --------
    >>> import io
    >>> table = pa.table({"a": [1.5, None], "b": ["é", "x"]})
    >>> file = io.BytesIO()
    >>> write_jsonl(file, table, TableFile(table, "jsonl"))
    >>> print(file.getvalue().decode(), end="")
    {"a": 1.5, "b": "é"}
    {"a": null, "b": "x"}
    """
    starts = [*range(0, originals, _ROWS), *range(originals, table.num_rows, _ROWS)]
    for start, stop in zip(starts, [*starts[1:], table.num_rows], strict=True):
        columns = [
            _values(
                table[name].slice(start, stop - start),
                like.cells[name].slice(start, stop - start)
                if stop <= originals and name in like.cells
                else None,
                like.spelling(name),
            )
            for name in table.column_names
        ]
        for row in zip(*columns, strict=True):
            record = dict(zip(table.column_names, row, strict=True))
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _values(values: pa.ChunkedArray, cells: pa.ChunkedArray | None, how: Spelling) -> list[Any]:
    """Give what JSON can hold of the values of a column."""
    kind = values.type
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
    elif pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        text = spell(values, how) if cells is None else cells
        values = pc.if_else(pc.is_valid(values), text, pa.scalar(None, pa.string()))
    return list(values.to_pylist())


def _parse(text: bytes, source: str, schema: pa.Schema) -> pa.Table:
    try:
        return pyarrow.json.read_json(
            pa.BufferReader(text),
            pyarrow.json.ReadOptions(block_size=min(len(text), _BLOCK)),
            pyarrow.json.ParseOptions(explicit_schema=schema),
        )
    except pa.ArrowInvalid as error:
        _refuse(text, source)
        raise DataError(f"{source} cannot be read: {str(error).splitlines()[0]}") from None


def _records(text: bytes, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the objects with the number of their line; raise where there is none."""
    for number, line in enumerate(text.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"{source}, line {number}: this is not JSON ({reason}).") from None
        if not isinstance(record, dict):
            raise DataError(
                f"{source}, line {number}: a JSON {_KINDS[type(record)]} where an object such as "
                '{"age": 39} should be. Each line holds one row.'
            )
        yield number, record


_KINDS = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "list",
    dict: "object",
    type(None): "null",
}


def _refuse(text: bytes, source: str) -> None:
    """Raise and name the line that is no object, or where a column changes its type."""
    seen: dict[str, str] = {}
    for number, record in _records(text, source):
        for name, value in record.items():
            kind = _KINDS[type(value)]
            if kind != "null" and seen.setdefault(name, kind) != kind:
                raise DataError(
                    f"{source}, line {number}: column {name!r} holds a {kind} here and a "
                    f"{seen[name]} before. A column must hold one type."
                )


def _refuse_rounded(text: bytes, name: str, source: str) -> None:
    """Raise if a column of floats holds a whole number that a double cannot."""
    for number, record in _records(text, source):
        value = record.get(name)
        if isinstance(value, int) and int(float(value)) != value:
            raise DataError(
                f"{source}, line {number}: column {name!r} holds {value}, which is too large to be "
                "kept exactly as a number. Write such values as strings."
            )


def _largest(column: pa.ChunkedArray) -> float:
    return pc.max(pc.abs(column)).as_py() or 0.0
