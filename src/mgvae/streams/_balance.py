"""From a table on disk to a balanced one, in bounded memory."""

import os
from typing import Any

from mgvae.common.atomic import check_writable
from mgvae.common.disk import working_folder
from mgvae.errors import DataError, ParameterError
from mgvae.files import Source, open_source, write_parquet
from mgvae.samplers import MGVAE, GenerativeSampler, learn, look, make
from mgvae.streams._in_batches import InBatches, anchor_mark, check_output_room

__all__ = ["balance_dataset"]


def balance_dataset(
    source: Any,
    target: str,
    output: str | os.PathLike[str],
    sampler: GenerativeSampler | None = None,
    *,
    only_synthetic: bool = False,
    mark: str | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> GenerativeSampler:
    """Balance a table that need not fit in memory, and write the result as a Parquet file.

    The rows are those that ``sampler.fit_resample`` would give, for the same ``random_state``, and
    do not depend on how the source is cut into batches.

    .. versionadded:: 0.1

    Parameters
    ----------
    source : path, pyarrow Dataset or Table, callable or iterable
        A Parquet file; a pyarrow Dataset or Table; a function without parameters that gives the
        batches (pyarrow RecordBatch or Table) from the first on at every call; or an iterable of
        batches, which is read once and copied to the temporary folder. All others are read three
        times, and columns between which there may be relations once more.
    target : str
        The column that holds the class. All other columns are modelled.
    output : path
        The Parquet file to write: the original rows as they are, then the new ones. A file that is
        there is replaced, and only when all is done.
    sampler : MGVAE, CVAE or CGAN, optional
        What learns and makes the rows; ``MGVAE()`` if left out. It is fitted.
    only_synthetic : bool
        Whether to leave the original rows out.
    mark : str, optional
        Name of one more column, with the majority row of the source, counted from 0, that guided
        each new row; it is missing for original rows. A second column has the minority row that
        it started from; its name ends in ``_anchor``.
    folder : path, optional
        Where the temporary folder is made. It takes 4 bytes per encoded number (about as many as
        the table has columns, more with categories) and row, and is removed in the end. The
        system's usual place, which the environment variable TMPDIR sets, if left out.

    Returns
    -------
    sampler : MGVAE, CVAE or CGAN
        Fitted, to save it or to generate more. It has no ``source_indices_``: see ``mark``.

    Raises
    ------
    mgvae.errors.DataError
        If the source cannot be read or holds what a table cannot.
    mgvae.errors.ResourceError
        If there is not enough room on the disk.

    See Also
    --------
    mgvae.MGVAE.fit_resample : The same for a table in memory.

    Examples
    --------
    >>> import tempfile
    >>> from collections import Counter
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from mgvae import MGVAE, balance_dataset
    >>> rng = np.random.default_rng(0)
    >>> table = pa.table({"x": rng.normal(size=500), "y": rng.random(500) < 0.1})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = Path(folder, "balanced.parquet")
    ...     sampler = balance_dataset(table, "y", out, MGVAE(random_state=0))
    ...     counts = Counter(pq.read_table(out)["y"].to_pylist())
    >>> counts[False] == counts[True]
    True
    """
    sampler = MGVAE() if sampler is None else sampler
    if os.fspath(output) != "-":
        check_writable(output)
    with working_folder(folder) as room:
        rows = open_source(source, room)
        _check_columns(rows, target, mark)
        given = InBatches(rows, target, folder=room)
        seen = look(sampler, given)
        check_output_room(seen, os.fspath(output))
        with sampler.all_or_nothing():
            seeds = learn(sampler, given, seen)
        parts = make(sampler.state_, seeds, sampler.n_threads)
        batches = given.balanced(sampler.state_, parts, mark=mark, originals=not only_synthetic)
        write_parquet(batches, given.schema(mark), os.fspath(output))
    return sampler


def _check_columns(source: Source, target: str, mark: str | None) -> None:
    """Raise if the table does not have the columns that are needed, or has others too many."""
    names = source.schema.names
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"{source.name} has more than one column called {twice[0]!r}.")
    if target not in names:
        raise ParameterError(
            f"target: {source.name} has no column {target!r}. Its columns are "
            f"{', '.join(names[:20])}{', ...' if len(names) > 20 else ''}."
        )
    if len(names) < 2:
        raise DataError(f"{source.name} has no column besides the target {target!r}.")
    for name in [] if mark is None else [mark, anchor_mark(mark)]:
        if name in names:
            raise ParameterError(f"mark: there is a column {name!r} already. Choose another name.")
