"""Memory that training uses over and over stays with the process meanwhile.

A step of a convolutional network takes and frees many blocks of some megabytes. The C library of
Linux gives blocks of that size back to the system at once, and the next step gets them page by
page, each filled with zeros: a quarter of its time. Inside of :func:`kept_memory` freed blocks are
kept for the next step; after it they go back, and the C library is as eager as it ever becomes by
itself. Nothing is changed on other systems, nor what is computed.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["kept_memory"]

# Names and numbers of malloc.h
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_NEVER = -1
_LARGEST = 32 * 2**20  # up to which glibc raises its threshold for blocks of their own
_BLOCKS = 65_536  # such blocks at most: glibc's own limit


class _Users:
    count = 0
    lock = threading.Lock()


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory with the process inside the block, and give it back after it.

    Blocks may lie in each other and in several threads; the last to end gives the memory back.

    Examples
    --------
    >>> with kept_memory():
    ...     total = sum(len(bytes(2**22)) for _ in range(3))
    >>> total == 3 * 2**22
    True
    """
    library = _glibc()
    if library is None:
        yield
        return
    with _Users.lock:
        _Users.count += 1
        if _Users.count == 1:
            library.mallopt(_MMAP_MAX, 0)
            library.mallopt(_TRIM_THRESHOLD, _NEVER)
    try:
        yield
    finally:
        with _Users.lock:
            _Users.count -= 1
            if not _Users.count:
                library.mallopt(_MMAP_MAX, _BLOCKS)
                library.mallopt(_MMAP_THRESHOLD, _LARGEST)
                library.mallopt(_TRIM_THRESHOLD, 2 * _LARGEST)
                library.malloc_trim(0)


@cache
def _glibc() -> Any:
    """Return the C library of this process if it is glibc, else None."""
    try:
        library = ctypes.CDLL(None)
        functions = library.gnu_get_libc_version, library.mallopt, library.malloc_trim
    except (AttributeError, OSError, TypeError):  # not on Linux, or another C library
        return None
    functions[2].argtypes = [ctypes.c_size_t]
    return library
