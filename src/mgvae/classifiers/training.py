"""Training a classifier network on rows held in memory, on the one training loop."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mgvae.augment import Geometry, mix
from mgvae.classifiers.epochs import TrainingRows, as_samples
from mgvae.classifiers.networks import ResNet20, mlp
from mgvae.common.runtime import build
from mgvae.errors import DataError, ParameterError
from mgvae.losses import CosineLinear, FocalLoss, LDAMLoss, LogitAdjustedLoss, Reduction
from mgvae.metrics import acsa, geometric_mean
from mgvae.training import Callback, History, Player, Validation, exponential, train

__all__ = [
    "Augmentation",
    "Plan",
    "make_loss",
    "make_network",
    "outputs_of",
    "random_numbers",
    "train_network",
]

_PREDICT = 1_000  # rows that pass through the network at once when nothing is learned

NetworkLike = str | nn.Module | Callable[[tuple[int, ...], int], nn.Module]


@dataclass(frozen=True)
class Plan:
    """How long and how fast to learn, and what to keep."""

    epochs: int
    batch_size: int
    optimizer: str
    learning_rate: float
    lr_decay: float
    weight_decay: float
    selection: str
    patience: int | None
    defer: float = 0.0


@dataclass(frozen=True)
class Augmentation:
    """What is done to the samples of every batch before the network sees them."""

    geometry: Geometry | None
    mixup: float
    cutmix: float
    generator: torch.Generator


def make_network(
    network: NetworkLike,
    sample_shape: tuple[int, ...],
    n_classes: int,
    *,
    hidden_sizes: Sequence[int],
    cosine_head: bool,
    generator: torch.Generator,
) -> nn.Module:
    """Make the network with fresh weights, or a copy of the user's."""
    head = CosineLinear if cosine_head else nn.Linear
    if network == "mlp":
        return build(lambda: mlp(sample_shape, n_classes, hidden_sizes, head), generator)
    if network == "resnet20":
        if len(sample_shape) != 3:
            raise DataError(
                'network="resnet20" needs images: give X of shape (n, height, width) or with '
                "channels before or after, or name the shape of the flat rows in sample_shape; "
                f"got samples of shape {sample_shape}."
            )
        return build(lambda: ResNet20(sample_shape[0], n_classes, head), generator)
    if isinstance(network, nn.Module):
        return copy.deepcopy(network)
    if isinstance(network, str) or not callable(network):
        raise ParameterError(
            'network must be "mlp", "resnet20", a torch module, or a callable that takes the shape '
            f"of a sample and the number of classes; got {network!r}."
        )
    made = network(sample_shape, n_classes)
    if not isinstance(made, nn.Module):
        raise ParameterError(f"network must give a torch module when called; it gave {made!r}.")
    return made


def make_loss(loss: str | nn.Module, counts: NDArray[np.float64], by_row: bool) -> nn.Module:
    """Make the loss: of each row where rows are weighted (by class or by themselves), or a mean."""
    reduction: Reduction = "none" if by_row else "mean"
    if isinstance(loss, nn.Module):
        return copy.deepcopy(loss)
    if loss in ("ce", "rw", "cbrw"):
        return nn.CrossEntropyLoss(reduction=reduction)
    if loss == "focal":
        return FocalLoss(reduction=reduction)
    if loss == "ldam":
        return LDAMLoss(counts, reduction=reduction)
    if loss == "balanced_softmax":
        return LogitAdjustedLoss(counts, reduction=reduction)
    raise ParameterError(
        'loss must be "ce", "rw", "cbrw", "focal", "ldam", "balanced_softmax" or a torch module '
        f"that takes logits and class indices; got {loss!r}."
    )


def random_numbers(
    network: NetworkLike, seeds: np.random.SeedSequence
) -> AbstractContextManager[None]:
    """Lend torch's global generator to a user's network, which knows no other, and put it back."""
    return nullcontext() if isinstance(network, str) else _lent_generator(seeds)


@contextmanager
def _lent_generator(seeds: np.random.SeedSequence) -> Iterator[None]:
    with torch.random.fork_rng(range(torch.cuda.device_count())):
        torch.manual_seed(int(seeds.generate_state(1)[0]))
        yield


