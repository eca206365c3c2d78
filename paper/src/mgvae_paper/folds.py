"""The protocol ``folds``: cross-validation of four standard classifiers on a real table.

The rows, at most a declared number, are drawn by the seed, and divided into folds that are
stratified (and never split a group). Of each fold's training rows one part is set aside, on which
nothing but the threshold called *tuned* is chosen; encoder, sampler and classifiers see the rest
alone. So one fit of a sampler serves all classifiers and thresholds, every figure is one of the
same classifier, and the threshold is tuned on real rows that nothing was made from.

The scores of a classifier are judged at three thresholds: 0.5; the tuned one, which has the best
geometric mean on the part set aside; and the share of the minority among the rows it learned from.
"""

import math
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import has_fit_parameter

from mgvae.codec import take_rows
from mgvae.errors import DataError, ParameterError
from mgvae.experiments import Cell
from mgvae.experiments.estimators import make_classifier, make_oversampler
from mgvae.experiments.judging import best_threshold
from mgvae.experiments.tables import (
    IndicatorEncoder,
    LabelledTable,
    NumericEncoder,
)
from mgvae.metrics import acsa, geometric_mean, recall_at
from mgvae_paper.controls import CodecSampler
from mgvae_paper.data import DATASETS
from mgvae_paper.machine import peak_memory, provenance
from mgvae_paper.real_tables import read_labelled_table
from mgvae_paper.sampler import is_generative, make_sampler, used_settings

__all__ = ["THRESHOLDS", "drawn_rows", "evaluate", "in_epochs", "judge"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Parts = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]

THRESHOLDS = ("", "_tuned", "_prevalence")
"""What the figures at the three thresholds end in."""


def evaluate(cell: Cell, folder: Path | None) -> dict[str, Any]:
    """Work out a cell of the protocol.

    Parameters
    ----------
    cell : Cell
        Its parameters say ``folds`` (how many, parts of the training rows, most rows),
        ``classifiers`` with their settings, and ``sampler`` and ``settings``, or ``weights``.
    folder : path or None
        Where the data sets are.

    Returns
    -------
    result : dict
        Mean figures in percent, and those of each fold and classifier; seconds are the
        processor's, of one thread.
    """
    if "classifier" in cell.parameters:
        raise ParameterError(
            f"{cell.method} is a loss for networks, which the protocol folds does not train. Name "
            "a sampler."
        )
    plan = cell.parameters["folds"]
    with peak_memory() as memory:
        whole = read_labelled_table(DATASETS[cell.dataset].family, folder)
        data = drawn_rows(whole, plan["max_rows"], cell.seed)
        folds = [
            _evaluate_fold(cell, data, parts, fold)
            for fold, parts in enumerate(_split(data, plan, cell.seed))
        ]
    figures = [figures for fold in folds for figures in fold["classifiers"].values()]
    settings = [fold.pop("settings") for fold in folds]
    names = [name for name in figures[0] if name not in ("threshold", "seconds")]
    return {
        "metrics": {name: round(float(np.mean([f[name] for f in figures])), 4) for name in names},
        "settings": settings[0],
        "folds": folds,
        "seconds": {
            "sampler": round(sum(fold["seconds"] for fold in folds), 2),
            "classifier": round(sum(f["seconds"] for f in figures), 2),
        },
        "peak_memory_mb": memory(),
        **provenance(),
    }


def judge(y: Codes, score: Floats, thresholds: Mapping[str, float]) -> dict[str, float]:
    """Judge scores of the minority, in percent.

    Parameters
    ----------
    y : ndarray of int
        1 for the minority.
    score : ndarray
        How likely each row is of it.
    thresholds : mapping
        Thresholds, by what their figures' names end in.

    Examples
    --------
    >>> figures = judge(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.3, 0.8]), {"": 0.5})
    >>> figures["gm"], figures["balanced_accuracy"], figures["roc_auc"]
    (70.7107, 75.0, 75.0)
    """
    figures: dict[str, float] = {}
    for ending, threshold in thresholds.items():
        predicted = (score >= threshold).astype(np.int64)
        figures[f"gm{ending}"] = geometric_mean(y, predicted)
        figures[f"balanced_accuracy{ending}"] = acsa(y, predicted)
    figures["ap"] = float(average_precision_score(y, score))
    figures["roc_auc"] = float(roc_auc_score(y, score))
    figures["recall_98"] = float(recall_at(y, score))
    return {name: round(100 * value, 4) for name, value in figures.items()}


def drawn_rows(data: LabelledTable, most: int, seed: int) -> LabelledTable:
    """Draw at most so many rows, the classes in proportion."""
    n = len(data.y)
    if n <= most:
        return data
    rng = np.random.default_rng([seed, n])
    parts = [
        rng.choice(rows, round(most * len(rows) / n), replace=False)
        for rows in (np.flatnonzero(data.y == 0), np.flatnonzero(data.y == 1))
    ]
    rows = np.sort(np.concatenate(parts))
    groups = None if data.groups is None else data.groups[rows]
    return LabelledTable(take_rows(data.X, rows), data.y[rows], groups)


