"""``mgvae-paper``: the paper's tables and figures, run, resumed and shown."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from mgvae.errors import ParameterError

if TYPE_CHECKING:
    from mgvae.experiments import Cell
    from mgvae_paper.tables import DeclaredTable

__all__ = ["app", "main"]

app = typer.Typer(
    name="mgvae-paper",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Check the paper's tables, under its own protocol and under a clean one.",
    epilog="""\b
Examples:
  mgvae-paper run musk --protocol paper --jobs 2
  mgvae-paper run mnist --only mgvae,smote --budget cpu --data ~/data
  mgvae-paper run water_quality --method imblearn.over_sampling:ADASYN
  mgvae-paper table mnist --protocol clean --format csv
""",
)

Protocol = Literal["paper", "clean", "folds", "draws"]
Budget = Literal["full", "cpu"]

Results = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Where results are, in files of JSON lines.")
]
DataFolder = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where data sets are; else MGVAE_DATA, else OpenML."),
]
Cache = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where pre-trained models are kept between runs."),
]
Only = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Rows or methods, between commas, * for any text: mgvae,smote."
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="METHOD",
        help="A further method: a name, or package.module:Class of an imbalanced-learn sampler or "
        "a torch loss. Repeatable.",
    ),
]
Seeds = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Seeds 0 to N-1; the table's unless given.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]


def main() -> NoReturn:
    """Run the command line of this process, then end it."""
    from mgvae.cli import run_program

    run_program("mgvae-paper", "mgvae_paper.cli:app")


@app.command("list")
def list_(debug: Debug = False) -> None:  # noqa: ARG001 (looked for where errors are caught)
    """List tables, methods, data sets and figures."""
    from mgvae_paper.data import DATASETS
    from mgvae_paper.efficacy_figures import EFFICACY_FIGURES
    from mgvae_paper.figures import FIGURES
    from mgvae_paper.methods import method_names
    from mgvae_paper.tables import find_table, table_names

    for name in table_names():
        table = find_table(name)
        typer.echo(f"{name:20} {table.title} [{', '.join(table.protocols)}]")
    typer.echo(f"\nmethods:   {', '.join(method_names())}")
    typer.echo(f"data sets: {', '.join(DATASETS)}")
    typer.echo(f"figures:   {', '.join([*FIGURES, 'grids', *EFFICACY_FIGURES])}")


@app.command()
def run(
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE...]", help="All unless named.")
    ] = None,
    protocol: Annotated[
        Protocol | None, typer.Option(help="One protocol only; all of the table's unless given.")
    ] = None,
    seeds: Seeds = None,
    jobs: Annotated[int, typer.Option(metavar="N", help="Cells at once, one thread each.")] = 1,
    only: Only = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Data sets, between commas; all unless given."),
    ] = None,
    method: Methods = None,
    budget: Annotated[
        Budget, typer.Option(help="The published lengths, or shorter ones where declared.")
    ] = "full",
    retry: Annotated[bool, typer.Option("--retry", help="Also cells that failed before.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also cells that are done.")] = False,
    data: DataFolder = None,
    results: Results = Path("results"),
    cache: Cache = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Work out all cells of tables that have no result yet.

    It may be interrupted at any moment: only cells under way are lost. A cell that fails is noted
    and the rest goes on.
    """
    from rich.console import Console

    from mgvae.experiments import run_cells, waiting
    from mgvae.experiments.progress import follow
    from mgvae_paper.protocols import Evaluation
    from mgvae_paper.resampling import in_good_order
    from mgvae_paper.store import open_store
    from mgvae_paper.tables import table_names

    if jobs == 0:
        raise ParameterError("--jobs must be a number of processes, or -1 for all cores; got 0.")
    cells = _on_columns(
        [
            cell
            for table in _find(tables or table_names())
            for name in _protocols(table, protocol)
            for cell in table.cells(
                name, seeds=seeds, budget=budget, only=_names(only), also=method or ()
            )
        ],
        _names(columns),
    )
    store = open_store(results)
    todo = waiting(cells, store, retry=retry, again=again)
    todo = todo if jobs == 1 else in_good_order(todo)
    console = Console(stderr=True)
    if not todo:
        named = ", ".join(tables or ["all tables"])
        console.print(f"Nothing to do: no cell of {named} is waiting.", markup=False)
        return
    store.check_writable()
    work = Evaluation(data and data.absolute(), (cache or _cache()).absolute())
    counts = follow(run_cells(todo, work, store, jobs=jobs), todo, store, console)
    if counts["failed"]:
        console.print(
            f"{counts['failed']} cells failed: see {results / 'errors.jsonl'}, then --retry."
        )
        raise typer.Exit(1)


