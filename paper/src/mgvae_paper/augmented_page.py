"""The part of the page on efficacy about images: generation on top of augmentation.

A draw of the minority with a seed of the classifier counts once in a comparison of two rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mgvae.experiments import Store
from mgvae_paper.ranks import compare_pairs
from mgvae_paper.render import markdown_table, render
from mgvae_paper.summary import (
    Entry,
    FilledTable,
    entry_of,
    mark_best,
    of_earlier_revision,
    results_of,
)
from mgvae_paper.tables import DeclaredTable, find_table

__all__ = ["AUGMENTED", "augmented_parts"]

AUGMENTED = ("augmented_images", "magnetic_tiles", "celeba_fifth")
"""The tables of this part."""

_OURS = ("MGVAE + both", "MGVAE + all")
_FIGURES = {
    "roc_auc": "ROC AUC",
    "ap": "AP",
    "gm": "GM",
    "gm_tuned": "GM, tuned threshold",
    "acsa": "mean recall",
}
_PROTOCOL = """Protocol `clean`: see [results](results.md). *Shifts* are random ones, of at most 2 \
of 28 pixels (tiles: 4 of 64, and mirrored); *both* is these and mixup; *all* is both, and turns \
by up to 15 degrees and scales by up to 15 %, with which MGVAE is tuned. ROS balances the classes \
by repeating images; MGVAE replaces half of the smaller classes by translations that are new in \
every epoch. *no VAE* has no translations, but only differences between majority images, which \
MGVAE borrows too. ± is over draws and seeds."""
_PAIRS = """Ours minus each other row, one number for each data set, draw and seed that \
both have: the mean difference, in brackets how often it is better and worse, and Wilcoxon's \
signed-rank test, p-values raised by Holm's rule within a column."""

Scores = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class _Found:
    """Results of a table: figures by metric, row, and data set with its seed."""

    table: DeclaredTable
    columns: list[str]
    rows: list[str]
    scores: Scores
    entries: Mapping[tuple[str, str, str], Entry]


def augmented_parts(name: str, store: Store) -> list[str]:
    """Return what the page says of a table, nothing if there are no results.

    Parameters
    ----------
    name : str
        One of :data:`AUGMENTED`.
    store : Store
        Where results are.
    """
    found = _gather(find_table(name), store)
    if not found.rows:
        return []
    parts = [f"## {found.table.title}", _PROTOCOL]
    for column in found.columns:
        entries = {key: entry for key, entry in found.entries.items() if key[1] == column}
        if entries:
            rows = [row for row in found.rows if any(key[0] == row for key in entries)]
            shown = {m: t for m, t in _FIGURES.items() if any(key[2] == m for key in entries)}
            summary = FilledTable(found.table, "clean", rows, [column], shown, entries)
            parts.append(render(summary).rstrip())
    return parts + _pairs(found)


def _gather(table: DeclaredTable, store: Store) -> _Found:
    scores: Scores = {metric: {} for metric in _FIGURES}
    entries: dict[tuple[str, str, str], Entry] = {}
    columns = table.columns("clean")
    names: list[str] = []
    for row in table.rows("clean"):
        for column in columns:
            results = results_of(row, column, "clean", store, table.seeds, None)
            for metric in _FIGURES:
                values = {
                    f"{column} {result['cell']['seed']}": figures[metric]
                    for result in results
                    if metric in (figures := _figures(result))
                }
                if values:
                    scores[metric].setdefault(row.name, {}).update(values)
                    entries[row.name, column, metric] = entry_of(
                        [*values.values()],
                        results[0]["cell"]["budget"],
                        is_earlier=of_earlier_revision(row, results[0]),
                    )
            if results and row.name not in names:
                names.append(row.name)
    mark_best(entries, names, columns, _FIGURES)
    return _Found(table, columns, names, scores, entries)


def _figures(result: Mapping[str, Any]) -> dict[str, float]:
    """Return a cell's figures; the mean recall where there are more classes than two."""
    found = dict(result["metrics"])
    if "tuned" in result:
        found["gm_tuned"] = result["tuned"]["gm"]
        del found["acsa"]
    return found


def _pairs(found: _Found) -> list[str]:
    parts = []
    for ours in _OURS:
        cells: dict[str, dict[str, str]] = {}
        shown = [metric for metric in _FIGURES if ours in found.scores[metric]]
        for metric in shown:
            for pair in compare_pairs(found.scores[metric], ours):
                cells.setdefault(pair.other, {})[metric] = (
                    f"{pair.difference:+.1f} ({pair.wins}:{pair.losses}), p = {pair.p_value:.2g}"
                )
        lines = [[other, *(by.get(metric, "") for metric in shown)] for other, by in cells.items()]
        if lines:
            header = [f"{ours} against", *(_FIGURES[metric] for metric in shown)]
            parts.append(markdown_table(header, lines))
    return ["### Pairs", _PAIRS, *parts] if parts else []
