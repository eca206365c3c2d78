"""What the codec finds columns to be, and what comes back."""

import datetime as dt
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chisquare

from mgvae.codec import Span, TableCodec, only_rows, read_table
from mgvae.errors import CodecWarning, DataError, ParameterError

RNG = np.random.default_rng


def fit(X: Any, **options: Any) -> TableCodec:
    return TableCodec(**options).fit(read_table(X))


def kinds(X: Any, **options: Any) -> list[str]:
    return [summary.kind for summary in fit(X, **options).describe()]


def noise(codec: TableCodec, n: int = 400, seed: int = 0) -> np.ndarray:
    return RNG(seed).normal(0, 2, (n, codec.width)).astype(np.float32)


def decoded(X: Any, codec: TableCodec, codes: np.ndarray, **more: Any) -> Any:
    return only_rows(X, codec.decode(codes, RNG(0), **more))


def test_kinds_are_found_from_types_and_values() -> None:
    n = 60
    rng = RNG(0)
    X = pd.DataFrame(
        {
            "continuous": rng.normal(size=n),
            "whole": np.rint(rng.normal(0, 40, n)),
            "integer": rng.integers(0, 9, n).astype("uint16"),
            "colour": rng.choice(["red", "blue"], n),
            "size": pd.Categorical(rng.choice(["S", "L"], n), ["S", "M", "L"], ordered=True),
            "flag": rng.random(n) < 0.5,
            "born": pd.date_range("1990", periods=n),
            "took": pd.to_timedelta(rng.integers(0, 99, n), unit="s"),
            "same": 7,
            "nothing": np.nan,
            "code": [f"A{i:04d}" for i in range(n)],
            "remark": [f"{i} was a long and winding answer by someone {i * i}" for i in range(n)],
        }
    )
    with pytest.warns(CodecWarning) as caught:
        found = kinds(X)
    assert found == [
        "continuous", "integer", "integer", "categorical", "ordinal", "boolean", "datetime",
        "duration", "constant", "empty", "identifier", "text",
    ]  # fmt: skip
    assert ["'code'" in str(w.message) or "'remark'" in str(w.message) for w in caught] == [
        True
    ] * 2


def test_spans_say_what_the_outputs_are() -> None:
    X = pl.DataFrame(
        {
            "a": [1.5, 2.5, 4.25, 9.0],
            "same": [1, 1, 1, 1],
            "b": [1, 2, 3, 5],
            "c": ["x", "y", None, "x"],
            "d": [0.5, None, 1.5, 9.5],
            "e": [True, False, True, True],
            "f": [3, None, 3, 3],
        }
    )
    codec = fit(X)
    assert codec.spans == (
        Span("a … b", 2, "identity", "gaussian"),
        Span("c", 3, "softmax", "categorical", True),
        Span("d", 1, "identity", "gaussian", mask=6),
        Span("d missing", 1, "sigmoid", "bernoulli", True),
        Span("e", 2, "softmax", "categorical", True),
        Span("f missing", 1, "sigmoid", "bernoulli", True),
    )
    encoded = codec.encode(read_table(X))
    assert encoded[:, 2:5].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert encoded[1, 5:7].tolist() == [0.0, 1.0]
    assert encoded[:, 9].tolist() == [0, 1, 0, 0]


def test_wide_arrays_are_one_span() -> None:
    codec = fit(RNG(0).normal(size=(50, 900)).astype(np.float32))
    assert [span.size for span in codec.spans] == [900]


@pytest.mark.parametrize(
    ("low", "high", "likelihood", "activation"),
    [
        (0, 1, "bernoulli", "sigmoid"),
        (-1, 1, "squared_error", "tanh"),
        (-3, 1, "gaussian", "identity"),
    ],
)
def test_unscaled_numbers_are_bounded_as_the_data_are(
    low: float, high: float, likelihood: str, activation: str
) -> None:
    X = RNG(0).uniform(low, high, (30, 4))
    (span,) = fit(X, numeric="identity", likelihood=likelihood).spans
    assert (span.activation, span.likelihood) == (activation, likelihood)


def test_integers_are_rounded_not_truncated() -> None:
    X = np.arange(0, 1000, dtype=np.int64)[:, None]
    codec = fit(X, numeric="identity")
    (column,) = codec.decode(np.array([[2.4], [2.6], [3.5], [-9], [5e9]]), RNG(0))
    assert column.values.tolist() == [2, 3, 4, 0, 999]


