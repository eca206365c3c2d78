"""Kinds and names <-> plain data that JSON can hold.

What is read back may come from a damaged or a hostile file: every field is checked, unknown ones
are refused, and nothing is allocated by a size that the data merely claim. Texts are bounded too,
one by one and for a whole row, because each new row repeats them.
"""

import math
import re
from collections.abc import Callable, Container, Hashable, Mapping
from dataclasses import fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Level, ticks
from mgvae.codec._kinds import Kind, Numeric
from mgvae.codec._levels import (
    LONGEST_FIXED,
    Constant,
    Empty,
    Identifier,
    Levels,
    Text,
    as_cells,
)
from mgvae.codec._scales import Affine, Quantile, Scale
from mgvae.errors import DataError

__all__ = [
    "MOST_COLUMNS",
    "MOST_TEXT",
    "Fields",
    "kind_from_dict",
    "kind_to_dict",
    "longest_text",
    "plain",
    "read_name",
    "unplain",
]

MOST_COLUMNS = 8192
MOST_TEXT = 65_536  # characters in all cells of a row together
_LONGEST_CELL = 32_767
_LONGEST_NAME = 1000  # of a column, a type, or the beginning of an identifier
_MOST_NAMES = 64  # parts of a column's name

_DTYPE = re.compile(
    r"u?int(8|16|32|64)|float(16|32|64|96|128)|bool|object|bytes|S[1-9]\d?"
    r"|(datetime|timedelta)64(\[\d{0,6}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)
_ACTIVATIONS = ("identity", "sigmoid", "tanh")
_LIKELIHOODS = ("gaussian", "squared_error", "bernoulli")
_LEVEL_TYPES = (str, bytes, bool, int, float)


def plain(value: Any) -> Any:
    """Return a field's value as JSON can hold it, as text if JSON cannot.

    Examples
    --------
    >>> plain((1, b"a", ("x", 2)))
    [1, {'bytes': '61'}, ['x', 2]]
    """
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Affine | Quantile):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if value is None or isinstance(value, bool | int) or (value == value and type(value) is float):
        return value
    return str(value)


def unplain(value: Any) -> Any:
    """Invert :func:`plain` for a level or a column's name."""
    if isinstance(value, list):
        return tuple(unplain(item) for item in value)
    if isinstance(value, dict) and list(value) == ["bytes"]:
        try:
            return bytes.fromhex(value["bytes"])
        except (TypeError, ValueError) as error:
            raise DataError(f"{value!r:.60} does not spell bytes.") from error
    return value


def read_name(value: Any) -> Hashable:
    """Invert :func:`plain` for a column's name: text, a number, nothing, or several of these."""
    name = unplain(value)
    parts = name if isinstance(name, tuple) else (name,)
    known = all(isinstance(part, str | bytes | bool | int | float | None) for part in parts)
    if not known or len(parts) > _MOST_NAMES:
        raise DataError(f"a column of the codec cannot have the name {value!r:.60}.")
    if sum(len(str(part)) for part in parts) > _LONGEST_NAME:
        raise DataError(
            f"the name {value!r:.60} of a column has more than {_LONGEST_NAME} characters."
        )
    return name  # type: ignore[no-any-return]


