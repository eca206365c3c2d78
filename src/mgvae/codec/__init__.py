"""A user's data <-> the float rows that a network sees."""

from mgvae.codec._cells import LEVELS, NUMBERS, cell_numbers, cell_texts
from mgvae.codec._columns import Column, Table, join_columns
from mgvae.codec._infer import KindName, NumericScale
from mgvae.codec._spans import Activation, LikelihoodName, Span
from mgvae.codec._storage import MOST_TEXT, Fields, plain, unplain
from mgvae.codec._table_codec import ColumnSummary, TableCodec
from mgvae.codec.containers import (
    append_labels,
    append_rows,
    is_mixed,
    only_labels,
    only_rows,
    put_below,
    read_table,
    take_rows,
)
from mgvae.codec.images import Channels, ImageCodec
from mgvae.codec.relations import RelationSummary

__all__ = [
    "LEVELS",
    "MOST_TEXT",
    "NUMBERS",
    "Activation",
    "Channels",
    "Column",
    "ColumnSummary",
    "Fields",
    "ImageCodec",
    "KindName",
    "LikelihoodName",
    "NumericScale",
    "RelationSummary",
    "Span",
    "Table",
    "TableCodec",
    "append_labels",
    "append_rows",
    "cell_numbers",
    "cell_texts",
    "is_mixed",
    "join_columns",
    "only_labels",
    "only_rows",
    "plain",
    "put_below",
    "read_table",
    "take_rows",
    "unplain",
]
