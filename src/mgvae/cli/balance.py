"""``mgvae balance``: a table in, a balanced table out; the same for a folder of images."""

import secrets
import shlex
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mgvae.cli import _interrupt
from mgvae.cli._options import (
    Debug,
    Delimiter,
    Drop,
    Encoding,
    Force,
    Formulas,
    Input,
    InputFormat,
    Json,
    Missing,
    NoHeader,
    OutputFormat,
    Quiet,
    Seed,
    Types,
)
from mgvae.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from mgvae import MGVAE
    from mgvae.cli._load import Loaded
    from mgvae.codec import ColumnSummary
    from mgvae.report import QualityReport

__all__ = ["EXAMPLES", "balance"]

EXAMPLES = """\b
Examples:
  mgvae balance loans.csv --target default -o balanced.parquet
  mgvae balance loans.csv --target default --dry-run
  mgvae balance loans.csv --target default -o out.csv --report report.html
  mgvae balance adult.data --no-header --missing "?" --target c14 -o out.csv
  mgvae balance a.csv -t y --strategy '{"fraud": 5000}' --seed 7 -o b.csv
  zcat a.csv.gz | mgvae balance - -t y --only-synthetic -o - > new.csv
  mgvae balance photos/ --size 64 -o balanced/ --checkpoint run/

\b
Exit codes:
  0 done, 1 failed while working, 2 bad input or usage, 130 interrupted
"""

