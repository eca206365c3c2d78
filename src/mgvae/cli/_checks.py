"""What commands check before any work is done."""

from pathlib import Path

from mgvae.common.atomic import SpecialFileError, check_writable
from mgvae.errors import ParameterError

__all__ = ["check_jobs", "check_one_stdout", "check_output", "check_page"]


def check_jobs(jobs: int | None) -> None:
    """Raise if --jobs is no number of processes."""
    if jobs == 0:
        raise ParameterError("--jobs must be a number of processes, or -1 for all cores; got 0.")


def check_one_stdout(*, json: bool, **paths: str | None) -> None:
    """Raise if more than one thing would go to standard output: rows, a page, JSON."""
    there = [f"--{option} -" for option, path in paths.items() if path == "-"]
    said = [*(["--json"] if json else []), *there]
    if len(said) > 1:
        raise ParameterError(f"{said[0]} and {said[1]} would both write to standard output.")


def check_output(path: str, *, force: bool, option: str = "--output", stdout: bool = True) -> None:
    """Raise if a file could not or may not be written; ``-`` is none if it is standard output."""
    if path == "-" and stdout:
        return
    if path == "-":
        raise ParameterError(f"{option}: - is standard output; give the name of a file.")
    try:
        check_writable(path)
    except IsADirectoryError:
        raise ParameterError(f"{option}: {path} is a folder; give the name of a file.") from None
    except SpecialFileError as error:
        remedy = "give the name of a file" + (", or - for standard output" if stdout else "")
        raise ParameterError(f"{option}: {path} {error.strerror}; {remedy}.") from None
    except OSError as error:
        raise ParameterError(
            f"{option}: {path} cannot be written: {error.filename}: {error.strerror}."
        ) from None
    if Path(path).is_file() and not force:
        raise ParameterError(f"{option}: {path} exists already; add --force to replace it.")


def check_page(path: str, *, force: bool, option: str) -> None:
    """Raise if a page could not or may not be written, or a package that makes it is not there."""
    from mgvae.report.page import check_packages

    check_output(path, force=force, option=option)
    check_packages()
