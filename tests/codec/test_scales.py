"""The monotone maps between numbers and codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm, rankdata

from mgvae.codec import TableCodec, read_table
from mgvae.codec._lookup import Lookup
from mgvae.codec._scales import Quantile


def quantile(sample: np.ndarray, snap: bool = False) -> Quantile:
    values, counts = np.unique(sample, return_counts=True)
    return Quantile.fit(values, counts, snap=snap)


@pytest.mark.parametrize("draw", ["normal", "lognormal", "uniform", "standard_cauchy"])
def test_codes_are_standard_normal_whatever_the_tails(draw: str) -> None:
    x = getattr(np.random.default_rng(0), draw)(size=5_000)
    codes = quantile(x).forward(x)
    assert kstest(codes, "norm").pvalue > 0.5
    assert np.abs(codes).max() < 4.1


def test_codes_are_the_normal_scores_of_the_ranks() -> None:
    x = np.random.default_rng(0).integers(0, 40, 200).astype(float)
    expected = norm.ppf((rankdata(x, "average") - 0.5) / len(x))
    np.testing.assert_allclose(quantile(x).forward(x), expected, rtol=0, atol=1e-12)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=60, unique=True), st.integers(0, 99))
def test_the_map_rises_and_its_inverse_undoes_it(values: list[float], seed: int) -> None:
    x = np.sort(np.array(values))
    scale = quantile(np.repeat(x, np.random.default_rng(seed).integers(1, 20, len(x))))
    low, high = scale.values[[0, -1]]
    assert x[0] <= low < high <= x[-1]
    inside = np.clip(x, low, high)
    codes = scale.forward(x)
    assert (np.diff(codes) >= 0).all()
    apart = np.diff(inside) > 1e-6 * np.ptp(x)
    assert (np.diff(codes)[apart] > 0).all()
    np.testing.assert_allclose(scale.backward(codes), inside, rtol=1e-9, atol=1e-9 * np.ptp(x))


def test_a_spike_owns_a_whole_interval_of_codes() -> None:
    rng = np.random.default_rng(1)
    x = np.where(rng.random(4_000) < 0.6, 0.0, rng.gamma(1.0, size=4_000))
    scale = quantile(x)
    share = (x == 0).mean()
    below = np.linspace(-6.0, norm.ppf(share) - 1e-6, 200)
    assert (scale.backward(below) == 0).all()
    assert (scale.backward(np.linspace(norm.ppf(share) + 1e-3, 6.0, 200)) > 0).all()
    # Standard normal codes give back the share of zeros, and codes of other values miss the spike.
    assert (scale.backward(rng.normal(size=40_000)) == 0).mean() == pytest.approx(share, abs=0.01)
    tiny = np.array([np.nextafter(0, 1), 1e-300, 1e-6])
    assert (scale.forward(tiny) >= norm.ppf(share) - 1e-9).all()
    assert scale.backward(scale.forward(np.zeros(1))) == 0


def test_a_spike_in_the_middle_keeps_both_sides_apart() -> None:
    rng = np.random.default_rng(2)
    x = np.where(rng.random(3_000) < 0.3, 5.0, rng.normal(5.0, 2.0, 3_000))
    codes = quantile(x).forward(x)
    at = codes[x == 5.0]
    assert np.unique(at).size == 1
    assert codes[x < 5.0].max() < at[0] < codes[x > 5.0].min()
    gap = codes[x > 5.0].min() - codes[x < 5.0].max()
    assert gap == pytest.approx(norm.ppf((x <= 5).mean()) - norm.ppf((x < 5).mean()), abs=0.02)


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=300),
    st.sampled_from([1.0, 1e-3, 1e-300]),
    st.integers(0, 99),
)
def test_a_lookup_is_linear_interpolation_to_the_bit(
    values: list[float], spread: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    y = np.sort(np.array(values))
    x = np.sort(rng.normal(size=len(y))) ** 3 * spread
    x[1:-1] = np.sort(rng.permuted(np.repeat(x[1:-1], 2))[: len(y) - 2])  # some of them twice
    at = np.concatenate([x, rng.normal(size=200) * spread, np.nextafter(x, -9), [-np.inf, np.inf]])
    np.testing.assert_array_equal(Lookup(x, y)(at), np.interp(at, x, y))


def test_a_spike_at_zero_is_looked_up_as_interpolation_does() -> None:
    rng = np.random.default_rng(4)
    x = np.where(rng.random(3_000) < 0.3, 0.0, rng.normal(size=3_000))
    lookup = quantile(x)._codes
    assert lookup._even  # not by bisection, though the next float after zero is a knot
    at = np.concatenate([x, rng.normal(size=3_000), lookup.x, [-np.inf, np.inf]])
    np.testing.assert_array_equal(lookup(at), np.interp(at, lookup.x, lookup.y))


def test_many_values_are_thinned_without_losing_shape() -> None:
    x = np.exp(3 * np.random.default_rng(3).normal(size=15_000))
    scale = quantile(x)
    assert scale.values.size <= 256
    exact = norm.ppf((rankdata(x) - 0.5) / len(x))
    assert np.abs(scale.forward(x) - exact).max() < 0.05


def test_the_inverse_never_leaves_the_range() -> None:
    x = np.random.default_rng(4).standard_cauchy(1_000)
    back = quantile(x).backward(np.array([-np.inf, -50.0, 50.0, np.inf]))
    assert back[0] == back[1] >= x.min()
    assert back[2] == back[3] <= x.max()
    np.testing.assert_allclose(back, [x.min(), x.min(), x.max(), x.max()], rtol=0.04)


@pytest.mark.parametrize("n", [20, 100, 2_000])
@pytest.mark.parametrize("draw", ["normal", "lognormal", "standard_cauchy"])
def test_no_knot_is_the_exact_value_of_a_row(draw: str, n: int) -> None:
    x = getattr(np.random.default_rng(n), draw)(size=n)
    scale = quantile(x)
    assert not np.isin(scale.values, x).any()
    # They are rounded by little.
    scores = norm.ppf((np.arange(n) + 0.5) / n)
    exact = np.interp(scale.scores, scores, np.sort(x))
    by = np.abs(np.interp(scale.values, np.sort(x), scores) - scale.scores)
    assert by[1:-1].max() < 0.06
    assert scale.values.size > min(n, 100) * 0.7
    np.testing.assert_allclose(scale.values[[0, -1]], exact[[0, -1]], rtol=0.05, atol=0.02)


def test_a_value_that_many_rows_share_stays_exact() -> None:
    rng = np.random.default_rng(7)
    x = np.append(np.full(30, 1 / 3), rng.normal(size=300))
    assert 1 / 3 in quantile(x).values


def test_a_snapping_scale_gives_back_the_nearest_code() -> None:
    x = np.repeat([1.0, 2.0, 10.0], [70, 20, 10])
    scale = quantile(x, snap=True)
    codes = np.random.default_rng(5).normal(size=500)
    nearest = np.abs(codes[:, None] - scale.forward(np.array([1.0, 2.0, 10.0]))).argmin(1)
    np.testing.assert_array_equal(scale.backward(codes), np.array([1.0, 2.0, 10.0])[nearest])


@pytest.mark.parametrize(
    ("numeric", "expected"),
    [("minmax", [0.0, 0.25, 1.0]), ("symmetric", [-1.0, -0.5, 1.0]), ("identity", [2, 3.5, 8])],
)
def test_plain_scales_are_linear_and_clip(numeric: str, expected: list[float]) -> None:
    X = np.array([[2.0], [3.5], [8.0]])
    codec = TableCodec(numeric=numeric).fit(read_table(X))
    np.testing.assert_allclose(codec.encode(read_table(X))[:, 0], expected)
    outside = np.array([[-100.0], [100.0]], np.float32)
    (column,) = codec.decode(outside, np.random.default_rng(0))
    assert column.values.tolist() == [2.0, 8.0]
    between = codec.decode(np.array([[expected[1] + 0.1]]), np.random.default_rng(0))[0].values
    slope = (expected[2] - expected[0]) / 6.0
    np.testing.assert_allclose(between, 3.5 + 0.1 / slope, rtol=1e-6)
