"""``mgvae sample``: new rows from a model file."""

import secrets
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mgvae.cli._model import Model, open_model
from mgvae.cli._options import Debug, Force, Formulas, Json, OutputFormat, Quiet, Seed
from mgvae.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from mgvae.samplers._base import GenerativeSampler

__all__ = ["EXAMPLES", "sample"]

EXAMPLES = """\b
Examples:
  mgvae sample model.safetensors --label fraud -n 10000 -o new.csv
  mgvae sample model.safetensors --label 1 -n 500 --target y --seed 7 -o - > new.csv
"""


def sample(
    model: Model,
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", min=1, help="How many rows.")],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="OUTPUT", help="File to write; - is standard output."
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Their class; a model of one class needs no such word."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="Add a column of it.")
    ] = None,
    seed: Seed = None,
    output_format: OutputFormat = None,
    csv_formulas: Formulas = "keep",
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001 (looked for where errors are caught)
) -> None:
    """Make new rows of one class with a model that was saved."""
    from mgvae import files
    from mgvae.cli._output import check_output, print_json
    from mgvae.cli._summary import printable

    started = time.perf_counter()
    if output == "-" and json:
        raise ParameterError("--json and --output - would both write to standard output.")
    check_output(output, force=force)
    write_as = files.find_format(output, output_format, option="--output-format")
    sampler = open_model(model).sampler
    wanted = _find_label(sampler, label)
    seed = secrets.randbelow(2**32) if seed is None else seed
    table = _table(sampler.generate(rows, wanted, random_state=seed))
    if target is not None:
        if target in table.column_names:
            raise ParameterError(f"--target: there is a column {target!r} already.")
        table = table.append_column(target, [[_plain(wanted)] * rows])
    files.write(
        table,
        output,
        files.TableFile(table, write_as),
        format=write_as,
        escape_formulas=csv_formulas == "escape",
    )
    seconds = round(time.perf_counter() - started, 3)
    if json:
        print_json(
            {"output": output, "rows": rows, "label": str(wanted), "seed": seed, "seconds": seconds}
        )
    elif not quiet:
        where = "standard output" if output == "-" else printable(output)
        typer.echo(f"Wrote {rows:,} rows to {where}, seed {seed}.", err=output == "-")


def _find_label(sampler: "GenerativeSampler", label: str | None) -> Any:
    known = {str(sampler.classes_[code]): sampler.classes_[code] for code in sampler._generators}
    if label is None and len(known) == 1:
        return next(iter(known.values()))
    if label not in known:
        said = "is needed" if label is None else f"{label!r} is not a class that this model makes"
        raise ParameterError(f"--label {said}; it makes: {', '.join(known)}.")
    return known[label]


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label


def _table(made: Any) -> "pa.Table":
    """Give new rows, in whichever container, as an Arrow table."""
    import numpy as np
    import pyarrow as pa
    from narwhals import dependencies as of

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