def train_network(
    network: nn.Module,
    loss: nn.Module,
    rows: TrainingRows,
    held_out: TrainingRows | None,
    plan: Plan,
    *,
    n_classes: int,
    generator: torch.Generator,
    callback: Callback | None,
    epoch: Callable[[], TrainingRows] | None = None,
    augmentation: Augmentation | None = None,
    class_weight: Tensor | None = None,
) -> History:
    """Train in place; with held-out rows, give the network back as it was at its best epoch.

    Parameters
    ----------
    network, loss : torch.nn.Module
        What is trained, and what it lowers.
    rows, held_out : TrainingRows
        What it learns from, and what chooses the epoch.
    plan : Plan
        How long and how fast.
    n_classes : int
        Outputs of the network.
    generator : torch.Generator
        Decides the order of rows.
    callback : callable or None
        See :func:`mgvae.training.train`.
    epoch : callable, optional
        Gives the rows of each epoch, always as many; without it they are ``rows``.
    augmentation : Augmentation, optional
        What is done to each batch.
    class_weight : Tensor of shape (n_classes,), optional
        The part of the rows' weights that is put off to the last epochs (``plan.defer``).
    """
    if epoch is not None:
        rows = epoch()
    batches = _batches(len(rows.y), plan.batch_size, generator)
    steps_per_epoch = math.ceil(len(rows.y) / plan.batch_size)
    first_weighted = round(plan.defer * plan.epochs) * steps_per_epoch
    early = _without_class_weight(rows, class_weight) if first_weighted else None

    def lower(step: int) -> dict[str, Tensor]:
        nonlocal rows, early
        if epoch is not None and step and step % steps_per_epoch == 0:
            rows = epoch()
            early = _without_class_weight(rows, class_weight) if step < first_weighted else None
        picked = next(batches).to(rows.y.device)
        weights = early if step < first_weighted else rows.weight
        weight = None if weights is None else weights.index_select(0, picked)
        X, y = rows.X.index_select(0, picked), rows.y.index_select(0, picked)
        share, partner = 1.0, None
        if augmentation is not None:
            X, partner, share = _augmented(X, augmentation)
        logits = network(X)
        if step == 0:
            _check_outputs(logits, len(picked), n_classes)
        value = _mean_loss(loss, logits, y, weight)
        if partner is not None and share < 1.0:
            other = None if weight is None else weight.index_select(0, partner)
            of_partner = _mean_loss(loss, logits, y.index_select(0, partner), other)
            value = share * value + (1.0 - share) * of_partner
        return {"loss": value}

    network.train()
    history = train(
        [Player(lower, _optimizer(network, plan))],
        stage="classifier",
        steps=plan.epochs * steps_per_epoch,
        schedule=exponential(plan.lr_decay, steps_per_epoch),
        validation=None
        if held_out is None
        else _validation(network, loss, held_out, plan, steps_per_epoch),
        callback=callback,
    )
    network.eval()
    return history


def _augmented(X: Tensor, how: Augmentation) -> tuple[Tensor, Tensor | None, float]:
    """Return changed samples, whom each is mixed with, and what share it keeps of its own class."""
    if how.geometry is not None:
        X = how.geometry(X, how.generator)
    if not how.mixup and not how.cutmix:
        return X, None, 1.0
    mixed = mix(X, how.generator, mixup=how.mixup, cutmix=how.cutmix)
    return mixed.X, mixed.partner, mixed.share


def _without_class_weight(rows: TrainingRows, class_weight: Tensor | None) -> Tensor | None:
    """Return the weights that rows have by themselves, with a mean of 1."""
    if rows.weight is None or class_weight is None:
        return rows.weight
    own = rows.weight / class_weight.to(rows.weight)[rows.y]
    return own / own.mean()


def outputs_of(
    network: nn.Module, X: NDArray[np.floating], sample_shape: tuple[int, ...]
) -> NDArray[np.floating]:
    """Return the network's outputs for all rows."""
    like = next(network.parameters())
    outputs: NDArray[np.floating] = (
        _outputs(network, as_samples(X, sample_shape, like.device).to(like)).cpu().numpy()
    )
    return outputs


@torch.no_grad()
def _outputs(network: nn.Module, X: Tensor) -> Tensor:
    network.eval()
    parts = X.split(_PREDICT)  # type: ignore[no-untyped-call]
    return torch.cat([network(part) for part in parts])


def _batches(n: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Return positions of rows, epoch after epoch, each epoch in a new order."""
    while True:
        yield from torch.randperm(n, generator=generator).split(batch_size)  # type: ignore[no-untyped-call]


def _validation(
    network: nn.Module, loss: nn.Module, held_out: TrainingRows, plan: Plan, every: int
) -> Validation:
    y, weight = held_out.y, held_out.weight

    def value() -> float:
        logits = _outputs(network, held_out.X)
        network.train()
        if plan.selection == "geometric_mean":
            true, predicted = y.cpu().numpy(), logits.argmax(1).cpu().numpy()
            found = geometric_mean(true, predicted)
            return -found if found > 0 else 1.0 - acsa(true, predicted)
        return float(_mean_loss(loss, logits, y, weight))

    return Validation(value, [network], every, plan.patience)


def _mean_loss(loss: nn.Module, logits: Tensor, y: Tensor, weight: Tensor | None) -> Tensor:
    """Estimate the weighted mean loss of all rows from a batch, without bias.

    To divide by the batch's own weights would not do: a small class, of which most batches hold no
    row, would weigh less than it was given.
    """
    losses: Tensor = loss(logits, y)
    if weight is None:
        return losses if losses.ndim == 0 else losses.mean()
    if losses.shape != y.shape:
        raise ParameterError(
            "loss must give one value for each row where rows or classes are weighted; it gave "
            f'the shape {tuple(losses.shape)}. Make it with reduction="none".'
        )
    return (weight * losses).mean()


def _check_outputs(logits: Tensor, n: int, n_classes: int) -> None:
    if logits.shape != (n, n_classes):
        raise ParameterError(
            f"network must give one output for each of the {n_classes} classes; for {n} rows it "
            f"gave the shape {tuple(logits.shape)}."
        )


def _optimizer(network: nn.Module, plan: Plan) -> torch.optim.Optimizer:
    parameters = list(network.parameters())
    fused = all(p.device.type in ("cpu", "cuda") for p in parameters)
    if plan.optimizer == "sgd":
        return torch.optim.SGD(
            parameters,
            lr=plan.learning_rate,
            momentum=0.9,
            weight_decay=plan.weight_decay,
            fused=fused,
        )
    return torch.optim.Adam(
        parameters, lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=fused
    )
