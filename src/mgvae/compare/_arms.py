"""What a method of a comparison does with the training rows of a split.

All arms of a split share one fitted MGVAE, and those that add nothing share one fitted classifier:
whoever asks first fits it, and the process keeps it until it comes to another split. The time that
it took counts for all of them. :func:`shared_by` says which arms these are.
"""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from imblearn.ensemble import (
    BalancedBaggingClassifier,
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
)
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from mgvae.classifiers.balanced import BalancedClassifier, correct_priors
from mgvae.classifiers.decisions import decide
from mgvae.errors import DataError, MGVAEError
from mgvae.experiments.estimators import make_classifier, make_oversampler
from mgvae.experiments.judging import best_threshold
from mgvae.experiments.tables import (
    IndicatorEncoder,
    NumericEncoder,
    smallest_class,
    stratified_folds,
)
from mgvae.samplers import MGVAE

__all__ = ["NotApplicableError", "Predict", "Training", "shared_by", "train_arm"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Predict = Callable[[], tuple[Codes, Floats]]
Resampler = Callable[[Floats, Codes], tuple[Floats, Codes]]

_INNER = 3  # folds in which a threshold is tuned
_MEMBERS = 10
_TREES = 20  # of a member that is a forest, so that ten are no larger than two
_MANY_TREES = 50  # of which every row is left out by some: a row is in all draws once in 10^10


class NotApplicableError(MGVAEError, RuntimeError):
    """A method has no meaning for a classifier."""


@dataclass(frozen=True)
class Training:
    """The rows of a split, and what decides all randomness.

    Attributes
    ----------
    X, X_test : array or table
        The rows as the user gave them.
    Z, Z_test : ndarray
        The same as numbers.
    y : ndarray of int
        The classes of the training rows.
    groups : ndarray of int or None
        Their groups.
    encoder : NumericEncoder
        What makes numbers of rows.
    model : str
        The classifier's name.
    seeds : tuple of int
        For the classifier, the sampler, and the tuning of a threshold.
    split : tuple
        What the split is called.
    lent : list of float
        Seconds that other arms have spent on what this one was given.
    """

    X: Any
    X_test: Any
    Z: Floats
    Z_test: Floats
    y: Codes
    groups: Codes | None
    encoder: NumericEncoder
    model: str
    seeds: tuple[int, int, int]
    split: tuple[Any, ...]
    lent: list[float] = field(default_factory=list)

    def estimator(self, *, member: bool = False, weighted: bool = False) -> Any:
        """Return the classifier, not trained, for rows that are numbers."""
        model = make_classifier(self.model, self.seeds[0])
        if member and isinstance(model, RandomForestClassifier):
            model.set_params(n_estimators=_TREES)
        chosen = _Weighted(model) if weighted else model
        return make_pipeline(IndicatorEncoder(self.encoder.categorical_), chosen)

    def sampler(self) -> MGVAE:
        """Return the MGVAE of this split, fitted once in this process."""
        made = MGVAE(column_types=self.encoder.column_types, random_state=self.seeds[1])
        fitted: MGVAE = self._once("MGVAE", lambda: made.fit(self.X, self.y))
        return fitted

    def untreated(self) -> Any:
        """Return the classifier trained on the rows as they are, once in this process."""
        model = self.estimator()
        if _bootstraps(model[-1]):
            model[-1].set_params(oob_score=True)  # by which a threshold is tuned
        return self._once(self.model, lambda: model.fit(self.Z, self.y))

    def _once(self, name: str, fit: Callable[[], Any]) -> Any:
        if any(split != self.split for split, _ in _FITTED):
            _FITTED.clear()
        if (self.split, name) in _FITTED:
            fitted, seconds = _FITTED[self.split, name]
            self.lent.append(seconds)
            return fitted
        started = time.perf_counter()
        fitted = fit()
        _FITTED[self.split, name] = fitted, time.perf_counter() - started
        return fitted


_FITTED: dict[tuple[tuple[Any, ...], str], tuple[Any, float]] = {}  # with the seconds that it took


def shared_by(method: str, model: str) -> Hashable:
    """Name what an arm shares with other arms of its split; None if nothing.

    Examples
    --------
    >>> shared_by("MGVAE", "knn") == shared_by("BalancedClassifier", "logistic")
    True
    >>> shared_by("nothing", "knn") == shared_by("tuned threshold", "logistic")
    False
    """
    if method in ("MGVAE", "BalancedClassifier"):
        return "MGVAE"
    return model if method in ("nothing", "tuned threshold") else None


def train_arm(method: str, training: Training, guard: Callable[[Floats], None]) -> Predict:
    """Train a method, and return what predicts classes and probabilities of the test rows.

    Parameters
    ----------
    method : str
        One of :data:`mgvae.compare._methods.KNOWN`, or ``package.module:Class`` of a sampler.
    training : Training
        The split.
    guard : callable
        Called with the rows that a sampler gave.
    """
    rows, seed = training, training.seeds[0]
    if method == "tuned threshold":
        return _tuned(rows)
    if method == "nothing":
        return _on_numbers(rows.untreated(), rows)
    if method == "class weights":
        return _on_numbers(rows.estimator(weighted=True).fit(rows.Z, rows.y), rows)
    bagged: dict[str, Any] = {"n_draws": _MEMBERS, "random_state": seed}
    if method in ("nothing, bagged", "class weights, bagged"):
        weighted = method != "nothing, bagged"
        model = BalancedClassifier(
            rows.estimator(member=True, weighted=weighted),
            make_oversampler("ROS", seed, rows.y, rows.encoder.categorical_),
            share=0.0,
            calibration=None,
            decide="balanced" if weighted else "probable",
            **bagged,
        )
        return _on_numbers(model.fit(rows.Z, rows.y, groups=rows.groups), rows)
    if method == "SMOTE, bagged":
        smote = make_oversampler("SMOTE", seed, rows.y, rows.encoder.categorical_)
        model = BalancedClassifier(
            rows.estimator(member=True), smote, share=1.0, calibration=None, **bagged
        )
        return _on_numbers(model.fit(rows.Z, rows.y, groups=rows.groups), rows)
    if method in ("MGVAE", "BalancedClassifier"):
        once = {"n_draws": 1, "share": 1.0, "bootstrap": False, "random_state": seed}
        chain = make_pipeline(
            FrozenEstimator(rows.encoder),
            *(clone(s) for _, s in rows.estimator(member=method != "MGVAE").steps),
        )
        _telling(chain)
        model = BalancedClassifier(
            chain, FrozenEstimator(rows.sampler()), **(once if method == "MGVAE" else bagged)
        ).fit(rows.X, rows.y, groups=None if method == "MGVAE" else rows.groups)
        return lambda: _both(model, rows.X_test)
    if method in ("BalancedBagging", "EasyEnsemble", "BalancedRandomForest"):
        ensemble = _ensemble(method, rows.estimator(member=True), seed).fit(rows.Z, rows.y)
        return _on_numbers(_Corrected(ensemble, rows.y), rows)
    sampler = make_oversampler(method, rows.seeds[1], rows.y, rows.encoder.categorical_)
    resample = _guarded(sampler, rows, guard)
    model = BalancedClassifier(
        rows.estimator(), _Resample(resample),
        n_draws=1, share=None, bootstrap=False, random_state=seed,
    )  # fmt: skip
    return _on_numbers(model.fit(rows.Z, rows.y), rows)


def _ensemble(name: str, estimator: Any, seed: int) -> Any:
    if name == "BalancedBagging":
        return BalancedBaggingClassifier(estimator, n_estimators=_MEMBERS, random_state=seed)
    if name == "EasyEnsemble":
        return EasyEnsembleClassifier(n_estimators=_MEMBERS, random_state=seed)
    return BalancedRandomForestClassifier(
        random_state=seed, sampling_strategy="all", replacement=True, bootstrap=False
    )


class _Corrected:
    """A classifier trained on balanced rows, its probabilities at the true shares."""

    def __init__(self, fitted: Any, y: Codes) -> None:
        self.fitted = fitted
        self.shares = np.bincount(y) / len(y)
        self.even = np.full(len(self.shares), 1 / len(self.shares))

    def predict(self, Z: Floats) -> Codes:
        found: Codes = self.fitted.predict(Z)
        return found

    def predict_proba(self, Z: Floats) -> Floats:
        return correct_priors(self.fitted.predict_proba(Z), self.shares, self.even)


class _Weighted(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose classes count alike in training, its probabilities at their shares."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Floats, y: Codes) -> Self:
        model = clone(self.model)
        if "class_weight" in model.get_params():
            fitted = model.set_params(class_weight="balanced").fit(X, y)
        elif has_fit_parameter(model, "sample_weight"):
            fitted = model.fit(X, y, sample_weight=compute_sample_weight("balanced", y))
        else:
            raise NotApplicableError(f"{type(model).__name__} takes no weights.")
        _telling(fitted)
        self.classes_ = fitted.classes_
        self.corrected_ = _Corrected(fitted, y)
        return self

    def predict(self, X: Floats) -> Codes:
        return self.corrected_.predict(X)

    def predict_proba(self, X: Floats) -> Floats:
        return self.corrected_.predict_proba(X)


class _Resample(BaseEstimator):  # type: ignore[misc]
    """A sampler that does what a function does."""

    def __init__(self, how: Resampler) -> None:
        self.how = how

    def fit_resample(self, X: Floats, y: Codes) -> tuple[Floats, Codes]:
        return self.how(X, y)


def _guarded(sampler: Any, rows: Training, guard: Callable[[Floats], None]) -> Resampler:
    """Let a sampler resample, and look at what it gives.

    A sampler that knows kinds of columns sees the table itself, another one its numbers.
    """

    def resample(Z: Floats, y: Codes) -> tuple[Floats, Codes]:
        if "column_types" in sampler.get_params():
            sampler.set_params(column_types=rows.encoder.column_types)
            X_new, y_new = sampler.fit_resample(rows.X, y)
            Z_new = rows.encoder.transform(X_new)
        else:
            Z_new, y_new = sampler.fit_resample(Z, y)
        guard(Z_new)
        return np.asarray(Z_new, np.float64), np.asarray(y_new)

    return resample


def _telling(fitted: Any) -> None:
    if not hasattr(fitted, "predict_proba"):
        raise NotApplicableError("the classifier gives no probabilities (predict_proba).")


def _on_numbers(fitted: Any, rows: Training) -> Predict:
    _telling(fitted)
    return lambda: _both(fitted, rows.Z_test)


def _both(fitted: Any, X: Any) -> tuple[Codes, Floats]:
    """Return classes and probabilities; an ensemble of ours is asked once for both."""
    said: Floats = fitted.predict_proba(X)
    if isinstance(fitted, BalancedClassifier):
        return fitted.classes_[decide(said, fitted.decision_matrix_)], said
    return fitted.predict(X), said


def _tuned(rows: Training) -> Predict:
    """Train as always, and choose the threshold on predictions of models that do not know a row.

    Of several classes, each probability is divided by the share of its class instead.
    """
    y = rows.y
    fitted = rows.untreated()
    _telling(fitted)
    said = fitted.predict_proba(rows.Z_test)
    if int(y.max()) > 1:
        shares = np.bincount(y) / len(y)
        return lambda: ((said / shares).argmax(1), said)
    rare = smallest_class(y)
    score = _unseen(rows, fitted)[:, rare]
    threshold = best_threshold((y == rare).astype(np.int64), score)
    return lambda: (np.where(said[:, rare] >= threshold, rare, 1 - rare), said)


def _bootstraps(model: Any) -> bool:
    """Tell whether a model is a forest in which trees are left over to judge every row."""
    return (
        isinstance(model, RandomForestClassifier)
        and bool(model.bootstrap)
        and model.n_estimators >= _MANY_TREES
    )


def _unseen(rows: Training, fitted: Any) -> Floats:
    """Predict every training row by models that do not know it.

    A forest tells what the trees say that have not drawn the row; that is no use where rows of
    one group are alike. Others are trained anew, by cross-validation.
    """
    Z, y, groups = rows.Z, rows.y, rows.groups
    folds = min(_INNER, int(np.bincount(y).min()))
    if folds < 2:
        raise DataError("a threshold can be tuned only with two training rows of every class.")
    if groups is None and _bootstraps(fitted[-1]):
        out_of_bag: Floats = fitted[-1].oob_decision_function_
        return out_of_bag
    said = np.empty((len(y), int(y.max()) + 1))
    for train, test in stratified_folds(folds, groups, rows.seeds[2]).split(Z, y, groups):
        if len(np.unique(y[train])) < 2:
            raise DataError("there are too few groups with the rare class to tune a threshold.")
        said[test] = rows.estimator().fit(Z[train], y[train]).predict_proba(Z[test])
    return said
