"""Which run a checkpoint belongs to: everything that decides a sampler's outcome."""

import hashlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from mgvae import __version__
from mgvae.codec._storage import plain
from mgvae.common.rows import copies
from mgvae.training.checkpoints import Checkpoint

if TYPE_CHECKING:
    from mgvae.methods.job import Job
    from mgvae.samplers._base import GenerativeSampler

__all__ = ["open_checkpoint"]

_WITHOUT_EFFECT = ("checkpoint", "checkpoint_seconds", "n_jobs", "callback", "verbose")
_KNOWN_BETTER = ("random_state", "sampling_strategy", "device", "devices", "strategy")


def open_checkpoint(
    sampler: "GenerativeSampler", job: "Job", new_rows: Mapping[Any, int]
) -> Checkpoint:
    """Open the folder that ``sampler.checkpoint`` names for this job.

    Parameters
    ----------
    sampler : GenerativeSampler
        With every ``"auto"`` replaced.
    job : Job
        Its rows, classes and device are a part of what the run is known by; its seeds begin a run.
    new_rows : mapping
        How many rows are to be made, by class.
    """
    if sampler.checkpoint is None:
        raise TypeError("the sampler has no checkpoint")
    team = sampler._team()
    if team is not None and team.rank > 0:
        return team.from_first(cast("Checkpoint", None))
    data = hashlib.sha256(repr(job.spans).encode())
    for block in copies(job.rows):
        data.update(block.data)
    data.update(job.codes().data)
    left_out = (*_WITHOUT_EFFECT, *_KNOWN_BETTER)
    facts = {
        "sampler": type(sampler).__name__,
        "versions": {"mgvae": __version__, "numpy": np.__version__, "torch": torch.__version__},
        "settings": {
            name: _plain(value)
            for name, value in sampler.get_params(deep=False).items()
            if name not in left_out
        },
        "device": str(job.device),
        "processes": getattr(sampler, "devices", 1) if team is None else team.size,
        "rows": list(job.rows.shape),
        "data": data.hexdigest(),
        "rows of": {name: len(rows) for name, rows in zip(job.names, job.members, strict=True)},
        "new rows of": {str(label): int(n) for label, n in new_rows.items()},
    }
    checkpoint = Checkpoint.open(
        sampler.checkpoint,
        facts,
        job.seeds,
        adopt=sampler.random_state is None,
        seconds=sampler.checkpoint_seconds,
    )
    return checkpoint if team is None else team.from_first(checkpoint)


def _plain(value: Any) -> Any:
    """Give a parameter as JSON can hold it; a function by its name, for lack of better."""
    if isinstance(value, Mapping):
        return [[plain(k), plain(v)] for k, v in value.items()]
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return plain(value)
