"""``mgvae balance`` for tables: look, learn, write, whatever the size."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from mgvae.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from mgvae import MGVAE
    from mgvae.cli._load import Loaded
    from mgvae.codec import TableCodec
    from mgvae.files import Format

__all__ = ["balance_table", "describe_table"]

_REPORT_CELLS = 2 * 10**8  # of a table that a report can be made of


def describe_table(
    loaded: "Loaded",
    format: "Format | None",  # noqa: A002
    *,
    identifiers: "Literal['new', 'missing'] | None",
    constraints: "list[str] | None",
    share: float | None,
    console: "Console",
) -> dict[str, Any]:
    """Show what a table holds, and give what ``--json`` prints.

    This is a dry run that sets no parameter of the training. It shows what :func:`balance_table`
    shows, and starts in half the time, because it needs no sampler.

    Parameters
    ----------
    loaded : Loaded
        The table.
    format : str or None
        Of the output, if there shall be one: its columns must be able to go there.
    identifiers, constraints
        See :class:`mgvae.MGVAE`; None is its default.
    share : float or None
        What --share says.
    console : rich.console.Console
        Where to tell people.
    """
    from mgvae.cli._columns import read_share
    from mgvae.codec import TableCodec
    from mgvae.files import check_types, observe_columns

    if format is not None:
        check_types(loaded.source.batches(), format)
    classes = loaded.classes
    largest = next(iter(classes))
    wanted = read_share(share, classes) or {
        label: classes[largest] for label in classes if label != largest
    }
    kinds: dict[str, Any] = dict(loaded.kinds)
    codec = TableCodec(
        kinds,
        identifiers=identifiers or "new",
        constraints="auto" if constraints is None else constraints,
    )
    observe_columns(codec, loaded.source, loaded.target)
    return _tell(loaded, codec, {label: n - classes[label] for label, n in wanted.items()}, console)


def _tell(
    loaded: "Loaded", codec: "TableCodec", wanted: "Mapping[Any, int]", console: "Console"
) -> dict[str, Any]:
    """Show what was seen, and return it."""
    from mgvae.cli._summary import Summary

    summary = Summary(
        loaded.name, loaded.n_rows, codec.describe(), loaded.target, loaded.classes, wanted,
        loaded.dropped, codec.relations,
    )  # fmt: skip
    summary.show(console)
    if loaded.n_unlabelled:
        console.print(f"Left out: {loaded.n_unlabelled:,} rows without a class")
    return summary.as_dict() | {"rows_without_class": loaded.n_unlabelled}


def balance_table(
    loaded: "Loaded",
    output: str | None,
    *,
    make_sampler: "Callable[[Any, Mapping[str, str]], MGVAE]",
    strategy: str | None,
    format: "Format",  # noqa: A002
    only_synthetic: bool,
    mark: str | None,
    escape_formulas: bool,
    dry_run: bool,
    console: "Console",
    seed: int,
    page: str | None,
    model: str | None,
    without_rows: bool,
    command: str,
    started: float,
    share: float | None = None,
    held_out: "float | pa.Table" = 0.5,
) -> dict[str, Any]:
    """Balance a table; give what ``--json`` prints.

    Parameters
    ----------
    loaded : Loaded
        The table.
    output : str or None
        Where to write; None with ``dry_run``.
    make_sampler : callable
        Makes the sampler, given the strategy and the kinds of columns that are said.
    strategy : str or None
        As on the command line.
    format : str
        Of the output. Parquet is written row group by row group, others are put together first.
    only_synthetic : bool
        Whether to leave the original rows out.
    mark : str or None
        Name of the column with the majority rows that guided new ones; a second column has the
        minority rows that they started from.
    escape_formulas : bool
        See :func:`mgvae.files.write`.
    dry_run : bool
        Whether to stop after the summary.
    console : rich.console.Console
        Where to tell people.
    seed : int
        Of the sampler, for the report.
    page, model : str or None
        Files for the quality report and the trained model.
    without_rows : bool
        Whether no rows shall be worked out from the model's file.
    command : str
        What repeats this, for the page.
    started : float
        When the command began.
    share : float or None
        What --share says.
    held_out : float or pyarrow.Table
        The part of each class that is held out for the figures of the report, or rows that are
        not in the table.
    """
    import numpy as np
    import pyarrow as pa

    from mgvae import files
    from mgvae.cli._columns import new_rows, read_share, read_strategy
    from mgvae.cli._summary import printable
    from mgvae.common.disk import working_folder
    from mgvae.samplers import check_size, learn, look, make
    from mgvae.streams import InBatches, anchor_mark, check_output_room

    source, target, n = loaded.source, loaded.target, loaded.n_rows
    for name in [] if mark is None else [mark, anchor_mark(mark)]:
        if name in source.schema.names:
            raise ParameterError(f"There is a column {name!r} already: say another --mark-name.")
    if page is not None and n * len(source.schema) > _REPORT_CELLS:
        raise ParameterError(
            f"--report: a report needs all rows in memory, and {n:,} rows of "
            f"{len(source.schema)} columns are too many. Leave it out, and compare samples of the "
            "input and of the output with mgvae report."
        )
    if output is not None:
        files.check_types(source.batches(), format)
    sampler = make_sampler(
        read_share(share, loaded.classes) or read_strategy(strategy, loaded.classes), loaded.kinds
    )
    wanted = new_rows(sampler.sampling_strategy, loaded.classes)
    given = InBatches(source, target, declared=True)  # count_classes has looked at it
    seen = look(sampler, given)
    described = _tell(loaded, seen.samples.codec, wanted, console)
    if dry_run:
        return described
    # a dry run does without these, which take as long to import as all others
    from mgvae.cli._judged import tell
    from mgvae.report import quality
    from mgvae.samplers import resolved_settings

    if format == "parquet" and output != "-":
        check_output_room(seen, str(output))
    else:
        check_size(seen.n_new, seen.samples)
    with working_folder() as given.folder:
        seeds = learn(sampler, given, seen)
    made: list[tuple[pa.RecordBatch, Any, Any]] = []
    batches = given.balanced(
        sampler.state_,
        make(sampler.state_, seeds, sampler.n_threads),
        mark=mark,
        originals=not only_synthetic,
        also_to=None if page is None else made,
    )
    schema = given.schema(mark)
    originals, new = 0 if only_synthetic else n, sum(wanted.values())
    if format == "parquet":
        files.write_parquet(batches, schema, str(output))
    else:
        files.write(
            pa.Table.from_batches(batches, schema),
            str(output),
            loaded.file,
            format=format,
            originals=originals,
            escape_formulas=escape_formulas,
        )
    if model is not None:
        sampler.state_.spellings = {
            name: how
            for name in source.schema.names
            if (how := loaded.file.spelling(name).to_plain())
        }
        sampler.save(model, without_rows=without_rows or None)
    seconds = time.perf_counter() - started
    console.print(
        f"Wrote {originals + new:,} rows ({originals:,} original, {new:,} new) to "
        f"{'standard output' if output == '-' else printable(output)} "
        f"in {seconds:.1f} s, seed {seed}.",
        soft_wrap=True,
    )
    if page is not None and made:
        found = quality(
            loaded.table,
            pa.Table.from_batches([batch for batch, _, _ in made]),
            target=target,
            sources=np.concatenate([sources for _, sources, _ in made]),
            anchors=np.concatenate([anchors for _, _, anchors in made]),
            held_out=held_out,
            sampler=sampler,
            column_types=sampler.column_types,
            command=command,
        )
        tell([found], page, console, strategy=strategy)
    elif page is not None:
        console.print("No row was made, so there is no report.")
    return described | {
        "output": output,
        "rows_written": originals + new,
        "synthetic_rows": new,
        "seed": seed,
        "settings": resolved_settings(sampler),
        "seconds": round(seconds, 3),
    }
