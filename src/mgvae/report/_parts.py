"""The three samples of a class, cut to the size that figures are worked out for."""

from dataclasses import dataclass

import numpy as np

from mgvae.report._data import Rows, sample

__all__ = ["ENOUGH_TO_CROSS", "MOST", "TOO_FEW", "Parts"]

MOST = 2000
"""Most rows of each kind that distances are worked out for."""

ENOUGH_TO_CROSS = 10
"""Rows below which a class cannot be judged by cross-validation."""

TOO_FEW = "There are too few real rows of this class to compare distances with."

_SEARCHED = 10_000  # most real rows among which the nearest is looked for


@dataclass(frozen=True)
class Parts:
    """The rows of one class, cut to size.

    Parameters
    ----------
    learned : Rows
        Real rows that the sampler learned from.
    held_out : Rows or None
        Real rows that it never saw.
    new : Rows
        The rows that it made of the first.
    majority : Rows
        Rows of the largest class.
    """

    learned: Rows
    held_out: Rows | None
    new: Rows
    majority: Rows

    @property
    def unseen(self) -> Rows:
        """The real rows that new ones are compared with: those held out, if there are any."""
        return self.learned if self.held_out is None else self.held_out

    @classmethod
    def cut(
        cls,
        learned: Rows,
        held_out: Rows | None,
        new: Rows,
        majority: Rows,
        rng: np.random.Generator,
    ) -> "Parts":
        """Draw as many rows of each as are looked at."""

        def few(rows: Rows, most: int) -> Rows:
            return rows.at(sample(np.arange(len(rows)), most, rng))

        return cls(
            few(learned, _SEARCHED),
            None if held_out is None else few(held_out, _SEARCHED),
            few(new, MOST),
            few(majority, MOST),
        )

    def even(self, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Draw as many real rows, unseen ones if there are any, as new ones."""
        n = min(len(self.unseen), len(self.new), MOST)
        return (
            self.unseen.at(sample(np.arange(len(self.unseen)), n, rng)),
            self.new.at(sample(np.arange(len(self.new)), n, rng)),
        )
