"""JSON lines: one object per line, one key per column."""

import io
import json
import math
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from mgvae.errors import DataError, Setting
from mgvae.files._cells import is_binary, read_dates, spell
from mgvae.files._spelling import Spelling
from mgvae.files._table import TableFile
from mgvae.files._text import as_utf8

__all__ = ["read_jsonl", "write_jsonl"]

_ROWS = 1 << 14  # rows read or written at a time


def read_jsonl(
    data: bytes, *, source: str, encoding: str | None = None, mixed: Collection[str] = ()
) -> TableFile:
    r"""Read JSON lines.

    Parameters
    ----------
    data : bytes
        The whole file.
    source : str
        What to call it in messages.
    encoding : str, optional
        UTF-8, or UTF-16 where the file begins by saying so, by default.
    mixed : collection of str
        Columns that may hold lists, objects or several types, and are text then.

    Raises
    ------
    mgvae.errors.DataError
        When a line is no JSON object, names a key twice or holds what is no text or number, or a
        key holds values of several types.

    Examples
    --------
    >>> file = read_jsonl(b'{"a": 1}\n{"a": null, "b": "2024-01-31"}\n', source="example")
    >>> file.table.to_pydict()
    {'a': [1, None], 'b': [None, datetime.date(2024, 1, 31)]}
    """
    text, _, _ = as_utf8(data, encoding, source)
    if not text.strip():
        raise DataError(f"{source} is empty: it holds no table.")
    columns = _Columns(source, mixed)
    records = _records(text, source)
    while batch := list(islice(records, _ROWS)):
        columns.add(batch)
    table = columns.table()
    dates = {
        name: found
        for name in table.column_names
        if pa.types.is_string(table[name].type) and (found := read_dates(table[name])) is not None
    }
    return TableFile(
        pa.table({n: dates[n].values if n in dates else table[n] for n in table.column_names}),
        "jsonl",
        spellings={name: column.spelling for name, column in dates.items()},
        cells={name: column.cells for name, column in dates.items() if column.cells is not None},
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
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def _values(values: pa.ChunkedArray, cells: pa.ChunkedArray | None, how: Spelling) -> list[Any]:
    """Return what JSON can hold of the values of a column."""
    kind = values.type
    if is_binary(kind):
        values = values.cast(pa.string())
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
    elif pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        text = spell(values, how) if cells is None else cells
        values = pc.if_else(pc.is_valid(values), text, pa.scalar(None, pa.string()))
    return list(values.to_pylist())


def _records(text: bytes, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects with the number of their line; raise where there is none."""
    for number, line in enumerate(io.BytesIO(text), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, object_pairs_hook=_once)
        except _TwiceError as error:
            raise DataError(
                f"{source}, line {number}: the key {error.args[0]!r:.60} stands there twice. Give "
                "each value a key of its own."
            ) from None
        except (ValueError, RecursionError) as error:
            reason = str(error).splitlines()[0]
            if "digits" in reason:  # Python does not read numbers of more than 4,300 digits
                raise DataError(
                    f"{source}, line {number}: a number has too many digits. Write it as text, in "
                    "quotation marks."
                ) from None
            raise DataError(f"{source}, line {number}: this is not JSON ({reason}).") from None
        if not isinstance(record, dict):
            raise DataError(
                f"{source}, line {number}: a JSON {_KINDS[type(record)]} where an object such as "
                '{"age": 39} should be. Each line holds one row.'
            )
        if b"Infinity" in line or b"\\u" in line:
            _check_values(record, f"{source}, line {number}")
        yield number, record


class _TwiceError(Exception):
    """A key stands twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        raise _TwiceError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return found


def _check_values(record: dict[str, Any], where: str) -> None:
    """Raise for what Python's parser takes, but no text or number is."""
    for name, value in record.items():
        try:
            json.dumps([name, value], ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise DataError(
                f"{where}: column {name!r} holds half a character ({value!r:.40}), of which no "
                "text can be written. Repair it."
            ) from None
        if isinstance(value, float) and math.isinf(value):
            raise DataError(
                f"{where}: column {name!r} holds Infinity, which is neither JSON nor a number to "
                "learn from. Write a number in its place, or null if it is not known."
            )


_KINDS = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "list",
    dict: "object",
    type(None): "null",
}


class _Columns:
    """The columns of the objects read so far.

    Python's own parser is used: pyarrow's crashes on a line that is ``null``, cuts times to the
    second and rounds large numbers.
    """

    def __init__(self, source: str, mixed: Collection[str]) -> None:
        self.source = source
        self.mixed = mixed
        self.kinds: dict[str, str] = {}
        self.chunks: dict[str, list[pa.Array]] = {}
        self.sizes: list[int] = []

    def add(self, batch: list[tuple[int, dict[str, Any]]]) -> None:
        """Take the next objects in."""
        names = {name: None for _, record in batch for name in record}
        for name in names:
            before = [pa.nulls(size) for size in self.sizes]
            self.chunks.setdefault(name, before)
        for name, chunks in self.chunks.items():
            values = [record.get(name) for _, record in batch]
            kind = self._kind(name, values, [number for number, _ in batch])
            chunks.append(self._array(name, values, kind))
        self.sizes.append(len(batch))

    def table(self) -> pa.Table:
        """Return the columns, each of one type."""
        return pa.table({name: self._joined(name, c) for name, c in self.chunks.items()})

    def _kind(self, name: str, values: list[Any], lines: list[int]) -> str:
        """Return what the column holds, and raise where that changes."""
        found = {_KINDS[kind] for kind in set(map(type, values))} - {"null"}
        known = self.kinds.get(name)
        if known is None and found:
            first = next(value for value in values if value is not None)
            known = self.kinds[name] = _KINDS[type(first)]
        if known is None or (found <= {known} and known not in ("list", "object")):
            return known or "null"
        if name in self.mixed:
            self.kinds[name] = "mixture"
            return "mixture"
        for value, line in zip(values, lines, strict=True):
            kind = _KINDS[type(value)]
            if kind in ("list", "object"):
                raise DataError(
                    f"{self.source}, line {line}: column {name!r} holds a {kind}, which is not one "
                    "value per cell. Leave the column out, or read it as text by ",
                    Setting("mixed", [name]),
                    ".",
                )
            if kind not in ("null", known):
                raise DataError(
                    f"{self.source}, line {line}: column {name!r} holds a {kind} here and a "
                    f"{known} before. A column must hold one type."
                )
        return known

    def _array(self, name: str, values: list[Any], kind: str) -> pa.Array:
        if kind == "mixture":
            texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
            return pa.array(texts, pa.string())
        if kind != "number":
            return pa.array(values)
        try:
            if not any(isinstance(value, float) for value in values):
                return _integers(values)
            floats = [None if value is None else float(value) for value in values]
            exact = all(v is None or v != v or v == f for v, f in zip(values, floats, strict=True))
            if exact and math.inf not in floats and -math.inf not in floats:
                return pa.array(floats, pa.float64(), from_pandas=True)  # not a number: missing
        except OverflowError:
            pass
        raise self._too_large(name)

    def _joined(self, name: str, chunks: list[pa.Array]) -> pa.ChunkedArray:
        types = {chunk.type for chunk in chunks} - {pa.null()}
        if self.kinds.get(name) == "mixture":
            types = {pa.string()}
        if pa.float64() in types:
            types = {pa.float64()}
        final = pa.uint64() if len(types) > 1 else next(iter(types), pa.string())
        try:
            return pa.chunked_array([chunk.cast(final) for chunk in chunks], final)
        except pa.ArrowInvalid:
            raise self._too_large(name) from None

    def _too_large(self, name: str) -> DataError:
        return DataError(
            f"{self.source}: column {name!r} holds numbers that are too large to be kept exactly. "
            "Write them as strings."
        )


def _integers(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        return pa.array(values, pa.uint64())
