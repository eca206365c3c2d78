"""What a column can be: the kinds whose cells are numbers.

A kind is fitted once and then only reads its own fields. It turns the cells of a column into
codes and codes into cells, and says by spans what the codes mean.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column, Level, label, ticks
from mgvae.codec._scales import Quantile, Scale
from mgvae.codec._spans import Activation, LikelihoodName, Span
from mgvae.errors import DataError

__all__ = ["Cells", "Codes", "Kind", "Numeric", "distance", "flag_span"]

Cells = tuple[NDArray[Any], NDArray[np.bool_] | None]
Codes = NDArray[np.float32]

_LARGEST = float(np.nextafter(2.0**64, 0.0))  # the largest float that fits 64 bits


class Kind(Protocol):
    """A fitted column."""

    form: ClassVar[str]

    @property
    def kind(self) -> str:
        """What a person calls it."""

    @property
    def categories(self) -> tuple[Level, ...] | None:
        """What decoded cells are positions in, if they are."""

    def spans(self, name: str, /) -> list[Span]:
        """Describe the codes as spans."""

    def encode(self, column: Column, out: Codes, /) -> None:
        """Write the codes of a column's cells into ``out``, which holds zeros."""

    def decode(self, codes: Codes, rng: np.random.Generator, first: int, /) -> Cells:
        """Decode codes to cells; ``first`` rows were decoded before these."""

    def note(self) -> str:
        """Describe the column in a few words."""


def flag_span(name: str) -> Span:
    """Return the span of the flag that is 1 where a cell is missing."""
    return Span(f"{name} missing", 1, "sigmoid", "bernoulli", discrete=True)


@dataclass(frozen=True)
class Numeric:
    """Numbers, dates and durations.

    Parameters
    ----------
    kind : {"continuous", "integer", "datetime", "duration"}
        What a person calls it.
    dtype : str
        The numpy dtype of the cells.
    low, high : int or float
        The range seen; ticks for dates and durations.
    scale : Affine or Quantile
        Values <-> codes. What has integer cells is encoded by the distance from ``low``, which is
        exact beyond 2**53 too.
    step : int
        Integer cells lie this far apart.
    decimals : int or None
        Float cells are rounded to so many decimals.
    nullable : bool
        Whether cells can be missing.
    """

    form: ClassVar[str] = "numeric"
    categories: ClassVar[None] = None

    kind: str
    dtype: str
    low: int | float
    high: int | float
    scale: Scale
    step: int = 1
    decimals: int | None = None
    nullable: bool = False
    activation: Activation = "identity"
    likelihood: LikelihoodName = "gaussian"

    def spans(self, name: str) -> list[Span]:
        """One number, and a flag if cells can be missing."""
        number = Span(name, 1, self.activation, self.likelihood)
        return [number, flag_span(name)] if self.nullable else [number]

    def encode(self, column: Column, out: Codes) -> None:
        """Write the scaled number, 0 where it is missing, and the flag."""
        missing = column.missing
        numbers = self._numbers(column)
        if missing is not None:
            numbers[missing] = 0.0
        codes = self.scale.forward(numbers)
        if missing is not None:
            codes[missing] = 0.0
            if self.nullable:
                out[:, 1] = missing
        out[:, 0] = codes

    def decode(self, codes: Codes, _rng: np.random.Generator, _first: int) -> Cells:
        """Scale back, round, and keep inside the range seen."""
        numbers = self.scale.backward(codes[:, 0].astype(np.float64))
        return self.cells(numbers), codes[:, 1] > 0.5 if self.nullable else None

    def note(self) -> str:
        """Return the range, or the number of values that are reproduced."""
        if isinstance(self.scale, Quantile) and self.scale.snap:
            return f"{self.scale.values.size} values"
        kind = np.dtype(self.dtype).kind
        if kind in "mM":
            low, high = np.array([self.low, self.high], np.int64).view(self.dtype)
            return f"{low} to {high}"
        return f"{self.low} to {self.high}" if kind in "iu" else f"{self.low:g} to {self.high:g}"

    def _numbers(self, column: Column) -> NDArray[np.float64]:
        """Return floats; of integer cells, their distance from the lowest."""
        values, dtype = column.values, np.dtype(self.dtype)
        if column.missing is not None and column.missing.all():
            return np.zeros(len(values))
        family = "mM" if dtype.kind in "mM" else "biuf"
        if column.levels is not None or values.dtype.kind not in family:
            raise DataError(
                f"{label(column.name)} has the type {column.dtype}, but held {dtype} when the "
                "codec was fitted. Convert it."
            )
        if dtype.kind in "mM":
            values = values.astype(dtype)
        elif dtype.kind == "f":
            return values.astype(np.float64)
        elif values.dtype.kind == "f":
            values = np.nan_to_num(values)
        return distance(values, int(self.low), int(self.high))

    def cells(self, numbers: NDArray[np.float64]) -> NDArray[Any]:
        """Invert :meth:`_numbers`, rounding to values that the cells can have."""
        dtype = np.dtype(self.dtype)
        if dtype.kind not in "iumM":
            if self.decimals is not None:
                numbers = np.round(numbers, self.decimals)
            return np.clip(numbers, self.low, self.high, out=numbers).astype(dtype, copy=False)
        most = (int(self.high) - int(self.low)) // self.step
        steps = np.rint(numbers / self.step)
        inside = steps.clip(0, _LARGEST).astype(np.uint64)
        inside = np.where(steps < float(most), np.minimum(inside, np.uint64(most)), np.uint64(most))
        cells = inside * np.uint64(self.step) + np.uint64(int(self.low) % 2**64)
        return cells.view(dtype) if dtype.kind in "mM" else cells.astype(dtype)


def distance(values: NDArray[Any], low: int, high: int) -> NDArray[np.float64]:
    """Compute the distance of integers or ticks from ``low``, after clipping them to the range.

    Examples
    --------
    >>> import numpy as np
    >>> distance(np.array([2**62, 2**62 + 3, 0]), 2**62, 2**62 + 3)
    array([0., 3., 0.])
    """
    wide = np.dtype(np.uint64 if high >= 2**63 else np.int64)
    bottom = np.array(low, wide)
    clipped = np.clip(ticks(values).astype(wide), bottom, np.array(high, wide)).view(np.uint64)
    clipped -= bottom.view(np.uint64)  # modulo 2**64, so exact
    return clipped.astype(np.float64)
