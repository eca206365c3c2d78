"""The Fisher information against its closed form and a loop; the penalty's gradient."""

import numpy as np
import pytest
import torch
from torch import nn

from mgvae.codec import Span
from mgvae.common.rows import MemoryRows
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.mgvae.learning import fisher_of_generated
from mgvae.model.ewc import Consolidation, fisher_diagonal
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE, elbo
from mgvae.networks import mlp_bodies


class Gaussian(nn.Module):
    """A normal distribution with learned mean and log standard deviation."""

    def __init__(self, mean, log_sd):
        super().__init__()
        self.mean = nn.Parameter(torch.tensor(mean, dtype=torch.float64))
        self.log_sd = nn.Parameter(torch.tensor(log_sd, dtype=torch.float64))


def gaussian_log_likelihood(model, x):
    return (-0.5 * ((x - model.mean) / model.log_sd.exp()) ** 2 - model.log_sd).sum()


def test_closed_form_of_a_gaussian():
    """Fisher information is 1/sd² for the mean and 2 for the log standard deviation."""
    model = Gaussian([0.5, -1.0], [0.3, -0.2])
    g = torch.Generator().manual_seed(0)
    n = 200_000
    noise = torch.randn(n, 2, generator=g, dtype=torch.float64)
    x = model.mean.detach() + model.log_sd.detach().exp() * noise
    fisher = fisher_diagonal(model, gaussian_log_likelihood, x, chunk=50_000)
    expected = torch.exp(-2 * model.log_sd.detach())
    torch.testing.assert_close(fisher["mean"], expected, rtol=0.02, atol=0.0)
    torch.testing.assert_close(
        fisher["log_sd"], torch.full((2,), 2.0, dtype=torch.float64), rtol=0.02, atol=0.0
    )


@pytest.mark.parametrize("posterior_variance", ["head", "shared"])
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_equals_a_loop_of_single_sample_gradients(posterior_variance, chunk):
    spans = [
        Span("x", 4, "identity", "gaussian", mask=6),
        Span("c", 2, "softmax", "categorical", True),
        Span("missing", 1, "sigmoid", "bernoulli", True),
    ]
    vae = build(
        lambda: VAE(
            mlp_bodies(7, (6, 5), 3), Likelihood(spans), 3, posterior_variance=posterior_variance
        ),
        torch_generator(np.random.SeedSequence(0)),
    )
    g = torch.Generator().manual_seed(1)
    x, noise = torch.rand(8, 7, generator=g), torch.randn(8, 3, generator=g)
    exemplars = torch.rand(5, 7, generator=g)

    def objective(model, x, noise):
        parts = elbo(model, x[None], noise[None], model.mean(exemplars))
        return (parts.reconstruction - parts.divergence).sum()

    found = fisher_diagonal(vae, objective, x, noise, chunk=chunk)
    expected = {name: torch.zeros_like(p) for name, p in vae.named_parameters()}
    for i in range(8):
        vae.zero_grad()
        objective(vae, x[i], noise[i]).backward()
        for name, p in vae.named_parameters():
            expected[name] += p.grad.square() / 8
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, msg=name)


def test_is_not_the_square_of_a_batch_gradient():
    model = nn.Linear(1, 1, bias=False)
    x = torch.tensor([[1.0], [-1.0]])
    fisher = fisher_diagonal(model, lambda m, x: m(x).sum(), x)
    assert fisher["weight"].item() == 1.0  # the batch's gradient is 0


def test_fisher_of_generated_covers_every_parameter_and_repeats():
    spans = [Span("x", 4, "identity", "gaussian")]
    vae = build(
        lambda: VAE(mlp_bodies(4, (6,), 2), Likelihood(spans), 2),
        torch_generator(np.random.SeedSequence(0)),
    )
    rows = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    one, two = (
        fisher_of_generated(vae, MemoryRows(rows), np.arange(20), 7, 5, np.random.SeedSequence(1))
        for _ in range(2)
    )
    assert set(one) == {name for name, _ in vae.named_parameters()}
    for name, value in one.items():
        assert torch.equal(value, two[name])
        assert (value >= 0).all()


def test_penalty_and_its_gradient_by_finite_differences():
    model = nn.Linear(3, 2).double()
    g = torch.Generator().manual_seed(0)
    fisher = {
        name: torch.rand(p.shape, generator=g, dtype=p.dtype)
        for name, p in model.named_parameters()
    }
    ewc = Consolidation(model, fisher, weight=0.7)
    assert ewc.penalty(model).item() == 0.0
    moved = [
        (p.detach() + torch.randn(p.shape, generator=g, dtype=p.dtype)).requires_grad_()
        for p in model.parameters()
    ]

    def penalty(weight, bias):
        class Moved:
            def named_parameters(self):
                return [("weight", weight), ("bias", bias)]

        return ewc.penalty(Moved())

    by_hand = 0.7 * sum(
        (fisher[name] * (m - p).square()).sum()
        for m, (name, p) in zip(moved, model.named_parameters(), strict=True)
    )
    torch.testing.assert_close(penalty(*moved), by_hand)
    assert torch.autograd.gradcheck(penalty, moved)
