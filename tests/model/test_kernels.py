"""The fence: each function against its plain form, its gradients against autograd's."""

import ast
import copy
import importlib
import inspect
import pkgutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.distributions import Independent, Normal

import mgvae
from mgvae.codec import Span
from mgvae.common.runtime import build
from mgvae.model import kernels
from mgvae.model.ewc import Consolidation
from mgvae.model.kernels import Adam, DenseStep, squared_error
from mgvae.model.kernels.dense import dense, dense_plain, two_heads, two_heads_plain
from mgvae.model.kernels.errors import squared_error_plain
from mgvae.model.kernels.mixture import draw_and_compare, draw_and_compare_plain
from mgvae.model.likelihood import Likelihood
from mgvae.model.prior import log_majority_mixture, own_exemplars
from mgvae.model.vae import VAE, elbo_with_exemplars
from mgvae.networks import Bodies, Dense, mlp_bodies


def randn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def seeded(factory, seed=0):
    return build(factory, torch.Generator().manual_seed(seed)).double()


def assert_same(fast, plain, inputs):
    """Compare values and the gradients of an uneven sum of all outputs."""

    def gradients(outputs):
        uneven = [(randn(*o.shape, seed=i) * o).sum() for i, o in enumerate(outputs)]
        return torch.autograd.grad(sum(uneven), inputs)

    fast, plain = ([o] if isinstance(o, torch.Tensor) else list(o) for o in (fast, plain))
    for a, b in zip([*fast, *gradients(fast)], [*plain, *gradients(plain)], strict=True):
        torch.testing.assert_close(a, b)


# ------------------------------------------------------------------------------ the fence itself


FENCE = Path(kernels.__file__).parent
SOURCES = [path for path in Path(mgvae.__file__).parent.rglob("*.py") if path.parent != FENCE]


def test_nothing_else_of_the_fence_is_imported():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("mgvae.model.kernels."), path
                if node.module == "mgvae.model.kernels":
                    assert {alias.name for alias in node.names} <= set(kernels.__all__), path
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "kernels":
                assert node.attr in kernels.__all__, path


def test_every_function_has_a_plain_form():
    names = set()
    for info in pkgutil.iter_modules([str(FENCE)]):
        module = importlib.import_module(f"{kernels.__name__}.{info.name}")
        own = {name for name, thing in inspect.getmembers(module, inspect.isfunction)
               if thing.__module__ == module.__name__}  # fmt: skip
        names |= {name for name in own if not name.startswith("_")}
    fast = {name for name in names if not name.endswith("_plain")}
    assert {name for name in fast if f"{name}_plain" not in names} == {"vae_codes"}
    assert set(kernels.__all__) <= fast | {"Adam", "DenseStep"}


def test_gradients_by_hand_and_private_operations_are_only_inside():
    words = ("once_differentiable", "torch.ops.aten", "_fused_adam_", "_backward_data")
    assert not [path for path in SOURCES if any(word in path.read_text() for word in words)]


# ------------------------------------------------------------------------- fully connected layers


def dense_layers(activates_last):
    last = [nn.ReLU()] if activates_last else []
    return seeded(lambda: Dense(nn.Sequential(nn.Linear(5, 4), nn.ReLU()), nn.Linear(4, 3), *last))


@pytest.mark.parametrize("rows", [1, 3, 5, 9])  # shorter and longer than a layer is wide
@pytest.mark.parametrize("activates_last", [False, True])
def test_dense(rows, activates_last):
    layers, x = dense_layers(activates_last), randn(rows, 5).requires_grad_()
    assert_same(dense(layers, x), dense_plain(layers, x), [x, *layers.parameters()])


def test_dense_by_finite_differences():
    layers, x = dense_layers(False), randn(7, 5).requires_grad_()
    assert torch.autograd.gradcheck(lambda *_: dense(layers, x), (x, *layers.parameters()))


def test_dense_where_rows_need_no_gradient():
    layers = dense_layers(True)
    dense(layers, randn(7, 5)).sum().backward()
    assert all(p.grad is not None for p in layers.parameters())


def test_a_copy_of_layers_has_its_own_weights():
    layers, x = dense_layers(False), randn(2, 5)
    other = copy.deepcopy(layers)
    with torch.no_grad():
        other[1].bias.add_(1.0)
    torch.testing.assert_close(dense(other, x), other(x))
    torch.testing.assert_close(dense(other, x), dense(layers, x) + 1.0)


