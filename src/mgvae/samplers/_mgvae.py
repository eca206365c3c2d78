"""The majority-guided VAE as an imbalanced-learn over-sampler."""

import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
from sklearn.utils._param_validation import Interval, StrOptions
from torch import Tensor, nn

from mgvae.codec import KindName, LikelihoodName, NumericScale
from mgvae.codec.images import Channels
from mgvae.common.runtime import build, torch_generator
from mgvae.errors import ParameterError
from mgvae.methods.job import Generator, Job, Trained
from mgvae.methods.mgvae.bridge import build_bridge
from mgvae.methods.mgvae.classes import ClassWork, Finetuning, Pretrained, finetune_classes
from mgvae.methods.mgvae.generation import DecoderOutput, latent_means
from mgvae.methods.mgvae.generators import (
    Crosser,
    GenerationMode,
    Manner,
    Translator,
    revived_translator,
)
from mgvae.methods.mgvae.learning import Stage, fisher_of_generated, pretrain
from mgvae.methods.mgvae.together import Learned, check_together, learn_as_told, outer_team
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE, PosteriorVariance, PriorName
from mgvae.networks import Network, Precision, choose_bodies
from mgvae.samplers._base import Auto, GenerativeSampler
from mgvae.samplers._data import Data
from mgvae.samplers._presets import EWC_CANDIDATES, MGVAE_DEFAULTS, PRESETS
from mgvae.samplers._settings import layer_sizes, stage
from mgvae.training import Callback

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from mgvae.training.team import Team

__all__ = ["MGVAE"]

_AUTO = StrOptions({"auto"})
_MOST_CENTRES = 2**18  # majority rows that are translated; of more, so many are drawn,
_MOST_ANCHORS = 2**16  # and likewise minority rows to start from


