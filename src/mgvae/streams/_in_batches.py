"""Rows that come in batches, from a table that need not fit in memory."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from mgvae.codec import TableCodec, only_labels, only_rows, read_table
from mgvae.codec.samples import Samples
from mgvae.common.disk import check_room
from mgvae.common.rows import EncodedRows, FileRows, MemoryRows, Positions
from mgvae.errors import DataError, ParameterError
from mgvae.files import Source, observe_columns
from mgvae.samplers import Part, Seen
from mgvae.storage import FittedState
from mgvae.streams._labels import LabelReader

__all__ = ["InBatches", "anchor_mark", "check_output_room"]

_IN_MEMORY = 2**26  # bytes of encoded rows that are not worth a file


class InBatches:
    """A table whose rows are read several times, batch by batch.

    What is found does not depend on how the rows are cut into batches.

    Parameters
    ----------
    source : Source
        The rows.
    target : str
        The column that holds the class. All others are modelled.
    declared : bool
        Whether the target is said to hold classes, whatever it looks like.
    folder : Path, optional
        For the encoded rows, which are needed no longer when the sampler has learned; needed only
        by :meth:`encode`.
    """

    def __init__(
        self, source: Source, target: str, *, declared: bool = False, folder: Path | None = None
    ) -> None:
        self.source = source
        self.target = target
        self.declared = declared
        self.folder = folder
        self._n_rows = 0

    @property
    def example(self) -> pa.Table:
        """The table of the features without rows."""
        return self._features(self.source.schema.empty_table())

    @property
    def sample(self) -> pa.Table:
        """The table of the features without rows: its types tell enough."""
        return self.example

    def observe(self, samples: Samples) -> tuple[NDArray[Any], NDArray[Any]]:
        """Fit the codec; return the labels, sorted, and the class of every row among them."""
        codec = samples.codec
        if not isinstance(codec, TableCodec):
            raise ParameterError("sample_shape is for arrays of images, not for tables on disk.")
        labels = LabelReader(self.target)
        self._n_rows = observe_columns(codec, self.source, self.target, labels.observe)
        return labels.finish(declared=self.declared)

    def encode(self, samples: Samples) -> EncodedRows:
        """Encode all rows in a second pass, to memory or, if they are many, to a file."""
        codec = samples.codec
        blocks = self._counted(codec.encode(self._columns(b)) for b in self.source.batches())
        if self.folder is None or 4 * self._n_rows * codec.width <= _IN_MEMORY:
            return MemoryRows(torch.from_numpy(np.concatenate(list(blocks))))
        return FileRows.write(blocks, self._n_rows, codec.width, self.folder)

    def schema(self, mark: str | None) -> pa.Schema:
        """Return the columns of the output: those of the input, and the marks of both parents."""
        fields = self.source.schema
        for name in [] if mark is None else [mark, anchor_mark(mark)]:
            fields = fields.append(pa.field(name, pa.int64()))
        return fields

    def balanced(
        self,
        state: FittedState,
        parts: Iterable[Part],
        *,
        mark: str | None = None,
        originals: bool = True,
        also_to: list[tuple[pa.RecordBatch, Positions, Positions]] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Iterate over the original rows as they are, and the new ones below.

        Parameters
        ----------
        state : FittedState
            What made the new rows.
        parts : iterable of Part
            The new rows.
        mark : str, optional
            Name of one more column, with the majority row that guided a new one; the minority row
            that it started from is in another, see :func:`anchor_mark`.
        originals : bool
            Whether to begin with the original rows.
        also_to : list, optional
            Where to keep the new rows, without the marks, and the majority and minority rows that
            they were made from.
        """
        if originals:
            for batch in self.source.batches():
                nobody = np.full(batch.num_rows, -1)
                yield self._marked(batch, mark, nobody, nobody)
        for part in parts:
            batch = self._new_batch(state, part)
            if also_to is not None:
                also_to.append((batch, part.sources, part.anchors))
            yield self._marked(batch, mark, part.sources, part.anchors)

    def _marked(
        self, batch: pa.RecordBatch, mark: str | None, *parents: Positions
    ) -> pa.RecordBatch:
        wanted = () if mark is None else parents
        marks = [pa.array(rows, pa.int64(), mask=rows < 0) for rows in wanted]
        return pa.RecordBatch.from_arrays([*batch.columns, *marks], schema=self.schema(mark))

    def _new_batch(self, state: FittedState, part: Part) -> pa.RecordBatch:
        schema, target = self.source.schema, self.target
        labels = np.repeat(state.classes[[part.code]], len(part.sources))
        new = only_rows(self.example, part.rows)
        y = only_labels(schema.empty_table()[target], labels)
        columns = [y if name == target else new[name].combine_chunks() for name in schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _columns(self, batch: pa.RecordBatch) -> Any:
        return read_table(self._features(pa.Table.from_batches([batch])))

    def _features(self, table: pa.Table) -> pa.Table:
        return table.drop_columns([self.target])

    def _counted(self, blocks: Iterable[NDArray[np.float32]]) -> Iterator[NDArray[np.float32]]:
        """Raise if there are not as many rows as in the pass before."""
        found = 0
        for block in blocks:
            found += len(block)
            yield block
        if found != self._n_rows:
            raise DataError(
                f"source gave {self._n_rows} rows at first and {found} when it was read again. It "
                "must not change meanwhile; a function must give all batches at every call."
            )


def anchor_mark(mark: str) -> str:
    """Return the name of the column with the minority rows that new ones started from.

    Examples
    --------
    >>> anchor_mark("synthetic_source"), anchor_mark("guide")
    ('synthetic_anchor', 'guide_anchor')
    """
    return mark.removesuffix("_source") + "_anchor"


def check_output_room(seen: Seen, output: str) -> None:
    """Raise if the new rows cannot go to a file: packed, a cell takes hardly less than a byte."""
    cells = seen.n_new * (len(seen.example.schema) + 1)
    folder = Path(os.path.realpath(output)).parent
    if folder.is_dir():
        check_room(folder, cells, f"{seen.n_new} new rows are asked for: ask for fewer.")
