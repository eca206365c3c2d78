"""Model files: what comes back is what was saved, and nothing else comes in."""

import datetime as dt
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from safetensors import safe_open
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mgvae import CGAN, CVAE, MGVAE, files
from mgvae.cli._run import run
from mgvae.common.tensor_file import ModelFile, read_file, to_bytes
from mgvae.errors import MGVAEError, ModelFileError, ParameterError
from mgvae.networks import mlp_bodies
from tests.expert import expert
from tests.stored import with_stored_guides

HERE = Path(__file__).parent
TINY = {"hidden_sizes": (6,), "latent_size": 2, "random_state": 0}
FAST = {**TINY, "pretrain_steps": 3, "finetune_steps": 3}
KINDS = {
    "MGVAE": lambda **k: MGVAE(**FAST, **k),
    "CVAE": lambda **k: CVAE(**TINY, steps=3, **k),
    "CGAN": lambda **k: CGAN(
        hidden_sizes=(6,), noise_size=3, steps=3, random_state=0, on_collapse="warn", **k
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore::mgvae.errors.MGVAEWarning")


def mixed(n: int = 60) -> pd.DataFrame:
    """A table with every kind of column."""
    rng = np.random.default_rng(0)
    since = pd.Timestamp("2024-03-01", tz="Europe/Berlin")
    words = ["lorem", "ipsum", "dolor", "sit", "amet"]
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "whole": rng.integers(0, 500, n).astype(np.int16),
            "nullable": pd.array(rng.integers(0, 40, n), dtype="Int64"),
            "level": pd.Categorical(rng.choice(["x", "y", "z"], n), ["z", "y", "x", "w"], True),
            "text": rng.choice(["ä", "=b"], n),
            "when": since + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"),
            "long": pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"),
            "flag": rng.random(n) < 0.5,
            "id": [f"k{i:04d}" for i in range(n)],
            "prose": [" ".join(rng.choice(words, 12)) + f" {i}" for i in range(n)],
            "same": 7,
        }
    )
    frame.loc[3:9, "number"] = np.nan
    frame.loc[5:6, "nullable"] = pd.NA
    return frame


def special(kind: str) -> object:
    """Tables of types that only one library has."""
    rng = np.random.default_rng(1)
    if kind == "pandas":
        return pd.DataFrame(
            {
                ("a", 1): pd.array(rng.integers(0, 9, 60), dtype="int64[pyarrow]"),
                ("a", 2): pd.arrays.SparseArray(rng.integers(0, 2, 60).astype(float), fill_value=0),
                ("b", 1): pd.Series(rng.choice([b"p", b"q"], 60), dtype=object),
                ("b", 2): pd.array(rng.random(60) < 0.5, dtype="boolean"),
            }
        )
    if kind == "polars":
        return pl.DataFrame(
            {
                "e": pl.Series(rng.choice(["a", "b"], 60), dtype=pl.Enum(["a", "b", "c"])),
                "c": pl.Series(rng.choice(["a", "b"], 60), dtype=pl.Categorical),
                "d": pl.Series([dt.date(2024, 1, 1 + i % 28) for i in range(60)]),
                "t": pl.Series([dt.datetime(2024, 1, 1, i % 24) for i in range(60)]),
                "u": pl.Series([dt.timedelta(hours=i) for i in range(60)]),
            }
        )
    return pa.table(
        {
            "d": pa.array(rng.choice(["a", "b"], 60)).dictionary_encode(),
            "t": pa.array(rng.integers(0, 10**6, 60), pa.timestamp("ms", "UTC")),
            "s": pa.array(rng.choice(["a", "b"], 60), pa.large_string()),
            "f": pa.array(rng.normal(size=60), pa.float32()),
        }
    )


