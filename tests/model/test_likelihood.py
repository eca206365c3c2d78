"""The likelihoods against torch's distributions, and draws against their probabilities."""

import math

import pytest
import torch
from scipy import stats
from torch.distributions import Bernoulli, Independent, Normal, OneHotCategorical

from mgvae.codec import Span
from mgvae.model.likelihood import Likelihood


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(
    ("activation", "function"),
    [("identity", lambda a: a), ("sigmoid", torch.sigmoid), ("tanh", torch.tanh)],
)
def test_gaussian_equals_torchs_normal(activation, function):
    p = Likelihood([Span("x", 4, activation, "gaussian")]).double()
    with torch.no_grad():
        p.log_variance.copy_(randn(4, seed=1))
    x, raw = randn(6, 4), randn(6, 4, seed=2)
    normal = Normal(function(raw), torch.exp(0.5 * p.log_variance))
    torch.testing.assert_close(p.log_prob(x, raw), Independent(normal, 1).log_prob(x))


def test_squared_error_is_the_gaussian_of_variance_one_half_up_to_its_constant():
    x, raw = randn(6, 4), randn(6, 4, seed=2)
    published = Likelihood([Span("x", 4, "tanh", "squared_error")]).log_prob(x, raw)
    normal = Normal(torch.tanh(raw), math.sqrt(0.5))
    constant = 4 * 0.5 * math.log(math.pi)
    torch.testing.assert_close(published - constant, Independent(normal, 1).log_prob(x))


@pytest.mark.parametrize("activation", ["identity", "sigmoid", "tanh"])
def test_the_fast_squared_error_is_the_plain_one(activation):
    p = Likelihood([Span("x", 4, activation, "squared_error")])
    x, raw = randn(6, 4), randn(6, 4, seed=2)
    torch.testing.assert_close(p.log_prob(x, raw, fast=True), p.log_prob(x, raw))


def test_other_likelihoods_and_missing_cells_have_no_fast_form():
    spans = [
        Span("x", 1, "identity", "squared_error", mask=1),
        Span("x is missing", 1, "sigmoid", "bernoulli", True),
    ]
    x, raw = torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([[5.0, 0.0], [5.0, 0.0]])
    others = [
        spans,
        [Span("x", 2, "identity", "gaussian")],
        [Span("x", 2, "softmax", "squared_error")],
    ]
    for p in map(Likelihood, others):
        assert torch.equal(p.log_prob(x, raw, fast=True), p.log_prob(x, raw))


def test_bernoulli_and_categories_equal_torchs():
    p = Likelihood(
        [
            Span("flag", 1, "sigmoid", "bernoulli", True),
            Span("a", 3, "softmax", "categorical", True),
            Span("b", 2, "softmax", "categorical", True),
        ]
    )
    raw = randn(5, 6)
    flag = Bernoulli(logits=raw[:, 0])
    a, b = OneHotCategorical(logits=raw[:, 1:4]), OneHotCategorical(logits=raw[:, 4:])
    torch.manual_seed(0)
    parts = flag.sample(), a.sample(), b.sample()
    x = torch.cat([parts[0][:, None], parts[1], parts[2]], -1)
    expected = flag.log_prob(parts[0]) + a.log_prob(parts[1]) + b.log_prob(parts[2])
    torch.testing.assert_close(p.log_prob(x, raw), expected)
    torch.testing.assert_close(p.mean(raw)[:, 1:4].sum(-1), torch.ones(5, dtype=torch.float64))


def test_a_missing_cell_does_not_count():
    spans = [
        Span("x", 1, "identity", "squared_error", mask=1),
        Span("x is missing", 1, "sigmoid", "bernoulli", True),
    ]
    p = Likelihood(spans)
    raw = torch.tensor([[5.0, 0.0], [5.0, 0.0]])
    x = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    missing, present = p.log_prob(x, raw).tolist()
    assert missing == pytest.approx(math.log(0.5))
    assert present == pytest.approx(math.log(0.5) - 25.0)


def test_draws_follow_their_probabilities():
    p = Likelihood(
        [
            Span("a", 3, "softmax", "categorical", True),
            Span("flag", 1, "sigmoid", "bernoulli", True),
        ]
    )
    raw = torch.tensor([0.0, 1.0, -1.0, 0.7]).expand(20_000, 4)
    x = p.draw(raw, torch.Generator().manual_seed(0), numeric_noise=False)
    expected = p.mean(raw[:1])[0]
    assert (x[:, :3].sum(-1) == 1).all()
    counts = x[:, :3].sum(0).numpy()
    assert stats.chisquare(counts, expected[:3].numpy() * len(x)).pvalue > 1e-3
    assert stats.binomtest(int(x[:, 3].sum()), len(x), expected[3].item()).pvalue > 1e-3


@pytest.mark.parametrize(("likelihood", "sd"), [("squared_error", 0.5**0.5), ("gaussian", 2.0)])
def test_numeric_draws_have_the_likelihoods_spread(likelihood, sd):
    p = Likelihood([Span("x", 1, "identity", likelihood)])
    if likelihood == "gaussian":
        with torch.no_grad():
            p.log_variance.fill_(math.log(4.0))
    raw = torch.full((20_000, 1), 3.0)
    drawn = p.draw(raw, torch.Generator().manual_seed(0), numeric_noise=True)[:, 0]
    assert stats.kstest(drawn.detach().numpy(), stats.norm(3.0, sd).cdf).pvalue > 1e-3
    still = p.draw(raw, torch.Generator().manual_seed(0), numeric_noise=False)
    assert torch.equal(still, raw)


def test_pixels_are_never_drawn_as_black_or_white():
    """Cross-entropy on greys says nothing of their spread, so a pixel is its mean."""
    for size in (1, 3):
        p = Likelihood([Span("image", size, "sigmoid", "bernoulli")])
        raw = randn(5, size)
        drawn = p.draw(raw, torch.Generator().manual_seed(0), numeric_noise=True)
        assert torch.equal(drawn, torch.sigmoid(raw))
