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

A model file holds no such difference, because chains of differences would give the rows back to
whoever has it (:func:`guides_to_store`). It holds for each guide n one sum over its neighbours

.. math:: d_n = \sum_k w_k x_k + 0.1\, \eta, \qquad \sum_k w_k = 0, \quad \sum_k w_k^2 \approx 2,

with about the second moments of a difference between two of them. The guide itself is not in it:
in sums of differences to the guide, its own categories stand out, the more the more files of the
same rows there are. The sums are the same for all classes, because several sums over the same
neighbours can be solved for these. Numbers share their weights; each category and flag has its own,
because from the few values that sums of categories have, joint weights and with them rows can be
worked out. Therefore also the noise :math:`\eta`, in standard deviations of each number;
therefore the :math:`c_n` of a file is not the latent mean itself but ``blurred``; and therefore the
guides of a file are in an order of its own, so that two files cannot be laid side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from mgvae.codec import Span
from mgvae.common.rows import BLOCK, MATRIX, EncodedRows, Positions, gather
from mgvae.common.runtime import torch_generator
from mgvae.methods.mgvae.generation import blurred, decode, latent_means, secret_seeds
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE

__all__ = [
    "GUIDE_BLUR",
    "MOST_GUIDES",
    "NEIGHBOURS",
    "Bridge",
    "Guides",
    "Neighbours",
    "Sums",
    "build_bridge",
    "choose_guides",
    "cross",
    "guides_to_store",
    "nearest",
    "own_order",
    "without_rows",
]

MOST_GUIDES = 4096  # majority rows to go towards
NEIGHBOURS = 10  # of a majority row, to which differences are taken
GUIDE_BLUR = 2.0  # noise on the guides of a file, in the deviations s of the prior's components
RESOLUTION = 0.1  # noise on the numbers of a difference, in standard deviations
_PIECE = 256  # guides whose differences are worked out at once
_APPROACH, _BORROWED, _NOISE = 0.5, 0.75, 0.3  # largest a, largest b, and the factor on sigma


@dataclass(frozen=True)
class Neighbours:
    """Differences between guides and the guides near them.

    Attributes
    ----------
    rows : Tensor of shape (G, width)
        The guides, NaN where a cell is missing.
    near : ndarray of int of shape (G, k)
        For each guide the nearest others.
    complete : bool
        Whether no cell is missing.
    """

    rows: Tensor
    near: Positions
    complete: bool

    def take(self, guides: Positions, chances: Tensor) -> Tensor:
        """Return for each of the guides (n,) the difference to one of its neighbours.

        Parameters
        ----------
        guides : ndarray of int of shape (n,)
            Which of the guides.
        chances : Tensor of shape (n,)
            Numbers from U(0, 1), which decide the neighbours.

        Returns
        -------
        differences : Tensor of shape (n, width)
            0 where a cell is missing.
        """
        k = self.near.shape[1]
        if not k:
            return torch.zeros(len(guides), self.rows.shape[1])
        drawn = self.near[guides, np.minimum(chances.numpy() * k, k - 1).astype(np.int64)]
        apart = gather(self.rows, drawn).sub_(gather(self.rows, guides))
        return apart if self.complete else apart.nan_to_num_(0.0)


@dataclass(frozen=True)
class Sums:
    """One difference for each guide, as a model file has it.

    Attributes
    ----------
    sums : Tensor of shape (G, width)
        Of differences to neighbours, with random weights.
    """

    sums: Tensor

    def take(self, guides: Positions, chances: Tensor) -> Tensor:  # noqa: ARG002
        """Return the guides' sums."""
        return gather(self.sums, guides)


