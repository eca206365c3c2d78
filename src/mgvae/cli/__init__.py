"""The command line.

Nothing heavy is imported before a command needs it: ``mgvae --help`` must answer at once.
"""

import signal
import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line of this process, then end it.

    Exit codes: 0 done, 1 failed while working, 2 bad input or usage, 130 interrupted, 143 ended by
    SIGTERM.
    """
    from mgvae.cli import _interrupt

    _interrupt.watch()
    from mgvae.cli._run import run

    try:
        code = run(sys.argv[1:])
    except _interrupt.TerminatedError:
        _interrupt.end(signal.SIGTERM)
    if code == _interrupt.CODE:
        _interrupt.end()
    sys.exit(code)
