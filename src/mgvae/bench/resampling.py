"""Resampling the training data of a cell, with pre-trainings that many cells share.

The cells of one MGVAE differ in what comes after pre-training: the EWC weight, the imbalance ratio,
the seed. The pre-trained model is kept in a file named by a hash of all that it depends on: the
settings, the seed, and the rows it saw.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mgvae._atomic import atomic_write
from mgvae.bench.methods import load_class

if TYPE_CHECKING:
    from mgvae import MGVAE
    from mgvae.samplers import Pretrained

__all__ = ["Resampled", "make_sampler", "resample"]

# What fine-tuning and generation decide alone: a pre-training serves all their values.
_AFTERWARDS = (
    "ewc_weight", "finetune_steps", "finetune_learning_rate", "early_stopping", "patience",
    "validation_fraction", "temperature", "decoder_output", "sampling_strategy", "pretrained",
    "n_jobs", "n_threads", "callback", "verbose", "device", "random_state",
)  # fmt: skip


@dataclass(frozen=True)
class Resampled:
    """The data a classifier learns from, the sampler's settings, and how long it took."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    settings: dict[str, Any] | None
    seconds: dict[str, float]


def resample(
    X: NDArray[Any],
    y: NDArray[np.int64],
    parameters: Mapping[str, Any],
    seed: int,
    cache: Path,
) -> Resampled:
    """Resample by the parameters of a cell; without a sampler there, give the data as they are.

    Parameters
    ----------
    X : ndarray
        Rows, or pictures of bytes. A sampler that does not know pictures sees rows of numbers from
        0 to 1.
    y : ndarray of int
        Their classes.
    parameters : mapping
        ``sampler``, ``settings`` and ``pretrain_seed`` of a cell.
    seed : int
        The sampler's.
    cache : path
        Where pre-trained models are kept.
    """
    path = parameters.get("sampler")
    if path is None:
        return Resampled(X, y, None, {})
    from mgvae import MGVAE
    from mgvae.samplers._base import GenerativeSampler

    started = time.perf_counter()
    sampler = make_sampler(path, parameters.get("settings", {}), seed)
    seconds = {}
    if isinstance(sampler, MGVAE) and sampler.pretrain_steps != 0:
        pretrained = _pretrained(sampler, X, y, parameters.get("pretrain_seed", seed), cache)
        sampler.set_params(pretrained=pretrained)
        seconds["pretraining"] = round(pretrained.history.seconds, 2)
        started = time.perf_counter()
    if X.ndim == 2 or isinstance(sampler, GenerativeSampler):
        X_new, y_new = sampler.fit_resample(X, y)
    else:
        rows = (X / np.float32(255)).reshape(len(X), -1)
        X_new, y_new = sampler.fit_resample(rows, y)
        X_new = X_new.reshape(-1, *X.shape[1:])
    seconds["sampler"] = round(time.perf_counter() - started, 2)
    return Resampled(X_new, y_new, _settings(sampler), seconds)


def make_sampler(path: str, settings: Mapping[str, Any], seed: int) -> Any:
    """Make a sampler of a class, its settings (with or without a preset) and a seed.

    Examples
    --------
    >>> make_sampler("mgvae:MGVAE", {"preset": "paper-tables", "latent_size": 5}, 0).latent_size
    5
    """
    sampler_class = load_class(path)
    given = dict(settings)
    if "random_state" in signature(sampler_class).parameters:
        given["random_state"] = seed
    preset = given.pop("preset", None)
    return sampler_class(**given) if preset is None else sampler_class.from_preset(preset, **given)


def _pretrained(
    sampler: "MGVAE", X: NDArray[Any], y: NDArray[np.int64], seed: int, cache: Path
) -> "Pretrained":
    """Find the sampler's pre-training in the cache, or do it now; one process at a time does."""
    from mgvae.samplers import Pretrained

    majority = np.bincount(y).argmax()
    seen = X[y == majority] if X.ndim > 2 else X  # a table's codec looks at all rows
    settings = {k: v for k, v in _settings(sampler).items() if k not in _AFTERWARDS}
    content = json.dumps([settings, seed, seen.shape, str(seen.dtype)], sort_keys=True).encode()
    digest = hashlib.sha256(content)
    digest.update(np.ascontiguousarray(seen).data)
    folder = cache / "pretrained"
    path = folder / f"{digest.hexdigest()[:24]}.safetensors"
    with _alone(path):
        if path.exists():
            return Pretrained.load(path)
        teacher = type(sampler)(
            **{**sampler.get_params(), "finetune_steps": 0, "random_state": seed}
        )
        teacher.set_params(ewc_weight=max(1.0, sampler.ewc_weight))  # so that F is there for all
        pretrained: Pretrained = teacher.fit(X, y).pretrained_
        with atomic_write(path) as file:
            pretrained.save(file)
        return pretrained


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let others who want the same file wait; the system frees the lock of a killed process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as file:
        with suppress(ImportError):  # not on Windows, where two may do the same work
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _settings(sampler: Any) -> dict[str, Any]:
    """Give a sampler's parameters as JSON can hold them."""
    given = {k: v for k, v in sampler.get_params(deep=False).items() if k != "pretrained"}
    settings: dict[str, Any] = json.loads(json.dumps(given, default=str))
    return settings
