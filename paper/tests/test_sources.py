"""The readers know the real formats, and what they read is checked."""

import gzip
import struct
from dataclasses import replace

import numpy as np
import pytest

from mgvae.errors import DataError
from mgvae_paper import sources
from mgvae_paper.sources import read_source


@pytest.fixture(autouse=True)
def fresh():
    sources._read.cache_clear()


@pytest.fixture
def accept(monkeypatch):
    """Let made-up files pass for the published ones."""

    def accept_all(name):
        place = sources._PLACES[name]
        monkeypatch.setattr(sources, "_checksum", lambda _: place.sha256)

    return accept_all


def write_idx(path, array):
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    data = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def test_idx_files_packed_or_not(tmp_path, accept):
    accept("mnist")
    folder = tmp_path / "mnist"
    folder.mkdir()
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (7, 28, 28)), rng.integers(0, 10, 7)
    write_idx(folder / "train-images-idx3-ubyte.gz", X[:5])
    write_idx(folder / "train-labels-idx1-ubyte", y[:5])
    write_idx(folder / "t10k-images-idx3-ubyte", X[5:])
    write_idx(folder / "t10k-labels-idx1-ubyte.gz", y[5:])
    source = read_source("mnist", tmp_path)
    np.testing.assert_array_equal(source.X, X)
    np.testing.assert_array_equal(source.y, y)
    assert source.test.tolist() == [False] * 5 + [True] * 2


@pytest.mark.parametrize("damage", [lambda d: d[:-3], lambda d: b"PK" + d, lambda _: b""])
def test_damaged_idx_files_are_refused(tmp_path, accept, damage):
    accept("mnist")
    folder = tmp_path / "mnist"
    folder.mkdir()
    for name, shape in (("images-idx3", (2, 28, 28)), ("labels-idx1", (2,))):
        for part in ("train", "t10k"):
            write_idx(folder / f"{part}-{name}-ubyte", np.ones(shape))
    broken = folder / "t10k-images-idx3-ubyte"
    broken.write_bytes(damage(broken.read_bytes()))
    with pytest.raises(DataError, match="t10k-images"):
        read_source("mnist", tmp_path)


def test_musk(tmp_path, accept):
    accept("musk")
    (tmp_path / "musk2").mkdir()
    rows = [[1, 7, *range(166)], [1, 7, *range(1, 167)], [0, 3, *range(-166, 0)]]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "musk2" / "musk2.csv.gz").write_bytes(gzip.compress(text.encode()))
    source = read_source("musk", tmp_path)
    np.testing.assert_array_equal(source.X, [row[2:] for row in rows])
    assert source.y.tolist() == [1, 1, 0]
    assert source.groups.tolist() == [0, 0, 1]


def test_water_rows_without_a_class_are_left_out(tmp_path, accept):
    accept("water_quality")
    (tmp_path / "water_quality").mkdir()
    (tmp_path / "water_quality" / "waterQuality1.csv").write_text(
        "aluminium,ammonia,is_safe\n1.65,9.08,1\n 0.03 ,#NUM!,#NUM!\n0.1, 2 ,0\n"
    )
    source = read_source("water_quality", tmp_path)
    np.testing.assert_allclose(source.X, [[1.65, 9.08], [0.1, 2.0]], rtol=1e-6)
    assert source.y.tolist() == [1, 0]


def test_isolet_does_not_depend_on_the_order_of_rows(tmp_path, accept):
    accept("isolet")
    (tmp_path / "isolet").mkdir()
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (30, 4)).astype(np.float32), rng.integers(1, 6, 30).astype(np.uint8)
    found = []
    for order in (np.arange(30), rng.permutation(30)):
        np.savez(tmp_path / "isolet" / "isolet.npz", X=X[order], y=y[order])
        sources._read.cache_clear()
        found.append(read_source("isolet", tmp_path))
    np.testing.assert_array_equal(found[0].X, found[1].X)
    np.testing.assert_array_equal(found[0].y, found[1].y)
    assert found[0].y.sum() == (y <= 2).sum()


def test_openml_gives_what_the_files_give(tmp_path, accept, monkeypatch):
    accept("musk")
    names = ["ID", "molecule_name", "conformation_name", "f1", "f2"]
    X = np.array([[0.0, 5.0, 1.0, 46.0, -108.0], [1.0, 2.0, 0.0, 41.0, -188.0]])
    monkeypatch.setattr(sources, "_fetch", lambda *_: (X, np.array(["1", "0"]), names))
    source = read_source("musk", tmp_path)
    np.testing.assert_array_equal(source.X, [[46, -108], [41, -188]])
    assert (source.y.tolist(), source.groups.tolist()) == ([1, 0], [0, 1])


def test_other_data_are_refused(tmp_path):
    (tmp_path / "water_quality").mkdir()
    (tmp_path / "water_quality" / "waterQuality1.csv").write_text("a,is_safe\n1,1\n2,0\n")
    with pytest.raises(DataError, match="checksum"):
        read_source("water_quality", tmp_path)


@pytest.mark.parametrize(
    ("name", "command"), [("water_quality", "kaggle datasets download"), ("mnist", "data_id=554")]
)
def test_a_missing_set_names_the_command(tmp_path, monkeypatch, name, command):
    import sklearn.datasets

    def unreachable(**_):
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    with pytest.raises(DataError, match="not at hand") as caught:
        read_source(name, tmp_path)
    assert command in str(caught.value)
    assert "--data" in str(caught.value)


def test_the_checksum_sees_rows_classes_and_order():
    source = sources.PublishedData(
        np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 1, 1])
    )
    changed = [
        replace(source, X=source.X + np.float32(1e-3)),
        replace(source, y=np.array([0, 1, 0])),
        replace(source, X=source.X[[1, 0, 2]]),
    ]
    assert len({sources._checksum(s) for s in [source, *changed]}) == 4


@pytest.mark.parametrize("name", sorted(sources._PLACES))
def test_the_real_data_have_the_known_checksum(data_folder, name):
    folder = data_folder(sources._PLACES[name].folder)
    assert len(read_source(name, folder.parent).y) > 0
