"""Tables larger than memory: nothing depends on how their rows are cut into batches."""

import errno
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn.utils import check_sampling_strategy
from scipy.special import ndtr

from mgvae import CVAE, MGVAE, balance_dataset
from mgvae.cli._run import run
from mgvae.codec import TableCodec, read_table
from mgvae.codec._facts import NumberFacts
from mgvae.errors import CodecWarning, DataError, ParameterError, ResourceError
from mgvae.files import open_source
from mgvae.samplers._seen import rows_to_make
from mgvae.samplers._target import read_target
from mgvae.streams._labels import Labels
from mgvae.streams._passes import look
from mgvae.streams._stored import StoredRows, keep_rows
from tests.codec.random_tables import Spreadsheet, spreadsheets

FAST = {"pretrain_steps": 3, "finetune_steps": 3, "random_state": 0}


def table_of(n: int = 300, seed: int = 0) -> pa.Table:
    """A table of several kinds of columns, the target in the middle."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "key": pa.array([f"K{i:04d}" for i in range(n)]),
            "number": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
            "count": pa.array(rng.poisson(3, n), pa.int16()),
            "class": pa.array(np.where(rng.random(n) < 0.1, "few", "many")),
            "level": pa.array(rng.choice([f"l{i}" for i in range(150)], n)),
            "group": pa.array(rng.choice(["a", "b"], n)).dictionary_encode(),
            "day": pa.array(rng.integers(0, 9999, n), pa.int32()).cast(pa.date32()),
        },
        metadata={"who": "me"},
    )


def cut(table: pa.Table, places: list[int]) -> list[pa.RecordBatch]:
    """Cut a table into batches at some places."""
    edges = [0, *sorted(p % (len(table) + 1) for p in places), len(table)]
    parts = [table.slice(a, b - a) for a, b in pairwise(edges)]
    return [part.combine_chunks().to_batches()[0] for part in parts if len(part)]


@pytest.fixture(autouse=True)
def _calm() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        yield


@pytest.fixture(params=["in memory", "in a file"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the encoded rows are."""
    if request.param == "in a file":
        monkeypatch.setattr("mgvae.streams._passes._IN_MEMORY", 0)
    return str(request.param)


# the first pass


@given(sheet=spreadsheets(), places=st.lists(st.integers(0, 1000), max_size=6), data=st.data())
@settings(max_examples=30)
def test_one_pass_finds_what_a_table_in_memory_tells(
    sheet: Spreadsheet, places: list[int], data: st.DataObject
) -> None:
    X = sheet.to("pyarrow")
    labels = data.draw(st.lists(st.sampled_from(["p", "q", "r"]), min_size=len(X), max_size=len(X)))
    if len(set(labels)) < 2:
        return
    table = X.append_column("y!", pa.array(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        seen = look(open_source(lambda: iter(cut(table, places))), "y!", MGVAE())
        codec = TableCodec().fit(read_table(X))
    assert seen.data.codec.to_dict() == codec.to_dict()
    classes, codes = np.unique(labels, return_inverse=True)
    assert seen.classes.tolist() == classes.tolist()
    assert seen.codes.tolist() == codes.tolist()


@given(places=st.lists(st.integers(0, 100_000), max_size=5), seed=st.integers(0, 99))
@settings(max_examples=10)
def test_beyond_the_bound_facts_do_not_depend_on_batches(places: list[int], seed: int) -> None:
    values = np.random.default_rng(seed).standard_cauchy(100_000)
    whole, parts = NumberFacts(), NumberFacts()
    whole.observe(values)
    for part in np.split(values, sorted(places)):
        parts.observe(part)
    assert parts.sample().tolist() == whole.sample().tolist()
    assert (parts.low, parts.high, parts.count) == (values.min(), values.max(), 100_000)
    assert 8_000 < parts.sample().size <= 16_386


def test_quantiles_of_many_rows_are_near_the_true_ones() -> None:
    """The Dvoretzky-Kiefer-Wolfowitz inequality, which fails once in a million such columns."""
    n = 200_000
    table = pa.table({"u": np.random.default_rng(5).random(n), "y": np.arange(n) % 10 == 0})
    seen = look(open_source(table), "y", MGVAE())
    codec = seen.data.codec
    u = np.linspace(0.001, 0.999, 999)  # the true distribution function of u is u itself
    found = ndtr(codec.encode(read_table(pa.table({"u": u})))[:, 0].astype(float))
    m = 8192  # the sample holds at least half of its bound
    assert np.abs(found - u).max() <= np.sqrt(np.log(2 / 1e-6) / (2 * m)) + 1 / 256


def test_texts_and_identifiers_beyond_the_bound() -> None:
    n = 70_000  # more levels than are counted
    words = [f"this is the long and boring text with the number {i}" for i in range(n)]
    keys = [f"K{i:06d}" for i in range(n)]
    table = pa.table({"text": words, "key": keys, "y": np.arange(n) % 9 == 0})
    seen = look(open_source(table), "y", MGVAE())
    assert [c.kind for c in seen.data.codec.describe()] == ["text", "identifier"]
    assert seen.data.codec.describe()[1].note.endswith("K070000")


def test_repeated_identifiers_that_were_asked_for_do_not_depend_on_batches() -> None:
    X = pa.table({"key": [f"C-{i}" for i in range(40)] + ["C-7"], "x": np.arange(41) % 7})
    codecs = []
    for size in (41, 10):
        codec = TableCodec({"key": "identifier"})
        for start in range(0, 41, size):
            codec.observe(read_table(X.slice(start, size)))
        codecs.append(codec.finish().to_dict())
    assert codecs[0] == codecs[1]


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b", "b"],
        [3, 1, 3, 3],
        [2.0, 1.0, 2.0, 2.0],
        [True, False, True, True],
        pa.array(["b", "a", "b", "b"]).dictionary_encode(),
    ],
)
def test_labels_are_those_of_an_array(labels: Any) -> None:
    column = labels if isinstance(labels, pa.Array) else pa.array(labels)
    found = Labels("y")
    for start in range(4):
        found.observe(column.slice(start, 1))
    classes, codes = found.finish()
    want = read_target(pa.chunked_array([column]), "y")[0]
    assert classes.dtype == want.dtype
    assert (classes[codes] == want).all()
    assert codes.dtype == np.uint8


