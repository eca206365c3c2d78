"""What every generative over-sampler shares: from a user's X and y to rows of numbers, and back.

A subclass writes one hook, :meth:`GenerativeSampler._train`, which sees only encoded rows and gives
one generator of rows per class. Everything a user meets lives here: containers, labels, columns,
``sampling_strategy``, seeds, threads, provenance and progress.
"""

import copy
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
from imblearn.over_sampling.base import BaseOverSampler
from numpy.typing import NDArray
from sklearn.preprocessing import label_binarize
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from mgvae.codec import KindName, NumericScale, append_labels
from mgvae.codec.images import Channels
from mgvae.common.progress import progress_bars
from mgvae.common.runtime import enough_memory, resolve_device, seed_sequence, threads
from mgvae.errors import ParameterError
from mgvae.methods.job import Generator, Job, Trained, Unvaried
from mgvae.samplers._data import Data, open_data
from mgvae.samplers._making import Order, Part, check_size, make_rows
from mgvae.samplers._partition import read_partition
from mgvae.samplers._presets import Defaults
from mgvae.samplers._seen import Seen, rows_to_make
from mgvae.samplers._settings import refuse_booleans
from mgvae.samplers._storable import Storable
from mgvae.samplers._target import read_target
from mgvae.training import Callback

if TYPE_CHECKING:
    from mgvae.training.team import Team

__all__ = ["SMALLER", "Auto", "GenerativeSampler"]

Auto = Any  # the word "auto", which is replaced by the data's default before it is used