RNG = np.random.default_rng(2)
DATA = {
    "pandas": mixed(),
    "polars": pl.from_pandas(mixed()),
    "pyarrow": pa.Table.from_pandas(mixed(), preserve_index=False),
    "special pandas": special("pandas"),
    "special polars": special("polars"),
    "special pyarrow": special("pyarrow"),
    "float32": RNG.normal(size=(60, 3)).astype(np.float32),
    "objects": mixed()[["number", "text", "whole"]].to_numpy(object),
    "texts": RNG.choice(["aa", "b"], (60, 2)),
    "list": mixed()[["whole", "text"]].to_numpy(object).tolist(),
    "one value": np.full((60, 2), 4.0),
    "grey": RNG.random((60, 8, 8)),
    "colour": RNG.integers(0, 256, (60, 8, 9, 3)).astype(np.uint8),
}
Y = np.where(np.arange(60) % 6, "many", "few")


def same(a: object, b: object) -> bool:
    """Tell whether two containers are alike to the last bit."""
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b)
        return True
    if isinstance(a, pl.DataFrame | pa.Table):
        return a.schema == b.schema and a.equals(b)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and repr(a.tolist()) == repr(b.tolist())
    return repr(a) == repr(b)


def reloaded(sampler: object, path: Path) -> object:
    sampler.save(path)
    return type(sampler).load(path)


def test_only_bridges_draw_other_rows_after_loading(tmp_path):
    """Of the majority, a file holds less than the sampler in memory."""
    for mode in ("translate", "responsibility", "bridge"):
        sampler = MGVAE(**FAST, generation=mode).fit(DATA["float32"], Y)
        again = reloaded(sampler, tmp_path / "model.safetensors")
        equal = same(*(s.generate(7, "few", random_state=0) for s in (sampler, again)))
        assert equal == (mode != "bridge")
        once_more = reloaded(again, tmp_path / "other.safetensors")
        assert same(*(s.generate(7, "few", random_state=0) for s in (again, once_more)))
        sampler.save(tmp_path / "twice.safetensors")  # tells no more than to save it once
        files = [read_file(tmp_path / f"{name}.safetensors") for name in ("model", "twice")]
        assert set(files[0].tensors) == set(files[1].tensors)
        assert all(torch.equal(t, files[1].tensors[k]) for k, t in files[0].tensors.items())


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    MGVAE(**FAST, generation="translate").fit(DATA["pyarrow"], Y).save(path)
    return path


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_after_loading(kind, name, tmp_path):
    X = DATA[name]
    sampler = KINDS[kind]().fit(X, Y)
    again = reloaded(sampler, tmp_path / "model.safetensors")
    stored = with_stored_guides(sampler)
    for seed in (5, None, None):
        made, remade = (s.generate(7, "few", random_state=seed) for s in (stored, again))
        assert same(made, remade)
    if kind != "CGAN" or name == "one value":
        assert same(*(s.translate(X[:9], "few", random_state=3) for s in (stored, again)))
    assert repr(again) == repr(sampler)
    assert again.n_features_in_ == sampler.n_features_in_


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [-3, 9], [False, True], [1.0, 2.0], np.array(["a", "b"], object), ["é", "few\x1b"]],
    ids=str,
)
def test_labels_keep_their_type(labels, tmp_path):
    y = np.asarray(labels)[(np.arange(60) % 6 == 0).astype(int)]
    sampler = MGVAE(**FAST).fit(DATA["float32"], y)
    again = reloaded(sampler, tmp_path / "model.safetensors")
    assert again.classes_.dtype == sampler.classes_.dtype
    assert again.classes_.tolist() == sampler.classes_.tolist()
    assert again.majority_ == sampler.majority_
    assert again.sampling_strategy_ == {k: n for k, n in sampler.sampling_strategy_.items() if n}
    label = np.asarray(labels)[1]
    stored = with_stored_guides(sampler)
    assert same(*(s.generate(2, label, random_state=0) for s in (stored, again)))


@pytest.mark.parametrize("prior", ["majority", "standard"])
def test_many_classes(imbalanced, prior, tmp_path):
    X, y = imbalanced
    settings = {"prior": prior, "generation": "translate"}
    sampler = expert(settings, **FAST, sampling_strategy={"many": 210, "few": 30}).fit(X, y)
    again = reloaded(sampler, tmp_path / "model.safetensors")
    for label in ("many", "few"):
        assert same(*(s.generate(20, label, random_state=0) for s in (sampler, again)))
    with pytest.raises(ParameterError, match="some"):
        again.generate(1, "some")


