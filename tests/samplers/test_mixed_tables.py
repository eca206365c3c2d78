"""MGVAE on real tables of mixed columns: every synthetic row could have stood in the original."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from mgvae import MGVAE


@pytest.fixture(params=["adult", "bank"])
def table(request, data_folder):
    """Return 6,000 rows, and which of them are of the minority."""
    if request.param == "bank":
        real = pd.read_csv(data_folder("mixed/bank-full.csv.gz"), sep=";")
    else:
        real = pd.read_csv(
            data_folder("mixed/adult.data.gz"), header=None, na_values="?", skipinitialspace=True
        )
        real.columns = [f"c{i}" for i in range(real.shape[1])]
    real = real.sample(6000, random_state=0)
    target = real.pop(real.columns[-1])
    return real, target == target.value_counts().index[-1]


def distance(a, b):
    """Kolmogorov-Smirnov distance of numbers, total variation of categories."""
    if a.dtype.kind == "i":
        return ks_2samp(a, b).statistic
    shares = [c.astype(object).fillna("missing").value_counts(normalize=True) for c in (a, b)]
    return shares[0].sub(shares[1], fill_value=0.0).abs().sum() / 2


def test_schema_and_distributions_hold(table):
    real, minority = table
    balanced, labels = MGVAE(random_state=0).fit_resample(real, minority)
    pd.testing.assert_frame_equal(balanced.iloc[: len(real)], real)
    assert labels.sum() == (~labels).sum()
    synthetic = balanced.iloc[len(real) :]
    assert (synthetic.dtypes == real.dtypes).all()
    for name in real:
        old, made = real[name], synthetic[name]
        assert made.isna().any() <= old.isna().any(), name
        if old.dtype.kind == "i":
            assert old.min() <= made.min() <= made.max() <= old.max(), name
        else:
            assert set(made.dropna()) <= set(old.dropna()), name
    apart = {name: distance(real[name][minority], synthetic[name]) for name in real}
    assert np.mean(list(apart.values())) <= 0.10, apart
