"""``mgvae sample``: new rows from a model file."""

import secrets
import time
from pathlib import Path
from typing import Annotated

import typer

from mgvae.cli._model import Model
from mgvae.cli._options import Debug, Force, Formulas, Json, OutputFormat, Quiet, Seed, or_stdout
from mgvae.errors import ParameterError

__all__ = ["EXAMPLES", "sample"]

EXAMPLES = """\b
Examples:
  mgvae sample model.safetensors --label fraud -n 10000 -o new.csv
  mgvae sample model.safetensors --label 1 -n 500 --target y --seed 7 -o - > new.csv
  mgvae sample model.safetensors -n 1000000000 --partitions 2000 --jobs 16 -o new
"""


def sample(
    model: Model,
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", min=1, help="How many rows.")],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUTPUT",
            callback=or_stdout,
            help="File to write, or folder with --partitions; - is standard output.",
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Their class; a model of one class needs no such word."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="Add a column of it.")
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            min=1,
            help="Write a folder of K files, Parquet unless said otherwise: for more rows than "
            "memory holds.",
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            metavar="N", help="Files written at once, which changes no row; -1 is all cores."
        ),
    ] = 1,
    seed: Seed = None,
    output_format: OutputFormat = None,
    csv_formulas: Formulas = "keep",
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001 (looked for where errors are caught)
) -> None:
    """Make new rows of one class with a model that was saved."""
    from mgvae.cli._checks import check_jobs, check_one_stdout, check_output
    from mgvae.cli._draw import Draw, check_folder, write_file, write_folder
    from mgvae.cli._output import find_output_format, print_json
    from mgvae.cli._summary import printable

    started = time.perf_counter()
    check_jobs(jobs)
    if partitions is None:
        if jobs != 1:
            raise ParameterError("--jobs is for --partitions: one file is written by one process.")
        check_one_stdout(output=output, json=json)
        check_output(output, force=force)
    else:
        if partitions > rows:
            raise ParameterError(f"--partitions must be at most the {rows} rows; got {partitions}.")
        check_folder(output)
        if output_format is None and not Path(output).suffix:
            output_format = "parquet"
    write_as = find_output_format(output, output_format)
    seed = secrets.randbelow(2**32) if seed is None else seed
    draw = Draw(model, rows, label, target, seed, write_as, csv_formulas == "escape")
    if partitions is None:
        write_file(draw, output)
    else:
        write_folder(draw, output, partitions, jobs)
    seconds = round(time.perf_counter() - started, 3)
    if json:
        found = {"output": output, "rows": rows, "label": str(draw.find_label()), "seed": seed}
        parts = {} if partitions is None else {"partitions": partitions}
        print_json({**found, **parts, "seconds": seconds})
    elif not quiet:
        where = "standard output" if output == "-" else printable(output)
        parts_text = "" if partitions is None else f", in {partitions:,} files"
        typer.echo(f"Wrote {rows:,} rows to {where}{parts_text}, seed {seed}.", err=output == "-")
