r"""Training, Algorithm 2 of the paper, on encoded rows.

It has two stages that differ only in whose rows are learned and in the penalty:

1. :func:`pretrain`: minimise :math:`-O(\Psi, X^+; x^+)` over batches of the majority;
2. :func:`fisher_of_generated`, once; then per minority class, from a copy of the pre-trained model,
   :func:`finetune`: minimise :math:`-O(\Psi, X^+; x^-) + \lambda\sum_i F_i(\Psi_i-\Psi_{+,i})^2`.

In each step, ``n_exemplars`` (S) majority rows are drawn with replacement to stand for the prior.

Algorithm 1, generation, is in :mod:`mgvae.methods.mgvae.generation`.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from mgvae.augment import Geometry
from mgvae.common.rows import EncodedRows, Positions
from mgvae.common.runtime import torch_generator
from mgvae.methods.mgvae.generation import latent_means, translate
from mgvae.methods.settings import Stage
from mgvae.model.ewc import Consolidation, fisher_diagonal
from mgvae.model.kernels import Adam, DenseStep
from mgvae.model.prior import own_exemplars
from mgvae.model.vae import VAE, elbo, elbo_with_exemplars
from mgvae.training import Callback, History, Player, Validation, train
from mgvae.training.checkpoints import StageFile
from mgvae.training.team import Team

__all__ = [
    "Augmented",
    "EarlyStopping",
    "Moved",
    "adam",
    "finetune",
    "fisher_of_generated",
    "pretrain",
]

Moved = Literal["all", "decoder"]

_FISHER_BYTES = 512 * 2**20  # memory for the single-sample gradients of one chunk
_COPIES = 2  # of a layer's outputs that are in memory at once: themselves and their gradients
_VARIANCE_RATE = 5.0  # the likelihood's variances learn this many times faster than the weights


@dataclass(frozen=True)
class EarlyStopping:
    """Which rows are held out while fine-tuning, and how long to wait for an improvement."""

    rows: Positions
    every: int
    patience: int


@dataclass(frozen=True)
class Augmented:
    """Small changes of the images that are learned, whose rows have the given shape.

    A class of few images is learned by heart. Images that are moved a little in every step are
    never the same, so that what is learned is the class.
    """

    geometry: Geometry
    shape: tuple[int, ...]

    def __call__(self, rows: Tensor, draws: Tensor) -> Tensor:
        """Return changed rows, by amounts that the geometry drew."""
        return self.geometry.apply(rows.reshape(-1, *self.shape), draws).reshape(rows.shape)


def pretrain(
    vae: VAE,
    rows: EncodedRows,
    majority: Positions,
    stage: Stage,
    seeds: np.random.SeedSequence,
    callback: Callback | None = None,
    file: StageFile | None = None,
    team: Team | None = None,
) -> History:
    """Learn the majority (Algorithm 2, first loop); the model is changed in place.

    Parameters
    ----------
    vae : VAE
        The model.
    rows : EncodedRows of shape (n, width)
        All encoded rows, never copied.
    majority : ndarray of int
        Positions of the majority's rows.
    stage : Stage
        Steps, learning rate, sizes.
    seeds : numpy.random.SeedSequence
        Decides batches, exemplars and noise.
    callback, file, team : optional
        See :func:`mgvae.training.train`.

    Returns
    -------
    history : History
        Loss terms by step.
    """
    return _learn(
        vae, rows, majority, majority, stage, seeds, "pre-training",
        callback=callback, file=file, team=team,
    )  # fmt: skip


def finetune(
    vae: VAE,
    rows: EncodedRows,
    minority: Positions,
    majority: Positions,
    stage: Stage,
    seeds: np.random.SeedSequence,
    *,
    consolidation: Consolidation | None = None,
    early_stopping: EarlyStopping | None = None,
    augmented: Augmented | None = None,
    moved: Moved = "all",
    name: str = "fine-tuning",
    callback: Callback | None = None,
    file: StageFile | None = None,
    team: Team | None = None,
) -> History:
    """Learn one minority class (Algorithm 2, second loop); the model is changed in place.

    Parameters
    ----------
    vae : VAE
        A copy of the pre-trained model.
    rows : EncodedRows of shape (n, width)
        All encoded rows.
    minority, majority : ndarray of int
        Positions of the rows that are learned, and of the exemplars.
    stage : Stage
        Steps, learning rate, sizes.
    seeds : numpy.random.SeedSequence
        Decides batches, exemplars and noise.
    consolidation : Consolidation, optional
        The penalty of Eq. 6; none without.
    early_stopping : EarlyStopping, optional
        Held-out minority rows and patience.
    augmented : Augmented, optional
        Small changes of the minority's images, other ones in every step.
    moved : {"all", "decoder"}
        Whether the whole model is moved, or the decoder alone: then a majority row keeps its code.
    name : str
        The stage's name for people.
    callback, file, team : optional
        See :func:`mgvae.training.train`.

    Returns
    -------
    history : History
        Loss terms by step; the penalty is the term ``"ewc"``.
    """
    return _learn(
        vae, rows, minority, majority, stage, seeds, name,
        consolidation=consolidation, early_stopping=early_stopping, augmented=augmented,
        moved=moved, callback=callback, file=file, team=team,
    )  # fmt: skip


def _learn(
    vae: VAE,
    rows: EncodedRows,
    learned: Positions,
    majority: Positions,
    stage: Stage,
    seeds: np.random.SeedSequence,
    name: str,
    *,
    consolidation: Consolidation | None = None,
    early_stopping: EarlyStopping | None = None,
    augmented: Augmented | None = None,
    moved: Moved = "all",
    callback: Callback | None = None,
    file: StageFile | None = None,
    team: Team | None = None,
) -> History:
    device = vae.log_variance.device
    for_rows, for_noise, for_validation = seeds.spawn(3)
    rng = np.random.default_rng(for_rows)
    generator = torch_generator(for_noise, device)
    n_batch = min(stage.batch_size, len(learned))
    n_exemplars = stage.n_exemplars if vae.prior == "majority" else 0
    leaves_out = stage.leave_one_out and n_exemplars > 0 and learned is majority
    memory = _Memory(stage.n_remembered if n_exemplars else 0, device)
    place: Tensor | None = None  # of a step's rows
    fused = None
    if team is None and n_exemplars and DenseStep.suits(vae):
        fused = DenseStep(vae, n_batch, n_exemplars, consolidation)
    if fused is not None and moved == "all":
        optimizer = _adam(fused.weights, fused.variances, stage.learning_rate)
    else:
        optimizer = adam(vae, stage.learning_rate, moved)

    def loss(step: int) -> Mapping[str, Tensor | float]:  # noqa: ARG001
        nonlocal place
        batch = learned[rng.choice(len(learned), n_batch, replace=False, shuffle=False)]
        exemplars = majority[rng.integers(len(majority), size=n_exemplars)]
        noise = torch.randn(n_batch, vae.latent_size, generator=generator, device=device)
        draws = None if augmented is None else augmented.geometry.draw(n_batch, generator)
        encoded, gather = exemplars, None
        if team is not None:
            share = team.share(n_batch)
            batch, noise, encoded = batch[share], noise[share], team.portion(exemplars)
            draws = None if draws is None else draws[:, share]
            gather = partial(team.gather, n_exemplars)
        place = rows.take(np.concatenate([batch, encoded]), place)
        chosen = place.to(device)
        if augmented is not None and draws is not None:
            chosen[: len(batch)] = augmented(chosen[: len(batch)], draws)
        own = None
        if leaves_out:
            own = own_exemplars(batch, np.concatenate([exemplars, memory.positions])).to(device)
        if fused is not None:
            found, centres = fused(chosen, noise, own, memory.means)
            memory.add(exemplars, centres)
            return found
        parts = elbo_with_exemplars(vae, chosen, noise, own, memory.means, gather)
        memory.add(exemplars, parts.centres)
        terms = dict(parts.terms())
        if team is not None:
            terms = {name: team.weight(n_batch) * term for name, term in terms.items()}
        if consolidation is not None:
            terms["ewc"] = consolidation.penalty(vae)
            terms["loss"] = terms["loss"] + terms["ewc"]
        return terms

    validation = None
    if early_stopping is not None:
        validation = _held_out(
            vae, rows, majority, stage, early_stopping, for_validation, fused, team
        )
    with nullcontext() if team is None else team.connected():
        if team is not None:
            team.align(vae)
        return train(
            [Player(loss, optimizer, differentiates=fused is not None)],
            stage=name,
            steps=stage.steps,
            schedule=stage.schedule,
            clip_norm=stage.clip_norm,
            validation=validation,
            callback=callback,
            parts=[vae, rng, generator, memory],
            file=file,
            team=team,
        )


class _Memory:
    """The latent means of the latest exemplars, the newest first."""

    def __init__(self, size: int, device: torch.device) -> None:
        self.size = size
        self.device = device
        self.positions: Positions = np.empty(0, np.int64)
        self.means: Tensor | None = None

    def add(self, positions: Positions, means: Tensor | None) -> None:
        """Put a step's exemplars in front and forget the oldest."""
        if not self.size or means is None:
            return
        self.positions = np.concatenate([positions, self.positions])[: self.size]
        parts = [means.detach(), *([] if self.means is None else [self.means])]
        self.means = torch.cat(parts)[: self.size]

    def state_dict(self) -> dict[str, Any]:
        """Return the memory as tensors."""
        return {"positions": torch.from_numpy(self.positions), "means": self.means}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Undo :meth:`state_dict`."""
        self.positions = state["positions"].numpy()
        self.means = None if state["means"] is None else state["means"].to(self.device)


def adam(vae: VAE, learning_rate: float, moved: Moved = "all") -> torch.optim.Optimizer:
    """Make the optimiser: Adam, faster for the likelihood's variances."""
    variances = list(vae.likelihood.parameters())
    fast = {id(p) for p in variances}
    moving = vae if moved == "all" else vae.decoder
    weights = [p for p in moving.parameters() if id(p) not in fast]
    return _adam(weights, variances, learning_rate)