@pytest.mark.parametrize("strategy", ["auto", "minority", "all", "not minority", {"b": 9}, {}])
@pytest.mark.parametrize("counts", [(5, 3), (2, 7, 7, 1)])
def test_rows_to_make_are_those_of_imbalanced_learn(strategy: Any, counts: tuple[int, ...]) -> None:
    classes = np.array(list("abcd"[: len(counts)]), dtype=object)
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    want = check_sampling_strategy(strategy, classes[codes], "over-sampling")
    assert rows_to_make(strategy, classes, codes) == dict(want)
    assert rows_to_make(lambda _: {"a": 9}, classes, codes) == {"a": 9 - counts[0]}


def test_strategies_that_cannot_be_met_name_the_labels() -> None:
    classes, codes = np.array(["x", "y"], dtype=object), np.array([0, 1, 0])
    for strategy, words in (
        ({"z": 5}, "'z'"),
        ({"y": -1}, "'y'"),
        ({"x": 1}, "Originally"),
        (7, "range"),
    ):
        with pytest.raises(ValueError, match=words):
            rows_to_make(strategy, classes, codes)


# all passes


def sources(table: pa.Table, path: Path) -> dict[str, Any]:
    """Everything that the rows of a table can come from."""
    return {
        "path": str(path),
        "data set": ds.dataset(path),
        "table": table,
        "function": lambda: iter(table.to_batches(31)),
        "iterator": iter(table.to_batches(77)),
        "reader": table.to_reader(50),
        "list of tables": [table.slice(0, 123), table.slice(123)],
    }


