"""Relations between columns that every row of a table keeps, and new rows shall keep too.

They are suspected from a sample of rows (:mod:`._suspects`), confirmed or refuted by all rows
(:mod:`._evidence`), or declared by the user (:mod:`._declared`). New rows are decoded column by
column and then repaired (:mod:`._kept`): what the network sees is the same with relations and
without.
"""

from mgvae.codec.relations._block import Block
from mgvae.codec.relations._kept import Relations, RelationSummary, Search
from mgvae.codec.relations._sample import RowSample
from mgvae.codec.relations._storage import relations_from_list, relations_to_list

__all__ = [
    "Block",
    "RelationSummary",
    "Relations",
    "RowSample",
    "Search",
    "relations_from_list",
    "relations_to_list",
]
