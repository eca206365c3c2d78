"""Delimited text files, written as the file that the rows came from was."""

import codecs
import re
from functools import reduce
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from mgvae.files._cells import spell
from mgvae.files._spelling import Spelling
from mgvae.files._table import Layout, TableFile

__all__ = ["write_csv"]

_ROWS = 1 << 14  # rows written at a time


def write_csv(
    file: BinaryIO,
    table: pa.Table,
    like: TableFile,
    *,
    layout: Layout,
    originals: int = 0,
    escape_formulas: bool = False,
) -> None:
    r"""Write a table as delimited text.

    Parameters
    ----------
    file : binary file
        Where to write.
    table : pyarrow.Table
        What to write.
    like : TableFile
        The file that the columns come from, which says how they are spelled.
    layout : Layout
        Delimiter, header, line ends, encoding and quotes.
    originals : int
        So many rows at the beginning are the rows of ``like``; their cells are written exactly as
        they were read.
    escape_formulas : bool
        Whether text that a spreadsheet would run as a formula gets a ``'`` in front.

    Examples
    --------
    >>> import io
    >>> from mgvae.files import Layout, TableFile
    >>> table = pa.table({"name": ["a;b", None], "n": [1, 2]})
    >>> file = io.BytesIO()
    >>> write_csv(file, table, TableFile(table, "csv"), layout=Layout(delimiter=";"))
    >>> file.getvalue()
    b'name;n\n"a;b";1\n;2\n'
    """
    encoder = codecs.getincrementalencoder(layout.encoding)()
    names = table.column_names
    if layout.marked:
        file.write(encoder.encode("\ufeff"))
    if layout.header:
        header = pa.array([name or None for name in names], pa.string())
        always = pa.scalar(layout.quoted_header)
        plain = _cells(header, None, Spelling(), layout, always, False).to_pylist()
        safe = _cells(header, None, Spelling(), layout, always, escape_formulas).to_pylist()
        cells = [
            layout.header_cells.get(name, cell) if cell == same else cell
            for name, cell, same in zip(names, safe, plain, strict=True)
        ]
        file.write(encoder.encode(layout.delimiter.join(cells) + layout.line_end))
    starts = [*range(0, originals, _ROWS), *range(originals, table.num_rows, _ROWS)]
    for start, stop in zip(starts, [*starts[1:], table.num_rows], strict=True):
        rows = []
        for name in names:
            values = table[name].slice(start, stop - start).combine_chunks()
            known = stop <= originals and name in like.cells
            text = like.cells[name].slice(start, stop - start).combine_chunks() if known else None
            quoted = pc.if_else(
                pc.is_valid(values), name in layout.quoted, name in layout.quoted_missing
            )
            how = like.spelling(name)
            rows.append(_cells(values, text, how, layout, quoted, escape_formulas))
        if len(names) == 1:  # an empty line is no row
            rows = [pc.if_else(pc.equal(rows[0], ""), '""', rows[0])]
        lines = pc.binary_join_element_wise(*rows, layout.delimiter)
        lines = pc.binary_join_element_wise(lines, layout.line_end, "")
        # the strings of an array lie one behind the other in memory: that is the file
        block = lines.buffers()[2][: pc.sum(pc.binary_length(lines)).as_py()]
        utf8 = layout.encoding == "utf-8"
        file.write(block if utf8 else encoder.encode(block.to_pybytes().decode()))


def _cells(
    values: pa.Array,
    text: pa.Array | None,
    spelling: Spelling,
    layout: Layout,
    quoted: pa.Array | pa.Scalar,
    escape_formulas: bool,
) -> pa.Array:
    """Write values, or the text they were read from, as cells that can be told apart."""
    text = spell(values, spelling) if text is None else text
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if escape_formulas and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        text = pc.replace_substring_regex(text, r"^(\s*[=+\-@\t\r])", r"'\1")
    special = reduce(
        pc.or_, (pc.match_substring(text, c) for c in (layout.delimiter, '"', "\n", "\r"))
    )
    before = spelling.prefix if layout.spaced else ""
    if before:  # further space belongs to the value
        special = pc.or_(special, pc.match_substring_regex(text, rf"^{re.escape(before)}\s"))
    empty = pc.and_(pc.is_valid(values), pc.equal(text, ""))  # not the same as a missing cell
    needed = pc.or_(pc.or_(special, empty), quoted)
    if not pc.any(needed).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    if before:
        doubled = pc.replace_substring_regex(doubled, f"^{re.escape(before)}", "")
    quotes = pc.binary_join_element_wise(f'{before}"', doubled, '"', "")
    return pc.if_else(needed, quotes, text)
