"""The part of the efficacy page on ensembles over many draws, by the protocol ``draws``."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scipy.stats import rankdata

from mgvae.errors import DataError
from mgvae.experiments import Store
from mgvae_paper.draws import FIGURES
from mgvae_paper.ranks import Pair, compare_pairs, rank_methods
from mgvae_paper.render import markdown_table
from mgvae_paper.tables import find_table

__all__ = ["DESIGN", "arm_scores", "draws_parts", "row_spreads"]

_OURS = "BalancedClassifier"
_BAGGED = "nothing, bagged"
_FIXED = ("share 0.1", "share 0.2", "share 0.5", "share 1")
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

DESIGN = (
    "abalone9-18", "cleveland-0_vs_4", "ecoli3", "flare-F", "glass1", "glass2", "haberman",
    "vehicle1", "winequality-red-4", "yeast-1_vs_7",
)  # fmt: skip
"""The tables on which the shares of ``"auto"`` and their weights were chosen."""

_ENOUGH = 6  # tables from which on the aims are also told without those of the design
_POINTS = """Declared before these cells ran. Each p-value is of Wilcoxon's signed-rank test of \
one comparison over the tables, two-sided and not raised. Costs are medians over folds and \
classifiers. The shares of `share="auto"` and how they are weighed were chosen on ten of the \
tables ({design}), with other seeds of the sampler but the same folds of seed 0: so the aims are \
also told without these ten, where there are enough others."""
_RIVALS = (_BAGGED, "BalancedRandomForest", "EasyEnsemble", "no VAE as BalancedClassifier")
_RANKED = ("gm", "ap", "roc_auc")
_ALONE = """EasyEnsemble and BalancedRandomForest take no classifier. So above, a forest is \
compared with the mean of four classifiers, two of which are weaker than forests. Here each is \
compared alone; p-values are not raised."""
_CLASSIFIERS = """Log loss / Brier score / spread. The spread is that of a row's probability over \
the seeds, which have other folds, fits and draws: the standard deviation in points, a mean over \
up to 40 rows of each table of at most 2,000 rows; a dash stands for too few seeds."""

Scores = dict[str, dict[str, float]]


def draws_parts(store: Store) -> list[str]:
    """Return the paragraphs, none without results."""
    parts: list[str] = []
    found = arm_scores(store, "arms")
    ablation = arm_scores(store, "ablation of draws")
    if found:
        n = len(next(iter(found["ap"].values())))
        parts += ["## Many draws of one fit", _PROTOCOL, _said(store, "arms", n)]
        about = _POINTS.format(design=", ".join(DESIGN))
        parts += ["### What it was to show", about, _points(store, found, ablation)]
        others, others_ablation = _undesigned(found), _undesigned(ablation)
        if others and len(others["ap"][_OURS]) >= _ENOUGH:
            parts += ["Without the ten tables of the design:"]
            parts += [_points(store, others, others_ablation)]
        parts += ["### Means of arms", _means(found)]
        parts += _ranks(found) + _pairs(found, _OURS)
        parts += ["### With each classifier alone", _ALONE, _alone(store)]
        parts += ["### Classifiers", _CLASSIFIERS, _by_classifier(store)]
        parts += ["### Seconds of an arm", _seconds(store)]
    if ablation:
        n = len(next(iter(ablation["ap"].values())))
        parts += ["### Ablation of draws", _said(store, "ablation of draws", n), _means(ablation)]
    return parts


def arm_scores(store: Store, method: str, model: str | None = None) -> dict[str, Scores]:
    """Return by figure, arm and table the mean over classifiers, folds and seeds.

    Parameters
    ----------
    store : Store
        Where results are.
    method : {"arms", "ablation of draws"}
        Which arms.
    model : str, optional
        One classifier only.
    """
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for dataset, result in _results(store, method):
        for fold in result["folds"]:
            for trained, arm, figures in _figures(fold):
                for name in FIGURES:
                    if name in figures and model in (None, trained):
                        by_arm = found.setdefault(name, {}).setdefault(arm, {})
                        by_arm.setdefault(dataset, []).append(figures[name])
    return {
        name: {
            arm: {d: statistics.fmean(v) for d, v in by_table.items()}
            for arm, by_table in arms.items()
        }
        for name, arms in found.items()
    }


def _undesigned(found: Mapping[str, Scores]) -> dict[str, Scores]:
    """Leave out the tables of the design, and what has no other."""
    kept = {
        name: {arm: {t: v for t, v in by.items() if t not in DESIGN} for arm, by in arms.items()}
        for name, arms in found.items()
    }
    return kept if all(by for arms in kept.values() for by in arms.values()) else {}


def row_spreads(store: Store) -> dict[tuple[str, str], float]:
    """Return by classifier and arm how far a row's probability spreads over seeds, in points."""
    said: dict[tuple[str, str], dict[tuple[str, int], list[float]]] = {}
    for dataset, result in _results(store, "arms"):
        for fold in result["folds"]:
            for model, arm, figures in _figures(fold):
                rows = said.setdefault((model, arm), {})
                for row, p in zip(fold.get("watched", ()), figures.get("said", ()), strict=True):
                    rows.setdefault((dataset, row), []).append(p / 10)
    spreads: dict[tuple[str, str], float] = {}
    for key, rows in said.items():
        known = [statistics.stdev(p) for p in rows.values() if len(p) > 1]
        if known:
            spreads[key] = statistics.fmean(known)
    return spreads


