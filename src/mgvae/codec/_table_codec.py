"""A whole table <-> the float rows that a network sees."""

import difflib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._columns import Column, Table, take_cells
from mgvae.codec._fitted import Fitted
from mgvae.codec._infer import KindName, NumericScale, Observed, Options
from mgvae.codec._kinds import Kind, Numeric
from mgvae.codec._spans import Activation, LikelihoodName, Span
from mgvae.codec._storage import MOST_COLUMNS, MOST_TEXT, Fields, longest_text
from mgvae.codec.relations import (
    Block,
    Relations,
    RelationSummary,
    RowSample,
    Search,
    relations_from_list,
    relations_to_list,
)
from mgvae.common.shown import shown
from mgvae.errors import DataError, ParameterError, Setting

__all__ = ["ColumnSummary", "TableCodec"]

_VERSION = 1


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """What the codec found a column to be.

    Attributes
    ----------
    name : hashable
        The column's name, or its position in an array.
    kind : str
        Continuous, integer, categorical, ordinal, boolean, datetime, duration, constant,
        identifier, text or empty.
    dtype : str
        What the column's owner calls its type.
    n_missing : int
        How many cells are missing.
    note : str
        The range, the number of levels, or what becomes of new rows.
    """

    name: Hashable
    kind: str
    dtype: str
    n_missing: int
    note: str


