"""What a fitted sampler is: all that it needs to make more rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    ewc_weights : mapping of str to float
        The penalty's weight that each class was learned with, where there is one.
    spellings : mapping of str to mapping
        How the file that the rows came from writes the cells of a column, as plain data: see
        :meth:`mgvae.files.Spelling.to_plain`. Columns that are not named are written plainly.
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
    ewc_weights: Mapping[str, float] = field(default_factory=dict)
    spellings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

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