def _split(data: LabelledTable, plan: Mapping[str, int], seed: int) -> Iterator[Parts]:
    """Return the rows to learn from, to tune a threshold on, and to test on, of each fold."""
    for fold in range(plan["number"]):
        train, test = data.split(plan["number"], seed, 0, fold)
        groups = None if data.groups is None else data.groups[train]
        rest = LabelledTable(None, data.y[train], groups)
        learn, tune = rest.split(plan["training_parts"], seed, 1 + fold, 0)
        parts = train[learn], train[tune], test
        if any(len(np.unique(data.y[rows])) < 2 for rows in parts):
            raise DataError(f"fold {fold} has a part without any row of one class.")
        yield parts


def _evaluate_fold(cell: Cell, data: LabelledTable, parts: Parts, fold: int) -> dict[str, Any]:
    learn, tune, test = parts
    for_sampler, for_model = np.random.SeedSequence([cell.seed, fold]).generate_state(2).tolist()
    X, y = take_rows(data.X, learn), data.y[learn]
    encoder = NumericEncoder().fit(X)
    Z = encoder.transform(X)
    started = time.process_time()
    Z_new, y_new, settings = _resample(cell.parameters, X, Z, y, encoder, for_sampler)
    seconds = time.process_time() - started
    indicators = IndicatorEncoder(encoder.categorical_).fit(Z_new)
    Z_new, Z_tune, Z_test = (
        indicators.transform(rows)
        for rows in (
            Z_new,
            encoder.transform(take_rows(data.X, tune)),
            encoder.transform(take_rows(data.X, test)),
        )
    )
    weighted = cell.parameters.get("weights") == "balanced"
    found: dict[str, dict[str, float]] = {}
    for name, given in cell.parameters["classifiers"].items():
        started = time.process_time()
        model = make_classifier(name, for_model).set_params(**in_epochs(given, len(y_new)))
        score = _fitted(model, Z_new, y_new, weighted=weighted)
        spent = time.process_time() - started
        threshold = best_threshold(data.y[tune], score(Z_tune))
        share = 0.5 if weighted else float(y_new.mean())
        thresholds = dict(zip(THRESHOLDS, (0.5, threshold, share), strict=True))
        found[name] = {
            **judge(data.y[test], score(Z_test), thresholds),
            "threshold": round(threshold, 6),
            "seconds": round(spent, 3),
        }
    return {
        "rows": {
            "learn": np.bincount(y).tolist(),
            "resampled": np.bincount(y_new).tolist(),
            "tune": np.bincount(data.y[tune]).tolist(),
            "test": np.bincount(data.y[test]).tolist(),
        },
        "settings": settings,
        "seconds": round(seconds, 3),
        "classifiers": found,
    }


def _resample(
    parameters: Mapping[str, Any], X: Any, Z: Floats, y: Codes, encoder: NumericEncoder, seed: int
) -> tuple[Floats, Codes, dict[str, Any] | None]:
    """Resample, a codec's sampler the table itself, another one its numbers.

    SMOTE is that for categories where there are any, with as many neighbours as there can be.
    """
    if "sampler" not in parameters:
        return Z, y, None
    if parameters["sampler"] == "imblearn.over_sampling:SMOTE":
        sampler = make_oversampler("SMOTE", seed, y, encoder.categorical_)
        if hasattr(sampler, "categorical_features"):  # which it compares with a text: no arrays
            sampler.categorical_features = np.flatnonzero(encoder.categorical_).tolist()
    else:
        sampler = make_sampler(parameters, seed)
    if not (is_generative(sampler) or isinstance(sampler, CodecSampler)):
        Z_new, y_new = sampler.fit_resample(Z, y)
        return Z_new, y_new, used_settings(sampler)
    X_new, y_new = sampler.fit_resample(X, y)
    made = np.arange(len(y), len(y_new))
    if len(made):
        Z = np.concatenate([Z, encoder.transform(take_rows(X_new, made))])
    return Z, y_new, used_settings(sampler)


def in_epochs(settings: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Return a network's ``steps`` as epochs, so that more rows do not mean a longer training."""
    given = dict(settings)
    if "steps" in given:
        epochs = math.ceil(given.pop("steps") / math.ceil(n_rows / given["batch_size"]))
        given |= {"max_iter": epochs, "n_iter_no_change": epochs}
    return given


def _fitted(model: Any, Z: Floats, y: Codes, *, weighted: bool) -> Any:
    """Train a classifier, and return what scores rows.

    With weights, the classes count alike. Neighbours have no weight in training; there each vote
    counts by the weight of its class.
    """
    weights = compute_class_weight("balanced", classes=np.array([0, 1]), y=y)
    votes = weighted and not has_fit_parameter(model, "sample_weight")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if weighted and not votes:
            model.fit(Z, y, sample_weight=weights[y])
        else:
            model.fit(Z, y)

    def score(rows: Floats) -> Floats:
        said: Floats = model.predict_proba(rows)
        if votes:
            said = said * weights
        shares: Floats = said[:, 1] / said.sum(axis=1)
        return shares

    return score
