"""Folders of images, one folder per class."""

import csv
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mgvae.common.atomic import atomic_folder, check_writable, sweep
from mgvae.errors import DataError, ParameterError
from mgvae.images._files import (
    SUFFIXES,
    UnreadableError,
    is_grey,
    load_image,
    open_image,
    save_image,
    upright_size,
)

__all__ = ["MOST_NATIVE", "FolderImages", "check_new_folder", "read_folder", "write_folder"]

_SIDES = (8, 128)
MOST_NATIVE = 64
"""The longer side, in pixels, up to which images keep their size unless another is asked for."""


@dataclass(frozen=True)
class FolderImages:
    """The images of a folder.

    Attributes
    ----------
    images : ndarray of uint8 of shape (N, H, W) or (N, H, W, 3)
        Grey if all files are, else colour.
    labels : ndarray of str of shape (N,)
        The folder that each was in.
    files : list of str
        Where each was, relative to the folder, with forward slashes.
    skipped : list of (str, str)
        Files that could not be used, and why.
    native : (int, int)
        The usual height and width of the files: the median of each.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.str_]
    files: list[str]
    skipped: list[tuple[str, str]]
    native: tuple[int, int] = (0, 0)


def read_folder(
    folder: str | os.PathLike[str],
    size: int | tuple[int, int] | None = None,
    *,
    only: str | None = None,
    grey: bool | None = None,
) -> FolderImages:
    """Read the images below a folder that has one folder per class.

    PNG, JPEG, WebP and BMP files are read at any depth, turned as their EXIF data say, resized and
    cropped around the centre. They are decoded once, into bytes. Hidden files and files of other
    kinds are left out; broken or tiny images are listed.

    Parameters
    ----------
    folder : path
        The folder.
    size : int, (int, int) or None
        Side, or height and width, of the images wanted; 8 to 128 pixels. None keeps their size
        (the median height and width, if they differ), made smaller where a side is longer than
        64 pixels.
    only : str, optional
        The one class to read.
    grey : bool, optional
        Whether to read grey values; None does if all files are grey.

    Returns
    -------
    found : FolderImages
        Images, labels, names and what was skipped.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("cat", "dog"):
    ...         Path(folder, name).mkdir()
    ...         Image.new("L", (40, 30)).save(Path(folder, name, "1.png"))
    ...     found = read_folder(folder, size=16)
    >>> found.images.shape, found.labels.tolist(), found.files
    ((2, 16, 16), ['cat', 'dog'], ['cat/1.png', 'dog/1.png'])
    """
    root = Path(folder)
    if size is not None:
        height, width = size = (size, size) if isinstance(size, int) else size
        if not all(_SIDES[0] <= side <= _SIDES[1] for side in size):
            raise ParameterError(
                f"size must be {_SIDES[0]} to {_SIDES[1]} pixels; got {height} × {width}."
            )
    if not root.is_dir():
        raise DataError(f"{root} is not a folder.")
    names = [name for name in _image_files(root) if "/" in name]
    if only is not None:
        names = [name for name in names if name.partition("/")[0] == only]
    if not names:
        raise DataError(
            f"{root} has no images in folders. There must be one folder per class, with "
            f"{', '.join(SUFFIXES)} files in it."
        )
    skipped: list[tuple[str, str]] = []
    all_grey, usable, sides = True, [], []
    for name in names:
        if not (root / name).is_file():  # a pipe would be waited for, a device might never end
            skipped.append((name, "not a regular file"))
            continue
        try:
            with open_image(root / name) as image:
                all_grey &= is_grey(image)
                sides.append(upright_size(image))
            usable.append(name)
        except UnreadableError as error:
            skipped.append((name, str(error)))
    grey = all_grey if grey is None else grey
    native = _usual(sides)
    size = _bounded(native) if size is None else size
    images = np.empty((len(usable), *size) if grey else (len(usable), *size, 3), np.uint8)
    files: list[str] = []
    for name in usable:
        try:
            images[len(files)] = load_image(open_image(root / name), size, grey=grey)
            files.append(name)
        except UnreadableError as error:
            skipped.append((name, str(error)))
    labels = np.array([name.partition("/")[0] for name in files], dtype=np.str_)
    return FolderImages(images[: len(files)], labels, files, sorted(skipped), native)


def _usual(sides: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the median height and width."""
    if not sides:
        return MOST_NATIVE, MOST_NATIVE
    height, width = np.median(np.array(sides), axis=0).astype(int).tolist()
    return height, width


def _bounded(native: tuple[int, int]) -> tuple[int, int]:
    """Make a height and width smaller, in proportion, until neither exceeds the bound.

    Examples
    --------
    >>> _bounded((28, 28)), _bounded((96, 128)), _bounded((2000, 20))
    ((28, 28), (48, 64), (64, 8))
    """
    factor = min(1.0, MOST_NATIVE / max(native))
    height, width = (max(_SIDES[0], round(factor * side)) for side in native)
    return height, width


