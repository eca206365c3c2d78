"""New rows that are not what the user or the table's own relations ask for are made again."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mgvae.errors import CodecWarning, DataError, Setting
from mgvae.storage import FittedState

__all__ = ["Constraints", "keep_constraints", "predicates_of", "texts_of"]

Constraints = Literal["auto"] | Sequence[str | Callable[[Any], Any]] | None

_ROUNDS = 50  # of making rows again


def texts_of(constraints: Any) -> Any:
    """Return the part of ``constraints`` that the codec keeps: all but the functions.

    Examples
    --------
    >>> texts_of(["a <= b", len]), texts_of("auto")
    (['a <= b'], 'auto')
    """
    if isinstance(constraints, list | tuple):
        return [one for one in constraints if not callable(one)]
    return constraints


def predicates_of(constraints: Any) -> list[Callable[[Any], Any]]:
    """Return the functions among ``constraints``."""
    listed = constraints if isinstance(constraints, list | tuple) else ()
    return [one for one in listed if callable(one)]


def keep_constraints(
    state: FittedState,
    rows: Any,
    again: Callable[[NDArray[np.intp]], Any],
    name: str,
) -> Any:
    """Replace the rows that break a relation or a user's predicate by rows that are made again.

    Parameters
    ----------
    state : FittedState
        What the rows shall be.
    rows : object
        Decoded rows.
    again : callable
        Makes rows again, given the positions of those to replace.
    name : str
        The class, for messages.

    Returns
    -------
    rows : object
        If some are still not what they shall be after 50 rounds, there is a warning; if none is, an
        error.
    """
    broken = state.broken(rows)
    if broken is None or not broken.any():
        return rows
    n = len(broken)
    left = np.flatnonzero(broken)
    for _ in range(_ROUNDS):
        others = again(left)
        rows = state.samples.replaced(rows, left, others)
        wrong = state.broken(others)
        left = left[:0] if wrong is None else left[wrong]
        if not left.size:
            return rows
    if left.size == n and n > 1:
        raise DataError(
            f"None of {n} new rows of class {name} keeps what ",
            Setting("constraints"),
            f" asks for, after {_ROUNDS} attempts for each. Correct the constraint.",
        )
    words = f"{left.size} of {n} new rows of class {name} do not keep what "
    rest = f" asks for, after {_ROUNDS} attempts for each."
    warnings.warn(CodecWarning(words, Setting("constraints"), rest), stacklevel=2)
    return rows
