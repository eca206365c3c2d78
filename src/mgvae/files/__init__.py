"""Tables in files: CSV, TSV, Parquet, Feather, Arrow and JSON lines.

What was read from a text file can be written back character by character, and new rows look like
the old ones.
"""

from mgvae.files._cells import MISSING, is_binary
from mgvae.files._formats import (
    EXTENSIONS,
    check_types,
    find_format,
    read,
    without,
    write,
    write_parquet,
)
from mgvae.files._observe import observe_columns
from mgvae.files._source import Source, open_source
from mgvae.files._spelling import Spelling
from mgvae.files._table import Format, Layout, TableFile

__all__ = [
    "EXTENSIONS",
    "MISSING",
    "Format",
    "Layout",
    "Source",
    "Spelling",
    "TableFile",
    "check_types",
    "find_format",
    "is_binary",
    "observe_columns",
    "open_source",
    "read",
    "without",
    "write",
    "write_parquet",
]
