import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch.nn import functional as F  # noqa: N812

from mgvae.errors import DataError, ParameterError
from mgvae.losses import CosineLinear, FocalLoss, LDAMLoss, LogitAdjustedLoss, class_weights

REDUCTIONS = ["none", "mean", "sum"]


@st.composite
def problems(draw, largest=20.0):
    """Logits (n, K) in float64, targets, class weights and counts."""
    n, k = draw(st.integers(1, 6)), draw(st.integers(2, 5))
    logits = draw(hnp.arrays(np.float64, (n, k), elements=st.floats(-largest, largest, width=32)))
    target = draw(hnp.arrays(np.int64, n, elements=st.integers(0, k - 1)))
    weight = draw(hnp.arrays(np.float64, k, elements=st.floats(0.125, 8, width=32)))
    counts = draw(hnp.arrays(np.int64, k, elements=st.integers(1, 10_000)))
    return logits, target, weight, counts


def reduced(losses, weights, reduction):
    total = sum(w * loss for w, loss in zip(weights, losses, strict=True))
    if reduction == "none":
        return [w * loss for w, loss in zip(weights, losses, strict=True)]
    return total / sum(weights) if reduction == "mean" else total


def slow_cross_entropy(row, y):
    """Minus log softmax of one row, with numpy's own log-sum-exp."""
    return np.logaddexp.reduce(row) - row[y]


def slow_focal(row, y, gamma):
    others = np.logaddexp.reduce(np.delete(row, y)) - np.logaddexp.reduce(row)
    return np.exp(others) ** gamma * slow_cross_entropy(row, y)


def slow_ldam(row, y, counts, max_margin, scale):
    margins = counts.astype(float) ** -0.25
    margins *= max_margin / margins.max()
    row = row.copy()
    row[y] -= margins[y]
    return slow_cross_entropy(scale * row, y)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(problem=problems(), gamma=st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0]))
def test_focal_agrees_with_a_slow_implementation(problem, gamma, reduction):
    logits, target, weight, _ = problem
    ours = FocalLoss(gamma, weight, reduction)(torch.tensor(logits), torch.tensor(target))
    losses = [slow_focal(row, y, gamma) for row, y in zip(logits, target, strict=True)]
    expected = reduced(losses, weight[target], reduction)
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(problem=problems(), max_margin=st.sampled_from([0.0, 0.5, 2.0]))
def test_ldam_agrees_with_a_slow_implementation(problem, max_margin, reduction):
    logits, target, weight, counts = problem
    loss = LDAMLoss(counts, max_margin, scale=7.0, weight=weight, reduction=reduction)
    ours = loss(torch.tensor(logits), torch.tensor(target))
    losses = [
        slow_ldam(row, y, counts, max_margin, 7.0) for row, y in zip(logits, target, strict=True)
    ]
    expected = reduced(losses, weight[target], reduction)
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(problem=problems())
def test_gamma_zero_and_zero_margins_are_cross_entropy(problem, reduction):
    logits, target, weight, counts = problem
    x, y, w = torch.tensor(logits), torch.tensor(target), torch.tensor(weight)
    torch.testing.assert_close(
        FocalLoss(0.0, weight, reduction)(x, y), F.cross_entropy(x, y, w, reduction=reduction)
    )
    torch.testing.assert_close(
        LDAMLoss(counts, 0.0, 3.0, weight, reduction)(x, y),
        F.cross_entropy(3.0 * x, y, w, reduction=reduction),
    )


