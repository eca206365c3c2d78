"""The tables: which cells they are made of, and what the paper says.

Each is declared in a file of its own under ``tables/``: a title, the data sets in its columns, and
for each row the method, its deviating settings and the paper's values (mean and standard deviation
over three trials, in percent). Tables that the paper does not have name another ``page``.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

from mgvae.errors import ParameterError
from mgvae.experiments import Cell, distinct
from mgvae_paper.data import DATASETS
from mgvae_paper.methods import make_cell

__all__ = ["METRICS", "DeclaredTable", "Row", "find_table", "table_names"]

METRICS = {"b_acc": "B-ACC", "acsa": "ACSA", "gm": "GM"}
"""The paper's metrics, as they are called in results and by people."""

View = Literal["metrics", "tuned", "prevalence"]
Values = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Parameters
    ----------
    name : str
        What the table calls it.
    method : str
        The method behind it.
    settings : mapping
        Parameters of its sampler that differ from the declared ones.
    view : {"metrics", "tuned", "prevalence"}
        Which part of the result: at the classifier's own threshold; at the one tuned on rows held
        out, or at the minority's share, neither of which the paper's protocol has.
    paper : mapping
        The paper's values, by data set and metric: mean and standard deviation.
    draws : int or None
        How many draws of the data the seeds share in turn; by default each seed has its own.
    """

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    view: View = "metrics"
    paper: Mapping[str, Values] = field(default_factory=dict)
    draws: int | None = None

    def cell(self, dataset: str, protocol: str, budget: str, seed: int) -> Cell:
        """Return the row's cell for one data set and seed."""
        draw = seed if self.draws is None else seed % self.draws
        return make_cell(
            dataset, self.method, protocol,
            budget=budget, seed=seed, settings=self.settings, draw=draw,
        )  # fmt: skip


@dataclass(frozen=True)
class DeclaredTable:
    """A declared table, and the page that shows it.

    Examples
    --------
    >>> table = find_table("mnist")
    >>> table.columns("paper")
    ['mnist-100', 'mnist-600']
    >>> len(table.cells("paper", seeds=3))
    54
    """

    name: str
    title: str
    datasets: Sequence[str]
    all_rows: Sequence[Row]
    protocols: Sequence[str] = ("paper", "clean")
    seeds: int = 3
    page: str = "results"

    def columns(self, protocol: str) -> list[str]:
        """Return the data sets that the protocol knows."""
        return [name for name in self.datasets if protocol in DATASETS[name].protocols]

    def rows(self, protocol: str, only: Iterable[str] = (), also: Iterable[str] = ()) -> list[Row]:
        """Return the rows under a protocol.

        Parameters
        ----------
        protocol : str
            Thresholds other than the classifier's own do not exist under ``"paper"``.
        only : iterable of str
            Names of rows or methods to keep, in any case; all if none is named.
        also : iterable of str
            Further methods, one row each.
        """
        rows = [row for row in self.all_rows if row.view == "metrics" or protocol != "paper"]
        wanted = {name.casefold() for name in only}
        known = {name.casefold() for row in rows for name in (row.name, row.method)}
        if wanted - known:
            raise ParameterError(
                f"the table {self.name} has no row {', '.join(sorted(wanted - known))}; it has "
                f"{', '.join(row.name for row in rows)}."
            )
        if wanted:
            rows = [r for r in rows if {r.name.casefold(), r.method.casefold()} & wanted]
        return rows + [Row(name, name) for name in also]

    def cells(
        self,
        protocol: str,
        *,
        seeds: int | None = None,
        budget: str = "full",
        only: Iterable[str] = (),
        also: Iterable[str] = (),
    ) -> list[Cell]:
        """Return all cells, each once, the first seed's first."""
        return distinct(
            row.cell(dataset, protocol, budget, seed)
            for seed in range(self.seeds if seeds is None else seeds)
            for dataset in self.columns(protocol)
            for row in self.rows(protocol, only, also)
        )


def table_names() -> list[str]:
    """Return the names of all tables, in the paper's order."""
    return list(_tables())


def find_table(name: str) -> DeclaredTable:
    """Find a table by name."""
    if name not in _tables():
        raise ParameterError(f"there is no table {name!r}; there are {', '.join(_tables())}.")
    return _tables()[name]


_ORDER = (
    "mnist", "fashionmnist", "celeba", "musk", "water_quality", "isolet", "ablation_mnist",
    "lambda_fashionmnist", "upper_bound", "efficacy", "efficacy_ablation",
    "efficacy_images", "efficacy_ablation_mnist", "augmented_images",
    "magnetic_tiles", "celeba_fifth", "draws",
)  # fmt: skip


@cache
def _tables() -> dict[str, DeclaredTable]:
    folder = resources.files("mgvae_paper").joinpath("tables")
    found = {}
    for name in _ORDER:
        declared = tomllib.loads(folder.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
        draws = declared.pop("draws", None)
        rows = [
            Row(**{"name": row, "method": row, "draws": draws, **declaration})
            for row, declaration in declared.pop("rows").items()
        ]
        columns = declared.pop("columns")
        found[name] = DeclaredTable(name, datasets=columns, all_rows=rows, **declared)
    return found
