r"""The variational autoencoder and its objective, Eq. 4 of the paper.

.. math:: O(\Psi, X^+; x) = E_{q(z \mid x)} \bigl[ \log p(x \mid z)
          - \log q(z \mid x) + \log p(z \mid X^+) \bigr] \le \log p(x \mid X^+)

with :math:`q(z \mid x) = N(z;\, \mu(x),\, \sigma^2(x))` and one draw
:math:`z = \mu + \sigma \epsilon` per sample. The encoder's mean :math:`\mu` also makes the prior's
components, so a batch and its exemplars go through the encoder together, in one pass. The
posterior's variance comes from a head of the network (paper), or is the prior's scalar (published
scripts).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from mgvae.model.likelihood import Likelihood
from mgvae.model.prior import (
    DrawAndCompare,
    Own,
    draw_and_compare,
    log_majority_mixture,
    log_standard_normal,
)
from mgvae.networks import (
    Bodies,
    Dense,
    DenseFunction,
    TwoHeadsFunction,
    layer_parameters,
    two_heads,
)

__all__ = [
    "VAE",
    "Elbo",
    "PosteriorVariance",
    "PriorName",
    "elbo",
    "elbo_with_exemplars",
    "join",
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
        self.log_variance = nn.Parameter(torch.zeros(()))  # log s^2 of the prior's components

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the prior's log-variance from N(0, 1), as published."""
        nn.init.normal_(self.log_variance, generator=generator)

    def mean(self, x: Tensor) -> Tensor:
        """Encode rows to latent means: the centres c of the prior's components."""
        means: Tensor = self.mean_head(self.encoder(x))
        return means

    def log_posterior_variance(self, features: Tensor, mean: Tensor) -> Tensor:
        """Give the log-variance of q from the body's features, in the shape of its mean."""
        if self.log_variance_head is None:
            return self.log_variance.expand_as(mean)
        log_variance: Tensor = self.log_variance_head(features)
        return log_variance


@dataclass(frozen=True)
class Elbo:
    """The two parts of Eq. 4 for each sample: log p(x|z), and log q(z|x) - log p(z).

    ``centres`` are the latent means that stood for the prior, if they were encoded on the way.
    """

    reconstruction: Tensor
    divergence: Tensor
    centres: Tensor | None = None

    def terms(self) -> Mapping[str, Tensor]:
        """Name the parts, as means to be lowered."""
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
        What is joined to the rows and to the codes in a conditional model.

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
    features = vae.encoder(join(x, condition))
    mean = vae.mean_head(features)
    log_variance = vae.log_posterior_variance(features, mean)
    z = torch.addcmul(mean, torch.exp(0.5 * log_variance), noise)
    log_q = -0.5 * ((noise.square() + log_variance).sum(-1) + vae.latent_size * _LOG_2PI)
    if vae.prior == "majority" and centres is not None:
        log_p = log_majority_mixture(z, centres, vae.log_variance)
    else:
        log_p = log_standard_normal(z)
    return Elbo(vae.likelihood.log_prob(x, vae.decoder(join(z, condition))), log_q - log_p)


