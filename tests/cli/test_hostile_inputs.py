"""What the fuzz runs found."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mgvae import MGVAE
from mgvae.codec import TableCodec, read_table
from mgvae.errors import DataError, ParameterError

FAST = {"hidden_sizes": (3,), "pretrain_steps": 1, "finetune_steps": 1, "random_state": 0}
X = np.random.default_rng(0).normal(size=(24, 3))
Y = np.arange(24) % 4 == 0


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([], "no label"),
        (np.array([0, 1, pd.NA] * 8, object), "8 missing labels"),
        (pa.array([0, 1, None] * 8), "8 missing labels"),
    ],
)
def test_labels_that_are_not_there(y, said):
    with pytest.raises(DataError, match=said):
        MGVAE(**FAST).fit_resample(X, y)


def test_labels_of_an_arrow_array():
    labels = pa.array(np.where(Y, "few", "many").tolist())
    _, found = MGVAE(**FAST).fit_resample(X, labels)
    _, expected = MGVAE(**FAST).fit_resample(X, np.where(Y, "few", "many"))
    assert found.to_pylist() == expected.tolist()


@pytest.mark.parametrize("name", ["latent_size", "batch_size", "ewc_weight", "temperature"])
def test_a_flag_is_no_number(name):
    with pytest.raises(ParameterError, match=f"{name} must be a number"):
        MGVAE(**FAST, **{name: True}).fit(X, Y)


def test_categories_that_pandas_cannot_join():
    cells = np.empty(24, object)
    cells[:] = [0.5 if i % 2 else (1,) for i in range(24)]
    with pytest.raises(DataError, match="column 'c'"):
        MGVAE(**FAST).fit(pd.DataFrame({"c": cells}).astype("category"), Y)


def test_rows_with_cells_of_several_lengths():
    rows = [[1.0, [1, 2]] if i % 2 else [0.0, []] for i in range(24)]
    with pytest.raises(DataError):
        MGVAE(**FAST).fit(rows, Y)


def test_pictures_in_a_list():
    pictures = np.random.default_rng(0).random((24, 8, 8))
    listed, stacked = (MGVAE(**FAST).fit(p, Y) for p in (list(pictures), pictures))
    assert (listed.generate(3, True) == stacked.generate(3, True)).all()


def test_texts_that_no_row_shows_are_not_kept():
    prose = [f"the secret of number {i} is kept by nobody else" for i in range(40)]
    table = read_table(pd.DataFrame({"prose": prose}))
    codec = TableCodec(identifiers="missing", column_types={"prose": "text"}).fit(table)
    assert "secret" not in str(codec.to_dict())


def test_fuzzed_inputs():
    """A small part of the long run; any failure prints its seed."""
    script = Path(__file__).parents[2] / "benchmarks" / "fuzz_inputs.py"
    if not script.exists():
        pytest.skip("the benchmarks are not at hand")
    found = subprocess.run(
        [sys.executable, script, "--count", "150"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "150 inputs" in found.stdout