def test_a_loaded_sampler_trains_anew(imbalanced, tmp_path):
    X, y = imbalanced
    sampler = MGVAE(**FAST, column_types={1: "integer"} | {0: "continuous"}, rejection=0.1)
    again = reloaded(sampler.fit(X.round(), y), tmp_path / "model.safetensors")
    assert again.column_types == sampler.column_types
    expected, _ = clone(sampler).fit_resample(X.round(), y)
    found, _ = again.fit_resample(X.round(), y)
    assert same(expected, found)


def test_saving_changes_nothing(imbalanced, tmp_path):
    X, y = imbalanced
    one, other = (MGVAE(**FAST).fit(X, y) for _ in range(2))
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    for _ in range(2):
        reloaded(one, tmp_path / "model.safetensors")
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    assert same(one.generate(9, "few"), other.generate(9, "few"))
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_the_file_is_plain(saved):
    """It is an ordinary safetensors file whose metadata are JSON, with latent means, not rows."""
    with safe_open(saved, "pt") as file:
        shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
        metadata = json.loads(file.metadata()["mgvae"])
    assert metadata["schema_version"] == 3
    assert metadata["classes"]["rows"] == [10, 50]
    assert shapes["class.0.blurred_centres"] == [50, 2]
    others = [name for name in shapes if not name.startswith(("model.0.", "codec."))]
    assert others == ["class.0.blurred_centres"]


@pytest.mark.parametrize("path", sorted(HERE.glob("model-v*.safetensors")), ids=str)
def test_files_of_every_schema_version_load(path):
    sampler = MGVAE.load(path)
    made = sampler.generate(40, "yes", random_state=0)
    assert isinstance(made, pa.Table)
    assert made.column_names == ["age", "job", "member", "since"]
    ages = made["age"].to_numpy()
    assert ages.min() >= 18
    assert ages.max() <= 77
    assert set(made["job"].to_pylist()) <= {"cook", "smith", None}
    assert made.equals(sampler.generate(40, "yes", random_state=0))


def test_a_model_of_another_class_is_refused(saved):
    with pytest.raises(ModelFileError, match="MGVAE"):
        CVAE.load(saved)


def test_what_cannot_be_saved(tmp_path, imbalanced):
    X, y = imbalanced
    path = tmp_path / "model.safetensors"
    with pytest.raises(NotFittedError):
        MGVAE().save(path)
    own = MGVAE(**FAST, network=lambda shape, latent: mlp_bodies(shape[0], (4,), latent))
    with pytest.raises(ParameterError, match="callable"):
        own.fit(X, y).save(path)
    dates = pd.DataFrame(X, columns=pd.date_range("2024", periods=5))
    with pytest.raises(ParameterError, match="column names"):
        MGVAE(**FAST).fit(dates, y).save(path)
    sampler = MGVAE(**FAST).fit(X, y)
    with pytest.raises(OSError, match="nowhere"):
        sampler.save(tmp_path / "nowhere" / "model.safetensors")
    with pytest.raises(IsADirectoryError):
        sampler.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_too_much_to_save(tmp_path, imbalanced):
    X, y = imbalanced
    sampler = MGVAE(**FAST).fit(X, y)
    path = tmp_path / "model.safetensors"
    sampler.save(path)
    before = path.read_bytes()
    sampler.column_types = {"x" * 5_000_000: "integer"}
    with pytest.raises(ParameterError, match="MiB"):
        sampler.save(path)
    sampler.column_types = dict.fromkeys(range(110_000), "integer")
    with pytest.raises(ParameterError, match="too many parts"):
        sampler.save(path)
    assert path.read_bytes() == before


