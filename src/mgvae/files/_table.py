"""A table and how its file was written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from mgvae.files._spelling import Spelling

__all__ = ["Format", "Layout", "TableFile"]

Format = Literal["csv", "tsv", "parquet", "feather", "arrow", "jsonl"]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a delimited text file is laid out.

    Parameters
    ----------
    delimiter : str
        What stands between two cells.
    header : bool
        Whether the first line names the columns.
    line_end : str
        What ends a line.
    encoding : str
        As Python calls it.
    marked : bool
        Whether the file begins with a byte order mark.
    quoted : frozenset of str
        Columns whose cells all stand in quotes, needed or not; missing ones need not.
    quoted_missing : frozenset of str
        Columns whose missing cells do.
    quoted_header : bool
        Whether the names in the header do.
    spaced : bool
        Whether the space before a cell in quotes stands outside of them.
    header_cells : mapping of str to str
        How the header spells the columns' names, spaces and quotes and all.
    """

    delimiter: str = ","
    header: bool = True
    line_end: str = "\n"
    encoding: str = "utf-8"
    marked: bool = False
    quoted: frozenset[str] = frozenset()
    quoted_missing: frozenset[str] = frozenset()
    quoted_header: bool = False
    spaced: bool = False
    header_cells: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableFile:
    """What was read from a file: the values, and all it takes to write them back as they were.

    Parameters
    ----------
    table : pyarrow.Table
        The values; missing cells are null.
    format : {"csv", "tsv", "parquet", "feather", "arrow", "jsonl"}
        The format of the file.
    layout : Layout
        The layout of a delimited text file; the usual one for other formats.
    spellings : mapping of str to Spelling
        How the columns that came as text were written.
    cells : mapping of str to pyarrow.ChunkedArray
        The cells themselves, for columns that cannot be written back exactly from their values.
    """

    table: pa.Table
    format: Format
    layout: Layout = Layout()
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    cells: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)

    def spelling(self, name: str) -> Spelling:
        """Return how a column is written; columns that are new are written plainly."""
        return self.spellings.get(name, Spelling())
