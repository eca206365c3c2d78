"""The page on what over-sampling is worth on data that nothing was tuned for."""

import statistics
from pathlib import Path

from mgvae.errors import DataError
from mgvae.experiments import Store
from mgvae_paper.augmented_page import AUGMENTED, augmented_parts
from mgvae_paper.draws_page import draws_parts
from mgvae_paper.efficacy import FIGURES_OF_MERIT, Efficacy, gather
from mgvae_paper.efficacy_figures import EFFICACY_FIGURES, RANKED
from mgvae_paper.page import costs, write_parts
from mgvae_paper.ranks import compare_pairs, rank_methods
from mgvae_paper.render import markdown_table, render
from mgvae_paper.summary import FilledTable, summarise
from mgvae_paper.tables import find_table

__all__ = ["write_efficacy_page"]

_OURS = "MGVAE"
_FOLDS = """Protocol `folds`: each table, or a stratified draw of its rows by the seed where it is \
larger than declared, is divided into three stratified folds (Musk by molecule). Of the training \
rows of a fold a quarter is set aside, and only the tuned threshold is chosen on it; encoder, \
sampler and classifiers (LightGBM, logistic regression, k nearest neighbours, a small MLP) see \
the rest. *GM* is at the threshold 0.5, of the rows named after a threshold at that one; *tuned* \
is the threshold with the best GM on the quarter set aside, for every method alike. Class weights \
are sample weights; neighbours, which know none, count each vote by the weight of its class."""
_PAIRS = """MGVAE minus each other method: one number per table (the mean over classifiers, folds \
and seeds), Wilcoxon's signed-rank test, p-values raised by Holm's rule within a column. In \
brackets the tables on which MGVAE is better and worse."""


def write_efficacy_page(store: Store, path: str | Path) -> None:
    """Write the page, with its plots in ``figures/`` beside it.

    Parameters
    ----------
    store : Store
        Where results are.
    path : path
        The Markdown file to write; ``<name>-reading.md`` beside it says what the figures mean.
    """
    path = Path(path)
    parts = ["# Efficacy"]
    parts += draws_parts(store)
    tables = gather(find_table("efficacy"), store)
    if tables.datasets:
        parts += ["## Real tables", _FOLDS, render(tables.summary()).rstrip()]
        parts += [f"Means over {len(tables.datasets)} tables, ± over seeds."]
        parts += _ranks(tables, path) + _pairs(tables)
        parts += ["### By table", _picture("efficacy-heat", "GM by table", tables, path)]
        parts += [_picture("efficacy-heat-ap", "AP by table", tables, path)]
        parts += _by_classifier(tables) + _seconds(tables)
    ablation = gather(find_table("efficacy_ablation"), store)
    if ablation.datasets:
        parts += ["## Ablations on the tables", "One setting changed at a time."]
        parts += [render(ablation.summary()).rstrip(), *_pairs(ablation)]
    for name in AUGMENTED:
        parts += augmented_parts(name, store)
    for name in ("efficacy_images", "efficacy_ablation_mnist"):
        summary = summarise(find_table(name), "clean", store)
        if summary.entries:
            parts += [f"## {summary.table.title}", _IMAGES, *_by_column(summary)]
    command = "Written by `mgvae-paper page efficacy`; `mgvae-paper run efficacy efficacy_ablation "
    command += "efficacy_images efficacy_ablation_mnist draws "
    command += f"{' '.join(AUGMENTED)}` makes the results."
    parts += ["## What was run", command, costs(store, ("clean", "folds", "draws"))]
    write_parts(parts, path)


_IMAGES = "Protocol `clean`: see [results](results.md)."


def _by_column(summary: FilledTable) -> list[str]:
    """Show each data set by itself: together they are too wide."""
    parts = []
    for column in summary.columns:
        entries = {key: entry for key, entry in summary.entries.items() if key[1] == column}
        rows = [row for row in summary.rows if (row, column, "gm") in entries]
        if rows:
            alone = FilledTable(
                summary.table, summary.protocol, rows, [column], summary.metrics, entries
            )
            parts.append(render(alone).rstrip())
    return parts


def _ranks(found: Efficacy, path: Path) -> list[str]:
    rankings = {}
    for metric in RANKED:
        try:
            rankings[metric] = rank_methods(found.scores(metric))
        except DataError:
            continue
    if not rankings:
        return []
    lines = [
        [
            row,
            *(f"{r.mean_ranks[row]:.2f}" if row in r.mean_ranks else "" for r in rankings.values()),
        ]
        for row in found.rows
    ]
    lines.append(["Friedman p", *(f"{r.p_value:.1g}" for r in rankings.values())])
    lines.append(
        ["critical difference", *(f"{r.critical_difference:.2f}" for r in rankings.values())]
    )
    parts = [
        "### Mean ranks",
        "1 is best; mean ranks that differ by less than the critical difference do not differ "
        "significantly (Nemenyi, 5 %). Rows that differ in the threshold alone are ranked where "
        "it matters.",
        markdown_table(["method", *(FIGURES_OF_MERIT[metric] for metric in rankings)], lines),
    ]
    for metric in rankings:
        name = "efficacy-ranks" if metric == "gm" else f"efficacy-ranks-{metric}"
        parts.append(_picture(name, f"Mean ranks by {FIGURES_OF_MERIT[metric]}", found, path))
    return parts


def _pairs(found: Efficacy) -> list[str]:
    if _OURS not in found.rows or len(found.rows) < 2:
        return []
    cells: dict[str, dict[str, str]] = {}
    for metric in RANKED:
        for pair in compare_pairs(found.scores(metric), _OURS):
            cells.setdefault(pair.other, {})[metric] = (
                f"{pair.difference:+.1f} ({pair.wins}:{pair.losses}), p = {pair.p_value:.2g}"
            )
    lines = [
        [other, *(texts.get(metric, "") for metric in RANKED)] for other, texts in cells.items()
    ]
    header = ["MGVAE against", *(FIGURES_OF_MERIT[metric] for metric in RANKED)]
    return ["### Pairs", _PAIRS, markdown_table(header, lines)]


def _by_classifier(found: Efficacy) -> list[str]:
    parts = ["### By classifier", "Means over the tables."]
    for metric in ("gm", "gm_tuned", "ap"):
        scores = {name: found.scores(metric, name) for name in found.classifiers}
        lines = [
            [row, *(f"{statistics.fmean(scores[name][row].values()):.1f}" for name in scores)]
            for row in found.rows
            if all(row in by_row for by_row in scores.values())
        ]
        parts.append(markdown_table([FIGURES_OF_MERIT[metric], *scores], lines))
    return parts


def _seconds(found: Efficacy) -> list[str]:
    lines = [
        [row, f"{statistics.median(spent):.2f}", f"{max(spent):.1f}"]
        for row, spent in found.seconds.items()
        if max(spent) > 0.001
    ]
    return [
        "### Seconds to fit and resample",
        "Processor time of one thread, all fits of all tables.",
        markdown_table(["method", "median", "largest"], lines),
    ]


def _picture(name: str, title: str, found: Efficacy, path: Path) -> str:
    picture = path.parent / "figures" / f"{name}.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    EFFICACY_FIGURES[name](found, picture)
    return f"![{title}](figures/{picture.name})"
