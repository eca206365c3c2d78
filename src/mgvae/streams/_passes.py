"""The passes over a table: look at it, learn from it, write it with new rows below."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from mgvae.codec import TableCodec, only_labels, only_rows, read_table
from mgvae.common.disk import check_room
from mgvae.errors import DataError, ParameterError
from mgvae.files import Source
from mgvae.methods.job import Positions
from mgvae.samplers._base import GenerativeSampler
from mgvae.samplers._data import open_data
from mgvae.samplers._making import Part
from mgvae.samplers._seen import Seen, rows_to_make
from mgvae.streams._labels import Labels
from mgvae.streams._stored import keep_rows

__all__ = ["balanced_batches", "balanced_schema", "check_output_room", "learn", "look"]

_IN_MEMORY = 2**26  # bytes of encoded rows that are not worth a file


def look(
    source: Source, target: str, sampler: GenerativeSampler, *, declared: bool = False
) -> Seen:
    """Find in one pass what the columns are, the class of each row, and how many to make.

    The outcome does not depend on how the rows are cut into batches. What is declared to be
    classes need not look so.
    """
    sampler._checked()
    example = _features(source.schema.empty_table(), target)
    data = open_data(example, sampler)
    codec = data.codec
    if not isinstance(codec, TableCodec):
        raise ParameterError("sample_shape is for arrays of images, not for tables on disk.")
    labels = Labels(target)
    start = 0
    for batch in source.batches():
        labels.observe(batch[target])
        try:
            codec.observe(read_table(_features(pa.Table.from_batches([batch]), target)))
        except DataError as error:
            if start == 0:
                raise
            raise type(error)(f"In the part that begins at row {start}: {error}") from error
        start += batch.num_rows
    if not start:
        raise DataError(f"{source.name} holds no rows.")
    codec.finish()
    classes, codes = labels.finish(declared=declared)
    new_rows = rows_to_make(sampler.sampling_strategy, classes, codes)
    return Seen(data, example, classes, codes, new_rows)


def learn(
    sampler: GenerativeSampler, source: Source, target: str, seen: Seen, folder: Path
) -> None:
    """Encode the rows in a second pass, and train the sampler on them.

    Parameters
    ----------
    sampler : GenerativeSampler
        Is fitted, or left as it is if anything fails.
    source, target
        The rows, and the column that holds the class.
    seen : Seen
        What :func:`look` gave.
    folder : Path
        For the encoded rows, which are needed no longer afterwards.
    """
    codec = seen.data.codec

    def blocks() -> Iterator[NDArray[np.float32]]:
        for batch in source.batches():
            yield codec.encode(read_table(_features(pa.Table.from_batches([batch]), target)))

    def encode() -> Tensor:
        n = len(seen.codes)
        if 4 * n * codec.width > _IN_MEMORY:
            return keep_rows(_counted(blocks(), n), n, codec.width, folder)
        return torch.from_numpy(np.concatenate(list(_counted(blocks(), n))))

    with sampler._all_or_nothing():
        sampler._learn(seen, encode)
        seen.data.validate(sampler, seen.example, reset=True)


def check_output_room(seen: Seen, output: str) -> None:
    """Raise if the new rows cannot go to a file: packed, a cell takes hardly less than a byte."""
    new = sum(seen.new_rows.values())
    cells = new * (len(seen.example.schema) + 1)
    folder = Path(os.path.realpath(output)).parent
    if folder.is_dir():
        check_room(folder, cells, f"{new} new rows are asked for: ask for fewer.")


def balanced_schema(schema: pa.Schema, mark: str | None) -> pa.Schema:
    """Give the columns of the output: those of the input, and the mark."""
    return schema if mark is None else schema.append(pa.field(mark, pa.int64()))


def balanced_batches(
    sampler: GenerativeSampler,
    source: Source,
    target: str,
    *,
    mark: str | None = None,
    originals: bool = True,
    also_to: list[tuple[pa.RecordBatch, Positions]] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Give the original rows as they are, and the new ones below.

    Parameters
    ----------
    sampler : GenerativeSampler
        Fitted by :func:`learn`.
    source, target
        The rows, and the column that holds the class.
    mark : str, optional
        Name of one more column, with the row that a new one was made from.
    originals : bool
        Whether to give the original rows.
    also_to : list, optional
        Where to keep the new rows, without the mark, and the rows that they were made from.
    """
    if originals:
        for batch in source.batches():
            yield _marked(batch, mark, source.schema, np.full(batch.num_rows, -1))
    for part in sampler._resampled():
        batch = _new_batch(sampler, part, source.schema, target)
        if also_to is not None:
            also_to.append((batch, part.sources))
        yield _marked(batch, mark, source.schema, part.sources)


def _marked(
    batch: pa.RecordBatch, mark: str | None, schema: pa.Schema, sources: Positions
) -> pa.RecordBatch:
    marks = [] if mark is None else [pa.array(sources, pa.int64(), mask=sources < 0)]
    schema = balanced_schema(schema, mark)
    return pa.RecordBatch.from_arrays([*batch.columns, *marks], schema=schema)


def _new_batch(
    sampler: GenerativeSampler, part: Part, schema: pa.Schema, target: str
) -> pa.RecordBatch:
    example = schema.empty_table()
    labels = np.repeat(sampler.classes_[[part.code]], len(part.sources))
    new = only_rows(_features(example, target), part.rows)
    y = only_labels(example[target], labels)
    columns = [y if name == target else new[name].combine_chunks() for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _features(table: pa.Table, target: str) -> pa.Table:
    return table.drop_columns([target])


def _counted(blocks: Iterator[NDArray[np.float32]], n: int) -> Iterator[NDArray[np.float32]]:
    """Raise if there are not as many rows as in the pass before."""
    found = 0
    for block in blocks:
        found += len(block)
        yield block
    if found != n:
        raise DataError(
            f"source gave {n} rows at first and {found} when it was read again. It must not change "
            "meanwhile; a function must give all batches at every call."
        )
