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
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = [
    "DrawAndCompare",
    "Own",
    "draw_and_compare",
    "log_majority_mixture",
    "log_standard_normal",
    "own_exemplars",
    "responsibilities",
]

_LOG_2PI = math.log(2.0 * math.pi)


class Own(NamedTuple):
    """Where samples are their own exemplars, and what is left to them.

    Attributes
    ----------
    places : int Tensor of shape (k,)
        Places of such pairs in the (n, S) matrix of samples and exemplars, row by row.
    log_others : Tensor of shape (n,)
        Logarithm of how many other exemplars a sample has.
    """

    places: Tensor
    log_others: Tensor

    def to(self, device: torch.device) -> "Own":
        """Move it to a device."""
        return Own(self.places.to(device), self.log_others.to(device))


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
    z: Tensor, means: Tensor, log_variance: Tensor, own: Own | None = None
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
    own : Own, optional
        Pairs of a sample and an exemplar that are the same row: such components are left out.

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
    logits = _component_logits(z, means, log_variance)
    if own is not None:
        logits = logits.flatten().index_fill(0, own.places, -math.inf).view_as(logits)
    return logits.logsumexp(-1) - _shared(z, log_variance) - _log_count(z, means, own)


def draw_and_compare(
    mean: Tensor,
    log_variance: Tensor,
    noise: Tensor,
    means: Tensor,
    prior_log_variance: Tensor,
    own: Own | None = None,
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
    own : Own, optional
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
    drawn: tuple[Tensor, Tensor] = DrawAndCompare.apply(  # type: ignore[no-untyped-call]
        mean, log_variance, noise, means, prior_log_variance, own
    )
    return drawn


class DrawAndCompare(torch.autograd.Function):
    """What :func:`draw_and_compare` does."""

    @staticmethod
    def forward(
        ctx: Any,
        mean: Tensor,
        log_variance: Tensor,
        noise: Tensor,
        means: Tensor,
        prior_log_variance: Tensor,
        own: Own | None,
    ) -> tuple[Tensor, Tensor]:
        """Give codes and the log-density of q less the prior's."""
        moves = (0.5 * log_variance).exp_().mul_(noise)
        z = mean + moves
        precision = torch.exp(-prior_log_variance)
        scaled = z * precision
        logits = torch.addmm(means.square().sum(-1) * (-0.5 * precision), scaled, means.T)
        if own is not None:
            logits.view(-1).index_fill_(0, own.places, -math.inf)
        highest = logits.amax(-1, keepdim=True)
        weights = logits.sub_(highest).exp_()
        total = weights.sum(-1, keepdim=True)
        squares = scaled.mul_(z).addcmul_(noise, noise, value=-1.0).sub_(log_variance).sum(-1)
        divergence = squares.add_(z.shape[-1] * prior_log_variance).mul_(0.5)
        divergence.sub_(highest.add_(total.log()).squeeze(-1))  # logsumexp
        ctx.save_for_backward(z, moves, means, precision, weights, total)
        return z, divergence.add_(_log_count(z, means, own))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        """Give the gradients of all that was given, None for what has none."""
        z, moves, means, precision, weights, total = ctx.saved_tensors
        for_z, g = gradients[0], gradients[1].unsqueeze(-1)  # (n, d), (n, 1)
        shares = weights * (g / total)  # (n, S)
        pull = precision * (g * z - shares @ means)  # of the mixture on the codes, (n, d)
        for_means = (means.T * shares.sum(0)).addmm_(z.T, shares, alpha=-1.0).mul_(precision).T
        stretched = (z * pull).sum() + (means * for_means).sum()  # Euler: |z - c|^2 is homogeneous
        for_z = for_z + pull
        for_log_variance = (for_z * moves).sub_(g).mul_(0.5)
        for_prior = 0.5 * (z.shape[-1] * g.sum() - stretched)
        return for_z, for_log_variance, None, for_means, for_prior, None


def own_exemplars(batch: NDArray[np.int64], exemplars: NDArray[np.int64]) -> Own:
    """Find where a row of the batch is its own exemplar, unless it has no other.

    Parameters
    ----------
    batch, exemplars : ndarray of int
        Positions of the rows; those of the batch are distinct.

    Returns
    -------
    own : Own
        For :func:`log_majority_mixture`.

    Examples
    --------
    >>> import numpy as np
    >>> own_exemplars(np.array([4, 7]), np.array([7, 5])).places
    tensor([2])
    """
    order = np.argsort(batch)
    nearest = order.take(np.searchsorted(batch, exemplars, sorter=order), mode="clip")
    columns = np.flatnonzero(batch[nearest] == exemplars)
    sample = nearest[columns]
    places = sample * len(exemplars) + columns
    others = len(exemplars) - np.bincount(sample, minlength=len(batch))
    if not others.all():
        places = places[others[sample] > 0]
        others[others == 0] = len(exemplars)
    return Own(torch.from_numpy(places), torch.from_numpy(np.log(others)))


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


def _log_count(z: Tensor, means: Tensor, own: Own | None) -> Tensor | float:
    """Give the logarithm of how many components each code has."""
    return math.log(len(means)) if own is None else own.log_others.to(z)
