"""Members that the arms of a fold have in common, each trained once.

An arm of the protocol ``draws`` is an ensemble as :class:`mgvae.BalancedClassifier` trains it. Its
members are told apart by where new rows come from, the share, the bag and the classifier; arms that
agree in all four have the same member. Its rows are drawn and encoded once for all classifiers.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import has_fit_parameter

from mgvae.classifiers.bags import Positions, out_of_bag
from mgvae.classifiers.combining import Combination, combine
from mgvae.classifiers.draws import Draws, OneFit, Refit, seed_randomness
from mgvae.classifiers.members import ClassifiedRows, choose_rows, member_seeds
from mgvae.classifiers.priors import class_shares, correct_priors
from mgvae.classifiers.shares import AUTO, OutOfBag, Place, places
from mgvae.codec import take_rows
from mgvae.common.runtime import seed_sequence
from mgvae.experiments.estimators import make_classifier, make_oversampler
from mgvae.experiments.tables import IndicatorEncoder, NumericEncoder
from mgvae.samplers import GenerativeSampler
from mgvae_paper.controls import BorrowedDifference
from mgvae_paper.folds import in_epochs

__all__ = ["EnsembleArm", "Fold", "ProtocolClassifier", "SharedMembers"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """What all arms of a fold share: rows as a table and as numbers, and one fitted sampler."""

    X: Any
    Z: Floats
    y: Codes
    Z_test: Floats
    y_test: Codes
    groups: Codes | None
    encoder: NumericEncoder
    sampler: GenerativeSampler
    seed: int


@dataclass(frozen=True)
class EnsembleArm:
    """An ensemble, by the parameters of BalancedClassifier.

    Attributes
    ----------
    sampler : {"MGVAE", "no VAE", "SMOTE"} or None
        Where new rows come from.
    n_draws, share, bootstrap
        As in BalancedClassifier.
    weights : bool
        Whether the classes count alike in training.
    calibrated : bool
        Whether probabilities are calibrated.
    """

    sampler: str | None = None
    n_draws: int = 10
    share: Any = "auto"
    bootstrap: bool = True
    weights: bool = False
    calibrated: bool = False

    def places(self) -> list[Place]:
        """Return what its members are."""
        if self.share == "auto":
            return places(AUTO, self.n_draws, auto=self.bootstrap)
        return places((self.share,), self.n_draws)


class ProtocolClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with the settings of the protocol, a network's steps turned into epochs.

    With ``weighted``, the classes count alike in training, and its probabilities are carried back
    to their shares. Neighbours know no weights: to count each vote by the weight of its class, and
    to carry the outcome back to the shares, is to do nothing.
    """

    def __init__(self, model: Any, settings: Mapping[str, Any], weighted: bool = False) -> None:
        self.model = model
        self.settings = settings
        self.weighted = weighted

    def fit(self, X: Floats, y: Codes) -> Self:
        """Train on rows that are numbers."""
        self.classes_ = np.unique(y)
        self.shares_ = np.bincount(y) / len(y)
        self.model_ = clone(self.model).set_params(**in_epochs(self.settings, len(y)))
        if self.weighted and has_fit_parameter(self.model_, "sample_weight"):
            weights = compute_class_weight("balanced", classes=self.classes_, y=y)
            self.model_.fit(X, y, sample_weight=weights[y])
        else:
            self.model_.fit(X, y)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Return probabilities at the shares of the training rows."""
        said: Floats = self.model_.predict_proba(X)
        if self.weighted and has_fit_parameter(self.model_, "sample_weight"):
            return correct_priors(said, self.shares_, np.array([0.5, 0.5]))
        return said

    def predict(self, X: Floats) -> Codes:
        """Return the more probable class."""
        found: Codes = self.classes_[self.predict_proba(X).argmax(1)]
        return found


class _Source(NamedTuple):
    """Where the rows of a member come from."""

    sampler: str | None
    share: float
    bootstrap: bool
    bag: int


class _Rows(NamedTuple):
    """The rows of a member as numbers, those out of its bag, the test rows, and the seconds."""

    Z: Floats
    y: Codes
    left: Positions
    Z_left: Floats
    Z_test: Floats
    seconds: float


class _Trained(NamedTuple):
    """What a member says out of bag and of the test rows, and what it cost."""

    priors: Floats
    out: OutOfBag
    said: Floats
    seconds: float


class SharedMembers:
    """Trains the members of a fold's arms, each once.

    Parameters
    ----------
    fold : Fold
        The rows.
    most : int
        The largest number of draws of an arm.
    """

    def __init__(self, fold: Fold, most: int) -> None:
        self.fold = fold
        seeds = seed_sequence(fold.seed).spawn(2)[1]  # as BalancedClassifier has it
        self._seeds = member_seeds(seeds, most)
        self._rows: dict[_Source, _Rows] = {}
        self._trained: dict[tuple[str, bool, _Source], _Trained] = {}

    def train(
        self, arm: EnsembleArm, model: str, settings: Mapping[str, Any]
    ) -> tuple[Combination, Floats, float]:
        """Train what is not trained yet of an arm, and combine its members.

        Parameters
        ----------
        arm : EnsembleArm
            The ensemble.
        model, settings : str and mapping
            The classifier's name and parameters.

        Returns
        -------
        combined : Combination
            How its members are combined.
        said : ndarray of shape (n_test,)
            The probability of the minority, of each test row.
        seconds : float
            What the processor would have taken for this arm alone, besides the fit of the sampler.
        """
        placed = arm.places()
        members = [self._member(arm, place, model, settings) for place in placed]
        started = time.process_time()
        combined = combine(
            self._data(self.fold.Z),
            [place.share for place in placed],
            [member.priors for member in members],
            [member.out for member in members] if arm.bootstrap else None,
            "auto" if arm.calibrated else None,
        )
        said = combined([member.said for member in members])[:, 1]
        spent = time.process_time() - started + sum(member.seconds for member in members)
        return combined, said, spent

    def _member(
        self, arm: EnsembleArm, place: Place, model: str, settings: Mapping[str, Any]
    ) -> _Trained:
        share = float(place.share or 0.0)
        source = _Source(arm.sampler if share else None, share, arm.bootstrap, place.bag)
        key = model, arm.weights, source
        if key not in self._trained:
            self._trained[key] = self._fit(model, settings, arm.weights, source)
        return self._trained[key]

    def _fit(
        self, model: str, settings: Mapping[str, Any], weighted: bool, source: _Source
    ) -> _Trained:
        rows, seeds = self._rows_of(source), self._seeds[source.bag]
        started = time.process_time()
        made = make_classifier(model, self.fold.seed)
        estimator = ProtocolClassifier(made, settings, weighted)
        seed_randomness(estimator, seeds.estimator)
        estimator.fit(rows.Z, rows.y)
        out = OutOfBag(rows.left, np.empty((0, 2)))
        if len(rows.left):
            out = OutOfBag(rows.left, estimator.predict_proba(rows.Z_left))
        said = estimator.predict_proba(rows.Z_test)
        seconds = time.process_time() - started + rows.seconds
        return _Trained(class_shares(rows.y, 2), out, said, seconds)

    def _rows_of(self, source: _Source) -> _Rows:
        if source in self._rows:
            return self._rows[source]
        started = time.process_time()
        fold, seeds = self.fold, self._seeds[source.bag]
        tables = source.sampler in ("MGVAE", "no VAE")
        data = self._data(fold.X if tables else fold.Z, grouped=source.bootstrap)
        chosen, bag = choose_rows(
            data, self._draws(source.sampler), source.share, seeds, bootstrap=source.bootstrap
        )
        Z = np.asarray(chosen.X) if not tables else fold.Z[bag]
        new = np.arange(len(bag), len(chosen.y))
        if tables and len(new):
            Z = np.concatenate([Z, fold.encoder.transform(take_rows(chosen.X, new))])
        left = out_of_bag(bag, len(fold.y))
        indicators = IndicatorEncoder(fold.encoder.categorical_).fit(Z)
        made = [indicators.transform(part) for part in (Z, fold.Z[left], fold.Z_test)]
        seconds = time.process_time() - started
        self._rows[source] = _Rows(made[0], chosen.y, left, made[1], made[2], seconds)
        return self._rows[source]

    def _data(self, X: Any, *, grouped: bool = True) -> ClassifiedRows:
        y = self.fold.y
        groups = self.fold.groups if grouped else None
        if groups is not None:
            groups = np.unique(groups, return_inverse=True)[1]
        return ClassifiedRows(X, y, y, np.array([0, 1]), class_shares(y, 2), None, groups)

    def _draws(self, name: str | None) -> Draws:
        fold = self.fold
        if name == "MGVAE":
            return OneFit(fold.sampler)
        if name == "no VAE":
            return Refit(BorrowedDifference(random_state=fold.seed))
        return Refit(make_oversampler(name or "ROS", fold.seed, fold.y, fold.encoder.categorical_))
