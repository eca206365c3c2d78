"""The majority-guided VAE as an imbalanced-learn over-sampler."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, Self

import torch
from sklearn.utils._param_validation import Interval, StrOptions

from mgvae.augment import read_geometry
from mgvae.codec import KindName
from mgvae.codec.samples import CodecOptions, Samples, SampleShape
from mgvae.common.runtime import threads
from mgvae.errors import ParameterError, Setting
from mgvae.methods.method import Workers
from mgvae.methods.mgvae.duration import TrainingPlan, make_plan
from mgvae.methods.mgvae.generators import GenerationMode
from mgvae.methods.mgvae.method import MajorityGuided
from mgvae.methods.mgvae.settings import MGVAESettings
from mgvae.methods.settings import check_settings, complete, is_auto, parameter_rules
from mgvae.networks import Network
from mgvae.samplers._base import Auto, GenerativeSampler, refuse_network
from mgvae.samplers._checkpoint import CheckpointPlace
from mgvae.samplers._constraints import Constraints, texts_of
from mgvae.samplers._in_memory import InMemory
from mgvae.samplers._recipes import MGVAE_DEFAULTS, RECIPES, defaults_of, family_of
from mgvae.samplers._way import look, make_job
from mgvae.storage import FittedState
from mgvae.training import Callback, History

__all__ = ["MGVAE"]

_FRACTION = Interval(Real, 0, 1, closed="neither")
_RULES = parameter_rules(MGVAESettings)


class MGVAE(GenerativeSampler):
    """Over-sample minority classes with a majority-guided VAE.

    A variational autoencoder whose prior has one component per majority row is pre-trained on the
    majority and fine-tuned, under an elastic-weight-consolidation penalty, on each minority class.
    Every synthetic row is guided by one majority row, named in ``source_indices_``.

    .. versionadded:: 0.1

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows to make, as in imbalanced-learn: ``"auto"`` lifts every class to the largest;
        a float is the wanted ratio minority / majority of two classes; a dict gives the wanted
        number of rows by class.
    random_state : None, int, numpy RandomState or Generator, default=None
        Decides everything. The same number gives the same bits.
    column_types : dict or None, default=None
        Kinds of columns that are not what their values suggest, by name (by position in an array),
        for instance ``{"zip": "categorical"}``.
    verbose : bool or int, default=False
        Show progress bars.
    generation : {"translate", "responsibility", "bridge"}, default="auto"
        Where new rows come from. ``"translate"`` (``"auto"`` for images) is the paper's: majority
        rows drawn uniformly and translated. ``"responsibility"`` translates majority rows near the
        minority's own in the latent space. ``"bridge"`` (``"auto"`` for tables) starts from a
        minority row, named in ``anchor_indices_``, goes part of the way to a majority row near it,
        and adds the row's own residual and a difference between majority rows.
    temperature : float, default="auto" (1; small grey images 1.5)
        Factor on the latent noise; 0 gives each majority row one fixed translation.
    rejection : float, default=0.0
        Share of the rows made that are thrown away because the class's model finds them the least
        plausible.
    ewc_weight : float, default="auto"
        Weight of the penalty on moving what the majority needs (the paper's lambda); 0 is none.
        ``"auto"`` tries 0, 1 and 100 (small grey images 0, 0.1 and 10) for a class of at least 25
        rows, with a fifth of them held out, takes the weight under which these are told best from
        majority rows, and then learns from all rows. A smaller class takes the middle one,
        images with convolutions 0.1. See ``ewc_weights_``.
    pretrain_steps : int or str, default="auto"
        Steps on the majority (the paper's T1); ``"200 epochs"`` counts passes over its rows; 0
        leaves pre-training (and the penalty, which needs it) out. ``"auto"`` is 500; for images
        ``"100 epochs, at most 8000 steps"``, with convolutions ``"60 epochs, at most 3000 steps"``.
    finetune_steps : int or str, default="auto" (200; images 600, with convolutions 300)
        Steps on a minority class (the paper's T2), likewise.
    early_stopping : bool or float, default=False
        Hold out a part of a minority class of at least 25 rows, stop fine-tuning when its
        likelihood no longer rises, and keep the best model. True holds out a fifth; a float is the
        part.
    augment : dict or None, default="auto" (images: shifts by up to 7 % of the side)
        Small changes of the minority's images in fine-tuning, other ones in every step, so that a
        class of few images is not learned by heart: some of ``shift`` (most pixels), ``rotation``
        (largest angle in degrees), ``scale`` (0.1 is up to a tenth) and ``flip`` (mirrored left to
        right). None leaves them as they are.
    sample_shape : sequence of int, "channels_first", "channels_last" or None, default=None
        (H, W), (H, W, C) or (C, H, W): X has one row per image. Arrays with three or four axes are
        images anyway; for those, a word says where the channels are if the shape does not.
    identifiers : {"new", "missing"}, default="new"
        Identifier columns of synthetic rows get new values, or are left missing.
    constraints : "auto", list or None, default="auto"
        Relations between columns that synthetic rows keep. ``"auto"`` finds those that every row
        of X keeps (columns that determine others, few combinations, sums, orders, values that
        occur together; ``codec_.relations`` lists them), and with a published recipe none. A list
        adds to them: texts such as ``"low <= high"``, ``"total = x + y"``, ``"zip -> city"`` and
        ``"(month, rate)"``, and functions from rows, in the container of X, to booleans. The word
        ``"only"`` in the list leaves out those found. None keeps none.
    recipe : {"default", "paper-tables", "paper-images", "paper-faces"}, default="default"
        What ``"auto"`` stands for: our defaults, or the settings that were published for tables,
        for small images or for CelebA. These also have the published likelihood (squared error)
        and scaling, one variance for prior and posterior, constant learning rates, and exemplars
        without leave-one-out.
    n_exemplars : int, default="auto" (128; images with convolutions 64)
        Majority rows drawn per step to stand for the prior (the paper's S).
    network : {"auto", "mlp", "cnn", "residual"} or callable, default="auto"
        Fully connected layers, the paper's convolutional network, or the published residual one;
        ``"auto"`` takes the first for tables and grey images of up to 32 × 32 pixels, the second
        for other images. A callable ``network(shape, latent_size)`` returns a
        :class:`mgvae.networks.Bodies` of one's own. Convolutional networks have a quarter of the
        paper's 64 to 512 channels; ``expert_settings = {"network_width": 1.0}`` has all of them,
        and takes 13 times as long.
    hidden_sizes : sequence of int, default="auto" ((128, 128); images (300, 300))
        Widths of the encoder's hidden layers; the decoder mirrors them.
    latent_size : int, default="auto" (10; images 40)
        Length of the latent code.
    batch_size : int, default="auto" (128; images with convolutions 64)
        Rows per step; all of a class that has fewer.
    learning_rate : float or (float, float), default="auto" ((2e-3, 1e-3); images (1e-3, 3e-3))
        Adam's learning rates at the start: on the majority, and on a minority class.
    device : str or torch.device, default="auto"
        ``"auto"`` takes a GPU when there is one.
    devices : int or "torchrun", default=1
        Processes on this machine that train together, each on a device of its own (a GPU, or the
        CPU), and share the rows of every batch, by Lightning Fabric. The result is that of one
        process up to rounding. ``"torchrun"`` takes the processes that ``torchrun`` has started,
        on one machine or several: every one calls ``fit`` with the same data, and gets the same
        result.
    n_jobs : int or None, default=None
        Minority classes fine-tuned at once, through joblib; the result does not depend on it.
        Joblib's workers wait some minutes for the next fit, and end with the program. None is one,
        unless ``joblib.parallel_config`` says another number or another engine.
    n_threads : int or None, default=1
        Threads of torch; None leaves torch's own setting, whose number may change the last bits.
    checkpoint : path, (path, float) or None, default=None
        A folder that keeps the state of training, every 30 seconds or as many as are given. A run
        that was cut off and is started again with the same data and parameters goes on there, and
        ends with the same bits; other data or parameters are refused. The folder stays when the
        fit is done.
    callback : callable or None, default=None
        Called while training as ``callback(stage, done, total, terms)``.

    Attributes
    ----------
    source_indices_ : ndarray of int of shape (n_resampled,)
        The row of X each output row comes from: itself for an original, the translated majority
        row for a synthetic one.
    anchor_indices_ : ndarray of int of shape (n_resampled,)
        The row of X each output row starts from: itself for an original, the minority row for one
        made by a bridge, -1 for a translation.
    classes_ : ndarray
        The labels, sorted.
    majority_ : object
        The label of the largest class.
    sampling_strategy_ : dict
        Rows made, by label.
    ewc_weights_ : dict of str to float
        The weight of the penalty in the fine-tuning of each minority class, by its name.
    codec_ : mgvae.codec.TableCodec or mgvae.codec.ImageCodec
        What the columns or the images mean.
    history_ : dict of str to mgvae.training.History
        Every loss term by step, by stage.
    state_ : mgvae.storage.FittedState
        All that is needed to make more rows; its ``method.settings`` hold what every ``"auto"``
        stood for.
    n_features_in_ : int
        Columns of X, or numbers in an image.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has them.

    See Also
    --------
    mgvae.CVAE : A conditional VAE that learns all classes at once.
    mgvae.BalancedClassifier : Train a classifier on many draws of a sampler.
    mgvae.compare.compare : Find out whether over-sampling helps on a table.
    mgvae.report.quality : Judge the rows that were made.

    Notes
    -----
    The largest class is the majority. With several minority classes there is one pre-training and
    one estimate of the weights' importance; each class fine-tunes a copy.

    References
    ----------
    .. [1] Q. Ai, P. Wang, L. He, L. Wen, L. Pan, Z. Xu, "Generative Oversampling for Imbalanced
       Data via Majority-Guided VAE", AISTATS 2023.

    Examples
    --------
    >>> from collections import Counter
    >>> from sklearn.datasets import make_classification
    >>> from mgvae import MGVAE
    >>> X, y = make_classification(n_samples=500, weights=[0.95], random_state=0)
    >>> sampler = MGVAE(random_state=0)
    >>> X_balanced, y_balanced = sampler.fit_resample(X, y)
    >>> counts = Counter(y_balanced.tolist())
    >>> counts[0] == counts[1]
    True
    >>> sampler.generate(3, label=1).shape
    (3, 20)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **GenerativeSampler._parameter_constraints,
        **{
            name: _RULES[name]
            for name in (
                "generation", "temperature", "rejection", "ewc_weight", "pretrain_steps",
                "finetune_steps", "n_exemplars", "network", "hidden_sizes", "latent_size",
                "batch_size", "augment",
            )
        },
        "learning_rate": [*_RULES["pretrain_learning_rate"], "array-like"],
        "early_stopping": ["boolean", _FRACTION],
        "recipe": [StrOptions(set(RECIPES))],
        "devices": [Interval(Integral, 1, None, closed="left"), StrOptions({"torchrun"})],
        "n_jobs": [Integral, None],
    }  # fmt: skip

    expert_settings: Mapping[str, Any] = {}
    """Values of :class:`mgvae.methods.mgvae.settings.MGVAESettings` that no parameter sets."""

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        column_types: Mapping[Any, KindName] | None = None,
        verbose: bool | int = False,
        generation: GenerationMode | Auto = "auto",
        temperature: float | Auto = "auto",
        rejection: float = 0.0,
        ewc_weight: float | Auto = "auto",
        pretrain_steps: int | str | Auto = "auto",
        finetune_steps: int | str | Auto = "auto",
        early_stopping: bool | float = False,
        augment: Mapping[str, Any] | Auto | None = "auto",
        sample_shape: SampleShape | None = None,
        identifiers: Literal["new", "missing"] = "new",
        constraints: Constraints = "auto",
        recipe: str = "default",
        n_exemplars: int | Auto = "auto",
        network: Network = "auto",
        hidden_sizes: Sequence[int] | Auto = "auto",
        latent_size: int | Auto = "auto",
        batch_size: int | Auto = "auto",
        learning_rate: float | tuple[float, float] | Auto = "auto",
        device: str | torch.device = "auto",
        devices: int | Literal["torchrun"] = 1,
        n_jobs: int | None = None,
        n_threads: int | None = 1,
        checkpoint: CheckpointPlace | None = None,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.random_state = random_state
        self.column_types = column_types
        self.verbose = verbose
        self.generation = generation
        self.temperature = temperature
        self.rejection = rejection
        self.ewc_weight = ewc_weight
        self.pretrain_steps = pretrain_steps
        self.finetune_steps = finetune_steps
        self.early_stopping = early_stopping
        self.augment = augment
        self.sample_shape = sample_shape
        self.identifiers = identifiers
        self.constraints = constraints
        self.recipe = recipe
        self.n_exemplars = n_exemplars
        self.network = network
        self.hidden_sizes = hidden_sizes
        self.latent_size = latent_size
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.devices = devices
        self.n_jobs = n_jobs
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.callback = callback

    @classmethod
    def from_preset(cls, name: str, **changes: Any) -> Self:
        """Make a sampler with a named recipe.

        Parameters
        ----------
        name : {"paper-faces", "paper-images", "paper-tables"}
            The settings that were published for CelebA, for small images or for tables.
        **changes : object
            Parameters of the constructor that shall be different.

        Returns
        -------
        sampler : MGVAE
            Not fitted yet.

        Examples
        --------
        >>> from mgvae import MGVAE
        >>> MGVAE.from_preset("paper-tables", random_state=0).recipe
        'paper-tables'
        """
        if name not in RECIPES:
            raise ParameterError(
                Setting("preset"), f" must be one of {', '.join(sorted(RECIPES))}; got {name!r}."
            )
        return cls(recipe=name, **changes)

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy; expert settings are no parameters, but are copied too."""
        copied: Self = super().__sklearn_clone__()
        if self.expert_settings:
            copied.expert_settings = self.expert_settings
        return copied

    def make_method(self, samples: Samples) -> MajorityGuided:
        """Return what learns such samples, with every ``"auto"`` replaced."""
        family = family_of(samples, self.network)
        if family == "table" and self.network in ("cnn", "residual"):
            refuse_network(self.network)
        if family == "table" and self.augment not in ("auto", None):
            raise ParameterError(
                f"augment={self.augment!r} is for images. For images with one row each set "
                "sample_shape=(H, W, C); for tables leave augment out."
            )
        defaults = {**defaults_of(family, samples.shape), **RECIPES[self.recipe]}
        given = self.get_params(deep=False) | self._learning_rates() | self._holding_out()
        return self.method_of(complete(MGVAESettings, defaults, {**given, **self.expert_settings}))

    def method_of(self, settings: Mapping[str, Any]) -> MajorityGuided:
        """Return what learns with given settings, which are complete."""
        found = MGVAESettings(**settings)
        check_settings(found)
        read_geometry(found.augment)
        if found.prior == "standard" and found.generation != "translate":
            raise ParameterError(
                f"generation={found.generation!r} draws exemplars from the majority mixture, which "
                'the prior "standard" does not have. Set generation="translate".'
            )
        return MajorityGuided(found)

    def codec_options(self) -> CodecOptions:
        """Return how samples are encoded."""
        known = {**MGVAE_DEFAULTS["table"], **RECIPES[self.recipe], **self.expert_settings}
        return CodecOptions(
            column_types=self.column_types,
            identifiers=self.identifiers,
            sample_shape=self.sample_shape,
            table_likelihood=known["table_likelihood"],
            image_likelihood=known["image_likelihood"],
            scaling=known["scaling"],
            constraints=known["relations"]
            if is_auto(self.constraints)
            else texts_of(self.constraints),
        )

    def plan(self, X: Any, y: Any, *, minutes: float | None = None) -> TrainingPlan:
        """Say how long a fit will take, and how many steps fit into some minutes.

        A few steps of each stage are taken and timed. The clock decides nothing in ``fit`` itself:
        set the plan's steps as parameters, and the same steps give the same bits anywhere.

        Parameters
        ----------
        X, y
            As for :meth:`fit`.
        minutes : float, optional
            The most that training shall take. Steps are only made fewer, in the same proportion
            in all stages.

        Returns
        -------
        plan : TrainingPlan
            ``seconds`` that training takes, and the ``parameters`` to set.

        Examples
        --------
        >>> import numpy as np
        >>> from mgvae import MGVAE
        >>> X = np.random.default_rng(0).random((60, 8, 8), dtype=np.float32)
        >>> sampler = MGVAE(random_state=0)
        >>> plan = sampler.plan(X, np.repeat([0, 1], [50, 10]), minutes=0.05)
        >>> sampler = sampler.set_params(**plan.parameters)
        """
        if minutes is not None and not minutes > 0:
            raise ParameterError(f"minutes must be greater than 0; got {minutes!r}.")
        given = InMemory(X, y, type(self).__name__)
        seen = look(self, given)
        method = self.make_method(seen.samples)
        job = make_job(self, given, seen)
        with threads(self.n_threads):
            return make_plan(method, job, None if minutes is None else 60.0 * minutes)

    def set_state(self, state: FittedState, history: dict[str, History]) -> None:
        """Become fitted."""
        super().set_state(state, history)
        self.ewc_weights_ = dict(state.ewc_weights)

    def workers(self) -> Workers:
        """Return who computes."""
        return Workers(self.devices, self.n_jobs, self.n_threads)

    def _learning_rates(self) -> dict[str, Any]:
        rates: Any = self.learning_rate
        if is_auto(rates) or isinstance(rates, Real):
            rates = (rates, rates)
        rates = tuple(rates)
        if len(rates) != 2:
            raise ParameterError(
                "learning_rate must be a number, or two: on the majority and on a minority class; "
                f"got {self.learning_rate!r}."
            )
        return dict(zip(("pretrain_learning_rate", "finetune_learning_rate"), rates, strict=True))

    def _holding_out(self) -> dict[str, Any]:
        if isinstance(self.early_stopping, float):
            return {"early_stopping": True, "validation_fraction": self.early_stopping}
        return {}
