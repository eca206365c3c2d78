r"""Shares: how large the minority becomes beside the majority, and which share is believed.

How many new rows are best differs by classifier and by table. ``"auto"`` trains members at full
balance and at half of it, and a few without any new row, and lets out-of-bag predictions say what
each share is worth. With the share :math:`g(i)` of member :math:`i`, its probability :math:`p_i(x)`
of the true class of a row that was out of its bag (:math:`o_i = 1`), and weights
:math:`w_g = e^{\theta_g}`, it maximises

.. math::
    \sum_x \log \frac{\sum_i o_i w_{g(i)} p_i(x)}{\sum_i o_i w_{g(i)}}
    - \frac{1}{2 \tau^2} \sum_g (\theta_g - c_g)^2 .

The centres :math:`c_g` are 0, and -2 for members without new rows: on most tables these are worse,
so they count for little until rows insist that they are better. The members without new rows have
the bags of the first members with them, so that both are judged by the same rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from mgvae.classifiers.bags import Positions
from mgvae.classifiers.priors import Floats, class_shares

__all__ = ["AUTO", "OutOfBag", "Place", "average_out_of_bag", "places", "weigh"]

AUTO = (1.0, 1.0, 0.5)
"""The shares that ``"auto"`` gives to the members with new rows, in turn."""

_DRAWS_FOR_ONE_WITHOUT = 5
_CENTRE_WITHOUT = -2.0  # c of members without new rows
_SPREAD = 0.5  # tau: how far weights move away from their centres before rows insist


class OutOfBag(NamedTuple):
    """What a member says of the rows that were not in its bag."""

    rows: Positions
    probabilities: Floats


class Place(NamedTuple):
    """What a member is: the share of its new rows, and the number of the bag that it sees."""

    share: float | None
    bag: int


def places(shares: Sequence[float | None], n_draws: int, *, auto: bool = False) -> list[Place]:
    """Return what the members of an ensemble are.

    Parameters
    ----------
    shares : sequence
        Shares of the draws, in turn.
    n_draws : int
        How many draws.
    auto : bool
        Whether there is also one member without new rows for every five draws.

    Examples
    --------
    >>> [share for share, _ in places(AUTO, 5, auto=True)]
    [1.0, 1.0, 0.5, 1.0, 1.0, 0.0]
    """
    drawn = [Place(shares[i % len(shares)], i) for i in range(n_draws)]
    without = n_draws // _DRAWS_FOR_ONE_WITHOUT if auto else 0
    return [*drawn, *(Place(0.0, i) for i in range(without))]


def weigh(
    shares: Sequence[float | None],
    out: Sequence[OutOfBag],
    codes: Positions,
    weight: Floats | None = None,
) -> Floats:
    """Return the weight of each member, by what its share is worth out of bag.

    Parameters
    ----------
    shares : sequence
        The share of each member.
    out : sequence of OutOfBag
        What each member says, at the true shares of the classes.
    codes : ndarray of int
        The class of each row.
    weight : ndarray, optional
        The weight of each row.

    Returns
    -------
    weights : ndarray of shape (n_members,)
        They sum to one.

    Examples
    --------
    >>> rows, good = np.arange(50), np.full((50, 2), [0.9, 0.1])
    >>> said = [OutOfBag(rows, good), OutOfBag(rows, 1 - good)]
    >>> weights = weigh([1.0, 0.0], said, np.zeros(50, int))
    >>> bool(weights[0] > 0.9)
    True
    """
    known = list(dict.fromkeys(shares))
    group = np.array([known.index(share) for share in shares])
    if len(known) == 1 or not any(len(rows) for rows, _ in out):
        return np.full(len(shares), 1 / len(shares))
    n, size = len(codes), len(known)
    there, said = np.zeros((size, n)), np.zeros((size, n))
    for g, (rows, probabilities) in zip(group, out, strict=True):
        there[g, rows] += 1.0
        said[g, rows] += probabilities[np.arange(len(rows)), codes[rows]]
    seen = there.sum(0) > 0
    usual = class_shares(codes, int(codes.max()) + 1, weight)[codes[seen]]
    least = 1 / seen.sum()  # of the usual share: no row alone decides
    there = there[:, seen]
    said = (1 - least) * said[:, seen] + least * usual * there
    counts = np.ones(seen.sum()) if weight is None else weight[seen] / weight[seen].mean()
    centre = np.where([share == 0.0 for share in known], _CENTRE_WITHOUT, 0.0)

    def loss(theta: Floats) -> tuple[float, Floats]:
        w = np.exp(theta - theta.max())
        above, below = w @ said, w @ there
        gradient = w * ((said / above - there / below) @ counts)
        value = counts @ (np.log(above) - np.log(below))
        away = theta - centre
        penalty = float(away @ away) / (2 * _SPREAD**2)
        return float(penalty - value), away / _SPREAD**2 - gradient

    theta = minimize(loss, centre, jac=True, method="L-BFGS-B").x
    weights = np.exp(theta - theta.max())[group]
    normed: Floats = weights / weights.sum()
    return normed


def average_out_of_bag(out: Sequence[OutOfBag], weights: Floats, n_rows: int) -> Floats:
    """Average what members say of each row that was out of their bags.

    Returns
    -------
    probabilities : ndarray of shape (n_rows, n_classes)
        NaN for a row that was in every bag.
    """
    total, below = np.zeros((n_rows, out[0].probabilities.shape[1])), np.zeros((n_rows, 1))
    for (rows, probabilities), w in zip(out, weights, strict=True):
        total[rows] += w * probabilities
        below[rows] += w
    seen = below[:, 0] > 0
    averaged: Floats = np.full_like(total, np.nan)
    averaged[seen] = total[seen] / total[seen].sum(1, keepdims=True)
    return averaged
