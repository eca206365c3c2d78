"""The class of every row, from batches of the target."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mgvae.errors import DataError
from mgvae.samplers import read_target, refuse_missing

__all__ = ["LabelReader"]

_MOST = 65_536  # different values in a column of classes


class LabelReader:
    """Counts the classes and keeps one small number per row.

    Parameters
    ----------
    name : str
        The column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> labels = LabelReader("y")
    >>> for part in (["no", "no"], ["yes", "no"]):
    ...     labels.observe(pa.array(part))
    >>> labels.finish()
    (array(['no', 'yes'], dtype=object), array([0, 0, 1, 0], dtype=uint8))
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.missing = 0
        self.type: pa.DataType | None = None
        self._codes: dict[Any, int] = {}
        self._rows: list[NDArray[np.int32]] = []

    def observe(self, column: pa.Array) -> None:
        """Take the next cells."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        self.type = column.type
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        self.missing += column.null_count
        if column.null_count:
            return  # it will be refused, when all of it is counted
        coded = column.dictionary_encode()
        found = [self._codes.setdefault(v, len(self._codes)) for v in coded.dictionary.to_pylist()]
        if len(self._codes) > _MOST:
            raise DataError(
                f"column {self.name!r} holds more than {_MOST} different values. Is it a "
                "regression? Over-sampling needs classes."
            )
        self._rows.append(np.array(found, np.int32)[coded.indices.to_numpy()])

    def finish(self, *, declared: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the labels, sorted, and the class of every row as a position among them.

        What is declared to be classes need not look so.
        """
        refuse_missing(self.missing)
        values = pa.chunked_array([pa.array(list(self._codes), self.type)])
        # three rows of each: with one, they would not look like classes
        labels, _ = read_target(pa.chunked_array(values.chunks * 3), self.name, declared=declared)
        classes, place = np.unique(labels[: len(values)], return_inverse=True)
        place = place.astype(np.min_scalar_type(len(classes)))
        return classes, np.concatenate([place[codes] for codes in self._rows])