@dataclass(frozen=True)
class Guides:
    """Majority rows to go towards, for all classes.

    Attributes
    ----------
    positions : ndarray of int of shape (G,)
        Which rows.
    differences : Neighbours
        How majority rows near each guide differ from it.
    """

    positions: Positions
    differences: Neighbours


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
        Latent means of the guides, blurred if from a file.
    differences : Neighbours or Sums
        How majority rows near each guide differ from it.
    """

    means: Tensor
    deviations: Tensor
    residuals: Tensor
    centres: Tensor
    differences: Neighbours | Sums


@torch.no_grad()
def choose_guides(
    vae: VAE,
    rows: EncodedRows,
    majority: Positions,
    spans: Sequence[Span],
    seeds: np.random.SeedSequence,
) -> Guides:
    """Choose majority rows to go towards, and find those near each other.

    Parameters
    ----------
    vae : VAE
        The model of the majority, whose latent space says what is near.
    rows : EncodedRows of shape (n, width)
        All encoded rows.
    majority : ndarray of int
        Positions of the majority's rows.
    spans : sequence of Span
        What the encoded columns mean.
    seeds : numpy.random.SeedSequence
        Decides the guides of a large majority.

    Returns
    -------
    guides : Guides
        All rows of the majority, or 4,096 of a larger one.
    """
    rng = np.random.default_rng(seeds)
    n = min(len(majority), MOST_GUIDES)
    positions = majority[np.sort(rng.choice(len(majority), n, replace=False))]
    x, codes = rows.take(positions), latent_means(vae, rows, positions)
    near = nearest(codes, codes, min(NEIGHBOURS, n - 1), same=True)
    missing = _present(x, spans) == 0
    known = x.masked_fill(missing, torch.nan)
    return Guides(positions, Neighbours(known, near, not bool(missing.any())))


@torch.no_grad()
def build_bridge(
    vae: VAE,
    rows: EncodedRows,
    minority: Positions,
    guides: Guides,
    spans: Sequence[Span],
) -> Bridge:
    """Collect what a bridge needs.

    Parameters
    ----------
    vae : VAE
        The model of the minority class.
    rows : EncodedRows of shape (n, width)
        All encoded rows.
    minority : ndarray of int
        Positions of its rows.
    guides : Guides
        What :func:`choose_guides` gave.
    spans : sequence of Span
        What the encoded columns mean.

    Returns
    -------
    bridge : Bridge
        All on the CPU.
    """
    device = vae.log_variance.device
    anchors = [
        _anchor(vae, rows.take(minority[start : start + BLOCK]).to(device), spans)
        for start in range(0, len(minority), BLOCK)
    ]
    means, deviations, residuals = (torch.cat(parts) for parts in zip(*anchors, strict=True))
    centres = latent_means(vae, rows, guides.positions)
    return Bridge(means, deviations, residuals, centres, guides.differences)


class _Weights:
    """Sums of rows with random weights, and noise on the numbers.

    Numbers share their weights. Each category and each flag has its own.
    """

    def __init__(
        self, likelihood: Likelihood, noise: Tensor, seeds: np.random.SeedSequence
    ) -> None:
        self.noise = likelihood.numeric * noise
        self.columns = []  # which outputs, and whose weights
        n_sets, start = 1, 0
        for block in likelihood.blocks:
            for size in block.sizes if block.discrete else [block.width]:
                self.columns.append((slice(start, start + size), n_sets if block.discrete else 0))
                n_sets, start = n_sets + block.discrete, start + size
        self.n_sets = n_sets
        self.generator = torch_generator(seeds)

    def __call__(self, rows: Tensor) -> Tensor:
        """Return one sum for each of the groups (G, K, width), with the groups' second moments."""
        groups, k, width = rows.shape
        weights = torch.randn(self.n_sets, groups, 1, k, generator=self.generator)
        weights /= max(1, k) ** 0.5
        sums = [weights[which] @ rows[..., outputs] for outputs, which in self.columns]
        noise = torch.randn(groups, width, generator=self.generator)
        return torch.cat(sums, 2).squeeze(1) + self.noise * noise


def own_order(n: int, seeds: np.random.SeedSequence) -> Tensor:
    """Return an order of ``n`` rows for a file, so that two files cannot be laid side by side."""
    return torch.randperm(n, generator=torch_generator(seeds))


