"""Algorithms 1 and 2: uniform exemplars, provenance, and what the penalty holds in place."""

import copy

import numpy as np
import pytest
import torch
from scipy import stats

from mgvae import MGVAE
from mgvae.codec import Span
from mgvae.common.rows import MemoryRows
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.mgvae.generation import generate, latent_means, translate
from mgvae.methods.mgvae.learning import (
    EarlyStopping,
    finetune,
    fisher_of_generated,
    pretrain,
)
from mgvae.methods.settings import Stage
from mgvae.model.ewc import Consolidation
from mgvae.model.kernels import DenseStep
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE
from mgvae.networks import mlp_bodies

MAJORITY, MINORITY = np.arange(150), np.arange(150, 180)


def seeds(n=0):
    return np.random.SeedSequence(n)


def stage(steps, rate=2e-3, **more):
    return Stage(steps, rate, None, batch_size=32, n_exemplars=24, **more)


@pytest.fixture(scope="module")
def rows():
    g = torch.Generator().manual_seed(0)
    codes = torch.randn(180, 2, generator=g)
    x = codes @ torch.randn(2, 6, generator=g) + 0.1 * torch.randn(180, 6, generator=g)
    x[150:] += 1.5
    return MemoryRows(x)


def fresh(prior="majority"):
    spans = [Span("x", 6, "identity", "gaussian")]
    return build(
        lambda: VAE(mlp_bodies(6, (16, 16), 2), Likelihood(spans), 2, prior),
        torch_generator(seeds(5)),
    )


@pytest.fixture(scope="module")
def pretrained(rows):
    vae = fresh()
    pretrain(vae, rows, MAJORITY, stage(200, leave_one_out=True), seeds(1))
    return vae


def test_pretraining_raises_the_likelihood(rows):
    history = pretrain(fresh(), rows, MAJORITY, stage(300, leave_one_out=True), seeds(1))
    assert np.mean(history.terms["loss"][-30:]) < np.mean(history.terms["loss"][:30]) - 1.0
    assert set(history.terms) == {"loss", "reconstruction", "divergence"}
    for loss, a, b in zip(*history.terms.values(), strict=True):
        assert loss == pytest.approx(a + b, rel=1e-5, abs=1e-4)


def test_a_huge_weight_holds_the_important_weights_and_zero_does_not(rows, pretrained):
    fisher = fisher_of_generated(pretrained, rows, MAJORITY, 40, 24, seeds(2))
    before = {name: p.detach().clone() for name, p in pretrained.named_parameters()}

    def moved(weight):
        vae = copy.deepcopy(pretrained)
        penalty = Consolidation(vae, fisher, weight)
        finetune(vae, rows, MINORITY, MAJORITY, stage(150, 1e-3), seeds(3), consolidation=penalty)
        return sum(
            float((fisher[name] * (p - before[name]).square()).sum().detach())
            for name, p in vae.named_parameters()
        )

    free, held = moved(0.0), moved(1e6)
    assert held < 1e-3 * free


def test_importance_is_that_of_single_gradients_by_autograd(rows, pretrained, monkeypatch):
    vae = copy.deepcopy(pretrained)
    found = fisher_of_generated(vae, rows, MAJORITY, 20, 24, seeds(2))
    assert all(p.grad is None for p in vae.parameters())
    monkeypatch.setattr(DenseStep, "suits", lambda _: False)
    expected = fisher_of_generated(vae, rows, MAJORITY, 20, 24, seeds(2))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-6 * float(value.max()))


def test_finetuning_moves_the_model_to_the_minority(rows, pretrained):
    vae = copy.deepcopy(pretrained)
    history = finetune(vae, rows, MINORITY, MAJORITY, stage(300), seeds(3))
    made, _ = generate(vae, latent_means(vae, rows, MAJORITY), 400, seeds(4))
    target, origin = rows.take(MINORITY).mean(0), rows.take(MAJORITY).mean(0)
    assert (made.mean(0) - target).norm() < 0.3 * (origin - target).norm()
    assert history.terms["loss"][-1] < history.terms["loss"][0]


def test_early_stopping_holds_rows_out_and_keeps_the_best(rows, pretrained):
    vae = copy.deepcopy(pretrained)
    stopping = EarlyStopping(MINORITY[:6], every=5, patience=4)
    history = finetune(
        vae, rows, MINORITY[6:], MAJORITY, stage(600, 2e-2), seeds(3), early_stopping=stopping
    )
    assert history.validation[-1][0] == history.steps
    best = min(history.validation, key=lambda seen: seen[1])
    assert history.best_step == best[0]
    assert history.stopped_early == (history.steps < 600)


def test_exemplars_are_drawn_uniformly(rows, pretrained):
    centres = latent_means(pretrained, rows, MAJORITY)
    _, sources = generate(pretrained, centres, 30_000, seeds(6))
    counts = np.bincount(sources, minlength=len(MAJORITY))
    assert stats.chisquare(counts).pvalue > 1e-3


def test_without_noise_a_row_is_the_translation_of_its_source(rows, pretrained):
    centres = latent_means(pretrained, rows, MAJORITY)
    made, sources = generate(pretrained, centres, 50, seeds(7), temperature=0.0)
    again = translate(pretrained, centres[sources], seeds(8), temperature=0.0)
    assert torch.equal(made, again)


def test_latent_noise_has_the_priors_spread(pretrained):
    vae = copy.deepcopy(pretrained)
    vae.decoder = torch.nn.Linear(2, 6, bias=False)
    with torch.no_grad():
        vae.decoder.weight.zero_()
        vae.decoder.weight[0, 0] = vae.decoder.weight[1, 1] = 1.0  # x shows z itself
        vae.log_variance.fill_(np.log(0.25))
    centres = torch.tensor([[3.0, -1.0]]).expand(20_000, 2)
    made = translate(vae, centres, seeds(9), temperature=2.0)
    for column, mean in [(0, 3.0), (1, -1.0)]:
        found = stats.kstest(made[:, column].numpy(), stats.norm(mean, 2.0 * 0.5).cdf)
        assert found.pvalue > 1e-3


def test_the_standard_prior_has_no_sources(rows):
    vae = fresh("standard")
    pretrain(vae, rows, MAJORITY, stage(20), seeds(1))
    made, sources = generate(vae, latent_means(vae, rows, MAJORITY), 12, seeds(2))
    assert made.shape == (12, 6)
    assert (sources == -1).all()


def test_only_the_rows_that_are_drawn_are_taken(rows):
    """Training must work on a file larger than memory: it may only touch the rows it draws."""

    class Watched:
        width = rows.width
        taken = 0

        def __len__(self):
            return len(rows)

        def take(self, positions, out=None):
            self.taken += len(positions)
            return rows.take(positions, out)

    watched = Watched()
    pretrain(fresh(), watched, MAJORITY, stage(3), seeds(0))
    assert watched.taken == 3 * (32 + 24)


def test_fine_tuning_the_decoder_alone_leaves_every_code_where_it_was():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.repeat([0, 1], [70, 20])
    sampler = MGVAE(random_state=0, pretrain_steps=20, finetune_steps=20, generation="translate")
    sampler.expert_settings = {"moved": "decoder"}
    model = sampler.set_params(sampling_strategy={0: 80, 1: 80}).fit(X, y)
    before, after = (model.state_.generators[code].vae for code in (0, 1))
    for name, weight in before.state_dict().items():
        moved = not torch.equal(weight, after.state_dict()[name])
        assert moved == name.startswith(("decoder", "likelihood")), name
