"""The squared error of the decoder's means."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mgvae.codec import Activation

__all__ = ["squared_error", "squared_error_plain"]


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda raw: raw,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def squared_error_plain(x: Tensor, raw: Tensor, activation: Activation) -> Tensor:
    """Return less the squared distance of the means f(raw) from x, row by row."""
    return -(x - _ACTIVATIONS[activation](raw)).square().sum(-1)


def squared_error(x: Tensor, raw: Tensor, activation: Activation) -> Tensor:
    """Compute :func:`squared_error_plain`; the gradient is one pass, in place.

    Examples
    --------
    >>> import torch
    >>> squared_error(torch.tensor([[3.0]]), torch.tensor([[1.0]]), "identity")
    tensor([-4.])
    """
    score: Tensor = _SquaredError.apply(x, raw, activation)  # type: ignore[no-untyped-call]
    return score


class _SquaredError(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, raw: Tensor, activation: Activation) -> Tensor:
        mean = _ACTIVATIONS[activation](raw)
        error = x - mean
        ctx.save_for_backward(error, mean)
        ctx.activation = activation
        return error.square().sum(-1).neg_()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[None, Tensor, None]:
        error, mean = ctx.saved_tensors
        found = error * (2.0 * g).unsqueeze(-1)
        if ctx.activation == "sigmoid":
            found = torch.ops.aten.sigmoid_backward.grad_input(found, mean, grad_input=found)
        elif ctx.activation == "tanh":
            found = torch.ops.aten.tanh_backward.grad_input(found, mean, grad_input=found)
        return None, found, None