class MGVAE(GenerativeSampler):
    """Over-sample minority classes with a majority-guided VAE.

    A variational autoencoder whose prior has one component per majority row is pre-trained on the
    majority and fine-tuned, under an elastic-weight-consolidation penalty, on each minority class.
    Every synthetic row is guided by one majority row, named in ``source_indices_``.

    Parameters
    ----------
    sampling_strategy : float, str, dict or callable, default="auto"
        How many rows to make, as in imbalanced-learn: ``"auto"`` lifts every class to the largest;
        a float is the wanted ratio minority / majority of two classes; a dict gives the wanted
        number of rows by class.
    random_state : None, int, numpy RandomState or Generator, default=None
        Decides everything. The same number gives the same bits.
    prior : {"majority", "standard"}, default="majority"
        The majority mixture of the paper, or the standard normal of a plain VAE.
    n_exemplars : int, default="auto" (128; images with convolutions 64)
        Majority rows drawn per step to stand for the prior (the paper's S).
    n_remembered : int, default="auto" (0; images 2000)
        While pre-training, latent means of the latest exemplars that stand for the prior besides
        the step's own: many more components at no cost, but without a gradient. Fine-tuning does
        without: few exemplars a step make the minority spread over the whole majority.
    leave_one_out : bool, default=True
        While pre-training, a row is not its own exemplar.
    posterior_variance : {"head", "shared"}, default="head"
        Variance of the posterior from the network, or the prior's one scalar.
    likelihood : {"gaussian", "squared_error", "bernoulli"}, default="auto"
        How numbers are scored: a Gaussian with a learned variance per column (``"auto"`` for
        tables), the published squared error, or cross-entropy for values in [0, 1] (``"auto"`` for
        images; tables need ``scaling="minmax"``, or ``"identity"`` if they are there already).
    scaling : {"quantile", "minmax", "symmetric", "identity"}, default="quantile"
        How numbers of a table are brought to the network: to normal scores by their quantiles, to
        [0, 1], to [-1, 1], or as they are. Images always go as [0, 1].
    sample_shape : sequence of int or None, default=None
        (H, W), (H, W, C) or (C, H, W): X has one row per image. Not needed for arrays with three
        or four axes, which are images anyway.
    channels : {"first", "last"} or None, default=None
        Where the channels of images are, if their shape does not say.
    network : {"auto", "mlp", "cnn", "residual"} or callable, default="auto"
        Fully connected layers, the paper's convolutional network, or the published residual one;
        ``"auto"`` takes the first for tables and grey images of up to 32 × 32 pixels, the second
        for other images. A callable ``network(shape, latent_size)`` gives a
        :class:`mgvae.networks.Bodies` of one's own.
    network_width : float, default=0.25
        Factor on the channels of convolutional networks. 1 is the paper's, 64 to 512 channels,
        and takes 13 times as long.
    precision : {"float32", "bfloat16"}, default="float32"
        Whether networks compute in bfloat16. That pays on GPUs and on processors with instructions
        for it, and costs much on others.
    hidden_sizes : sequence of int, default="auto" ((128, 128); images (300, 300))
        Widths of the encoder's hidden layers; the decoder mirrors them.
    latent_size : int, default="auto" (10; images 40)
        Length of the latent code.
    batch_size : int, default="auto" (128; images with convolutions 64)
        Rows per step; all of a class that has fewer.
    pretrain_steps : int or str, default="auto" (500; images 8000, with convolutions 4000)
        Steps on the majority (the paper's T1); ``"200 epochs"`` counts passes over its rows; 0
        leaves pre-training (and the penalty, which needs it) out.
    finetune_steps : int or str, default="auto" (200; images 600, with convolutions 400)
        Steps on a minority class (the paper's T2), likewise.
    pretrain_learning_rate : float, default="auto" (2e-3; images 1e-3)
        Adam's learning rate on the majority.
    finetune_learning_rate : float, default="auto" (1e-3; images 3e-3)
        Adam's learning rate on a minority class.
    schedule : {"cosine", "constant"}, default="cosine"
        How the learning rates fall.
    clip_norm : float or None, default=None
        Largest norm of a gradient.
    ewc_weight : float, default="auto"
        Weight of the penalty on moving what the majority needs (the paper's lambda); 0 is none.
        ``"auto"`` tries 0, 1 and 100 (small grey images 0, 0.1 and 10) for a class of at least 25
        rows, with a fifth of them held out, takes the weight under which these are told best from
        majority rows, and then learns from all rows. A smaller class takes the middle one,
        images with convolutions 0.1. See ``ewc_weights_``.
    fisher_samples : int, default=60
        Generated rows from which the importance of the weights is estimated.
    early_stopping : bool, default=False
        Hold out a part of a minority class of at least 25 rows, stop fine-tuning when its
        likelihood no longer rises, and keep the best model.
    validation_fraction : float, default=0.2
        The part held out by ``early_stopping``.
    patience : int, default=5
        Looks without improvement before ``early_stopping`` stops; a look comes every twentieth of
        ``finetune_steps``.
    generation : {"translate", "responsibility", "bridge"}, default="auto"
        Where new rows come from. ``"translate"`` (``"auto"`` for images) is the paper's: majority
        rows drawn uniformly and translated. ``"responsibility"`` translates majority rows near the
        minority's own in the latent space. ``"bridge"`` (``"auto"`` for tables) starts from a
        minority row, named in ``anchor_indices_``, goes part of the way to a majority row near it,
        and adds the row's own residual and a difference between majority rows.
    temperature : float, default="auto" (1; small grey images 1.5)
        Factor on the latent noise; 0 gives each majority row one fixed translation.
    decoder_output : {"auto", "mean", "sample"}, default="auto"
        Numbers as the decoder's means, or drawn around them; ``"auto"`` draws in tables and takes
        means in images. Categories and missing marks, which have no mean, are always drawn. A
        bridge needs no such draw: it has the residual of a real row.
    rejection : float, default=0.0
        Share of the rows made that are thrown away because the class's model finds them the least
        plausible.
    column_types : dict or None, default=None
        Kinds of columns that are not what their values suggest, by name (by position in an array),
        for instance ``{"zip": "categorical"}``.
    identifiers : {"new", "missing"}, default="new"
        Identifier columns of synthetic rows get new values, or are left missing.
    device : str or torch.device, default="auto"
        ``"auto"`` takes a GPU when there is one.
    devices : int, default=1
        Processes on this machine that train together, each on a device of its own (a GPU, or the
        CPU). Under ``torchrun``, whose number counts, it may be left out.
    strategy : {"ddp"} or None, default=None
        How several processes train one model: with ``"ddp"``, by Lightning Fabric, they share the
        rows of every batch. The result is that of one process up to rounding. Every process that
        ``torchrun`` started must call ``fit`` with the same data, and gets the same result.
    n_jobs : int or None, default=None
        Minority classes fine-tuned at once, through joblib; the result does not depend on it.
        Joblib's workers wait some minutes for the next fit, and end with the program. None is one,
        unless ``joblib.parallel_config`` says another number or another engine.
    n_threads : int or None, default=1
        Threads of torch; None leaves torch's own setting, whose number may change the last bits.
    checkpoint : path or None, default=None
        A folder that keeps the state of training. A run that was cut off and is started again with
        the same data and parameters goes on there, and ends with the same bits; other data or
        parameters are refused. The folder stays when the fit is done.
    checkpoint_seconds : float, default=30.0
        Time between two states of a stage of training.
    callback : callable or None, default=None
        Called while training as ``callback(stage, done, total, terms)``.
    verbose : bool or int, default=False
        Show progress bars.

    Attributes
    ----------
    source_indices_ : ndarray of int of shape (n_resampled,)
        The row of X each output row comes from: itself for an original, the translated majority
        row for a synthetic one (-1 under the standard prior).
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
    codec_ : mgvae.codec.TableCodec or mgvae.codec.images.ImageCodec
        What the columns or the images mean.
    history_ : dict of str to mgvae.training.History
        Every loss term by step, by stage.
    n_features_in_ : int
        Columns of X, or numbers in an image.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has them.

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

    _defaults = MGVAE_DEFAULTS
    _ewc_candidates: Sequence[float]
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **GenerativeSampler._parameter_constraints,
        "precision": [StrOptions({"float32", "bfloat16"})],
        "prior": [StrOptions({"majority", "standard"})],
        "n_exemplars": [Interval(Integral, 1, None, closed="left"), _AUTO],
        "n_remembered": [Interval(Integral, 0, None, closed="left"), _AUTO],
        "leave_one_out": ["boolean"],
        "posterior_variance": [StrOptions({"head", "shared"})],
        "hidden_sizes": ["array-like", _AUTO],
        "latent_size": [Interval(Integral, 1, None, closed="left"), _AUTO],
        "batch_size": [Interval(Integral, 1, None, closed="left"), _AUTO],
        "pretrain_steps": [Interval(Integral, 0, None, closed="left"), str, _AUTO],
        "finetune_steps": [Interval(Integral, 0, None, closed="left"), str, _AUTO],
        "pretrain_learning_rate": [Interval(Real, 0, None, closed="neither"), _AUTO],
        "finetune_learning_rate": [Interval(Real, 0, None, closed="neither"), _AUTO],
        "schedule": [StrOptions({"cosine", "constant"})],
        "clip_norm": [Interval(Real, 0, None, closed="neither"), None],
        "ewc_weight": [Interval(Real, 0, None, closed="left"), _AUTO],
        "fisher_samples": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "temperature": [Interval(Real, 0, None, closed="left"), _AUTO],
        "decoder_output": [StrOptions({"auto", "mean", "sample"})],
        "generation": [StrOptions({"auto", "translate", "responsibility", "bridge"})],
        "rejection": [Interval(Real, 0, 1, closed="left")],
        "devices": [Interval(Integral, 1, None, closed="left")],
        "strategy": [StrOptions({"ddp"}), None],
    }

    def __init__(
        self,
        *,
        sampling_strategy: Any = "auto",
        random_state: Any = None,
        prior: PriorName = "majority",
        n_exemplars: int | Auto = "auto",
        n_remembered: int | Auto = "auto",
        leave_one_out: bool = True,
        posterior_variance: PosteriorVariance = "head",
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
        pretrain_steps: int | str | Auto = "auto",
        finetune_steps: int | str | Auto = "auto",
        pretrain_learning_rate: float | Auto = "auto",
        finetune_learning_rate: float | Auto = "auto",
        schedule: str = "cosine",
        clip_norm: float | None = None,
        ewc_weight: float | Auto = "auto",
        fisher_samples: int = 60,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        patience: int = 5,
        generation: GenerationMode | Auto = "auto",
        temperature: float | Auto = "auto",
        decoder_output: DecoderOutput | Auto = "auto",
        rejection: float = 0.0,
        column_types: Mapping[Any, KindName] | None = None,
        identifiers: Literal["new", "missing"] = "new",
        device: str | torch.device = "auto",
        devices: int = 1,
        strategy: Literal["ddp"] | None = None,
        n_jobs: int | None = None,
        n_threads: int | None = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
        callback: Callback | None = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(sampling_strategy=sampling_strategy)
        self.random_state = random_state
        self.prior = prior
        self.n_exemplars = n_exemplars
        self.n_remembered = n_remembered
        self.leave_one_out = leave_one_out
        self.posterior_variance = posterior_variance
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
        self.pretrain_steps = pretrain_steps
        self.finetune_steps = finetune_steps
        self.pretrain_learning_rate = pretrain_learning_rate
        self.finetune_learning_rate = finetune_learning_rate
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.ewc_weight = ewc_weight
        self.fisher_samples = fisher_samples
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.generation = generation
        self.temperature = temperature
        self.decoder_output = decoder_output
        self.rejection = rejection
        self.column_types = column_types
        self.identifiers = identifiers
        self.device = device
        self.devices = devices
        self.strategy = strategy
        self.n_jobs = n_jobs
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.callback = callback
        self.verbose = verbose

    @classmethod
    def from_preset(cls, name: str, **changes: Any) -> Self:
        """Make a sampler with a named set of parameters.

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
        >>> MGVAE.from_preset("paper-tables", random_state=0).ewc_weight
        500.0
        """
        if name not in PRESETS:
            raise ParameterError(f"there is no preset {name!r}; there are {sorted(PRESETS)}.")
        return cls(**{**PRESETS[name], **changes})

    def _train(self, job: Job) -> Trained:
        *for_learning, for_bridges = job.seeds.spawn(5)
        learned = learn_as_told(self, job, for_learning)
        models = dict(zip(learned.minorities, (found.vae for found in learned.tuned), strict=True))
        weights = {
            job.names[code]: found.ewc_weight
            for code, found in zip(learned.minorities, learned.tuned, strict=True)
        }
        if job.majority in job.targets:
            models[job.majority] = learned.pretrained.vae
        branches = for_bridges.spawn(len(job.members))
        return Trained(
            generators={
                code: self._generator_of(model.requires_grad_(False), job, code, branches[code])
                for code, model in models.items()
            },
            history=[*learned.pretrained.history, *(found.history for found in learned.tuned)],
            attributes={"ewc_weights_": weights},
        )

    def _learned(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> Learned:
        """Algorithm 2: learn the majority, then every minority class."""
        *for_pretraining, for_classes = seeds
        pretrained = self._pretrain(job, for_pretraining)
        branches = for_classes.spawn(len(job.members))
        minorities = [code for code in job.targets if code != job.majority]
        works = [self._class_work(pretrained, job, code, branches[code]) for code in minorities]
        tuned = finetune_classes(works, 1 if job.team else self.n_jobs, job.callback)
        return Learned(pretrained, minorities, tuned)

    def _class_work(
        self, pretrained: Pretrained, job: Job, code: int, seeds: np.random.SeedSequence
    ) -> ClassWork:
        rows = job.members[code]
        stage = self._stage(self.finetune_steps, self.finetune_learning_rate, len(rows))
        settings = Finetuning(
            self.ewc_weight, self._ewc_candidates, self.early_stopping, self.validation_fraction,
            self.patience, self.n_threads,
        )  # fmt: skip
        majority, file = job.members[job.majority], job.file(f"class-{code}")
        return ClassWork(
            pretrained, job.rows, rows, majority, job.names[code], seeds, stage, settings, file,
            job.team,
        )  # fmt: skip

    def _generator_of(
        self, vae: VAE, job: Job, code: int, seeds: np.random.SeedSequence
    ) -> Generator:
        """Give a class's model what it generates from; the majority's own is only translated."""
        majority, minority = job.members[job.majority], job.members[code]
        rng = np.random.default_rng(seeds.spawn(1)[0])
        if len(minority) > _MOST_ANCHORS:
            minority = np.sort(rng.choice(minority, _MOST_ANCHORS, replace=False))
        if self.generation == "bridge" and code != job.majority:
            bridge = build_bridge(vae, job.rows, minority, majority, job.spans, seeds)
            return Crosser(vae, bridge, minority, majority[bridge.guides], self._manner())
        if len(majority) > _MOST_CENTRES:
            majority = np.sort(rng.choice(majority, _MOST_CENTRES, replace=False))
        anchors = None
        if self.generation == "responsibility" and code != job.majority:
            anchors = latent_means(vae, job.rows, minority)
        centres = latent_means(vae, job.rows, majority)
        return Translator(vae, centres, majority, anchors, self._manner())

    def _manner(self) -> Manner:
        return Manner(self.temperature, self.decoder_output, self.rejection)

    def _resolved(self, data: Data) -> Self:
        """Give a copy without ``"auto"``; the standard prior has no exemplars to draw near."""
        check_together(self)
        worker = super()._resolved(data)
        worker._ewc_candidates = EWC_CANDIDATES[data.family]
        if self.prior == "standard":
            if self.generation not in ("auto", "translate"):
                raise ParameterError(
                    f"generation={self.generation!r} draws exemplars from the majority mixture, "
                    'which prior="standard" does not have. Set prior="majority", or '
                    'generation="translate".'
                )
            worker.generation = "translate"
        return worker

    def _team(self) -> "Team | None":
        return outer_team(self)

    def _pretrain(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> Pretrained:
        """Learn the majority; a subclass may know the outcome already."""
        for_weights, for_training, for_fisher = seeds
        majority = job.members[job.majority]
        vae = build(lambda: self._vae(job), torch_generator(for_weights)).to(job.device)
        first = self._stage(
            self.pretrain_steps, self.pretrain_learning_rate, len(majority), self.n_remembered
        )
        if not first.steps:
            return Pretrained(vae, None, [])
        history = pretrain(
            vae, job.rows, majority, first, for_training, job.callback, job.file("pre-training"),
            job.team,
        )  # fmt: skip

        def importance() -> dict[str, Tensor]:
            return fisher_of_generated(
                vae, job.rows, majority, self.fisher_samples, self.n_exemplars, for_fisher,
                job.team,
            )  # fmt: skip

        fisher = None
        if self.ewc_weight == "auto" or self.ewc_weight > 0:
            file = job.file("importance")
            fisher = importance() if file is None else file.once(importance, job.device)
        return Pretrained(vae, fisher, [history])

    def _model(self, job: Job) -> nn.Module:
        return self._vae(job)

    def _revived(
        self,
        job: Job,  # noqa: ARG002
        code: int,  # noqa: ARG002
        model: nn.Module,
        tensors: Mapping[str, Tensor],
    ) -> Generator:
        if not isinstance(model, VAE):
            raise TypeError("an MGVAE generates with a VAE")
        return revived_translator(model, tensors, self._manner())

    def _vae(self, job: Job) -> VAE:
        return VAE(
            choose_bodies(
                self.network,
                job.shape,
                self.latent_size,
                hidden_sizes=layer_sizes(self.hidden_sizes),
                width=self.network_width,
                precision=self.precision,
            ),
            Likelihood(job.spans),
            self.latent_size,
            self.prior,
            self.posterior_variance,
        )

    def _stage(
        self, steps: int | str, learning_rate: float, n_rows: int, n_remembered: int = 0
    ) -> Stage:
        return stage(
            self,
            steps,
            learning_rate,
            n_rows,
            n_exemplars=self.n_exemplars,
            n_remembered=n_remembered,
            leave_one_out=self.leave_one_out,
        )
