"""All figures of one class, from three samples: learned from, held out, and new."""

from collections.abc import Sequence

import numpy as np

from mgvae.codec import LEVELS, NUMBERS
from mgvae.report._association import Links
from mgvae.report._columns import ColumnQuality, compare_column
from mgvae.report._data import Rows
from mgvae.report._diverse import distinct_rows, region_figures, spread_of_rows
from mgvae.report._faithful import (
    association_difference,
    broken_relations,
    column_distance,
    majority_territory,
    told_from_unseen,
)
from mgvae.report._figures import Figure
from mgvae.report._parts import Parts
from mgvae.report._private import closest_record, distance_ratio, exact_copies, nearer_to_learned
from mgvae.report._told_apart import told_apart, told_from_learned

__all__ = ["measure", "measure_columns"]


def measure_columns(parts: Parts, kinds: Sequence[str]) -> list[ColumnQuality]:
    """Compare every column that is modelled, the farthest first."""
    found = [
        compare_column(real, new, majority, kind)
        for real, new, majority, kind in zip(
            parts.unseen.columns, parts.new.columns, parts.majority.columns, kinds, strict=True
        )
        if kind in NUMBERS + LEVELS
    ]
    return sorted(found, key=lambda column: column.chance - column.distance)


def measure(
    parts: Parts,
    even: tuple[Rows, Rows],
    links: Links,
    made: Rows,
    real: Rows,
    columns: Sequence[ColumnQuality],
    names: Sequence[str],
    kinds: Sequence[str],
    rng: np.random.Generator,
) -> list[Figure]:
    """Measure one class.

    Parameters
    ----------
    parts : Parts
        The three samples.
    even : (Rows, Rows)
        As many real rows as new ones, drawn from these.
    links : Links
        The associations of columns among ``even``.
    made : Rows
        All new rows of the class that the user has, among which copies and rows that break a
        relation are counted.
    real : Rows
        All real rows, of every class.
    columns : sequence of ColumnQuality
        The columns of the class, the farthest first.
    names, kinds : sequence of str
        The columns of the table.
    rng : numpy.random.Generator
        Draws and shuffles.
    """
    even_real, even_new = even
    of_columns = []
    if columns:
        of_columns = [
            column_distance(columns),
            association_difference(even_real, links, parts, names, kinds, rng),
        ]
    if made.broken.shape[1]:
        of_columns.append(broken_relations(made, real))
    learned = told_apart(parts.learned, parts.new, rng)
    unseen = None if parts.held_out is None else told_apart(parts.held_out, parts.new, rng)
    return [
        *of_columns,
        told_from_unseen(learned, unseen, parts),
        majority_territory(parts, rng),
        *region_figures(even_real, even_new, parts, rng),
        distinct_rows(even_real, even_new),
        spread_of_rows(parts),
        nearer_to_learned(parts, rng),
        closest_record(parts, rng),
        distance_ratio(parts),
        told_from_learned(learned),
        exact_copies(made, real),
    ]
