"""Room on the disk for what is needed on the way.

A working folder is gone after its block, also when the process is interrupted or asked to end. What
a killed process has left is removed by the next one: each folder has a file that its process keeps
locked, and a folder whose lock nobody holds belongs to nobody.
"""

import errno
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mgvae.common import atomic
from mgvae.errors import ResourceError

__all__ = ["check_room", "enough_room", "working_folder"]

_NAME = re.compile(r"mgvae-[a-z0-9_]{8}")
_LOCK = ".mgvae-lock"


@contextmanager
def working_folder(folder: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Make a folder, by default where TMPDIR says; it is gone after the block, come what may.

    Examples
    --------
    >>> with working_folder() as path:
    ...     path.is_dir()
    True
    >>> path.exists()
    False
    """
    base = Path(tempfile.gettempdir() if folder is None else folder)
    _sweep(base)
    path, lock = _locked_folder(base)
    try:
        yield path
    finally:
        os.close(lock)
        shutil.rmtree(path, ignore_errors=True)
        atomic.unfinished.discard(path)


def _locked_folder(base: Path) -> tuple[Path, int]:
    """Make a folder, and a lock in it that says whose it is once it is held."""
    path = Path(tempfile.mkdtemp(prefix="mgvae-", dir=base))
    atomic.unfinished.add(path)
    lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if atomic.hold(lock) or os.name == "nt":
        os.write(lock, _host())
    return path, lock


def _sweep(base: Path) -> None:
    """Remove the folders of this user's dead processes on this machine."""
    with suppress(OSError):
        for name in os.listdir(base):
            path = base / name
            if _NAME.fullmatch(name) and path not in atomic.unfinished and not path.is_symlink():
                with suppress(OSError):
                    _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    lock = path / _LOCK
    if hasattr(os, "geteuid") and path.stat().st_uid != os.geteuid():
        return
    if os.name == "nt":
        lock.unlink()  # Windows refuses while somebody has it open
        shutil.rmtree(path, ignore_errors=True)
        return
    descriptor = os.open(lock, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        if os.read(descriptor, 1000) == _host() and atomic.hold(descriptor):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(descriptor)


def _host() -> bytes:
    """Return the name of this machine, whose locks another one may not see."""
    return platform.node().encode()[:1000]


@contextmanager
def enough_room(folder: Path, needed: int = 0) -> Iterator[None]:
    """Raise one clear error when the disk of a working folder is full, at once if that is known.

    Parameters
    ----------
    folder : Path
        Where the block writes.
    needed : int
        How many bytes, if that is known.
    """
    remedy = (
        "Free some, or choose another disk by the environment variable TMPDIR (in Python also by "
        "folder)."
    )
    check_room(folder, needed, remedy)
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ResourceError(f"{folder.parent}: the disk is full. {remedy}") from error


def check_room(folder: Path, needed: int, remedy: str) -> None:
    """Raise if a disk has not as many bytes free as are needed."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ResourceError(
            f"{folder}: there is not enough room on the disk: {needed / 2**30:.2f} GiB are needed, "
            f"{free / 2**30:.2f} GiB are free. {remedy}"
        )
