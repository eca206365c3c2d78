"""What a fitted sampler is: all that it needs to make more rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec.samples import Samples
from mgvae.errors import ParameterError, Setting
from mgvae.methods.method import DataLayout, Method, RowGenerator

__all__ = ["FittedState"]


@dataclass
class FittedState:
    """The outcome of a fit.

    Attributes
    ----------
    samples : Samples
        The kind of samples, with its fitted codec.
    template : object
        The user's container without rows.
    layout : DataLayout
        What the models know of the data.
    classes : ndarray
        The labels, sorted.
    counts : list of int
        Rows that each class had.
    new_rows : dict
        Rows that were asked for, by label.
    method : Method
        What has learned.
    generators : dict of int to RowGenerator
        What makes rows, by class code.
    later : numpy.random.SeedSequence
        The root of rows that are asked for later.
    n_later : int
        How many were asked for so far.
    predicates : sequence of callable
        What new rows shall be, besides the codec's relations: from rows in the user's container to
        an array of booleans. A model file does not hold them.
    """

    samples: Samples
    template: Any
    layout: DataLayout
    classes: NDArray[Any]
    counts: list[int]
    new_rows: dict[Any, int]
    method: Method
    generators: dict[int, RowGenerator]
    later: np.random.SeedSequence
    n_later: int = 0
    predicates: Sequence[Callable[[Any], Any]] = ()

    @property
    def n_resampled(self) -> int:
        """New rows that resampling makes."""
        return sum(self.new_rows.values())

    def decode(self, encoded: NDArray[Any], seeds: np.random.SeedSequence, first: int = 0) -> Any:
        """Return encoded rows as samples; ``first`` were made before."""
        return self.samples.decode(encoded, np.random.default_rng(seeds.spawn(1)[0]), first)

    def broken(self, rows: Any) -> NDArray[np.bool_] | None:
        """Return which decoded rows are not what new rows shall be; None if they may be any."""
        broken = self.samples.broken(rows)
        for predicate in self.predicates:
            kept = np.asarray(predicate(self.samples.only(self.template, rows)))
            n = len(rows[0].values)
            if kept.shape != (n,) or kept.dtype.kind not in "b":
                raise ParameterError(
                    Setting("constraints"),
                    f" holds a function that returned {type(kept).__name__} of shape {kept.shape} "
                    f"and type {kept.dtype} for {n} rows. It must return one boolean for each row.",
                )
            broken = ~kept if broken is None else broken | ~kept
        return broken
