r"""The conditional VAE over all classes: the paper's baseline OCVAE.

One model learns every class at once. The class, as a one-hot condition :math:`y`, is joined to the
row and to the latent code, and the prior is the standard normal:

.. math:: O(\Psi; x, y) = E_{q(z \mid x, y)} \bigl[ \log p(x \mid z, y)
          - \log q(z \mid x, y) + \log N(z;\, 0, I) \bigr].

A new row of a class is :math:`x \sim p(x \mid z, y)` with :math:`z \sim N(0, I)`.

As published, batches hold the classes as the rows come. A decoder that hardly ever sees a class
does well without heeding :math:`y`. With ``balanced``, every batch has all classes equally often.
"""

from collections.abc import Callable, Mapping, Sequence
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
from mgvae.methods.method import DataLayout, Job, Learned, Made, NoRows, RowGenerator
from mgvae.methods.mgvae.generation import DecoderOutput
from mgvae.methods.mgvae.learning import adam
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
from mgvae.model.vae import VAE, elbo, with_condition
from mgvae.networks import Network, Precision, choose_bodies
from mgvae.training import Callback, History, Player, train
from mgvae.training.checkpoints import StageFile

__all__ = [
    "CVAESettings",
    "ConditionalVAE",
    "batches",
    "fit_conditional",
    "generate_conditional",
    "one_hot",
    "translate_conditional",
]


@dataclass(frozen=True)
class CVAESettings:
    """All that decides what a conditional VAE learns and makes; see :class:`mgvae.CVAE`."""

    network: Network = setting(
        choice("auto", "mlp", "cnn", "residual"), callable, decides="pre-training"
    )
    network_width: float = setting(POSITIVE, decides="pre-training")
    precision: Precision = setting(choice("float32", "bfloat16"), decides="pre-training")
    hidden_sizes: Sequence[int] = setting("array-like", decides="pre-training")
    latent_size: int = setting(COUNT, decides="pre-training")
    batch_size: int = setting(COUNT, decides="pre-training")
    steps: int | str = setting(*STEPS, decides="pre-training")
    learning_rate: float = setting(POSITIVE, decides="pre-training")
    schedule: Literal["cosine", "constant"] = setting(
        choice("cosine", "constant"), decides="pre-training"
    )
    clip_norm: float | None = setting(POSITIVE, None, decides="pre-training")
    temperature: float = setting(Interval(Real, 0, None, closed="left"), decides="generation")
    decoder_output: DecoderOutput = setting(choice("mean", "sample"), decides="generation")
    balanced: bool = setting("boolean", decides="pre-training", before=False)


@dataclass(frozen=True)
class ConditionalVAE:
    """The conditional VAE on encoded rows."""

    settings: CVAESettings
    convolutions: ClassVar[str] = "cnn"

    def learn(self, job: Job) -> Learned:
        """Learn all classes at once."""
        settings = self.settings
        for_weights, for_training = job.seeds.spawn(2)
        vae = build(lambda: self.model(job.layout), torch_generator(for_weights)).to(job.device)
        history = fit_conditional(
            vae,
            job.rows,
            job.codes(),
            len(job.members),
            make_stage(settings, settings.steps, settings.learning_rate, len(job.rows)),
            for_training,
            job.callback,
            job.file("training"),
            balanced=settings.balanced,
        )
        vae.requires_grad_(False)
        return Learned(
            {code: self.revive(job.layout, code, vae, {}) for code in job.targets}, [history]
        )

    def model(self, layout: DataLayout) -> VAE:
        """Lay out the VAE."""
        settings = self.settings
        bodies = choose_bodies(
            settings.network,
            layout.shape,
            settings.latent_size,
            hidden_sizes=layer_sizes(settings.hidden_sizes),
            width=settings.network_width,
            precision=settings.precision,
            condition_size=len(layout.names),
        )
        return VAE(bodies, Likelihood(layout.spans), settings.latent_size, prior="standard")

    def revive(
        self,
        layout: DataLayout,
        code: int,
        model: nn.Module,
        tensors: Mapping[str, Tensor],  # noqa: ARG002
    ) -> RowGenerator:
        """Return what generates a class: the model under its condition."""
        if not isinstance(model, VAE):
            raise TypeError("a CVAE generates with a VAE")
        majority, condition = one_hot(np.array([layout.majority, code]), len(layout.names))
        return _Conditional(model, majority, condition, self.settings)


@dataclass(frozen=True)
class _Conditional(NoRows):
    """The model under one class."""

    vae: VAE
    majority: Tensor
    condition: Tensor
    settings: CVAESettings

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        encoded = generate_conditional(
            self.vae,
            self.condition,
            n,
            seeds,
            temperature=self.settings.temperature,
            decoder_output=self.settings.decoder_output,
        )
        return Made(encoded, np.full(n, -1))

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:
        return translate_conditional(
            self.vae,
            encoded,
            self.majority,
            self.condition,
            seeds,
            decoder_output=self.settings.decoder_output,
        )

    def within(self, rows: Positions) -> "_Conditional":  # noqa: ARG002
        return self  # it starts from noise

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        return self.vae, {}


def one_hot(codes: NDArray[np.int64], n_classes: int) -> Tensor:
    """Return class codes as rows of zeros and a one.

    Examples
    --------
    >>> import numpy as np
    >>> one_hot(np.array([1]), 3)
    tensor([[0., 1., 0.]])
    """
    return functional.one_hot(torch.from_numpy(codes), n_classes).float()


