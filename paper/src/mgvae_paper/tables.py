"""The tables: which cells they are made of, and what the paper says.

Each is declared in a file of its own under ``tables/``: a title, the data sets in its columns, and
for each row the method, its deviating settings and the paper's values (mean and standard deviation
over three trials, in percent). Tables that the paper does not have name another ``page``.

A table may declare a ``grid`` in place of rows: values of some settings of one method, each of
which meets each of the others. Its generator is one for all seeds, as in the published scripts.
"""

import fnmatch
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import product
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
    sampler_seed : int or None
        The one seed of its sampler, whatever that of the classifier; by default they are the same.
    """

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    view: View = "metrics"
    paper: Mapping[str, Values] = field(default_factory=dict)
    draws: int | None = None
    sampler_seed: int | None = None

    def cell(self, dataset: str, protocol: str, budget: str, seed: int) -> Cell:
        """Return the row's cell for one data set and seed."""
        draw = seed if self.draws is None else seed % self.draws
        return make_cell(
            dataset, self.method, protocol,
            budget=budget, seed=seed, settings=self.settings, draw=draw,
            sampler_seed=self.sampler_seed,
        )  # fmt: skip


@dataclass(frozen=True)
class DeclaredTable:
    """A declared table, and the page that shows it.

    ``grid`` has the values of settings that its rows are made of, if it is declared that way.

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
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)

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
            Names of rows or methods to keep, in any case, ``*`` for any text in them; all if none
            is named.
        also : iterable of str
            Further methods, one row each.
        """
        rows = [row for row in self.all_rows if row.view == "metrics" or protocol != "paper"]
        patterns = [name.casefold() for name in only]
        names = {row.name: {row.name.casefold(), row.method.casefold()} for row in rows}
        unknown = [p for p in patterns if not any(fnmatch.filter(n, p) for n in names.values())]
        if unknown:
            raise ParameterError(
                f"the table {self.name} has no row {', '.join(sorted(unknown))}; it has "
                f"{', '.join(row.name for row in rows)}."
            )
        if patterns:
            rows = [r for r in rows if any(fnmatch.filter(names[r.name], p) for p in patterns)]
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
    "lambda_fashionmnist", "upper_bound", "published_mnist", "grid_musk", "grid_water_quality",
    "grid_isolet", "grid_mnist", "grid_fashionmnist", "efficacy", "efficacy_ablation",
    "efficacy_images", "efficacy_ablation_mnist", "augmented_images",
    "magnetic_tiles", "celeba_fifth", "draws",
)  # fmt: skip


@cache
def _tables() -> dict[str, DeclaredTable]:
    folder = resources.files("mgvae_paper").joinpath("tables")
    found = {}
    for name in _ORDER:
        declared = tomllib.loads(folder.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
        shared = {"draws": declared.pop("draws", None)}
        if "grid" in declared:
            shared |= {"method": declared.pop("method"), "sampler_seed": 0}
            declared["rows"] = _points(declared["grid"])
        rows = [
            Row(**{"name": row, "method": row, **shared, **declaration})
            for row, declaration in declared.pop("rows").items()
        ]
        columns = declared.pop("columns")
        found[name] = DeclaredTable(name, datasets=columns, all_rows=rows, **declared)
    return found


def _points(grid: Mapping[str, Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """Return the rows of a grid by name: each value of a setting with each of the others.

    Examples
    --------
    >>> _points({"ewc_weight": [5e2, 5e4], "n_exemplars": [700]})["50000, 700"]
    {'settings': {'ewc_weight': 50000.0, 'n_exemplars': 700}}
    """
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return {
        ", ".join(v if isinstance(v, str) else f"{v:g}" for v in point.values()): {
            "settings": point
        }
        for point in points
    }
