"""What a fitted sampler is: all that it needs to make more rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec.samples import Samples
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

    @property
    def n_resampled(self) -> int:
        """New rows that resampling makes."""
        return sum(self.new_rows.values())

    def decode(self, encoded: NDArray[Any], seeds: np.random.SeedSequence, first: int = 0) -> Any:
        """Return encoded rows as samples; ``first`` were made before."""
        return self.samples.decode(encoded, np.random.default_rng(seeds.spawn(1)[0]), first)