@pytest.mark.parametrize("n", [1, 4, 8])
def test_two_heads(n):
    one, other = (seeded(lambda: nn.Linear(5, 3), seed) for seed in (1, 2))
    x = randn(8, 5).requires_grad_()
    inputs = [x, *one.parameters(), *other.parameters()]
    assert_same(two_heads(x, one, other, n), two_heads_plain(x, one, other, n), inputs)
    assert torch.autograd.gradcheck(lambda *_: two_heads(x, one, other, n), inputs)


# ---------------------------------------------------- drawing a code and comparing q with the prior


def posterior(n, s, d, seed):
    """Arguments of draw_and_compare, all but the noise with a gradient."""
    mean, log_variance = randn(n, d, seed=seed) * 2, randn(n, d, seed=seed + 1)
    noise, centres = randn(n, d, seed=seed + 2), randn(s, d, seed=seed + 3) * 2
    prior_log_variance = randn(seed=seed + 4)
    inputs = [t.requires_grad_() for t in (mean, log_variance, centres, prior_log_variance)]
    return inputs, (mean, log_variance, noise, centres, prior_log_variance)


shapes = st.tuples(st.integers(1, 7), st.integers(1, 9), st.integers(1, 6), st.integers(0, 2**31))


@given(shapes, st.booleans())
def test_draw_and_compare(shape, leave_out):
    inputs, arguments = posterior(*shape)
    own = None
    if leave_out:
        rng = np.random.default_rng(shape[3])
        rows = max(4, shape[0])
        own = own_exemplars(rng.permutation(rows)[: shape[0]], rng.integers(0, rows, shape[1]))
    found, expected = draw_and_compare(*arguments, own), draw_and_compare_plain(*arguments, own)
    assert_same(found, expected, inputs)


def test_the_plain_form_is_torchs_posterior_less_the_prior():
    _, (mean, log_variance, noise, centres, prior_log_variance) = posterior(4, 5, 3, 1)
    z, divergence = draw_and_compare_plain(mean, log_variance, noise, centres, prior_log_variance)
    log_q = Independent(Normal(mean, torch.exp(0.5 * log_variance)), 1).log_prob(z)
    expected = log_q - log_majority_mixture(z, centres, prior_log_variance)
    torch.testing.assert_close(divergence, expected)


def test_draw_and_compare_by_finite_differences_with_leave_one_out():
    inputs, (_, _, noise, _, _) = posterior(4, 5, 3, 1)
    own = own_exemplars(np.array([0, 1, 2, 9]), np.array([0, 1, 1, 4, 0]))
    assert torch.autograd.gradcheck(
        lambda a, b, c, d: draw_and_compare(a, b, noise, c, d, own), inputs
    )


# -------------------------------------------------------------- vae_codes: Eq. 4 is its plain form


def layered(width, latent):
    """Bodies that are no Dense, and so are run layer by layer."""
    bodies = mlp_bodies(width, (8, 7), latent)
    return Bodies(nn.Sequential(*bodies.encoder), bodies.features, nn.Sequential(*bodies.decoder))


@pytest.mark.parametrize("bodies", [lambda w, d: mlp_bodies(w, (8, 7), d), layered])
@pytest.mark.parametrize("posterior_variance", ["head", "shared"])
@pytest.mark.parametrize("gather", [None, lambda centres: centres * 1.0])
@pytest.mark.parametrize("leave_out", [False, True])
@pytest.mark.parametrize("remembered", [0, 2])
def test_vae_codes(bodies, posterior_variance, gather, leave_out, remembered):
    spans = [Span("x", 6, "sigmoid", "squared_error")]
    vae = seeded(
        lambda: VAE(bodies(6, 3), Likelihood(spans), 3, posterior_variance=posterior_variance)
    )
    rows, noise = randn(4 + 6 - remembered, 6), randn(4, 3, seed=1)
    extra = randn(remembered, 3, seed=2) if remembered else None
    own = own_exemplars(np.arange(4), np.array([2, 9, 1, 8, 1, 7])) if leave_out else None
    fast, plain = (
        elbo_with_exemplars(vae, rows, noise, own, extra, gather, fast=fast)
        for fast in (True, False)
    )
    torch.testing.assert_close(fast.centres, plain.centres)
    assert_same(
        (fast.reconstruction, fast.divergence),
        (plain.reconstruction, plain.divergence),
        list(vae.parameters()),
    )


