"""Figures over many tables: critical differences of mean ranks, and a heat map of all tables."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mgvae.common.atomic import atomic_write
from mgvae.errors import DataError
from mgvae_paper.efficacy import FIGURES_OF_MERIT, Efficacy
from mgvae_paper.ranks import draw_critical_differences, rank_methods

__all__ = ["EFFICACY_FIGURES", "RANKED"]

RANKED = ("gm", "gm_tuned", "ap", "roc_auc", "recall_98")
"""The figures that methods are ranked and tested by."""


def _ranks(metric: str, found: Efficacy, path: str | Path) -> None:
    title = f"Mean ranks by {FIGURES_OF_MERIT[metric]}, {len(found.datasets)} tables"
    draw_critical_differences(rank_methods(found.scores(metric)), path, title)


def _heat(metric: str, found: Efficacy, path: str | Path) -> None:
    """Draw the figure of each table and method, coloured by its distance to the table's median."""
    scores = found.scores(metric)
    if not scores:
        raise DataError("there are no results to draw: run `mgvae-paper run efficacy` first.")
    rows = list(scores)
    values = np.array([[scores[row][d] for row in rows] for d in found.datasets])
    distance = values - np.median(values, axis=1, keepdims=True)
    size = (1.5 + 0.62 * len(rows), 2.2 + 0.24 * len(found.datasets))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    picture = axes.imshow(distance, cmap="RdBu", vmin=-10, vmax=10, aspect="auto")
    for i, line in enumerate(values):
        for j, value in enumerate(line):
            bold = "bold" if value == line.max() else "normal"
            dark = "w" if abs(distance[i, j]) > 7 else "k"
            axes.text(j, i, f"{value:.0f}", ha="center", va="center",
                      fontsize=7, weight=bold, color=dark)  # fmt: skip
    axes.set_xticks(range(len(rows)), rows, rotation=40, ha="right", fontsize=8)
    axes.set_yticks(range(len(found.datasets)), found.datasets, fontsize=8)
    axes.set_title(FIGURES_OF_MERIT[metric], fontsize=10)
    bar = figure.colorbar(picture, ax=axes, shrink=0.6)
    bar.set_label("difference to the table's median", fontsize=8)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=120, metadata={"Software": None})


EFFICACY_FIGURES: dict[str, Callable[[Efficacy, str | Path], None]] = {
    "efficacy-ranks": partial(_ranks, "gm"),
    **{f"efficacy-ranks-{metric}": partial(_ranks, metric) for metric in RANKED[1:]},
    "efficacy-heat": partial(_heat, "gm"),
    **{f"efficacy-heat-{metric}": partial(_heat, metric) for metric in RANKED[1:]},
}
"""Every figure by name; without a metric in the name it is GM."""
