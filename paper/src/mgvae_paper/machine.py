"""What a result should say about where it was made."""

import json
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["as_json", "peak_memory", "plain_settings", "provenance"]

_PACKAGES = ("mgvae", "torch", "numpy", "scikit-learn", "imbalanced-learn")


@contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """Watch the largest resident memory of this process from here on, in MB.

    Where the system cannot forget the earlier peak (other than Linux), it is that of the process.

    Examples
    --------
    >>> with peak_memory() as memory:
    ...     pass
    >>> memory() > 0
    True
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    yield _peak


def _peak() -> int:
    with suppress(OSError, AttributeError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) // 1024  # type: ignore[index]
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // 2**20


def plain_settings(estimator: Any) -> dict[str, Any]:
    """Return an estimator's parameters as JSON can hold them.

    Examples
    --------
    >>> from imblearn.over_sampling import RandomOverSampler
    >>> plain_settings(RandomOverSampler(random_state=1))["random_state"]
    1
    """
    return as_json(estimator.get_params(deep=False))


def as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as JSON can hold them, what it cannot as text.

    Examples
    --------
    >>> as_json({"sizes": (8, 8)})
    {'sizes': [8, 8]}
    """
    settings: dict[str, Any] = json.loads(json.dumps(dict(values), default=str))
    return settings


@cache
def provenance() -> dict[str, Any]:
    """Return the versions of everything that decides a number, and the commit of the source.

    Examples
    --------
    >>> sorted(provenance())
    ['commit', 'machine', 'versions']
    """
    versions = {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}
    return {"versions": versions, "machine": platform.machine(), "commit": _commit()}


def _commit() -> str | None:
    """Return the commit of this source, marked if it or the library differs; None if none."""
    here = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        return subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            cwd=here, check=True, capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip

    try:
        if not git("ls-files", Path(__file__).name):
            return None
        sources = [":/src", ":/paper/src"]
        changed = git("status", "--porcelain", "--untracked-files=no", "--", *sources)
        return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None
