"""Results on disk: sorted files of JSON lines, one line for each cell.

A result that exists is done. A result is added under a lock, by writing its file anew beside the
old one and renaming it into its place; so several processes may add results at once, and whoever
is killed, at any moment, loses only the result that it was about to add. Nobody who reads waits,
and nobody sees half a file. The lines of a file are sorted by data set, method, budget and seed,
whatever the order in which they came, so that two stores with the same results have the same files.

Cells that failed leave a note in ``errors.jsonl`` and are tried again only on demand.
"""

import json
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mgvae.common.atomic import atomic_write, check_writable
from mgvae.common.locks import alone
from mgvae.errors import DataError, ParameterError
from mgvae.experiments.cells import Cell

__all__ = ["Store", "by_dataset"]

_ERRORS = "errors"
_LOCK = ".lock"


def by_dataset(cell: Cell) -> str:
    """Return the name of the data set: each has a file of its own.

    Examples
    --------
    >>> by_dataset(Cell("musk", "ERM", "paper"))
    'musk'
    """
    return cell.dataset


class Store:
    """A folder of results.

    .. versionadded:: 0.1

    Parameters
    ----------
    folder : path
        Where the results are; made when the first one is written.
    group : callable
        Takes a cell and returns the name of the file, below a folder for each protocol, that has
        its line. It goes to other processes with the store.

    See Also
    --------
    mgvae.experiments.run_cells : What fills a store.

    Examples
    --------
    >>> import tempfile
    >>> store, cell = Store(tempfile.mkdtemp()), Cell("musk", "ERM", "paper")
    >>> store.get(cell) is None
    True
    >>> store.put(cell, {"metrics": {"gm": 0.0}})
    >>> store.get(cell)["metrics"]
    {'gm': 0.0}
    >>> store.path(cell).relative_to(store.folder).as_posix()
    'paper/musk.jsonl'
    """

    def __init__(self, folder: str | Path, group: Callable[[Cell], str] = by_dataset) -> None:
        self.folder = Path(folder).absolute()  # workers may run in other folders
        self.group = group
        self._read: dict[Path, _Contents] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what has been read: it would be sent with every cell."""
        return {**vars(self), "_read": {}}

    def check_writable(self) -> None:
        """Raise, before any cell is worked out, if no result could be kept."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            check_writable(self.folder / "result.jsonl")
        except OSError as error:
            raise ParameterError(
                f"results cannot be kept in {self.folder}: {error.strerror}. Say another folder."
            ) from error

    def path(self, cell: Cell) -> Path:
        """Return the file that a cell's result belongs in."""
        name = self.group(cell)
        for part in (cell.protocol, name):
            if not re.fullmatch(r"\w[\w.-]*", part):
                raise ParameterError(
                    "protocols and data sets name folders and files: use letters, digits, '_', '.' "
                    f"and '-'; got {part!r}."
                )
        return self.folder / cell.protocol / f"{name}.jsonl"

    def has(self, cell: Cell) -> bool:
        """Return whether the cell is done."""
        return cell.key in self._lines(self.path(cell))

    def get(self, cell: Cell) -> dict[str, Any] | None:
        """Return the cell's result, or None."""
        return _parsed(self._lines(self.path(cell)).get(cell.key))

    def put(self, cell: Cell, result: Mapping[str, Any]) -> None:
        """Keep a result, and forget that the cell ever failed."""
        self.add([{"cell": cell.as_dict(), **result}])

    def add(self, results: Iterable[Mapping[str, Any]]) -> None:
        """Keep many results, each with its cell, as :meth:`get` returns them."""
        files: dict[Path, dict[str, _Line | None]] = {}
        for result in results:
            cell = Cell(**result["cell"])
            files.setdefault(self.path(cell), {})[cell.key] = _line(cell, result)
        for path, lines in files.items():
            self._change(path, lines)
        failed = self._lines(self._errors)
        over = dict.fromkeys(key for lines in files.values() for key in lines if key in failed)
        if over:
            self._change(self._errors, over)

    def error(self, cell: Cell) -> dict[str, Any] | None:
        """Return how the cell failed, or None if it did not."""
        return _parsed(self._lines(self._errors).get(cell.key))

    def put_error(self, cell: Cell, error: BaseException) -> None:
        """Note that the cell failed: what was raised, and where (modules, not this machine)."""
        frames = [
            f"{frame.f_globals.get('__name__')}:{line} in {frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        note = {"error": type(error).__name__, "message": str(error), "where": frames}
        content = {"cell": cell.as_dict(), **note}
        self._change(self._errors, {cell.key: _line(cell, content)})

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over all results, whatever asked for them."""
        for path in sorted(self.folder.glob("*/*.jsonl")):
            for line in self._lines(path).values():
                yield json.loads(line.text)

    @property
    def _errors(self) -> Path:
        return self.folder / f"{_ERRORS}.jsonl"

    def _lines(self, path: Path) -> "Mapping[str, _Line]":
        """Return the lines of a file by key; the file is read only if it has changed."""
        try:
            found = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        version = found.st_ino, found.st_mtime_ns, found.st_size
        known = self._read.get(path)
        if known is None or known.version != version:
            known = self._read[path] = _Contents(version, _read(path))
        return known.lines

    def _change(self, path: Path, changes: "Mapping[str, _Line | None]") -> None:
        """Add or replace lines of a file, and remove those that are None."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with alone(self.folder / _LOCK):
            for left in path.parent.glob(f".{path.name}.*.tmp"):
                left.unlink()  # of somebody who was killed: nobody else writes now
            lines = {**self._lines(path), **changes}
            kept = sorted(line for line in lines.values() if line is not None)
            with atomic_write(path) as file:
                file.writelines(line.text + b"\n" for line in kept)


class _Line(NamedTuple):
    """A line of a file, and its place among the others."""

    place: tuple[str, str, str, int, str]
    text: bytes


class _Contents(NamedTuple):
    """The lines of a file by key, as of one version of it."""

    version: tuple[int, int, int]
    lines: Mapping[str, _Line]


def _line(cell: Cell, content: Mapping[str, Any]) -> _Line:
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    return _Line((cell.dataset, cell.method, cell.budget, cell.seed, cell.key), text)


def _parsed(line: _Line | None) -> dict[str, Any] | None:
    return None if line is None else json.loads(line.text)


def _read(path: Path) -> dict[str, _Line]:
    lines = {}
    for number, text in enumerate(path.read_bytes().splitlines(), 1):
        try:
            cell = Cell(**json.loads(text)["cell"])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"line {number} of {path} does not hold a result ({error}). Remove the line, and "
                "the cell runs again."
            ) from error
        place = (cell.dataset, cell.method, cell.budget, cell.seed, cell.key)
        lines[cell.key] = _Line(place, text)
    return lines
