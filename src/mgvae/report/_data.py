"""The rows that a report compares: encoded by one codec, and numbered so that equal rows are equal.

A report rests on three samples of a class: real rows that the sampler learned from, real rows that
it never saw, and new rows. New rows that resemble the first more than the second were copied from
them, however good they look.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from mgvae.codec import (
    LEVELS,
    NUMBERS,
    Column,
    KindName,
    RelationSummary,
    Table,
    TableCodec,
    cell_texts,
    read_table,
)
from mgvae.common.shown import shown
from mgvae.errors import DataError, ParameterError
from mgvae.report._words import Things
from mgvae.samplers import refuse_long_labels

__all__ = [
    "Rows",
    "Tables",
    "cells_at",
    "majority_of",
    "open_tables",
    "read_labels",
    "sample",
    "split_target",
]

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Some rows as a report sees them.

    Parameters
    ----------
    columns : list of Column
        Without the target; empty for images.
    encoded : ndarray
        As the codec encodes them, for distances.
    keys : ndarray of int
        Equal for rows that are equal in every column that is modelled.
    labels : ndarray of str
        Their classes.
    broken : ndarray of bool of shape (n, n_relations)
        Which relations of the real rows each row breaks.
    images : ndarray of bytes of shape (n, height, width, channels), optional
        Images, which have no columns.
    """

    columns: list[Column]
    encoded: Floats
    keys: Positions
    labels: NDArray[Any]
    broken: NDArray[np.bool_]
    images: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, rows: Positions) -> "Rows":
        """Return the rows at some positions."""
        return Rows(
            [cells_at(column, rows) for column in self.columns],
            self.encoded[rows],
            self.keys[rows],
            self.labels[rows],
            self.broken[rows],
            None if self.images is None else self.images[rows],
        )

    def of(self, label: str) -> Positions:
        """Return the positions of a class."""
        return np.flatnonzero(self.labels == label)


@dataclass(frozen=True)
class Tables:
    """Several sets of rows that share columns.

    Parameters
    ----------
    rows : list of Rows
        The sets, the real rows first.
    names : list of str
        The columns.
    kinds : list of str
        What the columns are.
    target : str
        What the target is called.
    relations : list of RelationSummary
        What every real row keeps.
    """

    rows: list[Rows]
    names: list[str]
    kinds: list[str]
    target: str
    relations: list[RelationSummary] = field(default_factory=list)

    @property
    def things(self) -> Things:
        """What the samples are."""
        return "rows" if self.rows[0].images is None else "images"


def majority_of(labels: NDArray[Any]) -> str:
    """Return the largest class.

    Examples
    --------
    >>> majority_of(np.array(["a", "b", "b"]))
    'b'
    """
    names, counts = np.unique(labels, return_counts=True)
    return str(names[np.argmax(counts)])


def split_target(table: Any, target: Any) -> tuple[Any, NDArray[Any]]:
    """Return a table without its target, in its own container, and the target as it is.

    Examples
    --------
    >>> X, y = split_target(np.array([[1.0, 0.0], [2.0, 1.0]]), 1)
    >>> X.tolist(), y.tolist()
    ([[1.0], [2.0]], [0.0, 1.0])
    """
    if isinstance(table, np.ndarray | list):
        table = np.asarray(table)
        return np.delete(table, target, axis=1), table[:, target]
    frame = nw.from_native(table, eager_only=True)
    return frame.drop(target).to_native(), frame[target].to_numpy()


