"""Encoded rows in a file, taken from it by position."""

import mmap
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mgvae.common.disk import enough_room

__all__ = ["StoredRows", "keep_rows"]


class StoredRows(Tensor):
    """A matrix in a file, of which only what is taken comes into memory.

    It is a tensor over a mapped file. ``index_select``, by which rows are taken everywhere, reads
    them from the file all the same: a mapping would keep every page that was touched, and with it a
    neighbourhood of up to 2 MB, in the memory that counts as used.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    _file: BinaryIO

    @classmethod
    def open(cls, path: Path, width: int) -> "StoredRows":
        """Open a file of float32 rows."""
        file = path.open("r+b", buffering=0)
        pages = mmap.mmap(file.fileno(), 0)
        rows = torch.frombuffer(pages, dtype=torch.float32).view(-1, width).as_subclass(cls)
        rows._file = file
        return rows

    def index_select(self, dim: Any, index: Tensor) -> Tensor:
        """Copy rows out."""
        if dim != 0 or not hasattr(os, "preadv"):
            return super().index_select(dim, index)
        positions = index.numpy()
        chosen = torch.empty(len(index), self.shape[1])
        rows = chosen.numpy()
        runs = np.flatnonzero(np.diff(positions, append=-1) != 1) + 1  # where neighbours end
        start = 0
        for stop in runs.tolist():
            self._read(rows[start:stop], int(positions[start]))
            start = stop
        return chosen

    def _read(self, rows: NDArray[np.float32], position: int) -> None:
        """Fill an array with the rows from a position on."""
        if not 0 <= position <= len(self) - len(rows):
            raise IndexError(f"row {position} of {len(self)}")
        start, bytes_ = 4 * self.shape[1] * position, rows.data.cast("B")
        done = 0
        while done < len(bytes_):
            n = os.preadv(self._file.fileno(), [bytes_[done:]], start + done)
            if n == 0:
                raise OSError(f"{self._file.name} is shorter than it was")
            done += n

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Let another process open the same file."""
        return StoredRows.open, (Path(self._file.name), self.shape[1])


def keep_rows(blocks: Iterable[NDArray[Any]], n_rows: int, width: int, folder: Path) -> StoredRows:
    """Write blocks of encoded rows below each other into a file of a folder, and open it."""
    path = folder / "encoded.f32"
    with enough_room(folder, 4 * n_rows * width), path.open("wb") as file:
        for block in blocks:
            file.write(block.data)
    return StoredRows.open(path, width)