@pytest.mark.parametrize("numeric", ["quantile", "minmax", "symmetric", "identity"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_integer_types_hold_at_their_ends(dtype: str, numeric: str) -> None:
    info = np.iinfo(dtype)
    X = np.linspace(float(info.min), float(info.max) * 0.99, 100).astype(dtype)[:, None]
    X[0], X[-1] = info.min, info.max
    codec = fit(X, numeric=numeric)
    codes = np.array([[-1e30], [-5.0], [0.0], [5.0], [1e30]], np.float32)
    out = decoded(X, codec, codes)
    assert out.dtype == X.dtype
    rounded = numeric == "quantile" and info.bits == 64
    for end, reached in ((info.min, int(out[0, 0])), (info.max, int(out[-1, 0]))):
        assert info.min <= reached <= info.max
        assert abs(reached - end) <= (info.max // 1000 if rounded else 0)
    assert (np.diff(out[:, 0].astype(float)) >= 0).all()


def test_large_integers_are_told_apart_near_the_lowest() -> None:
    X = (2**62 + np.arange(40)).reshape(-1, 1)
    codec = fit(X)
    np.testing.assert_array_equal(decoded(X, codec, codec.encode(read_table(X))), X)


def test_zero_inflated_columns_keep_their_zeros() -> None:
    rng = RNG(0)
    X = np.where(rng.random(2_000) < 0.7, 0.0, rng.gamma(1.0, size=2_000))[:, None]
    codec = fit(X)
    out = decoded(X, codec, rng.normal(size=(20_000, 1)))
    assert (out == 0).mean() == pytest.approx((X == 0).mean(), abs=0.01)


def test_outliers_do_not_squeeze_the_rest() -> None:
    X = np.append(RNG(0).normal(size=999), 1e12)[:, None]
    codec = fit(X)
    codes = codec.encode(read_table(X))
    assert codes[:999].std() == pytest.approx(1.0, abs=0.05)
    back = decoded(X, codec, codes)
    assert back[-1] == pytest.approx(1e12, rel=1e-5)
    np.testing.assert_allclose(back[:-1], X[:-1], atol=1e-2)  # the least is rounded


def test_few_values_come_back_exactly_and_decimals_are_kept() -> None:
    rng = RNG(0)
    X = pd.DataFrame(
        {
            "few": rng.choice([0.1, 0.35, 1 / 3], 200),
            "cents": np.round(rng.gamma(2, 30, 200), 2),
            "single": rng.normal(size=200).astype("float32"),
        }
    )
    codec = fit(X)
    out = decoded(X, codec, noise(codec))
    assert set(out["few"]) == set(X["few"])
    assert (out["cents"] == out["cents"].round(2)).all()
    assert out["cents"].nunique() > 100
    assert out["single"].dtype == np.float32


def test_few_rows_that_all_differ_are_not_snapped() -> None:
    X = RNG(0).normal(size=(10, 1))
    out = decoded(X, fit(X), RNG(1).normal(size=(50, 1)))
    assert len(np.unique(out)) > 20


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_keep_unit_zone_resolution_and_range(unit: str, zone: str | None) -> None:
    days = pd.date_range("2019-12-25", periods=300, freq="36h", tz=zone, unit=unit)
    X = pd.DataFrame({"when": days, "took": (days - days[0]).as_unit(unit)})
    codec = fit(X)
    out = decoded(X, codec, noise(codec))
    assert out.dtypes.tolist() == X.dtypes.tolist()
    assert out["when"].between(X["when"].min(), X["when"].max()).all()
    assert (out["when"].dt.minute == 0).all()
    assert (out["took"] % pd.Timedelta("1h") == pd.Timedelta(0)).all()
    back = decoded(X, codec, codec.encode(read_table(X)))
    assert (back["when"] - X["when"]).abs().max() <= pd.Timedelta("1h")


def test_midnights_come_back_as_midnights() -> None:
    X = pl.DataFrame(
        {
            "born": pl.datetime_range(
                dt.datetime(1950, 1, 1), dt.datetime(1999, 1, 1), "9d", eager=True
            )
        }
    )
    codec = fit(X)
    assert (
        decoded(X, codec, noise(codec))["born"]
        .dt.truncate("1d")
        .equals(decoded(X, codec, noise(codec))["born"])
    )


def test_unused_ordered_categories_stay_declared_and_unused() -> None:
    levels = ["none", "low", "mid", "high"]
    X = pd.DataFrame({"risk": pd.Categorical(["low", "high", "low"], levels, ordered=True)})
    codec = fit(X)
    assert [span.size for span in codec.spans] == [2]
    out = decoded(X, codec, noise(codec))
    assert out["risk"].dtype == X["risk"].dtype
    assert set(out["risk"]) == {"low", "high"}


def test_missing_categories_are_a_level() -> None:
    X = pd.DataFrame(
        {"c": ["a", None, "b", None], "b": pd.array([True, None, False, True], "boolean")}
    )
    codec = fit(X)
    assert [span.size for span in codec.spans] == [3, 3]
    pd.testing.assert_frame_equal(decoded(X, codec, codec.encode(read_table(X))), X)


def test_flags_above_a_half_are_missing() -> None:
    X = pd.DataFrame({"x": pd.array([1, 2, None, 400], "Int64")})
    codec = fit(X)
    out = decoded(X, codec, np.array([[0, 0.49], [0, 0.51], [9, 0.0], [9, 1.0]], np.float32))
    assert out["x"].isna().tolist() == [False, True, False, True]
    assert out["x"].dtype == "Int64"


def test_five_thousand_levels_share_an_output_for_the_rare() -> None:
    rng = RNG(0)
    X = pd.DataFrame({"city": [f"city {i}" for i in rng.zipf(1.3, 60_000) % 5_000]})
    counts = X["city"].value_counts()
    with pytest.warns(CodecWarning, match="'city'.*100 most frequent"):
        codec = fit(X)
    assert codec.width == 101
    encoded = codec.encode(read_table(X))
    assert (encoded.sum(1) == 1).all()
    out = decoded(X, codec, encoded)["city"]
    kept = X["city"].isin(counts.index[counts > counts.iloc[100]])
    assert (out[kept] == X["city"][kept]).all()
    assert set(out[~kept]) <= set(X["city"][~kept])
    rare = out[~kept].value_counts()
    expected = counts[counts < counts.iloc[99]][:200]
    assert chisquare(
        rare.reindex(expected.index, fill_value=0) * expected.sum() / rare[expected.index].sum(),
        expected,
    ).pvalue > 1e-3  # fmt: skip


def test_asking_for_a_category_is_not_warned_about() -> None:
    X = pd.DataFrame({"zip": RNG(0).integers(10_000, 99_999, 3_000)})
    codec = fit(X, column_types={"zip": "categorical"})
    out = decoded(X, codec, noise(codec))
    assert out["zip"].dtype == np.int64
    assert set(out["zip"]) <= set(X["zip"])


@pytest.mark.parametrize(
    ("values", "name", "expected"),
    [
        (range(100), "row", "identifier"),
        (range(1, 101), "n", "identifier"),
        (range(1900, 2000), "year", "integer"),
        (range(100, 0, -1), "left", "integer"),
        (RNG(0).permutation(10_000)[:100], "customer_id", "identifier"),
        (RNG(0).permutation(10_000)[:100], "orderId", "identifier"),
        (RNG(0).permutation(10_000)[:100], "paid", "integer"),
        (RNG(0).permutation(10_000)[:100], "salary", "integer"),
        (RNG(0).integers(0, 50, 100), "shop_id", "integer"),
        (RNG(0).permutation(10_000)[:10], "id", "integer"),
        (np.arange(600).astype("uint8"), "hue", "integer"),
    ],
)
def test_only_careful_evidence_makes_integers_identifiers(
    values: Any, name: str, expected: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        assert kinds(pd.DataFrame({name: np.array(values)})) == [expected]
        assert kinds(np.array(values)[:, None]) == ["integer"]


def test_repeated_ids_are_noticed_far_apart_in_a_stream() -> None:
    values = RNG(0).permutation(300_000)
    values[200_000:] = values[:100_000]
    codec = TableCodec()
    for part in np.split(values, 10):
        codec.observe(read_table(pd.DataFrame({"id": part})))
    assert [s.kind for s in codec.finish().describe()] == ["integer"]


@pytest.mark.parametrize(
    ("seen", "first"),
    [
        ([f"C-{i:05d}" for i in range(30)], "C-00030"),
        ([f"user{i}@mail" for i in range(30)], "synthetic-1"),
        ([f"{'ab'[i % 2]}{i}" for i in range(30)], "synthetic-1"),
        ([f"{'ab'[i % 2]}{i}" for i in range(30)] + ["synthetic-8"], "synthetic-9"),
        ([f"x{i}".encode() for i in range(30)], b"x30"),
    ],
)
def test_new_identifiers_go_on_from_those_seen(seen: list[Any], first: Any) -> None:
    X = pl.DataFrame({"key": seen})
    with pytest.warns(CodecWarning, match="'key'"):
        codec = fit(X)
    assert codec.width == 0
    once = decoded(X, codec, np.empty((50, 0)))["key"].to_list()
    then = decoded(X, codec, np.empty((50, 0)), first=50)["key"].to_list()
    assert once[0] == first
    assert len({*seen, *once, *then}) == len(seen) + 100


def test_identifiers_can_be_left_missing() -> None:
    X = pd.DataFrame({"id": pd.array(range(40), "Int64"), "name": [f"n{i}" for i in range(40)]})
    with pytest.warns(CodecWarning):
        codec = fit(X, identifiers="missing")
    out = decoded(X, codec, np.empty((5, 0)))
    assert out.isna().all(axis=None)
    assert out.dtypes.tolist() == X.dtypes.tolist()
    with (
        pytest.warns(CodecWarning),
        pytest.raises(DataError, match=r"'id'.*int64.*identifiers='new'"),
    ):
        fit(X.astype({"id": "int64"}), identifiers="missing")


def test_a_narrow_type_runs_out_of_identifiers() -> None:
    X = pd.DataFrame({"id": np.arange(100, dtype="int8")})
    assert kinds(X) == ["integer"]
    codec = fit(X, column_types={"id": "identifier"})
    assert decoded(X, codec, np.empty((28, 0)))["id"].max() == 127
    with pytest.raises(DataError, match="int8"):
        decoded(X, codec, np.empty((29, 0)))


def test_missing_identifiers_and_texts_stay_missing_as_often() -> None:
    rng = RNG(0)
    words = ["some", "words", "in", "other", "orders", "every", "time", "that", "one", "asks"]
    texts = [" ".join(rng.permutation(words)) for _ in range(500)]
    X = pl.DataFrame(
        {
            "key": [None if i % 4 == 0 else f"k{i}" for i in range(500)],
            "text": [None if i % 5 == 0 else t for i, t in enumerate(texts)],
        }
    )
    with pytest.warns(CodecWarning):
        codec = fit(X)
    assert [s.kind for s in codec.describe()] == ["identifier", "text"]
    out = decoded(X, codec, np.empty((8_000, 0)))
    assert out["key"].null_count() / 8_000 == pytest.approx(0.25, abs=0.02)
    assert out["text"].null_count() / 8_000 == pytest.approx(0.2, abs=0.02)
    assert set(out["text"]) <= set(X["text"])


def test_unseen_cells_are_encoded_leniently() -> None:
    X = pd.DataFrame({"x": [1.0, 2.5, 4.0], "c": ["a", "b", "a"]})
    codec = fit(X)
    other = codec.encode(
        read_table(pd.DataFrame({"x": [-99.0, 99.0, np.nan], "c": ["z", None, "b"]}))
    )
    ends = codec.encode(read_table(X))[[0, 2], 0]
    assert other[:, 0].tolist() == [*ends, 0.0]
    assert other[:, 1:].tolist() == [[0, 0], [0, 0], [0, 1]]


def test_a_sample_serves_long_columns_and_the_range_stays_exact() -> None:
    rng = RNG(0)
    X = np.tile(np.arange(24.0), 10_000)[:, None] + rng.random((240_000, 1))
    X[123_457] = -1e6
    codec = fit(X)
    codes = codec.encode(read_table(X))[:, 0]
    assert codes.std() == pytest.approx(1.0, abs=0.02)
    back = decoded(X, codec, codec.encode(read_table(X)))
    assert back.min() == -1e6
    assert np.abs(np.delete(back - X, 123_457)).max() < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numeric": "log"}, "numeric must be one of quantile.*'log'"),
        ({"likelihood": "poisson"}, "likelihood must be one of"),
        ({"likelihood": "bernoulli"}, "numeric='minmax'"),
        ({"identifiers": "drop"}, "identifiers must be one of"),
        ({"max_levels": 0}, "max_levels"),
        ({"column_types": ["age"]}, "column_types must map"),
        ({"column_types": {"age": "categorcal"}}, "Did you mean 'categorical'"),
        ({"column_types": {"aeg": "categorical"}}, "'aeg'.*Did you mean 'age'"),
        ({"column_types": {"age": "datetime"}}, "'age'.*'datetime'.*float64"),
        ({"column_types": {"age": "integer"}}, "'age'.*decimals"),
        ({"column_types": {"job": "continuous"}}, "'job'.*'continuous'"),
        ({"column_types": {"job": "boolean"}}, "'job'.*3 levels"),
    ],
)
def test_bad_parameters_are_named(options: dict[str, Any], message: str) -> None:
    X = pd.DataFrame({"age": [1.5, 2.0, 9.0], "job": ["a", "b", "c"]})
    with pytest.raises(ParameterError, match=message):
        fit(X, **options)


def test_other_columns_than_those_fitted_are_refused() -> None:
    codec = fit(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 3.0]}))
    with pytest.raises(DataError, match="'b', 'a'"):
        codec.encode(read_table(pd.DataFrame({"b": [1.0], "a": [1.0]})))
    with pytest.raises(DataError, match="'a' has the type String, but held float64"):
        codec.encode(read_table(pl.DataFrame({"a": ["x"], "b": [1.0]})))
    with pytest.raises(DataError, match="shape"):
        codec.decode(np.zeros((3, 5)), RNG(0))
    with pytest.raises(DataError, match="NaN"):
        codec.decode(np.full((3, 2), np.nan), RNG(0))


