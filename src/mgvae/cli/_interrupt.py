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

__all__ = ["say", "watch"]

_GRACE = 0.6  # seconds for an orderly end
_once = threading.Lock()


def watch() -> None:
    """Watch over this process from now on."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even if started in the background
    threading.Thread(target=_wait, args=(reader,), daemon=True).start()


def say() -> None:
    """Say that the program was interrupted, once."""
    if _once.acquire(blocking=False):
        cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar may have hidden it
        sys.stderr.write(f"{cursor}mgvae: interrupted, nothing was written\n")
        sys.stderr.flush()


def _wait(reader: int) -> None:
    while os.read(reader, 1) != bytes([signal.SIGINT]):
        pass
    time.sleep(_GRACE)
    say()
    os._exit(130)
