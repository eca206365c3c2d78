r"""The bridge: new rows between a minority row and the majority.

Translation makes a row from a majority row alone; after few minority rows, its decoder knows little
of what makes them special. A bridge starts from a real minority row m, goes some way to an exemplar
n that is drawn by the mixture's responsibilities (``exemplars_near``), and
takes over what no code holds: the row's own residual, and a difference between majority rows,

.. math:: z = u_m + a (c_n - u_m) + 0.3\, \tau \sigma_m \epsilon, \qquad
          x^- = f(z) + [x_m - f(u_m)] + b (x_k - x_n),

where :math:`f` is the decoder's mean, k one of the ten majority rows nearest to n in the latent
space, :math:`a \sim U(0, 0.5)` and :math:`b \sim U(0, 0.75)`. The means of categories and flags are
probabilities, from which the row is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mgvae.codec import Span
from mgvae.common.rows import BLOCK, MATRIX, EncodedRows, Positions, gather
from mgvae.common.runtime import torch_generator
from mgvae.methods.mgvae.generation import decode, latent_means
from mgvae.model.vae import VAE

__all__ = ["MOST_GUIDES", "NEIGHBOURS", "Bridge", "build_bridge", "cross", "nearest"]

MOST_GUIDES = 4096  # pairs of majority rows whose differences are kept
NEIGHBOURS = 10  # of a majority row, to which differences are taken
_APPROACH, _BORROWED, _NOISE = 0.5, 0.75, 0.3  # largest a, largest b, and the factor on sigma


@dataclass(frozen=True)
class Bridge:
    """What a bridge needs of both sides, besides the model.

    Attributes
    ----------
    means, deviations : Tensor of shape (M, d)
        Of the posterior of every minority row.
    residuals : Tensor of shape (M, width)
        What the decoder's mean lacks of every minority row; 0 where the cell is missing.
    centres : Tensor of shape (G, d)
        Latent means of majority rows, the guides.
    differences : Tensor of shape (G, width)
        From each guide to a majority row near it; 0 where a cell is missing.
    guides : ndarray of int of shape (G,)
        Which majority rows the guides are.
    """

    means: Tensor
    deviations: Tensor
    residuals: Tensor
    centres: Tensor
    differences: Tensor
    guides: Positions


@torch.no_grad()
def build_bridge(
    vae: VAE,
    rows: EncodedRows,
    minority: Positions,
    majority: Positions,
    spans: Sequence[Span],
    seeds: np.random.SeedSequence,
) -> Bridge:
    """Collect what a bridge needs.

    Parameters
    ----------
    vae : VAE
        The model of the minority class.
    rows : EncodedRows of shape (n, width)
        All encoded rows.
    minority, majority : ndarray of int
        Positions of the rows of both sides.
    spans : sequence of Span
        What the encoded columns mean.
    seeds : numpy.random.SeedSequence
        Decides the guides and their neighbours.

    Returns
    -------
    bridge : Bridge
        All on the CPU. Of a large majority 4,096 rows are kept; of a small one each several times,
        with different neighbours.
    """
    rng = np.random.default_rng(seeds)
    device = vae.log_variance.device
    n = min(len(majority), MOST_GUIDES)
    kept = np.sort(rng.choice(len(majority), n, replace=False))
    others = latent_means(vae, rows, majority[kept])
    near = nearest(others, others, min(NEIGHBOURS, n - 1), same=True)
    times = max(1, min(near.shape[1], MOST_GUIDES // n))
    guides = np.repeat(np.arange(n), times)
    neighbours = guides
    if near.shape[1]:
        columns = rng.permuted(np.tile(np.arange(near.shape[1]), (n, 1)), axis=1)[:, :times]
        neighbours = near[guides, columns.ravel()]

    anchors = [
        _anchor(vae, rows.take(minority[start : start + BLOCK]).to(device), spans)
        for start in range(0, len(minority), BLOCK)
    ]
    means, deviations, residuals = (torch.cat(parts) for parts in zip(*anchors, strict=True))
    x_n, x_k = rows.take(majority[kept[guides]]), rows.take(majority[kept[neighbours]])
    return Bridge(
        means,
        deviations,
        residuals,
        others[torch.from_numpy(guides)],
        (x_k - x_n) * _present(x_n, spans) * _present(x_k, spans),
        kept[guides],
    )


def _anchor(vae: VAE, x: Tensor, spans: Sequence[Span]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the posterior's means and deviations of rows, and what the decoder lacks of them."""
    features = vae.encoder(x)
    mean = vae.mean_head(features)
    deviation = torch.exp(0.5 * vae.log_posterior_variance(features, mean))
    lacking = _present(x, spans) * (x - vae.likelihood.mean(vae.decoder(mean)))
    return mean.cpu(), deviation.cpu(), lacking.cpu()


