"""What every generative over-sampler shares: from a user's X and y to rows of numbers, and back.

A subclass writes one hook, :meth:`GenerativeSampler._train`, which sees only encoded rows and gives
one generator of rows per class. Everything a user meets lives here: containers, labels, columns,
``sampling_strategy``, seeds, threads, provenance and progress.
"""

import copy
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from imblearn.over_sampling.base import BaseOverSampler
from imblearn.utils import check_sampling_strategy
from numpy.typing import NDArray
from sklearn.preprocessing import label_binarize
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from mgvae._progress import progress_bars
from mgvae._runtime import enough_memory, resolve_device, seed_sequence, threads
from mgvae.codec import KindName, NumericScale, append_labels
from mgvae.codec.images import Channels
from mgvae.errors import DataError, ParameterError
from mgvae.samplers._data import Data, open_data
from mgvae.samplers._job import Generator, Job, Positions, Trained, Unvaried
from mgvae.samplers._presets import Defaults
from mgvae.samplers._storable import Storable
from mgvae.samplers._target import read_target
from mgvae.training import Callback

__all__ = ["SMALLER", "Auto", "GenerativeSampler"]

Auto = Any  # the word "auto", which is replaced by the data's default before it is used

SMALLER = (
    "Lower batch_size, n_exemplars or the size of the networks (hidden_sizes, network_width), or "
    "train fewer classes at once (n_jobs)."
)
_FEWER_ROWS = "Ask for fewer in sampling_strategy, or call generate() several times for parts."


class _Packed(NamedTuple):
    """New rows as they are kept until they are decoded, and where they come from."""

    encoded: NDArray[Any]
    sources: Positions
    anchors: Positions


