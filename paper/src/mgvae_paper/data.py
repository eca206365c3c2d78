"""The benchmark's data sets, and how each protocol splits them.

``paper`` splits as the published scripts do: the first rows in file order, the same for all seeds,
tables scaled on all rows before the split. ``clean`` draws rows by the seed, keeps a validation
part of the training data apart, and scales by what the training rows show. Draws are made class by
class from generators of their own, so that two imbalance ratios share their majority.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mgvae.errors import ParameterError
from mgvae_paper.celeba import PAPER_COUNTS, load_celeba
from mgvae_paper.real_tables import KEEL_TABLES, REAL_TABLES
from mgvae_paper.sources import PublishedData, find_celeba, find_tiles, read_source
from mgvae_paper.tiles import grouped_parts, load_tiles

__all__ = ["DATASETS", "DataSet", "Protocol", "Split", "split", "split_dataset"]

Protocol = Literal["paper", "clean"]
LongTail = Literal["scaled", "fifth"]
Positions = NDArray[np.intp]

_HELD_OUT = 0.2  # of the training rows, for validation; of the molecules, for the test


@dataclass(frozen=True)
class DataSet:
    """What a data set's name stands for.

    Parameters
    ----------
    family : str
        The published data it is made of.
    kind : {"image", "table"}
        What a row is.
    minority : int or None
        Images: rows that each of the minority's five classes has; None for all.
    test : int
        Tables: test rows of each class.
    scale : (float, float) or None
        Tables: the range that columns are brought to.
    by_group : bool
        Whether the rows of a group stay together; not under ``paper``.
    protocols : tuple of str
        The protocols it is used under.
    """

    family: str
    kind: Literal["image", "table"]
    minority: int | None = None
    test: int = 0
    scale: tuple[float, float] | None = None
    by_group: bool = False
    protocols: tuple[str, ...] = ("paper", "clean")


DATASETS = {
    "mnist-100": DataSet("mnist", "image", minority=60),
    "mnist-600": DataSet("mnist", "image", minority=10),
    "mnist-full": DataSet("mnist", "image"),
    "fashionmnist-100": DataSet("fashionmnist", "image", minority=60),
    "fashionmnist-600": DataSet("fashionmnist", "image", minority=10),
    "fashionmnist-full": DataSet("fashionmnist", "image"),
    "celeba-100": DataSet("celeba", "image"),
    "celeba-fifth": DataSet("celeba", "image", protocols=("clean",)),
    "magnetic_tile": DataSet("magnetic_tile", "image", by_group=True, protocols=("clean",)),
    "musk": DataSet("musk", "table", test=200, scale=(-1.0, 1.0)),
    "musk-by-molecule": DataSet(
        "musk", "table", scale=(-1.0, 1.0), by_group=True, protocols=("clean", "folds", "draws")
    ),
    "water_quality": DataSet(
        "water_quality",
        "table",
        test=300,
        scale=(0.0, 1.0),
        protocols=("paper", "clean", "folds", "draws"),
    ),
    "isolet": DataSet("isolet", "table", test=200, protocols=("paper", "clean", "folds", "draws")),
    **{name: DataSet(name, "table", protocols=("folds", "draws")) for name in REAL_TABLES},
    **{name: DataSet(name, "table", protocols=("draws",)) for name in KEEL_TABLES},
}
"""Every data set by name."""


@dataclass(frozen=True)
class Split:
    """The parts of a data set; class 0 is the majority.

    ``X_valid`` and ``y_valid`` are empty under the paper's protocol, which has no such part.
    """

    X_train: NDArray[Any]
    y_train: NDArray[np.int64]
    X_valid: NDArray[Any]
    y_valid: NDArray[np.int64]
    X_test: NDArray[Any]
    y_test: NDArray[np.int64]


def split(
    name: str,
    protocol: Protocol,
    seed: int = 0,
    folder: str | Path | None = None,
    *,
    size: int = 64,
) -> Split:
    """Read a data set and split it.

    Parameters
    ----------
    name : str
        One of :data:`DATASETS`.
    protocol : {"paper", "clean"}
        Whose rules.
    seed : int
        Decides the draws.
    folder : path, optional
        Where the data sets are, see :func:`mgvae_paper.sources.read_source`.
    size : int
        Side of CelebA's images and of magnetic tiles.

    Returns
    -------
    split : Split
        Images as bytes, tables as float32.
    """
    dataset = DATASETS.get(name)
    if dataset is None or protocol not in dataset.protocols:
        raise ParameterError(
            f"there is no data set {name!r} under the protocol {protocol!r}; there are "
            f"{', '.join(n for n, d in DATASETS.items() if protocol in d.protocols)}."
        )
    if dataset.family == "celeba":
        tail: LongTail = "fifth" if name == "celeba-fifth" else "scaled"
        return _split_celeba(protocol, seed, folder, size, tail)
    if dataset.family == "magnetic_tile":
        tiles = load_tiles(find_tiles(folder), size)
        return _assemble(tiles.X, tiles.y, *grouped_parts(tiles.y, tiles.groups, seed))
    return split_dataset(dataset, protocol, seed, folder)


def split_dataset(
    dataset: DataSet, protocol: Protocol, seed: int = 0, folder: str | Path | None = None
) -> Split:
    """Read and split a data set that need not be among the named ones; see :func:`split`."""
    source = read_source(dataset.family, folder)
    draw = _first if protocol == "paper" and dataset.family != "isolet" else _Draw(seed)
    held_out = 0.0 if protocol == "paper" else _HELD_OUT
    if dataset.kind == "image":
        return _split_images(source, dataset.minority, draw, held_out)
    return _split_table(source, dataset, draw, held_out, scale_on_all=protocol == "paper")


def _split_celeba(
    protocol: Protocol, seed: int, folder: str | Path | None, size: int, tail: LongTail
) -> Split:
    """Take CelebA's own parts: no person is in two of them.

    The paper's long tail does not fit what is there; its ratio is kept, on as many images as there
    are or on a fifth of the paper's. The validation part has
    the same ratio, the test part has all images.
    """
    found = find_celeba(folder)
    draw = seed if protocol == "clean" else 0
    train = load_celeba(found, "train", long_tail=tail, size=size, random_state=draw)
    valid = load_celeba(found, "valid", size=size, random_state=draw)
    test = load_celeba(found, "test", size=size, long_tail=None)
    order = {label: code for code, label in enumerate(PAPER_COUNTS)}
    y_train, y_valid, y_test = (
        np.array([order[str(label)] for label in part.labels], np.int64)
        for part in (train, valid, test)
    )
    n = 0 if protocol == "paper" else len(y_valid)
    return Split(train.images, y_train, valid.images[:n], y_valid[:n], test.images, y_test)


class _Draw:
    """Shuffle the rows of a stratum, by the seed and the stratum alone."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, rows: Positions, stratum: int) -> Positions:
        return np.random.default_rng([self.seed, stratum]).permutation(rows)


