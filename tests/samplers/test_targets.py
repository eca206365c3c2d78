"""Every way to say of which class the rows are."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from mgvae import MGVAE
from mgvae.errors import DataError

FAST = {
    "hidden_sizes": (4,), "latent_size": 2, "pretrain_steps": 1, "finetune_steps": 1,
    "random_state": 0, "ewc_weight": 0.0,
}  # fmt: skip


def one_hot(y: np.ndarray) -> np.ndarray:
    return (y[:, None] == np.unique(y)).astype(int)


LABELS = {
    "int": lambda y: y,
    "int8": lambda y: y.astype(np.int8) - 100,
    "float": lambda y: y * 2.0,
    "text": lambda y: np.array(["no", "yes", "maybe", "never"])[y],
    "objects": lambda y: np.array(["no", "yes", "maybe", "never"], object)[y],
    "bool": lambda y: y > 0,
    "dates": lambda y: np.array(["2020-01-01", "2021-02-03", "1999-12-31", "2000-01-01"], "M8[D]")[
        y
    ],
}
CONTAINERS = {
    "array": lambda y: y,
    "list": lambda y: y.tolist(),
    "column": lambda y: y[:, None],
    "Series": pd.Series,
    "Series with an index": lambda y: pd.Series(y, np.arange(len(y))[::-1] * 7, name="k"),
    "category": lambda y: pd.Series(y).astype("category"),
    "DataFrame": lambda y: pd.DataFrame({"k": y}),
    "nullable": lambda y: pd.Series(y).convert_dtypes(),
    "categories of a frame": lambda y: pd.DataFrame({"k": pd.Categorical(y)}),
    "polars": pl.Series,
    "polars frame": lambda y: pl.DataFrame({"k": y}),
    "pyarrow": pa.array,
    "dictionary": lambda y: pa.array(y).dictionary_encode(),
    "chunked": lambda y: pa.chunked_array([y[:3], y[3:]]),
    "one-hot": one_hot,
    "one-hot bool": lambda y: one_hot(y).astype(bool),
    "one-hot float": lambda y: one_hot(y).astype(float),
    "one-hot list": lambda y: one_hot(y).tolist(),
    "one-hot frame": lambda y: pd.DataFrame(one_hot(y)).add_prefix("k"),
}


def rows_of(y: object) -> list[object]:
    """A label or a row of labels for each row, as plain Python."""
    values = y.to_numpy(zero_copy_only=False) if isinstance(y, pa.Array) else np.asarray(y)
    return [tuple(np.ravel(row).tolist()) for row in values]


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(LABELS)),
    st.sampled_from(sorted(CONTAINERS)),
    st.lists(st.integers(2, 9), min_size=2, max_size=4),
    st.integers(0, 2**16),
)
def test_lengths_agree_and_counts_are_as_asked(labels, container, counts, seed):
    rng = np.random.default_rng(seed)
    counts = [*counts, 12] if labels != "bool" else [counts[0], 12]
    counts = counts[:4]
    counts[-1] = 12
    plain = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    X = rng.normal(size=(len(plain), 2))
    y = CONTAINERS[container](LABELS[labels](plain))
    more, also = MGVAE(**FAST).fit_resample(X, y)
    assert type(also) is type(y)
    before, after = rows_of(y), rows_of(also)
    assert len(more) == len(after) == 12 * len(counts)
    assert after[: len(before)] == before
    assert {after.count(label) for label in set(before)} == {12}
    assert set(after) == set(before)


def test_a_column_without_rows_stays():
    y = np.zeros((30, 3), int)
    y[:20, 0] = y[20:, 2] = 1
    X, more = MGVAE(**FAST).fit_resample(np.random.default_rng(0).normal(size=(30, 2)), y)
    assert len(X) == len(more) == 40
    assert more.sum(0).tolist() == [20, 0, 20]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (csr_matrix(np.eye(3, dtype=int)[np.arange(30) % 3]), "sparse matrix"),
        (np.eye(4, 3, dtype=int)[np.arange(30) % 4], "7 rows are of none"),
    ],
)
def test_what_says_no_class_is_refused(y, words):
    with pytest.raises(DataError, match=words):
        MGVAE(**FAST).fit_resample(np.random.default_rng(0).normal(size=(30, 2)), y)
