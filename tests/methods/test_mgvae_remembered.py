"""Exemplars that are remembered from earlier steps."""

import copy

import numpy as np
import pytest
import torch

from mgvae.codec import Span
from mgvae.common.rows import MemoryRows
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.mgvae.learning import _Memory, pretrain
from mgvae.methods.settings import Stage
from mgvae.model.likelihood import Likelihood
from mgvae.model.prior import own_exemplars
from mgvae.model.vae import VAE, elbo, elbo_with_exemplars
from mgvae.networks import mlp_bodies

WIDTH, LATENT = 6, 3


@pytest.fixture
def vae():
    spans = [Span("x", WIDTH, "sigmoid", "bernoulli")]
    return build(
        lambda: VAE(mlp_bodies(WIDTH, (8,), LATENT), Likelihood(spans), LATENT),
        torch_generator(np.random.SeedSequence(0)),
    ).double()


def test_they_are_components_like_the_others(vae):
    noise = torch.Generator().manual_seed(0)
    rows = torch.rand(4 + 5 + 7, WIDTH, generator=noise, dtype=torch.float64)
    eps = torch.randn(4, LATENT, generator=noise, dtype=torch.float64)
    old = vae.mean(rows[9:]).detach()
    found = elbo_with_exemplars(vae, rows[:9], eps, None, old)
    expected = elbo(vae, rows[:4], eps, centres=vae.mean(rows[4:]))
    torch.testing.assert_close(found.divergence, expected.divergence)
    torch.testing.assert_close(found.reconstruction, expected.reconstruction)
    torch.testing.assert_close(found.centres, vae.mean(rows[4:9]))


def test_memory_keeps_the_latest_without_gradient():
    memory = _Memory(5, torch.device("cpu"))
    assert memory.means is None
    for step in range(4):
        means = torch.full((2, 1), float(step), requires_grad=True)
        memory.add(np.array([10 * step, 10 * step + 1]), means)
    assert memory.positions.tolist() == [30, 31, 20, 21, 10]
    assert memory.means.flatten().tolist() == [3.0, 3.0, 2.0, 2.0, 1.0]
    assert not memory.means.requires_grad
    nothing = _Memory(0, torch.device("cpu"))
    nothing.add(np.array([1]), torch.zeros(1, 1))
    assert nothing.means is None


def test_a_row_is_not_its_own_remembered_exemplar(vae):
    noise = torch.Generator().manual_seed(1)
    rows = torch.rand(6, WIDTH, generator=noise, dtype=torch.float64)
    eps = torch.randn(1, LATENT, generator=noise, dtype=torch.float64)
    batch, exemplars, remembered = np.array([2]), np.array([0, 2]), np.array([2, 5, 3])
    own = own_exemplars(batch, np.concatenate([exemplars, remembered]))
    chosen = rows[np.concatenate([batch, exemplars])]
    found = elbo_with_exemplars(vae, chosen, eps, own, vae.mean(rows[remembered]).detach())
    expected = elbo(vae, rows[batch], eps, centres=vae.mean(rows[[0, 5, 3]]))
    torch.testing.assert_close(found.divergence, expected.divergence)


def test_training_with_them_is_another_training(vae):
    rows = torch.rand(40, WIDTH, generator=torch.Generator().manual_seed(1))
    losses = []
    for n in (0, 30):
        stage = Stage(8, 1e-3, None, 5, 4, leave_one_out=True, n_remembered=n)
        model = copy.deepcopy(vae).float()
        history = pretrain(model, MemoryRows(rows), np.arange(40), stage, np.random.SeedSequence(0))
        losses.append(history.terms["divergence"])
    assert losses[0][0] == losses[1][0]  # nothing to remember yet
    assert losses[0][1] != losses[1][1]
