"""What the columns of a table on disk are, batch by batch."""

from collections.abc import Callable

import pyarrow as pa

from mgvae.codec import TableCodec, read_table
from mgvae.errors import DataError
from mgvae.files._source import Source

__all__ = ["observe_columns"]


def observe_columns(
    codec: TableCodec,
    source: Source,
    target: str,
    see_classes: Callable[[pa.Array], object] | None = None,
) -> int:
    """Fit a codec to all columns but the target; return how many rows there are.

    Columns that may be related are read once more.

    Parameters
    ----------
    codec : TableCodec
        Not fitted.
    source : Source
        The rows.
    target : str
        The column that holds the class.
    see_classes : callable, optional
        Called with the target's cells of every batch.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mgvae.files import open_source
    >>> codec = TableCodec()
    >>> observe_columns(codec, open_source(pa.table({"a": [1.5, 2.5], "y": [0, 1]})), "y")
    2
    >>> [column.name for column in codec.describe()]
    ['a']
    """
    n_rows = 0
    for batch in source.batches():
        if see_classes is not None:
            see_classes(batch[target])
        try:
            codec.observe(read_table(pa.Table.from_batches([batch]).drop_columns([target])))
        except DataError as error:
            if n_rows == 0:
                raise
            raise type(error)(f"In the part that begins at row {n_rows}: {error}") from error
        n_rows += batch.num_rows
    if not n_rows:
        raise DataError(f"{source.name} holds no rows.")
    codec.finish()
    names = [str(name) for name in codec.unconfirmed]
    if names:
        for batch in source.only(names).batches():
            codec.confirm(read_table(pa.Table.from_batches([batch])))
        codec.settle()
    return n_rows
