"""What goes wrong leaves nothing behind."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mgvae import MGVAE, balance_dataset
from mgvae.cli._run import run
from mgvae.common.rows import FileRows
from mgvae.errors import DataError, ParameterError, ResourceError
from tests.streams.tables import FAST, table_of


def broken(table: pa.Table, passes: int) -> Callable[[], Iterator[pa.RecordBatch]]:
    """Return batches that end with an error after some whole passes."""
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
    monkeypatch.setattr("mgvae.streams._in_batches._IN_MEMORY", 0)
    monkeypatch.setattr("mgvae.streams._balance.check_output_room", lambda *_: None)
    monkeypatch.setattr("mgvae.common.disk.shutil.disk_usage", lambda _: _Usage)
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
        FileRows.write(blocks(), 5, 2, tmp_path)


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
