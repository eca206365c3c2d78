r"""Relations that users declare, as text.

================================  ================================================================
``a <= b``, ``a < b``             a fixed order; ``>=`` and ``>`` are read from the right
``total = x + 2 * y - 1``         a number that is computed from others
``a -> b``, ``a, b -> c``         columns that determine another
``(month, rate)``                 only combinations that were seen
================================  ================================================================

A name with spaces or signs stands in backquotes. Nothing of the text is run.
"""

import difflib
import re
from collections.abc import Hashable, Sequence
from typing import NoReturn

from mgvae.codec.relations._linear import Linear
from mgvae.codec.relations._order import Order
from mgvae.codec.relations._suspects import Edge
from mgvae.errors import ParameterError, Setting

__all__ = ["Declared", "read_constraint"]

Declared = Order | Linear | Edge

_MOST_TEXT = 10_000
_TOKEN = re.compile(r"\s*(?:(`[^`]*`)|(->|<=|>=|<|>|=|\+|-|\*|,|\(|\))|([^\s`<>=+*,()-]+))")
_PREFIX = re.compile(r"\s*few joint levels\s*:", re.IGNORECASE)


def read_constraint(text: str, names: Sequence[Hashable]) -> Declared:
    """Read what a user declares about columns.

    Examples
    --------
    >>> names = ["low", "high", "the sum"]
    >>> read_constraint("low <= high", names)
    Order(lower=0, upper=1, strict=False, declared=True)
    >>> read_constraint("`the sum` = low + 2 * high", names).terms
    ((0, 1.0), (1, 2.0))
    >>> read_constraint("low, high -> `the sum`", names)
    Edge(sources=(0, 1), target=2, determined=True)
    """
    tokens = _split(text)
    places = {str(name): j for j, name in enumerate(names)}
    operators = [token for token in tokens if token in ("->", "<=", ">=", "<", ">", "=")]
    if not operators and tokens[:1] == ["("] and tokens[-1:] == [")"]:
        columns = _list(text, tokens[1:-1], places)
        if len(columns) > 1:
            return Edge(tuple(columns[:-1]), columns[-1], determined=False)
    if len(operators) != 1:
        _refuse(text)
    at = tokens.index(operators[0])
    left, right = tokens[:at], tokens[at + 1 :]
    if operators[0] == "->":
        sources, targets = _list(text, left, places), _list(text, right, places)
        if len(targets) != 1 or targets[0] in sources:
            _refuse(text)
        return Edge(tuple(sources), targets[0], determined=True)
    if operators[0] == "=":
        return _sum(text, left, right, places)
    (lower,), (upper,) = (_list(text, side, places, 1) for side in (left, right))
    if operators[0].startswith(">"):
        lower, upper = upper, lower
    if lower == upper:
        _refuse(text)
    return Order(lower, upper, strict="=" not in operators[0], declared=True)


def _split(text: str) -> list[str]:
    """Cut a text into names, numbers and signs."""
    if len(text) > _MOST_TEXT:
        _refuse(text)
    rest = _PREFIX.sub("", text).strip()
    tokens, at = [], 0
    while at < len(rest):
        match = _TOKEN.match(rest, at)
        if match is None:
            _refuse(text)
        tokens.append(match[0].strip())
        at = match.end()
    return tokens


def _column(text: str, token: str, places: dict[str, int]) -> int:
    name = token[1:-1] if token.startswith("`") else token
    if name in places:
        return places[name]
    close = difflib.get_close_matches(name, places, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ParameterError(
        Setting("constraints"),
        f": {text!r:.80} names the column {name!r}, which the table does not have.{hint}",
    )


def _list(
    text: str, tokens: Sequence[str], places: dict[str, int], n: int | None = None
) -> list[int]:
    """Read names between commas, perhaps a given number of them."""
    names = [_column(text, token, places) for token in tokens[::2]]
    if set(tokens[1::2]) - {","} or len(tokens) % 2 == 0:
        _refuse(text)
    if len(set(names)) < len(names) or (n is not None and len(names) != n):
        _refuse(text)
    return names


def _sum(text: str, left: Sequence[str], right: Sequence[str], places: dict[str, int]) -> Linear:
    (target,) = _list(text, left, places, 1)
    terms: dict[int, float] = {}
    constant, sign, at = 0.0, 1.0, 0
    rest = list(right)
    if rest[:1] == ["-"]:
        sign, rest = -1.0, rest[1:]
    while at < len(rest):
        number = _number(rest[at])
        if number is not None and rest[at + 1 : at + 2] == ["*"] and at + 2 < len(rest):
            column, factor, at = _column(text, rest[at + 2], places), sign * number, at + 3
        elif number is not None and rest[at] not in places:
            constant, column, factor, at = constant + sign * number, -1, 0.0, at + 1
        else:
            column, factor, at = _column(text, rest[at], places), sign, at + 1
        if column == target or column in terms or (column >= 0 and not factor):
            _refuse(text)
        if column >= 0:
            terms[column] = factor
        if at < len(rest):
            if rest[at] not in ("+", "-") or at + 1 == len(rest):
                _refuse(text)
            sign, at = (1.0 if rest[at] == "+" else -1.0), at + 1
    if not terms:
        _refuse(text)
    return Linear(target, tuple(terms.items()), constant, declared=True)


def _number(token: str) -> float | None:
    return float(token) if re.fullmatch(r"\d{1,15}(\.\d{1,15})?", token) else None


def _refuse(text: str) -> NoReturn:
    raise ParameterError(
        Setting("constraints"),
        ' must be such as "a <= b", "total = x + y", "a -> b" or "(month, rate)", with names '
        f"that hold spaces or signs in backquotes; got {text!r:.80}.",
    )
