"""A cell is its content; a result is found by it."""

import json

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
    assert [p.name for p in (tmp_path / "new").rglob("*.*")] == [f"{CELL.key}.json"]


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


def test_a_broken_file_is_named(tmp_path):
    store = Store(tmp_path)
    store.put(CELL, {})
    store.path(CELL).write_text('{"cell"', encoding="utf-8")
    with pytest.raises(DataError, match=CELL.key):
        store.get(CELL)


@pytest.mark.parametrize("name", ["../musk", "a/b", "", "errors", ".hidden"])
def test_names_cannot_leave_the_folder(tmp_path, name):
    with pytest.raises(ParameterError, match="folders"):
        Store(tmp_path).put(Cell(name, "ERM", "paper"), {})
