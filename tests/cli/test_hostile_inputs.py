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
from mgvae.errors import CheckpointError, DataError, ParameterError

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


@pytest.mark.parametrize("labels", [Y, Y + 0, Y + 0.0, np.where(Y, "few", "many")])
def test_labels_that_are_no_class(labels):
    fitted = MGVAE(**FAST).fit(X, labels)
    for label in (10**30, -(10**400), 2**64, pd.NA, 1j, b"few", "x" * 99):
        with pytest.raises(ParameterError, match="is not a class that this sampler generates"):
            fitted.generate(3, label)
    for label in ([], {}, np.arange(2)):
        with pytest.raises(ParameterError, match="label must be one class"):
            fitted.generate(3, label)
    assert len(fitted.generate(3, labels[0])) == 3


@pytest.mark.parametrize("path", ["\x00", "a\x00b", "\ud800"])
def test_paths_that_no_file_has(path):
    with pytest.raises(CheckpointError, match="cannot be continued"):
        MGVAE(**FAST, checkpoint=path).fit(X, Y)


@pytest.mark.parametrize("powers", [(200, 0, -291, 18), (-251, -191, 297), (307, -307, 306)])
def test_numbers_near_the_largest_and_the_smallest(powers):
    cells = np.random.default_rng(0).uniform(-1, 1, (24, len(powers))) * 10.0 ** np.array(powers)
    more, labels = MGVAE(**FAST).fit_resample(cells, Y)
    assert (more[:24] == cells).all()
    assert np.isfinite(more).all()
    assert len(more) == len(labels) == 36


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
