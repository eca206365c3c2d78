"""The cells of a column as text and as numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec import Column

__all__ = ["LEVELS", "NUMBERS", "cell_texts", "numbers"]

Floats = NDArray[np.float64]

NUMBERS = ("continuous", "integer", "datetime", "duration")
"""The kinds of columns that are compared as numbers."""

LEVELS = ("categorical", "ordinal", "boolean")
"""The kinds of columns that are compared as categories."""

_LONGEST = 60  # characters of a cell that are shown


def cell_texts(column: Column) -> NDArray[Any]:
    """Return the cells as people read them; a missing cell is an em dash.

    Examples
    --------
    >>> cell_texts(Column("a", np.array([1.0, 2.5]), np.array([False, True]))).tolist()
    ['1', '—']
    """
    texts = [_text(value, column.levels) for value in column.values]
    missing = np.zeros(len(texts), bool) if column.missing is None else column.missing
    pairs = zip(texts, missing, strict=True)
    return np.array(["—" if absent else text for text, absent in pairs], dtype=object)


def numbers(column: Column) -> Floats:
    """Return the cells that are not missing as floats; dates and durations as ticks.

    Examples
    --------
    >>> numbers(Column("a", np.array([1, 2]), np.array([False, True])))
    array([1.])
    """
    values = column.values if column.missing is None else column.values[~column.missing]
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]").view(np.int64)
    elif values.dtype.kind == "m":
        values = values.astype("timedelta64[us]").view(np.int64)
    return values.astype(np.float64)


def _text(value: Any, levels: tuple[Any, ...] | None) -> str:
    if levels is not None:
        value = levels[int(value)] if 0 <= int(value) < len(levels) else "—"
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
