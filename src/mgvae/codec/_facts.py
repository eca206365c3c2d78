"""What is learnt of a column from batches of its cells, in bounded memory.

The same facts come out however the rows are cut into batches: ranges and counts are exact, and
the sample behind the quantiles is picked by a hash of the row's position, not by chance.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column, Level, ticks

__all__ = ["LevelFacts", "Naming", "NumberFacts", "sieve", "survives"]

_SAMPLE = 16_384  # most values kept for the quantiles
_FEW = 30  # most distinct values that are counted one by one
_DECIMALS = 4  # most decimals that are recognised
_LEVELS = 65_536  # most levels that are counted one by one
_NUMBERED = re.compile(r"(.*?)(\d{1,15})", re.DOTALL)
_NEW = "synthetic-"
_LONGEST_PREFIX = 1000  # of the names that are counted on


def _hash(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of 64-bit numbers (the finaliser of SplitMix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


@lru_cache(maxsize=8)
def sieve(start: int, stop: int, depth: int) -> NDArray[np.intp]:
    """Positions from ``start`` up to ``stop`` that survive ``depth`` halvings of the sample."""
    positions = np.arange(start, stop)
    return positions[survives(positions, depth)]


def survives(keys: NDArray[Any], depth: int) -> NDArray[np.bool_]:
    """Return which 64-bit keys survive ``depth`` halvings of a sample."""
    kept: NDArray[np.bool_] = _hash(keys.view(np.uint64)) & np.uint64(2**depth - 1) == 0
    return kept


class NumberFacts:
    """Range, sample, few distinct values and grid of a column of numbers or ticks.

    Parameters
    ----------
    ticks : bool
        Whether the values are ticks of dates or durations, which share a divisor (a whole day).
    watch : bool
        Whether to find out if all values differ.

    Examples
    --------
    >>> import numpy as np
    >>> facts = NumberFacts()
    >>> facts.observe(np.array([3, 1, 2]))
    >>> facts.observe(np.array([3]))
    >>> facts.count, facts.low, facts.high, facts.levels
    (4, 1, 3, {1: 1, 2: 1, 3: 2})
    """

    def __init__(self, ticks: bool = False, watch: bool = False) -> None:
        self.count = 0
        self.low: Any = None
        self.high: Any = None
        self.levels: dict[Any, int] | None = {}  # None once there are many
        self.decimals: int | None = 0  # None once there are many
        self.divisor = 0 if ticks else 1
        self.counter = True  # whether row i holds low + i
        self.distinct = watch
        self._depth = 0
        self._rows: NDArray[np.intp] = np.empty(0, np.intp)
        self._sample: NDArray[Any] | None = None
        self._watch_depth = 0
        self._watched: NDArray[Any] = np.empty(0, np.int64)

    def observe(self, values: NDArray[Any]) -> None:
        """Take the next values, none missing."""
        if values.size == 0:
            return
        low, high = values.min().item(), values.max().item()
        whole = values.dtype.kind in "iu"
        if self.counter:
            start = low if self.low is None else self.low + self.count
            self.counter = whole and values[0] == start and bool((np.diff(values) == 1).all())
        self.low = low if self.low is None else min(low, self.low)
        self.high = high if self.high is None else max(high, self.high)
        kept = self._keep(values)
        if self.levels is not None:
            self._count_levels(values, kept)
        if self.divisor != 1:
            for part in (values[:100], values):
                self.divisor = math.gcd(self.divisor, int(np.gcd.reduce(part)))
                if self.divisor == 1:
                    break
        if self.distinct:
            self._watch(values)
        if self.decimals is not None and not whole:
            self._count_decimals(values)
        self.count += values.size

    def sample(self) -> NDArray[Any]:
        """Return the values kept for the quantiles, and both ends of the range."""
        if self._sample is None:
            raise ValueError("nothing was observed")
        ends = [end for end in (self.low, self.high) if end not in self._sample]
        return np.append(self._sample, np.array(ends, self._sample.dtype))

    def _keep(self, values: NDArray[Any]) -> NDArray[Any]:
        """Put some of the values into the sample, and return those."""
        start, stop = self.count, self.count + values.size
        self._depth = max(self._depth, (stop // (2 * _SAMPLE)).bit_length() - 1)
        while True:
            old = survives(self._rows, self._depth)
            new = sieve(start, stop, self._depth)
            if old.sum() + new.size <= _SAMPLE:
                break
            self._depth += 1
        kept = values[new - start]
        before = kept[:0] if self._sample is None else self._sample
        self._rows = np.concatenate([self._rows[old], new])
        self._sample = np.concatenate([before[old], kept])
        return kept

    def _count_levels(self, values: NDArray[Any], kept: NDArray[Any]) -> None:
        levels = self.levels or {}
        for part in (kept[: 8 * _FEW], kept, values):  # most columns of many values end at once
            distinct, counts = np.unique(part, return_counts=True)
            if distinct.size > _FEW or len(levels.keys() | distinct.tolist()) > _FEW:
                self.levels = None
                return
        for level, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            levels[level] = levels.get(level, 0) + count
        self.levels = levels

    def _count_decimals(self, values: NDArray[Any]) -> None:
        for part in (values[:50], values):
            exact = part.astype(np.float64)
            while self.decimals is not None:
                with np.errstate(over="ignore"):
                    rounded = np.round(exact, self.decimals).astype(part.dtype)
                if (rounded == part).all():
                    break
                self.decimals = self.decimals + 1 if self.decimals < _DECIMALS else None

    def _watch(self, values: NDArray[Any]) -> None:
        """Look for repeated values among a bounded part of all possible ones."""
        keys = values.astype(np.int64)
        while True:
            watched = np.concatenate([self._watched, keys[survives(keys, self._watch_depth)]])
            watched, counts = np.unique(watched, return_counts=True)
            if counts.size and counts.max() > 1:
                self.distinct = False
            if watched.size <= _LEVELS:
                break
            self._watch_depth += 1
            self._watched = self._watched[survives(self._watched, self._watch_depth)]
        self._watched = watched


class LevelFacts:
    """How often each level of a column was seen.

    Examples
    --------
    >>> import numpy as np
    >>> facts = LevelFacts()
    >>> facts.observe(Column("size", np.array(["S", "L", "S"], dtype=object)))
    >>> facts.counts, facts.count, facts.distinct
    ({'S': 2, 'L': 1}, 3, False)
    """

    def __init__(self) -> None:
        self.counts: dict[Level, int] = {}
        self.count = 0
        self.distinct = True  # whether no level was seen twice
        self.largest = b""  # of levels that are bytes
        self.naming = Naming()

    def observe(self, column: Column) -> None:
        """Take the next cells."""
        present = column.values if column.missing is None else column.values[~column.missing]
        if column.levels is not None:
            times = np.bincount(present.astype(np.intp), minlength=len(column.levels)).tolist()
            found = {v: n for v, n in zip(column.levels, times, strict=True) if n}
        else:
            found = dict(Counter(ticks(present).tolist()))
        self.count += present.size
        self.largest = max([self.largest, *(v for v in found if isinstance(v, bytes))])
        for level, times in found.items():
            if level in self.counts:
                self.counts[level] += times
                self.distinct = False
            else:
                self.distinct = self.distinct and times == 1
                if len(self.counts) < _LEVELS:
                    self.counts[level] = times
        if self.distinct:
            self.naming.observe(found)
        else:  # as if it had never looked: what it saw depends on the batches
            self.naming = Naming()

    def ordered(self, declared: tuple[Level, ...] | None) -> list[Level]:
        """Return the levels in the order of their type, or sorted."""
        if declared is not None:
            return [level for level in declared if level in self.counts]
        return sorted(self.counts)


class Naming:
    """How an identifier is spelt: a prefix and a number, if all agree on one.

    Examples
    --------
    >>> naming = Naming()
    >>> naming.observe(["C-0007", "C-0012"])
    >>> naming.finish()
    ('C-', 13, 4)
    """

    def __init__(self) -> None:
        self.highest: dict[str, int] = {_NEW: 0}
        self.width = 0
        self.regular = True

    def observe(self, levels: Iterable[Level]) -> None:
        """Look at some identifiers."""
        for level in levels:
            text = level.decode("latin-1") if isinstance(level, bytes) else str(level)
            match = _NUMBERED.fullmatch(text)
            if match is None or len(match[1]) > _LONGEST_PREFIX:
                self.regular = False
                continue
            prefix, number = match.groups()
            if self.regular or prefix == _NEW:
                self.highest[prefix] = max(self.highest.get(prefix, 0), int(number))
                self.width = max(self.width, len(number))
            self.regular = self.regular and len(self.highest) <= 2

    def finish(self) -> tuple[str, int, int]:
        """Return the prefix, the first free number and its width."""
        prefix = next((p for p in self.highest if p != _NEW), _NEW) if self.regular else _NEW
        return prefix, self.highest[prefix] + 1, self.width if self.regular else 0
