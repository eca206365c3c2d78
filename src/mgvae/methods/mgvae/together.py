"""Who trains an MGVAE: this process, processes that it starts, or those that torchrun started."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from mgvae.common.runtime import threads
from mgvae.errors import DataError, ParameterError
from mgvae.methods.method import Job, Workers
from mgvae.methods.mgvae.classes import Pretrained, Tuned
from mgvae.training.processes import learn_together
from mgvae.training.team import Team, join_torchrun, started_from_outside

__all__ = ["Models", "learn_as_told", "outer_team"]

Seeds = Sequence[np.random.SeedSequence]


class Models(NamedTuple):
    """The outcome of Algorithm 2: the majority's model, and one for each minority class's code."""

    pretrained: Pretrained
    minorities: list[int]
    tuned: list[Tuned]

    def to(self, device: torch.device) -> "Models":
        """Move the models."""
        for vae in (self.pretrained.vae, *(found.vae for found in self.tuned)):
            vae.to(device)
        return self


def outer_team(workers: Workers, device: torch.device) -> Team | None:
    """Return the processes that torchrun has started, if they shall train together."""
    if workers.devices == 1:
        return None
    if not started_from_outside():
        if workers.devices == "torchrun":
            raise ParameterError(
                'devices="torchrun" is for processes that torchrun has started, and it has not '
                "started this one. Start it with torchrun, or set devices to a number."
            )
        return None
    here = int(os.environ["LOCAL_WORLD_SIZE"])
    if workers.devices not in ("torchrun", here):
        raise ParameterError(
            f"devices={workers.devices}, but torchrun has started {here} processes on this machine."
            f' Set devices={here}, or devices="torchrun".'
        )
    return join_torchrun(device.type)


def learn_as_told(learn: Callable[[Job, Seeds], Models], job: Job, seeds: Seeds) -> Models:
    """Let those learn whom the job's ``workers`` name."""
    devices = job.workers.devices
    if devices != 1 and job.workers.n_jobs not in (None, 1):
        raise ParameterError(
            f"n_jobs={job.workers.n_jobs} and devices={devices!r} exclude each other: either "
            "classes are learned at once, or all devices learn one class after the other."
        )
    team = outer_team(job.workers, job.device)
    if team is not None:
        _check_same(job, team)
        tell = job.callback if team.rank == 0 else None
        return learn(replace(job, team=team, device=team.device, callback=tell), seeds)
    if not isinstance(devices, int) or devices == 1:
        return learn(job, seeds)
    return learn_together(partial(_learn_here, learn, seeds), job, devices).to(job.device)


def _learn_here(learn: Callable[[Job, Seeds], Models], seeds: Seeds, job: Job) -> Models:
    """Learn in a process that was started for it."""
    with threads(job.workers.n_threads):
        return learn(job, seeds).to(torch.device("cpu"))


def _check_same(job: Job, team: Team) -> None:
    """Raise if the processes have not been given the same rows."""
    digest = hashlib.sha256()
    for block in job.rows.blocks():
        digest.update(np.ascontiguousarray(block).data)
    digest.update(job.codes().data)
    if not team.agree(digest.digest()):
        raise DataError(
            "the processes have been given different data. Processes that train together must call "
            "fit with the same X and y, in the same order."
        )
