"""Ctrl-C and SIGTERM end the program within a second, whatever it is doing.

Python turns a signal into an exception between two of its own instructions, which a long
computation in a library, or the import of one, can put off for seconds. A thread waits beside it
and ends the process when the exception has not done so in time. Either way nothing half-written
stays on the disk.
"""

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import NoReturn

__all__ = ["CODE", "TerminatedError", "allow", "end", "watch"]

CODE = 130
"""The exit code of an interrupted program."""

_grace = 0.5  # seconds for an orderly end
_ended = threading.Lock()
_name = "mgvae"


class TerminatedError(BaseException):
    """The system, or somebody, asks the program to end."""


def watch(name: str = "mgvae") -> None:
    """Watch over this process, a program of this name, from now on."""
    global _name
    _name = name
    reader, writer = os.pipe()
    if hasattr(os, "set_blocking"):  # Windows has not
        os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even if started in the background
    signal.signal(signal.SIGTERM, _terminate)
    threading.Thread(target=_wait, args=(reader,), daemon=True).start()


def allow(seconds: float) -> None:
    """Let an orderly end take longer, because something must be saved first."""
    global _grace
    _grace = seconds


def end(number: int = signal.SIGINT) -> NoReturn:
    """Say that the program was interrupted and end it, without the libraries' long goodbyes."""
    _ended.acquire()  # never given back: whoever comes second waits for the end
    writing = sys.modules.get("mgvae.common.atomic")
    if writing is not None:
        writing.remove_unfinished()
    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar may have hidden it
    word = "interrupted" if number == signal.SIGINT else "ended by SIGTERM"
    os.write(sys.stderr.fileno(), f"{cursor}{_name}: {word}\n".encode())
    os._exit(CODE if number == signal.SIGINT else 128 + number)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    raise TerminatedError


def _wait(reader: int) -> None:
    signals = {bytes([number]): number for number in (signal.SIGINT, signal.SIGTERM)}
    while (number := signals.get(os.read(reader, 1))) is None:
        pass
    time.sleep(_grace)
    end(number)
