"""New rows from a model file, as Arrow tables: all at once, or in parts by several processes."""

from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from joblib import Parallel, delayed
from narwhals import dependencies as of

from mgvae import files
from mgvae.cli._model import open_model
from mgvae.common.atomic import atomic_folder, sweep
from mgvae.errors import DataError, ModelFileError, ParameterError, ResourceError

__all__ = ["Draw", "check_folder", "write_file", "write_folder"]


@dataclass(frozen=True)
class Draw:
    """What is to be drawn, and how it is written.

    Parameters
    ----------
    model : str
        The model file.
    rows : int
        How many.
    label : str or None
        Their class; None for the only one.
    target : str or None
        Name of a column that holds the class.
    seed : int
        Decides the rows.
    format : str
        Of the files.
    escape_formulas : bool
        See :func:`mgvae.files.write`.
    """

    model: str
    rows: int
    label: str | None
    target: str | None
    seed: int
    format: files.Format
    escape_formulas: bool

    def find_label(self) -> Any:
        """Return the class as it is written in the model."""
        sampler = _sampler(self.model)
        codes: Sequence[int] = list(sampler.state_.generators)
        known = {str(sampler.classes_[code]): sampler.classes_[code] for code in codes}
        if self.label is None and len(known) == 1:
            return next(iter(known.values()))
        if self.label not in known:
            said = (
                "is needed"
                if self.label is None
                else f"{self.label!r} is not a class that this model makes"
            )
            raise ParameterError(f"--label {said}; it makes: {', '.join(known)}.")
        return known[self.label]

    def table(self, partition: tuple[int, int] | None = None) -> pa.Table:
        """Make the rows, or a part of them."""
        label = self.find_label()
        made = _sampler(self.model).generate(
            self.rows, label, random_state=self.seed, partition=partition
        )
        table = _table(made)
        if self.target is None:
            return table
        if self.target in table.column_names:
            raise ParameterError(f"--target: there is a column {self.target!r} already.")
        plain = label.item() if hasattr(label, "item") else label
        return table.append_column(self.target, pa.array([plain] * table.num_rows))

    def spellings(self) -> dict[str, files.Spelling]:
        """Return how the file that the model was trained on writes its columns."""
        try:
            return {
                name: files.Spelling.from_plain(how)
                for name, how in _sampler(self.model).state_.spellings.items()
            }
        except DataError as error:
            raise ModelFileError(f"{self.model} cannot be used: {error}") from error


def write_file(draw: Draw, path: str, partition: tuple[int, int] | None = None) -> None:
    """Write the rows, or a part of them, to one file; ``-`` is standard output."""
    table = draw.table(partition)
    files.write(
        table,
        path,
        files.TableFile(table, draw.format, spellings=draw.spellings()),
        format=draw.format,
        escape_formulas=draw.escape_formulas,
    )


def write_folder(draw: Draw, path: str, parts: int, jobs: int) -> None:
    """Write the rows to a folder of files, several at once; it appears when it is whole."""
    draw.find_label()
    digits = max(5, len(str(parts - 1)))
    with atomic_folder(path) as folder:
        names = [folder / f"part-{i:0{digits}}.{draw.format}" for i in range(parts)]
        try:
            Parallel(n_jobs=jobs, batch_size=1)(
                delayed(write_file)(draw, str(name), (i, parts)) for i, name in enumerate(names)
            )
        except BrokenProcessPool as error:
            raise ResourceError(
                "a process that made rows was ended from outside, most likely for want of memory. "
                "Lower --jobs, or raise --partitions."
            ) from error


def check_folder(path: str) -> None:
    """Raise, before any work is done, if a folder could not or may not be written."""
    folder = Path(path)
    if path == "-":
        raise ParameterError("--output: partitions are written to a folder, not to - .")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(f"--output: {path} exists already; say a new folder.")
    if not folder.resolve().parent.is_dir():
        raise ParameterError(f"--output: there is no folder {folder.resolve().parent}.")
    sweep(folder.resolve())


def _sampler(model: str) -> Any:
    """Return the sampler in a file, read once by each process."""
    with suppress(OSError):  # reading it says what is wrong
        facts = Path(model).stat()
        return _read(model, (facts.st_mtime_ns, facts.st_size, facts.st_ino))
    return open_model(model).sampler


@lru_cache(maxsize=1)
def _read(model: str, version: tuple[int, ...]) -> Any:  # noqa: ARG001 (a part of the key)
    return open_model(model).sampler


def _table(made: Any) -> pa.Table:
    """Return new rows, in whichever container, as an Arrow table."""
    if of.is_pyarrow_table(made):
        return made
    if of.is_polars_dataframe(made):
        return made.to_arrow()
    if of.is_pandas_dataframe(made):
        named = made.set_axis([str(name) for name in made.columns], axis=1)
        return pa.Table.from_pandas(named, preserve_index=False).replace_schema_metadata()
    array = np.array(made, dtype=object) if isinstance(made, list) else made
    if array.ndim != 2:
        raise DataError("MODEL makes images, which are no rows of a table. Load it in Python.")
    cells = {f"c{j}": pa.array(array[:, j], from_pandas=True) for j in range(array.shape[1])}
    return pa.table(cells)
