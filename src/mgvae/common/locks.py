"""A lock between processes that the system frees when its holder ends, however it ends."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["alone"]


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of a file, then hold it for the block.

    Parameters
    ----------
    path : path
        The file that stands for the lock. It is made if it is not there, and stays: whoever
        removed it would let two processes in, one by the old file and one by a new one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with alone(Path(folder, ".lock")):
    ...         print("nobody else is here")
    nobody else is here
    """
    with path.open("ab") as file:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                    break
                except OSError:  # still held after the ten seconds that it waits
                    continue
            try:
                yield
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
            yield
