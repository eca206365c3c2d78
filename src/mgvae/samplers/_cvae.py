"""The conditional VAE as an imbalanced-learn over-sampler."""

import os
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
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.cvae import fit_conditional, generate_conditional, one_hot, translate_conditional
from mgvae.methods.job import Generator, Job, Made, Trained
from mgvae.methods.mgvae.generation import DecoderOutput
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE
from mgvae.networks import Network, Precision, choose_bodies
from mgvae.samplers._base import Auto, GenerativeSampler
from mgvae.samplers._presets import CVAE_DEFAULTS
from mgvae.samplers._settings import layer_sizes, stage
from mgvae.training import Callback

__all__ = ["CVAE"]

_AUTO = StrOptions({"auto"})


@dataclass(frozen=True)
class _Conditional:
    """The model under one class."""

    vae: VAE
    majority: Tensor
    condition: Tensor
    temperature: float
    decoder_output: DecoderOutput

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        encoded = generate_conditional(
            self.vae,
            self.condition,
            n,
            seeds,
            temperature=self.temperature,
            decoder_output=self.decoder_output,
        )
        return Made(encoded, np.full(n, -1))

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:
        return translate_conditional(
            self.vae,
            encoded,
            self.majority,
            self.condition,
            seeds,
            decoder_output=self.decoder_output,
        )

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        return self.vae, {}


class CVAE(GenerativeSampler):
    """Over-sample minority classes with a conditional VAE (the paper's baseline OCVAE).

    One variational autoencoder learns all classes at once, with the class joined to the row and to
    the latent code, and makes new rows of a class from standard normal noise.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows to make, as in imbalanced-learn.
    random_state : None, int, numpy RandomState or Generator, default=None
        Decides everything.
    likelihood : {"gaussian", "squared_error", "bernoulli"}, default="auto"
        How numbers are scored, see :class:`mgvae.MGVAE`.
    scaling : {"quantile", "minmax", "symmetric", "identity"}, default="quantile"
        How numbers are brought to the network, see :class:`mgvae.MGVAE`.
    sample_shape, channels, network, network_width, precision
        What images look like and which network learns, see :class:`mgvae.MGVAE`. A callable is
        called as ``network(shape, latent_size, condition_size)``.
    hidden_sizes : sequence of int, default="auto" ((128, 128); images (300, 300))
        Widths of the encoder's hidden layers; the decoder mirrors them.
    latent_size : int, default="auto" (10; images 40)
        Length of the latent code.
    batch_size : int, default="auto" (128; images with convolutions 64)
        Rows per step.
    steps : int or str, default="auto" (700; images 8000, with convolutions 4000)
        Training steps; ``"200 epochs"`` counts passes over the rows.
    learning_rate : float, default="auto" (2e-3; images 1e-3)
        Adam's learning rate at the start.
    schedule : {"cosine", "constant"}, default="cosine"
        How the learning rate falls.
    clip_norm : float or None, default=None
        Largest norm of a gradient.
    temperature : float, default=1.0
        Factor on the latent noise of new rows.
    decoder_output : {"auto", "mean", "sample"}, default="auto"
        Numbers as the decoder's means, or drawn around them, see :class:`mgvae.MGVAE`.
    column_types, identifiers, device, n_jobs, n_threads, checkpoint, checkpoint_seconds, callback,
    verbose
        As in :class:`mgvae.MGVAE`; ``n_jobs`` has no effect, for there is one model.

    Attributes
    ----------
    source_indices_ : ndarray of int of shape (n_resampled,)
        The row of X each output row is; -1 for synthetic rows, which have no source.
    classes_, majority_, sampling_strategy_, codec_, history_, n_features_in_, feature_names_in_
        As in :class:`mgvae.MGVAE`.

    Examples
    --------
    >>> from collections import Counter
    >>> from sklearn.datasets import make_classification
    >>> from mgvae import CVAE
    >>> X, y = make_classification(n_samples=300, weights=[0.9], random_state=0)
    >>> X_balanced, y_balanced = CVAE(steps=100, random_state=0).fit_resample(X, y)
    >>> counts = Counter(y_balanced.tolist())
    >>> counts[0] == counts[1]
    True
    """

    _defaults = CVAE_DEFAULTS
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **GenerativeSampler._parameter_constraints,
        "precision": [StrOptions({"float32", "bfloat16"})],
        "hidden_sizes": ["array-like", _AUTO],
        "latent_size": [Interval(Integral, 1, None, closed="left"), _AUTO],
        "batch_size": [Interval(Integral, 1, None, closed="left"), _AUTO],
        "steps": [Interval(Integral, 0, None, closed="left"), str, _AUTO],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), _AUTO],
        "schedule": [StrOptions({"cosine", "constant"})],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
        "temperature": [Interval(Real, 0, None, closed="left")],
        "decoder_output": [StrOptions({"auto", "mean", "sample"})],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        likelihood: LikelihoodName | Auto = "auto",
        scaling: NumericScale = "quantile",
        sample_shape: Sequence[int] | None = None,
        channels: Channels | None = None,
        network: Network = "auto",
        network_width: float = 0.25,
        precision: Precision = "float32",
        hidden_sizes: Sequence[int] | Auto = "auto",
        latent_size: int | Auto = "auto",
        batch_size: int | Auto = "auto",
        steps: int | str | Auto = "auto",
        learning_rate: float | Auto = "auto",
        schedule: str = "cosine",
        clip_norm: float | None = None,
        temperature: float = 1.0,
        decoder_output: DecoderOutput | Auto = "auto",
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
        self.likelihood = likelihood
        self.scaling = scaling
        self.sample_shape = sample_shape
        self.channels = channels
        self.network = network
        self.network_width = network_width
        self.precision = precision
        self.hidden_sizes = hidden_sizes
        self.latent_size = latent_size
        self.batch_size = batch_size
        self.steps = steps
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.temperature = temperature
        self.decoder_output = decoder_output
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
        for_weights, for_training = job.seeds.spawn(2)
        n_classes = len(job.members)
        vae = build(lambda: self._model(job), torch_generator(for_weights)).to(job.device)
        history = fit_conditional(
            vae,
            job.rows,
            job.codes(),
            n_classes,
            stage(self, self.steps, self.learning_rate, len(job.rows)),
            for_training,
            job.callback,
            job.file("training"),
        )
        vae.requires_grad_(False)
        return Trained(
            generators={code: self._revived(job, code, vae, {}) for code in job.targets},
            history=[history],
        )

    def _model(self, job: Job) -> VAE:
        return VAE(
            choose_bodies(
                self.network,
                job.shape,
                self.latent_size,
                hidden_sizes=layer_sizes(self.hidden_sizes),
                width=self.network_width,
                precision=self.precision,
                condition_size=len(job.members),
            ),
            Likelihood(job.spans),
            self.latent_size,
            prior="standard",
        )

    def _revived(
        self,
        job: Job,
        code: int,
        model: nn.Module,
        tensors: Mapping[str, Tensor],  # noqa: ARG002
    ) -> Generator:
        if not isinstance(model, VAE):
            raise TypeError("a CVAE generates with a VAE")
        majority, condition = one_hot(np.array([job.majority, code]), len(job.members))
        return _Conditional(model, majority, condition, self.temperature, self.decoder_output)
