"""Very many rows in parts, each made anywhere and on its own."""

from typing import Any, NamedTuple

import numpy as np

from mgvae.common.shown import shown
from mgvae.errors import ParameterError

__all__ = ["Partition", "read_partition"]

_BRANCH = 0x70617274  # keeps the parts' seeds apart from all others that a seed gives


class Partition(NamedTuple):
    """How many rows a part has, how many are in the parts before it, and its seeds."""

    n: int
    before: int
    seeds: np.random.SeedSequence


def read_partition(n: int, partition: Any, random_state: Any) -> Partition:
    """Find the part number i, counted from 0, of ``n`` rows in k parts.

    Examples
    --------
    >>> [read_partition(10, (i, 3), random_state=0)[:2] for i in range(3)]
    [(3, 0), (3, 3), (4, 6)]
    """
    match partition:
        case (int() | np.integer(), int() | np.integer()):
            i, k = int(partition[0]), int(partition[1])
        case _:
            i = k = -1
    if not 0 <= i < k:
        raise ParameterError(
            "partition must be two whole numbers: which part, counted from 0, and how many there "
            f"are, such as (0, 8); got {shown(partition)}."
        )
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise ParameterError(
            "partition needs a random_state that is a whole number, the same for all parts, from "
            f"which each part's own seed is derived; got {shown(random_state)}."
        )
    start, stop = n * i // k, n * (i + 1) // k
    return Partition(
        stop - start,
        start,
        np.random.SeedSequence(int(random_state), spawn_key=(_BRANCH, k, i)),
    )
