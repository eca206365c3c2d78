"""The settings of a method: declared once, with what each may be and what it decides.

A method's settings are a frozen dataclass whose every field is a :func:`setting`. From that one
declaration follow the checks of a sampler's parameters, the checks of a model file, what a
checkpoint is known by, and which settings two models must share to have the same pre-training.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Literal, Protocol

from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

from mgvae.common.shown import shown
from mgvae.errors import ParameterError
from mgvae.training import Schedule, constant, cosine

__all__ = [
    "AUTO",
    "COUNT",
    "POSITIVE",
    "STEPS",
    "Decides",
    "Stage",
    "as_plain",
    "check_settings",
    "choice",
    "complete",
    "count_steps",
    "is_auto",
    "layer_sizes",
    "make_stage",
    "parameter_rules",
    "setting",
]

Decides = Literal["pre-training", "fine-tuning", "generation"]

AUTO = StrOptions({"auto"})
COUNT = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
STEPS = [Interval(Integral, 0, None, closed="left"), str]


def setting(*rules: Any, decides: Decides, before: Any = MISSING) -> Any:
    """Declare a field of a settings class.

    Parameters
    ----------
    *rules : object
        What it may be, as in scikit-learn's ``_parameter_constraints``.
    decides : {"pre-training", "fine-tuning", "generation"}
        The first thing that depends on it.
    before : object, optional
        Its value in model files that were written before there was such a setting.
    """
    return field(default=before, metadata={"rules": list(rules), "decides": decides})


def choice(*words: str) -> StrOptions:
    """Declare that a setting is one of some words."""
    return StrOptions(set(words))


def parameter_rules(settings: type, *, auto: bool = True) -> dict[str, list[Any]]:
    """Return what each setting may be, as constraints of a sampler's parameters.

    Parameters
    ----------
    settings : type
        A settings class.
    auto : bool
        Whether every one may also be ``"auto"``.
    """
    return {
        f.name: [*f.metadata["rules"], *([AUTO] if auto else [])]
        for f in fields(settings)
        if "rules" in f.metadata
    }


def check_settings(settings: Any) -> None:
    """Raise if a setting is not what it may be."""
    values = {f.name: getattr(settings, f.name) for f in fields(settings)}
    try:
        validate_parameter_constraints(
            parameter_rules(type(settings), auto=False), values, type(settings).__name__
        )
    except InvalidParameterError as error:
        raise ParameterError(str(error)) from None
    if "hidden_sizes" in values:
        layer_sizes(values["hidden_sizes"])
    for name, value in values.items():
        if name.endswith("steps") and isinstance(value, str):
            _read_epochs(value, name)


def complete(
    settings: type, defaults: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a value for every field: the given one, or the default where that is ``"auto"``.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Example:
    ...     size: int = setting(COUNT, decides="generation")
    >>> complete(Example, {"size": 3, "other": 1}, {"size": "auto"})
    {'size': 3}
    """
    values = {}
    for f in fields(settings):
        value = given.get(f.name, "auto")
        values[f.name] = defaults.get(f.name, value) if is_auto(value) else value
    return values


def is_auto(value: Any) -> bool:
    """Tell whether a parameter is left to the data's default."""
    return isinstance(value, str) and value == "auto"


def as_plain(settings: Any, decides: Sequence[Decides] | None = None) -> dict[str, Any]:
    """Return settings by name, a network that is a function by its name.

    Parameters
    ----------
    settings : dataclass
        The settings.
    decides : sequence of str, optional
        Only those that decide one of these things.
    """
    chosen = {
        f.name for f in fields(settings) if decides is None or f.metadata.get("decides") in decides
    }
    return {
        name: _function_name(value) if callable(value) else value
        for name, value in asdict(settings).items()
        if name in chosen
    }


def _function_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{function.__module__}.{name}"


@dataclass(frozen=True)
class Stage:
    """How one stage of training is run.

    Parameters
    ----------
    steps : int
        Steps to take (the paper's T1 and T2).
    learning_rate : float
        Adam's, at the start.
    schedule : callable or None
        Factor on the learning rate by step.
    batch_size : int
        Distinct rows in a batch; all rows if there are fewer.
    n_exemplars : int
        Majority rows drawn for the prior in a step (the paper's S).
    leave_one_out : bool
        Forbid a row to be its own exemplar.
    n_remembered : int
        Latent means of the latest steps' exemplars that stand for the prior besides the step's
        own. They cost nothing to speak of, but no gradient flows to them.
    clip_norm : float or None
        Largest norm of the gradient.
    """

    steps: int
    learning_rate: float
    schedule: Schedule | None
    batch_size: int
    n_exemplars: int = 0
    leave_one_out: bool = False
    n_remembered: int = 0
    clip_norm: float | None = None


class HasStages(Protocol):
    """Settings that all stages of a training share."""

    @property
    def batch_size(self) -> int: ...
    @property
    def schedule(self) -> str: ...
    @property
    def clip_norm(self) -> float | None: ...


def make_stage(
    settings: HasStages,
    steps: int | str,
    learning_rate: float,
    n_rows: int,
    *,
    n_exemplars: int = 0,
    n_remembered: int = 0,
    leave_one_out: bool = False,
) -> Stage:
    """Put the settings of one stage of training together."""
    count = count_steps(steps, n_rows, settings.batch_size)
    return Stage(
        steps=count,
        learning_rate=learning_rate,
        schedule=cosine(count) if settings.schedule == "cosine" and count else constant(),
        batch_size=settings.batch_size,
        n_exemplars=n_exemplars,
        leave_one_out=leave_one_out,
        n_remembered=n_remembered,
        clip_norm=settings.clip_norm,
    )


def count_steps(steps: int | str, n_rows: int, batch_size: int) -> int:
    """Read a number of steps, or of passes over the rows, which may be bounded.

    Examples
    --------
    >>> count_steps("3 epochs", n_rows=250, batch_size=100)
    9
    >>> count_steps("3 epochs, at most 5 steps", n_rows=250, batch_size=100)
    5
    """
    if not isinstance(steps, str):
        return int(steps)
    epochs, most = _read_epochs(steps, "steps")
    count = epochs * math.ceil(n_rows / batch_size)
    return count if most is None else min(count, most)


def _read_epochs(text: str, name: str) -> tuple[int, int | None]:
    """Read passes over the rows, and the most steps; ``name`` is the parameter, for messages."""
    found = re.fullmatch(r"\s*(\d{1,18})\s*epochs?(?:,\s*at most\s+(\d{1,18})\s+steps)?\s*", text)
    if found is None:
        raise ParameterError(
            f'{name} must be a whole number or a text such as "200 epochs" or "200 epochs, at most '
            f'8000 steps"; got {shown(text)}.'
        )
    return int(found[1]), None if found[2] is None else int(found[2])


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
