r"""Numbers <-> codes: the monotone maps of the numeric columns.

:class:`Quantile` sends a value of cumulative probability :math:`p` to the normal score
:math:`\Phi^{-1}(p)`, so that codes are about :math:`N(0, 1)` whatever the tails, and joins the
scores of a few hundred knots by straight lines. A value :math:`v` that many rows share owns the
whole interval of scores between :math:`\Phi^{-1}(P(X < v))` and :math:`\Phi^{-1}(P(X \le v))`:
it is encoded as the score of the middle probability, and every code of the interval is decoded
as exactly :math:`v`. :class:`Affine` only shifts and stretches. Both inverses stay between the
smallest and the largest value seen.

But for spikes, knots are rounded values, the ends of the range too: what a codec stores is not
the exact value of a single row. Whatever lies beyond the outermost knots is encoded as these.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from mgvae.codec._lookup import Lookup

__all__ = ["Affine", "Quantile", "Scale"]

Floats = NDArray[np.float64]

_KNOTS = 256  # points where the map bends
_SPIKE_MASS, _SPIKE_ROWS = 0.01, 5  # a value with this much of the rows is a spike
_RESOLUTION = 25  # steps of rounded knots, at least, while the code rises by a half


@dataclass(frozen=True)
class Affine:
    """The code is ``(value - shift) / stretch``.

    Examples
    --------
    >>> import numpy as np
    >>> scale = Affine(low=2.0, high=6.0, shift=2.0, stretch=4.0)
    >>> scale.forward(np.array([2.0, 3.0])), scale.backward(np.array([-1.0, 0.5]))
    (array([0.  , 0.25]), array([2., 4.]))
    """

    low: float
    high: float
    shift: float
    stretch: float

    def forward(self, values: Floats) -> Floats:
        """Encode; values outside the range seen are encoded as they are."""
        return (values - self.shift) / self.stretch

    def backward(self, codes: Floats) -> Floats:
        """Decode into the range seen."""
        return np.clip(codes * self.stretch + self.shift, self.low, self.high)


@dataclass(frozen=True)
class Quantile:
    """The code is the value's normal score.

    Parameters
    ----------
    values : ndarray
        The knots, increasing.
    scores : ndarray
        Their codes, increasing.
    spikes : ndarray of shape (n_spikes, 3)
        Position of a knot that owns an interval of codes, and the interval's two ends.
    snap : bool
        Whether only the knots themselves come back.

    Examples
    --------
    >>> import numpy as np
    >>> scale = Quantile.fit(np.arange(41.0), np.array([60] + [1] * 40))
    >>> scale.backward(np.array([-3.0, -1.0, 0.2, 9.0]))
    array([ 0.,  0.,  0., 40.])
    """

    values: Floats
    scores: Floats
    spikes: Floats
    snap: bool = False

    @classmethod
    def fit(
        cls, values: Floats, counts: NDArray[np.int64], *, snap: bool = False, start: int = 0
    ) -> "Quantile":
        """Place the knots on distinct, increasing values that were seen so many times.

        The values may be distances from an integer ``start``, which tells where whole numbers are.
        """
        n = counts.sum()
        upto = np.cumsum(counts) / n
        below = np.append(0.0, upto[:-1])
        scores = _even_scores(int(n)) if n == counts.size else ndtri((below + upto) / 2)
        if snap:
            return cls(values, scores, np.empty((0, 3)), snap)
        spiky = (counts >= _SPIKE_ROWS) & (counts >= _SPIKE_MASS * n)
        keep = np.ones(values.size, bool)
        if values.size > _KNOTS:
            grid = ndtr(np.linspace(scores[0], scores[-1], _KNOTS))
            keep = spiky.copy()
            keep[np.searchsorted(upto, grid[1:-1])] = True
            keep[[0, -1]] = True
        spike, knots = spiky[keep], values[keep]
        sides = [np.abs(np.interp(scores[keep] + by, scores, values) - knots) for by in (-0.5, 0.5)]
        spread = np.where(np.minimum(*sides) > 0, np.minimum(*sides), np.maximum(*sides))
        knots = np.where(spike, knots, _rounded(knots, spread, start))
        bend = _rising(knots, spike)
        interval = np.clip(np.column_stack([below, upto])[spiky], 0.5 / n, 1 - 0.5 / n)
        spikes = np.column_stack([np.flatnonzero(spike[bend]), ndtri(interval)])
        return cls(knots[bend], scores[keep][bend], spikes)

    def forward(self, values: Floats) -> Floats:
        """Encode; values beyond the outermost knots are encoded as these. None may be NaN."""
        return self._codes(values)

    def backward(self, codes: Floats) -> Floats:
        """Decode into the range seen."""
        if self.snap:
            return self.values[np.searchsorted((self.scores[1:] + self.scores[:-1]) / 2, codes)]
        return self._inverse(codes)

    @cached_property
    def _codes(self) -> Lookup:
        """Values and scores to encode by.

        The nearest floats beside a spike are sent to the ends of its interval, so that no other
        value's code falls into it.
        """
        at = self.spikes[:, 0].astype(np.intp)
        spike = self.values[at]
        beside = [np.nextafter(spike, -np.inf), np.nextafter(spike, np.inf)]
        values = np.concatenate([self.values, *beside])
        scores = np.concatenate([self.scores, self.spikes[:, 1], self.spikes[:, 2]])
        values, first = np.unique(values, return_index=True)
        return Lookup(values, np.maximum.accumulate(scores[first]))

    @cached_property
    def _inverse(self) -> Lookup:
        """Scores and values to decode by: a spike has the same value at both ends."""
        at = self.spikes[:, 0].astype(np.intp)
        plain = np.ones(self.values.size, bool)
        plain[at] = False
        scores = np.concatenate([self.scores[plain], self.spikes[:, 1], self.spikes[:, 2]])
        values = np.concatenate([self.values[plain], self.values[at], self.values[at]])
        order = np.lexsort([values, scores])
        return Lookup(scores[order], values[order])


@lru_cache(maxsize=2)
def _even_scores(n: int) -> Floats:
    """Return the scores of ``n`` values that were seen once each: those of many columns."""
    scores: Floats = ndtri((np.arange(n) + 0.5) / n)
    scores.flags.writeable = False
    return scores


def _rounded(knots: Floats, spread: Floats, start: int) -> Floats:
    """Round knots to the resolution of the scale; none leaves the range of the knots.

    Parameters
    ----------
    knots : ndarray
        Distances of the knots from ``start``.
    spread : ndarray
        How much values rise beside each knot while the code rises by a half. The resolution is the
        largest power of ten that is not above a twenty-fifth of it.
    start : int
        What is added to the knots before they are rounded.

    Examples
    --------
    >>> import numpy as np
    >>> _rounded(np.array([0.137, 48.71, 3217.2]), np.array([20.0, 40.0, 900.0]), 0)
    array([2.00e-01, 4.90e+01, 3.21e+03])
    """
    power = np.floor(np.log10(spread / _RESOLUTION)).clip(-300, 300)
    unit, parts = 10.0 ** power.clip(0, None), 10.0 ** (-power).clip(0, None)  # one of them is 1
    before = np.array([float(start % int(size)) for size in unit])
    steps = (knots + before) / unit * parts
    near = np.concatenate([np.ceil(steps[:1]), np.rint(steps[1:-1]), np.floor(steps[-1:])])
    rounded: Floats = np.where(np.isfinite(near), near / parts * unit - before, knots)
    return np.clip(rounded, *rounded[[0, -1]]) if rounded[0] < rounded[-1] else knots


def _rising(knots: Floats, spike: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say which knots to keep so that they rise, all spikes among them."""
    after = np.minimum.accumulate(np.where(spike, knots, np.inf)[::-1])[::-1]
    plain = np.where(spike | (knots < after), knots, -np.inf)
    most = np.maximum.accumulate(np.append(-np.inf, plain[:-1]))
    return spike | ((knots > most) & (knots < after))


Scale = Affine | Quantile
