"""How users write sizes and lengths."""

import math
import re
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from sklearn.utils._param_validation import Interval

from mgvae.errors import ParameterError
from mgvae.methods.mgvae.learning import Stage
from mgvae.training import constant, cosine

__all__ = ["count_steps", "layer_sizes", "refuse_booleans", "stage"]


class HasStages(Protocol):
    """A sampler with the settings that all stages of its training share."""

    batch_size: int
    schedule: str
    clip_norm: float | None


def stage(
    sampler: HasStages,
    steps: int | str,
    learning_rate: float,
    n_rows: int,
    *,
    n_exemplars: int = 0,
    n_remembered: int = 0,
    leave_one_out: bool = False,
) -> Stage:
    """Put the settings of one stage of training together."""
    count = count_steps(steps, n_rows, sampler.batch_size)
    return Stage(
        steps=count,
        learning_rate=learning_rate,
        schedule=cosine(count) if sampler.schedule == "cosine" and count else constant(),
        batch_size=sampler.batch_size,
        n_exemplars=n_exemplars,
        leave_one_out=leave_one_out,
        n_remembered=n_remembered,
        clip_norm=sampler.clip_norm,
    )


def count_steps(steps: int | str, n_rows: int, batch_size: int) -> int:
    """Read a number of steps, or of passes over the rows.

    Examples
    --------
    >>> count_steps("3 epochs", n_rows=250, batch_size=100)
    9
    """
    if not isinstance(steps, str):
        return int(steps)
    found = re.fullmatch(r"\s*(\d+)\s*epochs?\s*", steps)
    if found is None:
        raise ParameterError(
            f'steps must be a whole number or a text such as "200 epochs"; got {steps!r}.'
        )
    return int(found[1]) * math.ceil(n_rows / batch_size)


def layer_sizes(hidden_sizes: Sequence[int]) -> list[int]:
    """Read the widths of hidden layers.

    Examples
    --------
    >>> layer_sizes((300, 300))
    [300, 300]
    """
    sizes = list(hidden_sizes)
    if not sizes or not all(isinstance(size, Integral) and size >= 1 for size in sizes):
        raise ParameterError(
            "hidden_sizes must be one or more whole numbers of at least 1, such as (128, 128); "
            f"got {hidden_sizes!r}."
        )
    return [int(size) for size in sizes]


def refuse_booleans(sampler: Any) -> None:
    """Raise where a number is wanted: to Python True is one, to torch it is not."""
    for name, value in sampler.get_params(deep=False).items():
        wanted = sampler._parameter_constraints.get(name, ())
        if isinstance(value, bool | np.bool_) and any(isinstance(w, Interval) for w in wanted):
            raise ParameterError(f"{name} must be a number; got {value!r}.")
