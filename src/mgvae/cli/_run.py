"""From arguments to an exit code; every error becomes one line."""

import errno
import os
import sys
import traceback
from collections.abc import Sequence

from typer.exceptions import TyperException

from mgvae.cli._app import app
from mgvae.cli._words import translate
from mgvae.errors import MGVAEError

__all__ = ["run"]

_FULL = (errno.ENOSPC, errno.EDQUOT)


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str
        What follows the program's name.

    Returns
    -------
    code : int
        0 done, 1 failed while working, 2 bad input or usage, 130 interrupted.

    Examples
    --------
    >>> run(["--version"])
    mgvae ...
    0
    """
    try:
        code = app(
            list(arguments) or ["--help"],
            prog_name="mgvae",
            standalone_mode=False,
            obj=tuple(arguments),  # a command finds them in its context
        )
        return code if isinstance(code, int) else 0
    except TyperException as error:
        return _complain(error, error.format_message(), error.exit_code, arguments)
    except MGVAEError as error:
        code = 2 if isinstance(error, ValueError) else 1
        return _complain(error, translate(error), code, arguments)
    except BrokenPipeError:
        # the reader of standard output has left; Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _complain(error, _system_words(error), 1, arguments)
    except MemoryError as error:
        return _complain(error, "there is not enough memory for this table", 1, arguments)
    except Exception as error:  # noqa: BLE001 (the last resort of a program)
        message = f"{type(error).__name__}: {error} (this should not happen; --debug shows where)"
        return _complain(error, message, 1, arguments)


def _system_words(error: OSError) -> str:
    """Say what the system complains of, and where."""
    if error.strerror is None:
        return str(error)
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    remedy = " Free some room, or write elsewhere." if error.errno in _FULL else ""
    return f"{where}{error.strerror}.{remedy}"


def _complain(error: Exception, message: str, code: int, arguments: Sequence[str]) -> int:
    if "--debug" in arguments:
        traceback.print_exception(error)
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    print(f"mgvae: error: {line}", file=sys.stderr)
    return code