def test_integers_and_floats_of_one_column_are_joined() -> None:
    codec = TableCodec().observe(read_table(pd.DataFrame({"a": [1, 2, 900]})))
    codec.observe(read_table(pd.DataFrame({"a": [0.5, None, 7.0]}))).finish()
    again = TableCodec.from_dict(codec.to_dict())
    (column,) = again.decode(np.array([[-9, 0], [9, 0], [0, 1]]), RNG(0))
    assert column.values[:2].tolist() == [0.5, 900.0]
    assert column.missing.tolist() == [False, False, True]


def test_types_that_change_between_batches_are_refused() -> None:
    codec = TableCodec().observe(read_table(pd.DataFrame({"a": [1.0, 2.0]})))
    with pytest.raises(DataError, match="'a' changes its type"):
        codec.observe(read_table(pd.DataFrame({"a": ["x", "y"]})))


def test_other_types_of_the_same_meaning_are_encoded_alike() -> None:
    days = pd.date_range("2020", periods=9)
    X = pd.DataFrame({"n": np.arange(9) * 7, "when": days, "x": np.linspace(0.5, 9, 9)})
    codec = fit(X)
    other = X.astype({"n": "float64", "when": "datetime64[s]", "x": "float32"})
    np.testing.assert_allclose(
        codec.encode(read_table(other)), codec.encode(read_table(X)), atol=1e-6
    )
    gone = pd.DataFrame({"n": [None], "when": [None], "x": [None]}, dtype=object)
    assert codec.encode(read_table(gone)).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize(("numeric", "high"), [("quantile", 1e308), ("identity", 1e39)])
def test_numbers_beyond_floats_are_refused(numeric: str, high: float) -> None:
    with pytest.raises(DataError, match="column 0 ranges from"):
        fit(np.array([[-high], [high], [0.5]]), numeric=numeric)


def test_the_input_and_the_global_random_state_are_left_alone() -> None:
    np.random.seed(3)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    X = pd.DataFrame({"x": [1.0, np.nan, 3.0], "c": ["a", "b", None]})
    before = X.copy(deep=True)
    codec = fit(X)
    first = codec.decode(noise(codec), RNG(5))
    second = codec.decode(noise(codec), RNG(5))
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.values, two.values)
    pd.testing.assert_frame_equal(X, before)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
