"""``mgvae report``: how good synthetic rows are."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mgvae.cli._options import Debug, Force, Input, Json, Quiet, or_stdout
from mgvae.cli._reading import AS_FOUND, Reading, takes_reading
from mgvae.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from mgvae.cli._load import Loaded

__all__ = ["EXAMPLES", "read_held_out", "report"]

EXAMPLES = """\b
Examples:
  mgvae report loans.csv balanced.csv --target default -o report.html
  mgvae report loans.csv new.csv -t default --json
  mgvae report train.csv new.csv -t y --held-out test.csv -o report.html
  mgvae report train.csv mgvae.csv smote.csv -t y --held-out test.csv -o report.html
"""

_MARK = "synthetic_source"


@takes_reading
def report(
    context: typer.Context,
    real: Input,
    synthetic: Annotated[
        list[str],
        typer.Argument(
            metavar="SYNTHETIC...",
            help="The new rows; the rows of INPUT may stand before them, as balance writes them. "
            "Several files are set side by side.",
        ),
    ],
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COLUMN", help="Column that holds the class.")
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", callback=or_stdout, help="HTML page to write."
        ),
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Real rows that were not shown to the sampler. Without them it cannot be known "
            "whether new rows were learned by heart.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of SYNTHETIC with the majority rows of INPUT that guided the new ones; "
            f"{_MARK} unless given. The minority rows that they started from are looked for "
            "beside it, in a column whose name ends in _anchor.",
        ),
    ] = None,
    reading: Reading = AS_FOUND,
    seed: Annotated[
        int, typer.Option(metavar="SEED", min=0, help="Draws the rows looked at in large tables.")
    ] = 0,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001 (looked for where errors are caught)
) -> None:
    """Say how good synthetic rows are: faithful, diverse, private.

    Every verdict comes with what can be done about it, every figure with a reading in plain words.
    The page holds everything it needs and opens from disk.
    """
    from rich.console import Console

    from mgvae.cli._checks import check_one_stdout, check_page
    from mgvae.cli._judged import tell
    from mgvae.cli._load import load
    from mgvae.cli._output import print_json
    from mgvae.cli._warnings import one_line_warnings
    from mgvae.report import quality

    if output is None and not json:
        raise ParameterError("--output: say where to write the page, or add --json.")
    check_one_stdout(output=output, json=json)
    if output is not None:
        check_page(output, force=force, option="--output")
    with one_line_warnings(quiet or json):
        loaded = load(real, target, reading)
        reserve = None if held_out is None else _read_like(held_out, loaded, reading)
        found = []
        for path, name in zip(synthetic, _names(synthetic), strict=True):
            new, sources, anchors = _read_new(path, loaded, reading, source)
            judged = quality(
                loaded.table,
                new,
                target=target,
                sources=sources,
                anchors=anchors,
                held_out=0 if reserve is None else reserve,
                column_types=loaded.kinds or None,  # type: ignore[arg-type]
                command=shlex.join(["mgvae", *(context.obj or ())]),
                name=name,
                random_state=seed,
            )
            found.append(judged)
    found = tell(
        found,
        output,
        Console(stderr=output == "-", quiet=quiet or json, highlight=False, markup=False),
    )
    if json:
        print_json(
            found[0].as_dict()
            if len(found) == 1
            else {"reports": [judged.as_dict() for judged in found]}
        )


def _names(paths: list[str]) -> list[str]:
    """Return the names of files; whole paths where two have the same name."""
    from pathlib import Path

    stems = [Path(path).name.split(".")[0] for path in paths]
    return stems if len(set(stems)) == len(stems) else paths


def read_held_out(
    text: str | None, loaded: "Loaded | None", reading: Reading
) -> "float | pa.Table":
    """Read what --held-out of balance says: a part of each class, or a file."""
    if text is None:
        return 0.5
    try:
        part = float(text)
    except ValueError:
        part = None
    if part is not None:
        if not 0 <= part < 1:
            raise ParameterError(f"--held-out: a part lies from 0 to below 1; got {text}.")
        return part
    if loaded is None:
        raise ParameterError(f"--held-out: of images only a part can be held out; got {text!r}.")
    return _read_like(text, loaded, reading)


def _read_new(
    path: str, loaded: "Loaded", reading: Reading, source: str | None
) -> "tuple[pa.Table, Any, Any]":
    """Read the new rows and both their parents; leave out the originals before them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from mgvae import files
    from mgvae.streams import anchor_mark

    mark = source or _MARK
    table = files.read(path, **reading.text).table
    marks = [
        table[name].cast(pa.int64())
        if name in table.column_names and name not in loaded.table.column_names
        else None
        for name in (mark, anchor_mark(mark))
    ]
    if source is not None and marks[0] is None:
        raise ParameterError(f"--source: {path} has no column {mark!r} besides those of INPUT.")
    table = _like(table, loaded, path)
    n = loaded.table.num_rows
    start = n if table.num_rows > n and table.slice(0, n).equals(loaded.table) else 0
    sources, anchors = (
        None if rows is None else pc.fill_null(rows.slice(start), -1).to_numpy() for rows in marks
    )
    return table.slice(start), sources, anchors


def _read_like(path: str, loaded: "Loaded", reading: Reading) -> "pa.Table":
    """Read a file that has the columns of INPUT."""
    from mgvae import files

    return _like(files.read(path, **reading.text).table, loaded, path)


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
