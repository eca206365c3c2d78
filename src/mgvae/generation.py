r"""Generation: from latent codes to new rows.

Algorithm 1 of the paper is :func:`translate`: with a majority row's latent mean c,

.. math:: z = c + \tau s \epsilon, \qquad x^- \sim p(x \mid z),

where :math:`\tau` is the temperature (1 in the paper); :func:`generate` draws the majority rows
uniformly.
"""

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mgvae._runtime import torch_generator
from mgvae.rows import BLOCK, Positions, take
from mgvae.vae import VAE

__all__ = ["DecoderOutput", "generate", "latent_means", "translate"]

DecoderOutput = Literal["mean", "sample"]


@torch.no_grad()
def latent_means(vae: VAE, rows: Tensor, positions: Positions) -> Tensor:
    """Encode the rows at ``positions`` to their latent means, block by block.

    Parameters
    ----------
    vae : VAE
        The model.
    rows : Tensor of shape (n, width)
        All encoded rows.
    positions : ndarray of int
        Which of them.

    Returns
    -------
    means : Tensor of shape (len(positions), d)
        On the CPU.
    """
    device = vae.log_variance.device
    means = [
        vae.mean(take(rows, positions[start : start + BLOCK]).to(device)).cpu()
        for start in range(0, len(positions), BLOCK)
    ]
    return torch.cat(means) if means else torch.empty(0, vae.latent_size)


@torch.no_grad()
def translate(
    vae: VAE,
    centres: Tensor,
    seeds: np.random.SeedSequence,
    *,
    temperature: float = 1.0,
    decoder_output: DecoderOutput = "mean",
) -> Tensor:
    """Turn majority rows, given by their latent means, into new rows (Algorithm 1, steps 2-3).

    Parameters
    ----------
    vae : VAE
        The model of the class to be generated.
    centres : Tensor of shape (n, d)
        Latent means of the majority rows. The standard prior has no centres: it draws every code
        from N(0, I) and only takes the number of rows from here.
    seeds : numpy.random.SeedSequence
        Decides the noise.
    temperature : float
        Factor on the noise of the latent code.
    decoder_output : {"mean", "sample"}
        Whether numbers are the decoder's means or draws around them.

    Returns
    -------
    encoded : Tensor of shape (n, width)
        On the CPU.
    """
    device = vae.log_variance.device
    generator = torch_generator(seeds, device)
    scale = temperature * torch.exp(0.5 * vae.log_variance)
    made = []
    for start in range(0, len(centres), BLOCK):
        c = centres[start : start + BLOCK].to(device)
        noise = torch.randn(c.shape, generator=generator, device=device)
        z = c + scale * noise if vae.prior == "majority" else temperature * noise
        raw = vae.decoder(z)
        drawn = vae.likelihood.draw(raw, generator, numeric_noise=decoder_output == "sample")
        made.append(drawn.cpu())
    return torch.cat(made) if made else torch.empty(0, vae.likelihood.width)


def generate(
    vae: VAE,
    centres: Tensor,
    n: int,
    seeds: np.random.SeedSequence,
    *,
    temperature: float = 1.0,
    decoder_output: DecoderOutput = "mean",
) -> tuple[Tensor, Positions]:
    """Draw majority rows uniformly and translate them (Algorithm 1).

    Parameters
    ----------
    vae : VAE
        The model of the class to be generated.
    centres : Tensor of shape (N, d)
        Latent means of all majority rows.
    n : int
        How many rows to generate.
    seeds : numpy.random.SeedSequence
        Decides the rows and the noise.
    temperature : float
        Factor on the noise of the latent code.
    decoder_output : {"mean", "sample"}
        Whether numbers are the decoder's means or draws around them.

    Returns
    -------
    encoded : Tensor of shape (n, width)
        The new rows.
    sources : ndarray of int of shape (n,)
        Which of the ``centres`` each came from; -1 under the standard prior, which has no source.
    """
    for_rows, for_noise = seeds.spawn(2)
    sources = np.random.default_rng(for_rows).integers(len(centres), size=n)
    encoded = translate(
        vae,
        centres[torch.from_numpy(sources)],
        for_noise,
        temperature=temperature,
        decoder_output=decoder_output,
    )
    return encoded, sources if vae.prior == "majority" else np.full(n, -1)
