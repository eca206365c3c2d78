r"""Elastic weight consolidation: Eqs. 5 and 6 of the paper.

Eq. 5 is the Fisher information of each parameter at the pre-trained weights :math:`\Psi_+`, on data
that the pre-trained model generates. It is taken in its gradient form,

.. math:: F_i = E_x \Bigl[ \Bigl( \frac{\partial}{\partial \Psi_i} O(\Psi_+; x) \Bigr)^2 \Bigr],

the mean of *squared gradients of single samples* (not the square of a batch's gradient).
Fine-tuning then minimises, Eq. 6 with the sign that a maximised :math:`O` needs,

.. math:: -O(\Psi, X^+; x^-) + \lambda \sum_i F_i (\Psi_i - \Psi_{+,i})^2 .
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

__all__ = ["Consolidation", "fisher_diagonal"]


def fisher_diagonal(
    module: nn.Module,
    log_likelihood: Callable[..., Tensor],
    *samples: Tensor,
    chunk: int = 64,
) -> dict[str, Tensor]:
    """Estimate the diagonal of the Fisher information from single-sample gradients.

    Parameters
    ----------
    module : torch.nn.Module
        The model; its parameters are held fixed.
    log_likelihood : callable
        Called as ``log_likelihood(module, *sample)`` with one entry of each of ``samples``; returns
        a scalar.
    *samples : Tensor
        Tensors whose first axis is the sample: the generated rows and their noise.
    chunk : int
        Samples whose gradients are in memory at once.

    Returns
    -------
    fisher : dict of str to Tensor
        By the parameter's name, with its shape.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> x = torch.tensor([[1.0], [2.0]])
    >>> fisher = fisher_diagonal(model, lambda m, x: m(x).sum(), x)
    >>> fisher["weight"].item()  # the gradient is x: (1 + 4) / 2
    2.5
    """
    psi = {name: p.detach() for name, p in module.named_parameters()}

    def single(psi: dict[str, Tensor], *sample: Tensor) -> Tensor:
        return functional_call(_Call(module, log_likelihood), _under_module(psi), sample)  # type: ignore[no-any-return]

    gradients = vmap(grad(single), in_dims=(None, *[0] * len(samples)))
    n = samples[0].shape[0]
    total = {name: torch.zeros_like(p) for name, p in psi.items()}
    for start in range(0, n, chunk):
        part = gradients(psi, *(s[start : start + chunk] for s in samples))
        for name, gradient in part.items():
            total[name] += gradient.square().sum(0)
    return {name: value / n for name, value in total.items()}


class _Call(nn.Module):
    """A function of a module, as a module: functional_call can then replace its weights."""

    def __init__(self, module: nn.Module, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.module = module
        self.function = function

    def forward(self, *sample: Tensor) -> Tensor:
        return self.function(self.module, *sample)


def _under_module(psi: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"module.{name}": weight for name, weight in psi.items()}


class Consolidation:
    """The penalty of Eq. 6, which grows as important weights move away from where they were.

    Parameters
    ----------
    module : torch.nn.Module
        The pre-trained model, whose present weights are the anchor.
    fisher : mapping of str to Tensor
        Importance of every weight, by name.
    weight : float
        The paper's lambda, ``ewc_weight``.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> ewc = Consolidation(model, {"weight": torch.tensor([[2.0]])}, weight=3.0)
    >>> with torch.no_grad():
    ...     _ = model.weight.add_(1.0)
    >>> ewc.penalty(model).item()
    6.0
    """

    def __init__(self, module: nn.Module, fisher: Mapping[str, Tensor], weight: float) -> None:
        self.weight = weight
        self.anchor = {name: p.detach().clone() for name, p in module.named_parameters()}
        self.fisher = dict(fisher)

    def penalty(self, module: nn.Module) -> Tensor:
        r"""Compute :math:`\lambda \sum_i F_i (\Psi_i - \Psi_{+,i})^2`, a scalar with a gradient."""
        moves = [
            (self.fisher[name] * (psi - self.anchor[name]).square()).sum()
            for name, psi in module.named_parameters()
        ]
        return self.weight * torch.stack(moves).sum()
