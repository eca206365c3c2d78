"""Adam, with less to do beside its arithmetic."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["Adam"]


class Adam(torch.optim.Adam):
    """torch's fused Adam, number for number, but one count of steps for a group's parameters.

    torch counts the steps of every parameter by a tensor of its own. Small networks have a dozen
    parameters, and to add one to a dozen tensors takes as long as to move all weights.

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

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient."""
        if closure is not None:
            closure()
        for group in self.param_groups:
            moved = [p for p in group["params"] if p.grad is not None]
            if moved:
                self._move(group, moved)

    def _move(self, group: dict[str, Any], moved: list[Tensor]) -> None:
        states = [self.state[p] for p in moved]
        steps = [state.get("step") for state in states]
        if steps[0] is None or any(step is not steps[0] for step in steps):
            self._share(moved, states)
        count = states[0]["step"]
        count += 1
        beta1, beta2 = group["betas"]
        torch._fused_adam_(
            moved,
            [p.grad for p in moved if p.grad is not None],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [count] * len(moved),
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )

    @staticmethod
    def _share(moved: list[Tensor], states: list[dict[str, Tensor]]) -> None:
        """Begin, or go on with states that were loaded, whose counts are equal but not the same."""
        count = states[0].get("step", torch.zeros((), device=moved[0].device))
        for parameter, state in zip(moved, states, strict=True):
            if state and state["step"].item() != count.item():
                raise ValueError("the parameters of a group have taken different numbers of steps")
            if not state:
                state["exp_avg"] = torch.zeros_like(parameter)
                state["exp_avg_sq"] = torch.zeros_like(parameter)
            state["step"] = count
