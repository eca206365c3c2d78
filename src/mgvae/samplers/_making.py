"""New rows, part by part: however many there are, one part is in memory at a time."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mgvae.codec.samples import Samples
from mgvae.common.rows import Positions
from mgvae.common.runtime import enough_memory, physical_memory, threads
from mgvae.errors import DataError, Setting
from mgvae.methods.method import RowGenerator
from mgvae.samplers._constraints import keep_constraints
from mgvae.storage import FittedState

__all__ = ["FEWER_ROWS", "Order", "Part", "check_size", "make_parts"]

FEWER_ROWS = "Ask for fewer in sampling_strategy, or call generate() several times for parts."


class Order(NamedTuple):
    """So many rows of a class, made by its generator from a branch of the seeds."""

    code: int
    name: str
    n: int
    generator: RowGenerator
    seeds: np.random.SeedSequence


class Part(NamedTuple):
    """Some new rows of one class.

    Attributes
    ----------
    code : int
        The class.
    rows : object
        The rows as the data's codec decodes them.
    sources, anchors : ndarray of int
        Positions of the majority and minority rows that each was made from, or -1.
    """

    code: int
    rows: Any
    sources: Positions
    anchors: Positions


def make_parts(
    state: FittedState,
    orders: Iterable[Order],
    seeds: np.random.SeedSequence,
    *,
    first: int = 0,
    n_threads: int | None = None,
) -> Iterator[Part]:
    """Make rows, in parts that depend on nothing but how many are asked for.

    Parameters
    ----------
    state : FittedState
        What decodes them, and says what they shall be.
    orders : iterable of Order
        How many rows of which classes.
    seeds : numpy.random.SeedSequence
        Decides what the codec draws.
    first : int
        How many rows were made before.
    n_threads : int or None
        Threads of torch.
    """
    rng, samples = None, state.samples
    for code, name, n, generator, branch in orders:
        sizes = samples.parts(n)
        branches = branch.spawn(len(sizes)) if len(sizes) > 1 else [branch]
        for size, own in zip(sizes, branches, strict=False):
            with enough_memory(f"making {n} rows of class {name}", FEWER_ROWS):
                with threads(n_threads):
                    encoded, sources, anchors = generator.generate(size, own)
                if rng is None:
                    rng = np.random.default_rng(seeds.spawn(1)[0])
                rows = samples.decode(encoded.numpy(), rng, first)
                parents = [sources, np.full(size, -1) if anchors is None else anchors]
                again = partial(
                    _again, state, generator, own, rng, first, parents, n_threads=n_threads
                )
                rows = keep_constraints(state, rows, again, name)
            first += size
            yield Part(code, rows, *parents)


def _again(
    state: FittedState,
    generator: RowGenerator,
    seeds: np.random.SeedSequence,
    rng: np.random.Generator,
    first: int,
    parents: list[Positions],
    where: Positions,
    *,
    n_threads: int | None,
) -> Any:
    """Make other rows for some positions, and note where they come from."""
    with threads(n_threads):
        encoded, sources, anchors = generator.generate(len(where), seeds.spawn(1)[0])
    for own, made in zip(parents, (sources, anchors), strict=True):
        own[where] = -1 if made is None else made
    return state.samples.decode(encoded.numpy(), rng, first)


def check_size(n: int, samples: Samples) -> None:
    """Raise if so many rows could not be in memory at once."""
    needed, memory = n * samples.bytes_per_row, physical_memory()
    if memory is not None and needed > memory:
        raise DataError(
            f"{n} synthetic rows need about {needed / 2**30:.0f} GiB, more than the "
            f"{memory / 2**30:.0f} GiB of this machine. Ask for fewer in ",
            Setting("sampling_strategy"),
            ", or call generate() several times for parts (partition).",
        )