class GenerativeSampler(Storable, BaseOverSampler):  # type: ignore[misc]
    """Base of the over-samplers that train a generative model.

    See :class:`mgvae.MGVAE` for the parameters that all of them share.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **BaseOverSampler._parameter_constraints,
        "random_state": ["random_state", np.random.Generator],
        "column_types": [Mapping, None],
        "scaling": [StrOptions({"quantile", "minmax", "symmetric", "identity"})],
        "likelihood": [StrOptions({"auto", "gaussian", "squared_error", "bernoulli"})],
        "sample_shape": ["array-like", None],
        "channels": [StrOptions({"first", "last"}), None],
        "network": [StrOptions({"auto", "mlp", "cnn", "residual"}), callable],
        "network_width": [Interval(Real, 0, None, closed="neither")],
        "identifiers": [StrOptions({"new", "missing"})],
        "device": [str, torch.device],
        "n_jobs": [Integral, None],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_seconds": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    _defaults: Defaults

    random_state: Any
    column_types: Mapping[Any, KindName] | None
    scaling: NumericScale
    likelihood: Any
    sample_shape: Sequence[int] | None
    channels: Channels | None
    network: Any
    network_width: float
    identifiers: Literal["new", "missing"]
    device: str | torch.device
    n_jobs: int | None
    n_threads: int | None
    checkpoint: str | os.PathLike[str] | None
    checkpoint_seconds: float
    callback: Callback | None
    verbose: int | bool

    @abstractmethod
    def _train(self, job: Job) -> Trained:
        """Learn from encoded rows."""

    @abstractmethod
    def _model(self, job: Job) -> nn.Module:
        """Lay out the model that is trained."""

    @abstractmethod
    def _revived(
        self, job: Job, code: int, model: nn.Module, tensors: Mapping[str, Tensor]
    ) -> Generator:
        """Undo :meth:`Generator.stored` for a class."""

    def fit(self, X: Any, y: Any) -> Self:
        """Train the model without making any new row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features), or images
            The data: a numpy array, a list, a pandas or polars DataFrame, or a pyarrow Table; or
            images as an array (N, H, W), (N, H, W, C) or (N, C, H, W).
        y : array-like of shape (n_samples,)
            The class of each row.

        Returns
        -------
        self : object
            The fitted sampler: see :meth:`generate` and :meth:`translate`.
        """
        with self._all_or_nothing():
            self._fit(X, y)
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Train the model and balance the data.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features), or images
            The data: a numpy array, a list, a pandas or polars DataFrame, or a pyarrow Table; or
            images as an array (N, H, W), (N, H, W, C) or (N, C, H, W).
        y : array-like of shape (n_samples,)
            The class of each row.

        Returns
        -------
        X_resampled : same container as X
            The original rows, untouched, followed by the synthetic ones.
        y_resampled : same container as y
            Their classes.
        """
        with self._all_or_nothing():
            return self._fit_and_resample(X, y)

    def _fit_and_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        labels, one_vs_all = self._fit(X, y)
        parts: list[NDArray[Any]] = []
        sources, anchors = [np.arange(len(labels))], [np.arange(len(labels))]
        made: list[NDArray[Any]] = []
        seeds = self._root.spawn(len(self.classes_))
        for label, n in self.sampling_strategy_.items():
            if n == 0:
                continue
            code = self._code(label)
            with enough_memory(f"making {n} rows of class {label}", _FEWER_ROWS):
                for part in self._make(self._generators[code], n, seeds[code]):
                    parts.append(part.encoded)
                    sources.append(part.sources)
                    anchors.append(part.anchors)
            made.append(np.full(n, code))
        codes = np.concatenate([np.empty(0, np.int64), *made])
        self.source_indices_ = np.concatenate(sources)
        self.anchor_indices_ = np.concatenate(anchors)
        with enough_memory(f"making {len(codes)} rows", _FEWER_ROWS):
            new_rows = self._decode(parts, seeds[0])
            new = self.classes_[codes]
            if one_vs_all:
                new = label_binarize(new, classes=self.classes_)
            X_resampled = self._data.append(X, new_rows)
            return X_resampled, append_labels(y, new, X_resampled)

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Meet imbalanced-learn's contract, whose own ``fit_resample`` is replaced as a whole."""
        return self.fit_resample(X, y)

    def generate(self, n: int, label: Any, random_state: Any = None) -> Any:
        """Make new rows of one class.

        Parameters
        ----------
        n : int
            How many.
        label : object
            The class, as it is written in ``y``.
        random_state : None, int, RandomState or Generator
            Decides the rows. None gives other rows at every call, in an order that the sampler's
            own ``random_state`` decides.

        Returns
        -------
        X_new : same container as X
            The new rows.
        """
        check_is_fitted(self, "classes_")
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise ParameterError(f"n must be a whole number of at least 0; got {n!r}.")
        self._check_size(int(n), self._data)
        generator = self._generator(label)
        seeds, first = self._later(random_state, int(n))
        made = self._make(generator, int(n), seeds)
        rows = self._decode([part.encoded for part in made], seeds, first)
        return self._data.only(self._template, rows)

    def translate(self, X_majority: Any, label: Any, random_state: Any = None) -> Any:
        """Make one new row of a class from each given majority row, in their order.

        Parameters
        ----------
        X_majority : array or table of shape (n_samples, n_features)
            Majority rows, with the columns of the training data.
        label : object
            The class to translate to, as it is written in ``y``.
        random_state : None, int, RandomState or Generator
            Decides the noise; None as in :meth:`generate`.

        Returns
        -------
        X_new : same container as X_majority
            The new rows.
        """
        check_is_fitted(self, "classes_")
        generator = self._generator(label)
        contents = self._data.read(X_majority)
        self._data.validate(self, X_majority, reset=False)
        rows = torch.from_numpy(self.codec_.encode(contents))
        seeds, first = self._later(random_state, len(rows))
        with threads(self.n_threads):
            encoded = generator.translate(rows, seeds)
        return self._data.only(X_majority, self._decode([encoded.numpy()], seeds, first))

    def _fit(self, X: Any, y: Any) -> tuple[NDArray[Any], bool]:
        """Validate, train, and only then set the fitted attributes; give y as an array."""
        self._validate_params()
        self._refuse_booleans()
        device = resolve_device(self.device)
        data = open_data(X, self)
        contents = data.read(X)
        labels, one_vs_all = read_target(y, type(self).__name__)
        check_consistent_length(X, labels)
        strategy = check_sampling_strategy(self.sampling_strategy, labels, self._sampling_type)
        codec = data.codec.fit(contents)
        worker = self._resolved(data)
        self._check_size(sum(strategy.values()), data)

        classes, codes = np.unique(labels, return_inverse=True)
        members = [np.flatnonzero(codes == code) for code in range(len(classes))]
        majority = int(np.argmax([len(rows) for rows in members]))
        root = seed_sequence(self.random_state)
        trained = Trained({}, [])
        targets = [code for code, label in enumerate(classes) if strategy.get(label, 0) > 0]
        job = Job(
            rows=torch.from_numpy(codec.encode(contents)) if targets else torch.empty(0),
            members=members,
            names=[str(label) for label in classes],
            majority=majority,
            targets=targets,
            shape=data.shape,
            spans=codec.spans,
            device=device,
            seeds=root,
            callback=None,
        )
        if self.checkpoint is not None and targets:
            from mgvae.samplers._checkpoint import open_checkpoint

            checkpoint = open_checkpoint(worker, job, strategy)
            job, root = replace(job, checkpoint=checkpoint), checkpoint.seeds
        for_training, for_resampling, for_later = root.spawn(3)
        if targets and codec.width == 0:
            trained = Trained({code: Unvaried(members[majority]) for code in targets}, [])
        elif targets:
            with (
                enough_memory("training", SMALLER),
                threads(self.n_threads),
                progress_bars(bool(self.verbose), self.callback) as bars,
            ):
                trained = worker._train(replace(job, seeds=for_training, callback=bars))
        data.validate(self, X, reset=True)
        self._data = data
        self.sampling_strategy_ = strategy
        self.classes_ = classes
        self.majority_ = classes[majority]
        self._counts = [len(rows) for rows in members]
        self.codec_ = codec
        self.history_ = {history.stage: history for history in trained.history}
        for name, value in trained.attributes.items():
            setattr(self, name, value)
        self._generators = dict(trained.generators)
        self._root, self._laters, self._n_later = for_resampling, for_later, 0
        self._template = data.only(X[:0], self._decode([], for_later))
        return labels, one_vs_all

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the sampler as it was, fitted or not, if the block fails."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _refuse_booleans(self) -> None:
        """Raise where a number is wanted: to Python True is one, to torch it is not."""
        for name, value in self.get_params(deep=False).items():
            wanted = self._parameter_constraints.get(name, ())
            if isinstance(value, bool | np.bool_) and any(isinstance(w, Interval) for w in wanted):
                raise ParameterError(f"{name} must be a number; got {value!r}.")

    def _resolved(self, data: Data) -> Self:
        """Give a copy whose every ``"auto"`` is replaced by the data's default."""
        worker = copy.copy(self)
        for name, value in self._defaults[data.family].items():
            if isinstance(getattr(self, name), str) and getattr(self, name) == "auto":
                setattr(worker, name, value)
        return worker

    def _make(self, generator: Generator, n: int, seeds: np.random.SeedSequence) -> list["_Packed"]:
        """Make ``n`` encoded rows with their sources, in parts."""
        sizes = self._data.parts(n)
        branches = seeds.spawn(len(sizes)) if len(sizes) > 1 else [seeds]
        made = []
        with threads(self.n_threads):
            for size, branch in zip(sizes, branches, strict=False):
                encoded, sources, anchors = generator.generate(size, branch)
                if anchors is None:
                    anchors = np.full(size, -1)
                made.append(_Packed(self._data.pack(encoded.numpy()), sources, anchors))
        return made

    def _decode(
        self, parts: Sequence[NDArray[Any]], seeds: np.random.SeedSequence, first: int = 0
    ) -> Any:
        rng = np.random.default_rng(seeds.spawn(1)[0])
        none = np.empty((0, self.codec_.width), np.float32)
        return self._data.decode(np.concatenate(parts) if parts else none, rng, first)

    def _later(self, random_state: Any, n: int) -> tuple[np.random.SeedSequence, int]:
        """Give the seeds of ``n`` more rows, and how many were made before (for identifiers)."""
        resampled = sum(self.sampling_strategy_.values())
        if random_state is not None:
            return seed_sequence(random_state), resampled
        first = resampled + self._n_later
        self._n_later += n
        return self._laters.spawn(1)[0], first

    def _code(self, label: Any) -> int:
        return int(np.flatnonzero(self.classes_ == label)[0])

    def _generator(self, label: Any) -> Generator:
        trained = [self.classes_[code] for code in self._generators]
        for known in trained:
            if known == label:
                return self._generators[self._code(label)]
        raise ParameterError(
            f"label={label!r} is not a class that this sampler generates; it generates "
            f"{[str(known) for known in trained]}. A class is learned when sampling_strategy asks "
            "for new rows of it."
        )

    def _check_size(self, n: int, data: Data) -> None:
        needed = n * data.bytes_per_row
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if needed > memory:
            raise DataError(
                f"{n} synthetic rows need about {needed / 2**30:.0f} GiB, more than the "
                f"{memory / 2**30:.0f} GiB of this machine. Ask for fewer in sampling_strategy, or "
                "call generate() several times for parts."
            )

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn and imbalanced-learn what goes in."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.non_deterministic = self.random_state is None
        return tags