@torch.no_grad()
def guides_to_store(vae: VAE, bridge: Bridge) -> tuple[Tensor, Tensor]:
    """Return of the guides what tells no majority row: blurred latent means, sums of differences.

    The rows themselves decide the random numbers, so one bridge always gives the same.

    Parameters
    ----------
    vae : VAE
        The model of the minority class.
    bridge : Bridge
        What :func:`build_bridge` gave, or what comes from a file and is returned as it is.

    Returns
    -------
    centres, sums : Tensor of shape (G, d) and (G, width)
    """
    found = bridge.differences
    if isinstance(found, Sums):
        return bridge.centres, found.sums
    root = np.random.SeedSequence(0)
    centres = blurred(vae, bridge.centres, secret_seeds(root, bridge.centres), GUIDE_BLUR)
    there, x = ~found.rows.isnan(), found.rows.nan_to_num(0.0)
    noise = RESOLUTION * x.std(0, correction=0)
    # another fit to the same rows has other neighbours, and must not have the same weights of them
    secret = torch.cat([found.rows, torch.from_numpy(found.near)], 1)
    for_weights, for_order = secret_seeds(root, secret).spawn(2)
    weigh = _Weights(vae.likelihood, noise, for_weights)
    size = found.near.shape[1]
    moments = (2 * size / max(1, size - 1)) ** 0.5  # of a difference, from deviations from a mean
    made = [torch.empty(0, x.shape[1])]
    for start in range(0, len(x), _PIECE):
        near = torch.from_numpy(found.near[start : start + _PIECE])
        mean = x[near].sum(1) / there[near].sum(1).clamp(min=1)
        made.append(weigh(moments * there[near] * (x[near] - mean[:, None])))
    order = own_order(len(x), for_order)
    return centres[order], torch.cat(made)[order]


@torch.no_grad()
def without_rows(vae: VAE, bridge: Bridge) -> Bridge:
    """Return a bridge whose anchors are no rows of the minority.

    Latent means are blurred as those of the guides, deviations are those of the whole class, and
    residuals are sums over the ten nearest rows and the row itself with random weights; their order
    is the file's own. A class of no more than ten rows has noise in their place, with the
    deviations of its residuals.

    Parameters
    ----------
    vae : VAE
        The model of the minority class.
    bridge : Bridge
        What :func:`build_bridge` gave.
    """
    secret = torch.cat([bridge.means, bridge.residuals], 1)
    for_blur, for_weights, for_order = secret_seeds(np.random.SeedSequence(0), secret).spawn(3)
    n = len(bridge.means)
    order = own_order(n, for_order)
    deviation = bridge.residuals.std(0, correction=0)
    if n > NEIGHBOURS:
        near = nearest(bridge.means, bridge.means, NEIGHBOURS + 1)
        weigh = _Weights(vae.likelihood, RESOLUTION * deviation, for_weights)
        pieces = [torch.from_numpy(near[start : start + _PIECE]) for start in range(0, n, _PIECE)]
        residuals = torch.cat([weigh(bridge.residuals[piece]) for piece in pieces])
    else:
        noise = torch.randn(bridge.residuals.shape, generator=torch_generator(for_weights))
        residuals = vae.likelihood.numeric * deviation * noise
    return replace(
        bridge,
        means=blurred(vae, bridge.means, for_blur)[order],
        deviations=bridge.deviations.mean(0).repeat(n, 1),
        residuals=residuals[order],
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
    middle = others.mean(0)  # near which rounding is least
    codes, others = codes - middle, others - middle
    lengths = others.square().sum(1)
    for start in range(0, len(codes), size):
        # squared distances, less what is the same for all of a code's
        distances = torch.addmm(lengths, codes[start : start + size], others.T, alpha=-2.0)
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
        share = torch.rand(3, len(m), 1, generator=generator, device=device)
        z = mean + _APPROACH * share[0] * (c.to(device) - mean)
        z += (_NOISE * temperature) * deviation * noise
        x = vae.likelihood.mean(decode(vae, z)) + gather(bridge.residuals, m).to(device)
        apart = bridge.differences.take(g, share[2].flatten().cpu())
        x += (_BORROWED * share[1]) * apart.to(device)
        made.append(vae.likelihood.realise(x, generator).cpu())
    return torch.cat(made) if made else torch.empty(0, vae.likelihood.width)
