"""``mgvae balance``: a table in, a balanced table out; the same for a folder of images."""

import os
import secrets
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mgvae.cli import _interrupt
from mgvae.cli._options import (
    Debug,
    Force,
    Formulas,
    Input,
    Json,
    OutputFormat,
    Quiet,
    Seed,
    or_stdout,
)
from mgvae.cli._reading import AS_FOUND, Reading, takes_reading
from mgvae.errors import ParameterError

if TYPE_CHECKING:
    from mgvae import MGVAE

__all__ = ["EXAMPLES", "balance"]

EXAMPLES = """\b
Examples:
  mgvae balance loans.csv --target default -o balanced.parquet
  mgvae balance loans.csv --target default --dry-run
  mgvae balance loans.csv --target default -o out.csv --report report.html
  mgvae balance adult.data --no-header --missing "?" --target c14 -o out.csv
  mgvae balance a.csv -t y --strategy '{"fraud": 5000}' --seed 7 -o b.csv
  zcat a.csv.gz | mgvae balance - -t y --only-synthetic -o - > new.csv
  mgvae balance photos/ -o balanced/ --minutes 5
  mgvae balance photos/ --size 64 -o balanced/ --checkpoint run/

\b
Exit codes:
  0 done, 1 failed while working, 2 bad input or usage, 130 interrupted
"""

MARK = "synthetic_source"
_MOST_DIGITS = 18  # of a number of steps
_SAVING = 10.0  # seconds that Ctrl-C waits for the state of training to be written