# ------------------------------------------------ DenseStep: Eq. 4 and Eq. 6 are its plain form


ALL_SPANS = [
    Span("missing", 1, "sigmoid", "bernoulli", discrete=True),
    Span("age", 2, "identity", "gaussian", mask=0),
    Span("colour", 4, "softmax", "categorical", discrete=True, mask=0),
    Span("town", 2, "softmax", "categorical", discrete=True),
    Span("pixel", 2, "sigmoid", "bernoulli"),
    Span("angle", 2, "tanh", "squared_error"),
    Span("share", 2, "sigmoid", "gaussian"),
    Span("rank", 3, "softmax", "squared_error", mask=0),
    Span("size", 1, "identity", "squared_error"),
]


def moved(vae, seed):
    """Move all parameters a little."""
    with torch.no_grad():
        for i, p in enumerate(vae.parameters()):
            p.add_(0.2 * randn(*p.shape, seed=seed + i))
    return vae


@given(
    st.sampled_from([ALL_SPANS, ALL_SPANS[4:5], ALL_SPANS[5:7], ALL_SPANS[3:4], ALL_SPANS[8:]]),
    st.sampled_from(["head", "shared"]),
    st.sampled_from([0, 3]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**31),
)
def test_dense_step(spans, posterior_variance, n_remembered, leave_out, penalised, seed):
    width = sum(span.size for span in spans)
    n, s, d = 5, 6, 3
    plain = seeded(
        lambda: VAE(
            mlp_bodies(width, (8, 7), d), Likelihood(spans), d, "majority", posterior_variance
        ),
        seed,
    )
    fisher = {name: randn(*p.shape, seed=seed).abs() for name, p in plain.named_parameters()}
    penalty = Consolidation(plain, fisher, 0.7) if penalised else None
    fused = copy.deepcopy(moved(plain, seed))
    step = DenseStep(fused, n, s, penalty)
    for call in range(2):  # the second uses memory again
        rng = np.random.default_rng(seed + call)
        rows, noise = torch.from_numpy(rng.random((n + s, width))), randn(n, d, seed=seed + call)
        rows[:, 0] = rows[:, 0].round()
        remembered = randn(n_remembered, d, seed=seed) if n_remembered else None
        places = rng.integers(0, 8, s + n_remembered)
        own = own_exemplars(np.arange(n), places) if leave_out else None
        terms, centres = step(rows, noise, own, remembered)
        parts = elbo_with_exemplars(plain, rows, noise, own, remembered, fast=False)
        expected = dict(parts.terms())
        if penalty is not None:
            expected["ewc"] = penalty.penalty(plain)
            expected["loss"] = expected["loss"] + expected["ewc"]
        plain.zero_grad()
        expected["loss"].backward()
        assert terms == pytest.approx({name: term.item() for name, term in expected.items()})
        torch.testing.assert_close(centres, parts.centres)
        for p, q in zip(fused.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(p.grad, q.grad)


def test_dense_step_where_a_variance_is_at_its_bound():
    spans = [Span("x", 3, "identity", "gaussian")]
    plain = seeded(lambda: VAE(mlp_bodies(3, (8, 7), 2), Likelihood(spans), 2))
    with torch.no_grad():
        plain.likelihood.log_variance.copy_(torch.tensor([-9.0, -7.0, 1.0]))
    fused = copy.deepcopy(plain)
    rows, noise = randn(9, 3), randn(4, 2, seed=1)
    DenseStep(fused, 4, 5)(rows, noise)
    elbo_with_exemplars(plain, rows, noise, fast=False).terms()["loss"].backward()
    found = fused.likelihood.log_variance.grad
    torch.testing.assert_close(found, plain.likelihood.log_variance.grad)
    assert found[0] == 0.0
    assert found[1] != 0.0


@given(st.sampled_from([ALL_SPANS, ALL_SPANS[8:]]), st.integers(1, 9), st.integers(0, 2**31))
def test_a_step_beside_another_tells_the_loss_of_other_rows(spans, n, seed):
    width = sum(span.size for span in spans)
    plain = seeded(lambda: VAE(mlp_bodies(width, (8, 7), 3), Likelihood(spans), 3), seed)
    fused = copy.deepcopy(moved(plain, seed))
    step = DenseStep(fused, 4, 5)
    look = DenseStep(fused, n, 6, beside=step)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        rows, noise = torch.from_numpy(rng.random((4 + 5, width))), randn(4, 3, seed=seed)
        rows[:, 0] = rows[:, 0].round()
        step(rows, noise)
        elbo_with_exemplars(plain, rows, noise, fast=False).terms()["loss"].backward()
        for model in (plain, fused):
            torch.optim.SGD(model.parameters(), lr=1e-2).step()
        plain.zero_grad()
        rows, noise = torch.from_numpy(rng.random((n + 6, width))), randn(n, 3, seed=seed + 1)
        rows[:, 0] = rows[:, 0].round()
        expected = elbo_with_exemplars(plain, rows, noise, fast=False).terms()["loss"]
        assert look.loss(rows, noise) == pytest.approx(expected.item())


def test_a_fused_step_moves_the_model_itself():
    vae = seeded(lambda: VAE(mlp_bodies(1, (8, 7), 2), Likelihood(ALL_SPANS[8:]), 2))
    before = {name: value.clone() for name, value in vae.state_dict().items()}
    step = DenseStep(vae, 4, 5)
    torch.testing.assert_close(dict(vae.state_dict()), before)
    terms = [step(randn(9, 1), randn(4, 2, seed=1))[0]["loss"]]
    torch.optim.SGD(vae.parameters(), lr=1e-3).step()
    terms.append(step(randn(9, 1), randn(4, 2, seed=1))[0]["loss"])
    assert terms[1] < terms[0]
    copied = copy.deepcopy(vae)
    torch.testing.assert_close(dict(copied.state_dict()), dict(vae.state_dict()))


def test_only_dense_networks_on_a_cpu_take_the_fused_step():
    p = Likelihood(ALL_SPANS[8:])
    assert DenseStep.suits(VAE(mlp_bodies(1, (4,), 2), p, 2))
    assert not DenseStep.suits(VAE(layered(1, 2), p, 2))
    assert not DenseStep.suits(VAE(mlp_bodies(1, (4,), 2), p, 2, prior="standard"))


# --------------------------------------------------------------------------------- squared error


@pytest.mark.parametrize("activation", ["identity", "sigmoid", "tanh"])
def test_squared_error(activation):
    x, raw = randn(6, 4), randn(6, 4, seed=2).requires_grad_()
    assert_same(squared_error(x, raw, activation), squared_error_plain(x, raw, activation), [raw])
    assert torch.autograd.gradcheck(lambda raw: squared_error(x, raw, activation), raw)


# ------------------------------------------------------------------------------------------ Adam


def network(seed):
    return seeded(lambda: nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)), seed).float()


