"""Room on the disk for what is needed on the way."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mgvae.errors import ResourceError

__all__ = ["check_room", "enough_room", "working_folder"]


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
    with tempfile.TemporaryDirectory(prefix="mgvae-", dir=folder) as name:
        yield Path(name)


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
