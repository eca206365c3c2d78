"""Rows of any container: some of them, or those of several below each other."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from narwhals import dependencies as of
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["is_mixed", "put_below", "take_rows"]


def take_rows(X: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of any container.

    Examples
    --------
    >>> take_rows([[1, "a"], [2, "b"], [3, "c"]], np.array([2, 0]))
    [[3, 'c'], [1, 'a']]
    """
    if of.is_pyarrow_table(X):
        return X.take(rows)
    if isinstance(X, list):
        return [X[row] for row in rows.tolist()]
    if of.is_into_dataframe(X) or of.is_into_series(X):
        return nw.from_native(X, eager_only=True, allow_series=True)[rows].to_native()
    return X[rows]


def put_below(parts: Sequence[Any]) -> Any:
    """Put rows of one kind of container below each other.

    Examples
    --------
    >>> put_below([[[1, "a"]], [[2, "b"]]])
    [[1, 'a'], [2, 'b']]
    """
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    if of.is_into_dataframe(parts[0]):
        return nw.concat([nw.from_native(part) for part in parts]).to_native()
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format=parts[0].format)
    return np.concatenate(parts)


def is_mixed(X: Any) -> bool:
    """Return whether X is a data frame with columns that are neither numbers nor flags.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_mixed(pa.table({"a": [1, 2]})), is_mixed(pa.table({"a": ["x", "y"]}))
    (False, True)
    """
    if not of.is_into_dataframe(X):
        return False
    kinds = nw.from_native(X).schema.values()
    return not all(kind.is_numeric() or kind == nw.Boolean for kind in kinds)
