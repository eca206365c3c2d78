r"""The published classifier's training, with its gradient written out.

A table of the paper takes hundreds of trainings of one small network, D - h1 - ... - K with
LeakyReLU(0.1), by Adam on a softmax of a softmax. Of such a step autograd takes as long as the
matrix products. Here the gradient is written out and all weights lie in one vector, which makes a
step twice as fast; the plain form is :func:`mgvae.classifiers.training.train_network`, and the
outcome is the same to rounding.

With logits :math:`o`, :math:`p = \mathrm{softmax}(o)` and the loss's own
:math:`q = \mathrm{softmax}(p)`, the mean loss :math:`-\tfrac1n \sum_i w_i \log q_{i y_i}` has

.. math:: \frac{\partial L}{\partial p_i} = \frac{w_i}{n} (q_i - e_{y_i}), \qquad
          \frac{\partial L}{\partial o_i} = p_i \odot (g_i - \langle p_i, g_i \rangle), \quad
          g_i = \frac{\partial L}{\partial p_i};

without the second softmax the first formula, with :math:`p` in place of :math:`q`, is the gradient
by the logits themselves.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeGuard

import torch
from torch import Tensor, nn

from mgvae.classifiers.epochs import TrainingRows
from mgvae.classifiers.training import Plan

__all__ = ["can_train", "train_mlp"]

_SLOPE = 0.1  # of LeakyReLU below zero
_BETAS, _EPS = (0.9, 0.999), 1e-8  # Adam's


def can_train(network: nn.Module, plan: Plan) -> TypeGuard[nn.Sequential]:
    """Return whether a network and a plan are those that :func:`train_mlp` knows.

    Examples
    --------
    >>> from mgvae.classifiers.networks import mlp
    >>> plan = Plan(1, 100, "adam", 1e-3, 0.95, 0.0, "loss", None)
    >>> can_train(mlp((4,), 2, (3,), nn.Linear), plan)
    True
    """
    if not isinstance(network, nn.Sequential) or not isinstance(network[0], nn.Flatten):
        return False
    modules = list(network)
    layers, activations = modules[1::2], modules[2::2]
    return (
        plan.optimizer == "adam"
        and plan.weight_decay == plan.defer == 0.0
        and len(layers) == len(activations) + 1
        and all(type(layer) is nn.Linear for layer in layers)
        and all(type(a) is nn.LeakyReLU and a.negative_slope == _SLOPE for a in activations)
        and all(p.dtype == torch.float32 and p.device.type == "cpu" for p in network.parameters())
    )


@torch.no_grad()
def train_mlp(
    network: nn.Sequential,
    rows: TrainingRows,
    batches: Iterator[Tensor],
    plan: Plan,
    *,
    steps_per_epoch: int,
    double_softmax: bool,
) -> None:
    """Train a network in place on the cross-entropy.

    Parameters
    ----------
    network : Sequential
        One that :func:`can_train`.
    rows : TrainingRows
        What to learn from.
    batches : iterator of Tensor
        Positions of the rows of each step; all but an epoch's last step have the same number.
    plan : Plan
        Epochs, learning rate and its decay.
    steps_per_epoch : int
        Steps after which the learning rate falls.
    double_softmax : bool
        Whether the loss is handed probabilities in place of logits.
    """
    layers = [layer for layer in network if isinstance(layer, nn.Linear)]
    weights = _Flat(layers)
    X = rows.X.reshape(len(rows.y), -1)
    one_hot = nn.functional.one_hot(rows.y, layers[-1].out_features).to(X)
    step = torch.zeros(())
    spaces: dict[int, _Step] = {}
    for epoch in range(plan.epochs):
        for _ in range(steps_per_epoch):
            picked = next(batches)
            n = len(picked)
            if n not in spaces:
                spaces[n] = _Step(weights, n)
            weight = None if rows.weight is None else rows.weight.index_select(0, picked)
            spaces[n].gradient(X, one_hot, picked, weight, double_softmax)
            step.add_(1)
            torch._fused_adam_(
                [weights.values], [weights.gradients], [weights.first], [weights.second],
                [], [step], lr=plan.learning_rate * plan.lr_decay**epoch, beta1=_BETAS[0],
                beta2=_BETAS[1], weight_decay=0.0, eps=_EPS, amsgrad=False, maximize=False,
            )  # fmt: skip
    weights.give_back(layers)


class _Flat:
    """All weights of some layers in one vector, and what Adam keeps of them."""

    def __init__(self, layers: list[nn.Linear]) -> None:
        parts = [p for layer in layers for p in (layer.weight, layer.bias)]
        self.values = torch.cat([p.reshape(-1) for p in parts])
        self.gradients = torch.zeros_like(self.values)
        self.first = torch.zeros_like(self.values)
        self.second = torch.zeros_like(self.values)
        shapes = [p.shape for p in parts]
        ends = torch.tensor([0, *(p.numel() for p in parts)]).cumsum(0).tolist()
        self.parameters, self.parameter_gradients = (
            [
                vector[start:end].view(shape)
                for (start, end), shape in zip(pairwise(ends), shapes, strict=True)
            ]
            for vector in (self.values, self.gradients)
        )

    def give_back(self, layers: list[nn.Linear]) -> None:
        """Copy the weights into the layers that they are from."""
        for i, layer in enumerate(layers):
            layer.weight.copy_(self.parameters[2 * i])
            layer.bias.copy_(self.parameters[2 * i + 1])


class _Step:
    """The room that the gradient of ``n`` rows takes, used again in every step."""

    def __init__(self, weights: _Flat, n: int) -> None:
        self.n = n
        self.matrices, self.biases = weights.parameters[::2], weights.parameters[1::2]
        self.by_matrix = weights.parameter_gradients[::2]
        self.by_bias = weights.parameter_gradients[1::2]
        widths = [self.matrices[0].shape[1], *(len(bias) for bias in self.biases)]
        self.values = [torch.empty(n, width) for width in widths]
        self.by_value = [torch.empty(n, width) for width in widths]
        self.target = torch.empty(n, widths[-1])

    def gradient(
        self,
        X: Tensor,
        one_hot: Tensor,
        picked: Tensor,
        weight: Tensor | None,
        double_softmax: bool,
    ) -> None:
        """Write the gradient of the loss of the picked rows into the weights' vector."""
        values, by_value, last = self.values, self.by_value, len(self.matrices) - 1
        torch.index_select(X, 0, picked, out=values[0])
        torch.index_select(one_hot, 0, picked, out=self.target)
        for i, (matrix, bias) in enumerate(zip(self.matrices, self.biases, strict=True)):
            torch.addmm(bias, values[i], matrix.T, out=values[i + 1])
            if i < last:
                nn.functional.leaky_relu_(values[i + 1], _SLOPE)
        by_value[-1].copy_(self._by_logits(values[-1], weight, double_softmax))
        for i in range(last, -1, -1):
            torch.mm(by_value[i + 1].T, values[i], out=self.by_matrix[i])
            torch.sum(by_value[i + 1], dim=0, out=self.by_bias[i])
            if i:
                torch.mm(by_value[i + 1], self.matrices[i], out=by_value[i])
                torch.ops.aten.leaky_relu_backward.grad_input(
                    by_value[i], values[i], _SLOPE, True, grad_input=by_value[i]
                )

    def _by_logits(self, logits: Tensor, weight: Tensor | None, double_softmax: bool) -> Tensor:
        p = torch.softmax(logits, dim=1)
        g = (torch.softmax(p, dim=1) if double_softmax else p) - self.target
        g.mul_(1 / self.n) if weight is None else g.mul_((weight / self.n)[:, None])
        if not double_softmax:
            return g
        return p * (g - (p * g).sum(dim=1, keepdim=True))
