"""The class of each row, as users give it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from imblearn.utils import check_target_type
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets

from mgvae.common.shown import refuse_long
from mgvae.errors import DataError

__all__ = [
    "check_labels",
    "count_missing",
    "read_target",
    "refuse_long_labels",
    "refuse_missing",
]


def read_target(y: Any, name: str, *, declared: bool = False) -> tuple[NDArray[Any], int]:
    """Return y as a 1-D array of labels, and as how many columns it came, if one per class.

    Labels of such columns are their positions. What is declared to be classes need not look so.
    """
    if y is None:
        raise DataError(f"{name} requires y to be passed, but the target y is None.")
    if issparse(y):
        raise DataError("y is a sparse matrix. Give it as an array: y.toarray().")
    if not isinstance(y, np.ndarray | list) and hasattr(y, "to_numpy"):
        y = np.asarray(y) if type(y).__module__ == "pyarrow.lib" else y.to_numpy()
    if not np.size(y):
        raise DataError("y holds no label.")
    check_labels(y)
    if not declared:
        check_classification_targets(y)
    columns = 0
    if isinstance(y, list) and np.ndim(y) == 2:
        y = np.asarray(y)
    labels, one_vs_all = check_target_type(y, indicate_one_vs_all=True)
    labels = np.asarray(labels)
    if one_vs_all:
        columns = np.shape(y)[1]
        nowhere = int((np.asarray(y).sum(1) == 0).sum())
        if nowhere:
            raise DataError(
                f"y has a column for each class, and {nowhere} rows are of none. Drop these rows, "
                "or give them a class of their own."
            )
    if len(np.unique(labels)) < 2:
        raise DataError(
            f"y holds one class only ({labels[0]!r}), and the target needs to have more than 1 "
            "class to be balanced. Check that y is the right column."
        )
    return labels, columns


def refuse_missing(n: int) -> None:
    """Raise if some rows have no class."""
    if n:
        raise DataError(
            f"y has {n} missing labels, and a row without a class cannot be used. "
            "Drop these rows, or give them a class of their own."
        )


def refuse_long_labels(y: Any) -> None:
    """Raise if classes are whole numbers that do not fit into 64 bits.

    Examples
    --------
    >>> refuse_long_labels([1, 10**5000])
    Traceback (most recent call last):
    mgvae.errors.DataError: y holds a whole number of about 5,001 digits, which does not fit into
    64 bits. Write the classes as text.
    """
    labels = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if labels.dtype == object:
        values = labels.ravel().tolist()
        refuse_long(values, DataError, "y holds", "Write the classes as text.")


def check_labels(y: Any) -> None:
    """Raise if labels are missing, too long, or texts among others that are not."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "biu":  # these cannot be wrong
        return
    refuse_long_labels(y)
    values = np.asarray(y, dtype=object).ravel().tolist()
    refuse_missing(count_missing(values))
    kinds = {type(value).__name__ for value in values}
    if "str" in kinds and len(kinds) > 1:
        raise DataError(f"y mixes labels of the types {sorted(kinds)}. Use one type.")


def count_missing(values: Iterable[Any]) -> int:
    """Count what is None, NaN, NaT or NA.

    Examples
    --------
    >>> count_missing(["a", None, float("nan"), 0])
    2
    """
    return sum(
        value is None or type(value).__name__ == "NAType" or bool(value != value)
        for value in values
    )
