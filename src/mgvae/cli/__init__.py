"""The command line.

Nothing heavy is imported before a command needs it: ``mgvae --help`` must answer at once.
"""

import signal
import sys
from importlib import import_module
from typing import NoReturn

__all__ = ["main", "run_program"]


def main() -> NoReturn:
    """Run the command line of this process, then end it."""
    run_program("mgvae", "mgvae.cli._app:app")


def run_program(name: str, app: str) -> NoReturn:
    """Run a command line as this process, then end it.

    Exit codes: 0 done, 1 failed while working, 2 bad input or usage, 130 interrupted, 143 ended by
    SIGTERM.

    Parameters
    ----------
    name : str
        The program's name.
    app : str
        Its typer application as ``package.module:name``, imported when Ctrl-C is watched for.
    """
    from mgvae.cli import _interrupt

    _interrupt.watch(name)
    from mgvae.cli.program import run_app

    module, _, attribute = app.partition(":")
    try:
        code = run_app(getattr(import_module(module), attribute), name, sys.argv[1:])
    except _interrupt.TerminatedError:
        _interrupt.end(signal.SIGTERM)
    if code == _interrupt.CODE:
        _interrupt.end()
    sys.exit(code)
