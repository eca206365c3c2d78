r"""Generation: from latent codes to new rows.

Algorithm 1 of the paper is :func:`translate`: with a majority row's latent mean c,

.. math:: z = c + \tau s \epsilon, \qquad x^- \sim p(x \mid z),

where :math:`\tau` is the temperature (1 in the paper). :func:`generate` draws the majority rows
uniformly. Where the minority is a corner of the majority, most exemplars are far from it; then they
are better drawn by a minority row. With the latent mean :math:`u_m` of a random minority row,
:func:`exemplars_near` draws from the responsibilities of the mixture,

.. math:: p(n \mid m) \propto \exp(-|u_m - c_n|^2 / 2s^2) .

The *bridge* of :mod:`mgvae.methods.mgvae.bridge` also starts from there.

A sampler keeps no latent mean of a majority row: where a code is as long as a row, the row could be
worked out from it. It keeps :func:`blurred` ones, :math:`\tilde c = c + \rho s \epsilon` with
:math:`\rho = 0.9`, drawn once. With noise of :math:`\sqrt{\tau^2 - \rho^2}\, s` around them, the
code of a new row has exactly the distribution above. Whoever has the model can guess
``random_state``, so :func:`secret_seeds` decide the noise.
"""

import hashlib
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mgvae.common.rows import BLOCK, MATRIX, EncodedRows, Positions
from mgvae.common.runtime import torch_generator
from mgvae.model.prior import responsibilities
from mgvae.model.vae import VAE, elbo

__all__ = [
    "BLUR",
    "DecoderOutput",
    "blurred",
    "decode",
    "draw_anchors",
    "exemplars_near",
    "generate",
    "latent_means",
    "plausibility",
    "secret_seeds",
    "translate",
]

DecoderOutput = Literal["mean", "sample"]

BLUR = 0.9  # of a latent mean, in the deviations s of the prior's components
_CACHED = 2**18  # responsibilities that are worked out at once: a processor's cache holds them
_PIECE = 2**12  # rows that pass through a decoder at once, for the same reason
_MOST_ANCHORS = 2**14  # of one call, whose responsibilities for all exemplars are worked out