class Fields:
    """A mapping whose fields are taken out one by one, each by its type.

    Examples
    --------
    >>> fields = Fields({"size": 3}, "the example")
    >>> fields.take("size", int)
    3
    >>> fields.finish()
    """

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise DataError(f"{where} must be a mapping, got {data!r:.60}.")
        self.data = dict(data)
        self.where = where

    def take(self, name: str, *types: type) -> Any:
        """Take out a field of one of the types (of which a bool is not an int)."""
        value = self.any(name)
        if type(value) not in types or (isinstance(value, float) and not math.isfinite(value)):
            self.refuse(name, value)
        return value

    def any(self, name: str) -> Any:
        """Take out a field of any type."""
        if name not in self.data:
            raise DataError(f"{self.where}: the field {name!r} is missing.")
        return self.data.pop(name)

    def choose(self, name: str, allowed: Container[Any]) -> Any:
        """Take out a text that is one of a few."""
        value = self.take(name, str)
        return value if value in allowed else self.refuse(name, value)

    def dtype(self) -> str:
        """Take out the field ``dtype``."""
        value: str = self.take("dtype", str)
        return (
            value
            if len(value) < _LONGEST_NAME and _DTYPE.fullmatch(value)
            else self.refuse("dtype", value)
        )

    def type_name(self) -> str:
        """Take out the field ``dtype`` in the words of the column's owner."""
        value: str = self.take("dtype", str)
        listed = value.startswith("Enum(")  # polars says all levels in there
        return value if listed or len(value) <= _LONGEST_NAME else self.refuse("dtype", value)

    def levels(self, name: str, least: int = 0) -> tuple[Level, ...]:
        """Take out distinct levels, all of one type."""
        levels: tuple[Level, ...] = unplain(self.take(name, list))
        types = set(map(type, levels))
        if len(types) > 1 or not types <= set(_LEVEL_TYPES) or len(set(levels)) != len(levels):
            self.refuse(name, levels)
        if types <= {str, bytes} and any(len(level) > _LONGEST_CELL for level in levels):  # type: ignore[arg-type]
            raise DataError(
                f"{self.where}: the field {name!r} holds a text of more than {_LONGEST_CELL} "
                "characters, which a model file cannot hold."
            )
        return levels if len(levels) >= least else self.refuse(name, levels)

    def numbers(self, name: str, *types: type) -> list[Any]:
        """Take out a list of finite numbers."""
        values: list[Any] = self.take(name, list)
        if not all(type(v) in types and math.isfinite(v) for v in values):
            self.refuse(name, values)
        return values

    def finish(self) -> None:
        """Refuse what is left."""
        for name, value in self.data.items():
            self.refuse(name, value)

    def refuse(self, name: str, value: Any) -> NoReturn:
        """Raise for a field."""
        raise DataError(f"{self.where}: the field {name!r} cannot be {value!r:.60}.")


def kind_to_dict(kind: Kind) -> dict[str, Any]:
    """Return a kind as plain data."""
    values = {f.name: plain(getattr(kind, f.name)) for f in fields(kind)}  # type: ignore[arg-type]
    return {"form": kind.form, **values}


def kind_from_dict(data: Any, where: str) -> Kind:
    """Invert :func:`kind_to_dict`."""
    given = Fields(data, where)
    kind = _BUILDERS[given.choose("form", _BUILDERS)](given)
    given.finish()
    return kind


def longest_text(kind: Kind) -> int:
    """Return the length of the longest text that a cell can hold; 0 for anything but text.

    Examples
    --------
    >>> longest_text(Text("object", ("a", "abc")))
    3
    """
    if isinstance(kind, Identifier):
        text = len(kind.prefix) + 20 if kind.size is None else kind.size
        return 0 if np.dtype(kind.dtype).kind in "iu" else text
    cells: tuple[Level, ...] = ()
    if isinstance(kind, Levels):
        cells = kind.levels
    elif isinstance(kind, Text):
        cells = kind.texts
    elif isinstance(kind, Constant):
        cells = (kind.value,)
    return max((len(cell) for cell in cells if isinstance(cell, str | bytes)), default=0)


def _numeric(given: Fields) -> Kind:
    dtype = given.dtype()
    letter = np.dtype(dtype).kind
    if letter not in "iufmM":
        given.refuse("dtype", dtype)
    whole = letter in "iumM"
    low, high = (given.take(end, int if whole else float) for end in ("low", "high"))
    bounds = np.iinfo(np.int64 if letter in "mM" else dtype) if whole else np.finfo(dtype)
    if not bounds.min <= low < high <= bounds.max:
        given.refuse("low", low)
    nullable, decimals = given.take("nullable", bool), given.take("decimals", int, type(None))
    step = given.take("step", int)
    if not 1 <= step < 2**63 or not 0 <= (decimals or 0) <= 15:
        given.refuse("step", step)
    return Numeric(
        kind=given.choose("kind", ("continuous", "integer", "datetime", "duration")),
        dtype=dtype,
        low=low,
        high=high,
        scale=_scale(Fields(given.take("scale", dict), given.where)),
        step=step,
        decimals=decimals,
        nullable=nullable,
        activation=given.choose("activation", _ACTIVATIONS),
        likelihood=given.choose("likelihood", _LIKELIHOODS),
    )


