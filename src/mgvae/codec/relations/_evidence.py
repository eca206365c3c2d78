"""Suspected relations before all rows: every batch may refute them, and adds what it shows."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._levels import Levels
from mgvae.codec.relations._block import Block, Tokens
from mgvae.codec.relations._joint import (
    MOST_CELLS,
    MOST_COMBINATIONS,
    Joint,
    combinations,
    mix,
)
from mgvae.codec.relations._linear import Linear
from mgvae.codec.relations._order import Order
from mgvae.codec.relations._suspects import Edge
from mgvae.codec.relations._together import State, Together, Whenever, is_in

__all__ = [
    "Evidence",
    "JointEvidence",
    "OrderEvidence",
    "TogetherEvidence",
    "without_chains",
    "without_echoes",
]


R = TypeVar("R", Linear, Whenever)


class JointEvidence:
    """The combinations of some columns.

    Parameters
    ----------
    edges : sequence of Edge
        Why these columns belong together. Each is checked again with all rows, and the columns fall
        apart into the groups that remain connected.
    """

    def __init__(self, edges: Sequence[Edge], *, declared: bool = False) -> None:
        self.edges = edges
        self.columns = sorted({j for edge in edges for j in (*edge.sources, edge.target)})
        self.declared = declared
        self.too_many = False
        self.seen: Tokens = np.empty((0, len(self.columns)))

    def observe(self, block: Block) -> None:
        """Add the combinations of more rows."""
        if self.too_many:
            return
        tokens = np.column_stack([block.tokens(j) for j in self.columns])
        self.seen = combinations(np.concatenate([self.seen, combinations(tokens)]))
        n = len(self.seen)
        if n > MOST_COMBINATIONS or n * len(self.columns) > MOST_CELLS:
            self.too_many, self.seen = True, self.seen[:0]

    def refuted(self, edge: Edge) -> int:
        """Return how many combinations of the sources have more than one value of the target."""
        sources = self._mixed(edge.sources)
        both = np.unique(np.column_stack([sources, self._mixed((edge.target,))]), axis=0)
        return int((np.unique(both[:, 0], return_counts=True)[1] > 1).sum())

    def finish(self) -> list[Joint]:
        """Return the groups that all rows confirm."""
        if self.too_many:
            return []
        if self.declared:
            return [Joint(tuple(self.columns), self.seen, declared=True)]
        left = [e for e in self.edges if not e.determined or not self.refuted(e)]
        groups: list[set[int]] = []
        for edge in left:
            group = {*edge.sources, edge.target}
            touched = [other for other in groups if other & group]
            groups = [other for other in groups if other not in touched]
            groups.append(group.union(*touched))
        return [self._joint(tuple(sorted(group))) for group in groups]

    def _joint(self, columns: tuple[int, ...]) -> Joint:
        return Joint(columns, combinations(self.seen[:, [self.columns.index(j) for j in columns]]))

    def _mixed(self, columns: Iterable[int]) -> NDArray[np.uint64]:
        return mix(self.seen[:, [self.columns.index(j) for j in columns]])


class TogetherEvidence:
    """States that the same rows have."""

    def __init__(self, states: Sequence[State]) -> None:
        self.states = list(states)
        self.columns = [j for j, _ in states]
        self._implies = np.ones((len(states), len(states)), bool)

    def observe(self, block: Block) -> None:
        """Find out which states do not agree in more rows."""
        has = [is_in(block, *state) for state in self.states]
        for i, k in permutations(range(len(has)), 2):
            if self._implies[i, k] and (has[i] & ~has[k]).any():
                self._implies[i, k] = False

    def finish(self, joints: Sequence[Joint], copies: Sequence[Linear]) -> list[Together]:
        """Return the states that agree in all rows; of columns that others decide, one each."""
        agree = self._implies & self._implies.T
        found, left = [], list(range(len(self.states)))
        while left:
            same = [i for i in left if agree[left[0], i]]
            left = [i for i in left if i not in same]
            members: list[State] = []
            for i in same:
                j = self.states[i][0]
                groups = [joint.columns for joint in joints] + [copy.columns for copy in copies]
                decided = {k for group in groups if j in group for k in group}
                if not decided & {k for k, _ in members}:
                    members.append(self.states[i])
            if len(members) > 1:
                found.append(Together(tuple(members)))
        return found

    def pairs(self) -> list[Whenever]:
        """Return the states that a row has whenever it has another, but not the other way round."""
        only = np.argwhere(self._implies & ~self._implies.T).tolist()
        return [Whenever(self.states[i], self.states[k]) for i, k in only]


class Evidence(Generic[R]):
    """A sum, or a state whenever another, that all rows may confirm."""

    def __init__(self, relation: R) -> None:
        self.relation: R = relation
        self.columns = list(relation.columns)
        self.n_broken = 0

    def observe(self, block: Block) -> None:
        """Count the rows that break it."""
        self.n_broken += int(self.relation.broken(block).sum())


class OrderEvidence:
    """An order that all rows may confirm."""

    def __init__(self, relation: Order) -> None:
        self.relation = relation
        self.columns = list(relation.columns)
        self.n_broken = 0
        self._equal = False

    def observe(self, block: Block) -> None:
        """Count the rows that break it, and look for equal cells."""
        lower, upper = (block.tokens(j) for j in self.relation.columns)
        self.n_broken += int(self.relation.broken(block).sum())
        self._equal = self._equal or bool((lower == upper).any())

    def finish(self) -> Order:
        """Return the order, strict if no row had equal cells."""
        if self.relation.declared:
            return self.relation
        return replace(self.relation, strict=not self._equal)

    def implied(self, joints: Sequence[Joint], sums: Sequence[Linear], block: Block) -> bool:
        """Return whether other relations, or the ranges of the columns, see to it."""
        lower, upper = self.relation.columns
        decided = [joint.columns for joint in joints]
        decided += [copy.columns for copy in sums if len(copy.terms) == 1]
        if any({lower, upper} <= set(columns) for columns in decided):
            return True
        (_, highest), (lowest, _) = (block.span(j) for j in (lower, upper))
        return highest < lowest or any(_adds(s, lower, upper, block) for s in sums)


def _adds(total: Linear, lower: int, upper: int, block: Block) -> bool:
    """Return whether the upper column is the lower one and what is never negative."""
    factors = dict(total.terms)
    if total.target != upper or factors.get(lower) != 1.0:
        return False
    least = total.constant
    for j, factor in total.terms:
        if j != lower:
            least += min(factor * end for end in block.span(j))
    return least >= 0


def without_chains(orders: Sequence[Order]) -> list[Order]:
    """Leave out the orders that follow from two others, and both of a pair that goes both ways."""
    known = {order.columns: order for order in orders}
    orders = [order for order in orders if order.columns[::-1] not in known]
    known = {order.columns: order for order in orders}
    above: dict[int, list[Order]] = {}
    for order in orders:
        above.setdefault(order.lower, []).append(order)

    def follows(order: Order) -> bool:
        for first in above[order.lower]:
            second = known.get((first.upper, order.upper))
            if second is not None and (not order.strict or first.strict or second.strict):
                return True
        return False

    return [order for order in orders if order.declared or not follows(order)]


def without_echoes(
    found: Sequence[Whenever],
    together: Sequence[Together],
    joints: Sequence[Joint],
    orders: Sequence[Order],
    block: Block,
) -> list[Whenever]:
    """Leave out pairs of states that follow from other relations, or from two other pairs."""
    first = {state: t.states[0] for t in together for state in t.states}
    found = [Whenever(first.get(w.given, w.given), first.get(w.then, w.then)) for w in found]
    known = {(w.given, w.then) for w in found}
    left: list[Whenever] = []
    for one in dict.fromkeys(found):
        decided = any(set(one.columns) <= set(joint.columns) for joint in joints)
        between = {then for given, then in known if given == one.given}
        chained = any((state, one.then) in known for state in between if state != one.then)
        ordered = any(_at_the_end(one, order, block) for order in orders)
        turned = any(_turned(one, other, block) for other in left)
        if not (decided or chained or ordered or turned or one.given == one.then):
            left.append(one)
    return left


def _at_the_end(one: Whenever, order: Order, block: Block) -> bool:
    """Return whether a pair follows from an order, because there is nothing beyond the value."""
    (j, value), (k, same) = one.given, one.then
    if value != same:
        return False
    if order.columns == (k, j):
        return value == block.span(k)[0]
    return order.columns == (j, k) and value == block.span(k)[1]


def _turned(one: Whenever, other: Whenever, block: Block) -> bool:
    """Return whether two pairs say the same of two columns with two values each."""
    if one.columns != other.columns[::-1] or one.given == other.then or one.then == other.given:
        return False
    kinds = [block.columns[j].kind for j in one.columns]
    return all(isinstance(k, Levels) and len(k.levels) == 2 and not k.nullable for k in kinds)
