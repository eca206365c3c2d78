"""What a cell does: split the data, resample, train the classifier, judge it.

Under ``paper`` the classifier is that of the last epoch. Under ``clean`` a validation part that no
resampling has touched picks the epoch with the best geometric mean, for every method alike, and
also the threshold for the figures called ``tuned``. :mod:`mgvae_paper.folds` and
:mod:`mgvae_paper.draws` are the other protocols.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from mgvae.experiments import Cell
from mgvae.experiments.judging import best_threshold
from mgvae.metrics import confusion_matrix
from mgvae_paper.classifier import train_classifier
from mgvae_paper.data import Protocol, split
from mgvae_paper.draws import evaluate_arms
from mgvae_paper.folds import evaluate
from mgvae_paper.machine import peak_memory, provenance
from mgvae_paper.metrics import at_threshold, judge_clean, judge_paper
from mgvae_paper.resampling import resample

__all__ = ["Evaluation"]


@dataclass(frozen=True)
class Evaluation:
    """The work of the paper's tables, to be handed to :func:`mgvae.experiments.run_cells`.

    Parameters
    ----------
    data : path or None
        The folder with the data sets; see :func:`mgvae_paper.sources.read_source`.
    cache : path
        Where pre-trained models are kept.
    """

    data: Path | None
    cache: Path

    def __call__(self, cell: Cell) -> dict[str, Any]:
        """Work out one cell."""
        if cell.protocol == "folds":
            return evaluate(cell, self.data)
        if cell.protocol == "draws":
            return evaluate_arms(cell, self.data)
        _, for_classifier, for_batches = _states(cell.seed)
        for_sampler = _states(cell.parameters.get("sampler_seed", cell.seed))[0]
        with peak_memory() as memory:
            parts = split(
                cell.dataset,
                cast(Protocol, cell.protocol),
                cell.parameters.get("draw", cell.seed),
                self.data,
                size=cell.parameters.get("image_size", 64),
            )
            resampled = resample(
                parts.X_train, parts.y_train, cell.parameters, for_sampler, self.cache
            )
            held_out = (parts.X_valid, parts.y_valid) if len(parts.y_valid) else None
            started = time.perf_counter()
            classifier = train_classifier(
                resampled.X,
                resampled.y,
                cell.parameters.get("classifier", {}),
                for_classifier,
                held_out,
                fresh=(resampled.sampler, cell.parameters["fresh"]) if resampled.sampler else None,
            )
            seconds = {**resampled.seconds, "classifier": round(time.perf_counter() - started, 2)}
            probabilities = classifier.probabilities(parts.X_test)
        predicted = probabilities.argmax(axis=1)
        result: dict[str, Any] = {
            "metrics": judge_clean(parts.y_test, probabilities)
            if held_out
            else judge_paper(parts.y_test, predicted, for_batches)
        }
        if held_out and probabilities.shape[1] == 2:
            score = classifier.probabilities(parts.X_valid)[:, 1]
            threshold = best_threshold(parts.y_valid, score)
            share = float(np.mean(parts.y_train == 1))
            for view, cut in (("tuned", threshold), ("prevalence", share)):
                predicted_there = (probabilities[:, 1] >= cut).astype(np.int64)
                result[view] = {"threshold": cut, **at_threshold(parts.y_test, predicted_there)}
        return result | {
            "confusion_matrix": confusion_matrix(
                parts.y_test, predicted, labels=np.arange(probabilities.shape[1])
            ).tolist(),
            "rows": {
                "train": np.bincount(parts.y_train).tolist(),
                "resampled": resampled.counts(),
                "validation": np.bincount(parts.y_valid).tolist(),
                "test": np.bincount(parts.y_test).tolist(),
            },
            "epoch": classifier.epoch,
            "settings": resampled.settings,
            "seconds": seconds,
            "peak_memory_mb": memory(),
            **provenance(),
        }


def _states(seed: int) -> list[int]:
    """Return the seeds of the sampler, of the classifier, and of the batches it is judged by."""
    branches = np.random.SeedSequence(seed).spawn(3)
    return [int(branch.generate_state(1)[0]) for branch in branches]
