"""How long an MGVAE will train: a few steps of each stage, timed.

Nothing here changes a fit. A plan's steps are parameters like any others: who sets them gets the
same bits on every machine, also on one on which they take longer.
"""

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mgvae.common.runtime import build, torch_generator
from mgvae.methods.method import Job
from mgvae.methods.mgvae.learning import finetune, fisher_of_generated, pretrain
from mgvae.methods.mgvae.method import MajorityGuided
from mgvae.methods.mgvae.weight import ENOUGH, SHORTER
from mgvae.methods.settings import Stage, make_stage

__all__ = ["TrainingPlan", "make_plan"]

_WARM, _TIMED = 2, 6  # steps that are not timed, and that are
_LEAST = {"pretrain_steps": 100, "finetune_steps": 50}  # fewer teach nothing


@dataclass(frozen=True)
class TrainingPlan:
    """How long training takes with so many steps.

    Attributes
    ----------
    seconds : float
        Of training on this machine, as far as a few steps tell.
    pretrain_steps : int
        Steps on the majority.
    finetune_steps : int or str
        Steps on each minority class.
    """

    seconds: float
    pretrain_steps: int
    finetune_steps: int | str

    @property
    def parameters(self) -> dict[str, Any]:
        """The steps, as parameters of :class:`mgvae.MGVAE`."""
        return {"pretrain_steps": self.pretrain_steps, "finetune_steps": self.finetune_steps}


def make_plan(method: MajorityGuided, job: Job, most: float | None) -> TrainingPlan:
    """Time a few steps and say how long all take, or how many fit into some seconds.

    Parameters
    ----------
    method : MajorityGuided
        What will learn.
    job : Job
        What it will learn from.
    most : float or None
        The most seconds that training shall take.
    """
    settings = method.settings
    minorities = [code for code in job.targets if code != job.layout.majority]
    first = make_stage(
        settings, settings.pretrain_steps, settings.pretrain_learning_rate, len(job.majority),
        n_exemplars=settings.n_exemplars, n_remembered=settings.n_remembered,
    )  # fmt: skip
    if not minorities or not len(job.rows):
        return TrainingPlan(0.0, first.steps, settings.finetune_steps)
    seeds = np.random.SeedSequence(0)
    vae = build(lambda: method.model(job.layout), torch_generator(seeds)).to(job.device)

    def on_majority(stage: Stage) -> None:
        pretrain(copy.deepcopy(vae), job.rows, job.majority, stage, seeds)

    pretraining = _step_seconds(on_majority, first) if first.steps else 0.0
    fixed = 0.0
    if first.steps and (settings.ewc_weight == "auto" or settings.ewc_weight > 0):
        fixed = _seconds(lambda: fisher_of_generated(
            vae, job.rows, job.majority, settings.fisher_samples, settings.n_exemplars, seeds
        ))  # fmt: skip
    largest = max((job.members[code] for code in minorities), key=len)
    later = make_stage(
        settings, settings.finetune_steps, settings.finetune_learning_rate, len(largest),
        n_exemplars=settings.n_exemplars,
    )  # fmt: skip

    def on_minority(stage: Stage) -> None:
        finetune(copy.deepcopy(vae), job.rows, largest, job.majority, stage, seeds)

    finetuning = _step_seconds(on_minority, later) if later.steps else 0.0
    trials = len(settings.ewc_candidates) if settings.ewc_weight == "auto" and fixed else 0
    rounds = sum(
        1.0 + (trials / SHORTER if trials > 1 and len(job.members[code]) >= ENOUGH else 0.0)
        for code in minorities
    )
    wanted = first.steps * pretraining + later.steps * finetuning * rounds
    if most is None or fixed + wanted <= most:
        return TrainingPlan(fixed + wanted, first.steps, settings.finetune_steps)
    part = max(0.0, (most - fixed) / wanted)
    steps = {
        name: min(whole, max(_LEAST[name], math.floor(part * whole)))
        for name, whole in (("pretrain_steps", first.steps), ("finetune_steps", later.steps))
    }
    seconds = steps["pretrain_steps"] * pretraining + steps["finetune_steps"] * finetuning * rounds
    return TrainingPlan(fixed + seconds, **steps)


def _step_seconds(run: Callable[[Stage], None], stage: Stage) -> float:
    """Time one step: many steps less few, so that what comes once is not counted."""
    run(replace(stage, steps=_WARM, schedule=None))
    few = _seconds(lambda: run(replace(stage, steps=_WARM, schedule=None)))
    many = _seconds(lambda: run(replace(stage, steps=_WARM + _TIMED, schedule=None)))
    return max(0.0, many - few) / _TIMED


def _seconds(run: Callable[[], Any]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
