"""Where a command writes."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mgvae.common.atomic import check_writable, write_stdout
from mgvae.errors import ParameterError

if TYPE_CHECKING:
    from mgvae.files import Format

__all__ = ["cache_folder", "check_output", "find_output_format", "print_json"]


def cache_folder() -> Path:
    """Return the folder of the user's cache for this program; it need not exist."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"], "mgvae")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()), "mgvae", "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mgvae"
    return Path.home() / ".cache" / "mgvae"


def check_output(path: str, *, force: bool, option: str = "--output") -> None:
    """Raise, before any work is done, if a file could not or may not be written."""
    if path == "-":
        return
    try:
        check_writable(path)
    except IsADirectoryError:
        raise ParameterError(f"{option}: {path} is a folder; give the name of a file.") from None
    except OSError as error:
        raise ParameterError(
            f"{option}: {path} cannot be written: {error.filename}: {error.strerror}."
        ) from None
    if Path(path).is_file() and not force:
        raise ParameterError(f"{option}: {path} exists already; add --force to replace it.")


def find_output_format(path: str, said: str | None) -> "Format":
    """Return the format of the output: what --output-format says, or the name of the file."""
    from mgvae.cli._words import called
    from mgvae.files import find_format

    with called(format="output_format"):
        return find_format(path, said)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on one line of standard output."""
    write_stdout(json.dumps(value).encode() + b"\n")
