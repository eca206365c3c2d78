"""Magnetic tiles: photographs of surfaces without and with five kinds of defects.

Y. Huang, C. Qiu, K. Yuan, "Surface defect saliency of magnetic tile", The Visual Computer, 2020.
The files are named ``exp<exposure>_num_<number>``, and one tile was taken at up to seven exposures
in a row. Photographs with neighbouring numbers form a group, which no split divides.
"""

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from mgvae.errors import DataError
from mgvae.images import open_image

__all__ = ["CLASSES", "Tiles", "group_numbers", "grouped_parts", "load_tiles"]

CLASSES = ("free", "blowhole", "uneven", "break", "crack", "fray")
"""The classes, the largest first."""

_FILE = re.compile(r"(?:.*/)?(\w+)/exp\d+_num_(\d+)\.jpg")
_GAP = 100  # between two numbers of different tiles
_FOLDS = 5  # of which one is the test, and of the rest one the validation part


@dataclass(frozen=True)
class Tiles:
    """Photographs, their classes, and what belongs together."""

    X: NDArray[np.uint8]
    y: NDArray[np.int64]
    groups: NDArray[np.int64]


def load_tiles(archive: str | Path, size: int = 64) -> Tiles:
    """Read the photographs.

    Parameters
    ----------
    archive : path
        The zip file, with one folder per class.
    size : int
        Side of the images, to which the photographs are resized, whatever the ratio of their sides:
        a crop would lose defects near an edge.
    """
    if not Path(archive).is_file():
        raise DataError(f"there is no file {archive}; it holds the magnetic tiles, by class.")
    images, labels, numbers = [], [], []
    with zipfile.ZipFile(archive) as file:
        for name in sorted(file.namelist()):
            found = _FILE.fullmatch(name)
            if found is None or found[1] not in CLASSES:
                continue
            with file.open(name) as photo, open_image(photo) as image:
                images.append(np.asarray(image.convert("L").resize((size, size))))
            labels.append(CLASSES.index(found[1]))
            numbers.append(int(found[2]))
    return Tiles(np.stack(images), np.array(labels), group_numbers(np.array(numbers)))


def group_numbers(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group of each number: a gap of more than 100 parts two groups.

    Examples
    --------
    >>> group_numbers(np.array([461, 5000, 524, 5100, 5201]))
    array([0, 1, 0, 1, 2])
    """
    order = np.argsort(numbers, kind="stable")
    starts = np.diff(numbers[order], prepend=numbers[order][:1]) > _GAP
    groups = np.empty(len(numbers), np.int64)
    groups[order] = starts.cumsum()
    return groups


def grouped_parts(
    y: NDArray[np.int64], groups: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Divide rows into those to learn from, to validate with, and to test on.

    Parameters
    ----------
    y, groups : ndarray of int of shape (n,)
        Classes, whose shares are kept as well as groups allow, and groups, which stay whole.
    seed : int
        Decides the division.
    """
    rest, test = next(_folds(seed).split(y, y, groups))
    train, valid = next(_folds(seed + 1).split(rest, y[rest], groups[rest]))
    return rest[train], rest[valid], test


def _folds(seed: int) -> StratifiedGroupKFold:
    return StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed)
