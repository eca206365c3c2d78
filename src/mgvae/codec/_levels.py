"""What a column can be: categories, and the kinds that the network never sees."""

from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column, Level, ticks
from mgvae.codec._kinds import Cells, Codes, flag_span
from mgvae.codec._spans import Span
from mgvae.errors import DataError

__all__ = ["LONGEST_FIXED", "Constant", "Empty", "Identifier", "Levels", "Text", "as_cells"]

LONGEST_FIXED = 64  # bytes of identifiers that all have one length


def as_cells(levels: tuple[Level, ...], dtype: str) -> NDArray[Any]:
    """Return levels as cells."""
    if np.dtype(dtype).kind in "mM":
        return np.array(levels, np.int64).view(dtype)
    array = np.empty(len(levels), dtype)
    array[:] = levels
    return array


@dataclass(frozen=True)
class Levels:
    """Categories, ordered or not, and booleans: one output for each level.

    Parameters
    ----------
    kind : {"categorical", "ordinal", "boolean"}
        What a person calls it.
    dtype : str
        The numpy dtype of the cells.
    levels : tuple
        Every level seen, in order.
    slots : tuple of int
        Each level's output. Only the last output is shared, by all levels too rare for their own.
    counts : tuple of int
        How often each level was seen.
    coded : bool
        Whether cells are positions in ``levels``.
    nullable : bool
        Whether cells can be missing, for which there is one more output.
    """

    form: ClassVar[str] = "levels"

    kind: str
    dtype: str
    levels: tuple[Level, ...]
    slots: tuple[int, ...]
    counts: tuple[int, ...]
    coded: bool = False
    nullable: bool = False

    @property
    def categories(self) -> tuple[Level, ...] | None:
        """The levels, if cells are positions in them."""
        return self.levels if self.coded else None

    def spans(self, name: str) -> list[Span]:
        """One softmax over all levels."""
        return [Span(name, self._size + self.nullable, "softmax", "categorical", True)]

    def encode(self, column: Column, out: Codes) -> None:
        """Write a 1 for the level; a level never seen is one of the rare ones, or all zeros."""
        unseen = self._size - 1 if self._shared.size else -1
        if column.levels is not None:
            slots = np.array([self._slot.get(level, unseen) for level in column.levels], np.intp)
            slots = slots[column.values] if slots.size else np.full(len(out), -1)
        else:
            slots = _look_up(self._slot, column.values, unseen)
        if column.missing is not None:
            slots[column.missing] = self._size if self.nullable else -1
        known = np.flatnonzero(slots >= 0)
        out[known, slots[known]] = 1.0

    def decode(self, codes: Codes, rng: np.random.Generator, _first: int) -> Cells:
        """Take the level with the largest code; draw among the rare ones by how often they were."""
        slots = codes.argmax(axis=1)
        missing = slots == self._size if self.nullable else None
        levels = self._level[np.minimum(slots, self._size - 1)]
        if self._shared.size:
            rare = np.flatnonzero(slots == self._size - 1)
            weights = np.array(self.counts, float)[self._shared]
            levels[rare] = rng.choice(self._shared, rare.size, p=weights / weights.sum())
        if self.coded:
            return levels, missing
        return as_cells(self.levels, self.dtype)[levels], missing

    def places(self, cells: NDArray[Any]) -> NDArray[np.intp]:
        """Return cells, none of them coded, as positions among the levels; -1 if never seen."""
        return _look_up(self._place, cells, -1)

    def note(self) -> str:
        """Return the number of levels."""
        own = len(self.levels) - self._shared.size
        return f"{own} of {len(self.levels)} levels" if self._shared.size else f"{own} levels"

    @cached_property
    def _size(self) -> int:
        return max(self.slots) + 1

    @cached_property
    def _slot(self) -> dict[Level, int]:
        return dict(zip(self.levels, self.slots, strict=True))

    @cached_property
    def _place(self) -> dict[Level, int]:
        return {level: i for i, level in enumerate(self.levels)}

    @cached_property
    def _level(self) -> NDArray[np.intp]:
        """The (last) level of each output."""
        level = np.empty(self._size, np.intp)
        level[list(self.slots)] = np.arange(len(self.slots))
        return level

    @cached_property
    def _shared(self) -> NDArray[np.intp]:
        """The levels that share the last output, if there are any."""
        last = np.flatnonzero(np.array(self.slots) == self._size - 1)
        return last if last.size > 1 else last[:0]


def _look_up(known: dict[Level, int], cells: NDArray[Any], unseen: int) -> NDArray[np.intp]:
    keys = ticks(cells).tolist()
    return np.fromiter(map(known.get, keys, repeat(unseen)), np.intp, len(keys))


