"""A cell is its content; a result is found by it."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

from mgvae.errors import DataError, ParameterError
from mgvae.experiments import Cell, Store, distinct

CELL = Cell("musk", "MGVAE", "paper", "cpu", 2, {"settings": {"a": 1, "b": [1.5, "x"]}})


def test_the_key_never_changes():
    # results in the repository are found by it: a new value here orphans all of them
    assert CELL.key == "a9382dbf22e16a63"


def test_the_key_is_the_content():
    same = Cell("musk", "MGVAE", "paper", "cpu", 2, {"settings": {"b": [1.5, "x"], "a": 1}})
    others = [
        Cell("isolet", "MGVAE", "paper", "cpu", 2, CELL.parameters),
        Cell("musk", "SMOTE", "paper", "cpu", 2, CELL.parameters),
        Cell("musk", "MGVAE", "clean", "cpu", 2, CELL.parameters),
        Cell("musk", "MGVAE", "paper", "full", 2, CELL.parameters),
        Cell("musk", "MGVAE", "paper", "cpu", 1, CELL.parameters),
        Cell("musk", "MGVAE", "paper", "cpu", 2, {"settings": {"a": 2, "b": [1.5, "x"]}}),
    ]
    assert same.key == CELL.key
    assert len({cell.key for cell in [CELL, *others]}) == 7
    assert distinct([CELL, *others, same]) == [same, *others]


def test_a_result_comes_back_with_its_cell(tmp_path):
    store = Store(tmp_path / "new")
    assert store.get(CELL) is None
    assert not store.has(CELL)
    store.put(CELL, {"metrics": {"gm": 12.5}})
    assert store.get(CELL) == {"cell": CELL.as_dict(), "metrics": {"gm": 12.5}}
    assert list(store) == [store.get(CELL)]
    assert [p.name for p in (tmp_path / "new").rglob("*.jsonl")] == ["musk.jsonl"]


def _raise():
    raise ValueError("no such luck")


def test_an_error_is_noted_without_paths_and_forgotten_on_success(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(ValueError, match="luck") as caught:
        _raise()
    store.put_error(CELL, caught.value)
    note = store.error(CELL)
    assert (note["error"], note["message"]) == ("ValueError", "no such luck")
    assert note["where"][-1].endswith("in _raise")
    assert "/" not in json.dumps(note["where"])
    assert not store.has(CELL)
    assert list(store) == []
    store.put(CELL, {})
    assert store.error(CELL) is None


def test_a_broken_line_is_named(tmp_path):
    store = Store(tmp_path)
    store.put(CELL, {})
    with store.path(CELL).open("a", encoding="utf-8") as file:
        file.write('{"cell"')
    with pytest.raises(DataError, match=r"line 2 of .*musk\.jsonl"):
        store.get(CELL)


@pytest.mark.parametrize("name", ["../musk", "a/b", "", ".hidden"])
def test_names_cannot_leave_the_folder(tmp_path, name):
    for cell in (Cell(name, "ERM", "paper"), Cell("musk", "ERM", name)):
        with pytest.raises(ParameterError, match="folders"):
            Store(tmp_path).put(cell, {})
    assert list(tmp_path.iterdir()) == []


MANY = [
    Cell(dataset, method, "paper", budget, seed)
    for dataset in ("musk", "isolet")
    for method in ("MGVAE", "ERM")
    for budget in ("full", "cpu")
    for seed in range(12)
]


def test_files_do_not_depend_on_the_order_of_results(tmp_path):
    for name, cells in (("a", MANY), ("b", MANY[::-1])):
        for cell in cells:
            Store(tmp_path / name).put(cell, {"seed": cell.seed})
    Store(tmp_path / "c").add({"cell": c.as_dict(), "seed": c.seed} for c in MANY)
    first, *others = (
        {p.name: p.read_bytes() for p in (tmp_path / n).rglob("*.jsonl")} for n in "abc"
    )
    assert others == [first, first]
    lines = [json.loads(line)["cell"] for line in first["musk.jsonl"].splitlines()]
    places = [(c["method"], c["budget"], c["seed"]) for c in lines]
    assert places == sorted(places)
    assert len(places) == 48


def one_file(cell):
    return "all"


def test_a_group_of_cells_shares_a_file_and_a_result_takes_the_place_of_an_older_one(tmp_path):
    store = Store(tmp_path, one_file)
    for value in (1, 2):
        for cell in MANY:
            store.put(cell, {"value": value})
    assert [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.jsonl")] == [
        "paper/all.jsonl"
    ]
    assert [result["value"] for result in store] == [2] * len(MANY)
    assert all(pickle.loads(pickle.dumps(store)).has(cell) for cell in MANY)  # noqa: S301


def test_another_process_sees_at_once_what_is_added(tmp_path):
    ours, theirs = Store(tmp_path), Store(tmp_path)
    for cell in MANY:
        assert not ours.has(cell)
        theirs.put(cell, {})
        assert ours.has(cell)


WRITER = """
import os, sys
from mgvae.experiments import Cell, Store

store, name = Store(sys.argv[1]), sys.argv[2]
for seed in range(int(sys.argv[3])):
    cell = Cell("data", name, "test", seed=seed)
    if seed % 3 == 2:
        store.put_error(cell, ValueError("for now"))
    store.put(cell, {"padding": "x" * 2000})
    os.write(1, b".")  # the result is kept
"""


def start(folder, name, n):
    command = [sys.executable, "-c", WRITER, str(folder), name, str(n)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_several_processes_lose_nothing(tmp_path):
    writers = [start(tmp_path, name, 25) for name in ("a", "b", "c")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    found = [(r["cell"]["method"], r["cell"]["seed"]) for r in Store(tmp_path)]
    assert found == [(name, seed) for name in ("a", "b", "c") for seed in range(25)]
    assert Store(tmp_path).error(Cell("data", "a", "test", seed=2)) is None


def test_a_writer_may_be_killed_at_any_moment(tmp_path):
    kept = {}
    for i in range(8):
        writer = start(tmp_path, f"writer {i}", 10**6)
        writer.stdout.read(1)
        time.sleep(0.01 * i)
        os.kill(writer.pid, signal.SIGKILL)
        kept[f"writer {i}"] = 1 + len(writer.stdout.read())
        writer.wait()
    store = Store(tmp_path)
    for name, n in kept.items():
        assert all(store.has(Cell("data", name, "test", seed=seed)) for seed in range(n))
        assert not store.has(Cell("data", name, "test", seed=n + 1))
    store.put(CELL, {})
    store.put(Cell("data", "last", "test"), {})
    files = [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()]
    expected = {".lock", "errors.jsonl", "paper/musk.jsonl", "test/data.jsonl"}
    assert set(files) - {p for p in files if p.startswith(".errors")} == expected