SMALLER = (
    "Lower batch_size, n_exemplars or the size of the networks (hidden_sizes, network_width), or "
    "train fewer classes at once (n_jobs)."
)
_FEWER_ROWS = "Ask for fewer in sampling_strategy, or call generate() several times for parts."


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
        parts = list(self._resampled())
        own = np.arange(len(labels))
        self.source_indices_ = np.concatenate([own, *(part.sources for part in parts)])
        self.anchor_indices_ = np.concatenate([own, *(part.anchors for part in parts)])
        codes = [np.full(len(part.sources), part.code) for part in parts]
        new = self.classes_[np.concatenate([np.empty(0, np.int64), *codes])]
        with enough_memory(f"keeping {len(new)} new rows", _FEWER_ROWS):
            rows = self._joined(parts)
            if one_vs_all:
                new = label_binarize(new, classes=self.classes_)
            X_resampled = self._data.append(X, rows)
            return X_resampled, append_labels(y, new, X_resampled)

    def _resampled(self) -> Iterator[Part]:
        """Make the rows that ``sampling_strategy`` asks for; to be called once after a fit."""
        seeds = self._root.spawn(len(self.classes_))
        codes = {self._code(label): n for label, n in self.sampling_strategy_.items() if n}
        orders = [self._order(code, n, seeds[code]) for code, n in codes.items()]
        return make_rows(self._data, orders, seeds[0], n_threads=self.n_threads)

    def _order(self, code: int, n: int, seeds: np.random.SeedSequence) -> Order:
        return Order(code, str(self.classes_[code]), n, self._generators[code], seeds)

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Meet imbalanced-learn's contract, whose own ``fit_resample`` is replaced as a whole."""
        return self.fit_resample(X, y)

    def generate(
        self,
        n: int,
        label: Any,
        random_state: Any = None,
        *,
        partition: tuple[int, int] | None = None,
    ) -> Any:
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
        partition : tuple of int, optional
            ``(i, k)`` makes only part i of k, counted from 0: parts may be made anywhere, in any
            order, and together are ``n`` rows that the number ``random_state`` and k decide.

        Returns
        -------
        X_new : same container as X
            The new rows.
        """
        check_is_fitted(self, "classes_")
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise ParameterError(f"n must be a whole number of at least 0; got {n!r}.")
        code = self._trained_code(label)
        if partition is None:
            seeds, first = self._later(random_state, int(n))
        else:
            n, before, seeds = read_partition(int(n), partition, random_state)
            first = sum(self.sampling_strategy_.values()) + before
        check_size(int(n), self._data)
        orders = [self._order(code, int(n), seeds)]
        parts = list(make_rows(self._data, orders, seeds, first=first, n_threads=self.n_threads))
        with enough_memory(f"keeping {n} new rows", _FEWER_ROWS):
            return self._data.only(self._template, self._joined(parts))

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
        generator = self._generators[self._trained_code(label)]
        contents = self._data.read(X_majority)
        self._data.validate(self, X_majority, reset=False)
        rows = torch.from_numpy(self.codec_.encode(contents))
        seeds, first = self._later(random_state, len(rows))
        with threads(self.n_threads):
            encoded = generator.translate(rows, seeds)
        return self._data.only(X_majority, self._decode(encoded.numpy(), seeds, first))

    def _fit(self, X: Any, y: Any) -> tuple[NDArray[Any], bool]:
        """Look at data in memory and learn from them; give y as an array."""
        self._checked()
        data = open_data(X, self)
        contents = data.read(X)
        labels, one_vs_all = read_target(y, type(self).__name__)
        check_consistent_length(X, labels)
        classes, codes = np.unique(labels, return_inverse=True)
        new_rows = rows_to_make(self.sampling_strategy, classes, codes)
        data.codec.fit(contents)
        check_size(sum(new_rows.values()), data)
        seen = Seen(data, X[:0], classes, codes, new_rows)
        self._learn(seen, lambda: torch.from_numpy(data.codec.encode(contents)))
        data.validate(self, X, reset=True)
        return labels, one_vs_all

    def _checked(self) -> None:
        """Raise if a parameter is wrong."""
        self._validate_params()
        refuse_booleans(self)
        resolve_device(self.device)

    def _learn(self, seen: Seen, encode: Callable[[], Tensor]) -> None:
        """Train on encoded rows, and only then set the fitted attributes.

        ``encode`` is called if there is something to learn: a table may be balanced already.
        """
        data, classes = seen.data, seen.classes
        codec = data.codec
        worker = self._resolved(data)
        members = [np.flatnonzero(seen.codes == code) for code in range(len(classes))]
        majority = int(np.argmax([len(rows) for rows in members]))
        root = self._seeds()
        trained = Trained({}, [])
        targets = [code for code, label in enumerate(classes) if seen.new_rows.get(label, 0) > 0]
        job = Job(
            rows=encode() if targets else torch.empty(0),
            members=members,
            names=[str(label) for label in classes],
            majority=majority,
            targets=targets,
            shape=data.shape,
            spans=codec.spans,
            device=resolve_device(self.device),
            seeds=root,
            callback=None,
        )
        if self.checkpoint is not None and targets:
            from mgvae.samplers._checkpoint import open_checkpoint

            checkpoint = open_checkpoint(worker, job, seen.new_rows)
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
        self._data = data
        self.sampling_strategy_ = seen.new_rows
        self.classes_ = classes
        self.majority_ = classes[majority]
        self._counts = [len(rows) for rows in members]
        self.codec_ = codec
        self.history_ = {history.stage: history for history in trained.history}
        for name, value in trained.attributes.items():
            setattr(self, name, value)
        self._generators = dict(trained.generators)
        self._root, self._laters, self._n_later = for_resampling, for_later, 0
        none = np.empty((0, codec.width), np.float32)
        self._template = data.only(seen.example, self._decode(none, for_later))

    def _team(self) -> "Team | None":
        """Give the processes that were started from outside to train together, if any were."""
        return None

    def _seeds(self) -> np.random.SeedSequence:
        """Give the root of a fit's randomness; processes that train together take the first's."""
        seeds, team = seed_sequence(self.random_state), self._team()
        return seeds if team is None else team.from_first(seeds)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the sampler as it was, fitted or not, if the block fails."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _resolved(self, data: Data) -> Self:
        """Give a copy whose every ``"auto"`` is replaced by the data's default."""
        worker = copy.copy(self)
        for name, value in self._defaults[data.family].items():
            if isinstance(getattr(self, name), str) and getattr(self, name) == "auto":
                setattr(worker, name, value)
        return worker

    def _joined(self, parts: Sequence[Part]) -> Any:
        none = self._decode(np.empty((0, self.codec_.width), np.float32), np.random.SeedSequence(0))
        return self._data.join([part.rows for part in parts] or [none])

    def _decode(self, encoded: NDArray[Any], seeds: np.random.SeedSequence, first: int = 0) -> Any:
        return self._data.decode(encoded, np.random.default_rng(seeds.spawn(1)[0]), first)

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

    def _trained_code(self, label: Any) -> int:
        trained = [self.classes_[code] for code in self._generators]
        for known in trained:
            if known == label:
                return self._code(label)
        raise ParameterError(
            f"label={label!r} is not a class that this sampler generates; it generates "
            f"{[str(known) for known in trained]}. A class is learned when sampling_strategy asks "
            "for new rows of it."
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
