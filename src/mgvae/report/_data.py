"""What a report looks at: real and synthetic rows in one form, encoded and numbered."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec import Column, KindName, Table, TableCodec, read_table
from mgvae.errors import DataError, ParameterError
from mgvae.experiments.columns import LEVELS, NUMBERS, cell_texts, numbers

__all__ = [
    "LEVELS",
    "NUMBERS",
    "Tables",
    "cell_texts",
    "numbers",
    "open_tables",
    "read_labels",
    "sample",
    "take",
]

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Tables:
    """Real and synthetic rows that share columns.

    Parameters
    ----------
    columns : list of (Column, Column)
        Each column of the real and of the synthetic rows, without the target.
    kinds : list of str
        What the columns are.
    encoded, encoded_new : ndarray
        The rows as the codec gives them, for distances.
    keys, keys_new : ndarray of int
        Equal for rows that are equal in every column that is modelled.
    labels, labels_new : ndarray of str
        The classes of the rows.
    target : str
        What the target is called.
    pictures, pictures_new : ndarray of bytes of shape (n, height, width, channels), optional
        Images, which have no columns.
    """

    columns: list[tuple[Column, Column]]
    kinds: list[str]
    encoded: Floats
    encoded_new: Floats
    keys: Positions
    keys_new: Positions
    labels: NDArray[Any]
    labels_new: NDArray[Any]
    target: str
    pictures: NDArray[np.uint8] | None = None
    pictures_new: NDArray[np.uint8] | None = None

    @property
    def majority(self) -> str:
        """The largest class of the real rows."""
        names, counts = np.unique(self.labels, return_counts=True)
        return str(names[np.argmax(counts)])


def open_tables(
    real: Any, synthetic: Any, target: Any, column_types: Mapping[Any, KindName] | None
) -> Tables:
    """Read two tables and bring them to one form."""
    if len(synthetic) == 0:
        raise DataError("synthetic has no rows, so there is nothing to judge.")
    if isinstance(real, np.ndarray) and real.ndim > 2:
        from mgvae.report._images import open_images

        return open_images(real, np.asarray(synthetic), target)
    old, old_target, name = _split(read_table(real), target, 0, "real")
    new, new_target, _ = _split(read_table(synthetic), target, 1, "synthetic")
    names, found = [str(c.name) for c in old], [str(c.name) for c in new]
    if len(names) != len(found) or (_named(real) and _named(synthetic) and names != found):
        raise DataError(
            f"synthetic must have the columns of real, in their order: {_difference(names, found)}."
        )
    codec = TableCodec(column_types)
    table, table_new = _table(old), _table([replace(b, name=a.name) for a, b in zip_(old, new)])
    encoded = codec.fit(table).encode(table).astype(np.float64)
    encoded_new = codec.encode(table_new).astype(np.float64)
    kinds = [summary.kind for summary in codec.describe()]
    pairs = list(zip_(table.columns, table_new.columns))
    compared = [pair for pair, kind in zip_(pairs, kinds) if kind in NUMBERS + LEVELS]
    if not compared:
        raise DataError("real has no column that varies, so there is nothing to compare.")
    codes = np.stack([np.concatenate(_codes(a, b)) for a, b in compared], 1)
    keys = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
    n = table.n_rows
    return Tables(
        pairs, kinds, encoded, encoded_new, keys[:n], keys[n:],
        cell_texts(old_target), cell_texts(new_target), name,
    )  # fmt: skip


def sample(rows: Positions, most: int, rng: np.random.Generator) -> Positions:
    """Draw at most so many rows, without replacement, in order."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def take(column: Column, rows: Positions) -> Column:
    """Give some cells of a column."""
    missing = None if column.missing is None else column.missing[rows]
    return replace(column, values=column.values[rows], missing=missing)


def zip_(*parts: Any) -> Any:
    """Zip parts of equal length."""
    return zip(*parts, strict=True)


def _codes(real: Column, synthetic: Column) -> tuple[Positions, Positions]:
    """Give the cells of a column as numbers, equal where cells are, missing ones too."""
    a, b = real.values, synthetic.values
    if real.levels is not None or a.dtype.kind not in "biufmM" or b.dtype.kind not in "biufmM":
        a, b = cell_texts(real), cell_texts(synthetic)
    values = np.unique(np.concatenate([a, b]), return_inverse=True)[1].astype(np.int64)
    parts = np.split(values, [len(a)])
    for part, column in zip_(parts, (real, synthetic)):
        if column.missing is not None:
            part[column.missing] = -1
    return parts[0], parts[1]


def _split(table: Table, target: Any, which: int, name: str) -> tuple[list[Column], Column, str]:
    """Give the columns without the target, the target, and its name."""
    if isinstance(target, tuple):
        labels = read_labels(target[which], table.n_rows, which)
        return table.columns, Column("target", labels), "target"
    found = [column for column in table.columns if column.name == target]
    if not found:
        names = ", ".join(str(column.name) for column in table.columns[:20])
        raise ParameterError(f"target: {name} has no column {target!r}; it has {names}.")
    return [c for c in table.columns if c.name != target], found[0], str(target)


def read_labels(given: Any, n: int, which: int) -> NDArray[Any]:
    """Give the classes of ``n`` rows as text."""
    labels = np.asarray(given)
    if labels.shape != (n,):
        raise DataError(
            f"target[{which}] must hold one class for each of {n} rows; its shape is "
            f"{labels.shape}."
        )
    return cell_texts(Column("target", labels))


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
