"""The part of the efficacy page on ensembles over many draws, by the protocol ``draws``."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from mgvae.errors import DataError
from mgvae.experiments import Store
from mgvae_paper.draws import FIGURES
from mgvae_paper.ranks import compare_pairs, rank_methods
from mgvae_paper.render import markdown_table
from mgvae_paper.tables import find_table

__all__ = ["arm_scores", "draws_parts"]

_OURS = "BalancedClassifier"
_LESS_IS_BETTER = ("log_loss", "brier")
_TESTED = ("gm", "ap", "roc_auc", "log_loss", "brier")
_PROTOCOL = """Protocol `draws`: three stratified folds, one MGVAE fitted in each and shared \
by all arms and classifiers (LightGBM, logistic regression, k nearest neighbours, a small \
MLP); at most 2,000 rows of a table (1,000 where it has hundreds of columns). All \
probabilities are carried to the true shares of the classes, so *GM* is the decision at \
these shares for every arm alike, *GM at 0.5* that of the most probable class, and *tuned* \
at the threshold that is best out of bag. Every bagged arm has 10 members. The three arms \
called *as BalancedClassifier*, or that, differ in the sampler alone. EasyEnsemble and \
BalancedRandomForest bring their own trees and are the same for all classifiers."""
_PAIRS = """BalancedClassifier minus each other arm: one number per table (the mean over \
classifiers, folds and seeds), Wilcoxon's signed-rank test, p-values raised by Holm's rule within \
a column. In brackets the tables on which it is better and worse; of log loss and Brier score, \
positive is better too."""

Scores = dict[str, dict[str, float]]


def draws_parts(store: Store) -> list[str]:
    """Return the paragraphs, none without results."""
    parts: list[str] = []
    found = arm_scores(store, "arms")
    if found:
        n = len(next(iter(found["ap"].values())))
        parts += ["## Many draws of one fit", _PROTOCOL, _said(store, "arms", n), _means(found)]
        parts += _ranks(found) + _pairs(found, _OURS)
        parts += ["### Seconds of an arm", _seconds(store)]
    ablation = arm_scores(store, "ablation of draws")
    if ablation:
        n = len(next(iter(ablation["ap"].values())))
        parts += ["### Ablation of draws", _said(store, "ablation of draws", n), _means(ablation)]
    return parts


def arm_scores(store: Store, method: str) -> dict[str, Scores]:
    """Return by figure, arm and table the mean over classifiers, folds and seeds.

    Parameters
    ----------
    store : Store
        Where results are.
    method : {"arms", "ablation of draws"}
        Which arms.
    """
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for dataset, result in _results(store, method):
        for fold in result["folds"]:
            for arms in fold["arms"].values():
                for arm, figures in arms.items():
                    for name in FIGURES:
                        if name in figures:
                            by_arm = found.setdefault(name, {}).setdefault(arm, {})
                            by_arm.setdefault(dataset, []).append(figures[name])
    return {
        name: {
            arm: {d: statistics.fmean(v) for d, v in by_table.items()}
            for arm, by_table in arms.items()
        }
        for name, arms in found.items()
    }


def _results(store: Store, method: str) -> list[tuple[str, Mapping[str, Any]]]:
    cells = find_table("draws").cells("draws", only=[method])
    results = [(cell.dataset, store.get(cell)) for cell in cells]
    return [(dataset, result) for dataset, result in results if result is not None]


def _said(store: Store, method: str, n: int) -> str:
    results = [result for _, result in _results(store, method)]
    seeds = {result["cell"]["seed"] for result in results}
    revision = results[0]["cell"]["parameters"]["revision"]
    commits = sorted({str(result.get("commit"))[:9] for result in results})
    whole = len(find_table("draws").columns("draws"))
    return (
        f"Means over {n} of {whole} tables, {len(seeds)} of 3 seeds; revision {revision}, source "
        f"at {', '.join(commits)}. What is missing, `mgvae-paper run draws` makes."
    )


def _means(found: Mapping[str, Scores]) -> str:
    lines = []
    for arm in found["ap"]:
        cells = []
        for name in FIGURES:
            values = found.get(name, {}).get(arm)
            form = ".3f" if name == "log_loss" else ".2f" if name == "brier" else ".1f"
            cells.append("" if values is None else format(statistics.fmean(values.values()), form))
        lines.append([arm, *cells])
    return markdown_table(["arm", *FIGURES.values()], lines)


def _better(found: Mapping[str, Scores], name: str) -> Scores:
    """Return scores of which more is better."""
    sign = -1.0 if name in _LESS_IS_BETTER else 1.0
    return {arm: {d: sign * v for d, v in by.items()} for arm, by in found[name].items()}


def _ranks(found: Mapping[str, Scores]) -> list[str]:
    try:
        rankings = {name: rank_methods(_better(found, name)) for name in _TESTED}
    except DataError:  # too few tables
        return []
    lines = [
        [arm, *(f"{ranking.mean_ranks[arm]:.2f}" for ranking in rankings.values())]
        for arm in found["ap"]
    ]
    header = ["mean rank", *(FIGURES[name] for name in rankings)]
    return ["### Mean ranks of arms", markdown_table(header, lines)]


def _pairs(found: Mapping[str, Scores], ours: str) -> list[str]:
    cells: dict[str, list[str]] = {}
    for name in _TESTED:
        form = "+.3f" if name == "log_loss" else "+.2f"
        for pair in compare_pairs(_better(found, name), ours):
            text = f"{pair.difference:{form}} ({pair.wins}:{pair.losses}), p = {pair.p_value:.2g}"
            cells.setdefault(pair.other, []).append(text)
    header = [f"{ours} against", *(FIGURES[name] for name in _TESTED)]
    lines: Sequence[Sequence[str]] = [[other, *texts] for other, texts in cells.items()]
    return ["### Pairs of arms", _PAIRS, markdown_table(header, lines)]


def _seconds(store: Store) -> str:
    spent: dict[str, list[float]] = {}
    sampler = []
    for _, result in _results(store, "arms"):
        for fold in result["folds"]:
            sampler.append(fold["seconds"])
            for arms in fold["arms"].values():
                for arm, figures in arms.items():
                    spent.setdefault(arm, []).append(figures["seconds"])
    lines = [[arm, f"{statistics.median(v):.2f}", f"{max(v):.1f}"] for arm, v in spent.items()]
    once = f"{statistics.median(sampler):.2f}", f"{max(sampler):.1f}"
    lines.append(["fit of the MGVAE, once for all", *once])
    return markdown_table(["processor seconds of one thread", "median", "largest"], lines)
