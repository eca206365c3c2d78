"""Labels for new rows of pandas objects."""

from typing import Any

import numpy as np
import pandas as pd

__all__ = ["fresh_index"]

_NEW = "synthetic-"


def fresh_index(index: Any, n: int) -> Any:
    """Return ``n`` labels that an index does not have.

    A range continues. Numbers count on from the largest, dates and durations by seconds from the
    latest, periods by periods. Every level of a MultiIndex does the same by itself. Anything else
    (text, categories, intervals) gets ``synthetic-0``, ``synthetic-1``, ... from the first free.

    Examples
    --------
    >>> import pandas as pd
    >>> list(fresh_index(pd.Index([3, 9, 4]), 2))
    [10, 11]
    >>> list(fresh_index(pd.Index(["a", "synthetic-4"]), 2))
    ['synthetic-5', 'synthetic-6']
    """
    if isinstance(index, pd.MultiIndex):
        levels = [fresh_index(index.get_level_values(i), n) for i in range(index.nlevels)]
        return pd.MultiIndex.from_arrays(levels, names=index.names)
    if isinstance(index, pd.RangeIndex):
        start = index.start + len(index) * index.step
        return pd.RangeIndex(start, start + n * index.step, index.step, name=index.name)
    known = index.dropna()
    if len(known):
        last: Any = known.max() if _has_order(index) else None
        if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
            later = last + pd.to_timedelta(np.arange(1, n + 1), unit="s")
            return later.as_unit(index.unit).rename(index.name)
        if isinstance(index, pd.PeriodIndex):
            return pd.period_range(last + 1, periods=n, freq=index.freq, name=index.name)
        if last is not None and abs(float(last)) + n < 2**53:
            return _count(int(np.floor(last)) + 1, n, index)
    numbers = (str(label)[len(_NEW) :] for label in known if str(label).startswith(_NEW))
    start = max((int(number) for number in numbers if number.isdecimal()), default=-1) + 1
    text = isinstance(index.dtype, pd.StringDtype)
    labels = [f"{_NEW}{i}" for i in range(start, start + n)]
    return pd.Index(labels, dtype=index.dtype if text else object, name=index.name)


def _has_order(index: Any) -> bool:
    """Whether the labels are numbers or times, so that there is a next one."""
    if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex):
        return True
    types = pd.api.types
    return bool(types.is_integer_dtype(index.dtype) or types.is_float_dtype(index.dtype))


def _count(start: int, n: int, index: Any) -> Any:
    labels = np.arange(start, start + n)
    dtype = index.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iu" and start + n > np.iinfo(dtype).max:
        dtype = np.int64
    return pd.Index(labels, dtype=dtype, name=index.name)
