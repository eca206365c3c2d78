"""Find out which container an object is, and call what reads and builds it."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from narwhals import dependencies as of
from numpy.typing import NDArray

from mgvae.codec._columns import Column, Table
from mgvae.codec.containers import _arrays
from mgvae.codec.containers._frames import read_frame
from mgvae.errors import DataError

__all__ = ["append_labels", "append_rows", "only_labels", "only_rows", "read_table"]


def read_table(X: Any) -> Table:
    """Return any table as columns.

    Parameters
    ----------
    X : array-like, pandas or polars DataFrame, or pyarrow Table
        Rows and columns; numpy arrays are not copied.

    Returns
    -------
    table : Table
        The columns in a form that no longer depends on the container.

    Raises
    ------
    mgvae.errors.DataError
        If X is not a table of at least one row and column, or holds what a table cannot: infinite
        numbers, sparse matrices, several types in one column.

    Examples
    --------
    >>> from mgvae.codec import read_table
    >>> table = read_table([[1, "a"], [2, None]])
    >>> [(c.dtype, c.missing) for c in table.columns]
    [('object[int]', None), ('object[str]', array([False,  True]))]
    """
    if type(X).__module__.startswith("scipy.sparse"):
        raise DataError(
            "X is a sparse matrix, which the codec does not take: a row-wise model needs dense "
            "rows. Pass X.toarray()."
        )
    if of.is_polars_lazyframe(X):
        raise DataError("X is a polars LazyFrame. Pass X.collect().")
    if _is_series(X):
        raise DataError(
            "Expected 2D array, got 1D array instead: X is a single column. Reshape your data, for "
            "example with X.to_frame()."
        )
    if of.is_pandas_dataframe(X) or of.is_polars_dataframe(X) or of.is_pyarrow_table(X):
        names = list(X.column_names if of.is_pyarrow_table(X) else X.columns)
        _refuse_empty(len(X), len(names))
        return read_frame(X, names)
    array = _arrays.as_array(X)
    if array.ndim == 2:
        _refuse_empty(*array.shape)
    return _arrays.read_array(array)


def append_rows(X: Any, columns: Sequence[Column]) -> Any:
    """Append new rows to X, whose own rows stay as they are.

    Parameters
    ----------
    X : array-like, pandas or polars DataFrame, or pyarrow Table
        What :func:`read_table` was given.
    columns : sequence of Column
        The new rows' cells.

    Returns
    -------
    X_new : same type as X
        The rows of X with their values, types, index and attributes, then the new rows. A pandas
        index is continued by new labels: numbers count on, dates advance by seconds,
        text gets ``synthetic-0``, ``synthetic-1``, ...

    Examples
    --------
    >>> from mgvae.codec import append_rows, read_table
    >>> X = [[1, "a"], [2, "b"]]
    >>> append_rows(X, read_table(X).columns)
    [[1, 'a'], [2, 'b'], [1, 'a'], [2, 'b']]
    """
    builder = _builder(X)
    if builder is not None:
        return builder.append_rows(X, columns)
    new = only_rows(X, columns)
    if isinstance(X, list):
        return [*X, *new]
    return np.concatenate([_arrays.as_array(X), new])


def only_rows(X: Any, columns: Sequence[Column]) -> Any:
    """Return new rows alone, in the container and types of X, which may have no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mgvae.codec import Column, only_rows
    >>> only_rows(np.zeros((5, 2), np.int8), [Column(0, np.array([7])), Column(1, np.array([8]))])
    array([[7, 8]], dtype=int8)
    """
    builder = _builder(X)
    if builder is not None:
        return builder.build_rows(X, columns)
    dtype = np.dtype(object) if isinstance(X, list) else _arrays.as_array(X).dtype
    new = _arrays.build_array(columns, dtype)
    return new.tolist() if isinstance(X, list) else new


def append_labels(y: Any, labels: NDArray[Any], X: Any = None) -> Any:
    """Append the class labels of new rows to y.

    Parameters
    ----------
    y : array-like, pandas Series or DataFrame of one column, polars Series, pyarrow array
        The class labels of the rows that the user gave.
    labels : ndarray
        Values of y, one for each new row; rows of y if it has several columns.
    X : optional
        The rows that the result belongs to, as :func:`append_rows` returned them. If both are of
        pandas, the result has its index.

    Returns
    -------
    y_new : same type as y
        With y's name and dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from mgvae.codec import append_labels
    >>> append_labels(np.array(["no", "yes"]), np.array(["yes"], dtype=object))
    array(['no', 'yes', 'yes'], dtype='<U3')
    """
    builder = _builder(y)
    if builder is not None:
        return builder.append_labels(y, labels, X.index if of.is_pandas_dataframe(X) else None)
    new = only_labels(y, labels)
    if isinstance(y, list):
        return [*y, *new]
    return np.concatenate([np.asarray(y), new])


def only_labels(y: Any, labels: NDArray[Any]) -> Any:
    """Return the class labels of new rows alone, in the container and type of y.

    Examples
    --------
    >>> import numpy as np
    >>> from mgvae.codec import only_labels
    >>> only_labels([0, 1, 0], np.array([1, 1]))
    [1, 1]
    """
    labels = np.asarray(labels)
    builder = _builder(y)
    if builder is not None:
        return builder.build_labels(y, labels)
    if isinstance(y, list):
        return labels.tolist()
    array = np.asarray(y)
    return labels.astype(array.dtype).reshape(-1, *array.shape[1:])


def _builder(X: Any) -> ModuleType | None:
    """Return the module that builds the container of X, or None for arrays and lists.

    The modules of pandas, polars and pyarrow are imported here only, and only for a user who has
    imported that package already.
    """
    if of.is_pandas_dataframe(X) or of.is_pandas_series(X):
        from mgvae.codec.containers import _pandas

        return _pandas
    if of.is_polars_dataframe(X) or of.is_polars_series(X):
        from mgvae.codec.containers import _polars

        return _polars
    if of.is_pyarrow_table(X) or _is_arrow_array(X):
        from mgvae.codec.containers import _arrow

        return _arrow
    return None


def _is_series(X: Any) -> bool:
    return of.is_pandas_series(X) or of.is_polars_series(X) or of.is_pyarrow_chunked_array(X)


def _is_arrow_array(y: Any) -> bool:
    return type(y).__module__ == "pyarrow.lib" and not of.is_pyarrow_table(y)


def _refuse_empty(n_rows: int, n_columns: int) -> None:
    shape = f"(shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
    if n_rows == 0:
        raise DataError(f"Found array with 0 sample(s) {shape}")
    if n_columns == 0:
        raise DataError(f"Found array with 0 feature(s) {shape}")
