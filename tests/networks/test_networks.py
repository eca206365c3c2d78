"""The bodies for images."""

import copy

import numpy as np
import pytest
import torch

from mgvae.codec import Span
from mgvae.common.runtime import build, torch_generator
from mgvae.model.ewc import fisher_diagonal
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE, elbo
from mgvae.networks import (
    Bodies,
    choose_bodies,
    cnn_bodies,
    dcgan,
    mlp_bodies,
    residual_bodies,
)

SHAPES = [(1, 8, 8), (3, 9, 13), (3, 28, 20), (1, 33, 8), (4, 64, 64), (3, 97, 128)]


def make(layout, *arguments, seed=0):
    bodies = layout(*arguments)
    both = torch.nn.ModuleList([bodies.encoder, bodies.decoder])
    made = build(lambda: copy.deepcopy(both), torch_generator(np.random.SeedSequence(seed)))
    return Bodies(made[0], bodies.features, made[1])


@pytest.mark.parametrize("layout", [cnn_bodies, residual_bodies])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_in_rows_out(layout, shape):
    size = int(np.prod(shape))
    bodies = make(layout, shape, 5, 0.1, 2)
    with torch.no_grad():
        assert bodies.encoder(torch.zeros(3, size + 2)).shape == (3, bodies.features)
        assert bodies.decoder(torch.zeros(3, 5 + 2)).shape == (3, size)


@pytest.mark.parametrize("shape", SHAPES)
def test_dcgan_rows(shape):
    size = int(np.prod(shape))
    generator, discriminator = dcgan(shape, 7, 0.02, 2)
    rows = generator(torch.zeros(3, 9))
    assert rows.shape == (3, size)
    assert discriminator(torch.zeros(3, size + 2)).shape == (3, 1)


def test_the_paper_s_sizes():
    cnn = cnn_bodies((3, 64, 64), 40)
    shapes = [tuple(p.shape[:2]) for p in cnn.encoder.parameters() if p.ndim == 4]
    assert shapes == [(64, 3), (128, 64), (256, 128), (512, 256)]
    shapes = [tuple(p.shape[:2]) for p in cnn.decoder.parameters() if p.ndim == 4]
    assert shapes == [(512, 256), (256, 128), (128, 64), (3, 64)]
    assert cnn.features == 4 * 4 * 512
    residual = residual_bodies((3, 64, 64), 40)
    assert residual.features == 6 * 16 * 16
    shapes = {p.shape[0] for p in residual.encoder.parameters() if p.ndim == 4}
    assert shapes == {48, 96, 6}
    generator, discriminator = dcgan((3, 64, 64), 100)
    shapes = [tuple(p.shape[:2]) for p in generator.parameters() if p.ndim == 4]
    assert shapes == [(1024, 512), (512, 256), (256, 128), (128, 3)]
    shapes = [p.shape[0] for p in discriminator.parameters() if p.ndim == 4]
    assert shapes == [128, 256, 512, 1024]


@pytest.mark.parametrize("layout", [cnn_bodies, residual_bodies])
def test_images_of_a_large_batch_do_not_see_each_other(layout):
    """Parts are an implementation's affair: the rows are those that each alone would give."""
    bodies = make(layout, (1, 8, 8), 3, 0.1)
    x = torch.rand(600, 64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        together = bodies.encoder(x)
    with torch.enable_grad():
        learning = bodies.encoder(x)
    torch.testing.assert_close(together, learning)
    with torch.no_grad():
        torch.testing.assert_close(together[-1:], bodies.encoder(x[-1:]), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("layout", [cnn_bodies, residual_bodies])
def test_signals_keep_their_size_at_the_start(layout):
    """Neither vanishing nor exploding, so that deep networks learn without normalisation."""
    bodies = make(layout, (3, 64, 64), 40, 0.25)
    noise = torch.Generator().manual_seed(0)
    with torch.no_grad():
        features = bodies.encoder(torch.rand(8, 3 * 64 * 64, generator=noise))
        outputs = bodies.decoder(torch.randn(8, 40, generator=noise))
    assert 0.05 < features.std() < 5.0
    assert 0.05 < outputs.std() < 5.0


@pytest.mark.parametrize("layout", [cnn_bodies, residual_bodies])
def test_fisher_by_vmap_equals_a_loop(layout):
    size, latent = 8 * 9, 2
    span = Span("image", size, "sigmoid", "bernoulli")
    vae = build(
        lambda: VAE(layout((1, 8, 9), latent, 0.07), Likelihood([span]), latent),
        torch_generator(np.random.SeedSequence(0)),
    ).double()
    noise = torch.Generator().manual_seed(1)
    x = torch.rand(3, size, generator=noise, dtype=torch.float64)
    eps = torch.randn(3, latent, generator=noise, dtype=torch.float64)
    exemplars = torch.rand(4, size, generator=noise, dtype=torch.float64)

    def single(model, x, eps):
        parts = elbo(model, x[None], eps[None], model.mean(exemplars))
        return (parts.reconstruction - parts.divergence).sum()

    found = fisher_diagonal(vae, single, x, eps, chunk=2)
    expected = {name: torch.zeros_like(p) for name, p in vae.named_parameters()}
    for row, draw in zip(x, eps, strict=True):
        vae.zero_grad()
        single(vae, row, draw).backward()
        for name, p in vae.named_parameters():
            expected[name] += p.grad.square() / len(x)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)


@pytest.mark.parametrize(
    ("shape", "first"),
    [((5,), "Linear"), ((1, 28, 28), "Linear"), ((3, 16, 16), "Conv"), ((1, 40, 40), "Conv")],
)
def test_auto_takes_convolutions_for_colour_or_larger_images(shape, first):
    bodies = choose_bodies("auto", shape, 3, hidden_sizes=(4, 4), width=0.1)
    layers = [type(m).__name__ for m in bodies.encoder.modules() if not list(m.children())]
    assert any(name.startswith(first) for name in layers)
    assert ("Linear" in layers) == (first == "Linear")


def test_a_user_s_own_network():
    def own(shape, latent_size, condition_size=0):
        return mlp_bodies(int(np.prod(shape)), (6,), latent_size, condition_size)

    bodies = choose_bodies(own, (3, 8, 8), 3, hidden_sizes=(4,), width=1.0, condition_size=2)
    assert bodies.encoder(torch.zeros(1, 194)).shape == (1, 6)
    with pytest.raises(ValueError, match="must give mgvae"):
        choose_bodies(lambda *_: None, (3, 8, 8), 3, hidden_sizes=(4,), width=1.0)
