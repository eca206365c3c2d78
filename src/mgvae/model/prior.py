r"""The priors over the latent code: Eqs. 1-3 of the paper, and the standard normal.

The density of the minority, Eq. 1, is a mixture of transitions from the samples of the majority
(Eq. 2). A transition passes through a latent code :math:`z` (Eq. 3):

.. math:: p(x^- \mid X^+) = \frac1{N^+} \sum_n T(x^- \mid x_n^+), \qquad
          T(x^- \mid x^+) = \int r(z \mid x^+)\, p(x^- \mid z)\, dz.

Its latent side is a Gaussian around the encoder's mean of one majority sample, with one learned
variance for all samples: :math:`r(z \mid x^+) = N(z;\, \mu(x^+),\, s^2 I)`. Exchanging sum and
integral gives :math:`p(x^- \mid X^+) = \int p(z \mid X^+)\, p(x^- \mid z)\, dz` with the prior

.. math:: p(z \mid X^+) = \frac1S \sum_{n=1}^{S} N(z;\, c_n,\, s^2 I), \qquad c_n = \mu(x_n^+),

over the :math:`S` = ``n_exemplars`` majority samples drawn for the step, the *exemplars*, whose
latent means :math:`c_n` are the *centres*. With :math:`-|z - c|^2 = 2 z \cdot c - |c|^2 - |z|^2`,
its logarithm takes one matrix product, and the part :math:`|z|^2` is outside of the sum:

.. math:: \log p(z \mid X^+) = \log \sum_n \exp \frac{z \cdot c_n - \frac12 |c_n|^2}{s^2}
          - \frac12 \Bigl( \frac{|z|^2}{s^2} + d \log 2\pi s^2 \Bigr) - \log S .

While pre-training, a sample may be forbidden to be its own exemplar (leave-one-out, from the
Exemplar VAE): its component is left out and :math:`S` counts the others.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = [
    "Own",
    "log_component_count",
    "log_majority_mixture",
    "log_standard_normal",
    "own_exemplars",
    "responsibilities",
]

_LOG_2PI = math.log(2.0 * math.pi)
_FEW_PAIRS = 2**15  # of a sample and an exemplar, which are compared faster than sorted


class Own(NamedTuple):
    """Where samples are their own exemplars, and how many others they have.

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
        """Move both tensors to a device."""
        return Own(self.places.to(device), self.log_others.to(device))


def log_standard_normal(z: Tensor) -> Tensor:
    """Compute the log-density of the standard normal.

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
    z: Tensor, centres: Tensor, log_variance: Tensor, own: Own | None = None
) -> Tensor:
    r"""Compute the log-density of the majority prior :math:`p(z \mid X^+)`.

    Parameters
    ----------
    z : Tensor of shape (n, d)
        Latent codes.
    centres : Tensor of shape (S, d)
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
    logits = _component_logits(z, centres, log_variance)
    if own is not None:
        logits = logits.flatten().index_fill(0, own.places, -math.inf).view_as(logits)
    squares = z.square().sum(-1) * torch.exp(-log_variance)
    shared = 0.5 * (squares + z.shape[-1] * (_LOG_2PI + log_variance))
    return logits.logsumexp(-1) - shared - log_component_count(z, centres, own)


def responsibilities(z: Tensor, centres: Tensor, log_variance: Tensor) -> Tensor:
    """Compute the share of each exemplar in the prior density of a code.

    Parameters
    ----------
    z : Tensor of shape (n, d)
        Latent codes.
    centres : Tensor of shape (S, d)
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
    return torch.softmax(_component_logits(z, centres, log_variance), -1)


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
    if len(batch) * len(exemplars) <= _FEW_PAIRS:
        places = np.flatnonzero(batch[:, None] == exemplars)
        sample = places // len(exemplars)
    else:
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


def log_component_count(z: Tensor, centres: Tensor, own: Own | None) -> Tensor | float:
    """Return log S, the logarithm of how many components each code has.

    Examples
    --------
    >>> import torch
    >>> log_component_count(torch.zeros(1, 2), torch.zeros(1, 2), None)
    0.0
    """
    return math.log(len(centres)) if own is None else own.log_others.to(z)


def _component_logits(z: Tensor, centres: Tensor, log_variance: Tensor) -> Tensor:
    """Compute (z·c - |c|²/2) / s² for each pair, of shape (n, S), in one product."""
    precision = torch.exp(-log_variance)
    return torch.addmm(-0.5 * precision * centres.square().sum(-1), z * precision, centres.T)