def test_what_python_made_is_left_out(imbalanced, tmp_path):
    X, y = imbalanced
    sampler = MGVAE(
        **{**FAST, "random_state": np.random.default_rng(0)},
        callback=lambda *_: None,
        sampling_strategy=lambda _: {"few": 30},
        device="cpu",
    ).fit(X, y)
    again = reloaded(sampler, tmp_path / "model.safetensors")
    assert (again.random_state, again.callback, again.device) == (None, None, "auto")
    assert same(*(s.generate(4, "few") for s in (with_stored_guides(sampler), again)))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100,
        b"\xff" * 100,
        pickle.dumps({"a": print}),
        (100).to_bytes(8, "little") + b"{" * 100,
        (2**63).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (2).to_bytes(8, "little") + b"{}",
    ],
    ids=range(8),
)
def test_other_files(content, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        MGVAE.load(path)


def test_a_zip_and_a_pipe(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("data.pkl", pickle.dumps(print))
    path = tmp_path / "model.safetensors"
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelFileError):
        MGVAE.load(path)
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ModelFileError, match="regular"):
            MGVAE.load(other)
    with pytest.raises(FileNotFoundError):
        MGVAE.load(tmp_path / "none")


def test_damage_anywhere_is_noticed(saved):
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    for end in [0, 7, 8, 9, len(whole) - 1, *rng.integers(len(whole), size=10).tolist()]:
        saved.write_bytes(whole[:end])
        with pytest.raises(ModelFileError):
            MGVAE.load(saved)
    header = 8 + int.from_bytes(whole[:8], "little")
    places = rng.integers(header, size=150).tolist() + rng.integers(len(whole), size=50).tolist()
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        if json_of(flipped) == json_of(whole) and flipped[header:] == whole[header:]:
            continue  # white space, or another spelling of the same character
        saved.write_bytes(flipped)
        with pytest.raises(ModelFileError):
            MGVAE.load(saved)
    saved.write_bytes(whole + b"\0")
    with pytest.raises(ModelFileError):
        MGVAE.load(saved)


def json_of(content: bytes) -> object:
    try:
        return json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    except ValueError:
        return None


DELETED = object()
HOSTILE = {
    "schema_version": [4, 0, -1, "1", 1.0, True, None, DELETED],
    "class": ["os.system", "CVAE", "../MGVAE", 1, DELETED],
    "extra": [1],
    "versions": [{"mgvae": "\x1b[31m"}, {"": "1"}, 3],
    "created": ["yesterday", 5],
    "settings.latent_size": [10**9, -1, 0, "2", 2.5, True, [2]],
    "settings.hidden_sizes": [[10**12], [6] * 100_000, [], ["6"], [True], [[6]], 6, [6, 6]],
    "settings.network": ["cnn", "os.system", {"map": []}],
    "method.network_width": [-1, "1"],
    "settings.n_threads": [10**9, 0, "1"],
    "settings.callback": ["print"],
    "settings.device": ["cuda"],
    "settings.hiddden_sizes": [[6]],
    "settings.sampling_strategy": [{"map": [[[1], 2], 3]}, {"a": 1}],
    "method.latent_size": [3, 10**9, "2", None],
    "method.temperature": ["auto", -1, "hot", None],
    "codec.columns.0.name": [{"a": 1}, [[["x"]]], "whole"],
    "codec.columns.0.n_missing": [-1, 10**400],
    "codec.columns.0.kind.scale.values": [{"tensor": "model.0.log_variance"}, {"tensor": "x"}, []],
    "codec.columns.0.kind.scale.spikes": [[[10**9, 0.0, 1.0]], [[0.0, 1.0]]],
    "codec.columns.0.dtype": ["object", "extension<x>", "list<item: int64>"],
    "codec.columns.3.kind.slots": [[0, 2**62, 1], [0, 0, 0], [-1, 0, 1]],
    "codec.columns.3.dtype": ["dictionary<values=string, indices=int8, ordered=0>" * 99],
    "codec.columns.5.dtype": ["timestamp[us, tz=../../etc/passwd]", "timestamp[us, tz=Mars/X]"],
    "codec.columns.8.kind.prefix": [5, "a" * 1001, "a" * 3_000_000],
    "codec.columns.8.kind.dtype": ["S65", "S0", "S999999"],
    "codec.columns.8.kind.start": [2**65, -(2**70), 10**400, 0.5],
    "codec.columns.9.kind.texts": [["a" * 32_768], ["a" * 3_000_000], []],
    "codec.columns.10.name": ["a" * 1001, ["a"] * 65, "a" * 3_000_000],
    "codec.columns.10.kind.value": ["a" * 32_768, None, [1]],
    "codec.columns.10.dtype": ["int64" * 300, "fixed_size_binary[99999]"],
    "codec.columns.8.kind.width": [10**9],
    "codec.columns": [[], {}],
    "container": [{"kind": "numpy", "dtype": "(9,9)i4"}, {"kind": "numpy"}, {"kind": "pickle"}],
    "classes.labels": [["few"], ["few", "few"], ["many", "few"], ["few", 1], ["a", "\ud800"], 3],
    "classes.type": ["object0", "int64", "<U1000000000", None],
    "classes.rows": [[0, 50], [10], [10, 10**400], ["10", 50]],
    "classes.majority": [2, -1, None, 1.0],
    "generators": [
        [],
        [{"class": 0, "model": 1}],
        [{"class": 2, "model": 0}],
        [{"class": 0, "model": None}],
        [{"class": 0, "model": 0}, {"class": 0, "model": 0}],
    ],
    "random.entropy": [-1, "0", [[1]], 10**4000],
    "random.spawn_key": [[2**40], [-1], [0] * 1000],
    "random.spawned": [-1, 2**70],
    "ewc_weights": [{"few": -1.0}, {"none": 1.0}, {"few": "1"}, [], 3],
    "spellings": [{"number": "%"}, [], 3],
}


