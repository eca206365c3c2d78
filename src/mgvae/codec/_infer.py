"""Which kind a column is, decided from the facts about it."""

import re
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import MARKERS, Column, Marker, label, ticks
from mgvae.codec._facts import LevelFacts, NumberFacts
from mgvae.codec._kinds import Kind, Numeric, distance
from mgvae.codec._levels import LONGEST_FIXED, Constant, Empty, Identifier, Levels, Text
from mgvae.codec._scales import Affine, Quantile, Scale
from mgvae.codec._spans import Activation, LikelihoodName
from mgvae.errors import CodecWarning, DataError, ParameterError, Setting

__all__ = ["KindName", "NumericScale", "Observed", "Options"]

KindName = Literal[
    "continuous",
    "integer",
    "categorical",
    "ordinal",
    "boolean",
    "datetime",
    "duration",
    "identifier",
    "text",
]
NumericScale = Literal["quantile", "minmax", "symmetric", "identity"]

_LEVEL_KINDS = ("categorical", "ordinal", "boolean")
_ACTIVATIONS: dict[NumericScale, Activation] = {
    "quantile": "identity",
    "minmax": "sigmoid",
    "symmetric": "tanh",
    "identity": "identity",
}
_ENOUGH = 20  # rows that must all differ before a column is taken for identifiers
_TEXT_LENGTH, _TEXT_SHARE = 30, 0.5  # mean length and distinct share of free text
_TEXTS = 256  # texts that are kept to draw from
_ID_NAME = re.compile(r"(?i:(?:.*[\W_])?(?:id|uuid|guid|index|unnamed: 0))|.*[a-z]I[dD]", re.S)


@dataclass(frozen=True)
class Options:
    """How columns are to be treated."""

    numeric: NumericScale = "quantile"
    likelihood: LikelihoodName = "gaussian"
    identifiers: Literal["new", "missing"] = "new"
    max_levels: int = 100


