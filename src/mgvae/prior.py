r"""The priors over the latent code: Eqs. 1-3 of the paper, and the standard normal.

The minority's density is a mixture of transitions from the majority's samples (Eqs. 1 and 2),

.. math:: p(x^- \mid X^+) = \frac1{N^+} \sum_n T(x^- \mid x_n^+), \qquad
          T(x^- \mid x^+) = \int r(z \mid x^+)\, p(x^- \mid z)\, dz,

whose latent side (Eq. 3) is a Gaussian around the encoder's mean of one majority sample, with one
learned variance for all: :math:`r(z \mid x^+) = N(z;\, \mu(x^+),\, s^2 I)`. So the prior is

.. math:: \log p(z \mid X^+) = \log \frac1S \sum_{n=1}^{S} N(z;\, c_n,\, s^2 I), \qquad
          c_n = \mu(x_n^+),

over the ``S = n_exemplars`` majority samples drawn for the step. While pre-training, a sample may
be forbidden to be its own exemplar (leave-one-out, from the Exemplar VAE).
"""

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["log_majority_mixture", "log_standard_normal", "own_exemplars", "responsibilities"]

_LOG_2PI = math.log(2.0 * math.pi)


def log_standard_normal(z: Tensor) -> Tensor:
    """Log-density of the standard normal.

    Parameters
    ----------
    z : Tensor of shape (n, d)
        Latent codes.

    Returns
    -------
    log_density : Tensor of shape (n,)
        With its constant.

    Examples
    --------
    >>> import torch
    >>> round(log_standard_normal(torch.zeros(1, 2)).item(), 4)
    -1.8379
    """
    return -0.5 * (z.square().sum(-1) + z.shape[-1] * _LOG_2PI)


def log_majority_mixture(
    z: Tensor, means: Tensor, log_variance: Tensor, own: Tensor | None = None
) -> Tensor:
    r"""Log-density of the majority mixture, Eq. 3 averaged over exemplars.

    Parameters
    ----------
    z : Tensor of shape (n, d)
        Latent codes.
    means : Tensor of shape (S, d)
        The encoder's means :math:`c_n` of the exemplars.
    log_variance : Tensor, scalar
        :math:`\log s^2`.
    own : bool Tensor of shape (n, S), optional
        Where exemplar and sample are the same row: such components are left out. Every sample
        must keep one, see :func:`own_exemplars`.

    Returns
    -------
    log_density : Tensor of shape (n,)
        With its constants.

    Examples
    --------
    >>> import torch
    >>> z = torch.tensor([[0.0, 0.0]])
    >>> centres = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    >>> round(log_majority_mixture(z, centres, torch.tensor(0.0)).item(), 4)
    -2.2178
    """
    density: Tensor = _LogMixture.apply(z, means, log_variance, own)[0]  # type: ignore[no-untyped-call]
    return density


class _LogMixture(torch.autograd.Function):
    r"""The mixture's log-density with its gradient in closed form.

    With the responsibilities :math:`w_{in}` and an incoming gradient :math:`g_i`, all gradients
    follow from :math:`G_{in} = g_i w_{in}`:

    .. math:: \partial z_i = s^{-2} \sum_n G_{in} (c_n - z_i), \qquad
              \partial c_n = s^{-2} \sum_i G_{in} (z_i - c_n), \qquad
              \partial \log s^2 = \tfrac12 \sum_{in} G_{in} (s^{-2} |z_i - c_n|^2 - d).

    Three passes over the (n, S) matrix fewer than by automatic differentiation: at 500 exemplars
    this is a twentieth of a training step.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(
        z: Tensor, means: Tensor, log_variance: Tensor, own: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        weights = _component_logits(z, means, log_variance)  # (n, S), without what all share
        count: Tensor | float = math.log(means.shape[0])
        if own is not None:
            weights = weights.masked_fill_(own, -math.inf)
            count = (means.shape[0] - own.sum(-1)).to(z.dtype).log()
        largest = weights.amax(-1, keepdim=True)
        weights = weights.sub_(largest).exp_()
        total = weights.sum(-1, keepdim=True)
        weights = weights.div_(total)
        d = z.shape[-1]
        shared = z.square().sum(-1) * torch.exp(-log_variance) + d * (_LOG_2PI + log_variance)
        return (largest + total.log()).squeeze(-1) - 0.5 * shared - count, weights

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, Any], output: tuple[Tensor, Tensor]
    ) -> None:
        z, means, log_variance, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(z, means, log_variance, output[1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        z, means, log_variance, weights = ctx.saved_tensors
        g = gradients[0].unsqueeze(-1)  # (n, 1)
        shares = weights * g  # G, (n, S)
        column = shares.sum(0).unsqueeze(-1)  # (S, 1)
        pulled = shares @ means  # (n, d)
        precision = torch.exp(-log_variance)
        distances = (z * (g * z - 2.0 * pulled)).sum() + (column * means.square()).sum()
        return (
            precision * (pulled - g * z),
            precision * (shares.T @ z - column * means),
            0.5 * (precision * distances - z.shape[-1] * g.sum()),
            None,
        )


def own_exemplars(batch: NDArray[np.int64], exemplars: NDArray[np.int64]) -> Tensor:
    """Mark where a row of the batch is its own exemplar, unless it has no other.

    Parameters
    ----------
    batch, exemplars : ndarray of int
        Positions of the rows.

    Returns
    -------
    own : bool Tensor of shape (len(batch), len(exemplars))
        For leave-one-out in :func:`log_majority_mixture`.

    Examples
    --------
    >>> import numpy as np
    >>> own_exemplars(np.array([4, 7]), np.array([7, 5]))
    tensor([[False, False],
            [ True, False]])
    """
    own = batch[:, None] == exemplars
    own[own.all(-1)] = False
    return torch.from_numpy(own)


def responsibilities(z: Tensor, means: Tensor, log_variance: Tensor) -> Tensor:
    """How much of a code's prior density each exemplar accounts for.

    Parameters
    ----------
    z : Tensor of shape (n, d)
        Latent codes.
    means : Tensor of shape (S, d)
        The encoder's means of the exemplars.
    log_variance : Tensor, scalar
        Log-variance of the components.

    Returns
    -------
    weights : Tensor of shape (n, S)
        Rows sum to one.

    Examples
    --------
    >>> import torch
    >>> z = torch.tensor([[0.5]])
    >>> responsibilities(z, torch.tensor([[0.0], [1.0]]), torch.tensor(0.0))
    tensor([[0.5000, 0.5000]])
    """
    return torch.softmax(_component_logits(z, means, log_variance), -1)


def _component_logits(z: Tensor, means: Tensor, log_variance: Tensor) -> Tensor:
    """Give -|z - c|^2 / 2s^2 for each pair, up to the part -|z|^2 / 2s^2 that all c share."""
    precision = torch.exp(-log_variance)
    return torch.addmm(
        -0.5 * precision * means.square().sum(-1), z * precision, means.T
    )  # (n, S) in one product
