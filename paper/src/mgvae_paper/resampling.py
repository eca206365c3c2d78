"""Resampling the training data of a cell."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae import __version__
from mgvae.common.atomic import atomic_write
from mgvae.common.locks import alone
from mgvae.experiments import Cell
from mgvae_paper.data import DATASETS
from mgvae_paper.sampler import (
    AFTERWARDS,
    Generative,
    hash_of,
    is_generative,
    make_sampler,
    pretraining_seconds,
    share_pretraining,
    used_settings,
)

__all__ = ["Resampled", "in_good_order", "resample"]


@dataclass(frozen=True)
class Resampled:
    """The data a classifier learns from, the sampler's settings, and how long it took.

    ``sampler`` is there if the data are to be balanced anew in every epoch; it is fitted.
    """

    X: NDArray[Any]
    y: NDArray[np.int64]
    settings: dict[str, Any] | None
    seconds: dict[str, float]
    sampler: Generative | None = None

    def counts(self) -> list[int]:
        """Return the rows of each class that the classifier sees in an epoch."""
        counts = np.bincount(self.y)
        most = int(counts.max())
        return [most if self.sampler is not None else int(n) for n in counts]


def resample(
    X: NDArray[Any],
    y: NDArray[np.int64],
    parameters: Mapping[str, Any],
    seed: int,
    cache: Path,
) -> Resampled:
    """Resample by the parameters of a cell; without a sampler there, return the data as they are.

    Parameters
    ----------
    X : ndarray
        Rows, or images of bytes. A sampler that does not know images sees rows of numbers from
        0 to 1.
    y : ndarray of int
        Their classes.
    parameters : mapping
        ``sampler``, ``settings``, ``pretrain_seed``, ``sampler_seed``, ``truncated`` and ``fresh``
        of a cell. The rows of a cell that has a ``sampler_seed`` are kept: other seeds want them.
    seed : int
        The sampler's.
    cache : path
        Where pre-trained models, and rows, are kept.
    """
    if "sampler" not in parameters:
        return Resampled(X, y, None, {})
    if "sampler_seed" not in parameters:
        return _resample(X, y, parameters, seed, cache)
    named = ("sampler", "settings", "pretrain_seed", "truncated")
    content = [__version__, {name: parameters.get(name) for name in named}, seed, X.shape]
    path = cache / "made" / f"{hash_of(content, X, y)}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path.with_suffix(".lock")):
        if not path.exists():
            made = _resample(X, y, parameters, seed, cache)
            notes = json.dumps({"settings": made.settings, "seconds": made.seconds})
            with atomic_write(path) as file:
                np.savez(file, X=made.X[len(X) :], y=made.y[len(y) :], notes=np.array(notes))
            return made
        with np.load(path) as kept:
            notes = json.loads(str(kept["notes"]))
            X_all, y_all = np.concatenate([X, kept["X"]]), np.concatenate([y, kept["y"]])
    seconds = {"sampler": 0.0} | {k: v for k, v in notes["seconds"].items() if k != "sampler"}
    return Resampled(X_all, y_all, notes["settings"], seconds)


def _resample(
    X: NDArray[Any],
    y: NDArray[np.int64],
    parameters: Mapping[str, Any],
    seed: int,
    cache: Path,
) -> Resampled:
    sampler = share_pretraining(make_sampler(parameters, seed), parameters, cache)
    generative = is_generative(sampler)
    started = time.perf_counter()
    fresh = "fresh" in parameters
    if fresh:
        X_new, y_new = X, y
        sampler.fit(X, y)
    elif parameters.get("truncated", False):
        X_new, y_new = sampler.fit_resample(X / np.float32(255), y)
        made = (X_new[len(X) :] * np.float32(255)).astype(np.uint8)
        X_new = np.concatenate([X, made])
    elif X.ndim == 2 or generative:
        X_new, y_new = sampler.fit_resample(X, y)
    else:
        rows = (X / np.float32(255)).reshape(len(X), -1)
        X_new, y_new = sampler.fit_resample(rows, y)
        X_new = X_new.reshape(-1, *X.shape[1:])
    seconds = {"sampler": round(time.perf_counter() - started, 2)}
    spent = pretraining_seconds(sampler) if generative else None
    if spent is not None:
        seconds["pretraining"] = round(spent, 2)
    found = sampler if fresh else None
    return Resampled(X_new, y_new, used_settings(sampler), seconds, found)


def in_good_order(cells: Sequence[Cell]) -> list[Cell]:
    """Put the first cell of every pre-training first and the others that share one last.

    Jobs that begin together then pre-train different models, and none waits for another.

    Examples
    --------
    >>> from mgvae_paper.tables import find_table
    >>> cells = in_good_order(find_table("mnist").cells("paper", seeds=1, budget="cpu"))
    >>> [str(cell) for cell in (cells[0], cells[-1])]
    ['mnist-100 MGVAE (paper, cpu, seed 0)', 'mnist-600 MGVAE (paper, cpu, seed 0)']
    """
    seen: set[str] = set()

    def turn(cell: Cell) -> int:
        settings = cell.parameters.get("settings", {})
        if cell.protocol in ("folds", "draws"):  # which share no pre-training
            return 1
        if cell.parameters.get("sampler") != "mgvae:MGVAE" or settings.get("pretrain_steps") == 0:
            return 1
        decisive = {k: v for k, v in settings.items() if k not in AFTERWARDS}
        seed = cell.parameters.get("pretrain_seed", cell.seed)
        data = DATASETS[cell.dataset]
        rows = data.family if data.kind == "image" else cell.dataset
        draw = cell.parameters.get("draw", cell.seed) if cell.protocol == "clean" else None
        key = json.dumps([decisive, seed, rows, draw, cell.protocol], sort_keys=True)
        first = key not in seen
        seen.add(key)
        return 0 if first else 2

    return sorted(cells, key=turn)
