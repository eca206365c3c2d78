"""Tables with classes: split, and as numbers for classifiers and samplers that know only those."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from mgvae.codec import (
    LEVELS,
    NUMBERS,
    Column,
    KindName,
    TableCodec,
    cell_numbers,
    cell_texts,
    read_table,
)

__all__ = [
    "IndicatorEncoder",
    "LabelledTable",
    "NumericEncoder",
    "smallest_class",
    "stratified_folds",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class LabelledTable:
    """Rows with their classes.

    Parameters
    ----------
    X : array or table
        The rows.
    y : ndarray of int
        Their classes, numbered.
    groups : ndarray of int or None
        Rows of one group are never on both sides of a split.
    column_types : mapping or None
        Kinds of columns that are not what their values suggest.

    Examples
    --------
    >>> table = LabelledTable(np.arange(12).reshape(6, 2), np.array([0, 0, 0, 0, 1, 1]))
    >>> train, test = table.split(folds=2, seed=0, repeat=0, fold=1)
    >>> table.y[test].tolist()
    [0, 0, 1]
    """

    X: Any
    y: Codes
    groups: Codes | None = None
    column_types: Mapping[Any, KindName] | None = None

    def split(self, folds: int, seed: int, repeat: int, fold: int) -> tuple[Positions, Positions]:
        """Return the training and test rows of one split."""
        state = int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])
        splits = stratified_folds(folds, self.groups, state).split(self.y, self.y, self.groups)
        train, test = list(splits)[fold]
        return train, test


def smallest_class(y: Codes) -> int:
    """Return the smallest class, the last of several.

    Examples
    --------
    >>> smallest_class(np.array([0, 0, 1, 2]))
    2
    """
    counts = np.bincount(y)
    return int(np.flatnonzero(counts == counts.min())[-1])


def stratified_folds(folds: int, groups: Codes | None, seed: int) -> Any:
    """Return scikit-learn's splitter into stratified folds, which keeps groups together."""
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(folds, shuffle=True, random_state=seed)


class NumericEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Numbers standardised, missing ones as the median; categories as codes.

    Whatever it knows, it knows from the rows it was fitted on.

    Parameters
    ----------
    column_types : mapping of column to str, optional
        Kinds of columns that are not what their values suggest.

    Examples
    --------
    >>> encoder = NumericEncoder().fit([[1.5, "a"], [2.5, "b"], [3.5, "a"], [2.5, "a"]])
    >>> encoder.transform([[2.5, "b"], [None, "c"]])
    array([[ 0.,  1.],
           [ 0., -1.]])
    """

    def __init__(self, column_types: Mapping[Any, KindName] | None = None) -> None:
        self.column_types = column_types

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's contract)
        """Learn medians, scales and levels."""
        table = read_table(X)
        kinds = [s.kind for s in TableCodec(self.column_types).fit(table).describe()]
        self.places_ = [i for i, kind in enumerate(kinds) if kind in NUMBERS + LEVELS]
        self.categorical_ = np.array([kinds[i] in LEVELS for i in self.places_], dtype=bool)
        self.facts_: list[Any] = []
        for i, is_level in zip(self.places_, self.categorical_, strict=True):
            column = table.columns[i]
            if is_level:
                levels = np.unique(cell_texts(column))
                self.facts_.append({level: code for code, level in enumerate(levels)})
            else:
                values = cell_numbers(column)
                self.facts_.append((np.median(values), values.mean(), values.std() or 1.0))
        return self

    def transform(self, X: Any) -> Floats:
        """Return the rows as numbers; a level never seen is -1."""
        columns = read_table(X).columns
        out = np.empty((len(columns[0].values), len(self.places_)))
        for j, (i, facts) in enumerate(zip(self.places_, self.facts_, strict=True)):
            out[:, j] = _coded(columns[i], facts)
        return out


class IndicatorEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Codes of categories as indicators, other columns as they are.

    Parameters
    ----------
    categorical : ndarray of bool
        Which columns hold codes.

    Examples
    --------
    >>> IndicatorEncoder([False, True]).fit_transform(np.array([[0.5, 0], [0.7, 2]]))
    array([[0.5, 1. , 0. ],
           [0.7, 0. , 1. ]])
    """

    def __init__(self, categorical: Any) -> None:
        self.categorical = categorical

    def fit(self, X: Floats, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's contract)
        """Learn the codes."""
        places = np.flatnonzero(self.categorical)
        self.codes_ = {int(place): np.unique(np.rint(X[:, place])) for place in places}
        return self

    def transform(self, X: Floats) -> Floats:
        """Return the columns side by side."""
        parts = [
            np.rint(X[:, [j]]) == self.codes_[j] if j in self.codes_ else X[:, [j]]
            for j in range(X.shape[1])
        ]
        return np.concatenate(parts, axis=1).astype(np.float64)


def _coded(column: Column, facts: Any) -> Floats:
    if isinstance(facts, dict):
        return np.array([facts.get(text, -1) for text in cell_texts(column)], np.float64)
    median, mean, scale = facts
    out = np.full(len(column.values), median, np.float64)
    present = slice(None) if column.missing is None else ~column.missing
    if column.missing is None or not column.missing.all():
        out[present] = cell_numbers(column)
    scaled: Floats = (out - mean) / scale
    return scaled