def _scale(given: Fields) -> Scale:
    scale: Scale
    if "stretch" in given.data:
        scale = Affine(*(given.take(name, float) for name in ("low", "high", "shift", "stretch")))
        if scale.stretch <= 0:
            given.refuse("stretch", scale.stretch)
    else:
        values, scores = (np.array(given.numbers(n, float)) for n in ("values", "scores"))
        rows = given.take("spikes", list)
        if any(not isinstance(r, list) or len(r) != 3 for r in rows):
            given.refuse("spikes", rows)
        spikes = np.array([Fields({"spike": r}, given.where).numbers("spike", float) for r in rows])
        spikes = spikes.reshape(-1, 3)
        scale = Quantile(values, scores, spikes, given.take("snap", bool))
        if values.size < 2 or values.shape != scores.shape or not _rises(values, scores):
            given.refuse("values", values)
        if not np.isin(spikes[:, 0], np.arange(values.size)).all() or not _rises(spikes[:, 0]):
            given.refuse("spikes", rows)
    given.finish()
    return scale


def _rises(*arrays: NDArray[Any]) -> bool:
    return all(bool((np.diff(array) > 0).all()) for array in arrays)


def _levels(given: Fields) -> Kind:
    levels, dtype, coded = given.levels("levels", 2), given.dtype(), given.take("coded", bool)
    _check_cells(given, levels, dtype, coded)
    slots, counts = (tuple(given.numbers(name, int)) for name in ("slots", "counts"))
    if len(slots) != len(levels) or sorted(set(slots)) != list(range(len(set(slots)))):
        given.refuse("slots", slots)
    if len(counts) != len(levels) or min(counts) < 1 or max(counts) >= 2**63:
        given.refuse("counts", counts)
    return Levels(
        kind=given.choose("kind", ("categorical", "ordinal", "boolean")),
        dtype=dtype,
        levels=levels,
        slots=slots,
        counts=counts,
        coded=coded,
        nullable=given.take("nullable", bool),
    )


def _check_cells(given: Fields, levels: tuple[Level, ...], dtype: str, coded: bool) -> None:
    """Refuse levels that are no cells of the dtype."""
    try:
        same = coded or ticks(as_cells(levels, dtype)).tolist() == list(levels)
    except (OverflowError, TypeError, ValueError):
        same = False
    if not same:
        given.refuse("dtype", dtype)


def _constant(given: Fields) -> Kind:
    given.data["value"] = [given.any("value")]  # one level: the same rules hold for it
    (value,) = given.levels("value", 1)
    dtype, coded = given.dtype(), given.take("coded", bool)
    _check_cells(given, (value,), dtype, coded)
    return Constant(dtype, value, coded, given.take("nullable", bool))


def _empty(given: Fields) -> Kind:
    return Empty(given.dtype(), given.take("coded", bool))


def _identifier(given: Fields) -> Kind:
    start, width = given.take("start", int), given.take("width", int)
    dtype, prefix = given.dtype(), given.take("prefix", str)
    size = int(dtype[1:]) if dtype.startswith("S") else 0
    if not 0 <= width <= 15 or size > LONGEST_FIXED:
        given.refuse("width", width)
    if not (0 if size else -(2**63)) <= start <= 2 ** (8 * size if size else 64):
        given.refuse("start", start)
    if len(prefix) > _LONGEST_NAME or (dtype == "bytes" and not _is_latin(prefix)):
        given.refuse("prefix", prefix)
    return Identifier(dtype, prefix, start, width, _rate(given))


def _is_latin(text: str) -> bool:
    return all(ord(letter) < 256 for letter in text)


def _text(given: Fields) -> Kind:
    texts, dtype = given.levels("texts", 1), given.dtype()
    _check_cells(given, texts, dtype, False)
    return Text(dtype, texts, _rate(given))


def _rate(given: Fields) -> float:
    rate: float = given.take("missing_rate", float)
    return rate if 0 <= rate <= 1 else given.refuse("missing_rate", rate)


_BUILDERS: dict[str, Callable[[Fields], Kind]] = {
    "numeric": _numeric,
    "levels": _levels,
    "constant": _constant,
    "empty": _empty,
    "identifier": _identifier,
    "text": _text,
}
