"""What a sampler learns from, and what it gives back, in encoded rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mgvae.codec import Span
from mgvae.training import Callback, History

if TYPE_CHECKING:
    from mgvae.training.checkpoints import Checkpoint, StageFile
    from mgvae.training.team import Team

__all__ = ["Generator", "Job", "Made", "Positions", "Trained", "Unvaried"]

Positions = NDArray[np.int64]


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


class Generator(Protocol):
    """Makes encoded rows of one class."""

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        """Give ``n`` new rows."""

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:
        """Give one encoded row for each encoded majority row."""

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        """Give the model, and the tensors that a model file must hold besides."""


@dataclass(frozen=True)
class Job:
    """What a subclass gets to learn from.

    Attributes
    ----------
    rows : Tensor of shape (n, width)
        All encoded rows, on the CPU.
    members : list of ndarray of int
        Positions of each class's rows, by class code.
    names : list of str
        The classes' names for people, by class code.
    majority : int
        Code of the largest class.
    targets : list of int
        Codes of the classes that are to be generated.
    shape : tuple of int
        Shape of a sample: (width,) of a row, or channels, height and width of a picture.
    spans : sequence of Span
        What the columns of ``rows`` mean.
    device : torch.device
        Where to train.
    seeds : numpy.random.SeedSequence
        The root of all randomness in training.
    callback : callable or None
        To be handed to the training loop.
    checkpoint : Checkpoint or None
        Where the state of training is kept.
    team : Team or None
        The processes that train together, if there are several.
    """

    rows: Tensor
    members: list[Positions]
    names: list[str]
    majority: int
    targets: list[int]
    shape: tuple[int, ...]
    spans: Sequence[Span]
    device: torch.device
    seeds: np.random.SeedSequence
    callback: Callback | None
    checkpoint: "Checkpoint | None" = None
    team: "Team | None" = None

    def file(self, name: str) -> "StageFile | None":
        """Give the file that keeps the state of one stage of training, if any does."""
        if self.checkpoint is None:
            return None
        file = self.checkpoint.stage(name)
        return file if self.team is None else self.team.file(file)

    def codes(self) -> Positions:
        """Give the class code of every row."""
        codes = np.empty(len(self.rows), np.int64)
        for code, rows in enumerate(self.members):
            codes[rows] = code
        return codes


@dataclass(frozen=True)
class Trained:
    """What a subclass gives back.

    Attributes
    ----------
    generators : mapping of int to Generator
        By class code.
    history : sequence of History
        What happened in training.
    attributes : mapping
        What else the fitted sampler shall have, by name.
    """

    generators: Mapping[int, Generator]
    history: Sequence[History]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Unvaried:
    """What generates rows when no column varies: there is nothing to learn."""

    majority: Positions

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        """Return ``n`` new rows."""
        sources = np.random.default_rng(seeds).integers(len(self.majority), size=n)
        return Made(torch.empty(n, 0), self.majority[sources])

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:  # noqa: ARG002
        """Return one encoded row for each encoded majority row."""
        return encoded

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        """Return the model, and the tensors that a model file holds besides."""
        return None, {}
