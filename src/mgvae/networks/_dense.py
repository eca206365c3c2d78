"""Fully connected layers with a gradient of few passes.

Besides its matrix products a training step consists of small passes over matrices, each with a cost
of its own. Here a stack of layers is one function: ReLU and its gradient are done in place, and
nothing is added up or copied that a product can add to. Results are laid out along their longer
side, where BLAS fills its registers: 600 rows of 300 outputs take a tenth less time.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

__all__ = ["Dense", "DenseFunction", "TwoHeadsFunction", "layer_parameters", "two_heads"]


class Dense(nn.Sequential):
    """Fully connected layers with ReLU between them, and perhaps after the last.

    Examples
    --------
    >>> import torch
    >>> layers = Dense(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    >>> x = torch.ones(4, 2)
    >>> torch.allclose(layers.learn(x), layers(x))
    True
    """

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__(*layers)
        leaves = [layer for layer in self.modules() if not isinstance(layer, nn.Sequential)]
        self.linear = [layer for layer in leaves if isinstance(layer, nn.Linear)]
        self.activates_last = leaves[-1] is not self.linear[-1]

    def learn(self, rows: Tensor) -> Tensor:
        """Give what a call gives, with a faster gradient (but no gradient of the gradient)."""
        outputs: Tensor = DenseFunction.apply(  # type: ignore[no-untyped-call]
            rows, self.activates_last, *layer_parameters(self.linear)
        )
        return outputs


def two_heads(features: Tensor, one: nn.Linear, other: nn.Linear, n: int) -> tuple[Tensor, Tensor]:
    """Apply one layer to all rows and another to the first ``n``, with a faster gradient.

    Examples
    --------
    >>> import torch
    >>> means, spreads = two_heads(torch.ones(5, 2), nn.Linear(2, 3), nn.Linear(2, 3), 4)
    >>> means.shape, spreads.shape
    (torch.Size([5, 3]), torch.Size([4, 3]))
    """
    outputs: tuple[Tensor, Tensor] = TwoHeadsFunction.apply(  # type: ignore[no-untyped-call]
        features, n, *layer_parameters([one, other])
    )
    return outputs


def layer_parameters(layers: list[nn.Linear]) -> list[Tensor]:
    """Give the weights and the bias of each layer in turn."""
    return [p for layer in layers for p in (layer.weight, layer.bias)]


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Multiply two matrices; the longer side of the result is contiguous."""
    return (b.T @ a.T).T if a.shape[0] > b.shape[1] else a @ b


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Apply a layer; the longer side of the result is contiguous."""
    if len(x) > len(weight):
        return torch.addmm(bias.unsqueeze(1), weight, x.T).T
    return torch.addmm(bias, x, weight.T)


class DenseFunction(torch.autograd.Function):
    """What :meth:`Dense.learn` does."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, activates_last: bool, *parameters: Tensor) -> Tensor:
        weights, biases = parameters[::2], parameters[1::2]
        outputs = [rows]
        for weight, bias in zip(weights, biases, strict=True):
            outputs.append(_affine(outputs[-1], weight, bias))
            if activates_last or len(outputs) <= len(weights):
                outputs[-1].relu_()
        ctx.activates_last = activates_last
        ctx.save_for_backward(*weights, *outputs)
        return outputs[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Any:
        n = len(ctx.saved_tensors) // 2
        weights, outputs = ctx.saved_tensors[:n], ctx.saved_tensors[n:]
        if ctx.activates_last:
            g = torch.ops.aten.threshold_backward(g, outputs[n], 0.0)
        found: list[Tensor | None] = []  # the last layer's first
        for i in reversed(range(n)):
            found += [g.sum(0), g.T @ outputs[i]]
            if i:
                g = _product(g, weights[i])
                torch.ops.aten.threshold_backward.grad_input(g, outputs[i], 0.0, grad_input=g)
        found += [None, g @ weights[0] if ctx.needs_input_grad[0] else None]
        return tuple(reversed(found))


class TwoHeadsFunction(torch.autograd.Function):
    """What :func:`two_heads` does."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, n: int, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        weight, bias, other_weight, other_bias = parameters
        ctx.save_for_backward(features, weight, other_weight)
        outputs = _affine(features, weight, bias)
        return outputs, _affine(features[:n], other_weight, other_bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor, other_g: Tensor) -> Any:
        features, weight, other_weight = ctx.saved_tensors
        n = len(other_g)
        for_features = _product(g, weight)
        for_features[:n].addmm_(other_g, other_weight)
        return (
            for_features, None,
            g.T @ features, g.sum(0),
            other_g.T @ features[:n], other_g.sum(0),
        )  # fmt: skip
