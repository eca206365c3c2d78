"""What every generative over-sampler shares: the face that a user meets.

A subclass names its parameters and makes a method of them (:meth:`GenerativeSampler.make_method`),
which sees encoded rows only. The way of the data is in :mod:`mgvae.samplers._way`.
"""

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Literal, NamedTuple, NoReturn, Self

import numpy as np
import torch
from imblearn.over_sampling.base import BaseOverSampler
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mgvae.codec import KindName
from mgvae.codec.samples import CodecOptions, Samples, SampleShape
from mgvae.common.runtime import enough_memory, resolve_device, seed_sequence, threads
from mgvae.common.shown import refuse_long, shown
from mgvae.errors import ParameterError
from mgvae.methods.method import Method, Workers
from mgvae.samplers._checkpoint import CheckpointPlace, read_place
from mgvae.samplers._constraints import Constraints, keep_constraints
from mgvae.samplers._in_memory import InMemory
from mgvae.samplers._making import FEWER_ROWS, Order, Part, check_size, make_parts
from mgvae.samplers._partition import read_partition
from mgvae.samplers._saving import Saving
from mgvae.samplers._showing import Showing
from mgvae.samplers._way import learn, look, make
from mgvae.storage import FittedState
from mgvae.training import Callback, History

__all__ = ["Auto", "Draw", "GenerativeSampler", "refuse_network"]

Auto = Any  # the word "auto", which is replaced by the data's default before it is used


class Draw(NamedTuple):
    """New rows of one class, and where they come from.

    Attributes
    ----------
    rows : same container as X
        The new rows.
    source_indices, anchor_indices : ndarray of int
        Position among the training rows of the majority row and of the row of the class itself
        that each was made from, or -1.
    """

    rows: Any
    source_indices: NDArray[np.int64]
    anchor_indices: NDArray[np.int64]