def _first(rows: Positions, stratum: int) -> Positions:  # noqa: ARG001
    """Leave the rows of a stratum in file order."""
    return rows


def _split_images(source: PublishedData, minority: int | None, draw: Any, held_out: float) -> Split:
    """Make 0-4 against 5-9 of ten classes; strata are the ten."""
    if source.test is None:
        raise ParameterError("images need an official test set.")
    train, valid = [], []
    for digit in range(10):
        rows = draw(np.flatnonzero((source.y == digit) & ~source.test), digit)
        rows = rows if digit < 5 else rows[:minority]
        n = round(held_out * len(rows))
        valid.append(rows[:n])
        train.append(rows[n:])
    parts = np.concatenate(train), np.concatenate(valid), np.flatnonzero(source.test)
    return _assemble(source.X, (source.y >= 5).astype(np.int64), *parts)


def _split_table(
    source: PublishedData, dataset: DataSet, draw: Any, held_out: float, *, scale_on_all: bool
) -> Split:
    train: list[Positions] = []
    valid: list[Positions] = []
    test: list[Positions] = []
    for label in (0, 1):
        rows = np.flatnonzero(source.y == label)
        if dataset.by_group and source.groups is not None:
            molecules = draw(np.unique(source.groups[rows]), label)
            n_test = round(_HELD_OUT * len(molecules))
            n_valid = round(held_out * (len(molecules) - n_test))
            cuts = np.split(molecules, [n_test, n_test + n_valid])
            parts = [rows[np.isin(source.groups[rows], cut)] for cut in cuts]
        else:
            n_valid = round(held_out * (len(rows) - dataset.test))
            parts = np.split(draw(rows, label), [dataset.test, dataset.test + n_valid])
        for part, found in zip((test, valid, train), parts, strict=True):
            part.append(found)
    chosen = [np.concatenate(part) for part in (train, valid, test)]
    X = source.X
    if dataset.scale is not None:
        X = _scaled(X, X if scale_on_all else X[chosen[0]], *dataset.scale)
    return _assemble(X, source.y, *chosen)


def _scaled(X: NDArray[Any], seen: NDArray[Any], low: float, high: float) -> NDArray[np.float32]:
    """Bring the range of each column among the rows seen to [low, high]."""
    start, extent = seen.min(axis=0), np.ptp(seen, axis=0)
    parts = (X - start) / np.where(extent > 0, extent, 1)
    scaled: NDArray[np.float32] = (low + (high - low) * parts).astype(np.float32)
    return scaled


def _assemble(
    X: NDArray[Any], y: NDArray[np.int64], train: Positions, valid: Positions, test: Positions
) -> Split:
    return Split(X[train], y[train], X[valid], y[valid], X[test], y[test])
