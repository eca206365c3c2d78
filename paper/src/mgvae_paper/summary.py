"""From results to the figures of a table: means, spreads, the best and second of each column."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from mgvae.experiments import Cell, Store
from mgvae_paper.methods import BUDGETS
from mgvae_paper.tables import METRICS, DeclaredTable, Row

__all__ = [
    "Entry",
    "FilledTable",
    "entry_of",
    "mark_best",
    "of_earlier_revision",
    "results_of",
    "summarise",
]

Mark = Literal["best", "second", ""]

_REVISION = "revision"
_CLEAN = {**METRICS, "roc_auc": "ROC AUC", "ap": "AP"}


@dataclass(frozen=True)
class Entry:
    """One figure of a table, in percent.

    Parameters
    ----------
    mean : float
        Over the seeds.
    sd : float or None
        Their spread, as that of a sample; one seed has none.
    seeds : int
        How many.
    budget : str
        ``"full"``, or the shortened one that the results are from.
    paper : float or None
        The published mean, under the paper's protocol.
    mark : {"best", "second", ""}
        Its place in the column, after rounding to what is shown.
    is_earlier : bool
        Whether the results are from an earlier revision of the method than the declared one.
    """

    mean: float
    sd: float | None
    seeds: int
    budget: str
    paper: float | None = None
    mark: Mark = ""
    is_earlier: bool = False


def entry_of(
    values: Sequence[float], budget: str, paper: float | None = None, *, is_earlier: bool = False
) -> Entry:
    """Make a figure of one value for each seed."""
    sd = statistics.stdev(values) if len(values) > 1 else None
    return Entry(statistics.fmean(values), sd, len(values), budget, paper, is_earlier=is_earlier)


@dataclass(frozen=True)
class FilledTable:
    """A table filled with results; a figure that has none is absent from ``entries``.

    Parameters
    ----------
    table : DeclaredTable
        What was declared.
    protocol : str
        Whose results.
    rows, columns : sequence of str
        Names of rows, and of data sets.
    metrics : dict
        Names of the metrics, in results and for people.
    entries : dict
        Figures by row, data set and metric.
    """

    table: DeclaredTable
    protocol: str
    rows: Sequence[str]
    columns: Sequence[str]
    metrics: dict[str, str]
    entries: dict[tuple[str, str, str], Entry]


def summarise(
    table: DeclaredTable,
    protocol: str,
    store: Store,
    *,
    seeds: int | None = None,
    budget: str | None = None,
    only: Iterable[str] = (),
    also: Iterable[str] = (),
) -> FilledTable:
    """Fill a table with the results that are there.

    Parameters
    ----------
    table : DeclaredTable
        Which table.
    protocol : {"paper", "clean"}
        Under which protocol. The paper's values stand beside results of its own protocol alone.
    store : Store
        Where results are.
    seeds : int, optional
        How many seeds to look at; by default the table's.
    budget : {"full", "cpu"}, optional
        By default the full one where it has results, else the other.
    only, also : iterable of str
        Rows to show, and further methods.
    """
    metrics = METRICS if protocol == "paper" else _CLEAN
    rows, columns = table.rows(protocol, only, also), table.columns(protocol)
    count = table.seeds if seeds is None else seeds
    entries: dict[tuple[str, str, str], Entry] = {}
    for column in columns:
        for row in rows:
            results = results_of(row, column, protocol, store, count, budget)
            used = results[0]["cell"]["budget"] if results else "full"
            is_earlier = bool(results) and of_earlier_revision(row, results[0])
            found = [{**r["metrics"], **r.get(row.view, {})} for r in results]
            for metric in metrics:
                values = [figures[metric] for figures in found if metric in figures]
                if values:
                    published = row.paper.get(column, {}).get(metric)
                    paper = published[0] if published and protocol == "paper" else None
                    entries[row.name, column, metric] = entry_of(
                        values, used, paper, is_earlier=is_earlier
                    )
    names = [row.name for row in rows]
    mark_best(entries, names, columns, metrics)
    return FilledTable(table, protocol, names, columns, metrics, entries)


def results_of(
    row: Row, column: str, protocol: str, store: Store, seeds: int, budget: str | None
) -> list[dict[str, Any]]:
    """Return the results of a row and data set, one for each seed that has one, of one budget.

    A method that has been changed keeps the results of its last revision until it has new ones.
    """
    budgets = BUDGETS if budget is None else (budget,)
    declared = row.cell(column, protocol, budgets[0], 0).parameters.get(_REVISION, 0)
    for back in range(max(1, declared)):
        for candidate in budgets:
            cells = [row.cell(column, protocol, candidate, seed) for seed in range(seeds)]
            found = [store.get(_earlier(cell, back)) for cell in cells]
            results = [result for result in found if result is not None]
            if results:
                return results
    return []


def of_earlier_revision(row: Row, result: Mapping[str, Any]) -> bool:
    """Return whether a result is from an earlier revision of its method than the declared one."""
    cell = result["cell"]
    declared = row.cell(cell["dataset"], cell["protocol"], cell["budget"], cell["seed"])
    revision = cell["parameters"].get(_REVISION, 0)
    return bool(revision != declared.parameters.get(_REVISION, 0))


def _earlier(cell: Cell, back: int) -> Cell:
    """Return the cell as it was some revisions ago."""
    if not back:
        return cell
    revision = cell.parameters[_REVISION] - back
    return replace(cell, parameters={**cell.parameters, _REVISION: revision})


def mark_best(
    entries: dict[tuple[str, str, str], Entry],
    rows: Sequence[str],
    columns: Sequence[str],
    metrics: Iterable[str],
) -> None:
    """Mark the best and the second of each column, where there is something to compare."""
    for column in columns:
        for metric in metrics:
            keys = [(row, column, metric) for row in rows if (row, column, metric) in entries]
            places = sorted({round(entries[key].mean, 1) for key in keys}, reverse=True)
            marks: dict[float, Mark] = dict(zip(places[:2], ("best", "second"), strict=False))
            for key in keys if len(keys) > 1 else ():
                entries[key] = replace(
                    entries[key], mark=marks.get(round(entries[key].mean, 1), "")
                )
