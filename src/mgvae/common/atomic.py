"""Files that are either whole or not there.

A new file is written beside its final place, brought safely to the disk, and then renamed over the
old one in a single step. Whoever looks at the path, at any moment and after any crash, sees the
old file or the new one, never half of one.

What a killed process was writing stays beside the path until the next one looks there
(:func:`check_writable`). A living process holds a lock on what it writes, so that only what nobody
works on is removed; the system takes the locks of a dead process away.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "SpecialFileError",
    "atomic_folder",
    "atomic_write",
    "check_writable",
    "hold",
    "remove_unfinished",
    "sweep",
    "sync_folder",
    "sync_tree",
    "unfinished",
    "write_stdout",
]


class SpecialFileError(OSError):
    """A pipe, a socket or a device stands where a file should be written."""


unfinished: set[Path] = set()
"""Files and folders that this process is about to finish, or to remove."""


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its place only when the block ends without an error.

    A symbolic link is followed and stays a link; the permissions of a file that is replaced are
    kept. ``/dev/null`` is written to as it is; other devices, pipes and sockets are refused.

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
    mode = _file_mode(target)
    if mode is not None and stat.S_ISCHR(mode):  # /dev/null
        with target.open("wb") as file:
            yield file
        return
    with _named(target), _beside(target) as beside:
        # 0o666 is what open() asks for; the user's umask takes away from it
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            hold(descriptor)
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            beside.chmod(stat.S_IMODE(mode))
        beside.replace(target)
    sync_folder(target.parent)


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder to fill that takes its place only when the block ends without an error.

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
    with _named(target), _beside(target) as beside:
        beside.mkdir()
        with _held_folder(beside):
            yield beside
            sync_tree(beside)
        beside.replace(target)
    sync_folder(target.parent)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Choose a name beside a path; what has it is removed unless the block succeeds."""
    beside = target.with_name(f".{target.name[:64]}.{secrets.token_hex(6)}.tmp")
    unfinished.add(beside)
    try:
        yield beside
    except BaseException:
        _remove(beside)
        raise
    finally:
        unfinished.discard(beside)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let the system's errors name the file: those of a full disk do not."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None and type(error) in _SYSTEM:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


_NEW = 1.0  # seconds: its process may be about to lock it
_SYSTEM = (OSError, PermissionError)  # and no errors of the library, which have words of their own


def hold(descriptor: int) -> bool:
    """Lock an open file or folder for this process, where the system can; tell whether it did."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody else holds it, or the disk knows no locks
        return False
    return True


@contextmanager
def _held_folder(folder: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        hold(descriptor)
        yield
    finally:
        os.close(descriptor)


def remove_unfinished() -> None:
    """Remove what this process was writing, because it ends here and now."""
    for path in list(unfinished):
        _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def sweep(target: Path) -> None:
    """Remove what killed processes were writing for a path, if nobody holds it."""
    pattern = re.compile(re.escape(f".{target.name[:64]}.") + r"[0-9a-f]{12}\.tmp")
    for name in os.listdir(target.parent) if fcntl is not None else ():
        path = target.with_name(name)
        if not pattern.fullmatch(name) or path in unfinished or path.is_symlink():
            continue
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                age = time.time() - os.fstat(descriptor).st_mtime
                if age > _NEW and hold(descriptor):
                    _remove(path)
            finally:
                os.close(descriptor)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError now that writing ``path`` would raise later, where that can be known.

    What killed processes have left beside the path is removed.

    Examples
    --------
    >>> check_writable("no/such/folder/a.txt")
    Traceback (most recent call last):
    ...
    FileNotFoundError: [Errno 2] No such file or directory: '...no/such/folder'
    """
    target = Path(os.path.realpath(path))
    mode = _file_mode(target)
    if mode is not None and stat.S_ISCHR(mode):  # /dev/null
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
    sweep(target)


def write_stdout(data: bytes | memoryview) -> None:
    """Write all of ``data`` to standard output.

    An unbuffered ``sys.stdout`` (``python -u``) writes as much as a pipe takes at once, and drops
    the rest without a word.
    """
    sys.stdout.flush()
    with _named(Path("standard output")), open(sys.stdout.fileno(), "wb", closefd=False) as file:
        file.write(data)


_BINARY = getattr(os, "O_BINARY", 0)  # Windows would change line ends without it
_SYNCABLE = os.O_RDWR if os.name == "nt" else os.O_RDONLY


def _file_mode(path: Path) -> int | None:
    """Return the kind and the permissions of a file; None when there is none.

    A pipe may make its writer wait for ever, and a device is nothing to be replaced.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode) and not os.path.samestat(found, os.stat(os.devnull)):
        raise SpecialFileError(errno.EINVAL, "is a pipe, a socket or a device", str(path))
    return found.st_mode


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
