"""The gradient that is written out is autograd's, and so is what it leads to."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from mgvae.classifiers import training
from mgvae.classifiers.epochs import as_training_rows
from mgvae_paper.classifier import _OfProbabilities
from mgvae_paper.mlp_training import can_train, train_mlp


def network(hidden=(16, 8)):
    return training.make_network(
        "mlp", (5,), 3, hidden_sizes=hidden, cosine_head=False,
        generator=torch.Generator().manual_seed(1),
    )  # fmt: skip


def plan(**changes):
    settings = {
        "epochs": 2, "batch_size": 40, "optimizer": "adam", "learning_rate": 1e-3,
        "lr_decay": 0.5, "weight_decay": 0.0, "selection": "loss", "patience": None,
    }  # fmt: skip
    return training.Plan(**settings | changes)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("double_softmax", [False, True])
@pytest.mark.parametrize("hidden", [(16, 8), (12,)])
def test_the_same_network_as_the_plain_form(double_softmax, weighted, hidden):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(130, 5)).astype(np.float32), rng.integers(0, 3, 130)
    weight = np.array([0.5, 1.0, 3.0])[y] if weighted else np.ones(len(y))
    rows = as_training_rows(X, y, weight, (5,), torch.device("cpu"))
    plain, swift = network(hidden=hidden), network(hidden=hidden)
    loss = nn.CrossEntropyLoss(reduction="none")
    training.train_network(
        plain, _OfProbabilities(loss) if double_softmax else loss, rows, None, plan(),
        n_classes=3, generator=torch.Generator().manual_seed(2), callback=None,
    )  # fmt: skip
    order = torch.Generator().manual_seed(2)
    batches = (b for _ in range(2) for b in torch.randperm(len(y), generator=order).split(40))
    steps = math.ceil(len(y) / 40)
    train_mlp(swift, rows, batches, plan(), steps_per_epoch=steps, double_softmax=double_softmax)
    for mine, theirs in zip(swift.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
    assert not all(map(torch.equal, swift.parameters(), network(hidden=hidden).parameters()))


@pytest.mark.parametrize(
    ("made", "how"),
    [
        (network(), plan(optimizer="sgd")),
        (network(), plan(weight_decay=1e-4)),
        (network(), plan(defer=0.8)),
        (network().double(), plan()),
        (nn.Sequential(nn.Linear(5, 3)), plan()),
        (nn.Sequential(nn.Flatten(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)), plan()),
        (nn.Sequential(nn.Flatten(), nn.Linear(5, 4), nn.LeakyReLU(0.2), nn.Linear(4, 3)), plan()),
        (nn.Linear(5, 3), plan()),
    ],
)
def test_it_takes_only_what_it_knows(made, how):
    assert can_train(network(), plan())
    assert not can_train(made, how)