def _image_files(root: Path) -> list[str]:
    """Return the image files below a folder, relative to it, in order of their names."""
    found: list[str] = []
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        found += [
            Path(folder, name).relative_to(root).as_posix()
            for name in names
            if not name.startswith(".") and name.lower().endswith(SUFFIXES)
        ]
    return sorted(found)


def check_new_folder(output: str | os.PathLike[str], source: str | os.PathLike[str]) -> None:
    """Raise if a folder cannot be written anew: it holds something, or is within the source."""
    target, origin = Path(output).resolve(), Path(source).resolve()
    if target == origin or target.is_relative_to(origin) or origin.is_relative_to(target):
        raise ParameterError(
            f"output: {output} must be outside of {source}, or its images would be mixed up."
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ParameterError(f"output: {output} exists already; say a new folder.")
    if not target.parent.is_dir():
        raise ParameterError(f"output: there is no folder {target.parent}.")
    try:
        check_writable(target.parent / f"{target.name}.probe")
        sweep(target)
    except OSError as error:
        raise ParameterError(
            f"output: {output} cannot be written: {target.parent}: {error.strerror}."
        ) from None


def write_folder(
    output: str | os.PathLike[str],
    source: str | os.PathLike[str],
    found: FolderImages,
    made: NDArray[np.uint8],
    made_labels: Sequence[str],
    made_from: Sequence[int],
    *,
    anchors: Sequence[int] | None = None,
    originals: Literal["copy", "link", "leave"] = "copy",
) -> Path:
    """Write original and synthetic images, one folder per class, and ``manifest.csv``.

    The folder appears whole or not at all. A file of the manifest is given relative to the
    folder; its source file, relative to ``source``, is the original itself, or the majority image
    that a synthetic one was made from; its anchor file is the minority image that it started from,
    if there was one.

    Parameters
    ----------
    output : path
        A folder that is not there yet, or empty.
    source : path
        The folder that ``found`` was read from.
    found : FolderImages
        Its images.
    made : ndarray of uint8
        Synthetic images.
    made_labels : sequence of str
        Their classes.
    made_from : sequence of int
        Positions in ``found`` of the majority images that they were made from; -1 for none.
    anchors : sequence of int, optional
        Positions of the minority images that they started from; -1 for none.
    originals : {"copy", "link", "leave"}
        Whether the originals are copied, hard-linked where the disk can, or left out.

    Returns
    -------
    folder : Path
        The folder written.
    """
    check_new_folder(output, source)
    _check_names(found.files, [*found.labels.tolist(), *made_labels])
    with atomic_folder(output) as beside:
        lines: list[tuple[str, str, int, str, str]] = []
        for label in sorted({*found.labels.tolist(), *made_labels}):
            (beside / label).mkdir()
        if originals != "leave":
            for name, label in zip(found.files, found.labels.tolist(), strict=True):
                _place(Path(source, name), beside / name, link=originals == "link")
                lines.append((name, label, 0, name, ""))
        prefix = _free_prefix(found.files)
        digits = len(str(len(made)))
        for i, (pixels, label, *parents) in enumerate(
            zip(made, made_labels, made_from, anchors or [-1] * len(made), strict=True), 1
        ):
            name = f"{label}/{prefix}{i:0{digits}}.png"
            save_image(pixels, beside / name)
            guide, anchor = (found.files[row] if row >= 0 else "" for row in parents)
            lines.append((name, label, 1, guide, anchor))
        with (beside / "manifest.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("file", "class", "synthetic", "source_file", "anchor_file"))
            writer.writerows(lines)
    return Path(output).resolve()


def _check_names(files: Sequence[str], labels: Sequence[str]) -> None:
    """Raise if a file or a class would be written outside of the new folder."""
    for label in {*labels}:
        if len(_parts(label)) != 1 or _parts(label)[0] in ("", ".", ".."):
            raise DataError(f"a class names a folder, and {label!r} cannot be one's name.")
    for name in files:
        if Path(name).is_absolute() or {"", ".", ".."} & {*_parts(name)}:
            raise DataError(f"the file {name!r} is not below the folder of the images.")


def _parts(name: str) -> list[str]:
    return name.replace(os.sep, "/").replace("\0", "/").split("/")


def _place(source: Path, target: Path, *, link: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        try:
            os.link(source.resolve(), target)
        except OSError:  # another disk, or one without links
            pass
        else:
            return
    shutil.copyfile(source, target)


def _free_prefix(files: Sequence[str]) -> str:
    """Return a prefix for new names that no original has."""
    prefix = "synthetic-"
    while any(Path(name).name.startswith(prefix) for name in files):
        prefix = f"new-{prefix}"
    return prefix
