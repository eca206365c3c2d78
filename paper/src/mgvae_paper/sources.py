"""The data sets as they were published: from a folder of the user's, or from OpenML.

The folder has one sub-folder per data set (see each reader). What is read is compared with the
checksum of the data that the published results were made from, wherever it came from.
"""

import csv
import gzip
import hashlib
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mgvae.errors import DataError

__all__ = ["ENVIRONMENT", "PublishedData", "find_celeba", "find_tiles", "read_source"]

ENVIRONMENT = "MGVAE_DATA"
"""The environment variable that names the folder with the data sets."""


@dataclass(frozen=True)
class PublishedData:
    """All rows of a data set.

    Parameters
    ----------
    X : ndarray of shape (n, ...)
        Rows of numbers, or images of bytes.
    y : ndarray of int
        Classes.
    test : ndarray of bool, optional
        The rows of the official test set, if there is one.
    groups : ndarray of int, optional
        What belongs together and should not be split.
    """

    X: NDArray[np.float32] | NDArray[np.uint8]
    y: NDArray[np.int64]
    test: NDArray[np.bool_] | None = None
    groups: NDArray[np.int64] | None = None


def read_source(name: str, folder: str | Path | None = None) -> PublishedData:
    """Read a data set.

    Parameters
    ----------
    name : {"mnist", "fashionmnist", "musk", "water_quality", "isolet"}
        Which.
    folder : path, optional
        Where the data sets are; by default the folder that the variable ``MGVAE_DATA`` names. What
        is not there is fetched from OpenML, if OpenML has it.

    Raises
    ------
    mgvae.errors.DataError
        If the data cannot be had, with the command that would get them; or if they are not those
        of the published results.

    Examples
    --------
    >>> read_source("water_quality", "no/such/folder")
    Traceback (most recent call last):
    ...
    mgvae.errors.DataError: The data set 'water_quality' is not at hand...
    """
    folder = folder or os.environ.get(ENVIRONMENT)
    return _read(name, None if folder is None else Path(folder))


def find_celeba(folder: str | Path | None = None) -> Path:
    """Find the folder of CelebA, which :func:`mgvae_paper.celeba.load_celeba` reads.

    Parameters
    ----------
    folder : path, optional
        As in :func:`read_source`.
    """
    root = folder or os.environ.get(ENVIRONMENT)
    if root is None or not (Path(root) / "celeba").is_dir():
        raise DataError(
            "The data set 'celeba' is not at hand, and its licence (research only) keeps it off "
            'OpenML. Get it with: python -c "from torchvision.datasets import CelebA; '
            "CelebA('FOLDER', download=True)\"; then say --data FOLDER (or set "
            f"{ENVIRONMENT}=FOLDER)."
        )
    return Path(root) / "celeba"


def find_tiles(folder: str | Path | None = None) -> Path:
    """Find the archive of magnetic tiles, which :func:`mgvae_paper.tiles.load_tiles` reads.

    Parameters
    ----------
    folder : path, optional
        As in :func:`read_source`.
    """
    root = folder or os.environ.get(ENVIRONMENT)
    archive = None if root is None else Path(root) / "magnetic_tile" / "magnetic_tile_128.zip"
    if archive is None or not archive.is_file():
        raise DataError(
            "The data set 'magnetic_tile' is not at hand. Put its photographs, one folder per "
            "class, into FOLDER/magnetic_tile/magnetic_tile_128.zip; then say --data FOLDER (or "
            f"set {ENVIRONMENT}=FOLDER)."
        )
    return archive


@lru_cache(maxsize=1)
def _read(name: str, folder: Path | None) -> PublishedData:
    place = _PLACES[name]
    path = None if folder is None else folder / place.folder
    if path is not None and path.is_dir():
        source = place.read(path)
    elif place.from_openml is not None:
        source = place.from_openml(*_fetch(name, place))
    else:
        raise DataError(_absent(name, place, "OpenML does not have it"))
    if _checksum(source) != place.sha256:
        raise DataError(
            f"The data set {name!r} read from {path or 'OpenML'} is not the one that the published "
            "results are made from: its checksum differs. Look for another copy, and name the "
            "folder that holds it with --data."
        )
    return source


