"""Which run a checkpoint belongs to: everything that decides a sampler's outcome."""

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from mgvae.codec import plain
from mgvae.common.version import __version__
from mgvae.errors import ParameterError
from mgvae.methods.method import Job, Method
from mgvae.methods.settings import as_plain
from mgvae.training.checkpoints import Checkpoint
from mgvae.training.team import Team

if TYPE_CHECKING:
    from mgvae.samplers._base import GenerativeSampler

__all__ = ["CheckpointPlace", "open_checkpoint", "read_place"]

CheckpointPlace = str | os.PathLike[str] | tuple[str | os.PathLike[str], float]

_SECONDS = 30.0  # between two states of a stage of training


def read_place(checkpoint: CheckpointPlace) -> tuple[str | os.PathLike[str], float]:
    """Tell the folder of a checkpoint, and the seconds between two states.

    Examples
    --------
    >>> read_place("run")
    ('run', 30.0)
    """
    if isinstance(checkpoint, str | os.PathLike):
        return checkpoint, _SECONDS
    match checkpoint:
        case (str() | os.PathLike() as folder, float() | int() as seconds) if seconds >= 0:
            return folder, float(seconds)
    raise ParameterError(
        "checkpoint must be a folder, or a folder and the seconds between two states of training, "
        f'such as ("run", 5.0); got {checkpoint!r}.'
    )


def open_checkpoint(
    sampler: "GenerativeSampler",
    method: Method,
    job: Job,
    new_rows: Mapping[Any, int],
    team: Team | None,
) -> Job:
    """Open the folder that ``sampler.checkpoint`` names for a job.

    Parameters
    ----------
    sampler : GenerativeSampler
        Whose run it is.
    method : Method
        Its settings are a part of what the run is known by.
    job : Job
        So are its rows, classes and device; its seeds begin a run.
    new_rows : mapping
        How many rows are to be made, by class.
    team : Team or None
        The processes that train together.

    Returns
    -------
    job : Job
        With the checkpoint, and the seeds that the run began with.
    """
    if team is not None and team.rank > 0:
        checkpoint = team.from_first(cast("Checkpoint", None))
        return replace(job, checkpoint=checkpoint, seeds=checkpoint.seeds)
    data = hashlib.sha256(repr(job.layout.spans).encode())
    for block in job.rows.blocks():
        data.update(block.data)
    data.update(job.codes().data)
    names = job.layout.names
    facts = {
        "sampler": type(sampler).__name__,
        "versions": {"mgvae": __version__, "numpy": np.__version__, "torch": torch.__version__},
        "settings": {name: _plain(value) for name, value in as_plain(method.settings).items()},
        "columns": {
            name: _plain(value)
            for name, value in sampler.codec_options()._asdict().items()
            if name != "constraints"  # which decide nothing of training
        },
        "device": str(job.device),
        "processes": job.workers.devices if team is None else team.size,
        "threads": job.workers.n_threads,
        "rows": [len(job.rows), job.rows.width],
        "data": data.hexdigest(),
        "rows of": {name: len(rows) for name, rows in zip(names, job.members, strict=True)},
        "new rows of": {str(label): int(n) for label, n in new_rows.items()},
    }
    folder, seconds = read_place(cast("CheckpointPlace", sampler.checkpoint))
    checkpoint = Checkpoint.open(
        folder, facts, job.seeds, adopt=sampler.random_state is None, seconds=seconds
    )
    checkpoint = checkpoint if team is None else team.from_first(checkpoint)
    return replace(job, checkpoint=checkpoint, seeds=checkpoint.seeds)


def _plain(value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    if isinstance(value, Mapping):
        return [[plain(k), plain(v)] for k, v in value.items()]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return plain(value)