@pytest.fixture
def stored(tmp_path: Path) -> tuple[pa.Table, Path]:
    """A table and the Parquet file that holds it, in row groups of 70 rows."""
    table, path = table_of(), tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=70)
    return pq.read_table(path), path


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A folder for temporary files that must be empty in the end."""
    (tmp_path / "room").mkdir()
    return tmp_path / "room"


@pytest.mark.parametrize("sampler", [MGVAE(**FAST), CVAE(steps=3, random_state=0)])
def test_the_rows_are_those_of_fit_resample(
    sampler: Any, place: str, stored: tuple[pa.Table, Path], room: Path
) -> None:
    table, path = stored
    X, y = sampler.fit_resample(table.drop_columns(["class"]), table["class"])
    made, sources = sampler.generate(5, "few"), sampler.source_indices_
    out = room.parent / "out.parquet"
    again = balance_dataset(path, "class", out, sampler, mark="from", folder=room)
    assert again is sampler
    found = pq.read_table(out)
    assert found.drop_columns(["class", "from"]).to_pylist() == X.to_pylist()
    assert found["class"].to_pylist() == y.to_pylist()
    n = len(table)
    assert found["from"].to_pylist() == [None] * n + [None if s < 0 else s for s in sources[n:]]
    assert again.generate(5, "few").equals(made)
    assert os.listdir(room) == []


def test_nothing_depends_on_where_the_batches_come_from(
    place: str, stored: tuple[pa.Table, Path], room: Path
) -> None:
    table, path = stored
    outputs = set()
    for name, source in sources(table, path).items():
        out = room.parent / f"{name}.parquet"
        balance_dataset(source, "class", out, MGVAE(**FAST), folder=room)
        outputs.add(out.read_bytes())
        assert os.listdir(room) == []
    assert len(outputs) == 1


def test_many_parts(
    stored: tuple[pa.Table, Path], room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, path = stored
    monkeypatch.setattr("mgvae.samplers._data.BLOCK", 16)
    monkeypatch.setattr("mgvae.samplers._data._ROWS", 16)
    monkeypatch.setattr("mgvae.files._formats._ROW_GROUP", 50)
    sampler = MGVAE(**FAST)
    X, _ = sampler.fit_resample(table.drop_columns(["class"]), table["class"])
    out = room.parent / "out.parquet"
    balance_dataset(path, "class", out, sampler)
    found = pq.read_table(out)
    assert found.drop_columns(["class"]).to_pylist() == X.to_pylist()
    assert len(set(found["key"].to_pylist())) == len(found)  # identifiers go on between parts
    groups = pq.ParquetFile(out).metadata
    sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
    assert set(sizes[:-1]) == {50}
    some = sampler.generate(40, "few", random_state=1)
    assert some.num_rows == 40
    assert len({tuple(row.values()) for row in some.drop_columns(["key"]).to_pylist()}) > 30


def test_originals_are_untouched(room: Path) -> None:
    rng = np.random.default_rng(0)
    n = 200
    floats = rng.normal(size=n)
    floats[:3] = [np.nan, -0.0, 5e-324]
    table = table_of(n).append_column("float", pa.array(floats))
    table = table.append_column("none", pa.nulls(n, pa.float64()))
    table = table.append_column("big", pa.array([2**63 + i for i in range(n)], pa.uint64()))
    out = room / "out.parquet"
    balance_dataset(lambda: table.to_batches(64), "class", out, MGVAE(**FAST))
    found = pq.read_table(out).slice(0, n)
    assert found.schema.equals(table.schema, check_metadata=True)
    for name in set(table.column_names) - {"float"}:
        assert found[name].to_pylist() == table[name].to_pylist()
    assert found["float"].to_numpy().tobytes() == floats.tobytes()


def test_only_new_rows(stored: tuple[pa.Table, Path], room: Path) -> None:
    _, path = stored
    both, new = room / "both.parquet", room / "new.parquet"
    balance_dataset(path, "class", both, MGVAE(**FAST))
    balance_dataset(path, "class", new, MGVAE(**FAST), only_synthetic=True)
    assert pq.read_table(new).equals(pq.read_table(both).slice(300))


# the file of encoded rows


def test_rows_in_a_file_are_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((5000, 7), np.float32)
    stored = keep_rows(np.split(rows, [10, 4000]), 5000, 7, tmp_path)
    plain = torch.from_numpy(rows)
    assert stored.shape == plain.shape
    for index in (
        torch.from_numpy(rng.integers(0, 5000, 4100)),
        torch.arange(5000),
        torch.arange(0),
    ):
        chosen = stored.index_select(0, index)
        assert type(chosen) is torch.Tensor
        assert torch.equal(chosen, plain.index_select(0, index))
    for index in ([5000], [4998, 4999, 5000], [-1]):
        with pytest.raises(IndexError):
            stored.index_select(0, torch.tensor(index))
    again = pickle.loads(pickle.dumps(stored))  # noqa: S301 (our own)
    assert isinstance(again, StoredRows)
    assert torch.equal(again.index_select(0, torch.arange(9)), plain[:9])


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc")
def test_rows_that_were_taken_do_not_stay_in_memory(tmp_path: Path) -> None:
    rows = np.zeros((2**18, 16), np.float32)
    stored = keep_rows([rows], len(rows), 16, tmp_path)
    stored.index_select(0, torch.arange(0, len(rows), 3))
    lines = Path("/proc/self/smaps").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if "encoded.f32" in line)
    resident = next(line for line in lines[start:] if line.startswith("Rss:"))
    assert int(resident.split()[1]) == 0  # of 16 MB


# what goes wrong


def broken(table: pa.Table, passes: int) -> Callable[[], Iterator[pa.RecordBatch]]:
    """Give batches that end with an error after some whole passes."""
    calls = []

    def batches() -> Iterator[pa.RecordBatch]:
        calls.append(1)
        for i, batch in enumerate(table.to_batches(50)):
            if i == 3 and len(calls) > passes + 1:  # the first call only looks for the columns
                raise RuntimeError("the cable was pulled")
            yield batch

    return batches


@pytest.mark.parametrize("passes", [0, 1, 2])
def test_a_source_that_fails_leaves_nothing_behind(
    passes: int, place: str, stored: tuple[pa.Table, Path], room: Path
) -> None:
    out = room.parent / "out.parquet"
    out.write_bytes(b"old")
    sampler = MGVAE(**FAST)
    with pytest.raises(RuntimeError, match="cable"):
        balance_dataset(broken(stored[0], passes), "class", out, sampler, folder=room)
    assert os.listdir(room) == []
    assert out.read_bytes() == b"old"
    assert sorted(os.listdir(room.parent)) == ["in.parquet", "out.parquet", "room"]
    assert hasattr(sampler, "classes_") == (passes == 2)


def test_an_iterator_that_fails_leaves_nothing_behind(
    stored: tuple[pa.Table, Path], room: Path
) -> None:
    batches = broken(stored[0], -1)()
    with pytest.raises(RuntimeError, match="cable"):
        balance_dataset(batches, "class", room.parent / "out.parquet", folder=room)
    assert os.listdir(room) == []
    assert sorted(os.listdir(room.parent)) == ["in.parquet", "room"]


def test_a_source_that_changes_is_noticed(stored: tuple[pa.Table, Path], room: Path) -> None:
    sizes = iter([300, 300, 299])
    source = lambda: stored[0].slice(0, next(sizes)).to_batches(50)  # noqa: E731
    with pytest.raises(DataError, match="300 rows at first and 299"):
        balance_dataset(source, "class", room / "out.parquet", MGVAE(**FAST))


def test_too_small_a_disk_is_noticed_before_writing(
    stored: tuple[pa.Table, Path], room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mgvae.streams._passes._IN_MEMORY", 0)
    monkeypatch.setattr("mgvae.streams._balance.check_output_room", lambda *_: None)
    monkeypatch.setattr("mgvae._disk.shutil.disk_usage", lambda _: _Usage)
    with pytest.raises(
        ResourceError, match=r"room/mgvae-.*GiB are needed, 0.00 GiB are free.*TMPDIR"
    ):
        balance_dataset(stored[1], "class", room.parent / "out.parquet", folder=room)
    assert os.listdir(room) == []


class _Usage:
    free = 0


def test_more_rows_than_the_disk_holds(
    stored: tuple[pa.Table, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sampler = MGVAE(sampling_strategy={"few": 10**15})
    with pytest.raises(ResourceError, match="rows are asked for: ask for fewer"):
        balance_dataset(stored[1], "class", tmp_path / "out.parquet", sampler)
    many = ["-t", "class", "--strategy", '{"few": 1000000000000000}', "-q", "-o"]
    for name in ("o.parquet", "o.csv"):
        assert run(["balance", str(stored[1]), *many, str(tmp_path / name)]) != 0
        assert "GiB" in capfd.readouterr().err
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    def blocks() -> Iterator[np.ndarray]:
        yield np.zeros((3, 2), np.float32)
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ResourceError, match="the disk is full"):
        keep_rows(blocks(), 5, 2, tmp_path)


def with_column(table: pa.Table, name: str, cells: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, [cells])


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        (lambda t: t, {"target": "klass"}, ParameterError, "no column 'klass'"),
        (lambda t: t, {"mark": "count"}, ParameterError, "'count' already"),
        (lambda t: t, {"sampler": MGVAE(sample_shape=(8, 8))}, ParameterError, "sample_shape"),
        (lambda t: t, {"sampler": MGVAE(batch_size=0)}, ValueError, "batch_size"),
        (lambda t: t.select(["class"]), {}, DataError, "besides the target"),
        (lambda t: t.slice(0, 0), {}, DataError, "holds no rows"),
        (lambda t: with_column(t, "class", pa.array(["a"] * 300)), {}, DataError, "one class only"),
        (
            lambda t: with_column(t, "class", pa.array(["a", None, "b"] * 100)),
            {},
            DataError,
            "100 missing labels",
        ),
        (
            lambda t: with_column(t, "class", pa.array(np.linspace(0, 1, 300))),
            {},
            ValueError,
            "continuous",
        ),
        (
            lambda t: with_column(t, "number", pa.array([0.0] * 299 + [np.inf])),
            {},
            DataError,
            "begins at row 280: column 'number'",
        ),
        (lambda t: [t, t.drop_columns(["key"])], {}, DataError, "batch 1 has other columns"),
        (lambda t: [t, 3], {}, DataError, "batch 1 is of the type int"),
        (lambda _: [], {}, DataError, "no batch"),
        (lambda _: 3, {}, DataError, "source must be"),
        (lambda _: "no/such.parquet", {}, DataError, "No such file"),
        (lambda _: ".", {}, DataError, "is a folder"),
        (lambda _: __file__, {}, DataError, "not a whole parquet file"),
    ],
)
def test_what_is_refused(
    change: Callable[[pa.Table], Any],
    options: dict[str, Any],
    error: type[Exception],
    message: str,
    tmp_path: Path,
) -> None:
    source = change(table_of())
    if isinstance(source, pa.Table) and len(source):
        source = source.to_batches(40)
    arguments = {"target": "class", "output": tmp_path / "out.parquet", "folder": tmp_path}
    with pytest.raises(error, match=message):
        balance_dataset(source, **{**arguments, **options})
    assert os.listdir(tmp_path) == []


# the command


STEPS = ["--pretrain-steps", "3", "--finetune-steps", "3", "--seed", "0"]


def test_the_command_gives_the_same_rows(
    place: str, stored: tuple[pa.Table, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, path = stored
    (tmp_path / "room").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "room"))
    X, y = MGVAE(**FAST, identifiers="missing").fit_resample(
        table.drop_columns(["class", "day"]), table["class"]
    )
    out, csv = tmp_path / "out.parquet", tmp_path / "out.csv"
    options = ["-t", "class", "--drop", "day", "--identifiers", "missing", "-q", *STEPS]
    for output in (out, csv):
        assert run(["balance", str(path), "-o", str(output), *options]) == 0
    found = pq.read_table(out)
    assert found.column_names == [name for name in table.column_names if name != "day"]
    assert found.drop_columns(["class"]).to_pylist() == X.to_pylist()
    assert found["class"].to_pylist() == y.to_pylist()
    assert len(csv.read_text().splitlines()) == len(found) + 1
    assert os.listdir(tmp_path / "room") == []


def test_text_that_stands_for_a_missing_cell(stored: tuple[pa.Table, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    options = ["-t", "class", "--missing", "l7", "-q", *STEPS]
    assert run(["balance", str(stored[1]), "-o", str(out), *options]) == 0
    want = [None if cell == "l7" else cell for cell in stored[0]["level"].to_pylist()]
    assert None in want
    assert pq.read_table(out)["level"].to_pylist()[:300] == want


def test_a_report_of_too_large_a_table_is_refused_at_once(
    stored: tuple[pa.Table, Path],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mgvae.cli._balance_table._REPORT_CELLS", 1000)
    arguments = ["-t", "class", "-o", str(tmp_path / "o.parquet")]
    page = ["--report", str(tmp_path / "r.html")]
    assert run(["balance", str(stored[1]), *arguments, *page]) == 2
    assert "--report: a report needs all rows in memory, and 300 rows" in capfd.readouterr().err
    assert os.listdir(tmp_path) == ["in.parquet"]