@takes_reading
def balance(
    context: typer.Context,
    source: Input,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="Column that holds the class; a table needs it.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUTPUT",
            callback=or_stdout,
            help="File to write, - is standard output; for images a new folder.",
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="STRATEGY",
            help="How much to make: auto (every class as large as the largest), minority (the "
            "smallest only), a ratio such as 0.5, or rows by class: '{\"yes\": 500}'.",
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Raise every smaller class to this part of the largest, above 0 and at most 1; "
            "in the place of --strategy.",
        ),
    ] = None,
    seed: Seed = None,
    generation: Annotated[
        Literal["translate", "responsibility", "bridge"] | None,
        typer.Option(
            help="Where new rows come from: majority rows translated, those near the minority "
            "only, or minority rows that go some way to a majority row. The last unless given; "
            "for images the first.",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(metavar="FACTOR", min=0, help="Factor on the noise of new rows; 1."),
    ] = None,
    rejection: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the rows made that is thrown away, the least plausible ones; 0.",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Named settings, such as paper-tables.")
    ] = None,
    reading: Reading = AS_FOUND,
    identifiers: Annotated[
        Literal["new", "missing"] | None,
        typer.Option(help="Identifier columns of new rows get new values, or none."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RELATION",
            help='What new rows shall keep besides the relations found: "a <= b", '
            '"total = x + y", "a -> b" (a determines b), "(a, b)" (combinations seen). Repeatable.',
        ),
    ] = None,
    no_relations: Annotated[
        bool,
        typer.Option("--no-relations", help="Do not look for relations between columns."),
    ] = False,
    only_synthetic: Annotated[
        bool, typer.Option("--only-synthetic", help="Write the new rows only.")
    ] = False,
    mark_synthetic: Annotated[
        bool,
        typer.Option(
            "--mark-synthetic",
            help="Add two columns with the rows of INPUT, counted from 0, that each new row was "
            "made from: the majority row that guided it, and the minority row that it started "
            "from. They are missing for original rows.",
        ),
    ] = False,
    mark_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Name of the first, if not {MARK}; the other ends in _anchor.",
        ),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            callback=or_stdout,
            help="HTML page on how good the new rows are. A second sampler is trained for it.",
        ),
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            metavar="PART|FILE",
            help="For --report: the part of each class that the second sampler does not see, 0.5 "
            "unless given (0 trains none), or a file with real rows that are not in INPUT.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--save-model", metavar="FILE", help="Keep the model for mgvae sample."),
    ] = None,
    without_rows: Annotated[
        bool,
        typer.Option(
            "--model-without-rows", help="Save a model from which no rows can be worked out."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Stop after saying what the table holds.")
    ] = False,
    output_format: OutputFormat = None,
    csv_formulas: Formulas = "keep",
    size: Annotated[
        int | None,
        typer.Option(
            metavar="PIXELS", help="Images: side, 8 to 128; their own, at most 64, unless given."
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(metavar="MINUTES", help="Images: the most that training shall take."),
    ] = None,
    n_threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", help="Images: threads; all cores unless given."),
    ] = None,
    network: Annotated[
        Literal["auto", "mlp", "cnn", "residual"] | None, typer.Option(help="Images: the network.")
    ] = None,
    link: Annotated[
        bool, typer.Option("--link", help="Images: link the originals instead of copying them.")
    ] = False,
    pretrain_steps: Annotated[
        str | None,
        typer.Option(metavar="STEPS", help='Training steps on the majority, or "20 epochs".'),
    ] = None,
    finetune_steps: Annotated[
        str | None, typer.Option(metavar="STEPS", help="Training steps on each other class.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Where to train: cpu, cuda, ...")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Classes trained at once; -1 is all cores.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep the state of training there: when the run is cut off, the same command goes "
            "on with it.",
        ),
    ] = None,
    checkpoint_seconds: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time between two states of training; 30."),
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001 (looked for where errors are caught)
) -> None:
    """Balance a table: write its rows and new ones of the smaller classes.

    The rows of INPUT come first and unchanged, new rows follow. The largest class is the majority.
    Each new row of a table has two parents: it starts from a row of its own class, its anchor, and
    goes some way towards a row of the majority, its guide.

    INPUT may also be a folder of images with one folder per class. Then OUTPUT is a new folder
    with the original images, new ones, and manifest.csv.
    """
    from rich.console import Console

    from mgvae.cli._balance_images import balance_folder, refuse_table_options
    from mgvae.cli._balance_table import balance_table, describe_table
    from mgvae.cli._checks import check_jobs, check_one_stdout, check_output, check_page
    from mgvae.cli._load import load
    from mgvae.cli._output import find_output_format, print_json
    from mgvae.cli._warnings import one_line_warnings
    from mgvae.cli.report import read_held_out

    started = time.perf_counter()
    check_jobs(jobs)
    if share is not None and strategy is not None:
        raise ParameterError("--share and --strategy both say how much to make: give one of them.")
    if rejection is not None and not 0 <= rejection < 1:
        raise ParameterError(f"--rejection lies from 0 to below 1; got {rejection:g}.")
    if held_out is not None and page is None:
        raise ParameterError("--held-out is for the figures of --report: add it.")
    command = ["mgvae", *(context.obj or ())]
    if checkpoint is not None:
        seed = _seed_of_checkpoint(checkpoint, seed)
        _interrupt.allow(_SAVING)
    if seed is None:
        seed = secrets.randbelow(2**32)
        command += ["--seed", str(seed)]
    if minutes is not None and checkpoint is not None:
        raise ParameterError(
            "--minutes and --checkpoint exclude each other: a run that goes on must take the steps "
            "that it began with. Say --minutes with --dry-run, and then the steps that it shows."
        )
    if Path(source).is_dir():
        refuse_table_options(
            {
                "--target": target,
                "--drop": reading.drop,
                "--drop-missing-target": reading.drop_missing_target,
                "--type": reading.types,
                "--identifiers": identifiers,
                "--keep": keep,
                "--no-relations": no_relations,
                "--mark-synthetic": mark_synthetic or mark_name,
                "--missing": reading.missing,
                "--no-header": reading.no_header,
                "--delimiter": reading.delimiter,
                "--encoding": reading.encoding,
                "--input-format": reading.input_format,
                "--output-format": output_format,
            }
        )
        with one_line_warnings(quiet):
            report = balance_folder(
                source,
                output,
                make_sampler=lambda strategy: _make_sampler(
                    preset,
                    sampling_strategy=strategy,
                    random_state=seed,
                    generation=generation,
                    temperature=temperature,
                    rejection=rejection,
                    network=network,
                    pretrain_steps=_read_steps(pretrain_steps),
                    finetune_steps=_read_steps(finetune_steps),
                    device=device,
                    n_jobs=jobs,
                    n_threads=n_threads or _cores(jobs),
                    checkpoint=_checkpoint(checkpoint, checkpoint_seconds),
                    verbose=not (quiet or json),
                ),
                strategy=strategy,
                size=size,
                minutes=minutes,
                originals="leave" if only_synthetic else "link" if link else "copy",
                dry_run=dry_run,
                console=Console(quiet=quiet or json, highlight=False, markup=False),
                seed=seed,
                page=page,
                model=model,
                without_rows=without_rows,
                force=force,
                command=shlex.join(command),
                share=share,
                held_out=read_held_out(held_out, None, reading),
            )
        if json:
            print_json(report)
        return
    if target is None:
        raise typer.BadParameter("a table needs it", param_hint="--target")
    if any((size, network, link, minutes, n_threads)):
        raise ParameterError(
            "--size, --network, --link, --minutes and --threads are for a folder of images."
        )
    if not dry_run:
        if output is None:
            raise ParameterError("--output: say where to write, or add --dry-run.")
        check_one_stdout(output=output, report=page, json=json)
        check_output(output, force=force)
        if model is not None:
            check_output(model, force=force, option="--save-model", stdout=False)
        if page is not None:
            check_page(page, force=force, option="--report")
    write_as = find_output_format(output or "-", output_format)
    with one_line_warnings(quiet):
        loaded = load(source, target, reading)
        stderr = "-" in (output, page)
        console = Console(stderr=stderr, quiet=quiet or json, highlight=False, markup=False)
        constraints = _constraints(keep, no_relations)
        trains = (
            preset, generation, temperature, rejection, pretrain_steps, finetune_steps, device,
            jobs, checkpoint, strategy, mark_name, page,
        )  # fmt: skip
        if dry_run and all(option is None for option in trains) and not mark_synthetic:
            report = describe_table(
                loaded,
                None if output is None else write_as,
                identifiers=identifiers,
                constraints=constraints,
                share=share,
                console=console,
            )
            if json:
                print_json(report)
            return
        report = balance_table(
            loaded,
            output,
            make_sampler=lambda strategy, kinds: _make_sampler(
                preset,
                sampling_strategy=strategy,
                random_state=seed,
                generation=generation,
                temperature=temperature,
                rejection=rejection,
                column_types=kinds or None,
                identifiers=identifiers,
                constraints=constraints,
                pretrain_steps=_read_steps(pretrain_steps),
                finetune_steps=_read_steps(finetune_steps),
                device=device,
                n_jobs=jobs,
                checkpoint=_checkpoint(checkpoint, checkpoint_seconds),
                verbose=not (quiet or json),
            ),
            strategy=strategy,
            format=write_as,
            only_synthetic=only_synthetic,
            mark=(mark_name or MARK) if mark_synthetic or mark_name else None,
            escape_formulas=csv_formulas == "escape",
            dry_run=dry_run,
            console=console,
            seed=seed,
            page=page,
            model=model,
            without_rows=without_rows,
            command=shlex.join(command),
            started=started,
            share=share,
            held_out=read_held_out(held_out, loaded, reading),
        )
    if json:
        print_json(report)


def _constraints(keep: list[str] | None, no_relations: bool) -> list[str] | None:
    """Return what the sampler calls constraints; None leaves them to it."""
    only = ["only"] if no_relations else []
    return [*only, *(keep or ())] or None


def _make_sampler(preset: str | None, **given: Any) -> "MGVAE":
    """Make a sampler; what is None is left to it."""
    from mgvae import MGVAE

    given = {name: value for name, value in given.items() if value is not None}
    return MGVAE(**given) if preset is None else MGVAE.from_preset(preset, **given)


def _cores(jobs: int | None) -> int | None:
    """Return all cores, which convolutions use; none of them where classes go side by side."""
    if jobs not in (None, 1):
        return None
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _seed_of_checkpoint(folder: str, seed: int | None) -> int | None:
    """Take the seed that a checkpoint began with, unless one is given."""
    from mgvae.training.checkpoints import stored_seed

    return stored_seed(folder) if seed is None else seed


def _checkpoint(folder: str | None, seconds: float | None) -> "str | tuple[str, float] | None":
    return folder if folder is None or seconds is None else (folder, seconds)


def _read_steps(text: str | None) -> int | str | None:
    number = text is not None and text.strip().isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if number and text is not None else text
