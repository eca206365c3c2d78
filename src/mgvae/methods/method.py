"""What a method is: it learns from encoded rows, and gives one generator of rows per class.

The faces in :mod:`mgvae.samplers` know the user's data; a method knows rows of numbers only. It is
made of its settings, which are complete: no value is ``"auto"`` any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import Tensor, nn

from mgvae.codec import Span
from mgvae.common.rows import EncodedRows, Positions
from mgvae.errors import DataError
from mgvae.training import Callback, History
from mgvae.training.checkpoints import Checkpoint, StageFile
from mgvae.training.team import Team

__all__ = [
    "SMALLER",
    "DataLayout",
    "Job",
    "Learned",
    "Made",
    "Method",
    "NoRows",
    "RowGenerator",
    "Side",
    "Unvaried",
    "Workers",
    "kept_of",
]

SMALLER = (
    "Lower batch_size, n_exemplars or the size of the networks (hidden_sizes), or "
    "train fewer classes at once (n_jobs)."
)
"""What a user can do when there is not enough memory for training."""


class Made(NamedTuple):
    """New rows and where they come from.

    Attributes
    ----------
    encoded : Tensor of shape (n, width)
        The rows.
    sources : ndarray of int
        Position of the majority row that each was made from, or -1.
    anchors : ndarray of int or None
        Position of the minority row that each started from; None if they did not.
    """

    encoded: Tensor
    sources: Positions
    anchors: Positions | None = None


def kept_of(starts: Positions, rows: Positions) -> Positions:
    """Find which of the rows that a generator starts from it may keep.

    Parameters
    ----------
    starts : ndarray of int
        Positions of the rows that it starts from.
    rows : ndarray of int
        Positions of those that it may start from.

    Returns
    -------
    kept : ndarray of int
        Places among ``starts``; at least one.

    Examples
    --------
    >>> kept_of(np.array([4, 7, 7, 9]), np.array([7, 1, 4]))
    array([0, 1, 2])
    """
    kept = np.flatnonzero(np.isin(starts, rows))
    if not len(kept):
        raise DataError(
            "among must hold a row that new rows of this class start from: of the class itself "
            'with generation="bridge", else of the majority; it holds none.'
        )
    return kept


class RowGenerator(Protocol):
    """Makes encoded rows of one class."""

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        """Return ``n`` new rows."""

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:
        """Return one encoded row for each encoded majority row."""

    def within(self, rows: Positions) -> "RowGenerator":
        """Return the generator with only some of the training rows to start from."""

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        """Return the model, and the tensors that a model file holds besides."""

    @property
    def reveals(self) -> "Sequence[Side]":
        """Whose rows can be worked out from what is stored."""

    def without_rows(self) -> "RowGenerator":
        """Return a generator of the same class that reveals no rows."""


Side = Literal["majority", "class"]


class NoRows:
    """A generator that is its model alone."""

    reveals: Sequence[Side] = ()

    def without_rows(self) -> Self:
        """Return the generator as it is."""
        return self


@dataclass(frozen=True)
class DataLayout:
    """What a model needs to know of the data before it sees a row.

    Attributes
    ----------
    shape : tuple of int
        Shape of a sample: (width,) of a row, or channels, height and width of an image.
    spans : sequence of Span
        What the encoded columns mean.
    names : list of str
        The classes' names for people, by class code.
    majority : int
        Code of the largest class.
    """

    shape: tuple[int, ...]
    spans: Sequence[Span]
    names: list[str]
    majority: int


@dataclass(frozen=True)
class Workers:
    """Who computes: processes and threads, on which the result depends at most by rounding."""

    devices: int | str = 1
    n_jobs: int | None = None
    n_threads: int | None = 1


@dataclass(frozen=True)
class Job:
    """What a method gets to learn from.

    Attributes
    ----------
    layout : DataLayout
        What the rows are.
    rows : EncodedRows
        All encoded rows.
    members : list of ndarray of int
        Positions of each class's rows, by class code.
    targets : list of int
        Codes of the classes that are to be generated.
    device : torch.device
        Where to train.
    seeds : numpy.random.SeedSequence
        The root of all randomness in training.
    workers : Workers
        Processes and threads.
    callback : callable or None
        To be handed to the training loop.
    checkpoint : Checkpoint or None
        Where the state of training is kept.
    team : Team or None
        The processes that train together, if there are several.
    """

    layout: DataLayout
    rows: EncodedRows
    members: list[Positions]
    targets: list[int]
    device: torch.device
    seeds: np.random.SeedSequence
    workers: Workers = field(default_factory=Workers)
    callback: Callback | None = None
    checkpoint: Checkpoint | None = None
    team: Team | None = None

    @property
    def majority(self) -> Positions:
        """Positions of the majority's rows."""
        return self.members[self.layout.majority]

    def file(self, name: str) -> StageFile | None:
        """Return the file that keeps the state of one stage of training, if any does."""
        if self.checkpoint is None:
            return None
        file = self.checkpoint.stage(name)
        return file if self.team is None else self.team.file(file)

    def codes(self) -> Positions:
        """Return the class code of every row."""
        codes = np.empty(len(self.rows), np.int64)
        for code, rows in enumerate(self.members):
            codes[rows] = code
        return codes


@dataclass(frozen=True)
class Learned:
    """What a method gives back.

    Attributes
    ----------
    generators : mapping of int to RowGenerator
        By class code.
    history : sequence of History
        What happened in training.
    ewc_weights : mapping of str to float
        The weight of the penalty that each class was learned with, by its name, where there is one.
    """

    generators: Mapping[int, RowGenerator]
    history: Sequence[History]
    ewc_weights: Mapping[str, float] = field(default_factory=dict)


class Method(Protocol):
    """An algorithm with its settings."""

    convolutions: ClassVar[str]
    """The network that ``"auto"`` stands for where images are not small."""

    @property
    def settings(self) -> Any:
        """A dataclass of all that decides the outcome besides the job."""

    def learn(self, job: Job) -> Learned:
        """Learn from encoded rows."""

    def model(self, layout: DataLayout) -> nn.Module:
        """Lay out the model that is trained."""

    def revive(
        self, layout: DataLayout, code: int, model: nn.Module, tensors: Mapping[str, Tensor]
    ) -> RowGenerator:
        """Undo :meth:`RowGenerator.stored` for a class."""


@dataclass(frozen=True)
class Unvaried(NoRows):
    """What generates rows when no column varies: there is nothing to learn."""

    majority: Positions

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        """Return ``n`` rows without a column."""
        sources = np.random.default_rng(seeds).integers(len(self.majority), size=n)
        return Made(torch.empty(n, 0), self.majority[sources])

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:  # noqa: ARG002
        """Return the rows as they are."""
        return encoded

    def within(self, rows: Positions) -> "Unvaried":
        """Return the generator with only some of the majority's rows."""
        return Unvaried(self.majority[kept_of(self.majority, rows)])

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        """Return nothing: there is no model."""
        return None, {}