def steps(model, optimiser, n, rng):
    for _ in range(n):
        optimiser.zero_grad()
        model(torch.randn(7, 3, generator=rng)).square().sum().backward()
        optimiser.step()


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_bit_for_bit(decay):
    ours, theirs = network(0), network(0)

    def groups(model):
        return [{"params": model[0].parameters(), "lr": 1e-2}, {"params": model[2].parameters()}]

    a = Adam(groups(ours), lr=1e-3, weight_decay=decay)
    b = torch.optim.Adam(groups(theirs), lr=1e-3, weight_decay=decay, fused=True)
    for model, optimiser in ((ours, a), (theirs, b)):
        steps(model, optimiser, 20, torch.Generator().manual_seed(1))
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(p, q)


def test_adam_continues_from_a_state_as_if_it_had_not_stopped():
    through, stopped = network(0), network(0)
    a = Adam(through.parameters())
    steps(through, a, 10, torch.Generator().manual_seed(1))
    rng = torch.Generator().manual_seed(1)
    b = Adam(stopped.parameters())
    steps(stopped, b, 4, rng)
    again = Adam(stopped.parameters())
    again.load_state_dict(copy.deepcopy(b.state_dict()))
    steps(stopped, again, 6, rng)
    for p, q in zip(through.parameters(), stopped.parameters(), strict=True):
        assert torch.equal(p, q)


def test_adam_leaves_parameters_without_a_gradient():
    model = network(0)
    before = model[2].weight.detach().clone()
    optimiser = Adam(model.parameters())
    model[0](torch.ones(1, 3)).sum().backward()
    optimiser.step()
    assert torch.equal(model[2].weight, before)