def elbo_with_exemplars(
    vae: VAE,
    rows: Tensor,
    noise: Tensor,
    own: Own | None = None,
    remembered: Tensor | None = None,
    gather: Callable[[Tensor], Tensor] | None = None,
) -> Elbo:
    """Estimate Eq. 4 for a batch and encode its exemplars in the same pass.

    Parameters
    ----------
    vae : VAE
        The model.
    rows : Tensor of shape (n + S, width)
        The batch, then the exemplars.
    noise : Tensor of shape (n, d)
        Standard normal draws.
    own : Own, optional
        Pairs of a row and an exemplar that are the same and must not be (leave-one-out).
    remembered : Tensor of shape (R, d), optional
        Latent means of other exemplars, from earlier steps.
    gather : callable, optional
        Puts the latent means of exemplars that other processes have encoded beside these.

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
    n = noise.shape[0]
    if vae.prior == "standard":
        return elbo(vae, rows[:n], noise)
    dense = None if gather is not None else _dense_layers(vae)
    if dense is not None:
        raw, divergence, centres = _Codes.apply(  # type: ignore[no-untyped-call]
            rows, noise, own, remembered, vae.log_variance, *dense
        )
        return Elbo(vae.likelihood.learn(rows[:n], raw), divergence, centres)
    mean, centres, log_variance = _heads(vae, _learn(vae.encoder, rows), n)
    if gather is not None:
        centres = gather(centres.contiguous())
    everyone = centres if remembered is None else torch.cat([centres, remembered])
    z, divergence = draw_and_compare(mean, log_variance, noise, everyone, vae.log_variance, own)
    return Elbo(vae.likelihood.learn(rows[:n], _learn(vae.decoder, z)), divergence, centres)


def join(a: Tensor, b: Tensor | None) -> Tensor:
    """Put a condition beside rows or codes, if there is one."""
    return a if b is None else torch.cat([a, b], -1)


def _learn(body: nn.Module, rows: Tensor) -> Tensor:
    """Run a body, with a faster gradient if it has one."""
    outputs: Tensor = body.learn(rows) if isinstance(body, Dense) else body(rows)
    return outputs


def _heads(vae: VAE, features: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Give the means of the first n rows and of the others, and log-variances of the first n."""
    sizes = [n, len(features) - n]
    if vae.log_variance_head is None:
        mean, centres = torch.split(vae.mean_head(features), sizes)
        return mean, centres, vae.log_posterior_variance(features[:n], mean)
    means, log_variance = two_heads(features, vae.mean_head, vae.log_variance_head, n)
    mean, centres = torch.split(means, sizes)
    return mean, centres, log_variance


def _dense_layers(vae: VAE) -> tuple[Any, ...] | None:
    """Give the depth of the encoder and all layers' parameters, if all layers are fully connected.

    The order is that of the data: the encoder, the heads of mean and variance, the decoder.
    """
    spread = vae.log_variance_head
    if spread is None or not (isinstance(vae.encoder, Dense) and isinstance(vae.decoder, Dense)):
        return None
    layers = [*vae.encoder.linear, vae.mean_head, spread, *vae.decoder.linear]
    return len(vae.encoder.linear), *layer_parameters(layers)


class _Codes(torch.autograd.Function):
    """The encoder, its heads, the comparison with the prior and the decoder in one function.

    Autograd then has one function to record and to call in place of six.
    """

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        noise: Tensor,
        own: Own | None,
        remembered: Tensor | None,
        prior_log_variance: Tensor,
        depth: int,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        n, heads = len(noise), 2 * depth
        notes = [_Notes() for _ in range(4)]
        features = DenseFunction.forward(notes[0], rows, True, *parameters[:heads])
        means, log_variance = TwoHeadsFunction.forward(
            notes[1], features, n, *parameters[heads : heads + 4]
        )
        mean, centres = means[:n], means[n:]
        everyone = centres if remembered is None else torch.cat([centres, remembered])
        z, divergence = DrawAndCompare.forward(
            notes[2], mean, log_variance, noise, everyone, prior_log_variance, own
        )
        raw = DenseFunction.forward(notes[3], z, False, *parameters[heads + 4 :])
        ctx.save_for_backward(*(tensor for part in notes for tensor in part.saved_tensors))
        ctx.sizes = [len(part.saved_tensors) for part in notes]
        ctx.n_exemplars = len(centres)
        ctx.mark_non_differentiable(centres)
        return raw, divergence, centres

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, for_raw: Tensor, for_divergence: Tensor, _: Tensor) -> Any:
        saved = iter(ctx.saved_tensors)
        notes = [_Notes(*islice(saved, size)) for size in ctx.sizes]
        notes[0].activates_last = True
        notes[3].needs_input_grad = (True,)
        for_z, _, *decoder = DenseFunction.backward(notes[3], for_raw)
        for_mean, for_log_variance, _, for_means, for_prior, _ = DrawAndCompare.backward(
            notes[2], for_z, for_divergence
        )
        for_all = torch.cat([for_mean, for_means[: ctx.n_exemplars]])
        for_features, _, *heads = TwoHeadsFunction.backward(notes[1], for_all, for_log_variance)
        _, _, *encoder = DenseFunction.backward(notes[0], for_features)
        return (None, None, None, None, for_prior, None, *encoder, *heads, *decoder)


class _Notes:
    """What one part of a function notes for its gradient; stands for autograd's own."""

    def __init__(self, *tensors: Tensor) -> None:
        self.saved_tensors = tensors
        self.activates_last = False
        self.needs_input_grad = (False,)

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Keep tensors."""
        self.saved_tensors = tensors
