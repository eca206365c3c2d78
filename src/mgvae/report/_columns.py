r"""The distance of one column of the synthetic rows from the real ones.

Numbers are compared by the Kolmogorov-Smirnov distance, the largest gap between two cumulative
distributions; categories by total variation, half the sum of the differences of their shares. A
missing cell counts as a category; among numbers, the shares of missing cells are compared. Both
distances lie between 0 and 1. Two samples of one distribution differ as well. The distance that
chance alone gives is stated beside each:

.. math::
    E[\mathrm{KS}] \approx 0.869 \sqrt{1/n + 1/m}, \qquad
    E[\mathrm{TV}] \approx \tfrac12 \sum_k \sqrt{\tfrac2\pi p_k (1 - p_k) (1/n + 1/m)} .
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from mgvae.codec import NUMBERS, Column, cell_numbers, cell_texts

__all__ = ["ColumnQuality", "compare_column"]

Floats = NDArray[np.float64]

_BINS = 24
_BARS = 10


@dataclass(frozen=True)
class ColumnQuality:
    """One column: its distance, and what is needed to draw it.

    .. versionadded:: 0.1

    Parameters
    ----------
    name : str
        The column.
    kind : str
        What it is.
    metric : str
        How it is compared: ``"KS"`` or ``"TV"``.
    distance : float
        Between the real and the synthetic rows of the class.
    chance : float
        What two samples of one distribution would give on average.
    places : list of float or of str
        The edges of the bins, or the levels.
    real, synthetic, majority : list of float
        The share of the rows in each bin or level.

    See Also
    --------
    mgvae.report.ClassQuality : What holds the columns.
    """

    name: str
    kind: str
    metric: str
    distance: float
    chance: float
    places: list[float] | list[str]
    real: list[float]
    synthetic: list[float]
    majority: list[float]


def compare_column(real: Column, synthetic: Column, majority: Column, kind: str) -> ColumnQuality:
    """Compare a column of the real, the synthetic and the majority rows.

    Examples
    --------
    >>> column = lambda *cells: Column("a", np.array(cells))
    >>> compare_column(column(1, 2, 3), column(4, 5), column(1, 5), "integer").distance
    1.0
    """
    if kind in NUMBERS:
        return _compare_numbers(real, synthetic, majority, kind)
    return _compare_levels(real, synthetic, majority, kind)


def _compare_numbers(real: Column, synthetic: Column, majority: Column, kind: str) -> ColumnQuality:
    a, b, c = cell_numbers(real), cell_numbers(synthetic), cell_numbers(majority)
    n, m = len(real.values), len(synthetic.values)
    absent = abs(len(a) / n - len(b) / m)
    distance, chance = 0.0, 0.0
    if len(a) and len(b):
        with np.errstate(all="ignore"):  # of the p-value, which is not used
            distance = float(stats.ks_2samp(a, b, method="asymp").statistic)
        chance = min(1.0, 0.869 * np.sqrt(1 / len(a) + 1 / len(b)))
    seen = np.concatenate([a, b, c])
    low, high = np.quantile(seen, [0.005, 0.995]) if len(seen) else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, _BINS + 1)

    def shares(values: Floats) -> list[float]:
        counts = np.histogram(values.clip(low, high), edges)[0]
        return (counts / max(1, len(values))).tolist()  # type: ignore[no-any-return]

    return ColumnQuality(
        str(real.name), kind, "KS", max(distance, absent), float(chance),
        edges.tolist(), shares(a), shares(b), shares(c),
    )  # fmt: skip


def _compare_levels(real: Column, synthetic: Column, majority: Column, kind: str) -> ColumnQuality:
    texts = [cell_texts(column) for column in (real, synthetic, majority)]
    levels, codes = np.unique(np.concatenate(texts), return_inverse=True)
    parts = np.split(codes, np.cumsum([len(text) for text in texts])[:-1])
    p, q, r = (np.bincount(part, minlength=len(levels)) / max(1, len(part)) for part in parts)
    pooled = np.bincount(np.concatenate(parts[:2]), minlength=len(levels)) / sum(
        map(len, parts[:2])
    )
    noise = 2 / np.pi * pooled * (1 - pooled) * (1 / len(parts[0]) + 1 / len(parts[1]))
    order = np.argsort(-(p + q + r), kind="stable")[:_BARS]
    places = [str(levels[i]) for i in order]
    bars = [share[order].tolist() for share in (p, q, r)]
    if len(levels) > _BARS:
        places.append(f"{len(levels) - _BARS} others")
        for bar, share in zip(bars, (p, q, r), strict=True):
            bar.append(max(0.0, float(1 - share[order].sum())))
    return ColumnQuality(
        str(real.name), kind, "TV", float(np.abs(p - q).sum() / 2),
        float(np.sqrt(noise).sum() / 2), places, *bars,
    )  # fmt: skip