@app.command()
def status(
    tables: Annotated[list[str] | None, typer.Argument(metavar="[TABLE...]")] = None,
    seeds: Seeds = None,
    budget: Annotated[Budget, typer.Option(help="Whose cells to count.")] = "full",
    results: Results = Path("results"),
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Count the cells that are done, failed and waiting."""
    from mgvae_paper.store import open_store
    from mgvae_paper.tables import table_names

    store = open_store(results)
    typer.echo(f"{'table':20} {'protocol':8} {'done':>5} {'failed':>6} {'waiting':>7}")
    for table in _find(tables or table_names()):
        for protocol in table.protocols:
            cells = table.cells(protocol, seeds=seeds, budget=budget)
            done = sum(store.has(cell) for cell in cells)
            failed = sum(not store.has(c) and store.error(c) is not None for c in cells)
            left = len(cells) - done - failed
            typer.echo(f"{table.name:20} {protocol:8} {done:5} {failed:6} {left:7}")


@app.command()
def table(
    name: Annotated[str, typer.Argument(metavar="TABLE")],
    protocol: Annotated[
        Protocol | None, typer.Option(help="By default the table's first. They are never mixed.")
    ] = None,
    form: Annotated[
        Literal["md", "html", "latex", "csv"], typer.Option("--format", help="How to write it.")
    ] = "md",
    seeds: Seeds = None,
    only: Only = None,
    method: Methods = None,
    budget: Annotated[
        Budget | None, typer.Option(help="By default full where there are results, else cpu.")
    ] = None,
    results: Results = Path("results"),
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Print a table: mean ± sd, the best bold, the second underlined, the paper's value beside.

    Of tables of many data sets the means over them are shown; as csv, those of each too.
    """
    from mgvae_paper.draws_page import draws_parts
    from mgvae_paper.efficacy import gather
    from mgvae_paper.render import render
    from mgvae_paper.store import open_store
    from mgvae_paper.summary import summarise

    (found,) = _find([name])
    chosen = _protocols(found, protocol)[0]
    store, rows, also = open_store(results), _names(only), method or ()
    if chosen == "draws":
        typer.echo("\n\n".join(draws_parts(store)) or "There are no results yet.")
        return
    if chosen == "folds":
        efficacy = gather(found, store, seeds=seeds, budget=budget, only=rows, also=also)
        summary = efficacy.summary(by_dataset=form == "csv")
    else:
        summary = summarise(found, chosen, store, seeds=seeds, budget=budget, only=rows, also=also)
    typer.echo(render(summary, form), nl=False)


@app.command()
def figure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="See `mgvae-paper list`.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="By default NAME.png.")
    ] = None,
    budget: Annotated[Budget, typer.Option(help="Lengths of training.")] = "full",
    data: DataFolder = None,
    cache: Cache = None,
    results: Results = Path("results"),
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Draw one of the paper's figures, training what it needs, or one of results over tables."""
    from mgvae_paper.figures import draw_figure

    path = output or Path(f"{name}.png")
    draw_figure(name, path, budget=budget, data=data, cache=cache or _cache(), results=results)
    typer.echo(f"Wrote {path}.")


@app.command()
def page(
    name: Annotated[
        Literal["results", "efficacy"],
        typer.Argument(metavar="[NAME]", help="results: the paper's tables; efficacy: real ones."),
    ] = "results",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="By default pages/NAME.md."),
    ] = None,
    results: Results = Path("results"),
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write a page of all results, with ranks and tests; a reading beside it comes first."""
    from mgvae_paper.efficacy_page import write_efficacy_page
    from mgvae_paper.page import write_page
    from mgvae_paper.store import open_store

    path = output or Path(f"pages/{name}.md")
    (write_page if name == "results" else write_efficacy_page)(open_store(results), path)
    typer.echo(f"Wrote {path}.")


@app.command()
def pack(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Results as PROTOCOL/DATASET/KEY.json.")
    ],
    results: Results = Path("results"),
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Add results that are kept one file for each cell; they take the place of those there."""
    from mgvae_paper.store import open_store, read_cell_files

    if not folder.is_dir():
        raise ParameterError(f"there is no folder {folder}.")
    found = list(read_cell_files(folder))
    open_store(results).add(found)
    typer.echo(f"Added {len(found)} results to {results}.")


def _find(names: list[str]) -> "list[DeclaredTable]":
    from mgvae_paper.tables import find_table

    return [find_table(name) for name in names]


def _protocols(table: "DeclaredTable", wanted: str | None) -> list[str]:
    if wanted is None:
        return list(table.protocols)
    if wanted not in table.protocols:
        raise ParameterError(
            f"--protocol: the table {table.name} is declared under {', '.join(table.protocols)} "
            f"only; got {wanted}."
        )
    return [wanted]


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _on_columns(cells: "list[Cell]", columns: list[str]) -> "list[Cell]":
    """Keep the cells of some data sets; all if none is named."""
    known = {cell.dataset for cell in cells}
    missing = [name for name in columns if name not in known]
    if missing:
        raise ParameterError(
            f"--columns: {missing[0]!r} is no data set of these tables; "
            f"there are {', '.join(sorted(known))}."
        )
    return [cell for cell in cells if not columns or cell.dataset in columns]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mgvae"
