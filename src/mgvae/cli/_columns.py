"""Columns and classes that a user names: they must exist, and make sense."""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mgvae.errors import DataError, ParameterError

__all__ = ["check_columns", "column_types", "count_classes", "new_rows", "read_strategy"]

_REGRESSION = 100  # a number with more different values than this is no class,
_FRACTIONS = 20  # or than this, when some are not whole


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


def count_classes(target: pa.ChunkedArray, name: str, *, declared: bool) -> dict[Any, int]:
    """Give every class with its number of rows, the largest first.

    Parameters
    ----------
    target : pyarrow.ChunkedArray
        The column that holds the class.
    name : str
        Its name.
    declared : bool
        Whether the user says that it holds classes, whatever it looks like.
    """
    if pa.types.is_nested(target.type):
        raise DataError(f"--target: column {name!r} holds {target.type}, which cannot be classes.")
    if pa.types.is_floating(target.type):
        target = pc.if_else(pc.is_nan(target), pa.scalar(None, target.type), target)
    if target.null_count:
        raise DataError(
            f"--target: {target.null_count} of {len(target)} cells of column {name!r} are missing, "
            "and a row without a class cannot be used. Remove these rows, or fill the cells in."
        )
    counted = pc.value_counts(target)
    classes = {pair["values"].as_py(): pair["counts"].as_py() for pair in counted}
    if len(classes) == 1:
        raise DataError(
            f"--target: column {name!r} holds one class only, {str(next(iter(classes)))!r}. "
            "There is nothing to balance."
        )
    if not declared:
        _check_classes(target, name, classes)
    return dict(sorted(classes.items(), key=lambda pair: (-pair[1], str(pair[0]))))


def _check_classes(target: pa.ChunkedArray, name: str, classes: Mapping[Any, int]) -> None:
    kind = target.type
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    fractions = numbers and any(value % 1 != 0 for value in classes)
    many = len(classes) > (_FRACTIONS if fractions else _REGRESSION)
    if many and (numbers or pa.types.is_temporal(kind)):
        raise DataError(
            f"--target: column {name!r} holds {len(classes)} different values. Is it a regression? "
            f"Over-sampling needs classes; if these are, add --type '{name}=categorical'."
        )
    if 2 * len(classes) > len(target) and len(classes) > _FRACTIONS:
        raise DataError(
            f"--target: column {name!r} holds {len(classes)} different values in {len(target)} "
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
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, int | float):
        return float(value)
    known = {str(label): label for label in classes}
    if not isinstance(value, dict) or not all(
        isinstance(n, int) and not isinstance(n, bool) for n in value.values()
    ):
        raise ParameterError(
            "--strategy must be a word, a ratio or whole numbers of rows by class such as "
            f'{{"yes": 500}}; got {text}.'
        )
    for label in value:
        if label not in known:
            raise ParameterError(
                f"--strategy: there is no class {label!r}. The classes are: {', '.join(known)}."
            )
    return {known[label]: n for label, n in value.items()}


def new_rows(strategy: Any, target: pa.ChunkedArray) -> dict[Any, int]:
    """Give how many rows of each class the strategy asks for."""
    from imblearn.utils import check_sampling_strategy

    try:
        wanted = check_sampling_strategy(strategy, target.to_numpy(), "over-sampling")
    except (ValueError, TypeError) as error:
        if isinstance(strategy, str):
            raise ParameterError(
                "--strategy must be auto, minority, not minority, not majority, all, a ratio or "
                f'rows by class such as {{"yes": 500}}; got {strategy!r}.'
            ) from None
        raise ParameterError(f"--strategy: {error}") from None
    return {_plain(label): int(n) for label, n in wanted.items()}


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
