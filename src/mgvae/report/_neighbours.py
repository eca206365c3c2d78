"""Figures of synthetic rows from nearest neighbours.

Coverage and density are those of Naeem et al. (ICML 2020). Each real row has a ball that reaches to
its k-th real neighbour. Coverage is the share of balls that hold a synthetic row. Density is the
mean number of balls that a synthetic row lies in, divided by k.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

__all__ = ["Closeness", "closeness", "coverage_density", "foreign_share", "spread"]

Floats = NDArray[np.float64]

K = 5


@dataclass(frozen=True)
class Closeness:
    """Distances of rows to the nearest of some others.

    Parameters
    ----------
    nearest : ndarray
        The distance to the closest record.
    ratio : ndarray
        The same divided by the distance to the second closest; 1 where both are 0.
    index : ndarray of int
        The position of the closest record.
    """

    nearest: Floats
    ratio: Floats
    index: NDArray[np.int64]


def closeness(rows: Floats, to: Floats, *, same: bool = False) -> Closeness:
    """Find the nearest records.

    With ``same`` the rows are those of ``to``, and each is left out in turn.

    Examples
    --------
    >>> closeness(np.array([[0.0]]), np.array([[3.0], [1.0]])).ratio
    array([0.33333333])
    """
    distances, places = _search(rows, to, 3 if same else 2)
    if same:  # a row's own distance is 0, and so the first, but of equal rows any may be that
        distances, places = distances[:, 1:], _others(places)
    first, second = distances[:, 0], distances[:, -1]
    ratio = np.divide(first, second, out=np.ones_like(first), where=second > 0)
    return Closeness(first, ratio, places[:, 0])


def coverage_density(real: Floats, synthetic: Floats) -> tuple[float, float]:
    """Compute coverage and density.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> coverage_density(rows, rows)[0]
    1.0
    """
    k = min(K, len(real) - 1)
    radii = _search(real, real, k + 1)[0][:, -1]
    distances = _all(synthetic, real)
    inside = distances <= radii
    return float(inside.any(0).mean()), float(inside.sum(1).mean() / k)


def foreign_share(rows: Floats, own: Floats, foreign: Floats, *, same: bool = False) -> float:
    """Compute the share of rows that have mostly foreign nearest neighbours.

    Parameters
    ----------
    rows : ndarray
        The rows in question; with ``same`` those of ``own``, each left out in turn.
    own, foreign : ndarray
        The records around them.
    same : bool
        Whether ``rows`` is ``own``.

    Examples
    --------
    >>> own, foreign = np.zeros((6, 1)), np.ones((6, 1))
    >>> foreign_share(np.array([[0.1], [0.9]]), own, foreign)
    0.5
    """
    both = np.concatenate([own, foreign])
    k = min(K, len(both) - 1)
    places = _search(rows, both, k + same)[1]
    if same:
        places = _others(places)
    return float(np.mean((places >= len(own)).mean(1) > 0.5))


def spread(rows: Floats) -> float:
    """Compute the root of the summed variances, the distance of rows from their mean.

    Examples
    --------
    >>> spread(np.array([[0.0, 0.0], [6.0, 8.0]]))
    5.0
    """
    return float(np.sqrt(rows.var(0).sum()))


def _search(rows: Floats, to: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
    found = NearestNeighbors(n_neighbors=min(k, len(to)), algorithm="brute").fit(to)
    distances, places = found.kneighbors(rows)
    return distances, places


def _all(rows: Floats, to: Floats) -> Floats:
    distances: Floats = pairwise_distances(rows, to)
    return distances


def _others(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop each row's own place among its neighbours, or the last where it is not among them."""
    own = places == np.arange(len(places))[:, None]
    own[~own.any(1), -1] = True
    others: NDArray[np.int64] = places[~own].reshape(len(places), -1)
    return others