@dataclass(frozen=True)
class Constant:
    """One value in every cell that is not missing."""

    form: ClassVar[str] = "constant"
    kind: ClassVar[str] = "constant"

    dtype: str
    value: Level
    coded: bool = False
    nullable: bool = False

    @property
    def categories(self) -> tuple[Level, ...] | None:
        """The value, if cells are positions."""
        return (self.value,) if self.coded else None

    def spans(self, name: str) -> list[Span]:
        """Nothing, or a flag if cells can be missing."""
        return [flag_span(name)] if self.nullable else []

    def encode(self, column: Column, out: Codes) -> None:
        """Write the flag."""
        if self.nullable and column.missing is not None:
            out[:, 0] = column.missing

    def decode(self, codes: Codes, _rng: np.random.Generator, _first: int) -> Cells:
        """Repeat the value."""
        cells = np.zeros(len(codes), np.intp)
        if not self.coded:
            cells = as_cells((self.value,), self.dtype)[cells]
        return cells, codes[:, 0] > 0.5 if self.nullable else None

    def note(self) -> str:
        """Return the value."""
        text = str(self.value if self.coded else as_cells((self.value,), self.dtype)[0])
        return text if len(text) <= 30 else text[:29] + "…"


@dataclass(frozen=True)
class Empty:
    """No value in any cell."""

    form: ClassVar[str] = "empty"
    kind: ClassVar[str] = "empty"

    dtype: str
    coded: bool = False

    @property
    def categories(self) -> tuple[Level, ...] | None:
        """No level, if cells are positions."""
        return () if self.coded else None

    def spans(self, _name: str) -> list[Span]:
        """Nothing."""
        return []

    def encode(self, _column: Column, _out: Codes) -> None:
        """Write nothing."""

    def decode(self, codes: Codes, _rng: np.random.Generator, _first: int) -> Cells:
        """Leave every cell missing."""
        return np.zeros(len(codes), self.dtype), np.ones(len(codes), bool)

    def note(self) -> str:
        """Return that nothing is known."""
        return "all missing"


@dataclass(frozen=True)
class Identifier:
    """A name for each row, which no other row may bear.

    Parameters
    ----------
    dtype : str
        The numpy dtype of the cells; ``S16`` are numbers written as 16 bytes, the highest first.
    prefix : str
        What every new name begins with; empty for numbers.
    start : int
        The first number that is free.
    width : int
        Least number of digits.
    missing_rate : float
        Share of cells that are missing; 1 leaves all new cells missing.
    """

    form: ClassVar[str] = "identifier"
    kind: ClassVar[str] = "identifier"
    categories: ClassVar[None] = None

    dtype: str
    prefix: str
    start: int
    width: int = 0
    missing_rate: float = 0.0

    def spans(self, _name: str) -> list[Span]:
        """Nothing."""
        return []

    def encode(self, _column: Column, _out: Codes) -> None:
        """Write nothing."""

    @property
    def size(self) -> int | None:
        """How many bytes a cell has, if all have equally many."""
        return int(self.dtype[1:]) if self.dtype.startswith("S") else None

    def _numbers(self, start: int, n: int, size: int) -> NDArray[Any]:
        if start + n > 2 ** (8 * size):
            raise DataError(
                f"{size} bytes cannot hold {n} new identifiers from 0x{start:x} on. Drop the "
                "column, or give it a longer type."
            )
        cells = np.empty(n, object)
        cells[:] = [number.to_bytes(size, "big") for number in range(start, start + n)]
        return cells

    def decode(self, codes: Codes, rng: np.random.Generator, first: int) -> Cells:
        """Count on from the first free number."""
        n, start = len(codes), self.start + first
        missing = _drop(n, self.missing_rate, rng)
        dtype = np.dtype(self.dtype)
        if dtype.kind in "iu":
            if start + n - 1 > np.iinfo(dtype).max:
                raise DataError(
                    f"{dtype} cannot hold {n} new identifiers from {start} on. Drop the column, "
                    "or give it a wider type."
                )
            return np.arange(start, start + n).astype(dtype), missing
        if self.size is not None:
            return self._numbers(start, n, self.size), missing
        names = [f"{self.prefix}{i:0{self.width}d}" for i in range(start, start + n)]
        cells = np.empty(n, object)
        cells[:] = [name.encode("latin-1") for name in names] if self.dtype == "bytes" else names
        return cells, missing

    def note(self) -> str:
        """Describe what new rows get."""
        if self.missing_rate == 1:
            return "new rows are left missing"
        if self.size is not None:
            return f"new rows continue at 0x{self.start:0{2 * self.size}x}"
        return f"new rows continue at {self.prefix}{self.start:0{self.width}d}"


@dataclass(frozen=True)
class Text:
    """Free text, which is drawn from a few of the texts seen."""

    form: ClassVar[str] = "text"
    kind: ClassVar[str] = "text"
    categories: ClassVar[None] = None

    dtype: str
    texts: tuple[Level, ...]
    missing_rate: float = 0.0

    def spans(self, _name: str) -> list[Span]:
        """Nothing."""
        return []

    def encode(self, _column: Column, _out: Codes) -> None:
        """Write nothing."""

    def decode(self, codes: Codes, rng: np.random.Generator, _first: int) -> Cells:
        """Draw a text."""
        missing = _drop(len(codes), self.missing_rate, rng)
        drawn = rng.integers(len(self.texts), size=len(codes))
        return as_cells(self.texts, self.dtype)[drawn], missing

    def note(self) -> str:
        """Describe what new rows get."""
        if self.missing_rate == 1:
            return "new rows are left missing"
        return f"new rows draw from {len(self.texts)} texts"


def _drop(n: int, rate: float, rng: np.random.Generator) -> NDArray[np.bool_] | None:
    return rng.random(n) < rate if rate else None
