r"""The one training loop.

It serves pre-training, fine-tuning, the conditional VAE, the GANs and the classifiers, and knows
nothing of any of them. A model takes part as one or more *players*: a set of parameters with an
optimiser and a function that returns the loss the player lowers. A VAE or a classifier is one
player, a GAN two. In step :math:`t` every player in turn computes its loss, takes its gradient,
clips it and moves by its optimiser, at the learning rate

.. math:: \eta_t = \eta_0 \, f(t), \qquad f \in \{1,\ \tfrac12(1+\cos \pi t/T),\ \gamma^{t/E}\}.

The loop also records the history of every named loss term, notices divergence, and stops early when
a validation value no longer falls. It then restores the modules as they were at their best.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from mgvae.common.allocation import kept_memory
from mgvae.common.notebook import axes, data_frame, html_table
from mgvae.common.progress import Callback
from mgvae.errors import DivergenceError
from mgvae.training.checkpoints import StageFile, Stateful

__all__ = [
    "Averages",
    "Callback",
    "History",
    "Player",
    "Schedule",
    "Validation",
    "constant",
    "cosine",
    "exponential",
    "train",
]

Schedule = Callable[[int], float]

_FLUSH = 20  # steps between two looks at the losses (a look waits for the device)
_EXPLODED = 1e4  # a loss this many times larger than at the start, ...
_RISING = 5  # ... and still rising over this many looks, has exploded (a penalty's peak has not)


class Averages(Protocol):
    """Several processes that train one model."""

    def average(
        self, parameters: Sequence[Tensor], terms: Mapping[str, Tensor | float]
    ) -> Mapping[str, Tensor | float]:
        """Replace gradients by their means over the processes; return the means of the terms."""


@dataclass
class Player:
    """Parameters that lower one loss.

    Parameters
    ----------
    loss : callable
        Called with the number of the step; returns the named terms of its loss, scalars.
    optimizer : torch.optim.Optimizer
        Built over the player's parameters. The learning rates of its groups are the ones at the
        start; the schedule scales them.
    lowers : str
        Name of the term that is lowered; the others are only recorded.
    differentiates : bool
        Whether ``loss`` leaves its gradient in the parameters itself, without autograd.
    """

    loss: Callable[[int], Mapping[str, Tensor | float]]
    optimizer: torch.optim.Optimizer
    lowers: str = "loss"
    differentiates: bool = False

    def parameters(self) -> list[Tensor]:
        """Return every parameter that the optimiser moves."""
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def differentiate(self, step: int) -> Mapping[str, Tensor | float]:
        """Return the terms of the loss; its gradient is then in the parameters."""
        if self.differentiates:
            return self.loss(step)
        for parameter in self.parameters():
            parameter.grad = None
        terms = self.loss(step)
        torch.as_tensor(terms[self.lowers]).backward()  # type: ignore[no-untyped-call]
        return terms


@dataclass
class Validation:
    """When to look at a validation value, and when to stop.

    Parameters
    ----------
    value : callable
        Returns the current value; lower is better.
    modules : sequence of torch.nn.Module
        Restored as they were at the lowest value.
    every : int
        Steps between two looks.
    patience : int or None
        Looks without a new lowest value after which training stops; None never stops early and
        only restores the best state.
    """

    value: Callable[[], float]
    modules: Sequence[nn.Module]
    every: int
    patience: int | None = None


@dataclass(repr=False)
class History:
    """What happened in one stage of training.

    .. versionadded:: 0.1

    Attributes
    ----------
    stage : str
        The stage's name, as shown to people.
    terms : dict of str to list of float
        Every named loss term, one value per step.
    validation : list of (int, float)
        Steps taken and the validation value seen there.
    best_step : int or None
        Steps taken when the validation value was lowest; None without validation.
    stopped_early : bool
        Whether the loop ended before its last step.
    seconds : float
        Time the stage took.

    See Also
    --------
    mgvae.MGVAE : Its ``history_`` has one for each stage.
    """

    stage: str
    terms: dict[str, list[float]] = field(default_factory=dict)
    validation: list[tuple[int, float]] = field(default_factory=list)
    best_step: int | None = None
    stopped_early: bool = False
    seconds: float = 0.0

    @property
    def steps(self) -> int:
        """Steps taken."""
        return max((len(values) for values in self.terms.values()), default=0)

    def __repr__(self) -> str:
        ends = [
            f"{name} {values[0]:.4g} to {values[-1]:.4g}"
            for name, values in self.terms.items()
            if values
        ]
        early = ", stopped early" if self.stopped_early else ""
        return (
            f"<History of {self.stage}: {self.steps:,} steps{early} in {self.seconds:.1f} s; "
            f"{', '.join(ends)}>"
        )

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{values[0]:.4g}", f"{values[-1]:.4g}")
            for name, values in self.terms.items()
            if values
        ]
        return html_table(
            f"{self.stage}: {self.steps:,} steps in {self.seconds:.1f} s",
            ("term", "first step", "last step"),
            rows,
        )

    def to_frame(self) -> Any:
        """Return the loss terms as a pandas DataFrame, one row for each step."""
        columns = {name: values for name, values in self.terms.items() if len(values) == self.steps}
        return data_frame({"step": range(self.steps), **columns})

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss terms over the steps; return matplotlib's axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure unless given.
        """
        (place, *_) = axes(ax)
        for name, values in self.terms.items():
            place.plot(range(len(values)), values, label=name)
        if self.validation:
            place.plot(*zip(*self.validation, strict=True), "o-", label="validation")
        if self.best_step is not None:
            place.axvline(self.best_step, linestyle="--", color="grey")
        place.set(title=self.stage, xlabel="step")
        place.legend()
        return place

    def state_dict(self) -> dict[str, Any]:
        """Return the history as plain data."""
        return asdict(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` returned."""
        vars(self).update(state)
        self.validation = [(step, value) for step, value in state["validation"]]


def constant() -> Schedule:
    """Return a schedule that keeps the learning rate as it is.

    Examples
    --------
    >>> constant()(100)
    1.0
    """
    return _unchanged


def cosine(steps: int) -> Schedule:
    """Return a schedule along half a cosine, which falls to zero.

    Examples
    --------
    >>> [round(cosine(4)(t), 2) for t in range(5)]
    [1.0, 0.85, 0.5, 0.15, 0.0]
    """
    return partial(_half_cosine, steps)


def exponential(decay: float, every: int) -> Schedule:
    """Return a schedule that multiplies the rate by ``decay`` after every ``every`` steps.

    Examples
    --------
    >>> [exponential(0.5, 2)(t) for t in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    return partial(_decayed, decay, every)


# Not functions inside of functions, which cannot be sent to other processes by plain pickle.
def _unchanged(step: int) -> float:  # noqa: ARG001
    return 1.0


def _half_cosine(steps: int, step: int) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * min(step, steps) / steps))


def _decayed(decay: float, every: int, step: int) -> float:
    return decay ** (step // every)


def train(
    players: Sequence[Player],
    *,
    stage: str,
    steps: int,
    schedule: Schedule | None = None,
    clip_norm: float | None = None,
    validation: Validation | None = None,
    callback: Callback | None = None,
    parts: Sequence[Stateful] = (),
    file: StageFile | None = None,
    team: Averages | None = None,
) -> History:
    """Take ``steps`` training steps.

    Parameters
    ----------
    players : sequence of Player
        Who moves in each step, in this order.
    stage : str
        Name of the stage in the history, in errors and for the callback.
    steps : int
        Steps to take.
    schedule : callable, optional
        Factor on every learning rate by step; constant by default.
    clip_norm : float, optional
        Largest norm of a player's gradient.
    validation : Validation, optional
        Early stopping and the choice of the best state.
    callback : callable, optional
        Called as ``callback(stage, done, steps, terms)`` every few steps and at the end.
    parts : sequence
        What the losses change besides the optimisers' own: modules, generators.
    file : StageFile, optional
        Stores the state while the loop runs; the loop continues from what it finds there.
    team : Averages, optional
        The processes that take every step together, each with losses of its own, such as
        :class:`mgvae.training.team.Team`: gradients and terms are averaged.

    Returns
    -------
    history : History
        Every loss term by step, and what validation found.

    Raises
    ------
    mgvae.errors.DivergenceError
        When a loss is not finite or has exploded.

    Examples
    --------
    >>> import torch
    >>> from mgvae.training import Player, train
    >>> w = torch.nn.Parameter(torch.tensor(3.0))
    >>> player = Player(lambda step: {"loss": w**2}, torch.optim.SGD([w], lr=0.1))
    >>> history = train([player], stage="example", steps=50)
    >>> history.steps, bool(w.abs() < 1e-4)
    (50, True)
    """
    started = time.perf_counter()
    schedule = schedule or constant()
    history = History(stage)
    losses = _Losses(history, [player.lowers for player in players])
    base_rates = [[group["lr"] for group in p.optimizer.param_groups] for p in players]
    best = _Best(validation) if validation else None
    moving = [*parts, *(p.optimizer for p in players), history, losses, *([best] if best else [])]
    done = 0
    if file is not None:
        if file.finished([*parts, history]):
            if callback is not None and history.terms:
                callback(stage, steps, steps, {k: v[-1] for k, v in history.terms.items()})
            return history
        done = file.resume(moving)
        started -= history.seconds

    frugal = all(player.differentiates for player in players)  # in memory of their own
    with file or nullcontext(), nullcontext() if frugal else kept_memory():
        for step in range(done + 1, steps + 1):
            factor = schedule(step - 1)
            for player, rates in zip(players, base_rates, strict=True):
                for group, rate in zip(player.optimizer.param_groups, rates, strict=True):
                    group["lr"] = rate * factor
                terms = player.differentiate(step - 1)
                if team is not None:
                    terms = team.average(player.parameters(), terms)
                if clip_norm is not None:
                    nn.utils.clip_grad_norm_(player.parameters(), clip_norm)
                player.optimizer.step()
                losses.add(terms)

            looks = best is not None and (step % best.every == 0 or step == steps)
            if step % _FLUSH == 0 or step == steps or looks:
                latest = losses.flush()
                if callback is not None:
                    callback(stage, step, steps, latest)
            if best is not None and looks and best.look(step, history):
                history.stopped_early = step < steps
                break
            if file is not None and file.due():
                history.seconds = time.perf_counter() - started
                file.save(step, moving)

    if best is not None:
        best.restore()
    if callback is not None and history.stopped_early:
        callback(stage, steps, steps, latest)
    for player, rates in zip(players, base_rates, strict=True):
        for group, rate in zip(player.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
    history.seconds = time.perf_counter() - started
    if file is not None:
        file.finish([*parts, history])
    return history


class _Best:
    """The lowest validation value and the modules' state there."""

    def __init__(self, validation: Validation) -> None:
        self.validation = validation
        self.every = max(1, validation.every)
        self.lowest = math.inf
        self.since = 0
        self.states: list[dict[str, Tensor]] = []

    def look(self, step: int, history: History) -> bool:
        """Record the value after ``step`` steps, and return whether to stop."""
        value = float(self.validation.value())
        history.validation.append((step, value))
        if value < self.lowest:
            self.lowest, self.since, history.best_step = value, 0, step
            self.states = [
                {k: v.detach().clone() for k, v in module.state_dict().items()}
                for module in self.validation.modules
            ]
        else:
            self.since += 1
        patience = self.validation.patience
        return patience is not None and self.since >= patience

    def restore(self) -> None:
        """Restore the modules as they were at the lowest value."""
        for module, state in zip(self.validation.modules, self.states, strict=False):
            module.load_state_dict(state)

    def state_dict(self) -> dict[str, Any]:
        """Return the lowest value so far and the state there."""
        return {"lowest": self.lowest, "since": self.since, "states": self.states}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` returned."""
        vars(self).update(state)


class _Losses:
    """The losses of the last steps, on their way from the device into the history."""

    def __init__(self, history: History, lowered: list[str]) -> None:
        self.history = history
        self.pending: list[dict[str, Tensor | float]] = []
        self.previous = dict.fromkeys(lowered, math.inf)
        self.rising = dict.fromkeys(lowered, 0)

    def add(self, terms: Mapping[str, Tensor | float]) -> None:
        """Add one step's terms, without waiting for them."""
        self.pending.append(
            {k: term.detach() if isinstance(term, Tensor) else term for k, term in terms.items()}
        )

    def flush(self) -> dict[str, float]:
        """Write the terms to the history, raise if they diverged, and return the latest of each."""
        kept = self.history.terms
        before = self.history.steps
        values = iter(self._numbers())
        for terms in self.pending:
            for name in terms:
                value = next(values)
                kept.setdefault(name, []).append(value)
                if not math.isfinite(value):
                    self._diverged(name)
        self.pending.clear()
        for name, previous in self.previous.items():
            window = kept[name][before:]
            mean = sum(window) / max(1, len(window))
            above = mean > _EXPLODED * (abs(kept[name][0]) + 1.0)
            self.rising[name] = self.rising[name] + 1 if above and mean > previous else 0
            self.previous[name] = mean
            if self.rising[name] >= _RISING:
                self._diverged(name)
        return {name: values[-1] for name, values in kept.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the terms not written yet, and what was noticed so far."""
        return {"pending": self.pending, "previous": self.previous, "rising": self.rising}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` returned."""
        vars(self).update(state)
        self.pending = [dict(terms) for terms in state["pending"]]

    def _numbers(self) -> list[float]:
        """Fetch all pending values at once."""
        values = [value for terms in self.pending for value in terms.values()]
        tensors = iter(
            torch.stack(waiting).tolist()
            if (waiting := [value for value in values if isinstance(value, Tensor)])
            else []
        )
        return [next(tensors) if isinstance(value, Tensor) else value for value in values]

    def _diverged(self, name: str) -> None:
        values = self.history.terms[name]
        raise DivergenceError(
            f"{self.history.stage}: the term {name!r} became {values[-1]:g} at step {len(values)} "
            f"(it began at {values[0]:g}). Lower the learning rate of this stage, set clip_norm to "
            "a small number such as 1.0, or look for extreme values in X."
        )
