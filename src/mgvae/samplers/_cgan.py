"""The conditional GAN as an imbalanced-learn over-sampler."""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import torch
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor, nn

from mgvae.codec import KindName, LikelihoodName, NumericScale
from mgvae.codec.images import Channels
from mgvae.common.rows import take
from mgvae.common.runtime import build, torch_generator
from mgvae.errors import CollapseError, CollapseWarning, ParameterError
from mgvae.methods.cgan import GAN, fit_adversarial, generate_adversarial, spread
from mgvae.methods.cvae import one_hot
from mgvae.methods.job import Generator, Job, Made, Trained
from mgvae.model.likelihood import Likelihood
from mgvae.networks import dcgan, is_small, mlp
from mgvae.samplers._base import GenerativeSampler
from mgvae.samplers._presets import CGAN_DEFAULTS
from mgvae.samplers._settings import layer_sizes, stage
from mgvae.training import Callback

__all__ = ["CGAN"]

_SEEN = 256  # rows by which collapse is judged
_ALIKE = 0.05  # collapsed: generated rows this many times closer together than real ones


@dataclass(frozen=True)
class _Adversarial:
    """The generator under one class."""

    gan: GAN
    condition: Tensor

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        return Made(generate_adversarial(self.gan, self.condition, n, seeds), np.full(n, -1))

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:  # noqa: ARG002
        raise ParameterError(
            "a GAN has no encoder, so it cannot translate majority rows. Use generate(n, label), "
            "or translate with MGVAE or CVAE."
        )

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        return self.gan, {}


