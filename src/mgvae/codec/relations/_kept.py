"""The relations of a table: found while its rows are observed, kept by new rows."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column
from mgvae.codec._fitted import Fitted
from mgvae.codec._kinds import Numeric
from mgvae.codec.relations._block import Block, is_related
from mgvae.codec.relations._declared import Declared, read_constraint
from mgvae.codec.relations._evidence import (
    Evidence,
    JointEvidence,
    OrderEvidence,
    TogetherEvidence,
    without_chains,
    without_echoes,
)
from mgvae.codec.relations._joint import Joint
from mgvae.codec.relations._linear import Linear
from mgvae.codec.relations._order import Order, repair_orders
from mgvae.codec.relations._sample import MOST_COLUMNS, RowSample
from mgvae.codec.relations._suspects import (
    Edge,
    suspect_clusters,
    suspect_linear,
    suspect_orders,
    suspect_states,
)
from mgvae.codec.relations._together import Together, Whenever
from mgvae.errors import CodecWarning, DataError, ParameterError, Setting

__all__ = ["Relation", "RelationSummary", "Relations", "Search"]

Relation = Joint | Together | Whenever | Linear | Order

_PASSES = 4  # over relations that share columns


@dataclass(frozen=True, slots=True)
class RelationSummary:
    """A relation between columns, as people read it.

    Attributes
    ----------
    kind : {"combinations", "together", "whenever", "sum", "order"}
        Few combinations; values that occur in the same rows; a value that occurs whenever another
        does; a number computed from others; a fixed order.
    columns : tuple of hashable
        The names of the columns.
    text : str
        The relation.
    declared : bool
        Whether the user asked for it; it was found otherwise.
    """

    kind: str
    columns: tuple[Any, ...]
    text: str
    declared: bool = False


class Relations:
    """Relations that every row of a table keeps.

    Parameters
    ----------
    columns : sequence of Fitted
        What the columns are.
    relations : sequence of Joint, Together, Whenever, Linear and Order
        The relations.
    """

    def __init__(self, columns: Sequence[Fitted], relations: Sequence[Relation]) -> None:
        self.columns = columns
        self.relations = tuple(relations)
        self._orders = [r for r in relations if isinstance(r, Order)]
        self._others = [r for r in relations if not isinstance(r, Order)]
        joints = chain.from_iterable(r.columns for r in relations if isinstance(r, Joint))
        self._fixed = {*joints, *(r.target for r in relations if isinstance(r, Linear))}

    def __bool__(self) -> bool:
        return bool(self.relations)

    def repair(self, block: Block, rng: np.random.Generator) -> None:
        """Change the cells of rows that break a relation; relations that share columns take turns.

        A row may still break one when relations contradict each other: see :meth:`broken`.
        """
        if not self.broken(block).any():
            return
        (rng,) = rng.spawn(1)  # other rows draw what they would without relations
        for _ in range(_PASSES):
            for relation in self._others:
                if not isinstance(relation, Linear):
                    relation.repair(block, rng)
            repair_orders(block, self._orders, self._fixed)
            for relation in self._others:
                if isinstance(relation, Linear):
                    relation.repair(block, rng)
            if not self.broken(block).any():
                return

    def broken(self, block: Block) -> NDArray[np.bool_]:
        """Return which rows break a relation."""
        broken = np.zeros(len(block), bool)
        for relation in self.relations:
            broken |= relation.broken(block)
        return broken

    def describe(self) -> list[RelationSummary]:
        """Return the relations as people read them."""
        names = [str(column.name) for column in self.columns]
        block = Block(self.columns, [])
        return [
            RelationSummary(
                _KINDS[type(relation)],
                tuple(self.columns[j].name for j in relation.columns),
                relation.text(names, block)
                if isinstance(relation, Together | Whenever)
                else relation.text(names),
                relation.declared,
            )
            for relation in self.relations
        ]


_KINDS = {
    Joint: "combinations",
    Together: "together",
    Whenever: "whenever",
    Linear: "sum",
    Order: "order",
}


class Search:
    """Look for relations: in a sample at first, then in all rows.

    Parameters
    ----------
    columns : sequence of Fitted
        What the columns are.
    sample : RowSample
        Some rows; relations are suspected from them.
    find : bool
        Whether to look for relations that were not asked for.
    constraints : sequence of str
        Relations that the user asks for.

    Attributes
    ----------
    needed : list of int
        The columns that :meth:`observe` needs; none if nothing is suspected.
    """

    def __init__(
        self,
        columns: Sequence[Fitted],
        sample: RowSample,
        *,
        find: bool,
        constraints: Sequence[str] = (),
    ) -> None:
        self.columns = columns
        self.constraints = [
            (text, read_constraint(text, [c.name for c in columns])) for text in constraints
        ]
        self._joint: list[JointEvidence] = []
        self._states: list[TogetherEvidence] = []
        self._pairs: list[Evidence[Whenever]] = []
        self._linear: list[Evidence[Linear]] = []
        self._orders: list[OrderEvidence] = []
        if find:
            self._suspect(sample.block(columns))
        self._asked = [self._declare(text, declared) for text, declared in self.constraints]
        self._evidence = [
            *self._joint,
            *self._states,
            *self._pairs,
            *self._linear,
            *self._orders,
            *self._asked,
        ]
        self.needed = sorted({j for one in self._evidence for j in one.columns})
        self._block = Block(columns, [])

    def _suspect(self, block: Block) -> None:
        related = [j for j, column in enumerate(self.columns) if is_related(column)][:MOST_COLUMNS]
        if len(related) < 2:
            return
        sums = list(suspect_linear(block, related))
        clusters, left = suspect_clusters(block, related, sums)
        self._joint = [JointEvidence(edges) for edges in clusters]
        self._linear = [Evidence(relation) for relation in left]
        classes, pairs = suspect_states(block, related)
        self._states = [TogetherEvidence(states) for states in classes]
        self._pairs = [Evidence(Whenever(given, then)) for given, then in pairs]
        self._orders = [OrderEvidence(relation) for relation in suspect_orders(block, related)]

    def _declare(
        self, text: str, declared: Declared
    ) -> JointEvidence | Evidence[Linear] | OrderEvidence:
        numbers = () if isinstance(declared, Edge) else declared.columns
        columns = (*declared.sources, declared.target) if isinstance(declared, Edge) else numbers
        for j in columns:
            column = self.columns[j]
            if not is_related(column) or (j in numbers and not isinstance(column.kind, Numeric)):
                raise ParameterError(
                    Setting("constraints"),
                    f": {text!r} cannot be kept, because column {column.name!r} is "
                    f"{column.kind.kind}. An order or a sum needs numbers, and a column that is "
                    "not modelled has no relations.",
                )
        if isinstance(declared, Edge):
            return JointEvidence([declared], declared=True)
        if isinstance(declared, Linear):
            return Evidence(declared)
        return OrderEvidence(declared)

    def observe(self, columns: Sequence[Column]) -> None:
        """Look at more rows, of which the columns needed are given."""
        cells = Block.of([self.columns[j] for j in self.needed], columns).cells
        empty = (np.empty(0), None)
        by_column = dict(zip(self.needed, cells, strict=True))
        block = Block(self.columns, [by_column.get(j, empty) for j in range(len(self.columns))])
        for one in self._evidence:
            one.observe(block)

    def finish(self) -> Relations:
        """Return the relations that all rows keep, and those that were asked for."""
        joints = [joint for one in self._joint for joint in one.finish()]
        asked = self._finish_asked()
        joints += [r for r in asked if isinstance(r, Joint)]
        declared = {r.columns for r in asked}
        sums = [
            one.relation
            for one in self._linear
            if not one.n_broken
            and one.relation.columns not in declared
            and not any(set(one.columns) <= set(joint.columns) for joint in joints)
        ]
        sums += [r for r in asked if isinstance(r, Linear)]
        copies = [s for s in sums if len(s.terms) == 1]
        together = [t for one in self._states for t in one.finish(joints, copies)]
        orders = [
            one.finish()
            for one in self._orders
            if not one.n_broken
            and one.relation.columns not in declared
            and not one.implied(joints, sums, self._block)
        ]
        orders = without_chains([*orders, *(r for r in asked if isinstance(r, Order))])
        pairs = [one.relation for one in self._pairs if not one.n_broken]
        pairs += [pair for one in self._states for pair in one.pairs()]
        pairs = without_echoes(pairs, together, joints, orders, self._block)
        return Relations(self.columns, [*joints, *together, *pairs, *sums, *orders])

    def _finish_asked(self) -> list[Relation]:
        """Return what the user asked for; refuse what new rows cannot keep."""
        found: list[Relation] = []
        for (text, _), one in zip(self.constraints, self._asked, strict=True):
            if isinstance(one, JointEvidence):
                if one.too_many:
                    raise DataError(
                        Setting("constraints"),
                        f": {text!r} cannot be kept: its columns have too many combinations.",
                    )
                (edge,) = one.edges
                refuted = one.refuted(edge) if edge.determined else 0
                if refuted:
                    raise DataError(
                        Setting("constraints"),
                        f": {text!r} does not hold in the data: {refuted} combinations on its left "
                        "have more than one value on its right. Correct the data, or leave it out.",
                    )
                found += one.finish()
                continue
            if one.n_broken:
                words = f": {one.n_broken} rows of the data do not keep {text!r}; new rows will."
                warnings.warn(CodecWarning(Setting("constraints"), words), stacklevel=2)
            found.append(one.relation)
        return found
