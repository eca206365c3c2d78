"""Any table that a user may hold <-> a neutral list of columns.

Whatever comes in goes out: numpy arrays and lists of lists, pandas and polars DataFrames, pyarrow
Tables. The rows that the user gave are handed back as they are, never through the codec; new rows
get the same types. pandas, polars and pyarrow are only imported if the user's object is theirs.
"""

from mgvae.codec.containers._dispatch import (
    append_labels,
    append_rows,
    only_labels,
    only_rows,
    read_table,
)
from mgvae.codec.containers._rows import is_mixed, put_below, take_rows

__all__ = [
    "append_labels",
    "append_rows",
    "is_mixed",
    "only_labels",
    "only_rows",
    "put_below",
    "read_table",
    "take_rows",
]
