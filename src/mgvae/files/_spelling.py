"""How the cells of a column are written as text, and this as plain data."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from mgvae.errors import DataError

__all__ = ["FLAGS", "Spelling"]

FLAGS = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))
"""How false and true may be written."""

_MOST_DECIMALS = 15  # more are noise in a double
_LONGEST = 10_000  # characters of a cell
_DATE = r"(%[YmdHMS]|[ TZ./:+0-]){1,40}"
_BEFORE = r"([$€£¥₹]\s?)?"
_AFTER = r"(\s?[%‰$€£¥₹])?"

_CHECKS: dict[str, Callable[[Any], object]] = {
    "prefix": lambda value: _is_text(value) and not value.strip(),
    "missing": lambda value: _is_text(value),
    "decimals": lambda value: type(value) is int and 0 <= value <= _MOST_DECIMALS,
    "point": lambda value: type(value) is bool,
    "mark": lambda value: value in (".", ","),
    "flags": lambda value: value in FLAGS,
    "date": lambda value: _is_text(value) and re.fullmatch(_DATE, value),
    "unit": lambda value: (
        isinstance(value, tuple)
        and list(map(type, value)) == [str, str]
        and re.fullmatch(_BEFORE, value[0])
        and re.fullmatch(_AFTER, value[1])
    ),
    "grouped": lambda value: type(value) is bool,
}


def _is_text(value: Any) -> bool:
    return type(value) is str and len(value) <= _LONGEST


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the values of one column are written as text.

    Parameters
    ----------
    prefix : str
        White space before every cell, as in ``39, State-gov``.
    missing : str or None
        A missing cell; None when the column had no such cell, or several kinds of them.
    decimals : int or None
        Digits after the decimal mark, when all cells have equally many.
    point : bool
        Whether whole numbers are written ``5.0`` rather than ``5``.
    mark : str
        The decimal mark, a point or a comma.
    flags : (str, str) or None
        False and true.
    date : str or None
        Format of dates and times, as for ``strftime``.
    unit : (str, str)
        What stands before and after every number, as in ``$759`` or ``74%``.
    grouped : bool
        Whether a comma stands before every three digits, as in ``$1,759``.
    """

    prefix: str = ""
    missing: str | None = None
    decimals: int | None = None
    point: bool = False
    mark: str = "."
    flags: tuple[str, str] | None = None
    date: str | None = None
    unit: tuple[str, str] = ("", "")
    grouped: bool = False

    def to_plain(self) -> dict[str, Any]:
        """Return what is not as usual, as JSON can hold it.

        Examples
        --------
        >>> Spelling(unit=("", "%")).to_plain()
        {'unit': ['', '%']}
        """
        usual = Spelling()
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found.items()
            if value != getattr(usual, name)
        }

    @classmethod
    def from_plain(cls, given: Mapping[str, Any]) -> Self:
        """Undo :meth:`to_plain`, for data that may come from anywhere.

        Examples
        --------
        >>> Spelling.from_plain({"unit": ["", "%"]}) == Spelling(unit=("", "%"))
        True
        """
        found: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
        }
        for name, value in found.items():
            if name not in _CHECKS or not _CHECKS[name](value):
                raise DataError(f"cells cannot be written with {name!r:.40} = {value!r:.60}.")
        return cls(**found)
