r"""Intervals of 95% for the figures of a report.

A share of new rows is not as certain as their number suggests: many of them lie near the same few
real rows. Rows that share a nearest real row are therefore drawn together (a bootstrap of
clusters). The interval of a ROC AUC is DeLong's: with :math:`V_i` the share of new rows that real
row i lies below and :math:`W_j` the share of real rows that new row j lies above,

.. math:: \mathrm{var} = \mathrm{var}(V)/n + \mathrm{var}(W)/m .
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["Interval", "auc_interval", "clustered_share", "wilson"]

Interval = tuple[float, float]
Floats = NDArray[np.float64]

_DRAWS = 400
_Z = 1.96


def auc_interval(real: Floats, new: Floats) -> tuple[float, Interval]:
    """Compute the area under the ROC curve of scores, and DeLong's interval.

    Examples
    --------
    >>> round(auc_interval(np.array([0.1, 0.4, 0.35]), np.array([0.8, 0.3, 0.5]))[0], 3)
    0.778
    """
    n, m = len(real), len(new)
    both = stats.rankdata(np.concatenate([real, new]))
    above = (both[n:] - stats.rankdata(new)) / n
    below = 1 - (both[:n] - stats.rankdata(real)) / m
    value = float(above.mean())
    error = np.sqrt(below.var(ddof=1) / n + above.var(ddof=1) / m) if min(n, m) > 1 else 0.5
    return value, (float(max(0.0, value - _Z * error)), float(min(1.0, value + _Z * error)))


def clustered_share(
    hits: Floats, clusters: NDArray[np.int64], rng: np.random.Generator
) -> tuple[float, Interval]:
    """Compute the mean of rows that come in clusters, with the interval of a bootstrap of these.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> share, (low, high) = clustered_share(np.ones(5), np.arange(5), rng)
    >>> float(share), low, high
    (1.0, 1.0, 1.0)
    """
    places = np.unique(clusters, return_inverse=True)[1]
    sums, sizes = np.bincount(places, hits), np.bincount(places)
    weights = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), _DRAWS)
    shares = (weights @ sums) / (weights @ sizes)
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(hits.mean()), (float(low), float(high))


def wilson(share: float, n: int) -> Interval:
    """Return Wilson's interval of a share of ``n`` independent rows.

    Examples
    --------
    >>> [round(end, 2) for end in wilson(0.5, 100)]
    [0.4, 0.6]
    """
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    reach = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n)) / (1 + _Z**2 / n)
    return float(max(0.0, middle - reach)), float(min(1.0, middle + reach))
