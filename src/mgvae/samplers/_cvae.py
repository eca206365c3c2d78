"""The conditional VAE as an imbalanced-learn over-sampler."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from sklearn.utils._param_validation import StrOptions

from mgvae.codec import KindName, LikelihoodName, NumericScale
from mgvae.codec.samples import CodecOptions, Samples, SampleShape
from mgvae.methods.cvae import ConditionalVAE, CVAESettings
from mgvae.methods.mgvae.generation import DecoderOutput
from mgvae.methods.settings import check_settings, complete, is_auto, parameter_rules
from mgvae.networks import Network, Precision
from mgvae.samplers._base import Auto, GenerativeSampler, refuse_network
from mgvae.samplers._checkpoint import CheckpointPlace
from mgvae.samplers._constraints import Constraints, texts_of
from mgvae.samplers._recipes import CVAE_DEFAULTS, family_of
from mgvae.training import Callback

__all__ = ["CVAE"]


class CVAE(GenerativeSampler):
    """Over-sample minority classes with a conditional VAE (the paper's baseline OCVAE).

    One variational autoencoder learns all classes at once, with the class joined to the row and to
    the latent code, and makes new rows of a class from standard normal noise.

    .. versionadded:: 0.1

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
    sample_shape, network : as in :class:`mgvae.MGVAE`
        What images look like and which network learns, see :class:`mgvae.MGVAE`. A callable is
        called as ``network(shape, latent_size, condition_size)``.
    network_width : float, default=0.25
        Factor on the channels of convolutional networks; 1 is 64 to 512 channels.
    precision : {"float32", "bfloat16"}, default="float32"
        Whether networks compute in bfloat16. That pays on GPUs and on processors with instructions
        for it, and costs much on others.
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
    balanced : bool, default=True
        Whether every batch has all classes equally often; as published, they come as the rows
        come, and a class with few rows is hardly heeded.
    temperature : float, default=1.0
        Factor on the latent noise of new rows.
    decoder_output : {"auto", "mean", "sample"}, default="auto"
        Numbers as the decoder's means, or drawn around them, see :class:`mgvae.MGVAE`.
    column_types, identifiers, constraints, device, n_threads, checkpoint, callback : see MGVAE
        As in :class:`mgvae.MGVAE`.
    verbose : bool or int, default=False
        As in :class:`mgvae.MGVAE`.

    Attributes
    ----------
    source_indices_ : ndarray of int of shape (n_resampled,)
        The row of X each output row is; -1 for synthetic rows, which have no source.
    classes_, majority_, sampling_strategy_, codec_, history_, n_features_in_, feature_names_in_
        As in :class:`mgvae.MGVAE`.

    See Also
    --------
    mgvae.MGVAE : Learn from the majority first, then from each smaller class.
    mgvae.CGAN : A conditional generative adversarial network.

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

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **GenerativeSampler._parameter_constraints,
        **parameter_rules(CVAESettings),
        "likelihood": [StrOptions({"auto", "gaussian", "squared_error", "bernoulli"})],
        "scaling": [StrOptions({"quantile", "minmax", "symmetric", "identity"})],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        likelihood: LikelihoodName | Auto = "auto",
        scaling: NumericScale = "quantile",
        sample_shape: SampleShape | None = None,
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
        balanced: bool = True,
        temperature: float = 1.0,
        decoder_output: DecoderOutput | Auto = "auto",
        column_types: Mapping[Any, KindName] | None = None,
        identifiers: Literal["new", "missing"] = "new",
        constraints: Constraints = "auto",
        device: str | torch.device = "auto",
        n_threads: int | None = 1,
        checkpoint: CheckpointPlace | None = None,
        callback: Callback | None = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.random_state = random_state
        self.likelihood = likelihood
        self.scaling = scaling
        self.sample_shape = sample_shape
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
        self.balanced = balanced
        self.temperature = temperature
        self.decoder_output = decoder_output
        self.column_types = column_types
        self.identifiers = identifiers
        self.constraints = constraints
        self.device = device
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.callback = callback
        self.verbose = verbose

    def make_method(self, samples: Samples) -> ConditionalVAE:
        """Return what learns such samples, with every ``"auto"`` replaced."""
        family = family_of(samples, self.network)
        if family == "table" and self.network in ("cnn", "residual"):
            refuse_network(self.network)
        return self.method_of(
            complete(CVAESettings, CVAE_DEFAULTS[family], self.get_params(deep=False))
        )

    def method_of(self, settings: Mapping[str, Any]) -> ConditionalVAE:
        """Return what learns with given settings, which are complete."""
        found = CVAESettings(**settings)
        check_settings(found)
        return ConditionalVAE(found)

    def codec_options(self) -> CodecOptions:
        """Return how samples are encoded."""
        auto = is_auto(self.likelihood)
        return CodecOptions(
            column_types=self.column_types,
            identifiers=self.identifiers,
            sample_shape=self.sample_shape,
            table_likelihood="gaussian" if auto else self.likelihood,
            image_likelihood="bernoulli" if auto else self.likelihood,
            scaling=self.scaling,
            constraints=texts_of(self.constraints),
        )
