"""Encoded rows: copied out by position, and cut into blocks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["BLOCK", "MATRIX", "Positions", "blocks", "copies", "take"]

Positions = NDArray[np.int64]

BLOCK = 16_384  # rows that pass through a network at once when nothing is learned
MATRIX = 2**22  # numbers of a matrix over pairs of rows that are in memory at once


def take(rows: Tensor, positions: Positions, out: Tensor | None = None) -> Tensor:
    """Copy out whole rows as numbers; bytes become numbers from 0 to 1.

    ``index_select`` moves a row at once, indexing a number at a time. Who takes rows again and
    again gives a place for them, ``out``: fresh memory can cost more than the rows.

    Examples
    --------
    >>> import numpy as np
    >>> take(torch.tensor([[0], [51], [255]], dtype=torch.uint8), np.array([1, 2]))
    tensor([[0.2000],
            [1.0000]])
    """
    chosen = torch.index_select(rows, 0, torch.from_numpy(positions), out=out)
    return chosen.float().div_(255.0) if chosen.dtype == torch.uint8 else chosen


def copies(rows: Tensor) -> Iterator[NDArray[Any]]:
    """Copy all rows out, a block at a time: they need not be in memory all at once.

    Examples
    --------
    >>> [block.tolist() for block in copies(torch.tensor([[1.0], [2.0]]))]
    [[[1.0], [2.0]]]
    """
    for start in range(0, len(rows), BLOCK):
        block = torch.arange(start, min(start + BLOCK, len(rows)))
        yield rows.index_select(0, block).numpy()


def blocks(n: int) -> list[int]:
    """Cut ``n`` rows into blocks that pass through a network at once.

    Examples
    --------
    >>> blocks(20_000)
    [16384, 3616]
    """
    return [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
