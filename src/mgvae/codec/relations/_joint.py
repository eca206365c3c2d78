"""Columns of which only few combinations occur, such as a month and the rates of that month."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._kinds import Numeric
from mgvae.codec.relations._block import Block, Tokens

__all__ = ["MOST_CELLS", "MOST_COMBINATIONS", "Joint", "combinations", "mix"]

MOST_COMBINATIONS = 65_536  # that a relation holds,
MOST_CELLS = 2**20  # and cells in them
_COMPARED = 2048  # combinations among which the nearest is looked for
_MATRIX = 2**22  # distances that are in memory at once
_OTHER_LEVEL, _ONLY_ONE_MISSING = 2.0, 1.0  # squared distances of codes, as the network sees them


@dataclass(frozen=True, eq=False)
class Joint:
    """Columns whose cells form one of the combinations seen.

    A new row with another combination gets the nearest in the codec's space. If one column
    determines all others and has many values, it keeps its cell, and the others follow.

    Parameters
    ----------
    columns : tuple of int
        The columns.
    combinations : ndarray of shape (n_combinations, n_columns)
        Their tokens, sorted.
    declared : bool
        Whether the user asked for it.
    """

    columns: tuple[int, ...]
    combinations: Tokens
    declared: bool = False

    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Return which rows have a combination that was never seen."""
        found = mix(np.column_stack([block.tokens(j) for j in self.columns]))
        places = np.minimum(np.searchsorted(self._mixed, found), len(self._mixed) - 1)
        broken: NDArray[np.bool_] = self._mixed[places] != found
        return broken

    def repair(self, block: Block, _rng: np.random.Generator) -> None:
        """Replace combinations that were never seen."""
        rows = np.flatnonzero(self.broken(block))
        if not rows.size:
            return
        tokens = np.column_stack([block.tokens(j)[rows] for j in self.columns])
        key = self.keys[0] if self.keys and len(self.combinations) > _COMPARED else None
        if key is None:
            chosen = self._nearest(block, tokens)
        else:
            values = self.combinations[:, key]
            order = np.argsort(values, kind="stable")
            chosen = order[_nearest_number(values[order], tokens[:, key])]
        for i, j in enumerate(self.columns):
            block.put(j, rows, self.combinations[chosen, i])

    @cached_property
    def keys(self) -> list[int]:
        """The columns that determine all others, as positions among the columns."""
        n = len(self.combinations)
        return [i for i in range(len(self.columns)) if len(np.unique(self.combinations[:, i])) == n]

    def text(self, names: Sequence[str]) -> str:
        """Return the relation as people read it."""
        called = [names[j] for j in self.columns]
        n = len(self.combinations)
        if not self.keys:
            return f"({', '.join(called)}): {n} combinations"
        if len(self.keys) == len(called):
            return f"{' <-> '.join(called)}: {n} combinations"
        keys = " <-> ".join(called[i] for i in self.keys)
        others = ", ".join(name for i, name in enumerate(called) if i not in self.keys)
        return f"{keys} -> {others}: {n} combinations"

    @cached_property
    def _mixed(self) -> NDArray[np.uint64]:
        return np.sort(mix(self.combinations))

    def _nearest(self, block: Block, tokens: Tokens) -> NDArray[np.intp]:
        size = max(1, _MATRIX // len(self.combinations))
        chosen = np.empty(len(tokens), np.intp)
        for start in range(0, len(tokens), size):
            part = tokens[start : start + size]
            apart = np.zeros((len(part), len(self.combinations)))
            for i, j in enumerate(self.columns):
                apart += _apart(block, j, part[:, i], self.combinations[:, i])
            chosen[start : start + size] = apart.argmin(axis=1)
        return chosen


def combinations(tokens: Tokens) -> Tokens:
    """Return the distinct rows of tokens, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> combinations(np.array([[2.0, np.nan], [1.0, 0.0], [2.0, np.nan]]))
    array([[ 1.,  0.],
           [ 2., nan]])
    """
    first = np.unique(mix(tokens), return_index=True)[1]
    distinct = tokens[first]
    return distinct[np.lexsort(distinct.T[::-1])]


def mix(tokens: Tokens) -> NDArray[np.uint64]:
    """Return one number of 64 bits for each row of tokens, by which rows can be told apart."""
    mixed = np.zeros(len(tokens), np.uint64)
    for column in np.where(np.isnan(tokens), np.nan, tokens + 0.0).T:  # one NaN, one zero
        mixed ^= np.ascontiguousarray(column).view(np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        mixed += np.uint64(0x9E3779B97F4A7C15)
    return mixed


def _apart(block: Block, j: int, tokens: Tokens, others: Tokens) -> Tokens:
    """Return squared distances of codes between cells of a column."""
    gone, absent = np.isnan(tokens)[:, None], np.isnan(others)[None]
    kind = block.columns[j].kind
    if isinstance(kind, Numeric):
        codes, targets = (
            kind.scale.forward(np.nan_to_num(t) - block.offset(j)) for t in (tokens, others)
        )
        apart = (codes[:, None] - targets[None]) ** 2
        return np.where(gone | absent, np.where(gone & absent, 0.0, _ONLY_ONE_MISSING), apart)
    same = (tokens[:, None] == others[None]) | (gone & absent)
    return np.where(same, 0.0, _OTHER_LEVEL)


def _nearest_number(values: Tokens, wanted: Tokens) -> NDArray[np.intp]:
    """Return for each wanted number the place of the nearest; values are sorted, NaN is last."""
    numbers = values[~np.isnan(values)]
    places = np.searchsorted(numbers, wanted).clip(0, max(len(numbers) - 1, 0))
    if len(numbers):
        before = np.maximum(places - 1, 0)
        nearer = np.abs(wanted - numbers[before]) < np.abs(numbers[places] - wanted)
        places = np.where(nearer, before, places)
    if len(numbers) < len(values):
        places = np.where(np.isnan(wanted), len(numbers), places)
    return places