class Observed:
    """Everything seen of one column so far.

    Parameters
    ----------
    name : hashable
        The column's name or position.
    asked : str or None
        The kind that the user asked for.
    named : bool
        Whether the column has a name that may tell what it is.
    """

    def __init__(self, name: Hashable, asked: KindName | None, named: bool) -> None:
        self.name = name
        self.asked = asked
        self.id_name = named and bool(_ID_NAME.fullmatch(str(name)))
        self.named = named
        self.n_missing = 0
        self.marker: Marker = "nan"
        self.column = Column(name, np.empty(0))  # without cells: what all batches share
        self.facts: NumberFacts | LevelFacts | None = None

    def observe(self, column: Column) -> None:
        """Take the column's next cells."""
        missing = 0 if column.missing is None else int(column.missing.sum())
        if missing:
            known = {column.marker, self.marker}
            self.marker = next(marker for marker in MARKERS if marker in known)
        self.n_missing += missing
        present = missing < len(column.values)
        if present or self.facts is None:
            self.column = self._merge(column)
        if not present:
            return
        if self.facts is None:
            self.facts = self._start(column)
        if isinstance(self.facts, LevelFacts):
            self.facts.observe(column)
        else:
            numbers = ticks(column.values)
            self.facts.observe(numbers if column.missing is None else numbers[~column.missing])

    def finish(self, options: Options) -> Kind:
        """Decide what the column is."""
        coded = self.column.levels is not None
        dtype = "int64" if coded else str(self.column.values.dtype)
        if self.column.values.dtype.kind in "US":
            dtype = "object"
        nullable = self.n_missing > 0
        if self.facts is None:
            return Empty(dtype, coded)
        if isinstance(self.facts, NumberFacts):
            if dtype.startswith("float"):  # though some batches may have held integers
                self.facts.low, self.facts.high = float(self.facts.low), float(self.facts.high)
            if self.facts.low == self.facts.high:
                return Constant(dtype, self.facts.low, nullable=nullable)
            return self._number(self.facts, dtype, options)
        if len(self.facts.counts) == 1:
            return Constant(dtype, next(iter(self.facts.counts)), coded, nullable)
        return self._level(self.facts, dtype, options)

    def _start(self, column: Column) -> NumberFacts | LevelFacts:
        kind = column.values.dtype.kind
        if column.levels is not None or kind in "bOUS" or self.asked in _LEVEL_KINDS:
            return LevelFacts()
        return NumberFacts(ticks=kind in "mM", watch=kind in "iu" and self.id_name)

    def _merge(self, column: Column) -> Column:
        """Return what the cells so far and those of one more batch have in common."""
        old, new = self.column.values.dtype, column.values.dtype
        levels = column.levels
        if self.facts is not None and old != new:
            families = {"iuf" if dtype.kind in "iuf" else dtype.kind for dtype in (old, new)}
            if len(families) > 1 or families <= {"m", "M"}:
                raise DataError(
                    f"{label(self.name)} changes its type from {old} to {new} between batches. "
                    "Give all its cells one type."
                )
            new = np.promote_types(old, new)
        if levels is not None and self.column.levels is not None:
            levels = tuple(dict.fromkeys(self.column.levels + levels))
        return replace(column, values=np.empty(0, new), missing=None, levels=levels)

    def _number(self, facts: NumberFacts, dtype: str, options: Options) -> Kind:
        letter = np.dtype(dtype).kind
        whole = letter in "iu" or (letter == "f" and facts.decimals == 0)
        found = {"M": "datetime", "m": "duration"}.get(letter, "integer" if whole else "continuous")
        allowed = {"M": ("datetime",), "m": ("duration",)}.get(letter, ("continuous", "integer"))
        if letter in "iu" and self._names_rows(facts, np.iinfo(dtype).max):
            if self.asked is None:
                self._warn(f"its {facts.count} numbers all differ and look like identifiers")
            return Identifier(dtype, "", facts.high + 1, 0, self._missing_rate(options))
        if self.asked is not None and self.asked not in allowed:
            self._refuse(f"its cells have the type {self.column.dtype}")
        if self.asked == "integer" and not whole:
            self._refuse("some of its numbers have decimals")
        reach = float(facts.high) - float(facts.low)
        farthest = max(abs(float(facts.high)), abs(float(facts.low)))
        if not np.isfinite(reach) or (options.numeric == "identity" and farthest > 1e38):
            raise DataError(
                f"{label(self.name)} ranges from {facts.low:g} to {facts.high:g}, further than "
                "floats reach. Rescale it."
            )
        robust = options.numeric == "quantile"
        rounded = letter == "f" and robust and self.asked != "continuous"
        decimals = facts.decimals if rounded else None
        step = _calendar_step(facts.divisor, dtype)
        scale = _scale(facts, letter, options.numeric)
        low, high = facts.low, facts.high
        if isinstance(scale, Quantile) and letter in "iumM":
            first, last = (int(np.rint(end / step)) * step for end in scale.values[[0, -1]])
            low, high = facts.low + first, facts.low + last
            scale = replace(scale, values=scale.values - first)
        elif isinstance(scale, Quantile):
            low, high = scale.values[[0, -1]].tolist()
            if decimals is not None:
                low, high = round(low, decimals), round(high, decimals)
        return Numeric(
            kind=self.asked or found,
            dtype=dtype,
            low=low,
            high=high,
            scale=scale,
            step=step,
            decimals=decimals,
            nullable=self.n_missing > 0,
            activation=_ACTIVATIONS[options.numeric],
            likelihood=options.likelihood,
        )

    def _names_rows(self, facts: NumberFacts, largest: int) -> bool:
        """Whether integers are identifiers: asked for, counting up, or so named and distinct."""
        if self.asked is not None:
            return self.asked == "identifier"
        if facts.count < _ENOUGH or facts.high + facts.count > largest:
            return False  # the type would not hold as many new ones
        counts_up = facts.counter and facts.low in (0, 1) and facts.high < facts.low + facts.count
        return (self.named and counts_up) or (self.id_name and facts.distinct)

    def _level(self, facts: LevelFacts, dtype: str, options: Options) -> Kind:
        coded = self.column.levels is not None
        text = not coded and dtype == "object"
        if self.asked == "boolean" and len(facts.counts) > 2:
            self._refuse(f"it has {len(facts.counts)} levels")
        if self.asked not in (None, *_LEVEL_KINDS, *(("identifier", "text") if text else ())):
            self._refuse(f"its cells have the type {self.column.dtype}")
        if self.asked == "text" or (self.asked is None and text and _is_prose(facts)):
            return self._text(facts, dtype, options)
        different = facts.distinct and facts.count >= _ENOUGH
        if self.asked == "identifier" or (self.asked is None and text and different):
            if self.column.size is not None:
                named = self._fixed_identifier(facts, self.column.size, options)
            else:
                kind = "bytes" if isinstance(next(iter(facts.counts)), bytes) else "object"
                named = Identifier(kind, *facts.naming.finish(), self._missing_rate(options))
            if self.asked is None:
                self._warn(f"its {facts.count} values all differ and look like identifiers")
            return named
        return self._categories(facts, dtype, options)

    def _fixed_identifier(self, facts: LevelFacts, size: int, options: Options) -> Identifier:
        """Count on from the largest of identifiers that are so many bytes long."""
        start = int.from_bytes(facts.largest, "big") + 1
        if size > LONGEST_FIXED or start + facts.count > 2 ** (8 * size):
            raise DataError(
                f"{label(self.name)} holds {facts.count} different values of {size} bytes, which "
                "look like identifiers, but new ones cannot be counted on from the largest. Drop "
                "the column, or say ",
                Setting("column_types", {self.name: "categorical"}),
                ".",
            )
        return Identifier(f"S{size}", "", start, 0, self._missing_rate(options))

    def _categories(self, facts: LevelFacts, dtype: str, options: Options) -> Levels:
        levels = facts.ordered(self.column.levels)
        counts = [facts.counts[level] for level in levels]
        slots = list(range(len(levels)))
        if len(levels) > options.max_levels + 1:
            by_count = sorted(slots, key=lambda i: -counts[i])
            own = {i: slot for slot, i in enumerate(sorted(by_count[: options.max_levels]))}
            slots = [own.get(i, options.max_levels) for i in slots]
            if self.asked is None:
                self._warn(
                    f"of its {len(levels)} levels only the {options.max_levels} most frequent are "
                    "modelled one by one, the others are drawn by how often they occur"
                )
        is_flag = np.dtype(dtype).kind == "b" and self.column.levels is None
        found = "boolean" if is_flag else "ordinal" if self.column.ordered else "categorical"
        return Levels(
            kind=self.asked or found,
            dtype=dtype,
            levels=tuple(levels),
            slots=tuple(slots),
            counts=tuple(counts),
            coded=self.column.levels is not None,
            nullable=self.n_missing > 0,
        )

    def _text(self, facts: LevelFacts, dtype: str, options: Options) -> Text:
        if self.asked is None:
            self._warn("it holds free text, which is not modelled: new rows draw a text seen")
        texts = list(facts.counts)[:: max(1, len(facts.counts) // _TEXTS)][:_TEXTS]
        rate = self._missing_rate(options)
        if rate == 1:  # no new row shows a text, so none is kept
            texts = [type(texts[0])()]
        return Text(dtype, tuple(texts), rate)

    def _missing_rate(self, options: Options) -> float:
        """Share of new cells to leave missing in a column that is not modelled."""
        if options.identifiers == "new":
            count = self.facts.count if self.facts else 0
            return self.n_missing / (count + self.n_missing)
        if not self.column.nullable:
            raise DataError(
                f"{label(self.name)} looks like identifiers, but its type {self.column.dtype} "
                "cannot be missing as ",
                Setting("identifiers", "missing"),
                " asks. Drop the column, give it a type with missing cells, or say ",
                Setting("identifiers", "new"),
                ".",
            )
        return 1.0

    def _warn(self, reason: str) -> None:
        words = f"{label(self.name)}: {reason}. Say what it is by "
        warnings.warn(CodecWarning(words, Setting("column_types"), ", or drop it."), stacklevel=2)

    def _refuse(self, reason: str) -> NoReturn:
        raise ParameterError(
            Setting("column_types"),
            f" asks that {label(self.name)} be {self.asked!r}, but {reason}. Convert "
            "the column first, or choose another kind.",
        )


def _is_prose(facts: LevelFacts) -> bool:
    """Whether levels are long, of several words and mostly different."""
    levels = facts.counts
    if facts.count < _ENOUGH or len(levels) < _TEXT_SHARE * sum(levels.values()):
        return False
    length = sum(map(len, levels)) / len(levels)  # type: ignore[arg-type]
    words = sum(len(str(level).split()) for level in levels) / len(levels)
    return length >= _TEXT_LENGTH and words >= 4


def _scale(facts: NumberFacts, letter: str, numeric: NumericScale) -> Scale:
    whole = letter in "iumM"
    low = 0.0 if whole else facts.low
    high = float(facts.high - facts.low) if whole else facts.high
    if numeric == "minmax":
        return Affine(low, high, low, high - low)
    if numeric == "symmetric":
        return Affine(low, high, low + (high - low) / 2, (high - low) / 2)
    if numeric == "identity":
        return Affine(low, high, -float(facts.low) if whole else 0.0, 1.0)
    few = facts.levels is not None and facts.count >= 2 * len(facts.levels)
    if few and facts.levels is not None:
        values = np.array(sorted(facts.levels), facts.sample().dtype)
        counts = np.array([facts.levels[level] for level in values.tolist()])
    else:
        values, counts = np.unique(facts.sample(), return_counts=True)
    numbers: NDArray[np.float64] = (
        distance(values, facts.low, facts.high) if whole else values.astype(np.float64)
    )
    return Quantile.fit(numbers, counts, snap=few, start=int(facts.low) if whole else 0)


def _calendar_step(divisor: int, dtype: str) -> int:
    """Return the longest of day, hour, minute, second, ... that divides all ticks."""
    if np.dtype(dtype).kind not in "mM":
        return 1
    unit, multiple = np.datetime_data(np.dtype(dtype))
    if unit in ("Y", "M", "generic"):
        return 1
    tick = np.array(multiple, f"timedelta64[{unit}]")
    for name in ("D", "h", "m", "s", "ms", "us"):
        ratio = int(np.array(1, f"timedelta64[{name}]") // tick)
        if ratio >= 1 and divisor % ratio == 0:
            return ratio
    return 1
