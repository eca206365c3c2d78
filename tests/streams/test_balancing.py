"""All passes: the rows are those of ``fit_resample``, wherever the batches come from."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import torch

from mgvae import CVAE, MGVAE, balance_dataset
from mgvae.cli._run import run
from mgvae.common.rows import FileRows
from tests.streams.tables import FAST, table_of


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


@pytest.mark.parametrize("sampler", [MGVAE(**FAST), CVAE(steps=3, random_state=0)])
def test_the_rows_are_those_of_fit_resample(
    sampler: Any, place: str, stored: tuple[pa.Table, Path], room: Path
) -> None:
    table, path = stored
    X, y = sampler.fit_resample(table.drop_columns(["class"]), table["class"])
    made, sources = sampler.generate(5, "few"), sampler.source_indices_
    anchors = sampler.anchor_indices_
    out = room.parent / "out.parquet"
    again = balance_dataset(path, "class", out, sampler, mark="from", folder=room)
    assert again is sampler
    found = pq.read_table(out)
    marks = ["from", "from_anchor"]
    assert found.drop_columns(["class", *marks]).to_pylist() == X.to_pylist()
    assert found["class"].to_pylist() == y.to_pylist()
    n = len(table)
    for mark, rows in zip(marks, (sources, anchors), strict=True):
        assert found[mark].to_pylist() == [None] * n + [None if r < 0 else r for r in rows[n:]]
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
    monkeypatch.setattr("mgvae.codec.samples.BLOCK", 16)
    monkeypatch.setattr("mgvae.codec.samples._ROWS", 16)
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


def test_rows_in_a_file_are_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((5000, 7), np.float32)
    stored = FileRows.write(np.split(rows, [10, 4000]), 5000, 7, tmp_path)
    assert (len(stored), stored.width) == rows.shape
    for positions in (rng.integers(0, 5000, 4100), np.arange(5000), np.arange(0)):
        np.testing.assert_array_equal(stored.take(positions).numpy(), rows[positions])
        np.testing.assert_array_equal(
            stored.take(positions, torch.ones(len(positions), 7)).numpy(), rows[positions]
        )
    np.testing.assert_array_equal(np.concatenate(list(stored.blocks())), rows)
    for wrong in ([5000], [4998, 4999, 5000], [-1]):
        with pytest.raises(IndexError):
            stored.take(np.array(wrong))
    again = pickle.loads(pickle.dumps(stored))  # noqa: S301 (our own)
    np.testing.assert_array_equal(again.take(np.arange(9)).numpy(), rows[:9])


def test_rows_in_a_file_are_taken_by_several_threads(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).random((3000, 5), np.float32)
    stored = FileRows.write([rows], 3000, 5, tmp_path)

    def right(seed: int) -> bool:
        positions = np.random.default_rng(seed).integers(0, 3000, 500)
        return bool((stored.take(positions).numpy() == rows[positions]).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(right, range(40)))


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
