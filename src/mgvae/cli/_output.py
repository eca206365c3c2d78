"""Where a command writes."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mgvae.common.atomic import write_stdout

if TYPE_CHECKING:
    from rich.console import Console

    from mgvae.files import Format

__all__ = ["cache_folder", "find_output_format", "print_json", "say"]


def cache_folder() -> Path:
    """Return the folder of the user's cache for this program; it need not exist."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"], "mgvae")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home()), "mgvae", "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mgvae"
    return Path.home() / ".cache" / "mgvae"


def find_output_format(path: str, said: str | None) -> "Format":
    """Return the format of the output: what --output-format says, or the name of the file."""
    from mgvae.cli._words import called
    from mgvae.files import find_format

    with called(format="output_format"):
        return find_format(path, said)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on one line of standard output."""
    write_stdout(json.dumps(value).encode() + b"\n")


def say(console: "Console", text: str) -> None:
    """Print a sentence, broken between words where it goes to a terminal."""
    from mgvae.cli._summary import printable
    from mgvae.cli._warnings import wrapped

    console.print(wrapped(printable(text), terminal=console.is_terminal), soft_wrap=True)
