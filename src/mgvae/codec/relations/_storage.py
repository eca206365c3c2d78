"""Relations <-> plain data that JSON can hold.

What is read back may come from a hostile file: columns must exist and have the kinds that a
relation needs, tokens must be cells of their columns, and all sizes are bounded.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mgvae.codec._fitted import Fitted
from mgvae.codec._kinds import Numeric
from mgvae.codec._levels import Levels
from mgvae.codec._storage import Fields
from mgvae.codec.relations._block import Block, is_related
from mgvae.codec.relations._joint import MOST_CELLS, MOST_COMBINATIONS, Joint, combinations
from mgvae.codec.relations._kept import Relation, Relations
from mgvae.codec.relations._linear import Linear
from mgvae.codec.relations._order import Order, in_a_circle
from mgvae.codec.relations._together import State, Together, Whenever
from mgvae.errors import DataError

__all__ = ["relations_from_list", "relations_to_list"]

_MOST = 4096  # relations
_LARGEST = 1e15  # factor of a sum


def relations_to_list(relations: Relations) -> list[dict[str, Any]]:
    """Return relations as plain data; a missing cell is a null."""
    return [_to_dict(relation) for relation in relations.relations]


def _to_dict(relation: Relation) -> dict[str, Any]:
    declared = {"declared": relation.declared}
    if isinstance(relation, Joint):
        cells = {str(j): _plain(c) for j, c in zip(relation.columns, relation.combinations.T)}  # noqa: B905
        return {"form": "joint", "cells": cells, **declared}
    if isinstance(relation, Together):
        return {"form": "together", "states": _states(relation.states), **declared}
    if isinstance(relation, Whenever):
        return {"form": "whenever", "states": _states((relation.given, relation.then)), **declared}
    if isinstance(relation, Linear):
        terms = [[j, factor] for j, factor in relation.terms]
        sums = {"target": relation.target, "terms": terms, "constant": relation.constant}
        return {"form": "linear", **sums, **declared}
    pair = {"lower": relation.lower, "upper": relation.upper, "strict": relation.strict}
    return {"form": "order", **pair, **declared}


def _states(states: Sequence[State]) -> list[list[Any]]:
    return [[j, None if math.isnan(token) else token] for j, token in states]


def _plain(tokens: Any) -> list[float | None]:
    return [None if math.isnan(token) else token for token in tokens.tolist()]


def relations_from_list(data: Any, columns: Sequence[Fitted]) -> Relations:
    """Invert :func:`relations_to_list`; the columns are those of the codec."""
    if not isinstance(data, list) or len(data) > _MOST:
        raise DataError(f"the codec's relations must be a list of at most {_MOST}.")
    reader = _Reader(columns)
    relations = Relations(columns, [reader.relation(one) for one in data])
    orders = [r for r in relations.relations if isinstance(r, Order)]
    cells = sum(r.combinations.size for r in relations.relations if isinstance(r, Joint))
    if in_a_circle(orders) or cells > 4 * MOST_CELLS:
        raise DataError("the codec's relations contradict each other, or are too many.")
    return relations


class _Reader:
    """Reads relations between given columns."""

    def __init__(self, columns: Sequence[Fitted]) -> None:
        self.columns = columns
        self.block = Block(columns, [])

    def relation(self, data: Any) -> Relation:
        given = Fields(data, "a relation of the codec")
        form = given.choose("form", ("joint", "together", "whenever", "linear", "order"))
        declared = given.take("declared", bool)
        relation: Relation
        if form == "joint":
            relation = self._joint(given, declared)
        elif form == "together":
            relation = Together(tuple(self._states(given)), declared)
        elif form == "whenever":
            states = self._states(given)
            if len(states) != 2:
                given.refuse("states", len(states))
            relation = Whenever(states[0], states[1], declared)
        elif form == "linear":
            terms = tuple(self._terms(given))
            target, constant = given.take("target", int), given.take("constant", float)
            relation = Linear(target, terms, constant, declared)
            if abs(constant) > _LARGEST:
                given.refuse("constant", constant)
        else:
            lower, upper = given.take("lower", int), given.take("upper", int)
            relation = Order(lower, upper, given.take("strict", bool), declared)
        for j in relation.columns:
            self._check(given, j, numbers=isinstance(relation, Linear | Order))
        if len(set(relation.columns)) < len(relation.columns) or len(relation.columns) < 2:
            given.refuse("form", form)
        given.finish()
        return relation

    def _joint(self, given: Fields, declared: bool) -> Joint:
        cells = given.take("cells", dict)
        columns = tuple(int(j) for j in cells if isinstance(j, str) and j.isdecimal())
        lengths = {len(c) if isinstance(c, list) else -1 for c in cells.values()}
        if len(columns) != len(cells) or len(lengths) != 1:
            given.refuse("cells", list(cells))
        (n,) = lengths
        if not 0 < n <= MOST_COMBINATIONS or n * len(columns) > MOST_CELLS:
            given.refuse("cells", list(cells))
        for j, tokens in zip(columns, cells.values(), strict=True):
            self._check(given, j, numbers=False)
            self._check_tokens(given, j, tokens)
        matrix = np.array(list(cells.values()), float).T
        return Joint(columns, combinations(matrix), declared)

    def _states(self, given: Fields) -> list[State]:
        states: list[State] = []
        for state in given.take("states", list):
            if not isinstance(state, list) or len(state) != 2 or type(state[0]) is not int:
                given.refuse("states", state)
            self._check(given, state[0], numbers=False)
            self._check_tokens(given, state[0], [state[1]])
            states.append((state[0], math.nan if state[1] is None else state[1]))
        return states

    def _terms(self, given: Fields) -> list[tuple[int, float]]:
        terms = []
        for term in given.take("terms", list):
            if not isinstance(term, list) or [type(part) for part in term] != [int, float]:
                given.refuse("terms", term)
            if not 0 < abs(term[1]) <= _LARGEST or abs(term[1]) < 1 / _LARGEST:
                given.refuse("terms", term)
            terms.append((term[0], term[1]))
        return terms

    def _check(self, given: Fields, j: int, *, numbers: bool) -> None:
        if not 0 <= j < len(self.columns) or not is_related(self.columns[j]):
            given.refuse("column", j)
        if numbers and not isinstance(self.columns[j].kind, Numeric):
            given.refuse("column", j)

    def _check_tokens(self, given: Fields, j: int, tokens: list[Any]) -> None:
        """Refuse what is no cell of a column."""
        kind = self.columns[j].kind
        known = [token for token in tokens if token is not None]
        if not all(type(token) is float and math.isfinite(token) for token in known):
            given.refuse("cells", tokens)
        if len(known) < len(tokens) and not getattr(kind, "nullable", False):
            given.refuse("cells", None)
        low, high = 0.0, 0.0
        if isinstance(kind, Numeric):
            low, high = self.block.span(j)
        elif isinstance(kind, Levels):
            low, high = 0.0, len(kind.levels) - 1.0
            if not all(token.is_integer() for token in known):
                given.refuse("cells", tokens)
        if known and not low <= min(known) <= max(known) <= high:
            given.refuse("cells", tokens)
