"""Functions that a user gave as constraints: counted like the relations between columns."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec import RelationSummary
from mgvae.errors import ParameterError
from mgvae.report._data import Tables, split_target

__all__ = ["with_predicates"]

Predicate = Callable[[Any], Any]


def with_predicates(
    tables: Tables, given: Sequence[tuple[str, Any, Any]], predicates: Sequence[Predicate]
) -> Tables:
    """Count the rows that a function of the user refuses.

    Parameters
    ----------
    tables : Tables
        The rows and their relations.
    given : sequence of (str, table, target)
        The same rows as the user has them, which is what the functions take.
    predicates : sequence of callable
        From rows without the target to one boolean for each.
    """
    if not predicates:
        return tables
    rows = []
    for own, (_, X, target) in zip(tables.rows, given, strict=True):
        only = split_target(X, target)[0] if np.isscalar(target) else X
        refused = [~_kept(predicate, only, len(own)) for predicate in predicates]
        rows.append(replace(own, broken=np.column_stack([own.broken, *refused])))
    asked = [RelationSummary("asked", (), name_of(one), declared=True) for one in predicates]
    return replace(tables, rows=rows, relations=[*tables.relations, *asked])


def name_of(predicate: Predicate) -> str:
    """Return what people call a function: its name, or where it stands, and its first line of text.

    Examples
    --------
    >>> def adult(rows):
    ...     '''Nobody is below 18.'''
    >>> name_of(adult)
    'adult: Nobody is below 18.'
    """
    inner = getattr(predicate, "func", predicate)  # of functools.partial
    name = getattr(inner, "__name__", type(inner).__name__)
    code = getattr(inner, "__code__", None)
    if name == "<lambda>" and code is not None:
        name = f"lambda of line {code.co_firstlineno}"
    lines = (getattr(inner, "__doc__", None) or "").strip().splitlines()
    return f"{name}: {lines[0]}" if lines else name


def _kept(predicate: Predicate, rows: Any, n: int) -> NDArray[np.bool_]:
    kept = np.asarray(predicate(rows))
    if kept.shape != (n,) or kept.dtype.kind != "b":
        raise ParameterError(
            f"constraints: the function {name_of(predicate)} must return one boolean for each of "
            f"{n} rows; it returned shape {kept.shape} and type {kept.dtype}."
        )
    return kept