@torch.no_grad()
def latent_means(vae: VAE, rows: EncodedRows, positions: Positions) -> Tensor:
    """Encode the rows at ``positions`` to their latent means, block by block.

    Parameters
    ----------
    vae : VAE
        The model.
    rows : EncodedRows of shape (n, width)
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
        vae.mean(rows.take(positions[start : start + BLOCK]).to(device)).cpu()
        for start in range(0, len(positions), BLOCK)
    ]
    return torch.cat(means) if means else torch.empty(0, vae.latent_size)


def secret_seeds(seeds: np.random.SeedSequence, x: Tensor) -> np.random.SeedSequence:
    """Mix seeds with rows, so that only who knows all of the rows can draw the same numbers.

    Parameters
    ----------
    seeds : numpy.random.SeedSequence
        From ``random_state``.
    x : Tensor
        Numbers that a model file does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> root, x = np.random.SeedSequence(0), torch.ones(2, 2)
    >>> draws = [secret_seeds(root, x * k).generate_state(1) for k in (1, 1, 2)]
    >>> bool(draws[0] == draws[1]), bool(draws[0] == draws[2])
    (True, False)
    """
    digest = hashlib.sha256(x.contiguous().numpy().tobytes()).digest()
    words = np.frombuffer(digest, "<u4").tolist()
    return np.random.SeedSequence([*seeds.generate_state(4).tolist(), *words])


@torch.no_grad()
def blurred(
    vae: VAE, centres: Tensor, seeds: np.random.SeedSequence, strength: float = BLUR
) -> Tensor:
    """Add noise to latent means of majority rows, from which the rows could be worked out.

    Parameters
    ----------
    vae : VAE
        The model.
    centres : Tensor of shape (n, d)
        Latent means.
    seeds : numpy.random.SeedSequence
        Decides the noise.
    strength : float
        Of the noise, in the deviations of the prior's components.

    Returns
    -------
    blurred : Tensor of shape (n, d)
        On the CPU.
    """
    noise = torch.randn(centres.shape, generator=torch_generator(seeds))
    return centres + strength * torch.exp(0.5 * vae.log_variance).cpu() * noise


def decode(vae: VAE, z: Tensor) -> Tensor:
    """Return the decoder's raw outputs, in pieces whose activations a processor's cache holds.

    Parameters
    ----------
    vae : VAE
        The model.
    z : Tensor of shape (n, d)
        Latent codes.

    Returns
    -------
    raw : Tensor of shape (n, width)
        On the model's device.
    """
    pieces = z.tensor_split(-(-len(z) // _PIECE)) if z.device.type == "cpu" and len(z) else (z,)
    raw: list[Tensor] = [vae.decoder(piece) for piece in pieces]
    return raw[0] if len(raw) == 1 else torch.cat(raw)


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
        raw = decode(vae, z)
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


def draw_anchors(among: int, n: int, rng: np.random.Generator) -> Positions:
    """Draw minority rows uniformly, to draw exemplars near them.

    Every anchor costs its responsibilities for all exemplars. So where there are very many, a call
    draws from 16,384 of them, and another call from others.

    Parameters
    ----------
    among : int
        How many minority rows there are.
    n : int
        How many are wanted.
    rng : numpy.random.Generator
        Decides.

    Returns
    -------
    anchors : ndarray of int of shape (n,)
        Which rows.

    Examples
    --------
    >>> import numpy as np
    >>> anchors = draw_anchors(10**6, 10**5, np.random.default_rng(0))
    >>> bool(anchors.max() > 990_000), len(np.unique(anchors)) <= 16_384
    (True, True)
    """
    if min(among, n) <= _MOST_ANCHORS:
        return rng.integers(among, size=n)
    return rng.choice(among, _MOST_ANCHORS, replace=False)[rng.integers(_MOST_ANCHORS, size=n)]


def exemplars_near(
    codes: Tensor,
    which: Positions,
    centres: Tensor,
    log_variance: Tensor,
    rng: np.random.Generator,
) -> Positions:
    """Draw centres by the mixture's responsibilities for codes.

    Parameters
    ----------
    codes : Tensor of shape (M, d)
        Latent codes.
    which : ndarray of int of shape (n,)
        For which of the codes a centre is wanted, each as often as it is named.
    centres : Tensor of shape (N, d)
        Latent means of the exemplars.
    log_variance : Tensor, scalar
        Log-variance of the mixture's components.
    rng : numpy.random.Generator
        Decides.

    Returns
    -------
    drawn : ndarray of int of shape (n,)
        Positions among the centres.

    Examples
    --------
    >>> import numpy as np, torch
    >>> codes, centres = torch.tensor([[0.0], [9.0]]), torch.tensor([[9.0], [0.0]])
    >>> which = np.array([0, 1, 1])
    >>> exemplars_near(codes, which, centres, torch.tensor(0.0), np.random.default_rng(0))
    array([1, 0, 0])
    """
    counts = np.bincount(which, minlength=len(codes))
    wanted = np.flatnonzero(counts)
    ends = np.append(0, counts[wanted].cumsum())
    chances = rng.random(len(which))
    order = np.argsort(which + chances)  # what is looked for in order, is found fast
    drawn = np.empty(len(which), np.int64)
    size = max(1, _CACHED // len(centres))
    for start in range(0, len(wanted), size):
        some = wanted[start : start + size]
        weights = responsibilities(codes[torch.from_numpy(some)], centres, log_variance)
        steps = weights.flatten().cumsum(0, dtype=torch.float64).numpy()  # one search serves all
        here = order[ends[start] : ends[start + len(some)]]
        first = np.repeat(np.arange(0, steps.size, len(centres)), counts[some])
        last = first + len(centres) - 1
        below = np.where(first > 0, steps[first - 1], 0.0)
        found = np.searchsorted(steps, below + chances[here] * (steps[last] - below), side="right")
        drawn[here] = np.clip(found, first, last) - first
    return drawn


@torch.no_grad()
def plausibility(vae: VAE, encoded: Tensor, centres: Tensor) -> Tensor:
    """Score rows by Eq. 4 at their latent means: how well the model of a class explains them.

    Parameters
    ----------
    vae : VAE
        The model of the class.
    encoded : Tensor of shape (n, width)
        The rows.
    centres : Tensor of shape (S, d)
        Latent means that stand for the prior.

    Returns
    -------
    scores : Tensor of shape (n,)
        Higher is more plausible. On the CPU.
    """
    device = vae.log_variance.device
    scores = []
    size = max(1, min(BLOCK, MATRIX // max(1, len(centres))))
    for start in range(0, len(encoded), size):
        x = encoded[start : start + size]
        noise = torch.zeros(len(x), vae.latent_size, device=device)
        parts = elbo(vae, x.to(device), noise, centres.to(device))
        scores.append((parts.reconstruction - parts.divergence).cpu())
    return torch.cat(scores) if scores else torch.empty(0)