class GenerativeSampler(Saving, Showing, BaseOverSampler):  # type: ignore[misc]
    """Base of the over-samplers that train a generative model.

    See :class:`mgvae.MGVAE` for the parameters that all of them share.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **BaseOverSampler._parameter_constraints,
        "random_state": ["random_state", np.random.Generator],
        "column_types": [Mapping, None],
        "sample_shape": ["array-like", StrOptions({"channels_first", "channels_last"}), None],
        "identifiers": [StrOptions({"new", "missing"})],
        "constraints": [list, tuple, StrOptions({"auto"}), None],
        "device": [str, torch.device],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "checkpoint": [str, os.PathLike, tuple, None],
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    random_state: Any
    column_types: Mapping[Any, KindName] | None
    sample_shape: SampleShape | None
    identifiers: Literal["new", "missing"]
    constraints: Constraints
    network: Any
    device: str | torch.device
    n_threads: int | None
    checkpoint: CheckpointPlace | None
    callback: Callback | None
    verbose: int | bool

    @abstractmethod
    def make_method(self, samples: Samples) -> Method:
        """Return what learns such samples, with every ``"auto"`` replaced."""

    @abstractmethod
    def method_of(self, settings: Mapping[str, Any]) -> Method:
        """Return what learns with given settings, which are complete."""

    @abstractmethod
    def codec_options(self) -> CodecOptions:
        """Return how samples are encoded."""

    def workers(self) -> Workers:
        """Return who computes."""
        return Workers(n_threads=self.n_threads)

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
        with self.all_or_nothing():
            self._learn(InMemory(X, y, type(self).__name__))
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
        with self.all_or_nothing():
            given = InMemory(X, y, type(self).__name__)
            seeds = self._learn(given)
            parts = list(make(self.state_, seeds, self.n_threads))
            return self._give_back(given, parts)

    def _learn(self, given: InMemory) -> np.random.SeedSequence:
        """Look at rows in memory and learn from them."""
        seen = look(self, given)
        check_size(seen.n_new, seen.samples)
        return learn(self, given, seen)

    def _give_back(self, given: InMemory, parts: Sequence[Part]) -> tuple[Any, Any]:
        """Put new rows under the user's own, and note where each comes from."""
        own = np.arange(given.n_rows)
        self.source_indices_ = np.concatenate([own, *(part.sources for part in parts)])
        self.anchor_indices_ = np.concatenate([own, *(part.anchors for part in parts)])
        if not parts:
            parts = [self._no_rows()]
        codes = np.concatenate([np.full(len(part.sources), part.code) for part in parts])
        samples = self.state_.samples
        with enough_memory(f"keeping {len(codes)} new rows", FEWER_ROWS):
            new = samples.concatenate([part.rows for part in parts])
            return given.append(samples, new, self.classes_, codes)

    def _fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Meet imbalanced-learn's contract, whose own ``fit_resample`` is replaced as a whole."""
        return self.fit_resample(X, y)

    def generate(
        self,
        n: int,
        label: Any = None,
        random_state: Any = None,
        *,
        partition: tuple[int, int] | None = None,
    ) -> Any:
        """Make new rows of one class.

        Parameters
        ----------
        n : int
            How many.
        label : object, optional
            The class, as it is written in ``y``; a sampler of one class needs no such word.
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
        n = _read_number(n)
        if partition is None:
            seeds, first = self._later(random_state, n)
        else:
            n, before, seeds = read_partition(n, partition, random_state)
            first = self.state_.n_resampled + before
        return self._draw(n, label, seeds, first).rows

    def draw(
        self, n: int, label: Any, random_state: Any = None, *, among: NDArray[Any] | None = None
    ) -> "Draw":
        """Make new rows of one class that start from given training rows only, and say from which.

        Whoever trains a classifier on some of the training rows and judges it by the others must
        not show it near copies of those others. A row of ``generation="bridge"`` is near the
        minority row that it starts from; with the other ways it is made from one majority row.
        ``among`` restricts these. What the model itself has learned of the others stays.

        Parameters
        ----------
        n : int
            How many.
        label : object
            The class, as it is written in ``y``.
        random_state : None, int, RandomState or Generator
            Decides the rows; None as in :meth:`generate`.
        among : ndarray of int, optional
            Positions of the training rows, of any class, that new rows may start from; all unless
            given.

        Returns
        -------
        draw : Draw
            The new rows, and where each comes from.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_classification
        >>> from mgvae import MGVAE
        >>> X, y = make_classification(200, weights=[0.9], random_state=0)
        >>> sampler = MGVAE(random_state=0).fit(X, y)
        >>> half = np.arange(100)
        >>> drawn = sampler.draw(50, 1, random_state=0, among=half)
        >>> drawn.rows.shape, bool(np.isin(drawn.anchor_indices, half).all())
        ((50, 20), True)
        """
        check_is_fitted(self, "classes_")
        seeds, first = self._later(random_state, _read_number(n))
        return self._draw(int(n), label, seeds, first, among)

    def _draw(
        self,
        n: int,
        label: Any,
        seeds: np.random.SeedSequence,
        first: int,
        among: NDArray[Any] | None = None,
    ) -> "Draw":
        code, state = self._trained_code(label), self.state_
        check_size(n, state.samples)
        generator = state.generators[code]
        if among is not None:
            generator = generator.within(np.asarray(among))
        order = Order(code, str(self.classes_[code]), n, generator, seeds)
        made = make_parts(state, [order], seeds, first=first, n_threads=self.n_threads)
        parts = list(made) or [self._no_rows()]
        with enough_memory(f"keeping {n} new rows", FEWER_ROWS):
            new = state.samples.concatenate([part.rows for part in parts])
            return Draw(
                state.samples.only(state.template, new),
                np.concatenate([part.sources for part in parts]),
                np.concatenate([part.anchors for part in parts]),
            )

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
        state = self.state_
        generator = state.generators[self._trained_code(label)]
        contents = state.samples.read(X_majority)
        state.samples.validate(self, X_majority, reset=False)
        rows = torch.from_numpy(self.codec_.encode(contents))
        seeds, first = self._later(random_state, len(rows))
        with threads(self.n_threads):
            encoded = generator.translate(rows, seeds)
        new = state.decode(encoded.numpy(), seeds, first)

        def again(where: NDArray[np.intp]) -> Any:
            with threads(self.n_threads):
                encoded = generator.translate(rows[torch.from_numpy(where)], seeds.spawn(1)[0])
            return state.decode(encoded.numpy(), seeds, first)

        return state.samples.only(X_majority, keep_constraints(state, new, again, str(label)))

    def check_parameters(self) -> None:
        """Raise if a parameter is wrong."""
        for name, value in self.get_params(deep=False).items():
            inside = [*value, *value.values()] if isinstance(value, Mapping) else [value]
            refuse_long(inside, ParameterError, f"{name} is or holds", "Give a smaller number.")
        self._validate_params()
        for name, value in self.get_params(deep=False).items():
            rules = self._parameter_constraints.get(name, ())
            wants_number = any(isinstance(rule, Interval) for rule in rules)
            if isinstance(value, bool | np.bool_) and wants_number and "boolean" not in rules:
                raise ParameterError(f"{name} must be a number; got {value!r}.")
        if self.checkpoint is not None:
            read_place(self.checkpoint)
        resolve_device(self.device)

    def set_state(self, state: FittedState, history: dict[str, History]) -> None:
        """Become fitted."""
        self.state_ = state
        self.classes_ = state.classes
        self.majority_ = state.classes[state.layout.majority]
        self.sampling_strategy_ = state.new_rows
        self.codec_ = state.samples.codec
        self.history_ = history

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Leave the sampler as it was, fitted or not, if the block fails."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _no_rows(self) -> Part:
        none, nowhere = np.empty((0, self.codec_.width), np.float32), np.empty(0, np.int64)
        rows = self.state_.decode(none, np.random.SeedSequence(0))
        return Part(0, rows, nowhere, nowhere)

    def _later(self, random_state: Any, n: int) -> tuple[np.random.SeedSequence, int]:
        """Return the seeds of ``n`` more rows, and how many were made before (for identifiers)."""
        state = self.state_
        if random_state is not None:
            return seed_sequence(random_state), state.n_resampled
        first = state.n_resampled + state.n_later
        state.n_later += n
        return state.later.spawn(1)[0], first

    def _trained_code(self, label: Any) -> int:
        trained = [self.classes_[code] for code in self.state_.generators]
        several = isinstance(label, Iterable) and not isinstance(label, str | bytes)
        if several and getattr(label, "ndim", 1) > 0:
            raise ParameterError(
                f"label must be one class; got {shown(label)} of type {type(label).__name__}. Give "
                "the class itself, and ask once for each class."
            )
        if label is None and len(trained) == 1:
            return next(iter(self.state_.generators))
        for code, known in zip(self.state_.generators, trained, strict=True):
            if _equal(known, label):
                return code
        raise ParameterError(
            f"label={shown(label)} is not a class that this sampler generates; it generates "
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


def _equal(known: Any, label: Any) -> bool:
    try:
        return bool(known == label)
    except (TypeError, ValueError, OverflowError):  # arrays, pandas.NA, numbers of any size
        return False


def _read_number(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise ParameterError(f"n must be a whole number of at least 0; got {shown(n)}.")
    refuse_long([n], ParameterError, "n is", "Ask for fewer rows.")
    return int(n)


def refuse_network(network: str) -> NoReturn:
    """Raise because rows of a table cannot be learned by convolutions."""
    raise ParameterError(
        f"network={network!r} is for images. For images with one row each set "
        'sample_shape=(H, W, C); for tables use network="mlp".'
    )
