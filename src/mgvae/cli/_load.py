"""A table with its target, as the options of a command ask for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mgvae import files
from mgvae.cli._columns import check_columns, column_types, count_classes
from mgvae.cli._reading import Reading
from mgvae.errors import DataError, ParameterError

__all__ = ["Loaded", "load"]

_TEXT_KINDS = ("categorical", "ordinal", "text", "identifier")


@dataclass(frozen=True)
class Loaded:
    """What the options chose from a file.

    Parameters
    ----------
    name : str
        The file, for people.
    file : TableFile
        How it was written; its table has no rows if they are not in memory.
    source : Source
        The rows, without the columns that are left out.
    target : str
        The column that holds the class.
    classes : dict of label to int
        Rows by class, the largest first.
    kinds : dict of str to str
        What the user says the other columns are.
    dropped : sequence of str
        The columns left out.
    n_unlabelled : int
        Rows left out because they have no class.
    """

    name: str
    file: files.TableFile
    source: files.Source
    target: str
    classes: dict[Any, int]
    kinds: dict[str, str]
    dropped: Sequence[str]
    n_unlabelled: int = 0

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.classes.values())

    @cached_property
    def table(self) -> pa.Table:
        """All rows, in memory."""
        return pa.Table.from_batches(self.source.batches(), self.source.schema)

    @property
    def X(self) -> pa.Table:  # noqa: N802 (the field's name)
        """The columns besides the target."""
        return self.table.drop_columns([self.target])

    @property
    def y(self) -> pa.ChunkedArray:
        """The target."""
        return self.table[self.target]


def load(source: str, target: str, reading: Reading) -> Loaded:
    """Open a file and check everything about it that can be wrong; parameters are options.

    The rows of a Parquet file are not read before they are needed, those of others at once.
    """
    kinds = column_types(reading.types or ())
    as_text = reading.text
    dropped = list(dict.fromkeys(reading.drop or ()))
    if Path(source).is_dir():
        raise DataError(f"{source} is a folder, not a file with a table.")
    name = "standard input" if source == "-" else source
    found = files.find_format(source, reading.input_format)
    if found == "parquet" and _is_parquet(source):
        rows = files.open_source(source)
        if reading.missing:
            rows = rows.map(lambda batch: _without(batch, as_text["missing"]))
        file = files.TableFile(rows.schema.empty_table(), found)
    else:
        file = files.read(
            source,
            format=found,
            **as_text,
            mixed=[*dropped, *(name for name, kind in kinds.items() if kind in _TEXT_KINDS)],
        )
        rows = files.open_source(file.table)
    columns = rows.schema.names
    for names, option in (([target], "--target"), (dropped, "--drop"), (list(kinds), "--type")):
        check_columns(names, columns, option)
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise DataError(f"{name} has more than one column called {twice[0]!r}.")
    if target in dropped:
        raise ParameterError(f"--drop: {target!r} is the target and cannot be left out.")
    rows = rows.only(column for column in columns if column not in dropped)
    if len(rows.schema) < 2:
        raise DataError(f"{name} has no column besides the target, so there is nothing to model.")
    for field in rows.schema:
        if pa.types.is_nested(field.type):
            raise DataError(
                f"Column {field.name!r} holds {field.type}, which is not one value per cell. "
                f"Leave it out with --drop '{field.name}'."
            )
    n_unlabelled = 0
    if reading.drop_missing_target:
        n_unlabelled = sum(_unlabelled(batch, target) for batch in rows.only([target]).batches())
        rows = rows.map(lambda batch: batch.filter(_has_class(batch, target)))
        if file.table.num_rows:
            kept = _has_class(file.table, target)
            cells = {name: column.filter(kept) for name, column in file.cells.items()}
            file = replace(file, table=file.table.filter(kept), cells=cells)
    declared = kinds.pop(target, None) is not None
    classes = count_classes(rows, target, declared=declared)
    kinds = {column: kind for column, kind in kinds.items() if column not in dropped}
    return Loaded(name, file, rows, target, classes, kinds, dropped, n_unlabelled)


def _has_class(rows: Any, target: str) -> Any:
    """Return for each row whether its class is known."""
    return pc.invert(pc.is_null(rows[target], nan_is_null=True))


def _unlabelled(rows: Any, target: str) -> int:
    return int(rows.num_rows) - int(pc.sum(_has_class(rows, target)).as_py() or 0)


def _is_parquet(path: str) -> bool:
    """Whether it is a file that begins as such a file does; a pipe cannot be read twice."""
    if not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False  # whoever reads it will say why it cannot be read


def _without(batch: pa.RecordBatch, missing: Sequence[str]) -> pa.RecordBatch:
    table = files.without(pa.Table.from_batches([batch]), missing).combine_chunks()
    return table.to_batches()[0] if batch.num_rows else batch
