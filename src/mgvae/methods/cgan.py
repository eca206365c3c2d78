r"""The conditional generative adversarial network: the paper's baselines OCGAN and OCDCGAN.

A generator G turns noise and a one-hot class :math:`y` into a row; a discriminator D tells such
rows from real ones. They play, as two players of the one training loop,

.. math:: \min_D\; E_{x, y}\, \ell(D(x, y), 1) + E_{z, y}\, \ell(D(G(z, y), y), 0),
          \qquad \min_G\; E_{z, y}\, \ell(D(G(z, y), y), 1)

with the logistic loss :math:`\ell`. As published, the classes of a batch are those of its rows.
Then a small class is hardly ever seen: with 200 rows of 2,200, the discriminator learns to tell it
from the large one long before it tells its real rows from fakes, and its fakes land anywhere.
Two settings
mend this. With ``balanced``, the class of each row in a batch is drawn first, all classes equally
often. With a ``gradient_penalty`` :math:`\gamma`, D's slopes at real and at fake rows (R1 and R2)
are kept small,

.. math:: \frac{\gamma}{2} \bigl( E \lVert \nabla_x D(x, y) \rVert^2
          + E \lVert \nabla_{\tilde x} D(\tilde x, y) \rVert^2 \bigr),

without which the two players circle around their equilibrium. As published, the discriminator of
images has batch normalisation (``batch_norm``); with the penalty it goes without.

Categories and flags are drawn, and let the gradient through as
if they were their probabilities (straight-through), so that D cannot tell a row by its fractions.

A GAN collapses when all its rows are alike: :func:`spread` measures it.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from torch import Tensor, nn
from torch.nn import functional

from mgvae.common.rows import EncodedRows, Positions, block_sizes
from mgvae.common.runtime import build, torch_generator
from mgvae.errors import CollapseError, CollapseWarning, ParameterError
from mgvae.methods.cvae import batches, one_hot
from mgvae.methods.method import DataLayout, Job, Learned, Made, NoRows, RowGenerator
from mgvae.methods.settings import (
    COUNT,
    POSITIVE,
    STEPS,
    Stage,
    choice,
    layer_sizes,
    make_stage,
    setting,
)
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import with_condition
from mgvae.networks import dcgan, is_small, mlp
from mgvae.training import Callback, History, Player, train
from mgvae.training.checkpoints import StageFile

__all__ = [
    "GAN",
    "CGANSettings",
    "ConditionalGAN",
    "fit_adversarial",
    "generate_adversarial",
    "spread",
]

_SEEN = 256  # rows by which collapse is judged
_ALIKE = 0.05  # collapsed: generated rows this many times closer together than real ones


@dataclass(frozen=True)
class CGANSettings:
    """All that decides what a conditional GAN learns and makes; see :class:`mgvae.CGAN`."""

    network: Literal["auto", "mlp", "dcgan"] = setting(
        choice("auto", "mlp", "dcgan"), decides="pre-training"
    )
    network_width: float = setting(POSITIVE, decides="pre-training")
    hidden_sizes: Sequence[int] = setting("array-like", decides="pre-training")
    noise_size: int = setting(COUNT, decides="pre-training")
    batch_size: int = setting(COUNT, decides="pre-training")
    steps: int | str = setting(*STEPS, decides="pre-training")
    learning_rate: float = setting(POSITIVE, decides="pre-training")
    schedule: Literal["cosine", "constant"] = setting(
        choice("cosine", "constant"), decides="pre-training"
    )
    clip_norm: float | None = setting(POSITIVE, None, decides="pre-training")
    on_collapse: Literal["raise", "warn"] = setting(choice("raise", "warn"), decides="generation")
    balanced: bool = setting("boolean", decides="pre-training", before=False)
    gradient_penalty: float = setting(
        Interval(Real, 0, None, closed="left"), decides="pre-training", before=0.0
    )
    batch_norm: bool = setting("boolean", decides="pre-training", before=True)


@dataclass(frozen=True)
class ConditionalGAN:
    """The conditional GAN on encoded rows."""

    settings: CGANSettings
    convolutions: ClassVar[str] = "dcgan"

    def learn(self, job: Job) -> Learned:
        """Let the two networks play on all classes, and look whether a class has collapsed."""
        settings = self.settings
        for_weights, for_training, for_collapse = job.seeds.spawn(3)
        gan = build(lambda: self.model(job.layout), torch_generator(for_weights)).to(job.device)
        history = fit_adversarial(
            gan,
            job.rows,
            job.codes(),
            len(job.members),
            make_stage(settings, settings.steps, settings.learning_rate, len(job.rows)),
            for_training,
            job.callback,
            job.file("training"),
            balanced=settings.balanced,
            gradient_penalty=settings.gradient_penalty,
        )
        gan.requires_grad_(False)
        generators = {code: self.revive(job.layout, code, gan, {}) for code in job.targets}
        for code, generator in generators.items():
            self._look_for_collapse(job, code, generator, for_collapse)
        return Learned(generators, [history])

    def model(self, layout: DataLayout) -> "GAN":
        """Lay out both networks."""
        settings, n_classes = self.settings, len(layout.names)
        likelihood = Likelihood(layout.spans)
        convolutions = settings.network == "auto" and not is_small(layout.shape)
        if settings.network == "dcgan" or convolutions:
            shape = (layout.shape[0], layout.shape[1], layout.shape[2])
            bodies = dcgan(
                shape, settings.noise_size, settings.network_width, n_classes,
                batch_norm=settings.batch_norm,
            )  # fmt: skip
            return GAN(*bodies, likelihood, settings.noise_size)
        sizes, width = layer_sizes(settings.hidden_sizes), math.prod(layout.shape)
        return GAN(
            mlp([settings.noise_size + n_classes, *reversed(sizes), width]),
            mlp([width + n_classes, *sizes, 1], slope=0.2),
            likelihood,
            settings.noise_size,
        )

    def revive(
        self,
        layout: DataLayout,
        code: int,
        model: nn.Module,
        tensors: Mapping[str, Tensor],  # noqa: ARG002
    ) -> RowGenerator:
        """Return what generates a class: the generator under its condition."""
        if not isinstance(model, GAN):
            raise TypeError("a CGAN generates with a GAN")
        return _Adversarial(model, one_hot(np.array([code]), len(layout.names))[0])

    def _look_for_collapse(
        self, job: Job, code: int, generator: RowGenerator, seeds: np.random.SeedSequence
    ) -> None:
        real = spread(job.rows.take(job.members[code]))
        made = spread(generator.generate(_SEEN, seeds.spawn(1)[0]).encoded)
        if made >= _ALIKE * real:
            return
        message = (
            f"the GAN has collapsed for class {job.layout.names[code]}: two of its rows are "
            f"{made:.3g} apart on average, two real ones {real:.3g}. Train for more steps or with "
            "a lower learning_rate, or use MGVAE, which is made for few rows."
        )
        if self.settings.on_collapse == "raise":
            raise CollapseError(message)
        warnings.warn(message, CollapseWarning, stacklevel=2)


@dataclass(frozen=True)
class _Adversarial(NoRows):
    """The generator under one class."""

    gan: "GAN"
    condition: Tensor

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        return Made(generate_adversarial(self.gan, self.condition, n, seeds), np.full(n, -1))

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:  # noqa: ARG002
        raise ParameterError(
            "a GAN has no encoder, so it cannot translate majority rows. Use generate(n, label), "
            "or translate with MGVAE or CVAE."
        )

    def within(self, rows: Positions) -> "_Adversarial":  # noqa: ARG002
        return self  # it starts from noise

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        return self.gan, {}


class GAN(nn.Module):
    """A generator, a discriminator, and what the generator's outputs mean.

    Parameters
    ----------
    generator : torch.nn.Module
        From noise and condition to raw outputs.
    discriminator : torch.nn.Module
        From row and condition to one logit.
    likelihood : Likelihood
        What the outputs mean.
    noise_size : int
        Length of the noise.
    """

    def __init__(
        self,
        generator: nn.Module,
        discriminator: nn.Module,
        likelihood: Likelihood,
        noise_size: int,
    ) -> None:
        super().__init__()
        self.generator = generator
        self.discriminator = discriminator
        self.likelihood = likelihood
        self.noise_size = noise_size

    def rows(self, noise: Tensor, condition: Tensor, generator: torch.Generator) -> Tensor:
        """Make rows, with gradient; what is discrete is drawn straight through."""
        raw = self.generator(with_condition(noise, condition))
        mean = self.likelihood.mean(raw)
        drawn = self.likelihood.draw(raw, generator, numeric_noise=False)
        return mean + (drawn - mean).detach()


@dataclass(frozen=True)
class _Draw:
    real: Tensor
    condition: Tensor
    noise: Tensor


def fit_adversarial(
    gan: GAN,
    rows: EncodedRows,
    codes: NDArray[np.int64],
    n_classes: int,
    stage: Stage,
    seeds: np.random.SeedSequence,
    callback: Callback | None = None,
    file: StageFile | None = None,
    *,
    balanced: bool = False,
    gradient_penalty: float = 0.0,
) -> History:
    """Let the two networks play; the model is changed in place.

    Parameters
    ----------
    gan : GAN
        The model.
    rows : EncodedRows of shape (n, width)
        Encoded rows.
    codes : ndarray of int of shape (n,)
        Their classes, from 0.
    n_classes : int
        How many classes there are.
    stage : Stage
        Steps, learning rate, batch size.
    seeds : numpy.random.SeedSequence
        Decides batches and noise.
    callback, file : optional
        See :func:`mgvae.training.train`.
    balanced : bool
        Whether a batch has all classes equally often; else they come as the rows come.
    gradient_penalty : float
        Weight of the discriminator's squared slopes at real and fake rows.

    Returns
    -------
    history : History
        The terms ``"discriminator"`` (without the penalty) and ``"generator"`` by step.
    """
    device = next(gan.parameters()).device
    for_rows, for_noise = seeds.spawn(2)
    rng = np.random.default_rng(for_rows)
    generator = torch_generator(for_noise, device)
    n_batch = min(stage.batch_size, len(rows))

    draw_batch = batches(codes, n_classes, n_batch, rng, balanced=balanced)

    def draw() -> _Draw:
        batch = draw_batch()
        return _Draw(
            rows.take(batch).to(device),
            one_hot(codes[batch], n_classes).to(device),
            torch.randn(n_batch, gan.noise_size, generator=generator, device=device),
        )

    def discriminator_loss(step: int) -> dict[str, Tensor]:  # noqa: ARG001
        drawn = draw()
        with torch.no_grad():
            fake = gan.rows(drawn.noise, drawn.condition, generator)
        real = drawn.real
        if gradient_penalty:
            real, fake = real.requires_grad_(), fake.requires_grad_()
        logits = _judge(gan.discriminator, real, fake, drawn.condition)
        truth = torch.cat([torch.ones(n_batch), torch.zeros(n_batch)]).to(device)
        loss = 2.0 * functional.binary_cross_entropy_with_logits(logits, truth)
        terms = {"discriminator": loss}
        if gradient_penalty:
            slopes = torch.autograd.grad(logits.sum(), (real, fake), create_graph=True)
            squares = sum(slope.square().sum(1).mean() for slope in slopes)
            terms["penalised"] = loss + 0.5 * gradient_penalty * squares
        return terms

    def generator_loss(step: int) -> dict[str, Tensor]:  # noqa: ARG001
        drawn = draw()
        fake = gan.rows(drawn.noise, drawn.condition, generator)
        logits = gan.discriminator(with_condition(fake, drawn.condition)).squeeze(-1)
        truth = torch.ones_like(logits)
        return {"generator": functional.binary_cross_entropy_with_logits(logits, truth)}

    def optimiser(module: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(
            module.parameters(), lr=stage.learning_rate, betas=(0.5, 0.999), fused=True
        )

    gan.train()
    history = train(
        [
            Player(
                discriminator_loss,
                optimiser(gan.discriminator),
                "penalised" if gradient_penalty else "discriminator",
            ),
            Player(generator_loss, optimiser(gan.generator), "generator"),
        ],
        stage="training",
        steps=stage.steps,
        schedule=stage.schedule,
        clip_norm=stage.clip_norm,
        callback=callback,
        parts=[gan, rng, generator],
        file=file,
    )
    gan.eval()
    return history


def _judge(discriminator: nn.Module, real: Tensor, fake: Tensor, condition: Tensor) -> Tensor:
    """Return the logits of real and fake rows, in one pass.

    Batch normalisation must not mix the two, or fakes would be judged by other statistics when the
    generator learns than when the discriminator does: then there are two passes.
    """
    mixing = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in discriminator.modules())
    if mixing:
        parts = [discriminator(with_condition(rows, condition)) for rows in (real, fake)]
        return torch.cat(parts).squeeze(-1)
    both = with_condition(torch.cat([real, fake]), condition.repeat(2, 1))
    logits: Tensor = discriminator(both).squeeze(-1)
    return logits


@torch.no_grad()
def generate_adversarial(
    gan: GAN, condition: Tensor, n: int, seeds: np.random.SeedSequence
) -> Tensor:
    """Draw ``n`` rows of the class whose one-hot row is ``condition``.

    Parameters
    ----------
    gan : GAN
        The trained model.
    condition : Tensor of shape (k,)
        The class.
    n : int
        How many rows.
    seeds : numpy.random.SeedSequence
        Decides the noise.

    Returns
    -------
    encoded : Tensor of shape (n, width)
        On the CPU.
    """
    device = next(gan.parameters()).device
    generator = torch_generator(seeds, device)
    made = [torch.empty(0, gan.likelihood.width)]
    for size in block_sizes(n):
        noise = torch.randn(size, gan.noise_size, generator=generator, device=device)
        made.append(gan.rows(noise, condition.to(device).expand(size, -1), generator).cpu())
    return torch.cat(made)


def spread(rows: Tensor) -> float:
    """Return the root mean squared distance between two rows.

    Examples
    --------
    >>> import torch
    >>> round(spread(torch.tensor([[0.0], [2.0]])), 3)
    2.0
    """
    if len(rows) < 2:
        return 0.0
    return float((2.0 * rows.double().var(0).sum()).sqrt())