def _figures(fold: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for model, arms in fold["arms"].items():
        for arm, figures in arms.items():
            yield model, arm, figures


def _points(store: Store, found: Mapping[str, Scores], ablation: Mapping[str, Scores]) -> str:
    """Return the declared aims, what was found, and whether they hold."""
    lines: list[tuple[str, str, bool]] = []
    for name in ("roc_auc", "gm"):
        ranks = _mean_ranks(found, name)
        place = sorted(ranks, key=ranks.__getitem__).index(_OURS) + 1
        said = f"place {place} of {len(ranks)}, mean rank {ranks[_OURS]:.2f}"
        lines.append((f"best mean rank on {FIGURES[name]}", said, place == 1))
    for name in ("ap", "log_loss", "brier"):
        ours, bagged = (_mean_ranks(found, name)[arm] for arm in (_OURS, _BAGGED))
        pair = _pair(found, name, _BAGGED)
        said = f"mean ranks {ours:.2f} and {bagged:.2f}; {_difference(name, pair)}"
        held = ours <= bagged and (name != "ap" or pair.difference >= 0)
        lines.append((f"{FIGURES[name]} not worse than {_BAGGED}", said, held))
    for name, other, level in (
        ("ap", "nothing", 0.01),
        ("ap", _BAGGED, 0.05),
        ("roc_auc", "no VAE as BalancedClassifier", 0.05),
        ("ap", "no VAE as BalancedClassifier", 0.05),
        ("roc_auc", "no VAE, 10 draws", 0.05),
        ("ap", "no VAE, 10 draws", 0.05),
        ("roc_auc", "SMOTE, 10 draws", 0.01),
    ):
        pair = _pair(found, name, other)
        held = pair.difference > 0 and pair.p_value < level
        aim = f"{FIGURES[name]} above {other}, p < {level}"
        lines.append((aim, _difference(name, pair), held))
    if ablation:
        for name in _TESTED:
            means = {arm: statistics.fmean(v.values()) for arm, v in ablation[name].items()}
            sign = -1.0 if name in _LESS_IS_BETTER else 1.0
            value, best = max((sign * means[arm], arm) for arm in _FIXED)
            gap = (100 if name == "log_loss" else 1) * (sign * means["10 draws"] - value)
            said = f"{gap:+.2f} to {best}" + (" (hundredths)" if name == "log_loss" else "")
            aim = f"{FIGURES[name]}: share auto within 0.3 of the best fixed share"
            lines.append((aim, said, gap >= -0.3))
    ratio = statistics.median(_cost_ratios(store))
    aim = "ten draws in seconds of ten balanced fits and one of the sampler"
    lines.append((aim, f"{ratio:.2f} of that", ratio <= 1.0))
    told = [[aim, said, "yes" if held else "no"] for aim, said, held in lines]
    return markdown_table(["aim", "found", "holds"], told)


def _mean_ranks(found: Mapping[str, Scores], name: str) -> dict[str, float]:
    scores = _better(found, name)
    tables = list(next(iter(scores.values())))
    ranks = rankdata([[-scores[arm][t] for arm in scores] for t in tables], axis=1).mean(0)
    return dict(zip(scores, ranks.tolist(), strict=True))


def _pair(found: Mapping[str, Scores], name: str, other: str) -> Pair:
    scores = _better(found, name)
    return compare_pairs({arm: scores[arm] for arm in (_OURS, other)}, _OURS)[0]


def _difference(name: str, pair: Pair) -> str:
    form = "+.3f" if name == "log_loss" else "+.2f"
    return f"{pair.difference:{form}} ({pair.wins}:{pair.losses}), p = {pair.p_value:.2g}"


def _cost_ratios(store: Store) -> list[float]:
    ratios = []
    for _, result in _results(store, "arms"):
        for fold in result["folds"]:
            for arms in fold["arms"].values():
                ten = fold["seconds"] + 10 * arms["MGVAE"]["seconds"]
                ratios.append((fold["seconds"] + arms[_OURS]["seconds"]) / ten)
    return ratios


def _alone(store: Store) -> str:
    """Return the differences to the strongest rivals, for each classifier."""
    lines = []
    models = _results(store, "arms")[0][1]["folds"][0]["arms"]
    for model in models:
        found = arm_scores(store, "arms", model)
        for other in (rival for rival in _RIVALS if rival in found["ap"]):
            cells = [_difference(name, _pair(found, name, other)) for name in _RANKED]
            lines.append([model, other, *cells])
    header = ["classifier", f"{_OURS} against", *(FIGURES[name] for name in _RANKED)]
    return markdown_table(header, lines)


def _by_classifier(store: Store) -> str:
    spreads = row_spreads(store)
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for _, result in _results(store, "arms"):
        for fold in result["folds"]:
            for model, arm, figures in _figures(fold):
                by = values.setdefault((model, arm), {})
                for name in ("log_loss", "brier"):
                    by.setdefault(name, []).append(figures[name])
    models = list(dict.fromkeys(model for model, _ in values))
    lines = []
    for arm in dict.fromkeys(arm for _, arm in values):
        cells = []
        for model in models:
            logs, brier = (statistics.fmean(values[model, arm][n]) for n in ("log_loss", "brier"))
            spread = spreads.get((model, arm))
            told = "–" if spread is None else f"{spread:.1f}"
            cells.append(f"{logs:.3f} / {brier:.2f} / {told}")
        lines.append([arm, *cells])
    return markdown_table(["arm", *models], lines)


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
            for _, arm, figures in _figures(fold):
                spent.setdefault(arm, []).append(figures["seconds"])
    lines = [[arm, f"{statistics.median(v):.2f}", f"{max(v):.1f}"] for arm, v in spent.items()]
    once = f"{statistics.median(sampler):.2f}", f"{max(sampler):.1f}"
    lines.append(["fit of the MGVAE, once for all", *once])
    return markdown_table(["processor seconds of one thread", "median", "largest"], lines)
