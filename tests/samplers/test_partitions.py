"""Very many rows in parts: no row twice, and the same rows however many work at once."""

import json

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgvae import MGVAE
from mgvae.cli import _run as cli
from mgvae.errors import ParameterError
from mgvae.samplers._partition import read_partition
from tests.stored import with_stored_guides

QUICK = {"random_state": 0, "pretrain_steps": 5, "finetune_steps": 5}


@pytest.fixture(scope="module")
def sampler():
    """A sampler of a table with a number, a category and an identifier."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "id": np.arange(1, 121),
            "size": rng.normal(size=120),
            "colour": rng.choice(["red", "green"], 120),
        }
    )
    types = {"id": "identifier"}
    return MGVAE(**QUICK, column_types=types).fit(X, np.repeat(["many", "few"], [100, 20]))


def made(sampler, n, parts, seed=0):
    return [sampler.generate(n, "few", seed, partition=(i, parts)) for i in range(parts)]


class TestParts:
    def test_have_no_row_in_common(self, sampler):
        parts = made(sampler, 400, 7)
        whole = pd.concat(parts)
        assert [len(part) for part in parts] == [57, 57, 57, 57, 57, 57, 58]
        assert whole["size"].nunique() == 400
        assert whole["id"].nunique() == 400
        assert not set(whole["id"]) & set(range(1, 121 + 80))  # nor with the rows of fit_resample

    def test_do_not_depend_on_their_order_or_on_other_calls(self, sampler):
        parts = made(sampler, 100, 3)
        sampler.generate(10, "few")
        for i in (2, 0, 1):
            again = sampler.generate(100, "few", 0, partition=(i, 3))
            pd.testing.assert_frame_equal(again, parts[i])

    @pytest.mark.parametrize("other", [{"seed": 1}, {"parts": 4}])
    def test_differ_by_seed_and_by_number(self, sampler, other):
        first = made(sampler, 100, parts=3, seed=0)[0]
        second = made(sampler, 100, **{"parts": 3, "seed": 0, **other})[0]
        assert not set(first["size"]) & set(second["size"])

    def test_differ_from_rows_made_at_once(self, sampler):
        at_once = sampler.generate(100, "few", 0)
        assert not set(at_once["size"]) & set(pd.concat(made(sampler, 100, 2))["size"])

    @given(n=st.integers(0, 50), parts=st.integers(1, 12))
    def test_make_up_the_whole(self, n, parts):
        found = [read_partition(n, (i, parts), random_state=3) for i in range(parts)]
        assert sum(part.n for part in found) == n
        assert [part.before for part in found] == [
            sum(p.n for p in found[:i]) for i in range(parts)
        ]
        assert len({part.seeds.generate_state(4).tobytes() for part in found}) == parts

    @pytest.mark.parametrize("partition", [(3, 3), (-1, 3), (0, 0), 3, (0.0, 2), (0,), "01", None])
    def test_that_cannot_be(self, sampler, partition):
        if partition is None:
            with pytest.raises(ParameterError, match="random_state that is a whole number"):
                sampler.generate(5, "few", None, partition=(0, 2))
        else:
            with pytest.raises(ParameterError, match="two whole numbers"):
                sampler.generate(5, "few", 0, partition=partition)


@pytest.fixture(scope="module")
def model(sampler, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    sampler.save(path)
    return str(path)


def run(*arguments):
    return cli.run([str(argument) for argument in arguments])


class TestCommand:
    def test_gives_the_same_files_however_many_work(self, sampler, model, tmp_path, capfd):
        common = ["sample", model, "-n", 100, "--partitions", 3, "--seed", 0, "--target", "y"]
        assert run(*common, "-o", tmp_path / "one", "--json") == 0
        told = json.loads(capfd.readouterr().out)
        assert (told["rows"], told["partitions"], told["label"]) == (100, 3, "few")
        assert run(*common, "-o", tmp_path / "two", "--jobs", 2, "-q") == 0
        files = sorted((tmp_path / "one").iterdir())
        assert [file.name for file in files] == [f"part-0000{i}.parquet" for i in range(3)]
        for file in files:
            assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
        table = ds.dataset(tmp_path / "one").to_table()
        assert table["y"].to_pylist() == ["few"] * 100
        expected = pd.concat(made(with_stored_guides(sampler), 100, 3))["size"]
        np.testing.assert_array_equal(table["size"].to_numpy(), expected)

    def test_writes_other_formats(self, model, tmp_path):
        out = tmp_path / "new.csv"
        assert run("sample", model, "-n", 10, "--partitions", 2, "-o", out, "-q") == 0
        assert sorted(file.name for file in out.iterdir()) == ["part-00000.csv", "part-00001.csv"]
        assert pyarrow.csv.read_csv(out / "part-00000.csv").num_rows == 5

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--partitions", "20"], "at most the 10 rows"),
            (["--partitions", "2", "--jobs", "0"], "got 0"),
            (["--jobs", "2"], "--jobs is for --partitions"),
            (["--partitions", "2", "--label", "blue"], "'blue' is not a class"),
            (["--partitions", "2", "--target", "size"], "a column 'size' already"),
        ],
    )
    def test_errors_leave_nothing(self, model, tmp_path, capfd, arguments, message):
        out = tmp_path / "new.parquet"
        assert run("sample", model, "-n", 10, "-o", out, *arguments) != 0
        assert message in capfd.readouterr().err
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(("output", "message"), [("-", "not to -"), ("full", "exists already")])
    def test_places_that_cannot_be(self, model, tmp_path, capfd, monkeypatch, output, message):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "a").touch()
        assert run("sample", model, "-n", 10, "--partitions", 2, "-o", output) != 0
        assert message in capfd.readouterr().err
