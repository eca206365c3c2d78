r"""Shares: how large the minority becomes beside the majority, and which share is believed.

How many new rows are best differs by classifier and by table: a large share ranks well, a small one
keeps the rows of the data in charge. ``"auto"`` trains the members at several shares in turn, none
among them, and lets their out-of-bag predictions decide what each share is worth. With the share
:math:`g(i)` of member :math:`i`, its probability :math:`p_i(x)` of the true class of a row that was
out of its bag (:math:`o_i = 1`), and weights :math:`w_g = e^{\theta_g}`, it maximises

.. math::
    \sum_x \log \frac{\sum_i o_i w_{g(i)} p_i(x)}{\sum_i o_i w_{g(i)}}
    - \frac{1}{2 \tau^2} \sum_g \theta_g^2 .

So the shares count alike where the rows say little, and one that does harm counts for nothing where
they say much. This costs no further member.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from mgvae.classifiers.bags import Positions
from mgvae.classifiers.priors import Floats

__all__ = ["AUTO", "OutOfBag", "average_out_of_bag", "spread", "weigh"]

AUTO = (0.5, 1.0, 0.0)
"""The shares among which ``"auto"`` divides the members, in their order."""

_SPREAD = 1.0  # tau: how far the weights may move away from each other before rows insist
_LEAST = 1e-3  # added to a probability, so that one row alone decides nothing


class OutOfBag(NamedTuple):
    """What a member says of the rows that were not in its bag."""

    rows: Positions
    probabilities: Floats


def spread(shares: Sequence[float | None], n: int) -> list[float | None]:
    """Give each of ``n`` members a share, in turn.

    Examples
    --------
    >>> spread((0.5, 1.0, 0.0), 4)
    [0.5, 1.0, 0.0, 0.5]
    """
    return [shares[i % len(shares)] for i in range(n)]


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
    >>> weights = weigh([0.0, 1.0], said, np.zeros(50, int))
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
    there, said = there[:, seen], said[:, seen] + _LEAST * there[:, seen]
    counts = np.ones(seen.sum()) if weight is None else weight[seen] / weight[seen].mean()

    def loss(theta: Floats) -> tuple[float, Floats]:
        w = np.exp(theta - theta.max())
        above, below = w @ said, w @ there
        gradient = w * ((said / above - there / below) @ counts)
        value = counts @ (np.log(above) - np.log(below))
        penalty = float(theta @ theta) / (2 * _SPREAD**2)
        return float(penalty - value), theta / _SPREAD**2 - gradient

    theta = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B").x
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
    averaged: Floats = np.divide(total, below, out=np.full_like(total, np.nan), where=below > 0)
    return averaged