_MARK = "synthetic_source"
_SAVING = 10.0  # seconds that Ctrl-C waits for the state of training to be written


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
    seed: Seed = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Named settings, such as paper-tables.")
    ] = None,
    drop: Drop = None,
    types: Types = None,
    identifiers: Annotated[
        Literal["new", "missing"] | None,
        typer.Option(help="Identifier columns of new rows get new values, or none."),
    ] = None,
    only_synthetic: Annotated[
        bool, typer.Option("--only-synthetic", help="Write the new rows only.")
    ] = False,
    mark_synthetic: Annotated[
        bool,
        typer.Option(
            "--mark-synthetic",
            help="Add a column with the row of INPUT, counted from 0, that each new row was made "
            "from; it is missing for original rows.",
        ),
    ] = False,
    mark_name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Name of that column, if not {_MARK}."),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="HTML page on how good the new rows are."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--save-model", metavar="FILE", help="Keep the model for mgvae sample."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Stop after saying what the table holds.")
    ] = False,
    missing: Missing = None,
    no_header: NoHeader = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    input_format: InputFormat = None,
    output_format: OutputFormat = None,
    csv_formulas: Formulas = "keep",
    size: Annotated[
        int | None, typer.Option(metavar="PIXELS", help="Images: side, 8 to 128; 64 unless given.")
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

    The rows of INPUT come first and unchanged, new rows follow. The largest class is the majority;
    each new row is made from one of its rows.

    INPUT may also be a folder of images with one folder per class. Then OUTPUT is a new folder
    with the original images, new ones, and manifest.csv.
    """
    from rich.console import Console

    from mgvae import files
    from mgvae.cli._balance_images import balance_folder, refuse_table_options
    from mgvae.cli._columns import new_rows, read_strategy
    from mgvae.cli._load import load
    from mgvae.cli._output import check_output, print_json
    from mgvae.cli._summary import Summary, printable
    from mgvae.cli.report import check_page, show, write_page

    started = time.perf_counter()
    if jobs == 0:
        raise ParameterError("--jobs must be a number of processes, or -1 for all cores; got 0.")
    command = ["mgvae", *(context.obj or ())]
    if checkpoint is not None:
        seed = _seed_of_checkpoint(checkpoint, seed)
        _interrupt.allow(_SAVING)
    if seed is None:
        seed = secrets.randbelow(2**32)
        command += ["--seed", str(seed)]
    if Path(source).is_dir():
        refuse_table_options(
            {
                "--target": target,
                "--drop": drop,
                "--type": types,
                "--identifiers": identifiers,
                "--mark-synthetic": mark_synthetic or mark_name,
                "--missing": missing,
                "--no-header": no_header,
                "--delimiter": delimiter,
                "--encoding": encoding,
                "--input-format": input_format,
                "--output-format": output_format,
            }
        )
        with _one_line_warnings(quiet):
            report = balance_folder(
                source,
                output,
                make_sampler=lambda strategy: _make_sampler(
                    preset,
                    sampling_strategy=strategy,
                    random_state=seed,
                    network=network,
                    pretrain_steps=_read_steps(pretrain_steps),
                    finetune_steps=_read_steps(finetune_steps),
                    device=device,
                    n_jobs=jobs,
                    checkpoint=checkpoint,
                    checkpoint_seconds=checkpoint_seconds,
                    verbose=not (quiet or json),
                ),
                strategy=strategy,
                size=size,
                originals="leave" if only_synthetic else "link" if link else "copy",
                dry_run=dry_run,
                console=Console(quiet=quiet or json, highlight=False, markup=False),
                seed=seed,
                page=page,
                model=model,
                force=force,
                command=shlex.join(command),
            )
        if json:
            print_json(report)
        return
    if target is None:
        raise typer.BadParameter("a table needs it", param_hint="--target")
    if size is not None or network is not None or link:
        raise ParameterError("--size, --network and --link are for a folder of images.")
    if not dry_run:
        if output is None:
            raise ParameterError("--output: say where to write, or add --dry-run.")
        if output == "-" and json:
            raise ParameterError("--json and --output - would both write to standard output.")
        check_output(output, force=force)
        if model is not None:
            check_output(model, force=force, option="--save-model")
        if page is not None:
            check_page(page, force=force, option="--report")
    write_as = files.find_format(output or "-", output_format, option="--output-format")
    loaded = load(
        source,
        target,
        drop=drop,
        types=types,
        missing=missing,
        no_header=no_header,
        delimiter=delimiter,
        encoding=encoding,
        input_format=input_format,
    )
    mark = (mark_name or _MARK) if mark_synthetic or mark_name else None
    if mark in loaded.table.column_names:
        raise ParameterError(f"There is a column {mark!r} already: say another --mark-name.")

    console = Console(stderr=output == "-", quiet=quiet or json, highlight=False, markup=False)
    with _one_line_warnings(quiet):
        sampler = _make_sampler(
            preset,
            sampling_strategy=read_strategy(strategy, loaded.classes),
            random_state=seed,
            column_types=loaded.kinds or None,
            identifiers=identifiers,
            pretrain_steps=_read_steps(pretrain_steps),
            finetune_steps=_read_steps(finetune_steps),
            device=device,
            n_jobs=jobs,
            checkpoint=checkpoint,
            checkpoint_seconds=checkpoint_seconds,
            verbose=not (quiet or json),
        )
        summary = Summary(
            loaded.name,
            loaded.table.num_rows,
            _describe(loaded.X, sampler),
            target,
            loaded.classes,
            new_rows(sampler.sampling_strategy, loaded.y),
            loaded.dropped,
        )
        summary.show(console)
        if dry_run:
            if json:
                print_json(summary.as_dict())
            return
        X, y = sampler.fit_resample(loaded.X, loaded.y)

    originals = loaded.table.num_rows
    result = _result(loaded.table, X, y, target)
    if mark is not None:
        result = _with_mark(result, mark, sampler.source_indices_, originals)
    if only_synthetic:
        originals, result = 0, result.slice(originals)
    files.write(
        result,
        str(output),
        loaded.file,
        format=write_as,
        originals=originals,
        escape_formulas=csv_formulas == "escape",
    )
    if model is not None:
        sampler.save(model)
    seconds = time.perf_counter() - started
    made = result.num_rows - originals
    console.print(
        f"Wrote {result.num_rows:,} rows ({originals:,} original, {made:,} new) to "
        f"{'standard output' if output == '-' else printable(output)} "
        f"in {seconds:.1f} s, seed {seed}.",
        soft_wrap=True,
    )
    if page is not None and made:
        found = _quality(loaded, X, y, sampler, shlex.join(command))
        write_page(found.to_html(), page)
        show(found, console)
    elif page is not None:
        console.print("No row was made, so there is no report.")
    if json:
        report = summary.as_dict() | {
            "output": output,
            "rows_written": result.num_rows,
            "synthetic_rows": made,
            "seed": seed,
            "settings": _settings(sampler),
            "seconds": round(seconds, 3),
        }
        print_json(report)


def _make_sampler(preset: str | None, **given: Any) -> "MGVAE":
    """Make a sampler; what is None is left to it."""
    from mgvae import MGVAE

    given = {name: value for name, value in given.items() if value is not None}
    return MGVAE(**given) if preset is None else MGVAE.from_preset(preset, **given)


def _seed_of_checkpoint(folder: str, seed: int | None) -> int | None:
    """Take the seed that a checkpoint began with, unless one is given."""
    from mgvae.checkpoints import stored_seed

    return stored_seed(folder) if seed is None else seed


def _read_steps(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.strip().isdecimal() else text


def _describe(X: "pa.Table", sampler: "MGVAE") -> "list[ColumnSummary]":
    """Find what the columns are, as the sampler will."""
    from mgvae.samplers._data import open_data

    data = open_data(X, sampler)
    columns: list[ColumnSummary] = data.codec.fit(data.read(X)).describe()
    return columns


def _result(original: "pa.Table", X: "pa.Table", y: "pa.ChunkedArray", target: str) -> "pa.Table":
    """Give the original rows and the new ones below, the target in its place."""
    import pyarrow as pa

    start = original.num_rows
    new = [(y if name == target else X[name]).slice(start) for name in original.column_names]
    return pa.concat_tables([original, pa.table(new, schema=original.schema)])


def _quality(
    loaded: "Loaded", X: "pa.Table", y: "pa.ChunkedArray", sampler: "MGVAE", command: str
) -> "QualityReport":
    from mgvae.report import quality

    n = loaded.table.num_rows
    return quality(
        loaded.table,
        _result(loaded.table, X, y, loaded.target).slice(n),
        target=loaded.target,
        sources=sampler.source_indices_[n:],
        sampler=sampler,
        column_types=sampler.column_types,
        command=command,
    )


def _with_mark(table: "pa.Table", name: str, sources: Any, originals: int) -> "pa.Table":
    """Add the rows that the new rows were made from; a row made from none has none."""
    import numpy as np
    import pyarrow as pa

    absent = (np.arange(len(sources)) < originals) | (sources < 0)
    return table.append_column(name, pa.array(sources, pa.int64(), mask=absent))


def _settings(sampler: "MGVAE") -> dict[str, Any]:
    """Give the parameters as JSON can hold them."""
    parameters = sampler.get_params().items()
    return {k: v if isinstance(v, str | int | float | None) else str(v) for k, v in parameters}


@contextmanager
def _one_line_warnings(quiet: bool) -> Iterator[None]:
    """Show each warning of the library once, as one line, and no others."""
    from mgvae.errors import MGVAEWarning

    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if issubclass(category, MGVAEWarning) and text not in shown and not quiet:
            shown.add(text)
            typer.echo(f"mgvae: warning: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", MGVAEWarning)
        warnings.showwarning = show
        yield