def nearest(codes: Tensor, others: Tensor, n: int = 1, *, same: bool = False) -> Positions:
    """Find for every code the ``n`` nearest of the others.

    Parameters
    ----------
    codes, others : Tensor of shape (N, d) and (M, d)
        Latent codes.
    n : int
        How many.
    same : bool
        Whether both are the same, and a code is not its own neighbour.

    Examples
    --------
    >>> import torch
    >>> codes = torch.tensor([[0.0], [1.0], [5.0]])
    >>> nearest(codes, codes, same=True).ravel()
    array([1, 0, 1])
    """
    found = [torch.empty(0, n, dtype=torch.int64)]
    size = max(1, MATRIX // max(1, len(others)))
    for start in range(0, len(codes), size):
        distances = torch.cdist(codes[start : start + size], others)
        if same:
            distances.diagonal(start).fill_(torch.inf)
        found.append(distances.topk(n, largest=False).indices)
    return torch.cat(found).numpy()


def _present(x: Tensor, spans: Sequence[Span]) -> Tensor:
    """Return 1 for every encoded value that is one, 0 for the placeholders of missing cells."""
    present = torch.ones_like(x)
    start = 0
    for span in spans:
        if span.mask is not None:
            present[:, start : start + span.size] = 1.0 - x[:, span.mask, None]
        start += span.size
    return present


@torch.no_grad()
def cross(
    vae: VAE,
    bridge: Bridge,
    anchors: Positions,
    guides: Positions,
    seeds: np.random.SeedSequence,
    *,
    centres: Tensor | None = None,
    temperature: float = 1.0,
) -> Tensor:
    """Make one new row from each pair of a minority row and a guide.

    Parameters
    ----------
    vae : VAE
        The model of the minority class.
    bridge : Bridge
        What :func:`build_bridge` gave.
    anchors, guides : ndarray of int of shape (n,)
        Which of the bridge's minority rows and guides.
    seeds : numpy.random.SeedSequence
        Decides a, b, the noise, and categories.
    centres : Tensor of shape (n, d), optional
        Latent means to go to, if not the guides' own.
    temperature : float
        Factor on the noise.

    Returns
    -------
    encoded : Tensor of shape (n, width)
        On the CPU.
    """
    device = vae.log_variance.device
    generator = torch_generator(seeds, device)
    made = []
    for start in range(0, len(anchors), BLOCK):
        m, g = anchors[start : start + BLOCK], guides[start : start + BLOCK]
        c = gather(bridge.centres, g) if centres is None else centres[start : start + BLOCK]
        mean, deviation = (
            gather(bridge.means, m).to(device),
            gather(bridge.deviations, m).to(device),
        )
        noise = torch.randn(mean.shape, generator=generator, device=device)
        share = torch.rand(2, len(m), 1, generator=generator, device=device)
        z = mean + _APPROACH * share[0] * (c.to(device) - mean)
        z += (_NOISE * temperature) * deviation * noise
        x = vae.likelihood.mean(decode(vae, z)) + gather(bridge.residuals, m).to(device)
        x += (_BORROWED * share[1]) * gather(bridge.differences, g).to(device)
        made.append(vae.likelihood.realise(x, generator).cpu())
    return torch.cat(made) if made else torch.empty(0, vae.likelihood.width)
