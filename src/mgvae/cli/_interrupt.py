"""Ctrl-C ends the program within a second, whatever it is doing.

Python turns the signal into ``KeyboardInterrupt`` between two of its own instructions, which a
long computation in a library, or the import of one, can put off for seconds. A thread waits beside
it and ends the process when the interrupt has not done so in time.
"""

import os
import signal
import sys
import threading
import time
from typing import NoReturn

__all__ = ["CODE", "allow", "end", "watch"]

CODE = 130
"""The exit code of an interrupted program."""

_grace = 0.5  # seconds for an orderly end
_ended = threading.Lock()
_name = "mgvae"


def watch(name: str = "mgvae") -> None:
    """Watch over this process, a program of this name, from now on."""
    global _name
    _name = name
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even if started in the background
    threading.Thread(target=_wait, args=(reader,), daemon=True).start()


def allow(seconds: float) -> None:
    """Let an orderly end take longer, because something must be saved first."""
    global _grace
    _grace = seconds


def end() -> NoReturn:
    """Say that the program was interrupted and end it, without the libraries' long goodbyes."""
    _ended.acquire()  # never given back: whoever comes second waits for the end
    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar may have hidden it
    os.write(sys.stderr.fileno(), f"{cursor}{_name}: interrupted\n".encode())
    os._exit(CODE)


def _wait(reader: int) -> None:
    while os.read(reader, 1) != bytes([signal.SIGINT]):
        pass
    time.sleep(_grace)
    end()
