"""Who trains an MGVAE: this process, processes that it starts, or those that torchrun started."""

import copy
import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from mgvae.common.runtime import resolve_device, threads
from mgvae.errors import DataError, ParameterError
from mgvae.methods.job import Job
from mgvae.methods.mgvae.classes import Pretrained, Tuned

if TYPE_CHECKING:
    from mgvae.samplers._mgvae import MGVAE
    from mgvae.training.team import Team

__all__ = ["Learned", "check_together", "learn_as_told", "outer_team"]


class Learned(NamedTuple):
    """The outcome of Algorithm 2: the majority's model, and one for each minority class's code."""

    pretrained: Pretrained
    minorities: list[int]
    tuned: list[Tuned]

    def to(self, device: torch.device) -> "Learned":
        """Move the models."""
        for vae in (self.pretrained.vae, *(found.vae for found in self.tuned)):
            vae.to(device)
        return self


def check_together(sampler: "MGVAE") -> None:
    """Raise if the parameters that say who trains contradict each other."""
    if sampler.strategy is None:
        if sampler.devices > 1:
            raise ParameterError(
                f'devices={sampler.devices} needs a strategy: set strategy="ddp", by which the '
                "devices share the rows of every batch."
            )
        return
    if sampler.n_jobs not in (None, 1):
        raise ParameterError(
            f"n_jobs={sampler.n_jobs} and strategy={sampler.strategy!r} exclude each other: either "
            "classes are learned at once, or all devices learn one class after the other."
        )


def outer_team(sampler: "MGVAE") -> "Team | None":
    """Give the processes that torchrun has started, if it has and they shall train together."""
    if sampler.strategy is None:
        return None
    from mgvae.training.team import join, started_from_outside

    if not started_from_outside():
        return None
    here = int(os.environ["LOCAL_WORLD_SIZE"])
    if sampler.devices not in (1, here):
        raise ParameterError(
            f"devices={sampler.devices}, but torchrun has started {here} processes on this machine."
            f" Set devices={here}, or leave it out."
        )
    return join(resolve_device(sampler.device).type)


def learn_as_told(sampler: "MGVAE", job: Job, seeds: Sequence[np.random.SeedSequence]) -> Learned:
    """Let those learn whom ``devices`` and ``strategy`` ask for."""
    team = outer_team(sampler)
    if team is not None:
        _check_same(job, team)
        tell = job.callback if team.rank == 0 else None
        return sampler._learned(replace(job, team=team, device=team.device, callback=tell), seeds)
    if sampler.devices == 1:
        return sampler._learned(job, seeds)
    from mgvae.training.processes import learn_together

    worker = copy.copy(sampler)
    worker.callback = None
    learned = learn_together(partial(_learn, worker, seeds), job, sampler.devices)
    return learned.to(job.device)


def _learn(sampler: "MGVAE", seeds: Sequence[np.random.SeedSequence], job: Job) -> Learned:
    """Learn in a process that was started for it."""
    with threads(sampler.n_threads):
        return sampler._learned(job, seeds).to(torch.device("cpu"))


def _check_same(job: Job, team: "Team") -> None:
    """Raise if the processes have not been given the same rows."""
    digest = hashlib.sha256(np.ascontiguousarray(job.rows.numpy()).data)
    digest.update(job.codes().data)
    if not team.agree(digest.digest()):
        raise DataError(
            "the processes have been given different data. Processes that train together must call "
            "fit with the same X and y, in the same order."
        )
