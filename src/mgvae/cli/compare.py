"""``mgvae compare``: whether over-sampling helps on a table."""

import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mgvae.cli._options import Debug, Force, Input, Json, Quiet, or_stdout
from mgvae.cli._reading import AS_FOUND, Reading, takes_reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.text import Text

    from mgvae.compare import Comparison

__all__ = ["EXAMPLES", "compare"]

_MOST_JOBS = 4  # unless more are asked for: each has the table in memory
_SHORT = {
    "balanced_accuracy": "bal.acc",
    "gm": "GM",
    "f1": "F1",
    "recall": "recall",
    "precision": "prec.",
    "average_precision": "AP",
    "roc_auc": "AUC",
    "brier": "Brier",
    "log_loss": "logloss",
}

EXAMPLES = """\b
Examples:
  mgvae compare loans.csv --target default
  mgvae compare loans.csv -t default --model lightgbm --report compare.html
  mgvae compare visits.csv -t ill --groups patient --folds 3 --repeats 5
  mgvae compare a.csv -t y --method MGVAE --method imblearn.over_sampling:ADASYN
"""


@takes_reading
def compare(
    source: Input,
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COLUMN", help="Column that holds the class.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Classifier: logistic, random_forest, lightgbm, knn, mlp or package.module:Class; "
            "the first two unless given. Repeatable.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD",
            help='"class weights", SMOTE, MGVAE, "nothing, bagged", BalancedClassifier (these five '
            'unless given), ROS, CVAE, "class weights, bagged", "SMOTE, bagged", BalancedBagging, '
            "EasyEnsemble, BalancedRandomForest, or package.module:Class of a sampler. Nothing, "
            "and a tuned threshold, always take part. Repeatable.",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows with the same value stay together in every split; the column is no feature.",
        ),
    ] = None,
    folds: Annotated[int | None, typer.Option(metavar="N", help="Parts of a split.")] = None,
    repeats: Annotated[int | None, typer.Option(metavar="N", help="How often to split.")] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="SEED", min=0, help="Decides every random choice.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Splits and methods at once, one core each. All cores, at most 4, unless given.",
        ),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", callback=or_stdout, help="HTML page to write."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where results are kept; a run that was interrupted goes on from there. A folder "
            "of the user's cache unless given.",
        ),
    ] = None,
    reading: Reading = AS_FOUND,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001 (looked for where errors are caught)
) -> None:
    """Find out whether over-sampling helps on a table.

    Cross-validates classifiers with nothing done, a tuned threshold, class weights and
    over-samplers, and says in words what each is worth.
    """
    from joblib import cpu_count
    from rich.console import Console
    from rich.progress import Progress

    from mgvae.cli._checks import check_jobs, check_one_stdout, check_page
    from mgvae.cli._columns import check_columns
    from mgvae.cli._judged import write_page
    from mgvae.cli._load import load
    from mgvae.cli._output import cache_folder, print_json
    from mgvae.cli._warnings import one_line_warnings

    check_jobs(jobs)
    check_one_stdout(report=page, json=json)
    if page is not None:
        check_page(page, force=force, option="--report")
    loaded = load(source, target, reading)
    X, members = loaded.X, None
    if groups is not None:
        check_columns([groups], X.column_names, "--groups")
        members = _codes(X[groups])
        X = X.drop_columns([groups])
    given: dict[str, Any] = {
        "models": model,
        "methods": method,
        "folds": folds,
        "repeats": repeats,
        "random_state": seed,
        "column_types": {k: v for k, v in loaded.kinds.items() if k != groups} or None,
    }
    n_jobs = min(cpu_count(), _MOST_JOBS) if jobs is None else jobs
    console = Console(stderr=True, quiet=quiet or json)
    with (
        one_line_warnings(quiet or json),
        _processes(n_jobs) as ready,
        Progress(console=console, transient=True) as bar,
    ):
        from mgvae import compare as library

        task = bar.add_task("comparing", total=None)
        ready()
        found = library.compare(
            X,
            loaded.y.to_numpy(),
            groups=members,
            jobs=n_jobs,
            store=cache_folder() / "compare" if results is None else results,
            target=target,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            **{name: value for name, value in given.items() if value is not None},
        )
    if page is not None:
        write_page(found.to_html(), page)
    if json:
        print_json(found.as_dict())
    stderr = page == "-"
    _show(found, Console(stderr=stderr, quiet=quiet or json, highlight=False, markup=False))


@contextmanager
def _processes(n_jobs: int) -> "Iterator[Callable[[], object]]":
    """Start the processes that will work, so that they load what they need while this one does.

    What is given waits until they have.
    """
    from joblib import Parallel, delayed

    if n_jobs == 1:
        yield lambda: None
        return
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    begun = parallel(delayed(_load_library)() for _ in range(n_jobs))
    try:
        yield lambda: list(begun)
    finally:
        with warnings.catch_warnings(action="ignore"):  # where nobody has waited for them
            begun.close()


def _load_library() -> None:
    import mgvae.compare  # noqa: F401


def _codes(column: Any) -> Any:
    """Return the cells as numbers, equal where cells are; missing ones are a group of their own."""
    import pyarrow.compute as pc

    return pc.fill_null(column.combine_chunks().dictionary_encode().indices, -1).to_numpy()


def _columns(found: "Comparison", model: str) -> "dict[str, list[Text]]":
    """Return the columns of figures by their titles, a cell for each method."""
    from rich.text import Text

    methods = list(found.scores[model])
    columns = {
        title: [
            Text(
                f"{found.mean(model, method, metric):.3f}",
                "bold" if found.best(model, metric) == method else "",
            )
            for method in methods
        ]
        for metric, title in _SHORT.items()
    }
    steady = found.stability.get(model, {})
    if steady:
        columns["spread"] = [Text(f"{steady[m]:.3f}" if m in steady else "") for m in methods]
    columns["s"] = [Text(f"{found.mean(model, m, 'seconds'):.2f}") for m in methods]
    return columns


def _side_by_side(
    columns: "dict[str, list[Text]]", width: int
) -> "Iterator[dict[str, list[Text]]]":
    """Divide columns into groups that fit into a width beside the names of the methods."""
    group: dict[str, list[Text]] = {}
    left = width
    for title, cells in columns.items():
        needed = 1 + max(len(title), *map(len, cells))
        if group and needed > left:
            yield group
            group, left = {}, width
        group[title] = cells
        left -= needed
    yield group


def _show(found: "Comparison", console: "Console") -> None:
    """Print tables and verdicts."""
    from rich.table import Table
    from rich.text import Text

    from mgvae.cli._output import say
    from mgvae.cli._summary import printable

    for model, methods in found.scores.items():
        console.print(f"{printable(model)}, {found.repeats} x {found.folds} folds")
        names = [printable(method) for method in methods]
        for columns in _side_by_side(_columns(found, model), console.width - max(map(len, names))):
            table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
            table.add_column("method", no_wrap=True)
            for title in columns:
                table.add_column(title, justify="right", no_wrap=True)
            for row in zip(map(Text, names), *columns.values(), strict=True):
                table.add_row(*row)
            console.print(table)
        say(console, found.verdicts[model])
        advice = found.recommendations[model]
        say(console, f"{advice.title}. {advice.why}")
        for line in advice.python.splitlines():
            console.print(f"    {printable(line)}", soft_wrap=True)
        console.print()
    for name, why in found.failures.items():
        say(console, f"Left out: {name}: {why}")