@given(problem=problems(), gamma=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_binary_focal_is_the_two_class_one(problem, gamma):
    logits, target, weight, _ = problem
    x, t = torch.tensor(logits[:, 0]), torch.tensor(target % 2)
    two = torch.stack([torch.zeros_like(x), x], dim=1)
    expected = FocalLoss(gamma, weight[:2])(two, t)
    loss = FocalLoss(gamma, weight[:2])
    for logit, label in [(x, t), (x[:, None], t.double()), (x, t[:, None].bool())]:
        torch.testing.assert_close(loss(logit, label), expected)


def test_binary_focal_with_gamma_zero_is_binary_cross_entropy_also_for_soft_targets():
    x, t = torch.linspace(-5, 5, 11), torch.linspace(0, 1, 11)
    torch.testing.assert_close(FocalLoss(0.0)(x, t), F.binary_cross_entropy_with_logits(x, t))


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("weight", [None, [1.0, 4.0, 0.5]])
def test_gradients_are_right(gamma, weight):
    generator = torch.Generator().manual_seed(0)
    x = 3 * torch.randn(6, 3, dtype=torch.float64, generator=generator)
    x.requires_grad_()
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    assert torch.autograd.gradcheck(FocalLoss(gamma, weight), (x, y))
    assert torch.autograd.gradcheck(LDAMLoss([90, 9, 1], weight=weight, scale=2.0), (x, y))
    binary = FocalLoss(gamma, None if weight is None else weight[:2])
    assert torch.autograd.gradcheck(binary, (x[:, 0], (y % 2).double()))


def test_gradients_of_the_cosine_layer_are_right():
    layer = CosineLinear(4, 3).double()
    x = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x.requires_grad_()
    weight = layer.weight.detach().requires_grad_()

    def cosines(x, weight):
        return torch.func.functional_call(layer, {"weight": weight}, (x,))

    assert torch.autograd.gradcheck(cosines, (x, weight))
    torch.testing.assert_close(
        cosines(x, weight), F.cosine_similarity(x[:, None], weight[None], dim=2)
    )


EXTREME = [[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4], [0.0, 0.0, 0.0], [1e4, 1e4, 1e4], [1e4, 9999, -1e4]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
def test_extreme_logits_give_finite_losses_and_gradients(dtype, gamma):
    for loss in (FocalLoss(gamma), LDAMLoss([1000, 10, 1])):
        for label in range(3):
            x = torch.tensor(EXTREME, dtype=dtype, requires_grad=True)
            value = loss(x, torch.full((5,), label))
            value.backward()
            assert value.isfinite()
            assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
            assert x.grad.isfinite().all()
    for label in (0.0, 1.0):
        x = torch.tensor([1e4, -1e4, 0.0], dtype=dtype, requires_grad=True)
        value = FocalLoss(gamma)(x, torch.full((3,), label))
        value.backward()
        assert value.isfinite()
        assert x.grad.isfinite().all()


def test_large_logits_keep_their_small_differences():
    x = torch.tensor([[10_000.0, 9_999.0]])
    y = torch.tensor([0])
    expected = slow_focal(x[0].double().numpy(), 0, 1.0)
    assert FocalLoss(1.0)(x, y).item() == pytest.approx(expected, rel=1e-6)


def test_autocast_computes_in_float32():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, 16, generator=generator)
    y = torch.randint(3, (64,), generator=generator)
    layer = CosineLinear(16, 3)
    losses = [FocalLoss(2.0, [1.0, 2.0, 3.0]), LDAMLoss([90, 9, 1])]
    plain = [loss(layer(x), y) for loss in losses]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.float32
        cast = [loss(layer(x), y) for loss in losses]
        halved = F.linear(x, layer.weight)
        assert halved.dtype == torch.bfloat16
        value = losses[0](halved, y)
    torch.testing.assert_close(cast, plain, rtol=0, atol=0)
    torch.testing.assert_close(value, losses[0](halved.float(), y), rtol=0, atol=0)


def test_cosine_layer_at_a_zero_row_and_for_large_half_precision_features():
    layer = CosineLinear(4, 2)
    x = torch.zeros(1, 4, requires_grad=True)
    out = layer(x)
    out.sum().backward()
    assert (out == 0).all()
    assert x.grad.isfinite().all()
    large = torch.full((1, 4), 6e4, dtype=torch.float16)  # whose square float16 cannot hold
    torch.testing.assert_close(layer(large), layer(torch.ones(1, 4)))


def test_cosine_layer_follows_the_generator_it_is_given():
    a, b = CosineLinear(5, 3), CosineLinear(5, 3)
    before = torch.get_rng_state()
    a.initialise(torch.Generator().manual_seed(1))
    b.initialise(torch.Generator().manual_seed(1))
    torch.testing.assert_close(a.weight, b.weight, rtol=0, atol=0)
    torch.testing.assert_close(a.weight.norm(dim=1), torch.ones(3))
    assert (torch.get_rng_state() == before).all()


def test_deferred_reweighting():
    counts, x = [90, 10], torch.tensor([[0.9, 0.1], [0.4, 0.6]])
    y, weight = torch.tensor([0, 1]), class_weights([90, 10], "effective")
    loss = LDAMLoss(counts)
    plain = loss(x, y)
    loss.reweight(weight)
    torch.testing.assert_close(loss(x, y), LDAMLoss(counts, weight=weight)(x, y))
    assert loss(x, y) != plain
    loss.reweight(None)
    torch.testing.assert_close(loss(x, y), plain)


def test_margins_are_those_of_the_paper():
    margins = LDAMLoss([5000, 500, 50], max_margin=0.5).margins.double().numpy()
    np.testing.assert_allclose(margins / margins[2], [100**-0.25, 10**-0.25, 1], rtol=1e-6)
    assert margins.max() == pytest.approx(0.5)


@given(
    hnp.arrays(np.int64, st.integers(1, 8), elements=st.integers(1, 10**6)),
    st.floats(0.0, 0.999999),
)
def test_class_weights(counts, beta):
    inverse = class_weights(counts)
    assert inverse.dtype == np.float64
    assert inverse.sum() == pytest.approx(len(counts))
    np.testing.assert_allclose(inverse * counts, (inverse * counts)[0], rtol=1e-12)
    effective = class_weights(counts, "effective", beta=beta)
    assert effective.sum() == pytest.approx(len(counts))
    number = np.array([sum_of_powers(beta, n) for n in counts])  # 1 + beta + ... + beta^(n-1)
    np.testing.assert_allclose(effective * number, (effective * number)[0], rtol=1e-6)


def sum_of_powers(beta, n):
    """The effective number by its series, doubling instead of dividing by 1 - beta."""
    total, power, base, size = 0.0, 1.0, 1.0, beta
    while n:  # base = 1 + ... + beta^(m-1), size = beta^m, over m = 1, 2, 4, ...
        if n & 1:
            total, power = total + power * base, power * size
        base, size, n = base * (1 + size), size * size, n >> 1
    return total


def test_class_weights_have_the_two_limits():
    counts = [10, 1000, 50]
    np.testing.assert_allclose(class_weights(counts, "effective", beta=0.0), 1.0)
    near = class_weights(counts, "effective", beta=1 - 1e-12)
    np.testing.assert_allclose(near, class_weights(counts), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: class_weights([3, 0]), DataError, "counts"),
        (lambda: class_weights([]), DataError, "counts"),
        (lambda: class_weights([3, 1], "sqrt"), ParameterError, "scheme .* 'sqrt'"),
        (lambda: class_weights([3, 1], "effective", beta=1.0), ParameterError, "beta"),
        (lambda: FocalLoss(-1.0), ParameterError, "gamma"),
        (lambda: FocalLoss(float("nan")), ParameterError, "gamma"),
        (lambda: FocalLoss(weight=[1.0, -1.0]), ParameterError, "weight"),
        (lambda: FocalLoss(reduction="average"), ParameterError, "reduction"),
        (lambda: LDAMLoss([1, 2], scale=0.0), ParameterError, "scale"),
        (lambda: LDAMLoss([1, 2], max_margin=-1.0), ParameterError, "max_margin"),
        (lambda: FocalLoss()(torch.zeros(2, 3), torch.zeros(2)), DataError, "integers"),
        (lambda: FocalLoss()(torch.zeros(2, 3), torch.zeros(3).long()), DataError, "n class"),
        (lambda: FocalLoss()(torch.zeros(2), torch.zeros(3)), DataError, "one target each"),
        (
            lambda: FocalLoss(weight=[1, 2])(torch.zeros(2, 3), torch.zeros(2).long()),
            DataError,
            "3 classes; got 2",
        ),
        (
            lambda: LDAMLoss([1, 2])(torch.zeros(2, 3), torch.zeros(2).long()),
            DataError,
            "2 class_counts; got 3",
        ),
    ],
)
def test_errors_name_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_importing_losses_does_not_load_sklearn():
    code = (
        "import sys, mgvae.losses;"
        "print({'sklearn', 'imblearn', 'scipy', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# ---------------------------------------------------------------- logit adjustment


@given(problems())
def test_logit_adjustment_is_cross_entropy_after_the_prior_correction(problem):
    """Adding log shares to logits is Bayes' rule from equal shares to the true ones."""
    logits, target, weight, counts = problem
    odds = np.exp(logits - logits.max(1, keepdims=True))
    corrected = odds * counts
    corrected /= corrected.sum(1, keepdims=True)
    losses = -np.log(corrected[np.arange(len(target)), target])
    for reduction in REDUCTIONS:
        found = LogitAdjustedLoss(counts, weight=weight, reduction=reduction)(
            torch.from_numpy(logits), torch.from_numpy(target)
        )
        expected = reduced(losses, weight[target], reduction)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)


@given(problems())
def test_without_strength_or_imbalance_logit_adjustment_is_cross_entropy(problem):
    logits, target, _, counts = problem
    x, y = torch.from_numpy(logits), torch.from_numpy(target)
    plain = F.cross_entropy(x, y)
    torch.testing.assert_close(LogitAdjustedLoss(counts, strength=0.0)(x, y), plain)
    even = np.full(len(counts), 7)
    torch.testing.assert_close(LogitAdjustedLoss(even)(x, y), plain, rtol=1e-5, atol=1e-5)


def test_logit_adjustment_refuses_what_it_cannot_use():
    with pytest.raises(ParameterError, match="strength"):
        LogitAdjustedLoss([1, 2], strength=-1.0)
    with pytest.raises(DataError, match="2 class_counts"):
        LogitAdjustedLoss([1, 2])(torch.zeros(1, 3), torch.zeros(1, dtype=torch.int64))
