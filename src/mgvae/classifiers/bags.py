"""Bags: the real rows that each member of an ensemble sees, and those that it does not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Positions", "draw_bag", "out_of_bag"]

Positions = NDArray[np.intp]


def draw_bag(
    codes: NDArray[Any], seeds: np.random.SeedSequence, groups: NDArray[Any] | None = None
) -> Positions:
    """Draw a bootstrap of the rows, each class as often as it is there.

    Parameters
    ----------
    codes : ndarray of int
        The class of each row.
    seeds : numpy.random.SeedSequence
        Decides.
    groups : ndarray of int, optional
        Rows of one group are drawn together, so that a row that is out of a bag has no relative in
        it. Groups are drawn within strata, each of the groups with the same rarest class.

    Returns
    -------
    bag : ndarray of int
        Positions of rows, sorted by class; every class is there.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 0, 1, 1])
    >>> codes[draw_bag(codes, np.random.SeedSequence(0))]
    array([0, 0, 0, 0, 1, 1])
    """
    rng = np.random.default_rng(seeds)
    members = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    if groups is None:
        return np.concatenate([rng.choice(rows, len(rows)) for rows in members])
    rarity = np.argsort(np.argsort([-len(rows) for rows in members], kind="stable"))
    rarest = np.zeros(int(groups.max()) + 1, np.int64)
    np.maximum.at(rarest, groups, rarity[codes])
    drawn = [
        rng.choice(g, len(g)) for g in (np.flatnonzero(rarest == r) for r in np.unique(rarest))
    ]
    times = np.bincount(np.concatenate(drawn), minlength=len(rarest))
    for rows in members:
        if not times[groups[rows]].any():  # a class whose every group stayed out
            times[rng.choice(groups[rows])] += 1
    return np.concatenate([np.repeat(rows, times[groups[rows]]) for rows in members])


def out_of_bag(bag: Positions, n_rows: int) -> Positions:
    """Return the rows that are not in a bag.

    Examples
    --------
    >>> out_of_bag(np.array([1, 1, 3]), 5)
    array([0, 2, 4])
    """
    out = np.ones(n_rows, bool)
    out[bag] = False
    return np.flatnonzero(out)
