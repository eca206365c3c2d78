"""The protocol ``draws``: ensembles over many draws, cross-validated on a real table.

A cell is a table, a seed and a set of arms. In each of three folds one MGVAE is fitted, all arms
and classifiers draw from it, and members that arms have in common are trained once
(:mod:`mgvae_paper.shared_members`). Nothing is held out besides the test rows: shares, calibration
and tuned thresholds go by out-of-bag predictions, which is what is measured.

An arm is declared in ``settings.toml`` by the parameters of
:class:`mgvae_paper.shared_members.EnsembleArm`, or as the ensemble of imbalanced-learn that takes
its place. All probabilities are carried to the shares of the classes. The decision of an arm is at
these shares; ``gm_half`` is at 0.5.

Of a few rows of a table that is used whole, the probabilities themselves are kept: each row is a
test row once for every seed, and how far they spread over the seeds is the stability of an arm.
"""

import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from imblearn.ensemble import (
    BalancedBaggingClassifier,
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
)
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline

from mgvae import MGVAE
from mgvae.classifiers.balanced import correct_priors
from mgvae.codec import take_rows
from mgvae.experiments import Cell
from mgvae.experiments.estimators import make_classifier
from mgvae.experiments.judging import best_threshold
from mgvae.experiments.tables import IndicatorEncoder, LabelledTable, NumericEncoder
from mgvae.metrics import geometric_mean, recall_at
from mgvae_paper.data import DATASETS
from mgvae_paper.folds import drawn_rows
from mgvae_paper.machine import peak_memory, provenance
from mgvae_paper.real_tables import read_labelled_table
from mgvae_paper.shared_members import EnsembleArm, Fold, ProtocolClassifier, SharedMembers

__all__ = ["FIGURES", "evaluate_arms"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Watched = NDArray[np.intp]

_WATCHED = 20  # rows of each class whose probabilities are kept
_ALONE = ("EasyEnsemble", "BalancedRandomForest")  # which know no other classifier

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
        By fold, classifier and arm: the figures, the processor's seconds of one thread that the arm
        would take alone, and of the watched test rows the probabilities, in thousandths.
    """
    plan = cell.parameters["folds"]
    with peak_memory() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classifiers that have not converged
        whole = read_labelled_table(DATASETS[cell.dataset].family, folder)
        data = drawn_rows(whole, plan["max_rows"], cell.seed)
        watched = _watched(whole.y) if data is whole else np.empty(0, np.intp)
        folds = [_evaluate_fold(cell, data, fold, watched) for fold in range(plan["number"])]
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


def _watched(y: Codes) -> Watched:
    """Return the rows whose probabilities are kept, the same for all seeds."""
    rng = np.random.default_rng(0)
    parts = [rng.permutation(np.flatnonzero(y == code))[:_WATCHED] for code in (0, 1)]
    return np.sort(np.concatenate(parts))


def _evaluate_fold(cell: Cell, data: LabelledTable, fold: int, watched: Watched) -> dict[str, Any]:
    train, test = data.split(cell.parameters["folds"]["number"], cell.seed, 0, fold)
    seed = int(np.random.SeedSequence([cell.seed, fold]).generate_state(1)[0] >> 1)
    X, y = take_rows(data.X, train), data.y[train]
    encoder = NumericEncoder().fit(X)
    started = time.process_time()
    sampler = MGVAE(random_state=seed).fit(X, y)
    seconds = time.process_time() - started
    shared = Fold(
        X,
        encoder.transform(X),
        y,
        encoder.transform(take_rows(data.X, test)),
        data.y[test],
        None if data.groups is None else data.groups[train],
        encoder,
        sampler,
        seed,
    )
    seen = np.flatnonzero(np.isin(test, watched))
    return {
        "rows": {"train": np.bincount(y).tolist(), "test": np.bincount(data.y[test]).tolist()},
        "watched": test[seen].tolist(),
        "seconds": round(seconds, 3),
        "arms": _evaluate_all(cell.parameters, shared, seen),
    }


def _evaluate_all(
    parameters: Mapping[str, Any], fold: Fold, seen: Watched
) -> dict[str, dict[str, dict[str, Any]]]:
    arms = parameters["arms"]
    found: dict[str, dict[str, dict[str, Any]]] = {}
    members = SharedMembers(fold, max(arm.get("n_draws", 1) for arm in arms.values()))
    alone: dict[str, dict[str, Any]] = {}
    for model, settings in parameters["classifiers"].items():
        found[model] = {}
        for name, declared in arms.items():
            if name in alone:
                found[model][name] = alone[name]
                continue
            known: Floats | None = None
            if "ensemble" in declared:
                classifier = ProtocolClassifier(make_classifier(model, fold.seed), settings)
                said, seconds = _rival(declared, classifier, fold)
            else:
                combined, said, seconds = members.train(EnsembleArm(**declared), model, settings)
                known = combined.out_of_bag
            figures: dict[str, Any] = _judged(fold, said, known)
            figures["seconds"] = round(seconds, 4)
            figures["said"] = np.rint(1000 * said[seen]).astype(int).tolist()
            found[model][name] = figures
            if declared.get("ensemble") in _ALONE:
                alone[name] = figures
    return found


def _judged(fold: Fold, said: Floats, out: Floats | None) -> dict[str, float]:
    """Judge the probabilities of the test rows, tuned by those out of bag if there are any."""
    thresholds = {"gm": float(fold.y.mean()), "gm_half": 0.5}
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
    }
    return {name: round(value, 4) for name, value in figures.items()}


def _rival(
    declared: Mapping[str, Any], classifier: ProtocolClassifier, fold: Fold
) -> tuple[Floats, float]:
    """Train an ensemble of imbalanced-learn; return what it says of test rows, and its seconds."""
    started = time.process_time()
    codes = make_pipeline(IndicatorEncoder(fold.encoder.categorical_), classifier)
    ensemble = _ensemble(declared["ensemble"], codes, declared.get("n_draws", 10), fold.seed)
    said = ensemble.fit(fold.Z, fold.y).predict_proba(fold.Z_test)
    shares = np.bincount(fold.y) / len(fold.y)
    corrected = correct_priors(said, shares, np.array([0.5, 0.5]))[:, 1]
    return corrected, time.process_time() - started


def _ensemble(name: str, estimator: Any, n: int, seed: int) -> Any:
    if name == "BalancedBagging":
        return BalancedBaggingClassifier(estimator, n_estimators=n, random_state=seed)
    if name == "EasyEnsemble":
        return EasyEnsembleClassifier(n_estimators=n, random_state=seed)
    return BalancedRandomForestClassifier(
        random_state=seed, sampling_strategy="all", replacement=True, bootstrap=False
    )
