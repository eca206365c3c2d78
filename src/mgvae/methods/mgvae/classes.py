"""The minority classes of an MGVAE: each fine-tunes a copy of what the majority has taught."""

import copy
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from torch import Tensor

from mgvae.common.rows import EncodedRows, Positions
from mgvae.common.runtime import enough_memory, threads
from mgvae.errors import DivergenceError, ResourceError
from mgvae.methods.method import SMALLER
from mgvae.methods.mgvae.learning import Augmented, finetune
from mgvae.methods.mgvae.settings import MGVAESettings
from mgvae.methods.mgvae.weight import ENOUGH, choose_ewc_weight, hold_out
from mgvae.methods.settings import Stage
from mgvae.model.ewc import Consolidation
from mgvae.model.vae import VAE
from mgvae.training import Callback, History
from mgvae.training.checkpoints import StageFile
from mgvae.training.team import Team

__all__ = ["ClassWork", "Pretrained", "Tuned", "finetune_classes"]

# How engines that joblib may be set to say that a process of theirs is gone for good.
_LOST = {"KilledWorker", "FutureCancelledError", "WorkerCrashedError", "ActorDiedError"}


class Pretrained(NamedTuple):
    """What the majority has taught: a model, its weights' importance if wanted, and how it went."""

    vae: VAE
    fisher: dict[str, Tensor] | None
    history: list[History]


class ClassWork(NamedTuple):
    """All that the fine-tuning of one class takes.

    A tuple, because joblib's engine on Dask stores the large arguments of a task apart, on one
    machine, and cannot begin the task again when that machine is lost. Tuples it leaves whole.
    """

    pretrained: Pretrained
    rows: EncodedRows
    minority: Positions
    majority: Positions
    name: str
    seeds: np.random.SeedSequence
    stage: Stage
    settings: MGVAESettings
    n_threads: int | None
    file: StageFile | None
    team: Team | None
    augmented: Augmented | None = None


class Tuned(NamedTuple):
    """A class's model, how its training went, and the weight of its penalty."""

    vae: VAE
    history: History
    ewc_weight: float


def finetune_classes(
    works: Sequence[ClassWork], n_jobs: int | None, callback: Callback | None
) -> list[Tuned]:
    """Fine-tune the classes, through joblib; only where they go one by one can they call back."""
    shown = callback if effective_n_jobs(n_jobs) == 1 else None
    try:
        tuned: list[Tuned] = Parallel(n_jobs=n_jobs)(
            delayed(_finetune_class)(work, shown) for work in works
        )
    except Exception as error:
        if not isinstance(error, BrokenProcessPool) and type(error).__name__ not in _LOST:
            raise
        raise ResourceError(
            "fine-tuning: a process that worked on some of the classes "
            f"{', '.join(work.name for work in works):.300} was ended from outside, most likely "
            f"for want of memory. {SMALLER}"
        ) from error
    return tuned


def _finetune_class(work: ClassWork, callback: Callback | None) -> Tuned:
    """Fine-tune a copy of the pre-trained model on one class."""
    pretrained, rows, minority, majority, name, seeds, stage, settings = work[:8]
    n_threads, file, team, augmented = work[8:]
    fisher = pretrained.fisher
    vae = copy.deepcopy(pretrained.vae)
    for_training, for_held_out, for_choice = seeds.spawn(3)
    weight = settings.ewc_weight
    if weight == "auto":
        with threads(n_threads):
            weight = choose_ewc_weight(
                pretrained.vae, fisher, rows, minority, majority, stage, for_choice,
                candidates=settings.ewc_candidates, fraction=settings.validation_fraction,
                patience=settings.patience, augmented=augmented, moved=settings.moved,
                team=team,
            )  # fmt: skip
        weight = weight if team is None else team.from_first(weight)
    consolidation = Consolidation(vae, fisher, weight) if fisher is not None else None
    early_stopping = None
    if settings.early_stopping and len(minority) >= ENOUGH:
        minority, early_stopping = hold_out(
            minority, settings.validation_fraction, stage.steps, settings.patience, for_held_out
        )
    try:
        with (
            enough_memory(f"fine-tuning of class {name}", SMALLER),
            threads(n_threads),
        ):
            history = finetune(
                vae, rows, minority, majority, stage, for_training,
                consolidation=consolidation, early_stopping=early_stopping, augmented=augmented,
                moved=settings.moved, name=f"fine-tuning of class {name}", callback=callback,
                file=file, team=team,
            )  # fmt: skip
    except DivergenceError as error:
        raise DivergenceError(f"{error} A larger ewc_weight also needs smaller steps.") from None
    except Exception as error:
        error.add_note(f"This happened in the fine-tuning of class {name}.")
        raise
    return Tuned(vae, history, float(weight) if fisher is not None else 0.0)
