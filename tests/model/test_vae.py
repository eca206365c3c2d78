"""The objective against the exact evidence of a linear-Gaussian model."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import MultivariateNormal, Normal

from mgvae.codec import Span
from mgvae.common.runtime import build, torch_generator
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE, elbo, elbo_with_exemplars
from mgvae.networks import Bodies, mlp_bodies

WIDTH, LATENT = 3, 2


@pytest.fixture
def linear():
    """A model x = Wz + noise with a linear encoder, in float64."""
    g = torch.Generator().manual_seed(3)
    bodies = Bodies(nn.Identity(), WIDTH, nn.Linear(LATENT, WIDTH))
    spans = [Span("x", WIDTH, "identity", "gaussian")]
    vae = VAE(bodies, Likelihood(spans), LATENT, prior="standard").double()
    with torch.no_grad():
        for p in vae.parameters():
            p.copy_(torch.randn(p.shape, generator=g, dtype=torch.float64) * 0.7)
    return vae


def exact_posterior(vae, centres, variance, x):
    """Posterior of z and log-evidence of x for each Gaussian component of the prior."""
    W, b = vae.decoder.weight, vae.decoder.bias
    noise = torch.diag(torch.exp(vae.likelihood.log_variance))
    precision = torch.eye(LATENT, dtype=x.dtype) / variance + W.T @ noise.inverse() @ W
    covariance = precision.inverse()
    evidence = torch.stack(
        [MultivariateNormal(W @ c + b, noise + variance * W @ W.T).log_prob(x) for c in centres], -1
    )
    means = torch.stack(
        [((x - b) @ noise.inverse() @ W + c / variance) @ covariance for c in centres], -2
    )
    return means, covariance, evidence.logsumexp(-1) - math.log(len(centres))


def average(vae, x, centres, n=20_000):
    noise = torch.randn(n, LATENT, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    parts = elbo(vae, x.expand(n, -1), noise, centres)
    values = parts.reconstruction - parts.divergence
    return values.mean().item(), values.std().item() / math.sqrt(n)


@pytest.mark.parametrize("prior", ["standard", "majority"])
@torch.no_grad()
def test_never_above_the_exact_evidence(linear, prior):
    linear.prior = prior
    exemplars = torch.tensor([[1.0, 0.0, 2.0], [-1.0, 0.5, 0.0]], dtype=torch.float64)
    centres = linear.mean(exemplars)
    origin = torch.zeros(1, LATENT, dtype=torch.float64)
    means, variance = (origin, 1.0) if prior == "standard" else (
        centres, torch.exp(linear.log_variance).item()
    )  # fmt: skip
    for x in torch.randn(5, WIDTH, generator=torch.Generator().manual_seed(1)).double():
        _, _, evidence = exact_posterior(linear, means, variance, x)
        value, error = average(linear, x, centres)
        assert value <= evidence.item() + 4 * error


@torch.no_grad()
def test_equal_to_the_evidence_at_the_true_posterior(linear):
    """With one exemplar the true posterior is Gaussian, and diagonal if W's columns are."""
    linear.prior = "majority"
    linear.decoder.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
    x = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    exemplar = torch.tensor([[1.0, 0.0, 2.0]], dtype=torch.float64)
    centres = linear.mean(exemplar)
    variance = torch.exp(linear.log_variance).item()
    means, covariance, evidence = exact_posterior(linear, centres, variance, x)
    # Make the encoder's answer for x the true posterior, and nothing else.
    linear.mean_head.weight.zero_()
    linear.mean_head.bias.copy_(means[0])
    linear.log_variance_head.weight.zero_()
    linear.log_variance_head.bias.copy_(covariance.diagonal().log())
    noise = torch.randn(7, LATENT, dtype=torch.float64)
    parts = elbo(linear, x.expand(7, -1), noise, centres)
    values = parts.reconstruction - parts.divergence  # the same for every draw
    torch.testing.assert_close(values, evidence.expand(7))


@pytest.mark.parametrize("posterior_variance", ["head", "shared"])
def test_one_pass_equals_two(posterior_variance):
    spans = [Span("x", 6, "identity", "gaussian")]
    vae = build(
        lambda: VAE(
            mlp_bodies(6, (8, 8), 3), Likelihood(spans), 3, posterior_variance=posterior_variance
        ),
        torch_generator(np.random.SeedSequence(0)),
    )
    rows, noise = torch.randn(4 + 5, 6), torch.randn(4, 3)
    together = elbo_with_exemplars(vae, rows, noise)
    apart = elbo(vae, rows[:4], noise, vae.mean(rows[4:]))
    torch.testing.assert_close(together.reconstruction, apart.reconstruction)
    torch.testing.assert_close(together.divergence, apart.divergence)


def test_divergence_is_log_q_minus_log_p():
    spans = [Span("x", 6, "identity", "gaussian")]
    vae = VAE(mlp_bodies(6, (8, 8), 3), Likelihood(spans), 3, prior="standard")
    x, noise = torch.randn(4, 6), torch.randn(4, 3)
    features = vae.encoder(x)
    mean, sd = vae.mean_head(features), torch.exp(0.5 * vae.log_variance_head(features))
    z = mean + sd * noise
    expected = Normal(mean, sd).log_prob(z).sum(-1) - Normal(0.0, 1.0).log_prob(z).sum(-1)
    torch.testing.assert_close(elbo(vae, x, noise, mean).divergence, expected)
