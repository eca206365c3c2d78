"""Eq. 4 but the likelihood, layer by layer."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from mgvae.model.kernels.dense import dense, two_heads
from mgvae.model.kernels.mixture import draw_and_compare
from mgvae.model.prior import Own
from mgvae.networks import Dense

__all__ = ["Autoencoder", "vae_codes"]


class Autoencoder(Protocol):
    """What :func:`vae_codes` needs of a :class:`mgvae.model.vae.VAE`."""

    encoder: nn.Module
    mean_head: nn.Linear
    log_variance_head: nn.Linear | None
    decoder: nn.Module
    log_variance: nn.Parameter


Gather = Callable[[Tensor], Tensor]


def vae_codes(
    vae: Autoencoder,
    rows: Tensor,
    noise: Tensor,
    own: Own | None = None,
    remembered: Tensor | None = None,
    gather: Gather | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Compute Eq. 4 up to the likelihood by the functions of this package.

    The plain form is Eq. 4 itself, :func:`mgvae.model.vae.elbo`. Each stack of fully connected
    layers is one function; other networks are run as they are.

    Parameters
    ----------
    vae : VAE
        The model.
    rows : Tensor of shape (n + S, width)
        The batch, then the exemplars.
    noise : Tensor of shape (n, d)
        Standard normal draws.
    own : Own, optional
        See :func:`mgvae.model.prior.log_majority_mixture`.
    remembered : Tensor of shape (R, d), optional
        Latent means of other exemplars, from earlier steps.
    gather : callable, optional
        Puts the latent means of exemplars that other processes have encoded beside these.

    Returns
    -------
    raw : Tensor of shape (n, width)
        The decoder's outputs.
    divergence : Tensor of shape (n,)
        :math:`\log q(z \mid x) - \log p(z \mid X^+)`.
    centres : Tensor of shape (S, d)
        Latent means of the exemplars.
    """
    n, head = len(noise), vae.log_variance_head
    features = _run(vae.encoder, rows)
    if head is None:
        means = vae.mean_head(features)
        log_variance = vae.log_variance.expand(n, means.shape[1])
    else:
        means, log_variance = two_heads(features, vae.mean_head, head, n)
    mean, centres = torch.split(means, [n, len(features) - n])
    if gather is not None:
        centres = gather(centres.contiguous())
    everyone = centres if remembered is None else torch.cat([centres, remembered])
    z, divergence = draw_and_compare(mean, log_variance, noise, everyone, vae.log_variance, own)
    return _run(vae.decoder, z), divergence, centres


def _run(body: nn.Module, x: Tensor) -> Tensor:
    outputs: Tensor = dense(body, x) if isinstance(body, Dense) else body(x)
    return outputs
