"""The priors against torch's own mixture and a double loop."""

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from mgvae.model.prior import (
    log_majority_mixture,
    log_standard_normal,
    own_exemplars,
    responsibilities,
)

shapes = st.tuples(st.integers(1, 7), st.integers(1, 9), st.integers(1, 6), st.integers(0, 2**31))


def drawn(shape):
    n, s, d, seed = shape
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(n, d, generator=g, dtype=torch.float64) * 2
    means = torch.randn(s, d, generator=g, dtype=torch.float64) * 2
    return z, means, torch.randn((), generator=g, dtype=torch.float64)


def torch_mixture(means, log_variance):
    scale = torch.exp(0.5 * log_variance).expand_as(means)
    return MixtureSameFamily(
        Categorical(torch.ones(len(means), dtype=means.dtype)), Independent(Normal(means, scale), 1)
    )


@given(shapes)
def test_mixture_equals_torchs_mixture_of_normals(shape):
    z, means, log_variance = drawn(shape)
    expected = torch_mixture(means, log_variance).log_prob(z)
    torch.testing.assert_close(log_majority_mixture(z, means, log_variance), expected)


@given(shapes)
def test_leave_one_out_equals_a_double_loop(shape):
    z, means, log_variance = drawn(shape)
    rng = np.random.default_rng(shape[3])
    rows = max(4, len(z))
    batch, exemplars = rng.permutation(rows)[: len(z)], rng.integers(0, rows, len(means))
    own = own_exemplars(batch, exemplars)
    found = log_majority_mixture(z, means, log_variance, own)
    s2, d = math.exp(log_variance), z.shape[1]
    for i in range(len(z)):
        kept = [n for n in range(len(means)) if exemplars[n] != batch[i]] or range(len(means))
        densities = [
            math.exp(-float((z[i] - means[n]).square().sum()) / (2 * s2))
            / (2 * math.pi * s2) ** (d / 2)
            for n in kept
        ]
        expected = math.log(max(sum(densities) / len(densities), 1e-300))
        if expected > -600:
            assert math.isclose(found[i].item(), expected, rel_tol=1e-8, abs_tol=1e-8)


def test_far_codes_and_tiny_variances_stay_finite():
    z = torch.full((1, 3), 1e3)
    density = log_majority_mixture(z, torch.zeros(2, 3), torch.tensor(-10.0))
    assert torch.isfinite(density).all()


def test_standard_normal_equals_torchs():
    z = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    expected = Independent(Normal(torch.zeros(4), torch.ones(4)), 1).log_prob(z)
    torch.testing.assert_close(log_standard_normal(z), expected)


@given(shapes)
def test_responsibilities_are_bayes_rule(shape):
    z, means, log_variance = drawn(shape)
    scale = torch.exp(0.5 * log_variance)
    joint = Independent(Normal(means, scale.expand_as(means)), 1).log_prob(z[:, None])
    expected = (joint - joint.logsumexp(-1, keepdim=True)).exp()
    torch.testing.assert_close(responsibilities(z, means, log_variance), expected)
