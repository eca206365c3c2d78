"""Adam with one count of steps."""

from collections.abc import Callable
from itertools import zip_longest
from typing import Any, NamedTuple

import torch
from torch import Tensor

__all__ = ["Adam"]


class _Moments(NamedTuple):
    """The parameters that moved last, with what Adam keeps of them."""

    moved: list[Tensor]
    first: list[Tensor]
    second: list[Tensor]
    steps: list[Tensor]


class Adam(torch.optim.Adam):
    """Adam with one count of steps for all parameters of a group.

    The plain form is the base class with ``fused=True``, whose results are the same to the last
    bit. It counts the steps of every parameter in a tensor of its own. A small network has a dozen
    parameters, and adding one to a dozen tensors takes as long as moving all weights.

    Parameters
    ----------
    params : iterable
        Parameters, or groups of them, as in torch.
    lr : float
        The learning rate of groups that have none.
    weight_decay : float
        Added to the gradient, times the weight.

    Examples
    --------
    >>> import torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> w.grad = torch.tensor([2.0])
    >>> Adam([w], lr=0.1).step()
    >>> round(w.item(), 6)
    0.9
    """

    def __init__(self, params: Any, lr: float = 1e-3, weight_decay: float = 0.0) -> None:
        super().__init__(params, lr=lr, weight_decay=weight_decay, fused=True)
        self._moments: dict[int, _Moments] = {}  # by group

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters.

        Torch's own method first loads its compiler, only to be left out of what that compiles:
        half a second that the first fit of a program would wait. The method inside is called.
        """
        method = torch.optim.Adam.add_param_group
        getattr(method, "__wrapped__", method)(self, param_group)

    def load_state_dict(self, state_dict: Any) -> None:
        """Continue from a state that ``state_dict`` returned."""
        super().load_state_dict(state_dict)
        self._moments.clear()

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient."""
        if closure is not None:
            closure()
        for number, group in enumerate(self.param_groups):
            moved = [p for p in group["params"] if p.grad is not None]
            if moved:
                self._move(number, group, moved)

    step.hooked = True  # type: ignore[attr-defined] # else torch times every call for its profiler

    def _move(self, number: int, group: dict[str, Any], moved: list[Tensor]) -> None:
        found = self._moments.get(number)
        if found is None or any(p is not q for p, q in zip_longest(moved, found.moved)):
            found = self._moments[number] = self._begin(moved)
        found.steps[0].add_(1)
        beta1, beta2 = group["betas"]
        torch._fused_adam_(
            moved,
            [p.grad for p in moved if p.grad is not None],
            found.first,
            found.second,
            [],
            found.steps,
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )

    def _begin(self, moved: list[Tensor]) -> _Moments:
        """Start a group, or continue one whose loaded counts are equal but separate tensors."""
        states = [self.state[p] for p in moved]
        count = states[0].get("step", torch.zeros((), device=moved[0].device))
        for parameter, state in zip(moved, states, strict=True):
            if state and state["step"].item() != count.item():
                raise ValueError("the parameters of a group have taken different numbers of steps")
            if not state:
                state["exp_avg"] = torch.zeros_like(parameter)
                state["exp_avg_sq"] = torch.zeros_like(parameter)
            state["step"] = count
        return _Moments(
            moved,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [count] * len(moved),
        )