class CGAN(GenerativeSampler):
    """Over-sample minority classes with a conditional GAN (the paper's OCGAN and OCDCGAN).

    A generator and a discriminator, both told the class, play against each other on all rows. With
    few rows this often fails: a generator whose rows of a class are all alike is reported.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows to make, as in imbalanced-learn.
    random_state : None, int, numpy RandomState or Generator, default=None
        Decides everything.
    scaling : {"quantile", "minmax", "symmetric", "identity"}, default="quantile"
        How numbers are brought to the network, see :class:`mgvae.MGVAE`.
    sample_shape, channels
        What images look like, see :class:`mgvae.MGVAE`.
    network : {"auto", "mlp", "dcgan"}, default="auto"
        Fully connected layers, or the DCGAN's convolutions for images; ``"auto"`` takes those for
        colour images and for grey ones of more than 32 pixels.
    network_width : float, default=0.25
        Factor on the DCGAN's 128 to 1024 channels.
    hidden_sizes : sequence of int, default=(300, 300)
        Widths of the discriminator's hidden layers; the generator mirrors them.
    noise_size : int, default=100
        Length of the generator's noise.
    batch_size : int, default=128
        Rows per step.
    steps : int or str, default=1500
        Training steps; ``"100 epochs"`` counts passes over the rows.
    learning_rate : float, default=2e-4
        Adam's learning rate (its betas are 0.5 and 0.999).
    schedule : {"cosine", "constant"}, default="constant"
        How the learning rate falls.
    clip_norm : float or None, default=None
        Largest norm of a gradient.
    on_collapse : {"raise", "warn"}, default="raise"
        What to do when the rows of a class are all alike.
    column_types, identifiers, device, n_jobs, n_threads, checkpoint, checkpoint_seconds, callback,
    verbose
        As in :class:`mgvae.MGVAE`; ``n_jobs`` has no effect, for there is one model.

    Attributes
    ----------
    source_indices_ : ndarray of int of shape (n_resampled,)
        The row of X each output row is; -1 for synthetic rows, which have no source.
    history_ : dict of str to mgvae.training.History
        The losses of the discriminator and the generator by step.
    classes_, majority_, sampling_strategy_, codec_, n_features_in_, feature_names_in_
        As in :class:`mgvae.MGVAE`.

    Examples
    --------
    >>> from collections import Counter
    >>> from sklearn.datasets import make_classification
    >>> from mgvae import CGAN
    >>> X, y = make_classification(n_samples=300, weights=[0.9], random_state=0)
    >>> X_balanced, y_balanced = CGAN(steps=100, random_state=0).fit_resample(X, y)
    >>> counts = Counter(y_balanced.tolist())
    >>> counts[0] == counts[1]
    True
    """

    _defaults = CGAN_DEFAULTS
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **GenerativeSampler._parameter_constraints,
        "network": [StrOptions({"auto", "mlp", "dcgan"})],
        "hidden_sizes": ["array-like"],
        "noise_size": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "steps": [Interval(Integral, 0, None, closed="left"), str],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "schedule": [StrOptions({"cosine", "constant"})],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
        "on_collapse": [StrOptions({"raise", "warn"})],
    }
    _parameter_constraints.pop("likelihood")  # a GAN has none

    likelihood: LikelihoodName = "squared_error"

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        scaling: NumericScale = "quantile",
        sample_shape: Sequence[int] | None = None,
        channels: Channels | None = None,
        network: Literal["auto", "mlp", "dcgan"] = "auto",
        network_width: float = 0.25,
        hidden_sizes: Sequence[int] = (300, 300),
        noise_size: int = 100,
        batch_size: int = 128,
        steps: int | str = 1500,
        learning_rate: float = 2e-4,
        schedule: str = "constant",
        clip_norm: float | None = None,
        on_collapse: Literal["raise", "warn"] = "raise",
        column_types: Mapping[Any, KindName] | None = None,
        identifiers: Literal["new", "missing"] = "new",
        device: str | torch.device = "auto",
        n_jobs: int | None = None,
        n_threads: int | None = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
        callback: Callback | None = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.random_state = random_state
        self.scaling = scaling
        self.sample_shape = sample_shape
        self.channels = channels
        self.network = network
        self.network_width = network_width
        self.hidden_sizes = hidden_sizes
        self.noise_size = noise_size
        self.batch_size = batch_size
        self.steps = steps
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.on_collapse = on_collapse
        self.column_types = column_types
        self.identifiers = identifiers
        self.device = device
        self.n_jobs = n_jobs
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.callback = callback
        self.verbose = verbose

    def _train(self, job: Job) -> Trained:
        for_weights, for_training, for_collapse = job.seeds.spawn(3)
        n_classes = len(job.members)
        gan = build(lambda: self._gan(job, n_classes), torch_generator(for_weights)).to(job.device)
        history = fit_adversarial(
            gan,
            job.rows,
            job.codes(),
            n_classes,
            stage(self, self.steps, self.learning_rate, len(job.rows)),
            for_training,
            job.callback,
            job.file("training"),
        )
        gan.requires_grad_(False)
        generators = {code: self._revived(job, code, gan, {}) for code in job.targets}
        for code, generator in generators.items():
            self._look_for_collapse(job, code, generator, for_collapse)
        return Trained(generators, [history])

    def _model(self, job: Job) -> nn.Module:
        return self._gan(job, len(job.members))

    def _revived(
        self,
        job: Job,
        code: int,
        model: nn.Module,
        tensors: Mapping[str, Tensor],  # noqa: ARG002
    ) -> Generator:
        if not isinstance(model, GAN):
            raise TypeError("a CGAN generates with a GAN")
        return _Adversarial(model, one_hot(np.array([code]), len(job.members))[0])

    def _gan(self, job: Job, n_classes: int) -> GAN:
        likelihood = Likelihood(job.spans)
        if self.network == "dcgan" or (self.network == "auto" and not is_small(job.shape)):
            shape = (job.shape[0], job.shape[1], job.shape[2])
            bodies = dcgan(shape, self.noise_size, self.network_width, n_classes)
            return GAN(*bodies, likelihood, self.noise_size)
        sizes, width = layer_sizes(self.hidden_sizes), math.prod(job.shape)
        return GAN(
            mlp([self.noise_size + n_classes, *reversed(sizes), width]),
            mlp([width + n_classes, *sizes, 1], slope=0.2),
            likelihood,
            self.noise_size,
        )

    def _look_for_collapse(
        self, job: Job, code: int, generator: Generator, seeds: np.random.SeedSequence
    ) -> None:
        real = spread(take(job.rows, job.members[code]))
        made = spread(generator.generate(_SEEN, seeds.spawn(1)[0])[0])
        if made >= _ALIKE * real:
            return
        message = (
            f"the GAN has collapsed for class {job.names[code]}: two of its rows are "
            f"{made:.3g} apart on average, two real ones {real:.3g}. Train for more steps or with "
            "a lower learning_rate, or use MGVAE, which is made for few rows."
        )
        if self.on_collapse == "raise":
            raise CollapseError(message)
        warnings.warn(message, CollapseWarning, stacklevel=2)
