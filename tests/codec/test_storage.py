"""Codecs from damaged or hostile data."""

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgvae.codec import TableCodec, read_table
from mgvae.errors import CodecWarning, DataError, MGVAEError


def stored() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    n = 60
    X = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.3, 0.0, rng.normal(size=n)),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "few": rng.integers(0, 4, n),
            "c": rng.choice(["a", "b"], n),
            "k": pd.Categorical(rng.choice(["a", "b"], n), ["b", "z", "a"]),
            "when": pd.date_range("2020", periods=n, freq="h"),
            "same": 1,
            "empty": np.nan,
            "id": [f"A{i}" for i in range(n)],
            "text": [f"{i} words are enough to make this a text, not a name" for i in range(n)],
        }
    )
    with pytest.warns(CodecWarning):
        codec = TableCodec().fit(read_table(X))
    return json.loads(json.dumps(codec.to_dict()))


STORED: dict[str, Any] = {}


def plain() -> dict[str, Any]:
    if not STORED:
        STORED.update(stored())
    return copy.deepcopy(STORED)


def paths(data: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside nested data."""
    inner = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    return [*([at] if at else []), *(p for key, value in inner for p in paths(value, (*at, key)))]


HOSTILE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.floats(),
    st.sampled_from(
        ["", "object", "<U999999999", "f8,f8", "datetime64[Y]", "quantile", "\x00", "../x"]
    ),
    st.lists(st.integers(-3, 3), max_size=3),
    st.dictionaries(st.sampled_from(["bytes", "low", "x"]), st.integers(0, 9), max_size=2),
)


@given(choice=st.integers(0, 10**9), value=HOSTILE)
@settings(max_examples=300)
def test_one_changed_value_is_refused_or_harmless(choice: int, value: Any) -> None:
    data = plain()
    ways = paths(data)
    *way, last = ways[choice % len(ways)]
    target = data
    for key in way:
        target = target[key]
    target[last] = value
    try:
        codec = TableCodec.from_dict(data)
        codes = np.random.default_rng(0).normal(size=(5, codec.width))
        codec.decode(codes, np.random.default_rng(0))
        codec.describe()
    except MGVAEError:
        return


@given(choice=st.integers(0, 10**9))
@settings(max_examples=60)
def test_a_lost_or_added_field_is_refused(choice: int) -> None:
    for change in ("lose", "add"):
        data = plain()
        dicts = [p for p in [(), *paths(data)] if isinstance(_at(data, p), dict)]
        target = _at(data, dicts[choice % len(dicts)])
        if change == "add":
            target["extra"] = 1
        else:
            del target[sorted(target)[choice % len(target)]]
        with pytest.raises(DataError):
            TableCodec.from_dict(data)


def _at(data: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        data = data[key]
    return data


@pytest.mark.parametrize("data", [None, [], "codec", {}, {"version": 2}, {"version": True}])
def test_other_data_are_no_codec(data: Any) -> None:
    with pytest.raises(DataError, match="codec"):
        TableCodec.from_dict(data)


@pytest.mark.parametrize("name", [("a", 1), 7, 2.5, pd.Timestamp("2020-01-01"), None, b"x"])
def test_any_column_name_is_stored(name: Any) -> None:
    X = pd.DataFrame([[1.5], [2.5], [9.0]], columns=pd.Index([name], tupleize_cols=False))
    codec = TableCodec().fit(read_table(X))
    again = TableCodec.from_dict(json.loads(json.dumps(codec.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(again.encode(read_table(X)), codec.encode(read_table(X)))


def test_no_row_of_the_table_is_stored() -> None:
    secret = 0.123456789
    x = np.random.default_rng(0).normal(size=100_000)
    x[77] = secret
    text = json.dumps(TableCodec().fit(read_table(x[:, None])).to_dict())
    assert len(text) < 20_000
    assert str(secret) not in text