def _checksum(source: PublishedData) -> str:
    """Hash rows and classes, numbers to four decimals (none of the data sets has more)."""
    whole = source.X.dtype == np.uint8
    X = source.X if whole else np.rint(source.X * 1e4).astype("<i4")
    digest = hashlib.sha256(np.ascontiguousarray(X).data)
    digest.update(source.y.astype("<i8").data)
    return digest.hexdigest()


def _fetch(name: str, place: "_Place") -> tuple[NDArray[np.floating], NDArray[np.str_], list[str]]:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=place.openml, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise DataError(_absent(name, place, f"OpenML cannot be reached ({error})")) from error
    return bunch.data, bunch.target, bunch.feature_names


def _absent(name: str, place: "_Place", reason: str) -> str:
    where = f"FOLDER/{place.folder}/"
    fetch = place.command or (
        f'python -c "from sklearn.datasets import fetch_openml; fetch_openml(data_id={place.openml}'
        ", as_frame=False, parser='liac-arff')\" on a machine with access"
    )
    return (
        f"The data set {name!r} is not at hand, and {reason}. Get it with: {fetch}; or put "
        f"{place.files} into {where} and say --data FOLDER (or set {ENVIRONMENT}=FOLDER)."
    )


def _open(folder: Path, name: str) -> bytes:
    """Read a file that may be packed."""
    for path in (folder / f"{name}.gz", folder / name):
        if path.exists():
            data = path.read_bytes()
            try:
                return gzip.decompress(data) if path.suffix == ".gz" else data
            except (OSError, EOFError) as error:
                raise DataError(f"{path} is damaged: {error}.") from error
    raise DataError(f"{folder} has neither {name} nor {name}.gz.")


def _idx(folder: Path, name: str) -> NDArray[np.uint8]:
    """Read the idx format: two zeros, the type (8: bytes), the number of axes, their lengths."""
    data = _open(folder, name)
    if len(data) < 4 or data[:3] != b"\x00\x00\x08" or len(data) < 4 + 4 * data[3]:
        raise DataError(f"{folder / name} is not an idx file of bytes.")
    axes = data[3]
    shape = struct.unpack(f">{axes}I", data[4 : 4 + 4 * axes])
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * axes)
    if len(values) != int(np.prod(shape)):
        raise DataError(f"{folder / name} is cut short: it should hold {shape} bytes.")
    return values.reshape(shape)


def _digits(folder: Path) -> PublishedData:
    parts = ("train", "t10k")
    X = np.concatenate([_idx(folder, f"{part}-images-idx3-ubyte") for part in parts])
    labels = [_idx(folder, f"{part}-labels-idx1-ubyte") for part in parts]
    return _with_test(X, np.concatenate(labels).astype(np.int64), len(labels[1]))


def _digits_from_openml(
    X: NDArray[np.floating], y: NDArray[np.str_], _names: list[str]
) -> PublishedData:
    return _with_test(X.astype(np.uint8).reshape(-1, 28, 28), y.astype(np.int64), 10_000)


def _with_test(X: NDArray[np.uint8], y: NDArray[np.int64], n_test: int) -> PublishedData:
    return PublishedData(X, y, test=np.arange(len(y)) >= len(y) - n_test)


def _musk(folder: Path) -> PublishedData:
    """Read rows of class, molecule and 166 whole numbers, without a header."""
    rows = np.loadtxt(_lines(folder, "musk2.csv"), delimiter=",", dtype=np.int64, ndmin=2)
    return PublishedData(rows[:, 2:].astype(np.float32), rows[:, 0], groups=_codes(rows[:, 1]))


