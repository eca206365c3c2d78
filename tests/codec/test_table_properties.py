"""What holds for every table, in every container."""

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgvae.codec import TableCodec, append_rows, only_rows, read_table
from mgvae.errors import CodecWarning
from tests.codec.random_tables import GROUPS, INTEGERS, Spreadsheet, spreadsheets, to_lists, types

CONTAINERS = ["pandas", "polars", "pyarrow"]


def fitted(X: Any) -> TableCodec:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        return TableCodec().fit(read_table(X))


def noise(codec: TableCodec, n: int, seed: int) -> np.ndarray:
    """Rows that no table was ever encoded as, flags and one-hot codes included."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 10.0 ** rng.integers(-2, 4), (n, codec.width)).astype(np.float32)


@pytest.mark.parametrize("container", CONTAINERS)
@given(sheet=spreadsheets())
@settings(max_examples=60)
def test_a_table_survives_its_codes(container: str, sheet: Spreadsheet) -> None:
    X = sheet.to(container)
    codec = fitted(X)
    encoded = codec.encode(read_table(X))
    assert encoded.dtype == np.float32
    assert encoded.shape == (len(X), codec.width)
    assert encoded.flags.c_contiguous
    assert np.isfinite(encoded).all()
    assert sum(span.size for span in codec.spans) == codec.width

    back = only_rows(X, codec.decode(encoded, np.random.default_rng(0)))
    assert types(back) == types(X)
    kinds = {summary.name: summary.kind for summary in codec.describe()}
    for spec, cells in zip(sheet.columns, to_lists(back).values(), strict=True):
        if kinds[spec.name] == "identifier":
            continue
        if spec.kind in GROUPS or len(set(spec.present)) <= min(30, len(spec.present) / 2):
            assert cells == to_lists(X)[spec.name]
            continue
        original = to_lists(X)[spec.name]
        assert [c is None for c in cells] == [c is None for c in original]
        reach = max(spec.present) - min(spec.present)
        for cell, exact in zip(cells, original, strict=True):
            assert cell is None or abs(cell - exact) <= reach / 25  # the ends are rounded


@pytest.mark.parametrize("container", CONTAINERS)
@given(sheet=spreadsheets(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_any_codes_decode_to_cells_that_the_table_could_hold(
    container: str, sheet: Spreadsheet, seed: int
) -> None:
    X = sheet.to(container)
    codec = fitted(X)
    new = only_rows(X, codec.decode(noise(codec, 50, seed), np.random.default_rng(seed)))
    assert types(new) == types(X)
    kinds = {summary.name: summary.kind for summary in codec.describe()}
    for spec, cells in zip(sheet.columns, to_lists(new).values(), strict=True):
        present = [cell for cell in cells if cell is not None]
        assert spec.gaps or len(present) == len(cells)
        seen = [cell for cell in to_lists(X)[spec.name] if cell is not None]
        if kinds[spec.name] == "identifier":
            assert len(set(present) | set(seen)) == len(present) + len(seen)
        elif spec.kind in GROUPS:
            assert set(present) <= set(seen)
        elif seen:
            assert all(min(seen) <= cell <= max(seen) for cell in present)
        else:
            assert not present
        if spec.kind in INTEGERS:
            assert all(isinstance(cell, int) for cell in present)
        if spec.kind == "whole":
            assert all(cell == round(cell) for cell in present)


@pytest.mark.parametrize("container", CONTAINERS)
@given(sheet=spreadsheets(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_original_rows_come_first_and_untouched(
    container: str, sheet: Spreadsheet, seed: int
) -> None:
    X = sheet.to(container)
    codec = fitted(X)
    columns = codec.decode(noise(codec, 7, seed), np.random.default_rng(seed))
    both = append_rows(X, columns)
    assert types(both) == types(X)
    assert len(both) == len(X) + 7
    if container == "pandas":
        pd.testing.assert_frame_equal(both.iloc[: len(X)], X, check_exact=True)
        assert both.index.equals(pd.RangeIndex(len(both)))
    elif container == "polars":
        assert isinstance(both, pl.DataFrame)
        assert both.head(len(X)).equals(X)
    else:
        assert isinstance(both, pa.Table)
        assert both.slice(0, len(X)).equals(X)
    last = both.iloc[-7:] if container == "pandas" else both[-7:]
    assert to_lists(last) == to_lists(only_rows(X, columns))


@given(sheet=spreadsheets(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_codec_read_from_json_gives_the_same_bits(sheet: Spreadsheet, seed: int) -> None:
    table = read_table(sheet.to("polars"))
    codec = fitted(sheet.to("polars"))
    text = json.dumps(codec.to_dict(), allow_nan=False)
    again = TableCodec.from_dict(json.loads(text))
    assert again.spans == codec.spans
    assert again.describe() == codec.describe()
    assert again.encode(table).tobytes() == codec.encode(table).tobytes()
    codes = noise(codec, 30, seed)
    pairs = zip(
        codec.decode(codes, np.random.default_rng(seed)),
        again.decode(codes, np.random.default_rng(seed)),
        strict=True,
    )
    for first, second in pairs:
        assert first.values.dtype == second.values.dtype
        np.testing.assert_array_equal(first.values, second.values)
        np.testing.assert_array_equal(first.missing, second.missing)
        assert (first.name, first.dtype, first.levels) == (second.name, second.dtype, second.levels)


@given(sheet=spreadsheets(), parts=st.integers(2, 5))
@settings(max_examples=40)
def test_the_codec_does_not_depend_on_how_rows_are_cut_into_batches(
    sheet: Spreadsheet, parts: int
) -> None:
    X = sheet.to("pyarrow")
    streamed = TableCodec()
    step = -(-len(X) // parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        for start in range(0, len(X), step):
            streamed.observe(read_table(X.slice(start, step)))
        streamed.finish()
    assert streamed.to_dict() == fitted(X).to_dict()


@given(
    n=st.integers(1, 60),
    width=st.integers(1, 8),
    dtype=st.sampled_from(["f2", "f4", "f8", "i1", "u2", "i8", "u8", "?"]),
    seed=st.integers(0, 2**32 - 1),
    gaps=st.booleans(),
)
@settings(max_examples=60)
def test_arrays_keep_dtype_and_range(n: int, width: int, dtype: str, seed: int, gaps: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 50, (n, width)).astype(dtype)
    if gaps and X.dtype.kind == "f":
        X[rng.random(X.shape) < 0.3] = np.nan
    before = X.copy()
    X.flags.writeable = False
    codec = fitted(X)
    codes = noise(codec, 20, seed)
    both = append_rows(X, codec.decode(codes, rng))
    assert both.dtype == X.dtype
    assert both[:n].tobytes() == X.tobytes() == before.tobytes()
    for old, new in zip(X.T, both[n:].T, strict=True):
        known = old == old
        assert known.all() <= (new == new).all()
        if known.any():
            inside = new[new == new]
            assert (inside >= old[known].min()).all()
            assert (inside <= old[known].max()).all()
