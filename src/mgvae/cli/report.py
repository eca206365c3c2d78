"""``mgvae report``: how good synthetic rows are."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mgvae.cli._options import (
    Debug,
    Delimiter,
    Drop,
    Encoding,
    Force,
    Input,
    InputFormat,
    Json,
    Missing,
    NoHeader,
    Quiet,
    Types,
)
from mgvae.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from mgvae.cli._load import Loaded
    from mgvae.report import QualityReport

__all__ = ["EXAMPLES", "check_page", "report", "show", "write_page"]

EXAMPLES = """\b
Examples:
  mgvae report loans.csv balanced.csv --target default -o report.html
  mgvae report loans.csv new.csv -t default --json
  mgvae report train.csv new.csv -t y --held-out test.csv -o report.html
"""

_MARK = "synthetic_source"


def report(
    context: typer.Context,
    real: Input,
    synthetic: Annotated[
        str,
        typer.Argument(
            metavar="SYNTHETIC",
            help="The new rows; the rows of INPUT may stand before them, as balance writes them.",
        ),
    ],
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COLUMN", help="Column that holds the class.")
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="HTML page to write.")
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Real rows that were not shown to the sampler."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of SYNTHETIC with the rows of INPUT that the new ones were made from; "
            f"{_MARK} unless given.",
        ),
    ] = None,
    drop: Drop = None,
    types: Types = None,
    seed: Annotated[
        int, typer.Option(metavar="SEED", min=0, help="Draws the rows looked at in large tables.")
    ] = 0,
    missing: Missing = None,
    no_header: NoHeader = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    input_format: InputFormat = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001 (looked for where errors are caught)
) -> None:
    """Say how good synthetic rows are: fidelity, diversity, separation and privacy.

    Every figure comes with a reading in plain words and a verdict. The page holds everything it
    needs and opens from disk.
    """
    from rich.console import Console

    from mgvae.cli._load import load
    from mgvae.cli._output import print_json
    from mgvae.report import quality

    if output is None and not json:
        raise ParameterError("--output: say where to write the page, or add --json.")
    if output is not None:
        check_page(output, force=force, option="--output")
    loaded = load(
        real,
        target,
        drop=drop,
        types=types,
        missing=missing,
        no_header=no_header,
        delimiter=delimiter,
        encoding=encoding,
        input_format=input_format,
    )
    reading = {
        "encoding": encoding,
        "delimiter": None if delimiter is None else loaded.file.layout.delimiter,
        "header": not no_header,
        "missing": missing or (),
    }
    new, sources = _read_new(synthetic, loaded, source or _MARK, source is not None, reading)
    reserve = None
    if held_out is not None:
        reserve = _like(_read(held_out, reading), loaded, held_out)
    found = quality(
        loaded.table,
        new,
        target=target,
        sources=sources,
        held_out=reserve,
        column_types=loaded.kinds or None,  # type: ignore[arg-type]
        command=shlex.join(["mgvae", *(context.obj or ())]),
        random_state=seed,
    )
    if output is not None:
        write_page(found.to_html(), output)
    if json:
        print_json(found.as_dict())
    show(found, Console(quiet=quiet or json, highlight=False, markup=False))


def check_page(path: str, *, force: bool, option: str) -> None:
    """Raise, before any work is done, if a page could not or may not be written."""
    from mgvae.cli._output import check_output
    from mgvae.report.page import check_packages

    check_output(path, force=force, option=option)
    check_packages()


def write_page(page: str, path: str) -> None:
    """Write a page, whole or not at all."""
    from mgvae.common.atomic import atomic_write, write_stdout

    if path == "-":
        write_stdout(page.encode())
        return
    with atomic_write(path) as file:
        file.write(page.encode())


def show(found: "QualityReport", console: "Console") -> None:
    """Print the summary of every class."""
    from mgvae.cli._summary import printable

    for one in found.classes:
        for line in one.summary:
            console.print(printable(line), soft_wrap=True)


def _read(path: str, reading: dict[str, Any]) -> "pa.Table":
    from mgvae import files

    return files.read(path, **reading).table


def _read_new(
    path: str, loaded: "Loaded", mark: str, asked: bool, reading: dict[str, Any]
) -> "tuple[pa.Table, Any]":
    """Read the new rows and where they come from; leave out the originals before them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = _read(path, reading)
    marks = None
    if mark in table.column_names and mark not in loaded.table.column_names:
        marks = table[mark].cast(pa.int64())
    elif asked:
        raise ParameterError(f"--source: {path} has no column {mark!r} besides those of INPUT.")
    table = _like(table, loaded, path)
    n = loaded.table.num_rows
    if table.num_rows > n and table.slice(0, n).equals(loaded.table):
        table, marks = table.slice(n), None if marks is None else marks.slice(n)
    return table, None if marks is None else pc.fill_null(marks, -1).to_numpy()


def _like(table: "pa.Table", loaded: "Loaded", path: str) -> "pa.Table":
    """Return the columns of INPUT, in their order and with their types."""
    import pyarrow as pa

    wanted = loaded.table.schema
    lacking = [name for name in wanted.names if name not in table.column_names]
    if lacking:
        raise DataError(f"{path} lacks columns that INPUT has: {', '.join(lacking[:10])}.")
    columns = []
    for field in wanted:
        try:
            columns.append(table[field.name].cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"{path}: column {field.name!r} does not hold {field.type} as in INPUT ({error})."
            ) from None
    return pa.table(columns, schema=wanted)
