"""The conditional GAN as an imbalanced-learn over-sampler."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from sklearn.utils._param_validation import StrOptions

from mgvae.codec import KindName, NumericScale
from mgvae.codec.samples import CodecOptions, Samples, SampleShape
from mgvae.methods.cgan import CGANSettings, ConditionalGAN
from mgvae.methods.settings import check_settings, complete, parameter_rules
from mgvae.samplers._base import Auto, GenerativeSampler, refuse_network
from mgvae.samplers._checkpoint import CheckpointPlace
from mgvae.samplers._constraints import Constraints, texts_of
from mgvae.samplers._recipes import CGAN_RECIPES
from mgvae.training import Callback

__all__ = ["CGAN"]

_RULES = parameter_rules(CGANSettings)


class CGAN(GenerativeSampler):
    """Over-sample minority classes with a conditional GAN (the paper's OCGAN and OCDCGAN).

    A generator and a discriminator, both told the class, play against each other on all rows. With
    few rows this may fail: a generator whose rows of a class are all alike is reported.

    .. versionadded:: 0.1

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows to make, as in imbalanced-learn.
    random_state : None, int, numpy RandomState or Generator, default=None
        Decides everything.
    scaling : {"quantile", "minmax", "symmetric", "identity"}, default="quantile"
        How numbers are brought to the network, see :class:`mgvae.MGVAE`.
    sample_shape : as in :class:`mgvae.MGVAE`
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
    recipe : {"default", "paper"}, default="default"
        What ``"auto"`` stands for below: our defaults, or what was published, in which a small
        class is hardly learned (see :mod:`mgvae.methods.cgan`). The published DCGAN also has batch
        normalisation in its discriminator.
    steps : int or str, default="auto" (1500)
        Training steps; ``"100 epochs"`` counts passes over the rows.
    learning_rate : float, default="auto" (1e-3; paper 2e-4)
        Adam's learning rate (its betas are 0.5 and 0.999).
    schedule : {"cosine", "constant"}, default="auto" ("cosine"; paper "constant")
        How the learning rate falls.
    balanced : bool, default="auto" (True; paper False)
        Whether every batch has all classes equally often.
    gradient_penalty : float, default="auto" (0.3; paper 0)
        Weight of the discriminator's squared slopes at real and at generated rows.
    clip_norm : float or None, default=None
        Largest norm of a gradient.
    on_collapse : {"raise", "warn"}, default="raise"
        What to do when the rows of a class are all alike.
    column_types, identifiers, constraints, device, n_threads, checkpoint, callback : see MGVAE
        As in :class:`mgvae.MGVAE`.
    verbose : bool or int, default=False
        As in :class:`mgvae.MGVAE`.

    Attributes
    ----------
    source_indices_ : ndarray of int of shape (n_resampled,)
        The row of X each output row is; -1 for synthetic rows, which have no source.
    history_ : dict of str to mgvae.training.History
        The losses of the discriminator and the generator by step.
    classes_, majority_, sampling_strategy_, codec_, n_features_in_, feature_names_in_
        As in :class:`mgvae.MGVAE`.

    See Also
    --------
    mgvae.MGVAE : Learn from the majority first, then from each smaller class.
    mgvae.CVAE : A conditional variational autoencoder.

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

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **GenerativeSampler._parameter_constraints,
        **parameter_rules(CGANSettings, auto=False),
        **{name: _RULES[name] for name in CGAN_RECIPES["default"]},
        "recipe": [StrOptions(set(CGAN_RECIPES))],
        "scaling": [StrOptions({"quantile", "minmax", "symmetric", "identity"})],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        scaling: NumericScale = "quantile",
        sample_shape: SampleShape | None = None,
        network: Literal["auto", "mlp", "dcgan"] = "auto",
        network_width: float = 0.25,
        hidden_sizes: Sequence[int] = (300, 300),
        noise_size: int = 100,
        batch_size: int = 128,
        recipe: str = "default",
        steps: int | str | Auto = "auto",
        learning_rate: float | Auto = "auto",
        schedule: str | Auto = "auto",
        balanced: bool | Auto = "auto",
        gradient_penalty: float | Auto = "auto",
        clip_norm: float | None = None,
        on_collapse: Literal["raise", "warn"] = "raise",
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
        self.scaling = scaling
        self.sample_shape = sample_shape
        self.network = network
        self.network_width = network_width
        self.hidden_sizes = hidden_sizes
        self.noise_size = noise_size
        self.batch_size = batch_size
        self.recipe = recipe
        self.steps = steps
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.balanced = balanced
        self.gradient_penalty = gradient_penalty
        self.clip_norm = clip_norm
        self.on_collapse = on_collapse
        self.column_types = column_types
        self.identifiers = identifiers
        self.constraints = constraints
        self.device = device
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.callback = callback
        self.verbose = verbose

    def make_method(self, samples: Samples) -> ConditionalGAN:
        """Return what learns such samples."""
        if self.network == "dcgan" and len(samples.shape) == 1:
            refuse_network(self.network)
        return self.method_of(
            complete(CGANSettings, CGAN_RECIPES[self.recipe], self.get_params(deep=False))
        )

    def method_of(self, settings: Mapping[str, Any]) -> ConditionalGAN:
        """Return what learns with given settings, which are complete."""
        found = CGANSettings(**settings)
        check_settings(found)
        return ConditionalGAN(found)

    def codec_options(self) -> CodecOptions:
        """Return how samples are encoded; a GAN's outputs have no likelihood: they are values."""
        return CodecOptions(
            column_types=self.column_types,
            identifiers=self.identifiers,
            sample_shape=self.sample_shape,
            table_likelihood="squared_error",
            image_likelihood="squared_error",
            scaling=self.scaling,
            constraints=texts_of(self.constraints),
        )
