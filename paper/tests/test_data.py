"""Splits: what each protocol promises."""

import numpy as np
import pytest

from mgvae.errors import DataError, ParameterError
from mgvae_paper import data
from mgvae_paper.celeba import CelebaImages
from mgvae_paper.data import DATASETS, split
from mgvae_paper.sources import PublishedData

TABLE_1 = {  # majority and minority rows in training, as the paper counts them
    "mnist-100": (30596, 300), "mnist-600": (30596, 50),
    "fashionmnist-100": (30000, 300), "fashionmnist-600": (30000, 50),
    "musk": (5381, 817), "water_quality": (6784, 612), "isolet": (6997, 400),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE_1)
def test_the_papers_counts(data_folder, name):
    folder = data_folder(
        {"mnist": "mnist", "fashionmnist": "fashion_mnist", "musk": "musk2"}.get(
            DATASETS[name].family, DATASETS[name].family
        )
    ).parent
    parts = split(name, "paper", 0, folder)
    assert tuple(np.bincount(parts.y_train)) == TABLE_1[name]
    assert len(parts.y_valid) == 0
    if DATASETS[name].kind == "table":
        assert np.bincount(parts.y_test).tolist() == [DATASETS[name].test] * 2


def numbered(n_majority=900, n_minority=400):
    """Make a table whose first column numbers the rows."""
    n = n_majority + n_minority
    X = np.stack([np.arange(n), np.arange(n) ** 2 % 97], axis=1).astype(np.float32)
    return PublishedData(X, (np.arange(n) < n_minority).astype(np.int64), groups=np.arange(n) // 10)


@pytest.fixture
def numbers(monkeypatch):
    monkeypatch.setattr(data, "read_source", lambda *_: numbered())


def test_paper_tests_on_the_first_rows_whatever_the_seed(numbers):
    dataset = data.DataSet("musk", "table", test=200)
    first, second = (data.split_dataset(dataset, "paper", seed) for seed in (0, 1))
    np.testing.assert_array_equal(first.X_test, second.X_test)
    assert sorted(first.X_test[:, 0]) == [*range(200), *range(400, 600)]


@pytest.mark.parametrize("by_group", [False, True])
def test_clean_parts_are_disjoint_complete_and_drawn_by_the_seed(numbers, by_group):
    dataset = data.DataSet("musk", "table", test=200, by_group=by_group)
    parts, other = (data.split_dataset(dataset, "clean", seed) for seed in (0, 1))
    rows = [set(X[:, 0]) for X in (parts.X_train, parts.X_valid, parts.X_test)]
    assert sum(map(len, rows)) == len(set.union(*rows)) == 1300
    assert set(other.X_test[:, 0]) != rows[2]
    for y in (parts.y_train, parts.y_valid, parts.y_test):
        assert set(y) == {0, 1}
    if by_group:
        groups = [{row // 10 for row in part} for part in rows]
        assert sum(map(len, groups)) == len(set.union(*groups)) == 130


def test_scaling_sees_all_rows_in_paper_and_training_rows_in_clean(numbers):
    dataset = data.DataSet("musk", "table", test=200, scale=(-1.0, 1.0))
    paper = data.split_dataset(dataset, "paper")
    everything = np.concatenate([paper.X_train, paper.X_test])
    np.testing.assert_allclose([everything.min(0), everything.max(0)], [[-1, -1], [1, 1]])
    assert paper.X_train.min(0)[0] > -1  # the first rows are in the test part
    clean = data.split_dataset(dataset, "clean")
    np.testing.assert_allclose([clean.X_train.min(0), clean.X_train.max(0)], [[-1, -1], [1, 1]])


def test_images_by_file_order_and_by_seed(small_data):
    large, small = split("mnist-100", "paper"), split("mnist-600", "paper")
    assert np.bincount(large.y_train).tolist() == [350, 300]
    assert np.bincount(small.y_train).tolist() == [350, 50]
    first = np.flatnonzero(np.tile(np.arange(10), 70) == 7)[:10]
    X = data.read_source("mnist").X
    present = {image.tobytes() for image in small.X_train}
    assert all(X[row].tobytes() in present for row in first)
    draws = [split("mnist-600", "clean", seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0].X_train, draws[1].X_train)
    assert not np.array_equal(draws[0].X_train, draws[2].X_train)
    assert len(draws[0].y_test) == 200


def test_ratios_share_their_majority(small_data):
    large, small = split("mnist-100", "clean", 3), split("mnist-600", "clean", 3)
    np.testing.assert_array_equal(
        large.X_train[large.y_train == 0], small.X_train[small.y_train == 0]
    )


@pytest.mark.parametrize(("name", "protocol"), [("nist", "paper"), ("musk-by-molecule", "paper")])
def test_unknown_data_sets_are_named(name, protocol):
    with pytest.raises(ParameterError, match=name):
        split(name, protocol)


def test_celeba_keeps_its_official_parts(tmp_path, monkeypatch):
    asked = []

    def load(folder, part, *, long_tail="scaled", size=64, random_state=0):
        asked.append((part, long_tail, random_state))
        labels = np.array(["gray", "black", "bald", "blond", "brown"])
        return CelebaImages(np.zeros((5, size, size, 3), np.uint8), labels, [part] * 5)

    monkeypatch.setattr(data, "load_celeba", load)
    with pytest.raises(DataError, match="download=True"):
        split("celeba-100", "clean", 3, tmp_path)
    (tmp_path / "celeba").mkdir()
    clean = split("celeba-100", "clean", 3, tmp_path, size=8)
    assert clean.X_train.shape == (5, 8, 8, 3)
    assert clean.y_valid.tolist() == [4, 0, 2, 1, 3]  # the paper's order, the majority first
    assert asked == [("train", "scaled", 3), ("valid", "scaled", 3), ("test", None, 0)]
    assert len(split("celeba-100", "paper", 3, tmp_path, size=8).y_valid) == 0
    assert asked[3] == ("train", "scaled", 0)


@pytest.mark.parametrize(("name", "narrower"), [("musk", 1), ("water_quality", 0)])
def test_scaling_before_the_split_hardly_matters(data_folder, name, narrower):
    """The training rows hold the extremes of all columns but one of Musk's."""
    X = split(name, "paper", 0, data_folder("musk2").parent).X_train
    ends = np.array([X.min(axis=0), X.max(axis=0)])
    limits = np.array(DATASETS[name].scale)
    assert (np.abs(ends - limits[:, None]) > 1e-6).any(axis=0).sum() == narrower
