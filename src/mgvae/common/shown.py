"""Values as they stand in messages.

Python refuses to write whole numbers of more than 4,300 digits, so that a message which names such
a number would fail itself.
"""

import math
from collections.abc import Iterable
from typing import Any

__all__ = ["is_long", "refuse_long", "shown"]

_TOO_LONG = 2**64


def is_long(value: Any) -> bool:
    """Return whether a value is a whole number that does not fit into 64 bits.

    Examples
    --------
    >>> is_long(2**63), is_long(-(10**5000)), is_long("text")
    (False, True, False)
    """
    return isinstance(value, int) and not -_TOO_LONG < value < _TOO_LONG


def shown(value: Any, most: int = 60) -> str:
    """Return a value as people read it in a message: one line, cut to a length.

    Examples
    --------
    >>> shown("yes"), shown(10**5000)
    ("'yes'", 'a whole number of about 5,001 digits')
    >>> shown({10**5000: 1})
    'a dict with a whole number of too many digits'
    """
    try:
        text = " ".join(repr(value).splitlines())
    except ValueError:
        if isinstance(value, int):
            digits = math.ceil(value.bit_length() * math.log10(2))
            return f"a whole number of about {digits:,} digits"
        return f"a {type(value).__name__} with a whole number of too many digits"
    return text if len(text) <= most else text[: most - 1] + "…"


def refuse_long(values: Iterable[Any], error: type[Exception], what: str, remedy: str) -> None:
    """Raise if there are whole numbers that do not fit into 64 bits.

    Examples
    --------
    >>> from mgvae.errors import DataError
    >>> refuse_long([1, 10**5000], DataError, "y holds", "Write the classes as text.")
    Traceback (most recent call last):
    mgvae.errors.DataError: y holds a whole number of about 5,001 digits, which does not fit into
    64 bits. Write the classes as text.
    """
    for value in values:
        if is_long(value):
            raise error(f"{what} {shown(value)}, which does not fit into 64 bits. {remedy}")
