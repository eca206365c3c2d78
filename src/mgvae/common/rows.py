"""Encoded rows by position, wherever they are kept.

Training asks for a few hundred rows at a time, by their positions. :class:`EncodedRows` is all that
it needs to know of them: a matrix in memory and one in a file both keep that protocol, and only
what is taken of a file comes into memory.
"""

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mgvae.common.disk import enough_room

__all__ = [
    "BLOCK",
    "MATRIX",
    "EncodedRows",
    "FileRows",
    "MemoryRows",
    "Positions",
    "block_sizes",
    "gather",
]

Positions = NDArray[np.int64]

BLOCK = 16_384  # rows that pass through a network at once when nothing is learned
MATRIX = 2**22  # numbers of a matrix over pairs of rows that are in memory at once


class EncodedRows(Protocol):
    """Rows of numbers that are copied out by position."""

    @property
    def width(self) -> int:
        """Numbers in a row."""

    def __len__(self) -> int: ...

    def take(self, positions: Positions, out: Tensor | None = None) -> Tensor:
        """Copy rows out as float32.

        Parameters
        ----------
        positions : ndarray of int of shape (n,)
            Which rows; a row may be asked for several times.
        out : Tensor, optional
            What an earlier call returned for as many rows: its memory is used again, which saves
            the time that fresh memory costs.

        Returns
        -------
        rows : Tensor of shape (n, width)
        """

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Iterate over all rows as they are kept, some thousands at a time."""


class MemoryRows:
    """Rows in memory.

    Parameters
    ----------
    matrix : Tensor of shape (n, width)
        Numbers, or bytes that stand for numbers from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> rows = MemoryRows(torch.tensor([[0], [51], [255]], dtype=torch.uint8))
    >>> rows.take(np.array([1, 2]))
    tensor([[0.2000],
            [1.0000]])
    """

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return self.matrix.shape[1]

    def __len__(self) -> int:
        return len(self.matrix)

    def take(self, positions: Positions, out: Tensor | None = None) -> Tensor:
        """Copy rows out as float32; see :meth:`EncodedRows.take`."""
        if self.matrix.dtype != torch.uint8:
            return gather(self.matrix, positions, out)
        chosen = gather(self.matrix, positions)
        return (torch.empty(chosen.shape) if out is None else out).copy_(chosen).div_(255.0)

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Iterate over all rows; see :meth:`EncodedRows.blocks`."""
        for block in self.matrix.split(BLOCK):  # type: ignore[no-untyped-call]
            yield block.contiguous().numpy()


class FileRows:
    """Rows of float32 numbers in a file, below each other.

    The file is read, not mapped: a mapping would keep every page that was touched, and with it a
    neighbourhood of up to 2 MB, in the memory that counts as used. Another process that this object
    is sent to opens the same file.

    Parameters
    ----------
    path : path
        The file.
    width : int
        Numbers in a row.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows")
    ...     _ = path.write_bytes(np.arange(6, dtype=np.float32).tobytes())
    ...     FileRows(path, 2).take(np.array([2, 0]))
    tensor([[4., 5.],
            [0., 1.]])
    """

    def __init__(self, path: Path, width: int) -> None:
        self.path = path
        self.width = width
        self._file = path.open("rb", buffering=0)
        self._turn = threading.Lock()  # of those who move the file's position
        self._n = path.stat().st_size // (4 * width)

    @classmethod
    def write(
        cls, blocks: Iterable[NDArray[Any]], n_rows: int, width: int, folder: Path
    ) -> "FileRows":
        """Write blocks of rows below each other into a file of a folder, and open it."""
        path = folder / "encoded.f32"
        with enough_room(folder, 4 * n_rows * width), path.open("wb") as file:
            for block in blocks:
                file.write(block.data)
        return cls(path, width)

    def __len__(self) -> int:
        return self._n

    def take(self, positions: Positions, out: Tensor | None = None) -> Tensor:
        """Copy rows out as float32; see :meth:`EncodedRows.take`."""
        if len(positions) and not 0 <= positions.min() <= positions.max() < len(self):
            raise IndexError(f"rows {positions.min()} to {positions.max()} of {len(self)}")
        chosen = torch.empty(len(positions), self.width) if out is None else out
        numbers = chosen.numpy()
        ends = np.flatnonzero(np.diff(positions, append=-1) != 1) + 1  # of runs of neighbours
        start = 0
        for end in ends.tolist():
            self._read(numbers[start:end], int(positions[start]))
            start = end
        return chosen

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Iterate over all rows; see :meth:`EncodedRows.blocks`."""
        for start in range(0, len(self), BLOCK):
            yield self.take(np.arange(start, min(start + BLOCK, len(self)))).numpy()

    def _read(self, numbers: NDArray[np.float32], position: int) -> None:
        """Fill an array with the rows from a position on."""
        wanted = numbers.data.cast("B")
        with self._turn:
            self._file.seek(4 * self.width * position)
            while wanted:
                n = self._file.readinto(wanted)
                if not n:
                    raise OSError(f"{self.path} is shorter than it was")
                wanted = wanted[n:]

    def __reduce__(self) -> Any:
        """Let another process open the same file."""
        return FileRows, (self.path, self.width)


def gather(matrix: Tensor, positions: Positions, out: Tensor | None = None) -> Tensor:
    """Copy rows out of a matrix.

    ``index_select`` moves a row at once, where indexing moves a number at a time.

    Examples
    --------
    >>> import numpy as np
    >>> gather(torch.tensor([[1.0], [2.0]]), np.array([1, 1, 0])).ravel()
    tensor([2., 2., 1.])
    """
    return torch.index_select(matrix, 0, torch.from_numpy(positions), out=out)


def block_sizes(n: int) -> list[int]:
    """Cut ``n`` rows into blocks that pass through a network at once.

    Examples
    --------
    >>> block_sizes(20_000)
    [16384, 3616]
    """
    return [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
