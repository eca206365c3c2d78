"""Where batches of rows come from: files, data sets, tables, functions, iterators."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc
import pyarrow.parquet as pq

from mgvae.common.disk import enough_room
from mgvae.errors import DataError

__all__ = ["Source", "open_source"]

_ROWS = 2**16  # most rows in a batch
_BUFFER = 2**20  # bytes of a Parquet column that are read at once
_SPOOL = "rows.arrows"


class Source:
    """Rows that can be read again and again, a batch at a time.

    Parameters
    ----------
    name : str
        What to call it in messages.
    schema : pyarrow.Schema
        The columns.
    read : callable
        Gives the batches from the first on, at every call, with at least the columns named.

    Examples
    --------
    >>> import pyarrow as pa
    >>> source = open_source(pa.table({"a": [1, 2], "b": [3, 4]}))
    >>> [batch.to_pydict() for batch in source.only(["b"]).batches()]
    [{'b': [3, 4]}]
    """

    def __init__(
        self, name: str, schema: pa.Schema, read: Callable[[list[str]], Iterable[pa.RecordBatch]]
    ) -> None:
        self.name = name
        self.schema = schema
        self._read = read

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows from the first on, in batches of bounded size, none of them empty."""
        names = self.schema.names
        for batch in self._read(names):
            chosen = batch if batch.schema.names == names else batch.select(names)
            for start in range(0, batch.num_rows, _ROWS):
                yield chosen.slice(start, _ROWS)

    def only(self, names: Iterable[str]) -> "Source":
        """Leave the other columns out."""
        fields = [self.schema.field(name) for name in names]
        return Source(self.name, pa.schema(fields, self.schema.metadata), self._read)

    def map(self, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> "Source":
        """Change the cells of every batch when it is read."""
        return Source(self.name, self.schema, lambda names: map(change, self._read(names)))


def open_source(source: Any, spool: Path | None = None) -> Source:
    """Return anything that holds batches of rows as a :class:`Source`.

    Parameters
    ----------
    source : path, pyarrow Dataset or Table, callable or iterable
        See :func:`mgvae.balance_dataset`.
    spool : Path, optional
        A folder for the batches of what can be read only once.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, str | os.PathLike):
        return _parquet(os.fspath(source))
    if isinstance(source, ds.Dataset):
        return Source("the data set", source.schema, lambda names: _scan(source, names))
    if isinstance(source, pa.Table):
        return Source("the table", source.schema, lambda _: source.to_batches(_ROWS))
    if callable(source):
        return Source("the batches", _first(source()).schema, lambda _: _alike(source()))
    if isinstance(source, Iterable) and spool is not None:
        return _spooled(source, spool)
    raise DataError(
        "source must be the path of a Parquet file, a pyarrow Dataset or Table, an iterable of "
        f"pyarrow record batches, or a function that gives one; got {type(source).__name__}."
    )


def _parquet(path: str) -> Source:
    if Path(path).is_dir():
        raise DataError(
            f"{path} is a folder, not a Parquet file. For all files in it pass "
            f"pyarrow.dataset.dataset({path!r})."
        )
    if Path(path).exists() and not Path(path).is_file():
        raise DataError(f"{path} is a pipe, a device or a socket, and cannot be read twice.")

    def read(names: list[str]) -> Iterator[pa.RecordBatch]:
        with _whole(path), pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
            yield from file.iter_batches(_ROWS, columns=names)

    with _whole(path), pq.ParquetFile(path) as file:
        return Source(path, file.schema_arrow, read)


@contextmanager
def _whole(path: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, PermissionError) as error:
        reason = os.strerror(error.errno or errno.ENOENT)
        raise DataError(f"{path} cannot be read: {reason}.") from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"{path} is not a whole parquet file: {reason}.") from None


def _scan(dataset: ds.Dataset, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Read a data set with as little in memory as can be."""
    options = None
    if isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat):
        options = ds.ParquetFragmentScanOptions(
            use_buffered_stream=True, buffer_size=_BUFFER, pre_buffer=False
        )
    batches: Iterator[pa.RecordBatch] = dataset.to_batches(
        names,
        batch_size=_ROWS,
        batch_readahead=2,
        fragment_readahead=1,
        fragment_scan_options=options,
        use_threads=False,
    )
    return batches


def _first(batches: Any) -> pa.RecordBatch:
    for batch in _alike(batches):
        return batch
    raise DataError("source gives no batch of rows.")


def _alike(batches: Any) -> Iterator[pa.RecordBatch]:
    """Yield record batches; raise where one is something else, or has other columns."""
    if not isinstance(batches, Iterable):
        raise DataError(f"source must give an iterable of batches, not {type(batches).__name__}.")
    schema = None
    for number, item in enumerate(batches):
        if not isinstance(item, pa.RecordBatch | pa.Table):
            raise DataError(
                f"source: batch {number} is of the type {type(item).__name__}; pyarrow record "
                "batches are needed."
            )
        schema = item.schema if schema is None else schema
        if not item.schema.equals(schema):
            odd = next((f for f in item.schema if f not in schema), "fewer columns")
            raise DataError(
                f"source: batch {number} has other columns than the first ({odd}). Give all "
                "batches the same names and types."
            )
        yield from item.to_batches() if isinstance(item, pa.Table) else [item]


def _spooled(batches: Iterable[Any], folder: Path) -> Source:
    """Keep the batches in a file."""
    path = folder / _SPOOL
    alike = _alike(batches)
    first = next(alike, None)
    if first is None:
        raise DataError("source gives no batch of rows.")
    options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
    with (
        enough_room(folder),
        pa.OSFile(str(path), "wb") as file,
        pyarrow.ipc.new_stream(file, first.schema, options=options) as writer,
    ):
        writer.write_batch(first)
        for batch in alike:
            writer.write_batch(batch)

    def read(_: list[str]) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(path)) as file, pyarrow.ipc.open_stream(file) as reader:
            yield from reader

    return Source("the batches", first.schema, read)