def open_tables(
    tables: Sequence[tuple[str, Any, Any]],
    column_types: Mapping[Any, KindName] | None,
    declared: Sequence[str] = (),
) -> Tables:
    """Read tables of the same columns.

    Parameters
    ----------
    tables : sequence of (str, table, target)
        What each is called in messages, the rows, and the name of the column that holds the class,
        or the classes themselves. The first is the real one.
    column_types : mapping of column to str or None
        Kinds of columns that are not what their values suggest.
    declared : sequence of str
        Relations that the user asked for, besides those that every real row keeps.
    """
    parts = [_split(read_table(X), target, name) for name, X, target in tables]
    old = parts[0][0]
    names = [str(column.name) for column in old]
    for (what, X, _), (new, _, _) in zip(tables[1:], parts[1:], strict=True):
        found = [str(column.name) for column in new]
        named = _named(tables[0][1]) and _named(X)
        if len(names) != len(found) or (named and names != found):
            raise DataError(
                f"{what} must have the columns of real, in their order: "
                f"{_difference(names, found)}."
            )
    codec = TableCodec(column_types, constraints=list(declared) or "auto")
    alike = [
        _table([replace(b, name=a.name) for a, b in zip(old, new, strict=True)])
        for new, _, _ in parts
    ]
    codec.fit(alike[0])
    kinds = [str(summary.kind) for summary in codec.describe()]
    modelled = [i for i, kind in enumerate(kinds) if kind in NUMBERS + LEVELS]
    if not modelled:
        raise DataError("real has no column that varies, so there is nothing to compare.")
    codes = np.stack([_codes([table.columns[i] for table in alike]) for i in modelled], 1)
    keys = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    ends = np.cumsum([table.n_rows for table in alike])[:-1]
    rows = [
        Rows(
            table.columns,
            codec.encode(table).astype(np.float64),
            own,
            cell_texts(labels),
            codec.broken_by(table.columns),
        )
        for table, own, (_, labels, _) in zip(alike, np.split(keys, ends), parts, strict=True)
    ]
    return Tables(rows, names, kinds, parts[0][2], codec.relations)


def sample(rows: Positions, most: int, rng: np.random.Generator) -> Positions:
    """Draw at most ``most`` rows without replacement, in order."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def cells_at(column: Column, rows: Positions) -> Column:
    """Return the cells of a column at some positions."""
    missing = None if column.missing is None else column.missing[rows]
    return replace(column, values=column.values[rows], missing=missing)


def read_labels(given: Any, n: int, which: str) -> NDArray[Any]:
    """Return the classes of ``n`` rows as text."""
    refuse_long_labels(given)
    labels = np.asarray(given)
    if labels.shape != (n,):
        raise DataError(
            f"target{which} must hold one class for each of {n} rows; its shape is {labels.shape}."
        )
    return cell_texts(Column("target", labels))


def _codes(columns: Sequence[Column]) -> Positions:
    """Return a number for each cell of one column of all tables, the same for equal cells."""
    if all(c.levels is None and c.values.dtype.kind in "biufmM" for c in columns):
        values = np.concatenate([column.values for column in columns])
    else:
        values = np.concatenate([cell_texts(column) for column in columns])
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    missing = [
        np.zeros(len(column.values), bool) if column.missing is None else column.missing
        for column in columns
    ]
    codes[np.concatenate(missing)] = -1
    return codes


_PLACES = {"real": "[0]", "synthetic": "[1]", "held_out": "[2]"}


def _split(table: Table, target: Any, name: str) -> tuple[list[Column], Column, str]:
    """Return the columns without the target, the target, and its name."""
    if not np.isscalar(target):
        labels = read_labels(target, table.n_rows, _PLACES.get(name, ""))
        return table.columns, Column("target", labels), "target"
    found = [column for column in table.columns if column.name == target]
    if not found:
        names = ", ".join(str(column.name) for column in table.columns[:20])
        raise ParameterError(f"target: {name} has no column {shown(target)}; it has {names}.")
    return [c for c in table.columns if c.name != target], found[0], str(target)


def _table(columns: list[Column]) -> Table:
    return Table(columns, len(columns[0].values) if columns else 0, [c.name for c in columns])


def _named(X: Any) -> bool:
    return not isinstance(X, np.ndarray | list)


def _difference(names: list[str], found: list[str]) -> str:
    lacking = [name for name in names if name not in found][:5]
    extra = [name for name in found if name not in names][:5]
    if lacking or extra:
        return f"it lacks {lacking} and has {extra} besides"
    return f"it has {found[:10]} instead of {names[:10]}"