def _adam(
    weights: Sequence[Tensor], variances: Sequence[Tensor], learning_rate: float
) -> torch.optim.Optimizer:
    groups = [
        {"params": list(weights), "lr": learning_rate},
        {"params": list(variances), "lr": learning_rate * _VARIANCE_RATE},
    ]
    return Adam([g for g in groups if g["params"]])


def _held_out(
    vae: VAE,
    rows: EncodedRows,
    majority: Positions,
    stage: Stage,
    early_stopping: EarlyStopping,
    seeds: np.random.SeedSequence,
    fused: DenseStep | None,
    team: Team | None,
) -> Validation:
    """Score held-out rows by Eq. 4, always against the same exemplars and noise."""
    device = vae.log_variance.device
    for_rows, for_noise = seeds.spawn(2)
    size = min(len(majority), max(stage.n_exemplars, 1))
    chosen = majority[np.random.default_rng(for_rows).choice(len(majority), size, replace=False)]
    x = rows.take(early_stopping.rows).to(device)
    exemplars = rows.take(chosen).to(device)
    noise = torch.randn(
        len(x), vae.latent_size, generator=torch_generator(for_noise, device), device=device
    )

    look = None if fused is None else DenseStep(vae, len(x), len(exemplars), beside=fused)
    both = torch.cat([x, exemplars])

    def value() -> float:
        with torch.no_grad():
            if look is not None:
                return look.loss(both, noise)
            found = float(elbo(vae, x, noise, vae.mean(exemplars)).terms()["loss"])
        return found if team is None else team.from_first(found)  # all must stop, or none

    return Validation(value, [vae], early_stopping.every, early_stopping.patience)


