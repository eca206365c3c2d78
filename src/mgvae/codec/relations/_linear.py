"""Columns that are sums, differences or (scaled) copies of others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mgvae.codec.relations._block import Block, Tokens

__all__ = ["TOLERANCE", "Linear"]

TOLERANCE = 1e-6  # of a column's range


@dataclass(frozen=True)
class Linear:
    """A number that is computed from others, wherever all of them are present.

    Parameters
    ----------
    target : int
        The column that is computed.
    terms : tuple of (int, float)
        Columns and their factors.
    constant : float
        What is added.
    """

    target: int
    terms: tuple[tuple[int, float], ...]
    constant: float = 0.0
    declared: bool = False

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns."""
        return (self.target, *(j for j, _ in self.terms))

    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Return in which rows the sum is another, by more than a millionth of the range."""
        low, high = block.span(self.target)
        off = np.abs(block.tokens(self.target) - self._sum(block))
        return off > TOLERANCE * (high - low)  # which no NaN is

    def repair(self, block: Block, _rng: np.random.Generator) -> None:
        """Compute the column; where that leaves its range, the terms move as little as needed."""
        low, high = block.span(self.target)
        for j, factor in self.terms:
            wanted = self._sum(block)
            off = np.clip(wanted, low, high) - wanted
            rows = np.flatnonzero(np.abs(off) > 0)
            if not rows.size:
                break
            least, most = block.span(j)
            tokens = block.tokens(j)[rows]
            step, way = block.step(j, tokens), off[rows] / factor
            steps = np.minimum(np.abs(way) / step, 2.0**53)  # more of them are no matter
            rounded = np.sign(way) * np.ceil(steps - 1e-6) * step
            enough = np.where(steps < 2.0**53, rounded, way)
            block.put(j, rows, np.clip(tokens + enough, least, most))
        rows = np.flatnonzero(self.broken(block))
        block.put(self.target, rows, np.clip(self._sum(block)[rows], low, high))

    def text(self, names: Sequence[str]) -> str:
        """Return the relation as people read it."""
        parts = []
        for j, factor in self.terms:
            size = "" if abs(factor) == 1 else f"{abs(factor):.6g} * "
            parts.append(f"{'-' if factor < 0 else '+'} {size}{names[j]}")
        if self.constant:
            parts.append(f"{'-' if self.constant < 0 else '+'} {abs(self.constant):.6g}")
        return f"{names[self.target]} = {' '.join(parts).removeprefix('+ ')}"

    def _sum(self, block: Block) -> Tokens:
        total = np.full(len(block), self.constant)
        for j, factor in self.terms:
            total += factor * block.tokens(j)
        return total
