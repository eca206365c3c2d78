"""Warnings of the library on the command line."""

import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from mgvae.cli._words import translate
from mgvae.errors import MGVAEWarning

__all__ = ["one_line_warnings", "wrapped"]


@contextmanager
def one_line_warnings(quiet: bool) -> Iterator[None]:
    """Show each warning of the library once, as one line, and no others."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        words = translate(message) if isinstance(message, Warning) else message
        text = " ".join(words.split())
        if issubclass(category, MGVAEWarning) and text not in shown and not quiet:
            shown.add(text)
            typer.echo(wrapped(f"mgvae: warning: {text}", terminal=sys.stderr.isatty()), err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", MGVAEWarning)
        warnings.showwarning = show
        yield


def wrapped(text: str, *, terminal: bool, width: int | None = None) -> str:
    r"""Return a line broken between words, if it goes to a terminal.

    Examples
    --------
    >>> wrapped("one two three", terminal=True, width=8)
    'one two\nthree'
    >>> wrapped("one two three", terminal=False, width=8)
    'one two three'
    """
    if not terminal:
        return text
    width = shutil.get_terminal_size().columns if width is None else width
    return textwrap.fill(text, max(8, width), break_long_words=False, break_on_hyphens=False)
