"""Pre-trainings that many cells share, kept on disk.

The cells of one MGVAE differ in what comes after pre-training: the EWC weight, the imbalance ratio,
the seed. A pre-trained model is kept in a file named by a hash of all that it depends on: the
settings, the seeds, and the majority's rows as the network saw them.
"""

import copy
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from mgvae import MGVAE, __version__
from mgvae.bench.machine import plain_settings
from mgvae.common.atomic import atomic_write
from mgvae.common.rows import take
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.job import Job
from mgvae.methods.mgvae.classes import Pretrained
from mgvae.training import History

__all__ = ["AFTERWARDS", "SharedMGVAE"]

AFTERWARDS = (
    "ewc_weight", "finetune_steps", "finetune_learning_rate", "early_stopping", "patience",
    "validation_fraction", "generation", "temperature", "decoder_output", "rejection",
    "sampling_strategy", "random_state", "device", "devices", "strategy", "n_jobs", "n_threads",
    "checkpoint", "checkpoint_seconds", "callback", "verbose",
)  # fmt: skip
"""Parameters that fine-tuning and generation use alone: one pre-training serves all values."""


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
        with _alone(path):
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


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let others who want the same file wait; the system frees the lock of a killed process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as file:
        with suppress(ImportError):  # not on Windows, where two may do the same work
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
