"""The protocols' classifier: TorchClassifier's training, with three things that protocols need.

These are rows held out by the caller, which no resampling has touched; the paper's random
over-sampling, in which each epoch draws as many rows as there are, with replacement, every class
equally often; and the double softmax of the published scripts, which hand the loss probabilities
where it expects logits. The last spoils the training: ERM collapses to the majority; its gradient
is written out in :mod:`mgvae_paper.mlp_training`. Without any of them, the outcome is that of
:class:`mgvae.TorchClassifier`, bit by bit.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mgvae.classifiers import TorchClassifier, training
from mgvae.classifiers.epochs import TrainingRows, as_training_rows, fresh_epochs
from mgvae.classifiers.weighing import weights_by_class
from mgvae.common.runtime import resolve_device, seed_sequence, threads, torch_generator
from mgvae.errors import ParameterError
from mgvae.losses import LDAMLoss
from mgvae.training import History, Player, exponential, train
from mgvae_paper.methods import find_class
from mgvae_paper.mlp_training import can_train, train_mlp
from mgvae_paper.sampler import Generative

__all__ = ["TrainedClassifier", "train_classifier"]


@dataclass(frozen=True)
class TrainedClassifier:
    """A trained network, and the epoch it is from."""

    network: nn.Module
    scale: float
    epoch: int

    def probabilities(self, X: NDArray[Any]) -> NDArray[np.floating]:
        """Return the probability of each class for each row."""
        with threads(1):
            logits = self.scale * training.outputs_of(self.network, _numbers(X), X.shape[1:])
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: NDArray[np.floating] = odds / odds.sum(axis=1, keepdims=True)
        return shares


def train_classifier(
    X: NDArray[Any],
    y: NDArray[np.int64],
    parameters: Mapping[str, Any],
    seed: int,
    held_out: tuple[NDArray[Any], NDArray[np.int64]] | None = None,
    fresh: tuple[Generative, float] | None = None,
) -> TrainedClassifier:
    """Train the classifier of a cell.

    Parameters
    ----------
    X : ndarray
        Rows, or images (bytes become numbers from 0 to 1).
    y : ndarray of int
        Their classes, 0 to K - 1.
    parameters : mapping
        Parameters of :class:`mgvae.TorchClassifier`; a loss may be ``package.module:Class``, and a
        network ``package.module:function``.
        Besides, ``balanced_batches`` asks for the paper's random over-sampling, and
        ``paper_double_softmax`` for its second softmax.
    seed : int
        Decides the first weights and the order of rows.
    held_out : (ndarray, ndarray), optional
        Rows and classes that pick the epoch with the best geometric mean; else it is the last.
    fresh : (sampler of mgvae, float), optional
        A fitted sampler that balances every epoch anew, and the share of its rows in the classes
        that are not the largest.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)
    >>> train_classifier(X, (X[:, 0] > 1).astype(int), {"epochs": 2}, 0).probabilities(X).shape
    (90, 2)
    """
    given = dict(parameters)
    balanced = given.pop("balanced_batches", False)
    double_softmax = given.pop("paper_double_softmax", False)
    if ":" in given.get("loss", ""):  # a user's own
        given["loss"] = find_class(given["loss"])()
    if isinstance(given.get("network"), str) and ":" in given["network"]:
        given["network"] = find_class(given["network"])
    estimator = TorchClassifier(**given, random_state=seed)
    estimator._check_parameters()
    counts = np.bincount(y).astype(np.float64)
    labels = np.arange(len(counts))
    class_weight = weights_by_class(estimator.loss, estimator.class_weight, counts, labels)
    weight = class_weight[y]
    device = resolve_device(estimator.device)
    seeds = seed_sequence(seed).spawn(6)
    _, for_network, for_order, for_own, for_fresh, for_augmentation = seeds
    rows = as_training_rows(_numbers(X), y, weight, X.shape[1:], device)
    plan = estimator._plan()
    with threads(1), training.random_numbers(estimator.network, for_own):
        network = training.make_network(
            estimator.network,
            tuple(rows.X.shape[1:]),
            len(counts),
            hidden_sizes=estimator.hidden_sizes,
            cosine_head=estimator.loss == "ldam",
            generator=torch_generator(for_network),
        ).to(rows.X)
        loss = training.make_loss(estimator.loss, counts, rows.weight is not None).to(rows.X)
        scale = loss.scale if isinstance(loss, LDAMLoss) else 1.0
        if double_softmax:
            loss = _OfProbabilities(loss)
        if balanced and (estimator.loss != "ce" or held_out is not None):
            raise ParameterError(
                "balanced_batches is the paper's random over-sampling: it goes with the loss "
                '"ce" and the last epoch only.'
            )
        augmentation = estimator.augmentation(torch_generator(for_augmentation))
        plain = held_out is None and fresh is None and augmentation is None
        simple = plain and estimator.loss in ("ce", "rw", "cbrw")
        if double_softmax and simple and can_train(network, plan):
            order = torch_generator(for_order)
            draw = _balanced_draws if balanced else _shuffled
            train_mlp(
                network, rows, draw(rows.y, plan.batch_size, order), plan,
                steps_per_epoch=math.ceil(len(y) / plan.batch_size), double_softmax=True,
            )  # fmt: skip
            return TrainedClassifier(network, scale, plan.epochs)
        if balanced:
            history = _train_balanced(network, loss, rows, plan, torch_generator(for_order))
        else:
            history = training.train_network(
                network, loss, rows, _held_out(held_out, device), plan,
                n_classes=len(counts), generator=torch_generator(for_order), callback=None,
                epoch=_epochs(rows, fresh, X.shape[1:], estimator.borrowed, for_fresh),
                augmentation=augmentation,
                class_weight=torch.from_numpy(class_weight),
            )  # fmt: skip
    shown = len(y) if fresh is None else len(counts) * int(counts.max())
    steps = math.ceil(shown / plan.batch_size)
    return TrainedClassifier(
        network, scale, math.ceil((history.best_step or history.steps) / steps)
    )


class _OfProbabilities(nn.Module):
    """A loss that is handed probabilities where it expects logits, as in the published scripts."""

    def __init__(self, loss: nn.Module) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, logits: Tensor, y: Tensor) -> Tensor:
        """Compute the loss of the probabilities."""
        found: Tensor = self.loss(F.softmax(logits, dim=1), y)
        return found


def _epochs(
    rows: TrainingRows,
    fresh: tuple[Generative, float] | None,
    shape: tuple[int, ...],
    borrowed: float,
    seeds: np.random.SeedSequence,
) -> Callable[[], TrainingRows] | None:
    """Return the rows of every epoch anew, if they are to be fresh."""
    if fresh is None:
        return None
    sampler, share = fresh
    for_rows, for_order = seeds.spawn(2)

    def make(n: int, code: int) -> NDArray[np.floating]:
        made = sampler.generate(n, code, random_state=for_rows.spawn(1)[0])
        return _numbers(made).reshape(n, -1)

    return fresh_epochs(rows, make, share, shape, for_order, borrowed)


def _numbers(X: NDArray[Any]) -> NDArray[np.floating]:
    numbers: NDArray[np.floating] = X / np.float32(255) if X.dtype == np.uint8 else X
    return numbers


def _held_out(
    held_out: tuple[NDArray[Any], NDArray[np.int64]] | None, device: torch.device
) -> TrainingRows | None:
    if held_out is None:
        return None
    X, y = held_out
    return as_training_rows(_numbers(X), y, np.ones(len(y)), X.shape[1:], device)


def _train_balanced(
    network: nn.Module,
    loss: nn.Module,
    rows: TrainingRows,
    plan: training.Plan,
    generator: torch.Generator,
) -> History:
    draws = _balanced_draws(rows.y, plan.batch_size, generator)
    steps = math.ceil(len(rows.y) / plan.batch_size)

    def lower(step: int) -> dict[str, Tensor]:  # noqa: ARG001
        picked = next(draws)
        logits = network(rows.X.index_select(0, picked))
        return {"loss": loss(logits, rows.y.index_select(0, picked))}

    adam = torch.optim.Adam(
        network.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=True
    )
    network.train()
    history = train(
        [Player(lower, adam)],
        stage="classifier",
        steps=plan.epochs * steps,
        schedule=exponential(plan.lr_decay, steps),
    )
    network.eval()
    return history


def _shuffled(y: Tensor, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Draw every row once in an epoch, as :func:`mgvae.classifiers.training.train_network`."""
    while True:
        yield from torch.randperm(len(y), generator=generator).split(batch_size)  # type: ignore[no-untyped-call]


def _balanced_draws(y: Tensor, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Draw a class uniformly, then one of its rows: weights 1 / n_c, with replacement."""
    order = torch.argsort(y, stable=True).cpu()
    counts = torch.bincount(y).cpu()
    starts = counts.cumsum(0) - counts
    while True:
        chosen = torch.randint(len(counts), (len(y),), generator=generator)
        within = torch.rand(len(y), generator=generator, dtype=torch.float64) * counts[chosen]
        drawn = order[starts[chosen] + within.long()].to(y.device)
        yield from drawn.split(batch_size)  # type: ignore[no-untyped-call]