def batches(
    codes: NDArray[np.int64],
    n_classes: int,
    n_batch: int,
    rng: np.random.Generator,
    *,
    balanced: bool,
) -> Callable[[], NDArray[np.int64]]:
    """Return a function that draws the positions of a batch.

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        The classes of all rows.
    n_classes : int
        How many classes there are.
    n_batch : int
        Rows in a batch.
    rng : numpy.random.Generator
        Decides them.
    balanced : bool
        Whether to draw every class equally often (up to one row), and its rows with replacement;
        else all rows are drawn alike, without replacement.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    >>> draw = batches(codes, 2, 6, np.random.default_rng(0), balanced=True)
    >>> np.bincount(codes[draw()])
    array([3, 3])
    """
    if not balanced:
        return lambda: rng.choice(len(codes), n_batch, replace=False, shuffle=False)
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=n_classes)
    present = np.flatnonzero(sizes)
    starts = sizes.cumsum() - sizes

    def draw() -> NDArray[np.int64]:
        chosen = rng.permutation(present[np.arange(n_batch) % len(present)])
        drawn: NDArray[np.int64] = order[starts[chosen] + rng.integers(sizes[chosen])]
        return drawn

    return draw


def fit_conditional(
    vae: VAE,
    rows: EncodedRows,
    codes: NDArray[np.int64],
    n_classes: int,
    stage: Stage,
    seeds: np.random.SeedSequence,
    callback: Callback | None = None,
    file: StageFile | None = None,
    *,
    balanced: bool = False,
) -> History:
    """Learn all rows under their classes; the model is changed in place.

    Parameters
    ----------
    vae : VAE
        With the standard prior, and bodies that take the condition.
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

    Returns
    -------
    history : History
        Loss terms by step.
    """
    device = vae.log_variance.device
    for_rows, for_noise = seeds.spawn(2)
    rng = np.random.default_rng(for_rows)
    generator = torch_generator(for_noise, device)
    n_batch = min(stage.batch_size, len(rows))

    draw_batch = batches(codes, n_classes, n_batch, rng, balanced=balanced)

    def loss(step: int) -> dict[str, Tensor]:  # noqa: ARG001
        batch = draw_batch()
        condition = one_hot(codes[batch], n_classes).to(device)
        noise = torch.randn(n_batch, vae.latent_size, generator=generator, device=device)
        x = rows.take(batch).to(device)
        return dict(elbo(vae, x, noise, condition=condition).terms())

    return train(
        [Player(loss, adam(vae, stage.learning_rate))],
        stage="training",
        steps=stage.steps,
        schedule=stage.schedule,
        clip_norm=stage.clip_norm,
        callback=callback,
        parts=[vae, rng, generator],
        file=file,
    )


@torch.no_grad()
def generate_conditional(
    vae: VAE,
    condition: Tensor,
    n: int,
    seeds: np.random.SeedSequence,
    *,
    temperature: float = 1.0,
    decoder_output: DecoderOutput = "mean",
) -> Tensor:
    """Draw ``n`` rows of the class whose one-hot row is ``condition``.

    Parameters
    ----------
    vae : VAE
        The trained model.
    condition : Tensor of shape (k,)
        The class.
    n : int
        How many rows.
    seeds : numpy.random.SeedSequence
        Decides the codes and the draws.
    temperature : float
        Factor on the latent noise.
    decoder_output : {"mean", "sample"}
        Whether numbers are means or draws.

    Returns
    -------
    encoded : Tensor of shape (n, width)
        On the CPU.
    """
    device = vae.log_variance.device
    generator = torch_generator(seeds, device)
    made = [torch.empty(0, vae.likelihood.width)]
    for size in block_sizes(n):
        z = temperature * torch.randn(size, vae.latent_size, generator=generator, device=device)
        raw = vae.decoder(with_condition(z, condition.to(device).expand(size, -1)))
        drawn = vae.likelihood.draw(raw, generator, numeric_noise=decoder_output == "sample")
        made.append(drawn.cpu())
    return torch.cat(made)


@torch.no_grad()
def translate_conditional(
    vae: VAE,
    encoded: Tensor,
    source: Tensor,
    target: Tensor,
    seeds: np.random.SeedSequence,
    *,
    decoder_output: DecoderOutput = "mean",
) -> Tensor:
    """Encode rows under one class and decode them under another.

    Parameters
    ----------
    vae : VAE
        The trained model.
    encoded : Tensor of shape (n, width)
        Rows of the source class.
    source, target : Tensor of shape (k,)
        The classes, one-hot.
    seeds : numpy.random.SeedSequence
        Decides the draws.
    decoder_output : {"mean", "sample"}
        Whether numbers are means or draws.

    Returns
    -------
    encoded : Tensor of shape (n, width)
        On the CPU.
    """
    device = vae.log_variance.device
    generator = torch_generator(seeds, device)
    x = encoded.to(device)
    z = vae.mean(with_condition(x, source.to(device).expand(len(x), -1)))
    raw = vae.decoder(with_condition(z, target.to(device).expand(len(x), -1)))
    return vae.likelihood.draw(raw, generator, numeric_noise=decoder_output == "sample").cpu()