@pytest.mark.parametrize("place", HOSTILE)
def test_hostile_metadata_with_a_right_checksum(place, saved):
    good = read_file(saved)
    text = json.dumps(good.metadata)
    for value in HOSTILE[place]:
        metadata = json.loads(text)
        *path, last = [int(part) if part.isdecimal() else part for part in place.split(".")]
        inner = metadata
        for part in path:
            inner = inner[part]
        if value is DELETED:
            del inner[last]
        else:
            inner[last] = value
        saved.write_bytes(to_bytes(ModelFile(metadata, good.tensors)))
        with pytest.raises(ModelFileError):
            MGVAE.load(saved)


def test_hostile_tensors_with_a_right_checksum(saved):
    good = read_file(saved)
    name = "class.0.blurred_centres"
    centres = good.tensors[name]
    others = {key: value for key, value in good.tensors.items() if key != name}
    for tensors in (
        others,
        {**others, name: centres[:, :1]},
        {**others, name: centres[:0]},
        {**others, name: centres.double()},
        {**others, name: centres * float("nan")},
        {**others, name: centres.reshape(2, -1, 1)},
        {**good.tensors, "class.0.more": centres.clone()},
        {**good.tensors, "more": centres.clone()},
        {**good.tensors, "model.1.log_variance": torch.zeros(())},
        {**good.tensors, "../../name": centres.clone()},
        {**good.tensors, "name ": centres.clone()},
        {**good.tensors, "model.0.log_variance": torch.zeros(1)},
    ):
        saved.write_bytes(to_bytes(ModelFile(good.metadata, tensors)))
        with pytest.raises(MGVAEError):
            MGVAE.load(saved).generate(3, "few")


def test_headers_that_lie(saved):
    """Shapes that the file does not have, names given twice, places outside."""
    whole = saved.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header, data = whole[8 : 8 + length].decode(), whole[8 + length :]
    shape = '"shape":[50,2]'
    assert header.count(shape) == 1
    for changed in (
        header.replace(shape, '"shape":[50000000000000,2]'),
        header.replace(shape, '"shape":[4294967296,4294967296,4294967296]'),
        header.replace(shape, '"shape":[-50,-2]'),
        header.replace(shape, f'"shape":[0,{10**30}]'),
        header.replace(shape, f'"shape":[{10**30},0]'),
        header.replace(shape, f'"shape":[0,{2**62},{2**62}]'),
        header.replace(shape, '"shape":[' + "1," * 99 + "100]"),
        header.replace(shape, '"shape":true'),
        header.replace('"data_offsets":[0,', '"data_offsets":[-1,'),
        header.replace('"data_offsets":[0,', f'"data_offsets":[{2**64},'),
        header.replace(shape, '"shape":[50,2.0]'),
        header.replace(shape, '"shape":[[50,2]]'),
        header.replace(shape, '"shape":[50,2],"shape":[50,2]'),
        header.replace('"data_offsets":[0,', '"data_offsets":[8,'),
        header.replace('"F32"', '"BF16"'),
        header.replace('"F32"', "null"),
        header.replace('"F32"', '["F32"]'),
        header.replace('{"', '{"\\ud83d', 1),
        header.replace('{"', '{"é', 1),
        "[" * 100_000,
        '{"a":' * 50_000,
        '{"a":NaN}',
        '{"a":[' + "[]," * 500_000 + "[]]}",
        '{"a":"' + '\\"' * 1_000_000,
    ):
        assert changed != header
        text = changed.encode()
        saved.write_bytes(len(text).to_bytes(8, "little") + text + data)
        with pytest.raises(ModelFileError):
            MGVAE.load(saved)


