"""Results on disk: one file per cell, named by the cell's key.

A result that exists is done. Files are written whole or not at all, so a run may be killed at any
moment and loses only the cells it was working on. Cells that failed leave a note under ``errors/``
and are tried again only on demand.
"""

import json
import re
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mgvae.bench.cells import Cell
from mgvae.common.atomic import atomic_write, check_writable
from mgvae.errors import DataError, ParameterError

__all__ = ["Store"]

_ERRORS = "errors"


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : path
        Where the results are; made when the first one is written.

    Examples
    --------
    >>> import tempfile
    >>> store, cell = Store(tempfile.mkdtemp()), Cell("musk", "ERM", "paper")
    >>> store.get(cell) is None
    True
    >>> store.put(cell, {"metrics": {"gm": 0.0}})
    >>> store.get(cell)["metrics"]
    {'gm': 0.0}
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()  # workers may run in other folders

    def check_writable(self) -> None:
        """Raise, before any cell is worked out, if no result could be kept."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            check_writable(self.folder / "result.json")
        except OSError as error:
            raise ParameterError(
                f"results cannot be kept in {self.folder}: {error.strerror}. Say another folder."
            ) from error

    def path(self, cell: Cell) -> Path:
        """Give the file of a cell's result."""
        for name in (cell.protocol, cell.dataset):
            if not re.fullmatch(r"\w[\w.-]*", name) or name == _ERRORS:
                raise ParameterError(
                    "protocols and data sets name folders: use letters, digits, '_', '.' and '-', "
                    f"and not {_ERRORS!r}; got {name!r}."
                )
        return self.folder / cell.protocol / cell.dataset / f"{cell.key}.json"

    def has(self, cell: Cell) -> bool:
        """Tell whether the cell is done."""
        return self.path(cell).exists()

    def get(self, cell: Cell) -> dict[str, Any] | None:
        """Give the cell's result, or None."""
        path = self.path(cell)
        return _read(path) if path.exists() else None

    def put(self, cell: Cell, result: Mapping[str, Any]) -> None:
        """Keep a result, and forget that the cell ever failed."""
        _write(self.path(cell), {"cell": cell.as_dict(), **result})
        self._error_path(cell).unlink(missing_ok=True)

    def error(self, cell: Cell) -> dict[str, Any] | None:
        """Tell how the cell failed, or None if it did not."""
        path = self._error_path(cell)
        return _read(path) if path.exists() else None

    def put_error(self, cell: Cell, error: BaseException) -> None:
        """Note that the cell failed: what was raised, and where (modules, not this machine)."""
        frames = [
            f"{frame.f_globals.get('__name__')}:{line} in {frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        note = {"error": type(error).__name__, "message": str(error), "where": frames}
        _write(self._error_path(cell), {"cell": cell.as_dict(), **note})

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Give all results, whatever asked for them."""
        for path in sorted(self.folder.glob("*/*/*.json")):  # errors lie one folder higher
            yield _read(path)

    def _error_path(self, cell: Cell) -> Path:
        return self.folder / _ERRORS / f"{cell.key}.json"


def _read(path: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(
            f"{path} does not hold a result ({error}). Remove it, and the cell runs again."
        ) from error
    return result


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")