def _musk_from_openml(
    X: NDArray[np.floating], y: NDArray[np.str_], names: list[str]
) -> PublishedData:
    features = [i for i, name in enumerate(names) if name[:1] == "f" and name[1:].isdecimal()]
    groups = _codes(X[:, names.index("molecule_name")])
    return PublishedData(
        X[:, features].astype(np.float32), y.astype(float).astype(np.int64), None, groups
    )


def _codes(values: NDArray[np.generic]) -> NDArray[np.int64]:
    """Replace values by numbers, in the order of their first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    codes: NDArray[np.int64] = np.argsort(np.argsort(first))[inverse]
    return codes


def _water(folder: Path) -> PublishedData:
    """Read a table with a header, the class last; rows without a class are no rows."""
    header, *rows = csv.reader(_lines(folder, "waterQuality1.csv"))
    if header[-1] != "is_safe":
        raise DataError(f"{folder}/waterQuality1.csv must end in the column is_safe: {header}.")
    kept = [row for row in rows if row[-1] in ("0", "1")]
    numbers = np.asarray(kept, dtype=np.float64)
    return PublishedData(numbers[:, :-1].astype(np.float32), numbers[:, -1].astype(np.int64))


def _isolet(folder: Path) -> PublishedData:
    with np.load(folder / "isolet.npz", allow_pickle=False) as arrays:
        return _letters(arrays["X"], arrays["y"])


def _isolet_from_openml(
    X: NDArray[np.floating], y: NDArray[np.str_], _names: list[str]
) -> PublishedData:
    return _letters(X, y)


def _letters(X: NDArray[np.floating], y: NDArray[np.generic]) -> PublishedData:
    """Sort the rows: copies of this set come in different orders. The minority is A and B."""
    letters = y.astype(np.int64)
    X = X.astype(np.float32)
    order = np.lexsort((*X.T[::-1], letters))
    return PublishedData(X[order], (letters[order] <= 2).astype(np.int64))


def _lines(folder: Path, name: str) -> list[str]:
    return _open(folder, name).decode().splitlines()


Reader = Callable[[Path], PublishedData]
FromOpenML = Callable[[NDArray[np.floating], NDArray[np.str_], list[str]], PublishedData]


@dataclass(frozen=True)
class _Place:
    """Where a data set is found, and how to know that it is the right one."""

    folder: str
    files: str
    read: Reader
    sha256: str
    openml: int | None = None
    from_openml: FromOpenML | None = None
    command: str | None = None


_IDX = "the four idx files (train-images-idx3-ubyte.gz, ...)"
_PLACES = {
    "mnist": _Place(
        "mnist", _IDX, _digits,
        "b3fe36794a3a345d09632e9d79f122d61ca91a07e5a22f8536973655bacf2a78",
        openml=554, from_openml=_digits_from_openml,
    ),
    "fashionmnist": _Place(
        "fashion_mnist", _IDX, _digits,
        "75979490032625d6583ff7101de6f9243d07d0a8d33d3c9b3b7e79b4c59382af",
        openml=40996, from_openml=_digits_from_openml,
    ),
    "musk": _Place(
        "musk2", "musk2.csv.gz", _musk,
        "f435d61d1ca0216e3b3e5cd66b3b643a273ac53067058b277275708da1a40103",
        openml=1116, from_openml=_musk_from_openml,
    ),
    "isolet": _Place(
        "isolet", "isolet.npz", _isolet,
        "32aeada66d2d8f22d474f45e60c5c4345ee571612c3e4661416168001efdd15e",
        openml=300, from_openml=_isolet_from_openml,
    ),
    "water_quality": _Place(
        "water_quality", "waterQuality1.csv.gz", _water,
        "9b2bc0d7c5d7853e13e0c846081b0b9cfa76154c17f941e8755f5d787b088b5c",
        command="kaggle datasets download mssmartypants/water-quality --unzip",
    ),
}  # fmt: skip