def fisher_of_generated(
    vae: VAE,
    rows: EncodedRows,
    majority: Positions,
    n: int,
    n_exemplars: int,
    seeds: np.random.SeedSequence,
    team: Team | None = None,
) -> dict[str, Tensor]:
    """Estimate Eq. 5 on ``n`` rows that the pre-trained model generates.

    Parameters
    ----------
    vae : VAE
        The pre-trained model.
    rows : EncodedRows of shape (n, width)
        All encoded rows.
    majority : ndarray of int
        Positions of the majority's rows.
    n : int
        How many rows to generate.
    n_exemplars : int
        Exemplars that stand for the prior.
    seeds : numpy.random.SeedSequence
        Decides the generated rows, the exemplars and the noise.
    team : Team, optional
        The processes among which the generated rows are shared out.

    Returns
    -------
    fisher : dict of str to Tensor
        Importance of every parameter, by name.
    """
    device = vae.log_variance.device
    for_rows, for_generated, for_noise = seeds.spawn(3)
    rng = np.random.default_rng(for_rows)
    sources = majority[rng.integers(len(majority), size=n)]
    centres = latent_means(vae, rows, sources)
    generated = translate(vae, centres, for_generated).to(device)
    noise = torch.randn(
        n, vae.latent_size, generator=torch_generator(for_noise, device), device=device
    )
    chosen = majority[rng.integers(len(majority), size=n_exemplars)]
    exemplars = rows.take(chosen).to(device)
    if team is None and n_exemplars and DenseStep.suits(vae):
        return _fisher_of_steps(vae, generated, noise, exemplars)

    def single(model: nn.Module, x: Tensor, noise: Tensor) -> Tensor:
        if not isinstance(model, VAE):
            raise TypeError("the Fisher information is taken of a VAE")
        parts = elbo(model, x[None], noise[None], model.mean(exemplars))
        return (parts.reconstruction - parts.divergence).sum()

    encoded = _outputs(vae.encoder, exemplars[:1]) + rows.width
    decoded = _outputs(vae.decoder, centres[:1].to(device))
    weights = sum(p.numel() for p in vae.parameters())
    floats = weights + _COPIES * ((n_exemplars + 1) * encoded + decoded)
    chunk = max(1, min(n, _FISHER_BYTES // (4 * floats)))
    if team is None:
        return fisher_diagonal(vae, single, generated, noise, chunk=chunk)
    share, weight = team.share(n), team.weight(n) / team.size
    fisher = fisher_diagonal(vae, single, generated[share], noise[share], chunk=chunk)
    with team.connected():
        return team.sum({name: weight * value for name, value in fisher.items()})


def _fisher_of_steps(
    vae: VAE, generated: Tensor, noise: Tensor, exemplars: Tensor
) -> dict[str, Tensor]:
    """Compute what :func:`fisher_diagonal` does, by steps of one row each.

    Besides, the first fit of a program does not wait until torch has loaded its compiler.
    """
    step = DenseStep(vae, 1, len(exemplars))
    parameters = dict(vae.named_parameters())
    fisher = {name: torch.zeros_like(p) for name, p in parameters.items()}
    for x, draw in zip(generated, noise, strict=True):
        step(torch.cat([x[None], exemplars]), draw[None])
        for name, p in parameters.items():
            if p.grad is not None:
                fisher[name] += p.grad.square()
    vae.zero_grad()
    return {name: value / len(generated) for name, value in fisher.items()}


@torch.no_grad()
def _outputs(network: nn.Module, row: Tensor) -> int:
    """Count the numbers that all layers of a network give for one row."""
    counts: list[int] = []
    hooks = [
        layer.register_forward_hook(lambda _, __, output: counts.append(output.numel()))
        for layer in network.modules()
        if not any(True for _ in layer.children())
    ]
    network(row)
    for hook in hooks:
        hook.remove()
    return sum(counts)
