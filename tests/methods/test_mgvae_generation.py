"""The ways to generate: exemplars near the minority, the bridge, rejection."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_digits, make_classification

from mgvae import MGVAE
from mgvae.codec import Span
from mgvae.common.rows import MemoryRows
from mgvae.common.runtime import torch_generator
from mgvae.errors import ParameterError
from mgvae.methods.mgvae.bridge import (
    GUIDE_BLUR,
    Sums,
    build_bridge,
    choose_guides,
    cross,
    guides_to_store,
    nearest,
)
from mgvae.methods.mgvae.generation import BLUR, draw_anchors, exemplars_near, plausibility
from mgvae.methods.mgvae.generators import Manner, Translator
from mgvae.methods.mgvae.weight import choose_ewc_weight
from mgvae.methods.settings import Stage
from mgvae.model.likelihood import Likelihood
from mgvae.model.prior import responsibilities
from mgvae.model.vae import VAE
from mgvae.networks import mlp_bodies
from tests.expert import expert
from tests.stored import with_stored_guides

SHORT = {"pretrain_steps": 60, "finetune_steps": 40}
MODES = ("translate", "responsibility", "bridge")

SPANS = [
    Span("a", 1, "identity", "gaussian", mask=2),
    Span("b", 1, "identity", "gaussian"),
    Span("a is missing", 1, "sigmoid", "bernoulli", discrete=True),
    Span("colour", 3, "softmax", "categorical", discrete=True),
]


def small_vae(seed=0, latent=2):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return VAE(mlp_bodies(6, (8, 8), latent), Likelihood(SPANS), latent)


def rows_of(n, seed):
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, 6), np.float32)
    rows[:, :2] = rng.standard_normal((n, 2))
    rows[:, 2] = rng.random(n) < 0.3
    rows[rows[:, 2] == 1, 0] = 0.0
    rows[np.arange(n), 3 + rng.integers(3, size=n)] = 1.0
    return torch.from_numpy(rows)


@given(st.integers(0, 2**16), st.integers(1, 4), st.integers(1, 6))
def test_exemplars_are_drawn_by_their_responsibilities(seed, n_codes, n_centres):
    generator = torch.Generator().manual_seed(seed)
    codes = torch.randn(n_codes, 2, generator=generator)
    centres = torch.randn(n_centres, 2, generator=generator)
    which = np.repeat(np.arange(n_codes), 400)
    rng = np.random.default_rng(seed)
    drawn = exemplars_near(codes, rng.permuted(which), centres, torch.tensor(0.3), rng)
    expected = responsibilities(codes, centres, torch.tensor(0.3)).double().mean(0).numpy()
    counts = np.bincount(drawn, minlength=n_centres)
    likely = expected * len(which) > 5
    if likely.sum() > 1:
        share = expected[likely] / expected[likely].sum()
        found = stats.chisquare(counts[likely], share * counts[likely].sum())
        assert found.pvalue > 1e-7


def test_each_code_has_its_own_exemplars_whatever_the_size_of_the_blocks(monkeypatch):
    codes, centres = torch.eye(5) * 50, torch.eye(5)[[3, 1, 4, 0, 2]] * 50
    which = np.array([4, 0, 0, 2, 3, 1, 4])
    for numbers in (1, 12, 2**22):
        monkeypatch.setattr("mgvae.methods.mgvae.generation._CACHED", numbers)
        drawn = exemplars_near(codes, which, centres, torch.tensor(0.0), np.random.default_rng(0))
        assert [[3, 1, 4, 0, 2][n] for n in drawn] == which.tolist()


def test_of_very_many_anchors_each_is_as_likely_but_a_call_takes_few(monkeypatch):
    monkeypatch.setattr("mgvae.methods.mgvae.generation._MOST_ANCHORS", 10)
    rng = np.random.default_rng(0)
    calls = [draw_anchors(25, 40, rng) for _ in range(2_000)]
    assert all(len(np.unique(call)) <= 10 for call in calls)
    # Draws of a call depend on each other: only the calls' first ones are independent.
    counts = np.bincount([call[0] for call in calls], minlength=25)
    assert stats.chisquare(counts).pvalue > 1e-4
    few = draw_anchors(10, 40, np.random.default_rng(1))
    assert few.tolist() == np.random.default_rng(1).integers(10, size=40).tolist()


@given(st.integers(0, 2**16), st.integers(2, 12))
def test_nearest_equals_a_sort_of_all_distances(seed, n):
    codes = torch.randn(n, 3, generator=torch.Generator().manual_seed(seed))
    found = nearest(codes, codes, min(3, n - 1), same=True)
    for i in range(n):
        others = sorted(range(n), key=lambda j: float((codes[i] - codes[j]).square().sum()))
        others.remove(i)
        assert found[i].tolist() == others[: found.shape[1]]


def a_bridge(vae, rows, minority, majority, seed=0):
    """The bridge of a model that has learned the majority too, and its guides."""
    held, seeds = MemoryRows(rows), np.random.SeedSequence(seed)
    guides = choose_guides(vae, held, majority, SPANS, seeds)
    return build_bridge(vae, held, minority, guides, SPANS), guides


@pytest.mark.parametrize("stored", [False, True])
def test_bridge_is_its_formula(stored):
    vae, rows = small_vae(), rows_of(40, 1)
    minority, majority = np.arange(6), np.arange(6, 40)
    bridge, _ = a_bridge(vae, rows, minority, majority)
    if stored:
        centres, sums = guides_to_store(vae, bridge)
        bridge = replace(bridge, centres=centres, differences=Sums(sums))
    anchors, guides = np.array([0, 5, 3]), np.array([2, 0, len(bridge.centres) - 1])
    made = cross(vae, bridge, anchors, guides, np.random.SeedSequence(7), temperature=2.0)

    generator = torch_generator(np.random.SeedSequence(7))
    noise = torch.randn(3, 2, generator=generator)
    a, b, chances = torch.rand(3, 3, 1, generator=generator)
    with torch.no_grad():
        for i, (m, g) in enumerate(zip(anchors, guides, strict=True)):
            x_m = rows[minority[m]]
            u, c = vae.mean(x_m[None])[0], bridge.centres[g]
            features = vae.encoder(x_m[None])
            sigma = torch.exp(0.5 * vae.log_posterior_variance(features, u[None]))[0]
            z = u + 0.5 * a[i] * (c - u) + 0.3 * 2.0 * sigma * noise[i]
            f = [vae.likelihood.mean(vae.decoder(code[None]))[0] for code in (z, u)]
            apart = sums[g] if stored else difference(vae, rows[majority], g, float(chances[i]))
            expected = f[0] + (x_m - f[1]) + 0.75 * b[i] * apart
            torch.testing.assert_close(made[i, 1], expected[1])
            if x_m[2] == 1.0:  # the value is missing: its placeholder says nothing
                expected[0] -= x_m[0] - f[1][0]
            torch.testing.assert_close(made[i, 0], expected[0])
        assert set(made[:, 2:].unique().tolist()) <= {0.0, 1.0}
        assert made[:, 3:].sum(1).tolist() == [1.0, 1.0, 1.0]


def difference(vae, x, guide, chance):
    """What is between a guide and one of its ten neighbours; a missing cell tells nothing."""
    codes = vae.mean(x)
    order = (codes - codes[guide]).square().sum(1).argsort()
    other = order[order != guide][int(10 * chance)]
    apart = x[other] - x[guide]
    if x[guide, 2] == 1.0 or x[other, 2] == 1.0:
        apart[0] = 0.0
    return apart


def test_every_neighbour_is_drawn_alike():
    vae, rows = small_vae(), rows_of(60, 2)
    bridge, _ = a_bridge(vae, rows, np.arange(10), np.arange(10, 60))
    chances = (torch.arange(50) + 0.5) / 50
    taken = bridge.differences.take(np.full(50, 7), chances)
    with torch.no_grad():
        expected = [difference(vae, rows[10:], 7, (i + 0.5) / 10) for i in range(10)]
    assert torch.equal(taken, torch.stack(expected).repeat_interleave(5, 0))
    bounds = bridge.differences.take(np.full(2, 7), torch.tensor([0.0, 1.0]))
    assert torch.equal(bounds, taken[[0, -1]])


def test_a_majority_of_one_row_has_no_differences():
    vae, rows = small_vae(), rows_of(11, 2)
    bridge, _ = a_bridge(vae, rows, np.arange(10), np.array([10]))
    assert not bridge.differences.take(np.zeros(3, int), torch.rand(3)).any()
    assert torch.isfinite(guides_to_store(vae, bridge)[1]).all()


def test_stored_sums_have_the_second_moments_of_differences_between_neighbours(monkeypatch):
    vae, rows = small_vae(), rows_of(60, 2)
    majority = np.arange(10, 60)
    bridge, _ = a_bridge(vae, rows, np.arange(10), majority)
    seeds = iter(np.random.SeedSequence(0).spawn(1200))
    monkeypatch.setattr("mgvae.methods.mgvae.bridge.secret_seeds", lambda *_: next(seeds))
    monkeypatch.setattr("mgvae.methods.mgvae.bridge.own_order", lambda n, _: torch.arange(n))
    drawn = torch.stack([guides_to_store(vae, bridge)[1] for _ in range(600)])
    with torch.no_grad():
        codes = vae.mean(rows[majority])
    near = nearest(codes, codes, 10, same=True)
    x = rows[majority]
    noise = torch.diag(torch.cat([0.1 * x[:, :2].std(0, correction=0), torch.zeros(4)]) ** 2)
    missing = int(x[:, 2].argmax())
    for guide in (0, 7, 31, missing):
        there = 1 - x[near[guide], 2]
        mean = x[near[guide]].mean(0)
        mean[0] = (there * x[near[guide], 0]).sum() / there.sum()
        apart = x[near[guide]] - mean  # the guide itself is not in its sum
        apart[:, 0] *= there
        expected = 2 * apart.T @ apart / 9 + noise
        for one, other in ((slice(0, 2), slice(2, 6)), (slice(2, 3), slice(3, 6))):
            expected[one, other] = expected[other, one] = 0.0  # each category has its own weights
        found = drawn[:, guide].T @ drawn[:, guide] / len(drawn)
        scale = expected.diagonal().clamp(min=1e-6).sqrt()
        assert ((found - expected) / scale / scale[:, None]).abs().max() < 0.25
        # None is a difference between two rows.
        differences = x[near[guide]] - x[guide]
        assert (drawn[:, guide, None] - differences).abs().amax(-1).min() > 1e-4


def test_guides_are_latent_means_and_stored_ones_are_blurred_and_in_another_order(monkeypatch):
    vae, rows = small_vae(), rows_of(2_000, 3)
    bridge, guides = a_bridge(vae, rows, np.arange(10), np.arange(10, 2_000))
    assert guides.positions.tolist() == [*range(10, 2_000)]
    with torch.no_grad():
        means = vae.mean(rows[10:])
        torch.testing.assert_close(bridge.centres, means)
        shuffled = guides_to_store(vae, bridge)
        monkeypatch.setattr("mgvae.methods.mgvae.bridge.own_order", lambda n, _: torch.arange(n))
        ordered = guides_to_store(vae, bridge)
        noise = ordered[0] - means
        s = torch.exp(0.5 * vae.log_variance)
    assert float(noise.std()) == pytest.approx(GUIDE_BLUR * float(s), rel=0.05)
    places = torch.cdist(shuffled[0], ordered[0]).argmin(1)
    assert abs(np.corrcoef(places, np.arange(len(places)))[0, 1]) < 0.1
    for one, other in zip(shuffled, ordered, strict=True):  # means and sums go together
        assert torch.equal(one, other[places])


def test_translations_of_blurred_means_are_those_of_algorithm_1():
    """The noise that is left makes the codes as wide as one draw around the exact mean."""
    vae = small_vae()
    s = float(torch.exp(0.5 * vae.log_variance.detach()))
    for temperature in (BLUR, 1.0, 2.0):
        manner = Manner(temperature, "mean", 0.0)
        one = Translator(vae, torch.zeros(5, 2), np.arange(5), None, manner, is_blurred=True)
        left = one._remaining * s
        assert np.hypot(left, BLUR * s) == pytest.approx(temperature * s)
        exact = replace(one, is_blurred=False)
        assert exact._remaining == pytest.approx(temperature)


def test_moved_means_are_realised_within_their_range():
    likelihood = Likelihood(SPANS)
    mean = torch.tensor([[5.0, -3.0, 1.4, 0.6, -0.2, 0.2]]).repeat(4000, 1)
    made = likelihood.realise(mean, torch.Generator().manual_seed(0))
    assert (made[:, 0] == 5.0).all()
    assert (made[:, 2] == 1.0).all()
    counts = made[:, 3:].sum(0).numpy()
    assert counts[1] == 0
    assert stats.binomtest(int(counts[0]), 4000, 0.75).pvalue > 1e-6


@pytest.mark.parametrize("mode", MODES)
def test_provenance_with_several_classes(mode):
    X, y = make_classification(
        400, n_informative=6, n_classes=3, weights=[0.85, 0.1], random_state=0
    )
    sampler = MGVAE(random_state=0, generation=mode, **SHORT)
    _, labels = sampler.fit_resample(X, y)
    new = slice(len(y), None)
    assert (y[sampler.source_indices_[new]] == 0).all()
    anchors = sampler.anchor_indices_
    assert (anchors[: len(y)] == np.arange(len(y))).all()
    if mode == "bridge":
        assert (y[anchors[new]] == labels[new]).all()
    else:
        assert (anchors[new] == -1).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("images", [False, True])
def test_every_mode_survives_a_model_file(mode, images, tmp_path):
    if images:
        digits = load_digits()
        kept = np.r_[np.flatnonzero(digits.target == 0), np.flatnonzero(digits.target == 1)[:9]]
        X, y = digits.images[kept], digits.target[kept]
    else:
        X, y = make_classification(200, weights=[0.9], random_state=0)
    sampler = MGVAE(random_state=0, generation=mode, rejection=0.2, **SHORT).fit(X, y)
    sampler.save(tmp_path / "model.safetensors")
    again = MGVAE.load(tmp_path / "model.safetensors")
    stored = with_stored_guides(sampler)
    for made, remade in zip(
        (stored.generate(20, 1, 5), stored.translate(X[:6], 1, 5)),
        (again.generate(20, 1, 5), again.translate(X[:6], 1, 5)),
        strict=True,
    ):
        np.testing.assert_array_equal(made, remade)
        assert made.shape[1:] == X.shape[1:]
    assert sampler.generate(20, 1, 5).min() >= X.min()


def test_rows_that_are_kept_are_the_most_plausible():
    X, y = make_classification(300, weights=[0.9], random_state=0)
    usual = MGVAE(random_state=0, generation="translate", **SHORT).fit(X, y)
    strict = MGVAE(random_state=0, generation="translate", rejection=0.5, **SHORT).fit(X, y)
    generator = usual.state_.generators[1]
    scores = [
        plausibility(generator.vae, made.encoded, generator.centres).mean().item()
        for made in (
            s.state_.generators[1].generate(400, np.random.SeedSequence(1)) for s in (usual, strict)
        )
    ]
    assert strict.generate(37, 1).shape == (37, 20)
    assert scores[1] > scores[0]


def test_bridge_needs_the_majority_mixture():
    X, y = make_classification(200, weights=[0.9], random_state=0)
    with pytest.raises(ParameterError, match="generation='bridge'"):
        expert({"prior": "standard"}, generation="bridge", **SHORT).fit(X, y)


@pytest.mark.parametrize("n", [1, 2])
def test_bridge_from_one_or_two_rows_of_a_class(n):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.r_[np.zeros(40 - n, int), np.ones(n, int)]
    made, labels = MGVAE(random_state=0, **SHORT).fit_resample(X, y)
    assert np.bincount(labels).tolist() == [40 - n, 40 - n]
    assert np.isfinite(made).all()


def test_weight_of_the_penalty_is_the_one_that_tells_rows_held_out_from_the_majority():
    """A weight under which nothing can move loses where the minority is not the majority."""
    vae, rows = small_vae(), rows_of(200, 3)
    minority, majority = np.arange(40), np.arange(40, 200)
    rows[minority, :2] += 3.0
    fisher = {name: torch.ones_like(p) for name, p in vae.named_parameters()}
    stage = Stage(120, 5e-3, None, 32, 32)
    choose = partial(
        choose_ewc_weight, vae, fisher, MemoryRows(rows), minority, majority, stage,
        fraction=0.2, patience=100,
    )  # fmt: skip
    for candidates in ((0.0, 1e-3, 1e4), (1e-3, 1e4)):
        chosen = choose(np.random.SeedSequence(0), candidates=candidates)
        assert chosen == choose(np.random.SeedSequence(0), candidates=candidates)
        assert chosen < 1e4
    assert choose(np.random.SeedSequence(0), candidates=(7.0,)) == 7.0


def test_few_rows_take_the_middle_weight_and_a_number_is_kept():
    X, y = make_classification(150, weights=[0.9], random_state=0)
    assert MGVAE(random_state=0, **SHORT).fit(X, y).ewc_weights_ == {"1": 1.0}
    assert MGVAE(random_state=0, ewc_weight=7, **SHORT).fit(X, y).ewc_weights_ == {"1": 7.0}
