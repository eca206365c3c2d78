r"""The variational autoencoder and its objective, Eq. 4 of the paper.

With the encoder :math:`q(z \mid x) = N(z;\, \mu(x),\, \sigma^2(x))`, the decoder
:math:`p(x \mid z)` and the majority prior :math:`p(z \mid X^+)` of :mod:`mgvae.model.prior`,
Jensen's inequality bounds the log-density of a sample from below:

.. math:: \log p(x \mid X^+)
          = \log E_{q(z \mid x)} \Bigl[ \frac{p(x \mid z)\, p(z \mid X^+)}{q(z \mid x)} \Bigr]
          \ge E_{q(z \mid x)} \bigl[ \log p(x \mid z)
          - \log q(z \mid x) + \log p(z \mid X^+) \bigr] \equiv O(\Psi, X^+; x).

The expectation is estimated with one draw :math:`z = \mu + \sigma \epsilon`,
:math:`\epsilon \sim N(0, I)`, for each sample. At this draw :math:`(z - \mu) / \sigma` is
:math:`\epsilon`, so

.. math:: \log q(z \mid x) = -\tfrac12 \sum_j (\epsilon_j^2 + \log \sigma_j^2 + \log 2\pi).

The encoder's mean :math:`\mu` also makes the centres of the prior's components, so a batch and its
exemplars go through the encoder in one pass. The variance :math:`\sigma^2(x)` comes from a head of
the network (paper), or is the prior's scalar :math:`s^2` (published scripts).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from mgvae.model import kernels
from mgvae.model.likelihood import Likelihood
from mgvae.model.prior import Own, log_majority_mixture, log_standard_normal
from mgvae.networks import Bodies

__all__ = [
    "VAE",
    "Elbo",
    "PosteriorVariance",
    "PriorName",
    "elbo",
    "elbo_with_exemplars",
    "with_condition",
]

PosteriorVariance = Literal["head", "shared"]
PriorName = Literal["majority", "standard"]

_LOG_2PI = math.log(2.0 * math.pi)


class VAE(nn.Module):
    """An encoder, a decoder, a likelihood, and the prior's variance.

    Parameters
    ----------
    bodies : Bodies
        The encoder's body and the decoder.
    likelihood : Likelihood
        What the decoder's outputs mean.
    latent_size : int
        Length of the latent code.
    prior : {"majority", "standard"}
        The majority mixture, or the standard normal.
    posterior_variance : {"head", "shared"}
        Variance of q from the network, or the prior's scalar.

    Examples
    --------
    >>> import torch
    >>> from mgvae.codec import Span
    >>> from mgvae.model.likelihood import Likelihood
    >>> from mgvae.networks import mlp_bodies
    >>> p = Likelihood([Span("x", 4, "identity", "gaussian")])
    >>> VAE(mlp_bodies(4, (8, 8), 2), p, 2).mean(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        bodies: Bodies,
        likelihood: Likelihood,
        latent_size: int,
        prior: PriorName = "majority",
        posterior_variance: PosteriorVariance = "head",
    ) -> None:
        super().__init__()
        self.latent_size = latent_size
        self.prior: PriorName = prior
        self.encoder = bodies.encoder
        self.mean_head = nn.Linear(bodies.features, latent_size)
        head = posterior_variance == "head"
        self.log_variance_head = nn.Linear(bodies.features, latent_size) if head else None
        self.decoder = bodies.decoder
        self.likelihood = likelihood
        self.log_variance = nn.Parameter(torch.zeros(()))  # log s² of the prior's components

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the prior's log-variance from N(0, 1), as published."""
        nn.init.normal_(self.log_variance, generator=generator)

    def mean(self, x: Tensor) -> Tensor:
        """Compute μ(x). Of exemplars these are the centres c of the prior's components."""
        means: Tensor = self.mean_head(self.encoder(x))
        return means

    def log_posterior_variance(self, features: Tensor, mean: Tensor) -> Tensor:
        """Compute log σ²(x) from the encoder's features, in the shape of the mean."""
        if self.log_variance_head is None:
            return self.log_variance.expand_as(mean)
        log_variance: Tensor = self.log_variance_head(features)
        return log_variance


@dataclass(frozen=True)
class Elbo:
    """The two parts of Eq. 4 for each sample.

    Attributes
    ----------
    reconstruction : Tensor of shape (n,)
        log p(x|z).
    divergence : Tensor of shape (n,)
        log q(z|x) - log p(z|X+).
    centres : Tensor of shape (S, d) or None
        Latent means of the exemplars, if they were encoded on the way. Only their values are of
        use: they may have no gradient.
    """

    reconstruction: Tensor
    divergence: Tensor
    centres: Tensor | None = None

    def terms(self) -> Mapping[str, Tensor]:
        """Return the means over the batch: the loss -O, and its two parts."""
        loss = (self.divergence - self.reconstruction).mean()
        divergence = self.divergence.detach().mean()
        return {
            "loss": loss,
            "reconstruction": loss.detach() - divergence,
            "divergence": divergence,
        }


