"""The codec on real tables of mixed columns."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from mgvae.codec import TableCodec, append_rows, only_rows, read_table

ADULT = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation",
    "relationship", "race", "sex", "gain", "loss", "hours", "country", "income",
]  # fmt: skip


@pytest.fixture(params=["adult", "bank"])
def real(request: pytest.FixtureRequest, data_folder: Callable[[str], Path]) -> pd.DataFrame:
    if request.param == "bank":
        return pd.read_csv(data_folder("mixed/bank-full.csv.gz"), sep=";", na_values="unknown")
    return pd.read_csv(
        data_folder("mixed/adult.data.gz"), names=ADULT, na_values="?", skipinitialspace=True
    )


def test_codes_lose_nothing_that_matters(real: pd.DataFrame) -> None:
    codec = TableCodec().fit(read_table(real))
    encoded = codec.encode(read_table(real))
    back = only_rows(real, codec.decode(encoded, np.random.default_rng(0)))
    assert back.dtypes.tolist() == real.dtypes.tolist()
    for name in real:
        if real[name].dtype.kind == "i":
            assert ks_2samp(real[name], back[name]).statistic < 0.005, name
            assert np.corrcoef(real[name].rank(), back[name].rank())[0, 1] > 0.9999, name
        else:
            pd.testing.assert_series_equal(back[name], real[name])


def test_independent_codes_give_the_columns_own_distributions(real: pd.DataFrame) -> None:
    codec = TableCodec().fit(read_table(real))
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(20_000, codec.width)).astype(np.float32)
    new = only_rows(real, codec.decode(codes, rng))
    both = append_rows(real, codec.decode(codes, rng))
    assert both.iloc[: len(real)].equals(real)
    for summary in codec.describe():
        old, made = real[summary.name], new[summary.name]
        assert made.isna().any() <= old.isna().any()
        assert made.dtype == old.dtype
        if old.dtype.kind == "i":
            assert old.min() <= made.min() <= made.max() <= old.max()
            if not summary.note.endswith("values"):  # snapped ones need the network's own codes
                assert ks_2samp(old, made).statistic < 0.02, summary.name
        else:
            assert set(made.dropna()) <= set(old.dropna())
