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

__all__ = [
    "draw_and_compare",
    "log_majority_mixture",
    "log_standard_normal",
    "own_exemplars",
    "responsibilities",
]

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
    own : int Tensor of shape (2, k), optional
        Pairs of a sample and an exemplar that are the same row: such components are left out.
        Every sample must keep one, see :func:`own_exemplars`.

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
    logits, count = _component_logits(z, means, log_variance), _count(z, means, own)
    if own is not None:
        logits = logits.index_put((own[0], own[1]), logits.new_tensor(-math.inf))
    return logits.logsumexp(-1) - _shared(z, log_variance) - count


def draw_and_compare(
    mean: Tensor,
    log_variance: Tensor,
    noise: Tensor,
    means: Tensor,
    prior_log_variance: Tensor,
    own: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Draw codes from q and compare q with the majority mixture there, with a fast gradient.

    The same as ``z = mean + exp(log_variance / 2) * noise`` with the log-density of q less
    :func:`log_majority_mixture`, but every gradient is in closed form. With the responsibilities
    :math:`w_{in}` of the exemplars for a code, :math:`\partial \log p / \partial z_i = s^{-2}
    \sum_n w_{in} (c_n - z_i)` and so on: two products instead of many passes over small matrices,
    which is a tenth of a training step.

    Parameters
    ----------
    mean, log_variance, noise : Tensor of shape (n, d)
        The posterior's means and log-variances, and standard normal draws.
    means : Tensor of shape (S, d)
        Latent means of the exemplars.
    prior_log_variance : Tensor, scalar
        :math:`\log s^2`.
    own : int Tensor of shape (2, k), optional
        See :func:`log_majority_mixture`.

    Returns
    -------
    z : Tensor of shape (n, d)
        The codes.
    divergence : Tensor of shape (n,)
        :math:`\log q(z \mid x) - \log p(z \mid X^+)`.

    Examples
    --------
    >>> import torch
    >>> x, c = torch.zeros(1, 2), torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    >>> z, divergence = draw_and_compare(x, x, x, c, torch.tensor(0.0))
    >>> round(divergence.item(), 4)
    0.3799
    """
    drawn: tuple[Tensor, Tensor] = _DrawAndCompare.apply(  # type: ignore[no-untyped-call]
        mean, log_variance, noise, means, prior_log_variance, own
    )
    return drawn


class _DrawAndCompare(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        mean: Tensor,
        log_variance: Tensor,
        noise: Tensor,
        means: Tensor,
        prior_log_variance: Tensor,
        own: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        moves = torch.exp(0.5 * log_variance).mul_(noise)
        z = mean + moves
        logits = _component_logits(z, means, prior_log_variance)
        if own is not None:
            logits[own[0], own[1]] = -math.inf
        weights = torch.softmax(logits, -1)
        total = logits.amax(-1) - weights.amax(-1).log()  # logsumexp: the largest weight is not 0
        log_p = total - _shared(z, prior_log_variance) - _count(z, means, own)
        log_q = -0.5 * ((noise.square() + log_variance).sum(-1) + z.shape[-1] * _LOG_2PI)
        ctx.save_for_backward(z, moves, means, prior_log_variance, weights)
        return z, log_q - log_p

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        z, moves, means, log_variance, weights = ctx.saved_tensors
        for_z, g = gradients[0], gradients[1].unsqueeze(-1)  # (n, d), (n, 1)
        precision = torch.exp(-log_variance)
        shares = weights * g  # (n, S)
        column = shares.sum(0).unsqueeze(-1)  # (S, 1)
        pulled = shares @ means  # (n, d)
        pushed = g * z
        for_z = for_z + precision * (pushed - pulled)
        distances = (z * (pushed - 2.0 * pulled)).sum() + (column * means.square()).sum()
        return (
            for_z,
            0.5 * (for_z * moves - g),
            None,
            precision * (column * means - shares.T @ z),
            0.5 * (z.shape[-1] * g.sum() - precision * distances),
            None,
        )


def own_exemplars(batch: NDArray[np.int64], exemplars: NDArray[np.int64]) -> Tensor:
    """Find where a row of the batch is its own exemplar, unless it has no other.

    Parameters
    ----------
    batch, exemplars : ndarray of int
        Positions of the rows.

    Returns
    -------
    own : int Tensor of shape (2, k)
        Pairs of places in the batch and among the exemplars, for :func:`log_majority_mixture`.

    Examples
    --------
    >>> import numpy as np
    >>> own_exemplars(np.array([4, 7]), np.array([7, 5]))
    tensor([[1],
            [0]])
    """
    order = np.argsort(batch)
    ordered = batch[order]
    first = np.searchsorted(ordered, exemplars, "left")
    last = np.searchsorted(ordered, exemplars, "right")
    times = last - first
    column = np.repeat(np.arange(len(exemplars)), times)
    within = np.arange(len(column)) - np.repeat(np.cumsum(times) - times, times)
    own = np.stack([order[first[column] + within], column])
    others = len(exemplars) - np.bincount(own[0], minlength=len(batch))
    if not others.all():
        own = own[:, others[own[0]] > 0]
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


def _shared(z: Tensor, log_variance: Tensor) -> Tensor:
    """Give what all components' log-densities lack in their logits, with the other sign."""
    squares = z.square().sum(-1) * torch.exp(-log_variance)
    return 0.5 * (squares + z.shape[-1] * (_LOG_2PI + log_variance))


def _count(z: Tensor, means: Tensor, own: Tensor | None) -> Tensor | float:
    """Give the logarithm of how many components each code has."""
    if own is None:
        return math.log(len(means))
    return (len(means) - torch.bincount(own[0], minlength=len(z))).to(z.dtype).log()
