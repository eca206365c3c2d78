"""A conditional GAN learns what it is told to: moments of known mixtures, class by class."""

import numpy as np
import pytest
import torch

from mgvae import CGAN, CVAE
from mgvae.codec import Span
from mgvae.common.rows import MemoryRows
from mgvae.methods.cgan import GAN, fit_adversarial
from mgvae.methods.cvae import batches
from mgvae.methods.settings import Stage
from mgvae.model.likelihood import Likelihood
from mgvae.networks import mlp


@pytest.fixture(scope="module")
def mixture():
    """Two Gaussian classes, means 0 and 3, of which one has a tenth of the rows."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (2000, 4)), rng.normal(3, 1, (200, 4))])
    return X, np.repeat([0, 1], [2000, 200])


def test_the_minority_has_the_means_and_the_spreads_of_its_class(mixture):
    X, y = mixture
    made = CGAN(random_state=0, hidden_sizes=(128, 128)).fit(X, y).generate(2000, 1)
    np.testing.assert_allclose(made.mean(0), X[y == 1].mean(0), atol=0.3)
    np.testing.assert_allclose(made.std(0), X[y == 1].std(0), atol=0.3)


def test_classes_are_drawn_equally_often_and_rows_within_a_class_too():
    codes = np.repeat([0, 2, 1], [50, 5, 1])
    draw = batches(codes, 3, 30, np.random.default_rng(0), balanced=True)
    drawn = np.concatenate([draw() for _ in range(400)])
    assert np.array_equal(np.bincount(codes[drawn]), [4000, 4000, 4000])
    counts = np.bincount(drawn)
    np.testing.assert_allclose(counts[:50], 80, atol=45)
    np.testing.assert_allclose(counts[50:55], 800, atol=120)


def test_the_penalty_is_the_squared_slope_of_the_discriminator():
    """With a linear discriminator w·x + b the slope is w, at every row: gamma |w|^2 in all."""
    gan = GAN(
        mlp([1 + 1, 3]), mlp([3 + 1, 1]), Likelihood([Span("x", 3, "identity", "squared_error")]), 1
    )
    rows = MemoryRows(torch.randn(20, 3, generator=torch.Generator().manual_seed(0)))
    w = gan.discriminator[0].weight[0, :3].detach().clone()
    stage = Stage(steps=1, learning_rate=1e-9, schedule=None, batch_size=20)
    history = fit_adversarial(
        gan, rows, np.zeros(20, np.int64), 1, stage, np.random.SeedSequence(0),
        gradient_penalty=0.7,
    )  # fmt: skip
    found = history.terms["penalised"][0] - history.terms["discriminator"][0]
    assert found == pytest.approx(0.7 * float(w.square().sum()), rel=1e-4)


def test_the_published_recipe_is_still_there():
    published = CGAN(recipe="paper")
    settings = published.method_of({
        "network": "mlp", "network_width": 0.25, "hidden_sizes": (4,), "noise_size": 2,
        "batch_size": 8, "steps": 1, "learning_rate": 2e-4, "schedule": "constant",
        "clip_norm": None, "on_collapse": "warn",
    }).settings  # fmt: skip
    assert not settings.balanced  # as in files that do not know the setting
    assert settings.gradient_penalty == 0.0
    assert settings.batch_norm
    assert CVAE().balanced


@pytest.mark.parametrize(("recipe", "sees_others"), [("default", False), ("paper", True)])
def test_a_penalised_discriminator_judges_each_image_by_itself(recipe, sees_others):
    images = np.random.default_rng(0).random((40, 12, 12), dtype=np.float32)
    sampler = CGAN(network="dcgan", recipe=recipe, steps=2, on_collapse="warn", random_state=0)
    sampler.fit(images, np.repeat([0, 1], [30, 10]))
    discriminator = sampler.state_.generators[1].gan.discriminator.train()
    rows = torch.rand(12, 144 + 2, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        alone, together = discriminator(rows[:6]), discriminator(rows)[:6]
    assert torch.allclose(alone, together, atol=1e-5) != sees_others
