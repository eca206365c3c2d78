"""Where a published number lies among all that its authors could have published.

Their scripts save the model at four epochs, offer four weights of the penalty and several numbers
of exemplars, and have no set to judge by but the test set. A grid works out every such choice, each
with three seeds of the classifier over one generator; a printed value is then a point of its
distribution, or lies beside it. Chosen on the test set, the best of a grid says nothing of what the
method is worth.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mgvae.common.atomic import atomic_write
from mgvae.errors import DataError
from mgvae.experiments import Store
from mgvae_paper.summary import entry_of, results_of
from mgvae_paper.tables import find_table, table_names

__all__ = ["Point", "Spread", "draw_spreads", "gather_spreads", "spread_table"]

_METRIC = "b_acc"
_COLOURS = (
    "#1b6ca8",
    "#2a9d8f",
    "#e9a03b",
    "#c8553d",
    "#6a4c93",
)  # of the weights, the smallest first
_NAMES = {
    "ewc_weight": "weight {}",
    "finetune_steps": "{}",
    "n_exemplars": "{} exemplars",
}


@dataclass(frozen=True)
class Point:
    """One choice of settings, and the B-ACC of each seed of the classifier, in percent."""

    settings: Mapping[str, Any]
    values: Sequence[float]

    @property
    def mean(self) -> float:
        """Return the mean over the seeds, which is what the paper prints."""
        return statistics.fmean(self.values)

    def __str__(self) -> str:
        """Return the settings in words."""
        return ", ".join(
            _NAMES.get(name, f"{name} {{}}").format(v if isinstance(v, str) else f"{v:g}")
            for name, v in self.settings.items()
        )


@dataclass(frozen=True)
class Spread:
    """What a column of the paper could have been.

    Parameters
    ----------
    column : str
        The data set.
    points : sequence of Point
        Every choice that has a result, the worst first.
    declared : int
        How many choices there are.
    published : (float, float)
        Mean and standard deviation as printed.
    own : float or None
        The mean of the main table's row, whose settings were not chosen on the test set.
    """

    column: str
    points: Sequence[Point]
    declared: int
    published: tuple[float, float]
    own: float | None

    @property
    def above(self) -> int:
        """Return how many choices reach the printed value, as rounded there."""
        return sum(round(point.mean, 1) >= self.published[0] for point in self.points)

    @property
    def trainings(self) -> Sequence[float]:
        """Return the B-ACC of every single training."""
        return [value for point in self.points for value in point.values]

    @property
    def trainings_above(self) -> int:
        """Return how many single trainings reach the printed mean."""
        return sum(round(value, 1) >= self.published[0] for value in self.trainings)


def gather_spreads(store: Store) -> list[Spread]:
    """Return the spread of every column that has a grid with results.

    Parameters
    ----------
    store : Store
        Where results are.
    """
    spreads = []
    for table in (find_table(name) for name in table_names()):
        for column in table.columns("paper") if table.grid else ():
            points = [
                Point(row.settings, [result["metrics"][_METRIC] for result in found])
                for row in table.rows("paper")
                if (found := results_of(row, column, "paper", store, table.seeds, "full"))
            ]
            if points:
                points.sort(key=lambda point: point.mean)
                published, own = _main_row(column, table.rows("paper")[0].method, store)
                n = len(table.rows("paper"))
                spreads.append(Spread(column, points, n, published, own))
    return spreads


def _main_row(column: str, method: str, store: Store) -> tuple[tuple[float, float], float | None]:
    """Return the printed values of a method in its main table, and what was measured there."""
    for table in (find_table(name) for name in table_names()):
        for row in table.all_rows:
            if row.name == method and _METRIC in row.paper.get(column, {}):
                mean, sd = row.paper[column][_METRIC]
                found = results_of(row, column, "paper", store, table.seeds, None)
                values = [result["metrics"][_METRIC] for result in found]
                return (mean, sd), entry_of(values, "full").mean if values else None
    raise DataError(f"no table has published values of {method} on {column}.")


def spread_table(spreads: Sequence[Spread]) -> str:
    """Return the spreads as a Markdown table.

    Examples
    --------
    >>> point = Point({"ewc_weight": 500.0}, [90.0, 92.0])
    >>> print(spread_table([Spread("musk", [point], 48, (92.4, 1.2), 86.0)]).splitlines()[-1])
    | musk | 92.4 ± 1.2 | 86.0 | 1 of 48 (2) | 91.0 | 91.0 | 91.0 (-1.4) | weight 500 | 0 (0) |
    """
    lines = [
        "| data set | printed | main table | choices run (trainings) | lowest | median | highest "
        "(to print) | which | reach print (trainings) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for spread in spreads:
        means = [point.mean for point in spread.points]
        best = spread.points[-1]
        own = "" if spread.own is None else f"{spread.own:.1f}"
        lines.append(
            f"| {spread.column} | {spread.published[0]:.1f} ± {spread.published[1]:.1f} | {own} "
            f"| {len(means)} of {spread.declared} ({len(spread.trainings)}) | {means[0]:.1f} "
            f"| {statistics.median(means):.1f} "
            f"| {best.mean:.1f} ({best.mean - spread.published[0]:+.1f}) | {best} "
            f"| {spread.above} ({spread.trainings_above}) |"
        )
    return "\n".join(lines)


def draw_spreads(spreads: Sequence[Spread], path: str | Path) -> None:
    """Draw one strip for each column, with the printed value on it.

    Parameters
    ----------
    spreads : sequence of Spread
        From :func:`gather_spreads`.
    path : path
        The .png file to write.
    """
    if not spreads:
        raise DataError("there are no results to draw: run `mgvae-paper run grid_musk` first.")
    figure = Figure(figsize=(8, 0.8 + 1.35 * len(spreads)), layout="constrained")
    FigureCanvasAgg(figure)
    weights = sorted({p.settings["ewc_weight"] for s in spreads for p in s.points})
    colours = dict(zip(weights, _COLOURS, strict=False))
    for axes, spread in zip(
        figure.subplots(len(spreads), squeeze=False).flat, spreads, strict=True
    ):
        mean, sd = spread.published
        axes.axvspan(mean - sd, mean + sd, color="0.88", lw=0)
        axes.axvline(mean, color="k", lw=1.5, label="printed, ± its deviation")
        if spread.own is not None:
            axes.axvline(spread.own, color="0.5", lw=1.2, ls="--", label="our main table")
        for weight in weights:
            lane = weights.index(weight)
            here = [p for p in spread.points if p.settings["ewc_weight"] == weight]
            singles = [value for point in here for value in point.values]
            axes.plot(singles, [lane] * len(singles), "|", color=colours[weight], ms=7, alpha=0.35)
            label = f"weight {weight:g}"
            axes.plot([p.mean for p in here], [lane] * len(here), "o", ms=5, mew=0,
                      color=colours[weight], alpha=0.85, label=label)  # fmt: skip
        axes.set_yticks([])
        axes.set_ylim(-0.8, len(weights) - 0.2)
        axes.set_ylabel(spread.column, rotation=0, ha="right", va="center", fontsize=9)
        axes.tick_params(labelsize=8)
        for side in ("left", "right", "top"):
            axes.spines[side].set_visible(False)
    figure.axes[-1].set_xlabel("B-ACC (%): dots are means over the classifier's seeds", fontsize=9)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=120, metadata={"Software": None})
