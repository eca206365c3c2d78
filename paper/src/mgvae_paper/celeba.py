"""CelebA's hair colours: the paper's long-tailed task with five classes."""

import gzip
import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Literal

import numpy as np
from numpy.typing import NDArray

from mgvae.errors import DataError, ParameterError
from mgvae.images import UnreadableError, load_image, open_image

__all__ = ["HAIR", "PAPER_COUNTS", "CelebaImages", "load_celeba"]

HAIR: Mapping[str, str] = MappingProxyType(
    {
        "Black_Hair": "black",
        "Blond_Hair": "blond",
        "Bald": "bald",
        "Brown_Hair": "brown",
        "Gray_Hair": "gray",
    }
)
"""Attributes of CelebA and the classes they stand for."""

PAPER_COUNTS: Mapping[str, int] = MappingProxyType(
    {"black": 20_000, "blond": 10_000, "bald": 2_500, "brown": 1_000, "gray": 200}
)
"""The paper's long tail."""

_SPLITS = {"train": "0", "valid": "1", "test": "2"}

Opener = Mapping[str, "AbstractContextManager[IO[bytes]]"]


@dataclass(frozen=True)
class CelebaImages:
    """Faces with their hair colour.

    Attributes
    ----------
    images : ndarray of uint8 of shape (N, size, size, 3)
        In the order of the file names.
    labels : ndarray of str of shape (N,)
        black, blond, bald, brown or gray.
    files : list of str
        CelebA's own names, such as 000001.jpg.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.str_]
    files: list[str]


def load_celeba(
    folder: str | os.PathLike[str],
    split: Literal["train", "valid", "test"] = "train",
    *,
    long_tail: Literal["scaled", "paper", "fifth"] | None = "scaled",
    size: int = 64,
    random_state: int = 0,
) -> CelebaImages:
    """Read the faces that have exactly one of five hair attributes.

    The folder is as CelebA is distributed: ``img_align_celeba/`` or a zip file that holds it, with
    ``list_attr_celeba.txt`` and ``list_eval_partition.txt`` beside it, which may be gzipped.
    Images that are not there are left out, so a part of CelebA will do. The split is the official
    one, in which no person is in two parts.

    Parameters
    ----------
    folder : path
        The folder.
    split : {"train", "valid", "test"}
        Which part.
    long_tail : {"scaled", "paper", "fifth"} or None
        Whether to draw the paper's 20,000 black, 10,000 blond, 2,500 bald, 1,000 brown and 200
        gray, a fifth of each, or as many in the same ratio as there are; None gives all.
    size : int
        Side of the images.
    random_state : int
        Decides which images are drawn.

    Returns
    -------
    found : CelebaImages
        Images, labels and names.
    """
    if split not in _SPLITS:
        raise ParameterError(f"split must be one of {', '.join(_SPLITS)}; got {split!r}.")
    root = Path(folder)
    parts = _read_partition(_find_list(root, "list_eval_partition.txt"))
    hair = _read_hair(_find_list(root, "list_attr_celeba.txt"))
    with _open_archive(root) as archive:
        members: dict[str, list[str]] = {label: [] for label in PAPER_COUNTS}
        for name in sorted(archive):
            if parts.get(name) == _SPLITS[split] and name in hair:
                members[hair[name]].append(name)
        chosen = _draw(members, long_tail, random_state)
        images = np.empty((len(chosen), size, size, 3), np.uint8)
        for i, name in enumerate(chosen):
            try:
                with archive[name] as file:
                    images[i] = load_image(open_image(file), (size, size), grey=False)
            except UnreadableError as error:
                raise DataError(f"{name} of {root} cannot be read: {error}.") from error
    return CelebaImages(images, np.array([hair[name] for name in chosen], np.str_), chosen)


def _draw(members: Mapping[str, list[str]], long_tail: str | None, random_state: int) -> list[str]:
    """Choose the images of each class."""
    if long_tail is None:
        return sorted(name for names in members.values() for name in names)
    if long_tail not in ("scaled", "paper", "fifth"):
        raise ParameterError(
            f'long_tail must be "scaled", "paper", "fifth" or None; got {long_tail!r}.'
        )
    there = {label: len(names) for label, names in members.items()}
    share = min(1.0, *(there[label] / wanted for label, wanted in PAPER_COUNTS.items()))
    wanted_share = {"scaled": share, "paper": 1.0, "fifth": 0.2}[long_tail]
    if share < wanted_share:
        needed = {label: round(wanted_share * n) for label, n in PAPER_COUNTS.items()}
        raise DataError(
            f"the long tail {long_tail!r} needs {needed}, but there are {there}. "
            'long_tail="scaled" keeps the ratio.'
        )
    share = wanted_share
    counts = {label: min(n, round(share * PAPER_COUNTS[label])) for label, n in there.items()}
    if not all(counts.values()):
        raise DataError(f"there are too few images for the paper's ratio: {there}.")
    rng = np.random.default_rng(random_state)
    chosen: list[str] = []
    for label, n in counts.items():
        rows = rng.choice(len(members[label]), n, replace=False)
        chosen += [members[label][row] for row in rows]
    return sorted(chosen)


def _find_list(root: Path, name: str) -> Path:
    for path in (root / name, root / f"{name}.gz", root / "Anno" / name, root / "Eval" / name):
        if path.is_file():
            return path
    raise DataError(f"{root} has no {name} (nor {name}.gz), which CelebA is distributed with.")


def _lines(path: Path) -> Iterator[list[str]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    for line in text.decode().splitlines():
        yield line.split()


def _read_partition(path: Path) -> dict[str, str]:
    """Return each image's part: "0" train, "1" valid, "2" test."""
    parts = {}
    for words in _lines(path):
        if len(words) != 2 or words[1] not in _SPLITS.values():
            raise DataError(f"{path} is not CelebA's partition: {' '.join(words)[:60]!r}.")
        parts[words[0]] = words[1]
    return parts


def _read_hair(path: Path) -> dict[str, str]:
    """Return the hair colour of the images that have exactly one."""
    lines = _lines(path)
    next(lines, None)  # how many images there are
    names = next(lines, [])
    missing = [name for name in HAIR if name not in names]
    if missing:
        raise DataError(f"{path} has no attribute {', '.join(missing)} in its second line.")
    places = {names.index(attribute) + 1: label for attribute, label in HAIR.items()}
    hair = {}
    for words in lines:
        if len(words) != len(names) + 1:
            raise DataError(f"{path}: the line of {words[0] if words else '?'} is not complete.")
        labels = [label for place, label in places.items() if words[place] == "1"]
        if len(labels) == 1:
            hair[words[0]] = labels[0]
    return hair


@contextmanager
def _open_archive(root: Path) -> Iterator[Opener]:
    """Open the images; yield what opens each image, by name, from the folder or a zip file."""
    folder = root / "img_align_celeba"
    if folder.is_dir():
        yield {path.name: _opening(path) for path in folder.iterdir() if path.suffix == ".jpg"}
        return
    zips = sorted(root.glob("img_align_celeba*.zip"))
    if not zips:
        raise DataError(f"{root} has neither img_align_celeba/ nor img_align_celeba*.zip.")
    with zipfile.ZipFile(zips[0]) as archive:
        yield {
            Path(name).name: _reading(archive, name)
            for name in archive.namelist()
            if name.endswith(".jpg")
        }


@contextmanager
def _opening(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        yield file


@contextmanager
def _reading(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    yield io.BytesIO(archive.read(name))
