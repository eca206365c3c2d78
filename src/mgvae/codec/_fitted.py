"""A column whose kind is decided."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column, Level, Marker, label
from mgvae.codec._infer import Observed
from mgvae.codec._kinds import Kind
from mgvae.codec._storage import Fields, kind_from_dict, kind_to_dict, plain, read_name

__all__ = ["Fitted"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A column's kind, and what else is needed to restore its cells."""

    name: Hashable
    kind: Kind
    dtype: str
    marker: Marker
    levels: tuple[Level, ...] | None
    ordered: bool
    nullable: bool
    n_missing: int

    def column(self, values: NDArray[Any], missing: NDArray[np.bool_] | None) -> Column:
        """Return decoded cells as a column of the type that was fitted."""
        if self.levels is not None:  # from positions in the levels seen to those declared
            place = {level: i for i, level in enumerate(self.levels)}
            values = np.array([place[v] for v in self.kind.categories or ()] or [0])[values]
        return Column(
            name=self.name,
            values=values,
            missing=missing if missing is not None and missing.any() else None,
            dtype=self.dtype,
            levels=self.levels,
            ordered=self.ordered,
            marker=self.marker,
            nullable=self.nullable,
        )

    @classmethod
    def of(cls, observed: Observed, kind: Kind) -> "Fitted":
        """Store what was seen of a column."""
        return cls(
            name=observed.name,
            kind=kind,
            dtype=observed.column.dtype,
            marker=observed.marker,
            levels=observed.column.levels,
            ordered=observed.column.ordered,
            nullable=observed.column.nullable,
            n_missing=observed.n_missing,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": plain(self.name),
            "kind": kind_to_dict(self.kind),
            "dtype": self.dtype,
            "marker": self.marker,
            "levels": plain(self.levels),
            "ordered": self.ordered,
            "nullable": self.nullable,
            "n_missing": self.n_missing,
        }

    @classmethod
    def from_dict(cls, data: Any) -> "Fitted":
        """Invert :meth:`to_dict`."""
        given = Fields(data, "a column of the codec")
        name = read_name(given.any("name"))
        given.where = f"the codec's {label(name)}"
        kind = kind_from_dict(given.take("kind", dict), given.where)
        levels = None
        if kind.categories is None:
            given.take("levels", type(None))
        else:
            levels = given.levels("levels")
            if not set(kind.categories) <= set(levels):
                given.refuse("levels", levels)
        fitted = cls(
            name=name,
            kind=kind,
            dtype=given.type_name(),
            marker=given.choose("marker", get_args(Marker)),
            levels=levels,
            ordered=given.take("ordered", bool),
            nullable=given.take("nullable", bool),
            n_missing=given.take("n_missing", int),
        )
        if not 0 <= fitted.n_missing < 2**53:
            given.refuse("n_missing", fitted.n_missing)
        given.finish()
        return fitted
