"""How INPUT is read: options that several commands have, handed on as one object."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mgvae.cli._options import (
    Delimiter,
    Drop,
    DropMissingTarget,
    Encoding,
    InputFormat,
    Missing,
    NoHeader,
    Types,
)
from mgvae.errors import ParameterError

__all__ = ["AS_FOUND", "Reading", "takes_reading"]

_DELIMITERS = {"tab": "\t", r"\t": "\t"}


@dataclass(frozen=True)
class Reading:
    """What the options say about a table and the file that it is in.

    Each field is an option of every command that :func:`takes_reading` decorates.
    """

    drop: Drop = None
    drop_missing_target: DropMissingTarget = False
    types: Types = None
    missing: Missing = None
    no_header: NoHeader = False
    delimiter: Delimiter = None
    encoding: Encoding = None
    input_format: InputFormat = None

    @property
    def text(self) -> dict[str, Any]:
        """What :func:`mgvae.files.read` is told about a file of text."""
        delimiter = self.delimiter
        if delimiter is not None:
            delimiter = _DELIMITERS.get(delimiter, delimiter)
            if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
                raise ParameterError(
                    f"--delimiter must be one character, or tab; got {delimiter!r}."
                )
        return {
            "encoding": self.encoding,
            "delimiter": delimiter,
            "header": not self.no_header,
            "missing": self.missing or (),
        }


AS_FOUND = Reading()
"""Nothing is said: the file tells."""


def takes_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`Reading`; it gets them as its parameter ``reading``.

    Examples
    --------
    >>> @takes_reading
    ... def show(source: str, reading: Reading, quiet: bool = False) -> None:
    ...     print(source, reading.drop, quiet)
    >>> show(source="a.csv", drop=["b"], quiet=True)
    a.csv ['b'] True
    >>> "reading" in inspect.signature(show).parameters
    False
    """
    own = inspect.signature(command, eval_str=True).parameters
    options = inspect.signature(Reading).parameters

    @functools.wraps(command)
    def spread(**given: Any) -> None:
        asked = {name: given.pop(name) for name in options if name in given}
        command(**given, reading=Reading(**asked))

    parameters: list[inspect.Parameter] = []
    for parameter in own.values():
        parameters += options.values() if parameter.name == "reading" else [parameter]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {one.name: one.annotation for one in parameters}
    return spread
