"""Files that are either whole or not there.

A new file is written beside its final place, brought safely to the disk, and then renamed over the
old one in a single step. Whoever looks at the path, at any moment and after any crash, sees the
old file or the new one, never half of one.
"""

import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "atomic_folder",
    "atomic_write",
    "check_writable",
    "sync_folder",
    "sync_tree",
    "write_stdout",
]


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its place only when the block ends without an error.

    A symbolic link is followed and stays a link; the permissions of a file that is replaced are
    kept. A device or a pipe (``/dev/null``) cannot be replaced and is written to as it is.

    Parameters
    ----------
    path : path
        Where the file shall be.

    Yields
    ------
    file : binary file
        Write to it; do not close it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with atomic_write(path) as file:
    ...         _ = file.write(b"whole")
    ...     path.read_bytes()
    b'whole'
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("wb") as file:
            yield file
        return
    beside = target.with_name(f".{target.name[:64]}.{secrets.token_hex(6)}.tmp")
    # 0o666 is what open() asks for; the user's umask takes away from it
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            beside.chmod(stat.S_IMODE(mode))
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    sync_folder(target.parent)


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a folder to fill that takes its place only when the block ends without an error.

    Parameters
    ----------
    path : path
        Where the folder shall be; there may be an empty one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with atomic_folder(Path(place, "new")) as folder:
    ...         _ = (folder / "a.txt").write_bytes(b"whole")
    ...     Path(place, "new", "a.txt").read_bytes()
    b'whole'
    """
    target = Path(path).resolve()
    beside = target.with_name(f".{target.name[:64]}.{secrets.token_hex(6)}.tmp")
    beside.mkdir()
    try:
        yield beside
        sync_tree(beside)
        beside.replace(target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    sync_folder(target.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError now that writing ``path`` would raise later, where that can be known.

    Examples
    --------
    >>> check_writable("no/such/folder/a.txt")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: '...no/such/folder'
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if mode is not None and not stat.S_ISREG(mode):
        return
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    probe = folder / f".mgvae.{secrets.token_hex(6)}.tmp"
    try:
        probe.touch(exist_ok=False)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(folder)) from None
    probe.unlink()


def write_stdout(data: bytes | memoryview) -> None:
    """Write all of ``data`` to standard output.

    An unbuffered ``sys.stdout`` (``python -u``) writes as much as a pipe takes at once, and drops
    the rest without a word.
    """
    sys.stdout.flush()
    with open(sys.stdout.fileno(), "wb", closefd=False) as file:
        file.write(data)


_BINARY = getattr(os, "O_BINARY", 0)  # Windows would change line ends without it
_SYNCABLE = os.O_RDWR if os.name == "nt" else os.O_RDONLY


def _mode(path: Path) -> int | None:
    """Give what kind of file is there and its permissions; None when there is none."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def sync_tree(folder: Path) -> None:
    """Bring all files below a folder, and their names, safely to the disk."""
    for below, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(Path(below, name), _SYNCABLE)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(Path(below))


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    with suppress(OSError):  # Windows cannot open a folder, some network disks cannot sync one
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
