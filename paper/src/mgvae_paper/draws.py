"""The protocol ``draws``: ensembles over many draws, cross-validated on a real table.

A cell is a table, a seed and a set of arms. In each of three folds one MGVAE is fitted, and all
arms and classifiers draw from it. Nothing is held out besides the test rows: shares, calibration
and tuned thresholds go by out-of-bag predictions, which is what is measured.

An arm is declared in ``settings.toml`` by the parameters of :class:`mgvae.BalancedClassifier`, the
name of its sampler (``MGVAE``, ``no VAE``, ``SMOTE``), ``weights`` if the classes shall count
alike, or the ensemble of imbalanced-learn that takes its place. All probabilities are carried to
the shares of the classes. The decision of an arm is at these shares; ``gm_half`` is at 0.5.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from imblearn.ensemble import (
    BalancedBaggingClassifier,
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
)
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import has_fit_parameter

from mgvae import MGVAE, BalancedClassifier
from mgvae.classifiers.balanced import correct_priors
from mgvae.codec import take_rows
from mgvae.experiments import Cell
from mgvae.experiments.estimators import make_classifier, make_oversampler
from mgvae.experiments.judging import best_threshold
from mgvae.experiments.tables import IndicatorEncoder, LabelledTable, NumericEncoder
from mgvae.metrics import geometric_mean, recall_at
from mgvae_paper.controls import BorrowedDifference
from mgvae_paper.data import DATASETS
from mgvae_paper.folds import drawn_rows, in_epochs
from mgvae_paper.machine import peak_memory, provenance
from mgvae_paper.real_tables import read_labelled_table

__all__ = ["FIGURES", "evaluate_arms"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

FIGURES = {
    "gm": "GM",
    "gm_half": "GM at 0.5",
    "gm_tuned": "GM, tuned",
    "ap": "AP",
    "roc_auc": "ROC AUC",
    "recall_98": "recall at 98 %",
    "log_loss": "log loss",
    "brier": "Brier score",
}
"""The figures of an arm, in percent (log loss in nats), and what they are called."""


def evaluate_arms(cell: Cell, folder: Path | None) -> dict[str, Any]:
    """Work out a cell of the protocol.

    Parameters
    ----------
    cell : Cell
        Its parameters say ``folds`` (how many, most rows), ``classifiers`` with their settings, and
        ``arms``.
    folder : path or None
        Where the data sets are.

    Returns
    -------
    result : dict
        By fold, classifier and arm: the figures, and the processor's seconds of one thread.
    """
    plan = cell.parameters["folds"]
    with peak_memory() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classifiers that have not converged
        whole = read_labelled_table(DATASETS[cell.dataset].family, folder)
        data = drawn_rows(whole, plan["max_rows"], cell.seed)
        folds = [_evaluate_fold(cell, data, fold) for fold in range(plan["number"])]
    return {
        "folds": folds,
        "seconds": {
            "sampler": round(sum(fold["seconds"] for fold in folds), 2),
            "classifier": round(
                sum(
                    f["seconds"]
                    for fold in folds
                    for by in fold["arms"].values()
                    for f in by.values()
                ),
                2,
            ),
        },
        "peak_memory_mb": memory(),
        **provenance(),
    }


@dataclass(frozen=True)
class _Fold:
    """What all arms of a fold share: rows as a table and as numbers, and one fitted sampler."""

    X: Any
    Z: Floats
    y: Codes
    X_test: Any
    Z_test: Floats
    y_test: Codes
    groups: Codes | None
    encoder: NumericEncoder
    sampler: MGVAE
    seed: int


def _evaluate_fold(cell: Cell, data: LabelledTable, fold: int) -> dict[str, Any]:
    train, test = data.split(cell.parameters["folds"]["number"], cell.seed, 0, fold)
    seed = int(np.random.SeedSequence([cell.seed, fold]).generate_state(1)[0] >> 1)
    X, y = take_rows(data.X, train), data.y[train]
    encoder = NumericEncoder().fit(X)
    X_test = take_rows(data.X, test)
    started = time.process_time()
    sampler = MGVAE(random_state=seed).fit(X, y)
    seconds = time.process_time() - started
    shared = _Fold(
        X,
        encoder.transform(X),
        y,
        X_test,
        encoder.transform(X_test),
        data.y[test],
        None if data.groups is None else data.groups[train],
        encoder,
        sampler,
        seed,
    )
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, settings in cell.parameters["classifiers"].items():
        for arm, declared in cell.parameters["arms"].items():
            alone = declared.get("ensemble") in ("EasyEnsemble", "BalancedRandomForest")
            if alone and found and arm in next(iter(found.values())):
                known = next(iter(found.values()))[arm]  # which knows no other classifier
                found.setdefault(name, {})[arm] = known
                continue
            model = _Classifier(
                make_classifier(name, seed), settings, declared.get("weights", False)
            )
            found.setdefault(name, {})[arm] = _judged(declared, model, shared)
    return {
        "rows": {"train": np.bincount(y).tolist(), "test": np.bincount(data.y[test]).tolist()},
        "seconds": round(seconds, 3),
        "arms": found,
    }


def _judged(arm: Mapping[str, Any], model: "_Classifier", fold: _Fold) -> dict[str, float]:
    """Train an arm and judge it."""
    started = time.process_time()
    shares = np.bincount(fold.y) / len(fold.y)
    codes = make_pipeline(IndicatorEncoder(fold.encoder.categorical_), model)
    out = None
    if "ensemble" in arm:
        fitted = _ensemble(arm["ensemble"], codes, arm.get("n_draws", 10), fold.seed).fit(
            fold.Z, fold.y
        )
        said = correct_priors(fitted.predict_proba(fold.Z_test), shares, np.array([0.5, 0.5]))[:, 1]
    else:
        options = {k: v for k, v in arm.items() if k in ("n_draws", "share", "bootstrap")}
        if not arm.get("calibrated", False):
            options["calibration"] = None
        tables = arm.get("sampler") in ("MGVAE", "no VAE")
        rows, rows_test = (fold.X, fold.X_test) if tables else (fold.Z, fold.Z_test)
        chain = make_pipeline(FrozenEstimator(fold.encoder), *_steps(codes)) if tables else codes
        ensemble = BalancedClassifier(
            chain, _sampler(arm.get("sampler"), fold), random_state=fold.seed, **options
        ).fit(rows, fold.y, groups=fold.groups if arm.get("bootstrap", True) else None)
        said = ensemble.predict_proba(rows_test)[:, 1]
        out = getattr(ensemble, "oob_probabilities_", None)
    seconds = time.process_time() - started
    thresholds = {"gm": shares[1], "gm_half": 0.5}
    if out is not None:
        known = ~np.isnan(out[:, 1])
        thresholds["gm_tuned"] = best_threshold(fold.y[known], out[known, 1])
    figures = {
        name: 100 * geometric_mean(fold.y_test, (said >= threshold).astype(np.int64))
        for name, threshold in thresholds.items()
    }
    figures |= {
        "ap": 100 * float(average_precision_score(fold.y_test, said)),
        "roc_auc": 100 * float(roc_auc_score(fold.y_test, said)),
        "recall_98": 100 * recall_at(fold.y_test, said),
        "log_loss": float(log_loss(fold.y_test, said, labels=[0, 1])),
        "brier": 100 * float(brier_score_loss(fold.y_test, said)),
        "seconds": seconds,
    }
    return {name: round(value, 4) for name, value in figures.items()}


def _steps(pipeline: Any) -> list[Any]:
    return [clone(step) for _, step in pipeline.steps]


def _sampler(name: str | None, fold: _Fold) -> Any:
    if name == "MGVAE":
        return FrozenEstimator(fold.sampler)
    if name == "no VAE":
        return BorrowedDifference(random_state=fold.seed)
    return make_oversampler(name or "ROS", fold.seed, fold.y, fold.encoder.categorical_)


def _ensemble(name: str, estimator: Any, n: int, seed: int) -> Any:
    if name == "BalancedBagging":
        return BalancedBaggingClassifier(estimator, n_estimators=n, random_state=seed)
    if name == "EasyEnsemble":
        return EasyEnsembleClassifier(n_estimators=n, random_state=seed)
    return BalancedRandomForestClassifier(
        random_state=seed, sampling_strategy="all", replacement=True, bootstrap=False
    )


class _Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        said: Floats = self.model_.predict_proba(X)
        if self.weighted and has_fit_parameter(self.model_, "sample_weight"):
            return correct_priors(said, self.shares_, np.array([0.5, 0.5]))
        return said

    def predict(self, X: Floats) -> Codes:
        found: Codes = self.classes_[self.predict_proba(X).argmax(1)]
        return found
