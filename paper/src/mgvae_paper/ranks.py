r"""Which method is better over many data sets: mean ranks, Friedman's test, critical differences.

With :math:`k` methods ranked on each of :math:`N` data sets (1 is best, ties share), two mean ranks
differ significantly at level :math:`\alpha` if they differ by more than Nemenyi's

.. math:: \mathrm{CD} = q_\alpha \sqrt{\frac{k(k+1)}{6N}}.

One method is compared with each other one by Wilcoxon's signed-rank test of the differences on the
data sets, its p-values raised by Holm's rule.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

from mgvae.common.atomic import atomic_write
from mgvae.errors import DataError
from mgvae.experiments.judging import holm

__all__ = ["Pair", "Ranking", "compare_pairs", "draw_critical_differences", "rank_methods"]


@dataclass(frozen=True)
class Ranking:
    """Mean ranks over data sets.

    Attributes
    ----------
    mean_ranks : dict of str to float
        By method, the best first.
    n_datasets : int
        How many data sets.
    p_value : float
        Of Friedman's test that all methods are alike.
    critical_difference : float
        Nemenyi's, at the level of 5 %.
    """

    mean_ranks: dict[str, float]
    n_datasets: int
    p_value: float
    critical_difference: float


def rank_methods(scores: Mapping[str, Mapping[str, float]]) -> Ranking:
    """Rank methods by a score of which more is better.

    Parameters
    ----------
    scores : mapping
        Score by method and data set. Data sets that lack a method are left out.

    Returns
    -------
    ranking : Ranking
        Mean ranks and tests.

    Examples
    --------
    >>> scores = {"a": {"x": 3, "y": 3, "z": 9}, "b": {"x": 2, "y": 1}, "c": {"x": 1, "y": 2}}
    >>> rank_methods(scores).mean_ranks
    {'a': 1.0, 'b': 2.5, 'c': 2.5}
    """
    methods = list(scores)
    datasets = [d for d in next(iter(scores.values()), {}) if all(d in scores[m] for m in methods)]
    if len(methods) < 3 or len(datasets) < 2:
        raise DataError(
            "ranking needs three methods and two data sets that all of them have results for; "
            f"got {len(methods)} and {len(datasets)}."
        )
    table = np.array([[scores[m][d] for m in methods] for d in datasets])
    means = rankdata(-table, axis=1).mean(axis=0)
    k, n = len(methods), len(datasets)
    quantile = studentized_range.ppf(0.95, k, math.inf) / math.sqrt(2)
    return Ranking(
        {methods[i]: float(means[i]) for i in np.argsort(means, kind="stable")},
        n,
        float(friedmanchisquare(*table.T).pvalue),
        float(quantile * math.sqrt(k * (k + 1) / (6 * n))),
    )


@dataclass(frozen=True)
class Pair:
    """How a method fares against another.

    Parameters
    ----------
    other : str
        The other one.
    difference : float
        The mean over data sets, positive if the method is better.
    wins, losses : int
        Data sets on which it is better, and worse.
    p_value : float
        Of Wilcoxon's test, raised by Holm's rule.
    """

    other: str
    difference: float
    wins: int
    losses: int
    p_value: float


def compare_pairs(scores: Mapping[str, Mapping[str, float]], method: str) -> list[Pair]:
    """Compare a method with each other one on the data sets that both have.

    Parameters
    ----------
    scores : mapping
        Score by method and data set; more is better.
    method : str
        Whose differences are taken.

    Examples
    --------
    >>> scores = {"a": {"x": 3.0, "y": 3.0}, "b": {"x": 2.0, "y": 1.0}}
    >>> compare_pairs(scores, "a")
    [Pair(other='b', difference=1.5, wins=2, losses=0, p_value=0.5)]
    """
    own = scores[method]
    others = [name for name in scores if name != method and own.keys() & scores[name].keys()]
    differences = [
        np.array([own[d] - scores[name][d] for d in own if d in scores[name]]) for name in others
    ]
    raised = holm([float(wilcoxon(d).pvalue) if d.any() else 1.0 for d in differences])
    return [
        Pair(name, float(d.mean()), int((d > 0).sum()), int((d < 0).sum()), p)
        for name, d, p in zip(others, differences, raised, strict=True)
    ]


def draw_critical_differences(ranking: Ranking, path: str | Path, title: str) -> None:
    """Draw the mean ranks on a line, and bars over methods that do not differ significantly.

    Parameters
    ----------
    ranking : Ranking
        What to draw.
    path : path
        A .png file.
    title : str
        What stands above.
    """
    names, ranks = list(ranking.mean_ranks), list(ranking.mean_ranks.values())
    groups = _alike(ranks, ranking.critical_difference)
    top = 0.5 + 0.25 * len(groups)
    figure = Figure(figsize=(8, 0.35 * len(names) + 1.2 + 0.2 * len(groups)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for place, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        axes.plot([rank, rank, len(names) + 0.4], [0, -place - 1, -place - 1], "0.6", lw=0.8)
        axes.plot([rank], [0], "ko", ms=4)
        axes.text(len(names) + 0.5, -place - 1, f"{name}  {rank:.2f}", va="center")
    for height, (first, last) in enumerate(groups):
        level = 0.3 + 0.25 * height
        axes.plot([ranks[first] - 0.05, ranks[last] + 0.05], [level, level], "k", lw=3)
    axes.plot([1, 1 + ranking.critical_difference], [top + 0.4] * 2, "k", lw=1)
    axes.text(1, top + 0.55, f"CD = {ranking.critical_difference:.2f}", va="bottom")
    axes.set(xlim=(0.8, len(names) + 3.5), ylim=(-len(names) - 0.8, top + 1.5), title=title)
    axes.set_xticks(range(1, len(names) + 1))
    axes.xaxis.set_label_text("mean rank (1 is best)")
    axes.yaxis.set_visible(False)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=120, metadata={"Software": None})


def _alike(ranks: list[float], difference: float) -> list[tuple[int, int]]:
    """Return the longest runs of sorted ranks whose ends differ by at most ``difference``."""
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(i for i in range(first, len(ranks)) if ranks[i] - ranks[first] <= difference)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs
