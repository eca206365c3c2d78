"""Encoded rows in a file, taken from it by position."""

import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from mgvae._disk import enough_room

__all__ = ["MappedRows", "keep_rows"]

_TAKEN = 2048  # rows that are taken before the pages that they lie on are given back


class MappedRows(Tensor):
    """A matrix in a file that is mapped into memory; what is taken from it does not stay there.

    The system brings a whole neighbourhood of pages in with every row that is touched, and lets
    them go only when memory is short. Here they are given back after a few thousand rows, so that
    the memory in use does not grow with the file.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    _map: mmap.mmap
    _file: tuple[Path, int]
    _taken: int

    @classmethod
    def open(cls, path: Path, width: int) -> "MappedRows":
        """Map a file of float32 rows."""
        with path.open("r+b") as file:
            pages = mmap.mmap(file.fileno(), 0)
        if hasattr(mmap, "MADV_RANDOM"):
            pages.madvise(mmap.MADV_RANDOM)
        rows = torch.frombuffer(pages, dtype=torch.float32).view(-1, width).as_subclass(cls)
        rows._map, rows._file, rows._taken = pages, (path, width), 0
        return rows

    def index_select(self, dim: Any, index: Tensor) -> Tensor:
        """Copy rows out, a few thousand at a time."""
        if dim != 0 or len(index) == 0:
            return super().index_select(dim, index)
        taken = []
        for start in range(0, len(index), _TAKEN):
            taken.append(super().index_select(0, index[start : start + _TAKEN]))
            self._taken += len(taken[-1])
            if self._taken >= _TAKEN and hasattr(mmap, "MADV_DONTNEED"):
                self._map.madvise(mmap.MADV_DONTNEED)
                self._taken = 0
        return taken[0] if len(taken) == 1 else torch.cat(taken)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Let another process map the same file."""
        return MappedRows.open, self._file


def keep_rows(blocks: Iterable[NDArray[Any]], n_rows: int, width: int, folder: Path) -> MappedRows:
    """Write blocks of encoded rows below each other into a file of a folder, and map it."""
    path = folder / "encoded.f32"
    with enough_room(folder, 4 * n_rows * width), path.open("wb") as file:
        for block in blocks:
            file.write(block.data)
    return MappedRows.open(path, width)
