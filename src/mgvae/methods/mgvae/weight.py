"""Rows of a minority class that are held out to decide something."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from sklearn.metrics import roc_auc_score
from torch import Tensor

from mgvae.common.rows import EncodedRows, Positions
from mgvae.errors import DivergenceError
from mgvae.methods.mgvae.generation import latent_means, plausibility
from mgvae.methods.mgvae.learning import Augmented, EarlyStopping, Moved, finetune
from mgvae.methods.settings import Stage
from mgvae.model.ewc import Consolidation
from mgvae.model.vae import VAE
from mgvae.training.team import Team

__all__ = ["ENOUGH", "SHORTER", "choose_ewc_weight", "hold_out"]

ENOUGH = 25  # minority rows from which a part can be held out
_MOST = 1_000  # rows that are held out: more do not make the choice better, only slower
_LOOKS = 20  # at the rows held out, in one fine-tuning
_LOOKED_AT = 128  # rows held out whose likelihood ends a trial; all of them judge it
SHORTER = 4  # the steps of a trial, as a part of those of a fine-tuning
_JUDGES = 1_000  # majority rows that a trial is judged with


def hold_out(
    minority: Positions,
    fraction: float,
    steps: int,
    patience: int,
    seeds: np.random.SeedSequence,
) -> tuple[Positions, EarlyStopping]:
    """Divide a class into rows to learn from and rows to look at."""
    shuffled = np.random.default_rng(seeds).permutation(minority)
    n = min(max(1, round(fraction * len(minority))), _MOST)
    return np.sort(shuffled[n:]), EarlyStopping(shuffled[:n], max(1, steps // _LOOKS), patience)


def choose_ewc_weight(
    pretrained: VAE,
    fisher: Mapping[str, Tensor] | None,
    rows: EncodedRows,
    minority: Positions,
    majority: Positions,
    stage: Stage,
    seeds: np.random.SeedSequence,
    *,
    candidates: Sequence[float],
    fraction: float,
    patience: int,
    augmented: Augmented | None = None,
    moved: Moved = "all",
    team: Team | None = None,
) -> float:
    """Choose the penalty's weight by how well rows held out are told from the majority.

    Each candidate fine-tunes for a quarter of the steps, up to the moment when the rows held out
    are most likely. There every row has a score, log p(x) after fine-tuning less log p(x) before:
    how much the model has learned about it. What counts is the area under the ROC curve of this
    score, between the rows held out and majority rows. Likelihood alone would not do: a model that
    hardly moves, and goes on making majority rows, explains a few rows held out best.

    Parameters
    ----------
    pretrained, fisher, rows, minority, majority, stage, seeds
        As for :func:`mgvae.methods.mgvae.learning.finetune`.
    candidates : sequence of float
        The weights to try, smallest first; the middle one is taken where there is no choice.
    fraction : float
        Part of the minority's rows that is held out.
    patience : int
        Looks at them without improvement after which a candidate is done.
    augmented, moved : optional
        As in fine-tuning; the images held out stay as they are.
    team : Team, optional
        The processes that train together.

    Returns
    -------
    weight : float
        The candidate with the largest area; of several, the smallest.
    """
    middle = candidates[len(candidates) // 2]
    if fisher is None or len(minority) < ENOUGH or not stage.steps or len(candidates) == 1:
        return middle
    for_held_out, for_training, for_judges = seeds.spawn(3)
    shorter = replace(stage, steps=max(1, stage.steps // SHORTER))
    kept, held_out = hold_out(minority, fraction, shorter.steps, patience, for_held_out)
    looks = replace(held_out, rows=held_out.rows[:_LOOKED_AT])
    n_judges = min(2 * _JUDGES, len(majority))
    rng = np.random.default_rng(for_judges)
    judges = majority[rng.choice(len(majority), n_judges, replace=False)]
    others, exemplars = judges[n_judges // 2 :], judges[: (n_judges + 1) // 2]
    asked = rows.take(np.concatenate([held_out.rows, others]))
    is_minority = np.arange(len(asked)) < len(held_out.rows)

    def score(vae: VAE) -> Tensor:
        return plausibility(vae, asked, latent_means(vae, rows, exemplars))

    before = score(pretrained)
    areas = {}
    for weight in candidates:
        vae = copy.deepcopy(pretrained)
        try:
            finetune(
                vae, rows, kept, majority, shorter, copy.deepcopy(for_training),
                consolidation=Consolidation(vae, fisher, weight), early_stopping=looks,
                augmented=augmented, moved=moved, name=f"trial of ewc_weight={weight:g}", team=team,
            )  # fmt: skip
        except DivergenceError:  # the weight is too large for these steps
            continue
        areas[weight] = float(roc_auc_score(is_minority, (score(vae) - before).numpy()))
    return max(areas, key=lambda weight: areas[weight], default=middle)
