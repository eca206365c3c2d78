"""Where a command writes, checked before any work is done."""

from pathlib import Path

from mgvae._atomic import check_writable
from mgvae.errors import ParameterError

__all__ = ["check_output"]


def check_output(path: str, *, force: bool) -> None:
    """Raise if a file could not be written, or is there already and may not be replaced."""
    if path == "-":
        return
    try:
        check_writable(path)
    except IsADirectoryError:
        raise ParameterError(f"--output: {path} is a folder; give the name of a file.") from None
    except OSError as error:
        raise ParameterError(
            f"--output: {path} cannot be written: {error.filename}: {error.strerror}."
        ) from None
    if Path(path).is_file() and not force:
        raise ParameterError(f"--output: {path} exists already; add --force to replace it.")
