"""From arguments to an exit code; every error becomes one line."""

import errno
import os
import sys
import traceback
from collections.abc import Sequence

import typer
from typer.exceptions import TyperException

from mgvae.cli._words import translate
from mgvae.errors import MGVAEError

__all__ = ["run_app"]

_FULL = (errno.ENOSPC, errno.EDQUOT)


def run_app(app: typer.Typer, name: str, arguments: Sequence[str]) -> int:
    """Run one command of a program; every error becomes one line.

    Parameters
    ----------
    app : typer.Typer
        The commands.
    name : str
        The program's name.
    arguments : sequence of str
        What follows the program's name.

    Returns
    -------
    code : int
        0 done, 1 failed while working, 2 bad input or usage, 130 interrupted.
    """

    def complain(error: Exception, message: str, code: int) -> int:
        if "--debug" in arguments:
            traceback.print_exception(error)
        line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
        print(f"{name}: error: {line}", file=sys.stderr)
        return code

    try:
        code = app(
            list(arguments) or ["--help"],
            prog_name=name,
            standalone_mode=False,
            obj=tuple(arguments),  # a command finds them in its context
        )
        return code if isinstance(code, int) else 0
    except TyperException as error:
        return complain(error, error.format_message(), error.exit_code)
    except MGVAEError as error:
        return complain(error, translate(error), 2 if isinstance(error, ValueError) else 1)
    except BrokenPipeError:
        # the reader of standard output has left; Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return complain(error, _system_words(error), 1)
    except MemoryError as error:
        return complain(error, "there is not enough memory for this table", 1)
    except Exception as error:  # noqa: BLE001 (the last resort of a program)
        message = f"{type(error).__name__}: {error} (this should not happen; --debug shows where)"
        return complain(error, message, 1)


def _system_words(error: OSError) -> str:
    """Say what the system complains of, and where."""
    if error.strerror is None:
        return str(error)
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    remedy = " Free some room, or write elsewhere." if error.errno in _FULL else ""
    return f"{where}{error.strerror}.{remedy}"
