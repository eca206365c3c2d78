"""Fully connected layers with a gradient of their own, against torch's layers and differences."""

import copy

import pytest
import torch
from torch import nn

from mgvae.common.runtime import build
from mgvae.networks import Dense, two_heads


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def seeded(factory, seed=0):
    return build(factory, torch.Generator().manual_seed(seed)).double()


def dense(activates_last):
    last = [nn.ReLU()] if activates_last else []
    return seeded(lambda: Dense(nn.Sequential(nn.Linear(5, 4), nn.ReLU()), nn.Linear(4, 3), *last))


@pytest.mark.parametrize("rows", [1, 3, 5, 9])  # shorter and longer than a layer is wide
@pytest.mark.parametrize("activates_last", [False, True])
def test_learning_equals_torchs_layers_and_their_gradients(rows, activates_last):
    layers, x = dense(activates_last), randn(rows, 5).requires_grad_()
    weights = randn(rows, 3, seed=1)
    inputs = [x, *layers.parameters()]
    found, expected = layers.learn(x), layers(x)
    torch.testing.assert_close(found, expected)
    for a, b in zip(
        torch.autograd.grad((found * weights).sum(), inputs),
        torch.autograd.grad((expected * weights).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_layers_by_finite_differences():
    layers, x = dense(False), randn(7, 5).requires_grad_()
    parameters = list(layers.parameters())
    assert torch.autograd.gradcheck(lambda *_: layers.learn(x), (x, *parameters))


def test_rows_need_no_gradient():
    layers = dense(True)
    layers.learn(randn(7, 5)).sum().backward()
    assert all(p.grad is not None for p in layers.parameters())


def test_a_copy_learns_by_its_own_weights():
    layers, x = dense(False), randn(2, 5)
    other = copy.deepcopy(layers)
    with torch.no_grad():
        other[1].bias.add_(1.0)
    torch.testing.assert_close(other.learn(x), other(x))
    torch.testing.assert_close(other.learn(x), layers.learn(x) + 1.0)


@pytest.mark.parametrize("n", [1, 4, 8])
def test_two_heads_equal_torchs_layers_and_their_gradients(n):
    one, other = (seeded(lambda: nn.Linear(5, 3), seed) for seed in (1, 2))
    x = randn(8, 5).requires_grad_()
    inputs = [x, *one.parameters(), *other.parameters()]
    found, expected = two_heads(x, one, other, n), (one(x), other(x[:n]))

    def gradients(outputs):
        means, spreads = outputs
        return torch.autograd.grad(means.pow(3).sum() + spreads.pow(2).sum(), inputs)

    torch.testing.assert_close(found, expected)
    for a, b in zip(gradients(found), gradients(expected), strict=True):
        torch.testing.assert_close(a, b)
    assert torch.autograd.gradcheck(lambda *_: two_heads(x, one, other, n), inputs)