def put_together(metadata: dict, tensors: dict, shapes: dict) -> bytes:
    """A file with a right checksum that says of some tensors, all empty, what shape they have."""
    whole = to_bytes(ModelFile(metadata, tensors))
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    for name, shape in shapes.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}
    table = [[k, [v["dtype"], v["shape"]]] for k, v in header.items() if k != "__metadata__"]
    digest = hashlib.sha256(json.dumps([header["__metadata__"]["mgvae"], sorted(table)]).encode())
    for name in sorted(header):
        if name != "__metadata__":
            begin, end = header[name]["data_offsets"]
            digest.update(whole[8 + length + begin : 8 + length + end])
    header["__metadata__"]["sha256"] = digest.hexdigest()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + whole[8 + length :]


@pytest.mark.parametrize("shape", [[0, 10**30], [0, 2**62, 2**62], [0] * 9, [0, 2**41]], ids=str)
def test_empty_tensors_of_impossible_shapes(shape, saved, capfd):
    """The checksum is right: what refuses them is a bound."""
    good = read_file(saved)
    saved.write_bytes(put_together(good.metadata, good.tensors, {}))
    MGVAE.load(saved)
    saved.write_bytes(put_together(good.metadata, good.tensors, {"model.0.more": shape}))
    with pytest.raises(ModelFileError, match="larger than any model's"):
        MGVAE.load(saved)
    assert run(["info", str(saved)]) == 2
    assert "should not happen" not in capfd.readouterr().err


def columns_of(path: Path, n: int, **changes: object) -> None:
    """Let a file of constants have n columns."""
    file = read_file(path)
    one = file.metadata["codec"]["columns"][0]
    one["kind"] |= changes
    file.metadata["codec"]["columns"] = [one | {"name": i} for i in range(n)]
    path.write_bytes(to_bytes(file))


