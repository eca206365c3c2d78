"""``mgvae report``: how good synthetic rows are."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mgvae.cli._options import (
    Debug,
    Delimiter,
    Drop,
    DropMissingTarget,
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
    from mgvae.report import Advice, QualityReport

__all__ = [
    "EXAMPLES",
    "check_page",
    "read_held_out",
    "report",
    "show",
    "with_options",
    "write_page",
]

EXAMPLES = """\b
Examples:
  mgvae report loans.csv balanced.csv --target default -o report.html
  mgvae report loans.csv new.csv -t default --json
  mgvae report train.csv new.csv -t y --held-out test.csv -o report.html
  mgvae report train.csv mgvae.csv smote.csv -t y --held-out test.csv -o report.html
"""

_MARK = "synthetic_source"


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
        str | None, typer.Option("--output", "-o", metavar="FILE", help="HTML page to write.")
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
    drop: Drop = None,
    drop_missing_target: DropMissingTarget = False,
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
    """Say how good synthetic rows are: faithful, diverse, private.

    Every verdict comes with what can be done about it, every figure with a reading in plain words.
    The page holds everything it needs and opens from disk.
    """
    from rich.console import Console

    from mgvae.cli._load import load
    from mgvae.cli._output import print_json
    from mgvae.report import quality, side_by_side

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
        drop_missing_target=drop_missing_target,
    )
    reading = {
        "encoding": encoding,
        "delimiter": None if delimiter is None else loaded.file.layout.delimiter,
        "header": not no_header,
        "missing": missing or (),
    }
    reserve = None
    if held_out is not None:
        reserve = _like(_read(held_out, reading), loaded, held_out)
    found = []
    for path, name in zip(synthetic, _names(synthetic), strict=True):
        new, sources, anchors = _read_new(
            path, loaded, source or _MARK, source is not None, reading
        )
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
        found.append(with_options(judged))
    if output is not None:
        write_page(side_by_side(found), output)
    if json:
        print_json(
            found[0].as_dict()
            if len(found) == 1
            else {"reports": [judged.as_dict() for judged in found]}
        )
    console = Console(quiet=quiet or json, highlight=False, markup=False)
    for judged in found:
        if len(found) > 1:
            console.print(judged.name, style="bold")
        show(judged, console)


def with_options(found: "QualityReport") -> "QualityReport":
    """Return a report whose advice names options in the place of parameters."""
    from dataclasses import replace

    classes = [
        replace(
            one,
            answers=[
                replace(answer, advice=[_as_option(advice) for advice in answer.advice])
                for answer in one.answers
            ],
        )
        for one in found.classes
    ]
    return replace(found, classes=classes)


def _as_option(advice: "Advice") -> "Advice":
    from dataclasses import replace

    from mgvae.cli._words import spell
    from mgvae.errors import Setting

    if advice.setting is None:
        return advice
    if advice.setting == "held_out":
        return replace(advice, change="--held-out FILE")
    name = {"sampling_strategy": "share"}.get(advice.setting, advice.setting)
    return replace(advice, change=spell(Setting(name, advice.value)))


def _names(paths: list[str]) -> list[str]:
    """Return the names of files; whole paths where two have the same name."""
    from pathlib import Path

    stems = [Path(path).name.split(".")[0] for path in paths]
    return stems if len(set(stems)) == len(stems) else paths


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
    """Print the summary of every class, and what can be done."""
    from mgvae.cli._summary import printable
    from mgvae.cli._warnings import wrapped

    def say(text: str) -> None:
        console.print(wrapped(printable(text), terminal=console.is_terminal), soft_wrap=True)

    for one in found.classes:
        for line in one.summary:
            say(line)
        advice = {a.change: a for answer in one.answers for a in answer.advice}
        for change, one_advice in advice.items():
            say(f"  {change}: {one_advice.gain}. Cost: {one_advice.cost}.")


def read_held_out(text: str | None, loaded: "Loaded | None") -> "float | pa.Table":
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
    return _like(_read(text, {}), loaded, text)


def _read(path: str, reading: dict[str, Any]) -> "pa.Table":
    from mgvae import files

    return files.read(path, **reading).table


def _read_new(
    path: str, loaded: "Loaded", mark: str, asked: bool, reading: dict[str, Any]
) -> "tuple[pa.Table, Any, Any]":
    """Read the new rows and both their parents; leave out the originals before them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from mgvae.streams import anchor_mark

    table = _read(path, reading)
    marks = [
        table[name].cast(pa.int64())
        if name in table.column_names and name not in loaded.table.column_names
        else None
        for name in (mark, anchor_mark(mark))
    ]
    if asked and marks[0] is None:
        raise ParameterError(f"--source: {path} has no column {mark!r} besides those of INPUT.")
    table = _like(table, loaded, path)
    n = loaded.table.num_rows
    start = n if table.num_rows > n and table.slice(0, n).equals(loaded.table) else 0
    sources, anchors = (
        None if rows is None else pc.fill_null(rows.slice(start), -1).to_numpy() for rows in marks
    )
    return table.slice(start), sources, anchors


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
