"""What over-sampling is worth over many tables: the results of the protocol ``folds`` put together.

A table counts once: its figure is the mean over seeds, folds and classifiers. Only tables that have
results of every row take part, so that all means and ranks are over the same tables.
"""

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgvae.experiments import Store
from mgvae_paper.summary import (
    Entry,
    FilledTable,
    entry_of,
    mark_best,
    of_earlier_revision,
    results_of,
)
from mgvae_paper.tables import DeclaredTable, Row

__all__ = ["FIGURES_OF_MERIT", "Efficacy", "gather"]

FIGURES_OF_MERIT = {
    "gm": "GM",
    "balanced_accuracy": "balanced accuracy",
    "gm_tuned": "GM, tuned threshold",
    "balanced_accuracy_tuned": "balanced accuracy, tuned threshold",
    "ap": "AP",
    "roc_auc": "ROC AUC",
    "recall_98": "recall at 98 %",
}
"""The figures of a cell, in percent, and what they are called. The first two are at 0.5, or at the
threshold that a row is named after."""

ALL = "all tables"

Figures = Mapping[str, float]


@dataclass(frozen=True)
class Efficacy:
    """Results of a table of the protocol ``folds``.

    Parameters
    ----------
    table : DeclaredTable
        What was declared.
    rows : sequence of str
        The rows that have results.
    datasets : sequence of str
        The tables for which all of them have.
    seeds : mapping
        By row and data set, the figures of each seed: by classifier, and then by name.
    seconds : mapping
        By row, the seconds of each fit of the sampler.
    budgets : mapping
        By row, the budget of its results.
    earlier : collection of str
        Rows with results of an earlier revision of their method.
    """

    table: DeclaredTable
    rows: Sequence[str]
    datasets: Sequence[str]
    seeds: Mapping[tuple[str, str], Sequence[Mapping[str, Figures]]]
    seconds: Mapping[str, Sequence[float]]
    budgets: Mapping[str, str]
    earlier: Collection[str]

    @property
    def classifiers(self) -> list[str]:
        """The classifiers, in the order of the declaration."""
        return list(next(iter(self.seeds.values()))[0]) if self.seeds else []

    def scores(self, metric: str, classifier: str | None = None) -> dict[str, dict[str, float]]:
        """Return a figure by row and data set, of one classifier or the mean of all.

        Rows that differ in the threshold alone have no figure that does not depend on it.
        """
        found: dict[str, dict[str, float]] = {}
        for row in self.rows:
            for dataset in self.datasets:
                values = [
                    figures[metric]
                    for seed in self.seeds[row, dataset]
                    for name, figures in seed.items()
                    if classifier in (None, name) and metric in figures
                ]
                if values:
                    found.setdefault(row, {})[dataset] = statistics.fmean(values)
        return found

    def summary(self, *, by_dataset: bool = False) -> FilledTable:
        """Return means over all tables and, if wanted, those of each before them.

        The spread is that over seeds.
        """
        columns = [*(self.datasets if by_dataset else ()), ALL]
        entries: dict[tuple[str, str, str], Entry] = {}
        for row in self.rows:
            for column in columns:
                for metric in FIGURES_OF_MERIT:
                    values = self._by_seed(row, column, metric)
                    if values:
                        entries[row, column, metric] = entry_of(
                            values, self.budgets[row], is_earlier=row in self.earlier
                        )
        mark_best(entries, self.rows, columns, FIGURES_OF_MERIT)
        return FilledTable(self.table, "folds", self.rows, columns, FIGURES_OF_MERIT, entries)

    def _by_seed(self, row: str, column: str, metric: str) -> list[float]:
        """Return the mean of each seed that has results of all data sets of a column."""
        datasets = self.datasets if column == ALL else [column]
        runs = [self.seeds[row, dataset] for dataset in datasets]
        means = []
        for seed in range(min(map(len, runs), default=0)):
            figures = [f for run in runs for f in run[seed].values()]
            if all(metric in f for f in figures):
                means.append(statistics.fmean(f[metric] for f in figures))
        return means


def gather(
    table: DeclaredTable,
    store: Store,
    *,
    seeds: int | None = None,
    budget: str | None = None,
    only: Iterable[str] = (),
    also: Iterable[str] = (),
) -> Efficacy:
    """Put the results of a table together.

    Parameters
    ----------
    table : DeclaredTable
        A table of the protocol ``folds``.
    store : Store
        Where results are.
    seeds, budget, only, also
        As in :func:`mgvae_paper.summary.summarise`.
    """
    count = table.seeds if seeds is None else seeds
    found: dict[tuple[str, str], list[dict[str, Figures]]] = {}
    seconds: dict[str, list[float]] = {}
    budgets: dict[str, str] = {}
    earlier: set[str] = set()
    rows = table.rows("folds", only, also)
    for row in rows:
        for dataset in table.columns("folds"):
            results = results_of(row, dataset, "folds", store, count, budget)
            for result in results:
                found.setdefault((row.name, dataset), []).append(_by_classifier(result, row))
                spent = [fold["seconds"] for fold in result["folds"]]
                seconds.setdefault(row.name, []).extend(spent)
                budgets[row.name] = _longer(budgets.get(row.name), result["cell"]["budget"])
                if of_earlier_revision(row, result):
                    earlier.add(row.name)
    names = [row.name for row in rows if row.name in budgets]
    datasets = [d for d in table.columns("folds") if names and all((n, d) in found for n in names)]
    return Efficacy(table, names, datasets, found, seconds, budgets, earlier)


def _by_classifier(result: Mapping[str, Any], row: Row) -> dict[str, Figures]:
    """Return the means over folds, as a row shows them."""
    folds = [fold["classifiers"] for fold in result["folds"]]
    means: dict[str, Figures] = {}
    for name in folds[0]:
        figures = {
            metric: float(np.mean([fold[name][metric] for fold in folds]))
            for metric in (*FIGURES_OF_MERIT, "gm_prevalence", "balanced_accuracy_prevalence")
        }
        if row.view != "metrics":  # only what depends on the threshold, and at that one
            figures = {m: figures[f"{m}_{row.view}"] for m in ("gm", "balanced_accuracy")}
        means[name] = figures
    return means


def _longer(known: str | None, budget: str) -> str:
    """Call a row shortened if any of its results is."""
    return budget if known in (None, "full") else str(known)