def elbo(
    vae: VAE,
    x: Tensor,
    noise: Tensor,
    centres: Tensor | None = None,
    condition: Tensor | None = None,
    own: Own | None = None,
) -> Elbo:
    """Estimate Eq. 4 for every row of ``x`` with one draw of z.

    Parameters
    ----------
    vae : VAE
        The model.
    x : Tensor of shape (n, width)
        Encoded rows.
    noise : Tensor of shape (n, d)
        Standard normal draws.
    centres : Tensor of shape (S, d), optional
        Latent means of the exemplars; the standard prior has none.
    condition : Tensor of shape (n, k), optional
        Appended to the rows and to the codes in a conditional model.
    own : Own, optional
        Pairs of a row and an exemplar that are the same and are left out (leave-one-out).

    Returns
    -------
    elbo : Elbo
        Each part of shape (n,).

    Examples
    --------
    >>> import torch
    >>> from mgvae.codec import Span
    >>> from mgvae.model.likelihood import Likelihood
    >>> from mgvae.networks import mlp_bodies
    >>> p = Likelihood([Span("x", 4, "identity", "gaussian")])
    >>> vae = VAE(mlp_bodies(4, (8, 8), 2), p, 2)
    >>> x, noise = torch.zeros(3, 4), torch.zeros(3, 2)
    >>> elbo(vae, x, noise, centres=vae.mean(torch.ones(5, 4))).divergence.shape
    torch.Size([3])
    """
    features = vae.encoder(with_condition(x, condition))
    mu = vae.mean_head(features)
    log_sigma2 = vae.log_posterior_variance(features, mu)
    z = torch.addcmul(mu, torch.exp(0.5 * log_sigma2), noise)  # z = μ + σε
    log_q = -0.5 * ((noise.square() + log_sigma2).sum(-1) + vae.latent_size * _LOG_2PI)
    if vae.prior == "majority" and centres is not None:
        log_p = log_majority_mixture(z, centres, vae.log_variance, own)  # log p(z|X+), Eq. 3
    else:
        log_p = log_standard_normal(z)
    raw = vae.decoder(with_condition(z, condition))
    return Elbo(vae.likelihood.log_prob(x, raw), log_q - log_p)  # the two parts of Eq. 4


def elbo_with_exemplars(
    vae: VAE,
    rows: Tensor,
    noise: Tensor,
    own: Own | None = None,
    remembered: Tensor | None = None,
    gather: Callable[[Tensor], Tensor] | None = None,
    *,
    fast: bool = True,
) -> Elbo:
    """Estimate Eq. 4 for a batch and encode its exemplars in the same pass.

    This is what training minimises.

    Parameters
    ----------
    vae : VAE
        The model.
    rows : Tensor of shape (n + S, width)
        The batch, then the exemplars.
    noise : Tensor of shape (n, d)
        Standard normal draws.
    own : Own, optional
        Pairs of a row and an exemplar that are the same and are left out (leave-one-out).
    remembered : Tensor of shape (R, d), optional
        Latent means of other exemplars, from earlier steps.
    gather : callable, optional
        Puts the latent means of exemplars that other processes have encoded beside these.
    fast : bool
        Whether to use the hand-written gradients of :mod:`mgvae.model.kernels`.

    Returns
    -------
    elbo : Elbo
        Each part of shape (n,); ``centres`` of shape (S, d).

    Examples
    --------
    >>> import torch
    >>> from mgvae.codec import Span
    >>> from mgvae.model.likelihood import Likelihood
    >>> from mgvae.networks import mlp_bodies
    >>> p = Likelihood([Span("x", 4, "identity", "gaussian")])
    >>> vae = VAE(mlp_bodies(4, (8, 8), 2), p, 2)
    >>> elbo_with_exemplars(vae, torch.zeros(3 + 5, 4), torch.zeros(3, 2)).divergence.shape
    torch.Size([3])
    """
    n = len(noise)
    if vae.prior == "standard":
        return elbo(vae, rows[:n], noise)
    if fast:
        raw, divergence, centres = kernels.vae_codes(vae, rows, noise, own, remembered, gather)
        return Elbo(vae.likelihood.log_prob(rows[:n], raw, fast=True), divergence, centres)
    centres = vae.mean(rows[n:])
    if gather is not None:
        centres = gather(centres)
    everyone = centres if remembered is None else torch.cat([centres, remembered])
    return replace(elbo(vae, rows[:n], noise, everyone, own=own), centres=centres)


def with_condition(rows: Tensor, condition: Tensor | None) -> Tensor:
    """Append a condition to rows or codes, if there is one.

    Examples
    --------
    >>> import torch
    >>> with_condition(torch.zeros(4, 3), torch.ones(4, 2)).shape
    torch.Size([4, 5])
    """
    return rows if condition is None else torch.cat([rows, condition], -1)
