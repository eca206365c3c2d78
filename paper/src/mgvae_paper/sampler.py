"""The samplers of cells; nothing else here knows their insides.

Pre-trainings that many cells share are kept on disk.

The cells of one MGVAE differ in what comes after pre-training: the EWC weight, the imbalance ratio,
the seed. A pre-trained model is kept in a file named by a hash of all that it depends on: the
settings, the seeds, and the majority's rows as the network saw them.
"""

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from mgvae import CGAN, CVAE, MGVAE, __version__
from mgvae.common.atomic import atomic_write
from mgvae.common.locks import alone
from mgvae.common.rows import take
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.job import Job
from mgvae.methods.mgvae.classes import Pretrained
from mgvae.training import History
from mgvae_paper.machine import plain_settings
from mgvae_paper.methods import find_class

__all__ = [
    "AFTERWARDS",
    "Generative",
    "SharedMGVAE",
    "is_generative",
    "make_sampler",
    "pretraining_seconds",
    "share_pretraining",
    "used_settings",
]

Generative = MGVAE | CVAE | CGAN
"""The samplers of the library."""

AFTERWARDS = (
    "ewc_weight", "finetune_steps", "finetune_learning_rate", "early_stopping", "patience",
    "validation_fraction", "generation", "temperature", "decoder_output", "rejection",
    "sampling_strategy", "random_state", "device", "devices", "strategy", "n_jobs", "n_threads",
    "checkpoint", "checkpoint_seconds", "callback", "verbose",
)  # fmt: skip
"""Parameters that fine-tuning and generation use alone: one pre-training serves all values."""


def make_sampler(parameters: Mapping[str, Any], seed: int) -> Any:
    """Make the sampler of a cell, which shares nothing with others.

    Parameters
    ----------
    parameters : mapping
        ``sampler`` and ``settings`` of a cell.
    seed : int
        Decides all of the sampler's randomness.

    Examples
    --------
    >>> settings = {"preset": "paper-tables", "latent_size": 5}
    >>> make_sampler({"sampler": "mgvae:MGVAE", "settings": settings}, 0).latent_size
    5
    """
    sampler_class = find_class(parameters["sampler"])
    given = dict(parameters.get("settings", {}))
    if "random_state" in signature(sampler_class).parameters:
        given["random_state"] = seed
    preset = given.pop("preset", None)
    make = sampler_class if preset is None else partial(sampler_class.from_preset, preset)
    return make(**given)


def share_pretraining(sampler: Any, parameters: Mapping[str, Any], cache: Path) -> Any:
    """Let an MGVAE share its pre-training with other cells; return any other sampler as it is.

    Parameters
    ----------
    sampler : sampler
        From :func:`make_sampler`.
    parameters : mapping
        Those of its cell, which may have a ``pretrain_seed``.
    cache : path
        Where pre-trained models are kept.
    """
    if not isinstance(sampler, MGVAE):
        return sampler
    shared = SharedMGVAE(**sampler.get_params())
    shared.cache, shared.pretrain_seed = cache, parameters.get("pretrain_seed")
    return shared


def is_generative(sampler: Any) -> TypeGuard[Generative]:
    """Return whether a sampler is one of the library's, which take tables and images."""
    return isinstance(sampler, Generative)


def used_settings(sampler: Any) -> dict[str, Any]:
    """Return the parameters that a fitted sampler has used, as JSON can hold them."""
    return plain_settings(sampler._resolved(sampler._data) if is_generative(sampler) else sampler)


def pretraining_seconds(sampler: Generative) -> float | None:
    """Return how long the pre-training took, be it long ago for another cell; None without one."""
    first = sampler.history_.get("pre-training")
    return None if first is None else first.seconds


class SharedMGVAE(MGVAE):
    """An MGVAE that looks for its pre-training in a folder before it does one.

    Attributes
    ----------
    cache : path
        The folder; to be set before fitting.
    pretrain_seed : int or None
        Decides the pre-training in place of ``random_state``, so that several seeds share it.
    """

    cache: Path
    pretrain_seed: int | None = None

    def _pretrain(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> Pretrained:
        if self.pretrain_steps == 0:
            return super()._pretrain(job, seeds)
        if self.pretrain_seed is not None:
            seeds = np.random.SeedSequence(self.pretrain_seed).spawn(len(seeds))
        path = self.cache / "pretrained" / f"{self._key(job, seeds)}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        with alone(path.with_suffix(".lock")):
            if path.exists():
                pretrained = self._read(path, job, seeds)
            else:
                teacher = copy.copy(self)
                teacher.ewc_weight = 1.0  # any but 0: others will want the weights' importance
                pretrained = super(SharedMGVAE, teacher)._pretrain(job, seeds)
                _write(path, pretrained)
        wanted = self.ewc_weight == "auto" or self.ewc_weight > 0
        return pretrained if wanted else pretrained._replace(fisher=None)

    def _key(self, job: Job, seeds: Sequence[np.random.SeedSequence]) -> str:
        settings = {k: v for k, v in plain_settings(self).items() if k not in AFTERWARDS}
        roots = [[str(seed.entropy), list(seed.spawn_key)] for seed in seeds]
        majority = take(job.rows, job.members[job.majority]).numpy()
        content = [__version__, settings, roots, [repr(span) for span in job.spans], majority.shape]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode())
        digest.update(np.ascontiguousarray(majority).data)
        return digest.hexdigest()[:24]

    def _read(self, path: Path, job: Job, seeds: Sequence[np.random.SeedSequence]) -> Pretrained:
        vae = build(lambda: self._vae(job), torch_generator(seeds[0])).to(job.device)
        parts: dict[str, dict[str, Tensor]] = {"weights": {}, "fisher": {}}
        with safe_open(path, framework="pt", device=str(job.device)) as file:
            seconds = float(file.metadata()["seconds"])
            for name in file.keys():  # noqa: SIM118 (not a mapping)
                part, _, parameter = name.partition("/")
                parts[part][parameter] = file.get_tensor(name)
        vae.load_state_dict(parts["weights"])
        return Pretrained(vae, parts["fisher"], [History("pre-training", seconds=seconds)])


def _write(path: Path, pretrained: Pretrained) -> None:
    tensors = {f"weights/{k}": v for k, v in pretrained.vae.state_dict().items()}
    tensors |= {f"fisher/{k}": v for k, v in (pretrained.fisher or {}).items()}
    seconds = sum(history.seconds for history in pretrained.history)
    with atomic_write(path) as file:
        file.write(save({k: v.contiguous() for k, v in tensors.items()}, {"seconds": str(seconds)}))
