"""What a cell of a comparison does: one method with one classifier on one split.

Only training rows are shown to encoder, sampler and classifier, and thresholds are tuned by
cross-validation among them. A sampler that gives rows of the test part, which it cannot know, is
found out.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from mgvae.classifiers.balanced import BalancedClassifier, correct_priors
from mgvae.codec import take_rows
from mgvae.compare._curves import curves
from mgvae.compare._scores import scores
from mgvae.errors import DataError, MGVAEError
from mgvae.experiments import Cell
from mgvae.experiments.estimators import make_classifier, make_oversampler
from mgvae.experiments.judging import best_threshold
from mgvae.experiments.tables import (
    IndicatorEncoder,
    LabelledTable,
    NumericEncoder,
    smallest_class,
    stratified_folds,
)

__all__ = ["CrossValidation", "LeakError", "NotApplicableError"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Predict = Callable[[Floats], tuple[Codes, Floats]]
Resampler = Callable[[Floats, Codes], tuple[Floats, Codes]]

_INNER = 3  # folds in which a threshold is tuned


class LeakError(MGVAEError, RuntimeError):
    """A sampler gave rows that it must not know."""


class NotApplicableError(MGVAEError, RuntimeError):
    """A method has no meaning for a classifier."""


@dataclass(frozen=True)
class CrossValidation:
    """The work of a comparison, to be handed to :func:`mgvae.experiments.run_cells`."""

    data: LabelledTable

    def __call__(self, cell: Cell) -> dict[str, Any]:
        """Work out one cell."""
        settings = cell.parameters
        split = settings["repeat"], settings["fold"]
        train, test = self.data.split(settings["folds"], cell.seed, *split)
        y, y_test = self.data.y[train], self.data.y[test]
        n_classes = int(self.data.y.max()) + 1
        if len(np.unique(y)) < n_classes or len(np.unique(y_test)) < n_classes:
            raise DataError(
                "a split has no row of some class on one of its sides. Lower folds, or form "
                "smaller groups."
            )
        X, X_test = take_rows(self.data.X, train), take_rows(self.data.X, test)
        groups = None if self.data.groups is None else self.data.groups[train]
        seeds = np.random.SeedSequence([cell.seed, *split]).generate_state(3)
        for_model, for_sampler, for_threshold = (int(seed) for seed in seeds)
        started = time.perf_counter()
        encoder = NumericEncoder(self.data.column_types).fit(X)
        Z, Z_test = encoder.transform(X), encoder.transform(X_test)
        model = make_classifier(settings["model"], for_model)
        estimator = make_pipeline(IndicatorEncoder(encoder.categorical_), model)
        if cell.method == "nothing":
            predict = _plain(estimator.fit(Z, y))
        elif cell.method == "tuned threshold":
            predict = _tuned(estimator, Z, y, groups, for_threshold)
        elif cell.method == "class weights":
            predict = _weighted(estimator, Z, y)
        else:
            sampler = make_oversampler(cell.method, for_sampler, y, encoder.categorical_)
            resample = _guarded(sampler, encoder, X, Z_test)
            once = BalancedClassifier(
                estimator,
                _Resample(resample),
                n_draws=1,
                share=None,
                bootstrap=False,
                random_state=for_model,
            )
            predict = _plain(once.fit(Z, y))
        seconds = time.perf_counter() - started
        predicted, probabilities = predict(Z_test)
        rare = smallest_class(self.data.y)
        return {
            "metrics": scores(y_test, predicted, probabilities, rare),
            "curves": curves(y_test == rare, probabilities[:, rare]),
            "seconds": {"fit": round(seconds, 3)},
            "rows": {
                "train": np.bincount(y, minlength=n_classes).tolist(),
                "test": np.bincount(y_test, minlength=n_classes).tolist(),
            },
        }


class _Resample(BaseEstimator):  # type: ignore[misc]
    """A sampler that does what a function does."""

    def __init__(self, how: Resampler) -> None:
        self.how = how

    def fit_resample(self, X: Floats, y: Codes) -> tuple[Floats, Codes]:
        return self.how(X, y)


def _guarded(sampler: Any, encoder: NumericEncoder, X: Any, Z_test: Floats) -> Resampler:
    """Let a sampler resample, and look whether it gives rows that it must not know.

    A sampler that knows kinds of columns sees the table itself, another one its numbers.
    """

    def resample(Z: Floats, y: Codes) -> tuple[Floats, Codes]:
        if "column_types" in sampler.get_params():
            sampler.set_params(column_types=encoder.column_types)
            X_new, y_new = sampler.fit_resample(X, y)
            Z_new = encoder.transform(X_new)
        else:
            Z_new, y_new = sampler.fit_resample(Z, y)
        _check_leak(Z_new, Z, Z_test)
        return np.asarray(Z_new, np.float64), np.asarray(y_new)

    return resample


def _check_leak(given: Floats, known: Floats, hidden: Floats) -> None:
    """Raise if rows were given that stand in the test part and not in the training part.

    Where a column is continuous that cannot be chance; in other tables it can, and nothing is said.
    """
    if not any(len(np.unique(column)) > 0.5 * len(column) for column in known.T):
        return
    seen, secret = _keys(known), _keys(hidden)
    new = [key for key in _keys_in_order(given) if key not in seen]
    leaked = sum(key in secret for key in new)
    if leaked > 1 + 0.01 * len(new):
        raise LeakError(
            f"the sampler gave {leaked} rows that stand in the test part and not in the training "
            "part: it has seen what it must not see, and its scores would mean nothing."
        )


def _keys_in_order(rows: Floats) -> list[bytes]:
    rows = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # -0 becomes 0
    return [row.tobytes() for row in rows]


def _keys(rows: Floats) -> set[bytes]:
    return set(_keys_in_order(rows))


def _plain(fitted: Any) -> Predict:
    if not hasattr(fitted, "predict_proba"):
        raise NotApplicableError("the classifier gives no probabilities (predict_proba).")
    return lambda Z: (fitted.predict(Z), fitted.predict_proba(Z))


def _tuned(estimator: Any, Z: Floats, y: Codes, groups: Codes | None, seed: int) -> Predict:
    """Train as always, and choose the threshold by cross-validation among the training rows.

    Of several classes, each probability is divided by the share of its class instead.
    """
    fitted = clone(estimator).fit(Z, y)
    _plain(fitted)
    if int(y.max()) > 1:
        shares = np.bincount(y) / len(y)
        return lambda Z: ((fitted.predict_proba(Z) / shares).argmax(1), fitted.predict_proba(Z))
    rare = smallest_class(y)
    score = np.empty(len(y))
    folds = min(_INNER, int(np.bincount(y).min()))
    if folds < 2:
        raise DataError("a threshold can be tuned only with two training rows of every class.")
    for train, test in stratified_folds(folds, groups, seed).split(Z, y, groups):
        if len(np.unique(y[train])) < 2:
            raise DataError("there are too few groups with the rare class to tune a threshold.")
        score[test] = clone(estimator).fit(Z[train], y[train]).predict_proba(Z[test])[:, rare]
    threshold = best_threshold((y == rare).astype(np.int64), score)

    def predict(Z: Floats) -> tuple[Codes, Floats]:
        said = fitted.predict_proba(Z)
        return np.where(said[:, rare] >= threshold, rare, 1 - rare), said

    return predict


def _weighted(estimator: Any, Z: Floats, y: Codes) -> Predict:
    """Train with weights that make all classes count alike; correct the probabilities for it."""
    name, model = estimator.steps[-1]
    if "class_weight" in model.get_params():
        fitted = estimator.set_params(**{f"{name}__class_weight": "balanced"}).fit(Z, y)
    elif has_fit_parameter(model, "sample_weight"):
        weights = compute_sample_weight("balanced", y)
        fitted = estimator.fit(Z, y, **{f"{name}__sample_weight": weights})
    else:
        raise NotApplicableError(f"{type(model).__name__} takes no weights.")
    _plain(fitted)
    shares = np.bincount(y) / len(y)
    even = np.full(len(shares), 1 / len(shares))
    return lambda Z: (fitted.predict(Z), correct_priors(fitted.predict_proba(Z), shares, even))