@pytest.fixture
def constants(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    MGVAE(**FAST).fit(np.full((60, 2), "same"), Y).save(path)
    return path


def test_wide_rows_of_constants(constants, capfd):
    """173 KB that asked for 2 GB a row: a type of long texts, and many columns of one word."""
    columns_of(constants, 500)
    assert MGVAE.load(constants).generate(2, "few").shape == (2, 500)
    file = read_file(constants)
    for dtype in ("<U999999", "<U132", "|S132", "<U65537"):
        file.metadata["container"]["dtype"] = dtype
        constants.write_bytes(to_bytes(file))
        tracemalloc.start()
        started = time.process_time()
        with pytest.raises(ModelFileError, match="characters"):
            MGVAE.load(constants)
        assert time.process_time() - started < 1
        assert tracemalloc.get_traced_memory()[1] < 10**8
        tracemalloc.stop()
    assert run(["sample", str(constants), "-n", "3000", "-o", "-"]) == 2
    assert "characters" in capfd.readouterr().err


def test_too_many_columns(constants):
    columns_of(constants, 8193)
    with pytest.raises(ModelFileError, match="8193 columns"):
        MGVAE.load(constants)


def test_texts_that_are_long_together(constants):
    columns_of(constants, 20, value="a" * 30_000)
    with pytest.raises(ModelFileError, match="rows of more than 65536 characters"):
        MGVAE.load(constants)


def test_long_texts_are_not_saved(tmp_path):
    frame = mixed().assign(long="a" * 40_000)
    sampler = MGVAE(**FAST).fit(frame, Y)
    with pytest.raises(ParameterError, match=r"cannot be saved.*32767 characters"):
        sampler.save(tmp_path / "model.safetensors")
    assert sampler.generate(2, "few")["long"].str.len().tolist() == [40_000] * 2


def test_long_beginnings_of_identifiers_are_not_repeated(tmp_path):
    frame = mixed().assign(id=[f"{'a' * 2000}{i}" for i in range(60)])
    sampler = MGVAE(**FAST).fit(frame, Y)
    sampler.save(tmp_path / "model.safetensors")
    assert sampler.generate(1, "few")["id"].str.startswith("synthetic-").all()


def test_fuzzed_files():
    """A small part of the long run; any failure prints its seed."""
    script = HERE.parents[1] / "benchmarks" / "fuzz_models.py"
    if not script.exists():
        pytest.skip("the benchmarks are not at hand")
    found = subprocess.run(
        [sys.executable, script, "--count", "200"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "200 files" in found.stdout


def test_sample_writes_what_generate_makes(saved, tmp_path, capfd):
    out = tmp_path / "new.csv"
    arguments = ["sample", str(saved), "-n", "12", "--seed", "3", "--target", "y", "-o", str(out)]
    assert run([*arguments, "--label", "few"]) == 0
    expected = MGVAE.load(saved).generate(12, "few", random_state=3)
    found = files.read(str(out)).table
    assert found.column_names == [*expected.column_names, "y"]
    assert set(found["y"].to_pylist()) == {"few"}
    for name in ("number", "whole", "level", "text", "flag", "id", "prose"):
        assert found[name].to_pylist() == expected[name].to_pylist()
    assert run(arguments) == 2  # it exists
    assert run([*arguments, "--force"]) == 0  # one class needs no label
    assert run([*arguments, "--force", "--label", "fraud"]) == 2
    assert "it makes: few" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["pandas", "polars", "float32", "list", "grey"])
def test_sample_and_info_take_every_container(name, tmp_path, capfd):
    model, out = tmp_path / "model.safetensors", tmp_path / "new.parquet"
    MGVAE(**FAST).fit(DATA[name], Y).save(model)
    code = run(["sample", str(model), "-n", "5", "-o", str(out)])
    assert code == (2 if name == "grey" else 0)
    if name != "grey":
        assert files.read(str(out)).table.num_rows == 5
    assert run(["info", str(model)]) == 0
    capfd.readouterr()


def test_info(saved, capfd):
    assert run(["info", str(saved), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["model"] == "MGVAE"
    assert [column["name"] for column in found["columns"]] == list(mixed().columns)
    assert found["classes"][0] == {"label": "many", "rows": 50, "new_rows": 0}
    assert found["settings"]["latent_size"] == 2
    assert dt.datetime.fromisoformat(found["created"]).tzinfo is not None
    assert run(["info", str(saved)]) == 0
    assert "Generates: few" in capfd.readouterr().out
    saved.write_bytes(b"something else")
    assert run(["info", str(saved)]) == 2
    assert run(["info", str(saved) + "x"]) == 2


def test_balance_keeps_its_model(tmp_path):
    source, model = tmp_path / "in.csv", tmp_path / "model.safetensors"
    frame = mixed()[["number", "whole", "text"]].assign(y=Y)
    frame.to_csv(source, index=False)
    arguments = ["balance", str(source), "-t", "y", "--seed", "4", "--save-model", str(model)]
    arguments += ["--pretrain-steps", "2", "--finetune-steps", "2", "--quiet", "-o"]
    assert run([*arguments, str(tmp_path / "out.csv")]) == 0
    made = MGVAE.load(model).generate(3, "few")
    assert made.column_names == ["number", "whole", "text"]
    assert run([*arguments, str(tmp_path / "other.csv")]) == 2  # the model exists
    assert not (tmp_path / "other.csv").exists()
