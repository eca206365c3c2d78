"""Columns and classes that a user names: they must exist, and make sense."""

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mgvae.errors import DataError, ParameterError
from mgvae.files import Source, is_binary

__all__ = [
    "check_columns",
    "column_types",
    "count_classes",
    "new_rows",
    "read_share",
    "read_strategy",
]

_REGRESSION = 100  # a number with more different values than this is no class,
_FRACTIONS = 20  # or than this, when some are not whole
_MOST_ROWS = 2**53  # of a class


def check_columns(names: Iterable[str], existing: Sequence[str], option: str) -> None:
    """Raise if a column does not exist, and suggest the one that may have been meant."""
    for name in names:
        if name in existing:
            continue
        near = difflib.get_close_matches(name, existing, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        shown = ", ".join(existing[:20]) + (", ..." if len(existing) > 20 else "")
        header = ""
        if any(_numeric(column) for column in existing):
            header = " Some of these look like values: if the file has no header, add --no-header."
        raise ParameterError(
            f"{option}: there is no column {name!r}.{hint} The columns are: {shown}.{header}"
        )


def column_types(pairs: Iterable[str]) -> dict[str, str]:
    """Read ``column=kind`` pairs.

    Examples
    --------
    >>> column_types(["zip=categorical", "a=b=integer"])
    {'zip': 'categorical', 'a=b': 'integer'}
    """
    types = {}
    for pair in pairs:
        column, equals, kind = pair.rpartition("=")
        if not equals:
            raise ParameterError(
                f"--type must be COLUMN=KIND, such as zip=categorical; got {pair!r}."
            )
        types[column] = kind
    return types


def count_classes(rows: Source, target: str, *, declared: bool) -> dict[Any, int]:
    """Return every class with its number of rows, the largest first.

    Parameters
    ----------
    rows : Source
        The table.
    target : str
        The column that holds the class.
    declared : bool
        Whether the user says that it holds classes, whatever it looks like.
    """
    kind = rows.schema.field(target).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType) or is_binary(kind):
        raise DataError(
            f"--target: column {target!r} holds {kind}, which cannot be classes. Convert it to "
            "text or numbers."
        )
    counts: Counter[Any] = Counter()
    missing = 0
    for batch in rows.only([target]).batches():
        cells = batch[target]
        if pa.types.is_floating(kind):
            cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
        missing += cells.null_count
        counts.update({p["values"].as_py(): p["counts"].as_py() for p in pc.value_counts(cells)})
    n = counts.total()
    if not n:
        raise DataError(f"{rows.name} holds no rows.")
    if missing:
        raise DataError(
            f"--target: {missing} of {n} cells of column {target!r} are missing, and a row without "
            "a class cannot be used. Add --drop-missing-target to leave them out, or fill the "
            "cells in."
        )
    if len(counts) == 1:
        raise DataError(
            f"--target: column {target!r} holds one class only, {str(next(iter(counts)))!r}. "
            "There is nothing to balance."
        )
    if not declared:
        _check_classes(kind, target, counts)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0]))))


def _check_classes(kind: pa.DataType, name: str, classes: Mapping[Any, int]) -> None:
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    fractions = numbers and any(value % 1 != 0 for value in classes)
    many = len(classes) > (_FRACTIONS if fractions else _REGRESSION)
    n = sum(classes.values())
    if many and (numbers or pa.types.is_temporal(kind)):
        raise DataError(
            f"--target: column {name!r} holds {len(classes)} different values. Is it a regression? "
            f"Over-sampling needs classes; if these are, add --type '{name}=categorical'."
        )
    if 2 * len(classes) > n and len(classes) > _FRACTIONS:
        raise DataError(
            f"--target: column {name!r} holds {len(classes)} different values in {n} "
            f"rows, so it can hardly be a class. If it is, add --type '{name}=categorical'."
        )


def read_strategy(text: str | None, classes: Iterable[Any]) -> Any:
    """Read what --strategy says: a word, a ratio, or rows by class as JSON.

    Examples
    --------
    >>> read_strategy("minority", []), read_strategy("0.5", [])
    ('minority', 0.5)
    >>> read_strategy('{"1": 500}', [0, 1])
    {1: 500}
    """
    if text is None:
        return None
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except ParameterError:
        raise
    except RecursionError:
        value = None
    except ValueError:
        return text
    if type(value) in (int, float):
        return _ratio(value)
    known = {str(label): label for label in classes}
    if not isinstance(value, dict) or not all(type(n) is int for n in value.values()):
        raise ParameterError(
            "--strategy must be a word, a ratio or whole numbers of rows by class such as "
            f'{{"yes": 500}}; got {_short(text)}.'
        )
    for n in value.values():
        if not 0 <= n < _MOST_ROWS:
            raise ParameterError(
                f"--strategy: {_short(str(n))} is no number of rows that a class can have."
            )
    for label in value:
        if label not in known:
            raise ParameterError(
                f"--strategy: there is no class {label!r}. The classes are: {', '.join(known)}."
            )
    return {known[label]: n for label, n in value.items()}


def read_share(share: float | None, classes: Mapping[Any, int]) -> dict[Any, int] | None:
    """Return the rows that --share asks for: every smaller class raised to a part of the largest.

    Examples
    --------
    >>> read_share(0.5, {"many": 100, "some": 60, "few": 5})
    {'few': 50}
    """
    if share is None:
        return None
    if not 0 < share <= 1:
        raise ParameterError(f"--share lies above 0 and is at most 1; got {share:g}.")
    wanted = max(1, round(share * max(classes.values())))
    found = {label: wanted for label, n in classes.items() if n < wanted}
    if not found:
        raise ParameterError(
            f"--share {share:g}: every class has {wanted} rows already. Say a larger share."
        )
    return found


def _ratio(value: float) -> float:
    if not 0 < value <= 1:  # also when it is NaN
        raise ParameterError(
            f"--strategy: a ratio lies above 0 and is at most 1; got {_short(str(value))}."
        )
    return float(value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ParameterError("--strategy names a class twice.")
    return found


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def new_rows(strategy: Any, classes: Mapping[Any, int]) -> dict[Any, int]:
    """Return how many rows of each class the strategy asks for, by how many there are."""
    import numpy as np

    from mgvae.samplers import rows_to_make

    labels = np.empty(len(classes), object)
    labels[:] = list(classes)
    codes = np.repeat(np.arange(len(classes), dtype=np.int32), list(classes.values()))
    try:
        return rows_to_make(strategy, labels, codes)
    except ParameterError:
        raise
    except (ValueError, TypeError) as error:
        if isinstance(strategy, str):
            raise ParameterError(
                "--strategy must be auto, minority, not minority, not majority, all, a ratio or "
                f'rows by class such as {{"yes": 500}}; got {_short(strategy)!r}.'
            ) from None
        raise ParameterError(f"--strategy: {error}") from None


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
