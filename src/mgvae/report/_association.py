"""The strength of association of columns: one number per pair, from 0 (none) to 1.

Two numbers: Spearman's rank correlation, with its sign. A number and a category: the correlation
ratio of the number's ranks. Two categories: Cramér's V.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from mgvae.codec import LEVELS, NUMBERS, Column, cell_numbers, cell_texts
from mgvae.report._data import sample

__all__ = ["Links", "association", "associations"]

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

Links = tuple[Positions, Floats, Floats]
"""Which columns, and their associations among real and among new rows."""

_PAIRED = 150  # most columns whose associations are looked at


def associations(
    real: Sequence[Column],
    new: Sequence[Column],
    kinds: Sequence[str],
    rng: np.random.Generator,
) -> Links:
    """Compute the associations of columns among real and among new rows.

    Returns
    -------
    used : ndarray of int
        Which columns; of many, some are drawn.
    real, new : ndarray of shape (n_used, n_used)
        The matrices of associations.
    """
    modelled = np.array([i for i, kind in enumerate(kinds) if kind in NUMBERS + LEVELS], np.int64)
    used = sample(modelled, _PAIRED, rng)
    a, b = (
        association([columns[i] for i in used], [kinds[i] for i in used]) for columns in (real, new)
    )
    return used, a, b


def association(columns: Sequence[Column], kinds: Sequence[str]) -> Floats:
    """Compute the matrix of associations; a column that does not vary has none.

    Parameters
    ----------
    columns : sequence of Column
        The columns of one set of rows.
    kinds : sequence of str
        What they are.

    Returns
    -------
    matrix : ndarray of shape (n_columns, n_columns)
        Symmetric, with a diagonal of ones.

    Examples
    --------
    >>> a, b = Column("a", np.array([1, 2, 3, 4])), Column("b", np.array(["x", "x", "y", "y"]))
    >>> association([a, b], ["integer", "categorical"]).round(2)
    array([[1.  , 0.89],
           [0.89, 1.  ]])
    """
    forms = [
        _ranks(column) if kind in NUMBERS else _levels(column)
        for column, kind in zip(columns, kinds, strict=True)
    ]
    matrix = np.eye(len(forms))
    for i, first in enumerate(forms):
        for j, second in enumerate(forms[:i]):
            matrix[i, j] = matrix[j, i] = _pair(first, second)
    return matrix


def _pair(first: NDArray[Any], second: NDArray[Any]) -> float:
    if first.dtype.kind == "f" and second.dtype.kind == "f":
        return float(np.mean(first * second))
    if first.dtype.kind == "f":
        first, second = second, first
    if second.dtype.kind == "f":
        counts = np.bincount(first)
        means = np.bincount(first, second) / np.maximum(counts, 1)
        return float(np.sqrt(min(1.0, float(counts @ means**2) / len(first))))
    a, b = int(first.max()) + 1, int(second.max()) + 1
    if min(a, b) < 2:
        return 0.0
    joint = np.bincount(first * b + second, minlength=a * b).reshape(a, b) / len(first)
    expected = np.outer(joint.sum(1), joint.sum(0))
    return float(np.sqrt(min(1.0, np.sum((joint - expected) ** 2 / expected) / (min(a, b) - 1))))


def _ranks(column: Column) -> Floats:
    """Return ranks of mean 0 and variance 1, with 0 where a cell is missing."""
    ranks = stats.rankdata(cell_numbers(column))
    out = np.zeros(len(column.values))
    if len(ranks) and ranks.min() < ranks.max():
        present = np.ones(len(out), bool) if column.missing is None else ~column.missing
        out[present] = ranks - ranks.mean()
        out /= out.std()
    return out


def _levels(column: Column) -> NDArray[np.int64]:
    return np.unique(cell_texts(column), return_inverse=True)[1].astype(np.int64)
