"""The paper's classifiers as scikit-learn estimators."""

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from mgvae.augment import read_geometry
from mgvae.classifiers import training
from mgvae.classifiers.decisions import METRICS, check_decision
from mgvae.classifiers.epochs import (
    TrainingRows,
    as_training_rows,
    fit_maker,
    flat_samples,
    fresh_epochs,
    split,
    without_zero_weights,
)
from mgvae.classifiers.outputs import NetworkOutputs
from mgvae.classifiers.priors import class_shares
from mgvae.classifiers.training import Augmentation, NetworkLike, Plan
from mgvae.classifiers.weighing import trained_shares, weights_by_class
from mgvae.codec import TableCodec, is_mixed, read_table, take_rows
from mgvae.common.progress import progress_bars
from mgvae.common.runtime import resolve_device, seed_sequence, threads, torch_generator
from mgvae.errors import ParameterError
from mgvae.losses import LDAMLoss
from mgvae.samplers import GenerativeSampler, refuse_long_labels

__all__ = ["TorchClassifier"]


class TorchClassifier(NetworkOutputs, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A neural network that classifies tables or images, with losses for imbalanced classes.

    The defaults are the paper's: a perceptron D-256-128-K with LeakyReLU(0.1), Adam at 1e-3 falling
    by 5 % each epoch, batches of 100, 100 epochs.

    .. versionadded:: 0.1

    Parameters
    ----------
    network : {"mlp", "resnet20"}, torch.nn.Module or callable, default="mlp"
        ``"resnet20"`` is for images. A module is copied and trained from the weights it has. A
        callable is called as ``network(sample_shape, n_classes)`` and gives a fresh module. Either
        must give one output for each class.
    loss : str or torch.nn.Module, default="ce"
        ``"ce"`` is cross-entropy; ``"rw"`` and ``"cbrw"`` weight its classes by 1/n or by the
        effective number of rows; ``"focal"`` has gamma 1; with ``"ldam"`` a named network ends in a
        cosine layer; ``"balanced_softmax"`` adjusts the logits by the classes' shares. A module is
        called with logits and class indices, as those of :mod:`mgvae.losses`.
    hidden_sizes : sequence of int, default=(256, 128)
        Widths of the hidden layers of ``"mlp"``.
    sample_shape : sequence of int, optional
        Shape of the images whose pixels are the columns of a two-dimensional X.
    epochs : int, default=100
        Passes over the training rows.
    batch_size : int, default=100
        Rows in a step.
    optimizer : {"adam", "sgd"}, default="adam"
        ``"sgd"`` has momentum 0.9.
    learning_rate : float, optional
        At the start; by default 0.01 for ``"resnet20"``, else 1e-3.
    lr_decay : float, default=0.95
        Factor on the learning rate after each epoch.
    weight_decay : float, optional
        Strength of the penalty on large weights; by default 2e-4 for ``"resnet20"``, else 0.
    class_weight : dict, "balanced", "effective" or None, default=None
        Weight of each class, by label (1 for labels not named); ``"balanced"`` is 1/n,
        ``"effective"`` goes by the effective number of rows.
    defer : float, default=0.0
        Part of the epochs in which classes do not weigh differently yet (deferred re-weighting).
        LDAM-DRW is ``loss="ldam", class_weight="effective", defer=0.8``.
    augment : dict or None, default=None
        Small changes of the images of every batch: some of ``shift`` (most pixels), ``rotation``
        (largest angle in degrees), ``scale`` (0.1 is up to a tenth) and ``flip`` (mirrored left to
        right; not for digits or letters), such as ``{"shift": 2}``.
    mixup, cutmix : float, default=0.0
        Mix every batch with itself in another order; the parameter a of Beta(a, a), such as 1. With
        both, each batch takes one of them. CutMix is for images.
    validation_fraction : float, default=0.0
        Part of every class that is held out to choose the epoch; 0 keeps the last epoch.
    selection : {"geometric_mean", "loss"}, default="geometric_mean"
        What the chosen epoch is best in on the part held out; the earliest of equals is chosen. As
        long as a class is missed altogether, the mean of the recalls decides.
    patience : int, optional
        Epochs without a better one after which training stops; by default it runs to the end.
    sampler : generative sampler of mgvae, "repeat" or None, default=None
        Balances every epoch anew: a copy is fitted on the training rows (not on those held out),
        and each epoch has new synthetic rows of the smaller classes. ``"repeat"`` repeats real rows
        instead.
    synthetic_share : float, default=0.5
        The part of a smaller class's rows in an epoch that ``sampler`` makes. The others are real,
        and never fewer than there are.
    borrowed : float, default=0.0
        With a ``sampler``, every row of a smaller class, real or made, is shifted in each epoch by
        a part of the difference between two neighbouring rows of the largest class, and this is
        the largest part. On MNIST 1 helped much where a class had few images
        (`paper/pages/efficacy.md`).
    share : float, default=1.0
        With a ``sampler``, how large every class becomes at least, as a part of the largest: 1 is
        balance. :class:`mgvae.BalancedClassifier` around this estimator finds it out.
    correct : {"none", "priors"}, default="none"
        ``"priors"`` carries probabilities from the shares that the classes have in training, by
        ``sampler`` and weights, back to those of the data. It changes no decision.
    decide : {"trained", "balanced", "probable", "tuned", "costs"} or float, default="trained"
        What ``predict`` goes by: the largest output of the network, or, by probabilities at the
        shares of the data, as in :class:`mgvae.BalancedClassifier`; ``"tuned"`` goes by the rows
        held out.
    metric : {"gm", "balanced_accuracy", "f1", "accuracy"} or callable, default="gm"
        What ``decide="tuned"`` makes large, if there is no ``cost_matrix``.
    cost_matrix : array-like of shape (n_classes, n_classes) or dict, default=None
        Costs of decisions (columns) where a class is true (rows), or by label the cost of missing
        it; for ``decide="costs"`` or ``"tuned"``.
    device : str or torch.device, default="auto"
        ``"auto"`` takes CUDA when it is there.
    random_state : None, int, numpy RandomState or Generator, default=None
        Decides the first weights, the order of rows, the part held out, and what a ``sampler``
        without a ``random_state`` of its own makes.
    n_threads : int or None, default=1
        Threads of torch while this estimator works; None leaves them as they are.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    priors_ : ndarray of shape (n_classes,)
        Shares of the classes in the training rows.
    decision_matrix_ : ndarray of shape (n_classes, n_classes)
        With probabilities p at the shares of the data, the class c with the largest
        ``(p @ decision_matrix_)[:, c]`` is predicted.
    network_ : torch.nn.Module
        The trained network.
    history_ : mgvae.training.History
        The loss of every step, and what was seen on the part held out.
    sampler_ : object
        The fitted sampler, if there is one.
    codec_ : mgvae.codec.TableCodec or None
        What encodes the rows of a table with text, dates or flags; None for numbers.
    sample_shape_ : tuple of int
        Shape of one sample of X.
    n_features_in_ : int
        Numbers in one sample, as the network sees it.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X, where they are strings.

    See Also
    --------
    mgvae.BalancedClassifier : Any scikit-learn classifier on resampled rows.
    mgvae.datasets.BalancedDataset : The same for a training loop of your own.

    Notes
    -----
    A data frame with text, categories or dates is encoded as the samplers encode it; missing cells
    are allowed in it. A ``sampler`` sees the frame itself, and the rows that it makes are encoded.

    Images have the shape (n, height, width), or with channels last or first. Channels are taken to
    be last where the last axis has the size 1, 3 or 4 and the first has not. Images of type uint8
    are divided by 255; anything else is taken as it comes.

    X of type float64 is learned in float64, everything else in float32, which is twice as fast.
    A row whose ``sample_weight`` is 0 is treated as if it were not there.

    Named networks never touch torch's global random state. A network of one's own draws from
    nothing else, so it is seeded while such a network is made and trained, and put back.

    Examples
    --------
    >>> from imblearn.pipeline import make_pipeline
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mgvae import MGVAE
    >>> from mgvae.classifiers import TorchClassifier
    >>> X, y = make_classification(n_samples=500, weights=[0.9], class_sep=2.0, random_state=0)
    >>> model = make_pipeline(
    ...     StandardScaler(),
    ...     MGVAE(random_state=0),
    ...     TorchClassifier(loss="ldam", epochs=5, random_state=0),
    ... )
    >>> model.fit(X, y).predict_proba(X).shape
    (500, 2)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "network": "no_validation",
        "loss": "no_validation",
        "hidden_sizes": ["array-like"],
        "sample_shape": ["array-like", None],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "optimizer": [StrOptions({"adam", "sgd"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "lr_decay": [Interval(Real, 0, 1, closed="right")],
        "weight_decay": [Interval(Real, 0, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced", "effective"}), None],
        "defer": [Interval(Real, 0, 1, closed="left")],
        "augment": [Mapping, None],
        "mixup": [Interval(Real, 0, None, closed="left")],
        "cutmix": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "selection": [StrOptions({"geometric_mean", "loss"})],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "sampler": [HasMethods(["fit", "generate"]), StrOptions({"repeat"}), None],
        "synthetic_share": [Interval(Real, 0, 1, closed="both")],
        "share": [Interval(Real, 0, 1, closed="both")],
        "borrowed": [Interval(Real, 0, None, closed="left")],
        "correct": [StrOptions({"none", "priors"})],
        "decide": [
            StrOptions({"trained", "balanced", "probable", "tuned", "costs"}),
            Interval(Real, 0, 1, closed="both"),
        ],
        "metric": [StrOptions(set(METRICS)), callable],
        "cost_matrix": ["array-like", dict, None],
        "device": "no_validation",
        "random_state": ["random_state", np.random.Generator],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        network: NetworkLike = "mlp",
        loss: "str | torch.nn.Module" = "ce",
        *,
        hidden_sizes: Sequence[int] = (256, 128),
        sample_shape: Sequence[int] | None = None,
        epochs: int = 100,
        batch_size: int = 100,
        optimizer: str = "adam",
        learning_rate: float | None = None,
        lr_decay: float = 0.95,
        weight_decay: float | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        defer: float = 0.0,
        augment: Mapping[str, Any] | None = None,
        mixup: float = 0.0,
        cutmix: float = 0.0,
        validation_fraction: float = 0.0,
        selection: str = "geometric_mean",
        patience: int | None = None,
        sampler: GenerativeSampler | str | None = None,
        synthetic_share: float = 0.5,
        borrowed: float = 0.0,
        share: float = 1.0,
        correct: str = "none",
        decide: str | float = "trained",
        metric: str | Callable[[Any, Any], float] = "gm",
        cost_matrix: Any = None,
        device: "str | torch.device" = "auto",
        random_state: Any = None,
        n_threads: int | None = 1,
        verbose: int = 0,
    ) -> None:
        self.network = network
        self.loss = loss
        self.hidden_sizes = hidden_sizes
        self.sample_shape = sample_shape
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.lr_decay = lr_decay
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.defer = defer
        self.augment = augment
        self.mixup = mixup
        self.cutmix = cutmix
        self.validation_fraction = validation_fraction
        self.selection = selection
        self.patience = patience
        self.sampler = sampler
        self.synthetic_share = synthetic_share
        self.borrowed = borrowed
        self.share = share
        self.correct = correct
        self.decide = decide
        self.metric = metric
        self.cost_matrix = cost_matrix
        self.device = device
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or images
            The training rows; see the notes of the class for the shapes of images.
        y : array-like of shape (n_samples,)
            Their labels, of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        self : TorchClassifier
            The fitted estimator.
        """
        self._check_parameters()
        refuse_long_labels(y)
        given = X
        self.codec_ = TableCodec().fit(read_table(X)) if is_mixed(X) else None
        X, sample_shape = flat_samples(self._encoded(X), self.sample_shape)
        X, y = validate_data(self, X, y, dtype=[np.float32, np.float64])
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        weighs = np.flatnonzero(weight > 0)
        X, y, weight = without_zero_weights(X, y, weight)
        self.sample_shape_ = sample_shape or (self.n_features_in_,)
        if math.prod(self.sample_shape_) != self.n_features_in_:
            raise ParameterError(
                f"sample_shape must multiply to the {self.n_features_in_} columns of X; "
                f"got {self.sample_shape_}."
            )
        self._check_images()
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_decision(self.decide, self.cost_matrix, self.classes_)
        counts = np.bincount(codes, weights=weight).astype(np.float64)
        self.priors_ = class_shares(codes, len(counts), weight)
        class_weight = weights_by_class(self.loss, self.class_weight, counts, self.classes_)
        weight = weight * class_weight[codes]

        device = resolve_device(self.device)
        seeds = seed_sequence(self.random_state).spawn(6)
        for_split, for_network, for_order, for_own, for_sampler, for_augmentation = seeds
        kept, held = split(codes, self.validation_fraction, for_split)
        rows = as_training_rows(X, codes, weight, self.sample_shape_, device)
        learned = rows.select(kept) if len(held) else rows
        epoch = None
        if self.sampler is not None:
            shown = X[kept] if self.codec_ is None else take_rows(given, weighs[kept])
            epoch = self._fresh_epochs(shown, codes[kept], learned, for_sampler)
        with threads(self.n_threads), training.random_numbers(self.network, for_own):
            network = training.make_network(
                self.network,
                tuple(rows.X.shape[1:]),
                len(self.classes_),
                hidden_sizes=self.hidden_sizes,
                cosine_head=self.loss == "ldam",
                generator=torch_generator(for_network),
            ).to(rows.X)
            by_row = rows.weight is not None
            loss = training.make_loss(self.loss, counts, by_row).to(rows.X)
            with progress_bars(bool(self.verbose)) as callback:
                self.history_ = training.train_network(
                    network,
                    loss,
                    learned,
                    rows.select(held) if len(held) else None,
                    self._plan(),
                    n_classes=len(self.classes_),
                    generator=torch_generator(for_order),
                    callback=callback,
                    epoch=epoch,
                    augmentation=self.augmentation(torch_generator(for_augmentation)),
                    class_weight=torch.from_numpy(class_weight),
                )
        self.network_ = network
        self._trained = trained_shares(
            self.loss,
            codes[kept],
            weight[kept],
            len(self.classes_),
            None if self.sampler is None else self.share,
        )
        self._scale = loss.scale if isinstance(loss, LDAMLoss) else 1.0  # its logits are cosines
        self._settle(X[held], codes[held], weight[held] / class_weight[codes[held]])
        return self

    def _fresh_epochs(
        self, X: Any, codes: NDArray[np.intp], rows: TrainingRows, seeds: np.random.SeedSequence
    ) -> Callable[[], TrainingRows]:
        """Fit a copy of the sampler; give a function that balances the rows for an epoch.

        A table that is not of numbers alone is shown to the sampler as it is, and what it makes is
        encoded like the real rows.
        """
        *for_sampler, for_epochs = seeds.spawn(3)
        make, part = None, 0.0
        if not isinstance(self.sampler, str):
            shape = self.sample_shape_
            X = X.reshape(-1, *shape) if len(shape) > 1 else X
            self.sampler_, make = fit_maker(self.sampler, X, codes, self._flat, *for_sampler)
            part = self.synthetic_share
        return fresh_epochs(
            rows, make, part, self.sample_shape_, for_epochs, self.borrowed, self.share
        )

    def augmentation(self, generator: torch.Generator) -> Augmentation | None:
        """Return what is done to the samples of every batch, if anything is."""
        geometry = read_geometry(self.augment)
        if geometry is None and not self.mixup and not self.cutmix:
            return None
        return Augmentation(geometry, self.mixup, self.cutmix, generator)

    def _check_parameters(self) -> None:
        self._validate_params()
        read_geometry(self.augment)
        if self.patience is not None and self.validation_fraction == 0:
            raise ParameterError(
                f"patience={self.patience} needs rows held out; set validation_fraction to a part "
                "such as 0.2."
            )
        if self.decide == "tuned" and self.validation_fraction == 0:
            raise ParameterError(
                'decide="tuned" needs rows held out; set validation_fraction to a part such as 0.2.'
            )

    def _check_images(self) -> None:
        """Raise if something is asked for that only images can have."""
        for name in ("augment", "cutmix"):
            if getattr(self, name) and len(self.sample_shape_) < 2:
                raise ParameterError(
                    f"{name}={getattr(self, name)!r} is for images: give X of shape "
                    "(n, height, width), or name the shape of the flat rows in sample_shape."
                )

    def _plan(self) -> Plan:
        resnet = self.network == "resnet20"
        rate, decay = (0.01, 2e-4) if resnet else (1e-3, 0.0)
        return Plan(
            epochs=self.epochs,
            batch_size=self.batch_size,
            optimizer=self.optimizer,
            learning_rate=rate if self.learning_rate is None else self.learning_rate,
            lr_decay=self.lr_decay,
            weight_decay=decay if self.weight_decay is None else self.weight_decay,
            selection=self.selection,
            patience=self.patience,
            defer=self.defer,
        )
