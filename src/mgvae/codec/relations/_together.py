"""Values that occur in the same rows: a cell is missing, or zero, exactly when another is.

A state of a column is one token: a level, a frequent number, or missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._levels import Levels, as_cells
from mgvae.codec.relations._block import Block

__all__ = ["State", "Together", "Whenever", "is_in"]

State = tuple[int, float]


@dataclass(frozen=True)
class Together:
    """States of columns, such as ``pdays = -1``, that a row has all of or none.

    A new row that has some of them gets all if most have it (with as many for as against, if the
    first has it), and none otherwise.

    Parameters
    ----------
    states : tuple of (int, float)
        Columns and tokens.
    """

    states: tuple[State, ...]
    declared: bool = False

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns."""
        return tuple(j for j, _ in self.states)

    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Return which rows have some of the states, but not all."""
        has = self._has(block)
        some = np.asarray(has.any(axis=1))
        return some & ~has.all(axis=1)

    def repair(self, block: Block, rng: np.random.Generator) -> None:
        """Give a row all of the states or none."""
        rows = np.flatnonzero(self.broken(block))
        if not rows.size:
            return
        has = self._has(block)[rows]
        votes = 2 * has.sum(axis=1) - has.shape[1]
        every = (votes > 0) | ((votes == 0) & has[:, 0])
        for i, (j, token) in enumerate(self.states):
            gets = rows[every & ~has[:, i]]
            block.put(j, gets, np.full(len(gets), token))
            loses = rows[~every & has[:, i]]
            block.put(j, loses, block.another(j, len(loses), token, rng))

    def text(self, names: Sequence[str], block: Block) -> str:
        """Return the relation as people read it."""
        return " exactly when ".join(_text(block, names, *state) for state in self.states)

    def _has(self, block: Block) -> NDArray[np.bool_]:
        return np.column_stack([is_in(block, *state) for state in self.states])


@dataclass(frozen=True)
class Whenever:
    """A state of a column that a row has whenever it has a state of another.

    Parameters
    ----------
    given, then : (int, float)
        Columns and tokens.
    """

    given: State
    then: State
    declared: bool = False

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns."""
        return (self.given[0], self.then[0])

    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Return which rows have the one state without the other."""
        return is_in(block, *self.given) & ~is_in(block, *self.then)

    def repair(self, block: Block, _rng: np.random.Generator) -> None:
        """Give the rows the other state too."""
        rows = np.flatnonzero(self.broken(block))
        block.put(self.then[0], rows, np.full(len(rows), self.then[1]))

    def text(self, names: Sequence[str], block: Block) -> str:
        """Return the relation as people read it."""
        return f"{_text(block, names, *self.then)} whenever {_text(block, names, *self.given)}"


def is_in(block: Block, j: int, token: float) -> NDArray[np.bool_]:
    """Return which rows have a state."""
    tokens = block.tokens(j)
    return np.isnan(tokens) if np.isnan(token) else tokens == token


def _text(block: Block, names: Sequence[str], j: int, token: float) -> str:
    if np.isnan(token):
        return f"{names[j]} is missing"
    kind = block.columns[j].kind
    if isinstance(kind, Levels):
        level = kind.levels[int(token)]
        cell = level if kind.coded else as_cells((level,), kind.dtype)[0]
        return f"{names[j]} = {cell!s:.40}"
    return f"{names[j]} = {token:g}"