class TableCodec:
    """Encode and decode tables with columns of every kind.

    The kind of each column is inferred from its type and values, or set by ``column_types``:

    continuous, integer, datetime, duration
        One output, see ``numeric``; decoded cells stay inside the range seen and keep the type,
        integers are rounded, dates keep their resolution. Columns with up to 30 values that
        repeat give back only those. If cells can be missing, a second output is the chance that
        one is.
    categorical, ordinal, boolean
        One output for each level, missing being a level too. Only levels seen come back.
        Beyond ``max_levels`` the rare levels share one output and are drawn by frequency.
    constant, empty
        No output; the value, or nothing, comes back.
    identifier
        No output; see ``identifiers``. A column is taken for one if its values are 20 or more
        strings that all differ, integers that count up from 0 or 1, or integers that all differ
        in a column named like an identifier (``id``, ``customer_id``, ``orderId``). Columns of
        arrays, which have no names, are never taken for numbered identifiers.
    text
        No output; long and mostly different strings of several words. New rows draw one of at
        most 256 texts seen, at random, or are left missing with ``identifiers="missing"``.

    Parameters
    ----------
    column_types : mapping of column to str, optional
        Kinds to use instead of those found; keys are names, or positions in an array.
    numeric : {"quantile", "minmax", "symmetric", "identity"}
        What the code of a number is: its normal score, robust to tails and spikes; its place in
        [0, 1] or in [-1, 1] between the smallest and the largest; or the number itself. The last
        three neither snap nor round floats.
    likelihood : {"gaussian", "squared_error", "bernoulli"}
        How numeric outputs are scored.
    identifiers : {"new", "missing"}
        Whether new rows get new, distinct identifiers or none.
    max_levels : int
        Most levels of a column that have their own output.
    constraints : "auto", sequence of str or None
        Relations between columns that decoded rows keep. ``"auto"`` finds them; a sequence adds
        those of the user, such as ``"a <= b"``, ``"total = x + y"``, ``"a -> b"`` and
        ``"(month, rate)"``, and the word ``"only"`` in it leaves out those found.

    Examples
    --------
    >>> import numpy as np
    >>> from mgvae.codec import TableCodec, read_table
    >>> table = read_table([[1.5, "a"], [2.5, "b"], [4.0, "a"]])
    >>> codec = TableCodec().fit(table)
    >>> [(span.size, span.likelihood) for span in codec.spans]
    [(1, 'gaussian'), (2, 'categorical')]
    >>> codec.encode(table)[:, 1:]
    array([[1., 0.],
           [0., 1.],
           [1., 0.]], dtype=float32)
    >>> [c.values.tolist() for c in codec.decode(codec.encode(table), np.random.default_rng(0))]
    [[1.5, 2.5, 4.0], ['a', 'b', 'a']]
    """

    def __init__(
        self,
        column_types: Mapping[Any, KindName] | None = None,
        numeric: NumericScale = "quantile",
        likelihood: LikelihoodName = "gaussian",
        identifiers: Literal["new", "missing"] = "new",
        max_levels: int = 100,
        constraints: Literal["auto"] | Sequence[str] | None = None,
    ) -> None:
        if not isinstance(column_types, Mapping | None):
            raise ParameterError(
                "column_types must map columns to kinds, such as {'zip': 'categorical'}, got "
                f"{column_types!r:.60}."
            )
        self.column_types = dict(column_types or {})
        self.options = Options(numeric, likelihood, identifiers, max_levels)
        self._check_options()
        self._find, self._declared = _read_constraints(constraints)
        self._sample: RowSample | None = None
        self._search: Search | None = None
        self._relations: Relations | None = None
        self._observed: list[Observed] | None = None
        self._columns: list[Fitted] = []
        self._places: list[slice] = []
        self.named = False
        self.spans: tuple[Span, ...] = ()
        self.width = 0

    def fit(self, table: Table) -> "TableCodec":
        """Learn what the columns are, and what holds between them, from one table."""
        self._observed = None
        self.observe(table).finish()
        return self.confirm(table).settle() if self.unconfirmed else self

    def observe(self, table: Table) -> "TableCodec":
        """Learn from the next batch of rows; :meth:`finish` ends it."""
        if self._observed is None:
            self.named = table.names is not None
            self._check_column_types([c.name for c in table.columns])
            self._observed = [
                Observed(c.name, self.column_types.get(c.name), self.named) for c in table.columns
            ]
            self._sample = RowSample() if self._find or self._declared else None
        self._check_names(table, [o.name for o in self._observed])
        columns = []
        taken = None if self._sample is None else self._sample.next_rows(table.n_rows)
        for observed, column in zip(self._observed, table.contiguous(), strict=True):
            observed.observe(column)
            if taken is not None:
                columns.append(take_cells(column, taken))
        if self._sample is not None and taken is not None:
            self._sample.add(taken, columns, table.n_rows)
        return self

    def finish(self) -> "TableCodec":
        """Decide the kinds of the columns observed, and suspect relations between them.

        Relations count when all rows have confirmed them: see :attr:`unconfirmed`.
        """
        if self._observed is None:
            raise DataError("The codec has seen no table: call observe or fit first.")
        kinds = [observed.finish(self.options) for observed in self._observed]
        self._columns = [
            Fitted.of(observed, kind)
            for observed, kind in zip(
                self._observed, _with_activation(kinds, self.options), strict=True
            )
        ]
        self._observed = None
        self._lay_out()
        if self._sample is not None:
            self._search = Search(
                self._columns, self._sample, find=self._find, constraints=self._declared
            )
            self._sample = None
        return self

    @property
    def unconfirmed(self) -> list[Hashable]:
        """The columns between which there may be relations, for :meth:`confirm`."""
        needed = [] if self._search is None else self._search.needed
        return [self._columns[j].name for j in needed]

    def confirm(self, table: Table) -> "TableCodec":
        """Compare suspected relations with the next rows, of which :attr:`unconfirmed` are needed.

        All rows must be given, in one table or several; :meth:`settle` ends it.
        """
        if self._search is not None:
            known = {column.name: column for column in table.columns}
            self._search.observe([known[name] for name in self.unconfirmed])
        return self

    def settle(self) -> "TableCodec":
        """Keep the relations that all rows have confirmed."""
        if self._search is not None:
            self._relations = self._search.finish()
            self._search = None
        return self

    @property
    def relations(self) -> list[RelationSummary]:
        """The relations between columns that decoded rows keep."""
        return [] if self._relations is None else self._relations.describe()

    def broken(self, columns: Sequence[Column]) -> NDArray[np.bool_] | None:
        """Return which decoded rows break a relation; None if there are no relations."""
        if not self._relations:
            return None
        return self._relations.broken(Block.of(self._columns, columns))

    def broken_by(self, columns: Sequence[Column]) -> NDArray[np.bool_]:
        """Return which decoded rows break which relation, as an array (rows, relations)."""
        n = len(columns[0].values) if columns else 0
        if not self._relations:
            return np.zeros((n, 0), bool)
        block = Block.of(self._columns, columns)
        return np.stack([one.broken(block) for one in self._relations.relations], axis=1)

    def encode(self, table: Table) -> NDArray[np.float32]:
        """Encode a table as float rows.

        A level never seen becomes one of the rare ones if the column has such, else all zeros; a
        number outside the range seen counts as its nearest end; a missing cell in a column that
        had none is a zero.
        """
        self._check_names(table, [c.name for c in self._columns])
        out = np.zeros((table.n_rows, self.width), np.float32)
        for column, kind, place in zip(
            table.contiguous(), (c.kind for c in self._columns), self._places, strict=True
        ):
            kind.encode(column, out[:, place])
        return out

    def decode(
        self, encoded: NDArray[Any], rng: np.random.Generator, *, first: int = 0
    ) -> list[Column]:
        """Decode float rows to columns.

        Parameters
        ----------
        encoded : ndarray of shape (n, width)
            What :meth:`encode` gives, or a network's samples in its place.
        rng : numpy.random.Generator
            Draws among rare levels and texts, and where unmodelled columns are missing.
        first : int
            How many new rows were decoded before these; their identifiers are in use.
        """
        encoded = np.asarray(encoded, np.float32)
        if encoded.ndim != 2 or encoded.shape[1] != self.width:
            raise DataError(
                f"encoded has shape {encoded.shape}, but the codec's rows have {self.width} values."
            )
        if np.isnan(encoded).any():
            raise DataError("encoded holds NaN, which no cell can be decoded from.")
        cells = [
            fitted.kind.decode(encoded[:, place], rng, first)
            for fitted, place in zip(self._columns, self._places, strict=True)
        ]
        if self._relations:
            block = Block(self._columns, cells)
            self._relations.repair(block, rng)
            cells = block.cells
        return [fitted.column(*own) for fitted, own in zip(self._columns, cells, strict=True)]

    def describe(self) -> list[ColumnSummary]:
        """Describe what every column was found to be."""
        return [
            ColumnSummary(c.name, c.kind.kind, c.dtype, c.n_missing, c.kind.note())
            for c in self._columns
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted codec as plain data that JSON can hold."""
        plain = {
            "version": _VERSION,
            "named": self.named,
            "options": asdict(self.options),
            "columns": [column.to_dict() for column in self._columns],
        }
        if self._relations:
            plain["relations"] = relations_to_list(self._relations)
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TableCodec":
        """Restore a codec that encodes and decodes like the one stored in the data.

        Raises
        ------
        mgvae.errors.DataError
            If the data are not what :meth:`to_dict` returns.

        Examples
        --------
        >>> import json
        >>> import numpy as np
        >>> from mgvae.codec import TableCodec, read_table
        >>> codec = TableCodec().fit(read_table(np.arange(6.0).reshape(3, 2)))
        >>> TableCodec.from_dict(json.loads(json.dumps(codec.to_dict()))).spans == codec.spans
        True
        """
        given = Fields(data, "the codec")
        if given.take("version", int) != _VERSION:
            given.refuse("version", data["version"])
        options = Fields(given.take("options", dict), "the codec's options")
        codec = cls(
            None,
            options.take("numeric", str),
            options.take("likelihood", str),
            options.take("identifiers", str),
            options.take("max_levels", int),
        )
        options.finish()
        codec.named = given.take("named", bool)
        columns = given.take("columns", list)
        if len(columns) > MOST_COLUMNS:
            raise DataError(f"the codec has {len(columns)} columns, more than {MOST_COLUMNS}.")
        codec._columns = [Fitted.from_dict(column) for column in columns]
        if "relations" in given.data:
            codec._relations = relations_from_list(given.any("relations"), codec._columns)
        given.finish()
        if sum(longest_text(column.kind) for column in codec._columns) > MOST_TEXT:
            raise DataError(
                f"the codec's columns hold texts that make rows of more than {MOST_TEXT} "
                "characters, which a model file cannot hold."
            )
        codec._lay_out()
        return codec

    def _lay_out(self) -> None:
        """Place the columns' spans side by side, joining neighbouring plain numbers."""
        self._places = []
        spans: list[Span] = []
        position, joins = 0, False
        for column in self._columns:
            own = column.kind.spans(str(column.name))
            start = position
            position += sum(span.size for span in own)
            self._places.append(slice(start, position))
            plain = isinstance(column.kind, Numeric) and not column.kind.nullable
            if plain and joins:
                name = f"{spans[-1].name.split(' … ')[0]} … {own[0].name}"
                own = [replace(spans[-1], name=name, size=spans.pop().size + 1)]
            elif isinstance(column.kind, Numeric) and not plain:
                own[0] = replace(own[0], mask=start + 1)
            joins = plain or (joins and not own)
            spans.extend(own)
        self.width = position
        self.spans = tuple(spans)

    def _check_options(self) -> None:
        o = self.options
        for name, value, allowed in (
            ("numeric", o.numeric, get_args(NumericScale)),
            ("likelihood", o.likelihood, ("gaussian", "squared_error", "bernoulli")),
            ("identifiers", o.identifiers, ("new", "missing")),
        ):
            if value not in allowed:
                raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {value!r}.")
        if o.likelihood == "bernoulli" and o.numeric not in ("minmax", "identity"):
            raise ParameterError(
                "likelihood='bernoulli' needs codes between 0 and 1: set numeric='minmax' (or "
                f"'identity' for data in that range), got numeric={o.numeric!r}."
            )
        if not isinstance(o.max_levels, int) or o.max_levels < 1:
            raise ParameterError(f"max_levels must be a positive integer, got {o.max_levels!r}.")
        for column, kind in self.column_types.items():
            if kind not in get_args(KindName):
                raise ParameterError(
                    Setting("column_types"),
                    f" must say of {shown(column)} one of {', '.join(get_args(KindName))}, "
                    f"got {kind!r}.{_nearest(kind, get_args(KindName))}",
                )

    def _check_column_types(self, names: list[Hashable]) -> None:
        for column in self.column_types:
            if column not in names:
                raise ParameterError(
                    Setting("column_types"),
                    f" names the column {shown(column)}, which the table does not have."
                    f"{_nearest(column, names)}",
                )

    def _check_names(self, table: Table, names: list[Hashable]) -> None:
        found = [c.name for c in table.columns]
        known = [str(name) for name in found] == [str(name) for name in names]
        if len(found) != len(names) or (table.names is not None and self.named and not known):
            raise DataError(
                f"The table has {len(found)} columns ({_some(found)}), but the codec was fitted on "
                f"{len(names)} ({_some(names)}). Pass the same columns in the same order."
            )


def _read_constraints(constraints: Any) -> tuple[bool, list[str]]:
    """Tell whether to look for relations, and which are declared."""
    if constraints is None or constraints == "auto":
        return constraints is not None, []
    if not isinstance(constraints, list | tuple):
        raise ParameterError(
            Setting("constraints"),
            ' must be "auto", None, or a list of relations such as ["a <= b"]; got '
            f"{constraints!r:.60}.",
        )
    for one in constraints:
        if not isinstance(one, str):
            raise ParameterError(
                Setting("constraints"), f" must hold texts such as 'a <= b'; got {one!r:.60}."
            )
    return "only" not in constraints, [one for one in constraints if one not in ("only", "auto")]


def _with_activation(kinds: list[Kind], options: Options) -> list[Kind]:
    """Bound the outputs of unscaled numbers as the numbers are bounded."""
    numeric = [kind for kind in kinds if isinstance(kind, Numeric)]
    if options.numeric != "identity" or not numeric:
        return kinds
    low, high = min(k.low for k in numeric), max(k.high for k in numeric)
    activation: Activation = "identity"
    if high <= 1 and low >= -1:
        activation = "sigmoid" if low >= 0 else "tanh"
    if options.likelihood == "bernoulli" and activation != "sigmoid":
        raise DataError(
            f"likelihood='bernoulli' needs numbers between 0 and 1, but they range from {low:g} to "
            f"{high:g}. Set numeric='minmax'."
        )
    return [replace(k, activation=activation) if isinstance(k, Numeric) else k for k in kinds]


def _nearest(name: Any, names: Any) -> str:
    close = difflib.get_close_matches(str(name), [str(n) for n in names], 1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _some(names: list[Hashable]) -> str:
    return ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
