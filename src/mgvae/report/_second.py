"""A second sampler, which has not seen a part of the class: the figures are about its rows.

Rows cannot be judged by the rows that they were made from: an exact copy would get the best marks.
Therefore a part of every class that gets new rows is held out, a copy of the sampler learns from
the rest, and its rows are compared with the rows that were held out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mgvae.codec import Column, cell_texts, take_rows

__all__ = ["ENOUGH", "SecondRows", "second_rows"]

Positions = NDArray[np.int64]

ENOUGH = 20
"""Rows that a class needs for a part of it to be held out."""


@dataclass(frozen=True)
class SecondRows:
    """What a second sampler learned from, and made.

    Parameters
    ----------
    learned, held_out : ndarray of int
        Positions of the real rows that it saw, of all classes, and of those that it did not.
    X, y : object
        Its new rows and their classes.
    sampler : object
        The second sampler, fitted.
    """

    learned: Positions
    held_out: Positions
    X: Any
    y: Any
    sampler: Any


def second_rows(
    sampler: Any,
    X: Any,
    y: NDArray[Any],
    wanted: Mapping[str, int],
    part: float,
    seeds: np.random.SeedSequence,
) -> SecondRows | None:
    """Hold a part of some classes out, let a copy of a sampler learn from the rest, and make rows.

    Parameters
    ----------
    sampler : object
        Any over-sampler of imbalanced-learn's kind; it is not touched.
    X, y : table and array
        The real rows.
    wanted : mapping of str to int
        How many rows to make at most, by class.
    part : float
        The part to be held out.
    seeds : numpy.random.SeedSequence
        Decides the part, and the sampler.

    Returns
    -------
    rows : SecondRows or None
        None if no class is large enough.
    """
    rng = np.random.default_rng(seeds)
    labels = cell_texts(Column("y", y))
    held: list[Positions] = []
    order: dict[Any, int] = {}
    for label, n_new in wanted.items():
        members = np.flatnonzero(labels == label)
        n_held = round(part * len(members))
        if len(members) < ENOUGH or min(n_held, len(members) - n_held) < ENOUGH // 2:
            continue
        held.append(rng.permutation(members)[:n_held])
        n_left = len(members) - n_held
        order[y[members[0]]] = n_left + max(n_new, n_held)
    if not held:
        return None
    held_out = np.sort(np.concatenate(held))
    learned = np.setdiff1d(np.arange(len(y)), held_out)
    copy = _copy(sampler, order, int(rng.integers(2**31)))
    X_all, y_all = copy.fit_resample(take_rows(X, learned), y[learned])
    new = np.arange(len(learned), len(y_all))
    return SecondRows(learned, held_out, take_rows(X_all, new), np.asarray(y_all)[new], copy)


def _copy(sampler: Any, order: Mapping[Any, int], seed: int) -> Any:
    """Return an unfitted copy that makes what is ordered, in silence and without checkpoints."""
    changes = {
        "sampling_strategy": dict(order),
        "random_state": seed,
        "checkpoint": None,
        "callback": None,
        "verbose": False,
    }
    copy = clone(sampler)
    known = copy.get_params(deep=False)
    return copy.set_params(**{name: v for name, v in changes.items() if name in known})
