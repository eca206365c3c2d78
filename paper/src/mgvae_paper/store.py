"""Where results are kept: a file of JSON lines for each protocol and collection of data sets.

Files of one data set each would be many, and a file of all results large; data sets that are of a
kind share a file.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mgvae.errors import DataError
from mgvae.experiments import Cell, Store
from mgvae_paper.data import DATASETS
from mgvae_paper.real_tables import KEEL_TABLES

__all__ = ["collection", "open_store", "read_cell_files"]

_COLLECTIONS = {
    "images": ("mnist", "fashionmnist", "celeba", "magnetic_tile"),
    "tables": ("musk", "water_quality", "isolet"),
    "adbench": (
        "adbench_annthyroid", "adbench_cardio", "adbench_internetads", "adbench_pageblocks",
        "adbench_wilt",
    ),
    "biology": ("ecoli", "hiva", "hypothyroid", "thyroid_sick_train"),
    "nature": ("abalone", "sylva", "wine_quality"),
    "recognition": ("letter_img", "libras_move", "optical_digits", "pen_digits"),
    "society": ("adult", "bank", "car_eval_34", "car_eval_4"),
    "software": ("cm1", "kc1", "pc1"),
}  # fmt: skip
"""Families of data sets by collection; ``images`` and ``tables`` are the paper's own."""

_HOMES = {family: name for name, families in _COLLECTIONS.items() for family in families}


def collection(cell: Cell) -> str:
    """Return the collection that a cell's data set is in; one that is in none is its own.

    Examples
    --------
    >>> collection(Cell("mnist-600", "ERM", "paper")), collection(Cell("mine", "ERM", "folds"))
    ('images', 'mine')
    """
    known = DATASETS.get(cell.dataset)
    if cell.protocol == "draws":
        return "keel" if cell.dataset in KEEL_TABLES else "tables"
    return cell.dataset if known is None else _HOMES.get(known.family, cell.dataset)


def open_store(folder: str | Path) -> Store:
    """Open a folder of results.

    Examples
    --------
    >>> store = open_store("results")
    >>> store.path(Cell("adult", "ROS", "folds")).relative_to(store.folder).as_posix()
    'folds/society.jsonl'
    """
    return Store(folder, collection)


def read_cell_files(folder: str | Path) -> Iterator[dict[str, Any]]:
    """Read results that are kept one file for each cell, ``PROTOCOL/DATASET/KEY.json``.

    Raises
    ------
    mgvae.errors.DataError
        If a file does not hold the result of the cell that it is named after.
    """
    for path in sorted(Path(folder).glob("*/*/*.json")):
        try:
            result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            key = Cell(**result["cell"]).key
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} does not hold a result ({error}).") from error
        if key != path.stem:
            raise DataError(f"{path} holds the result of another cell, {key}.")
        yield result
