"""The page with all results, written from the results themselves.

What its figures mean is said in words in a file beside it, ``<name>-reading.md``: headings of the
page, and under each what is put under it there. The page is overwritten, the reading never.
"""

import json
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from pathlib import Path

from mgvae.common.atomic import atomic_write
from mgvae.errors import DataError
from mgvae.experiments import Store
from mgvae_paper.figures import FIGURES
from mgvae_paper.grids import draw_spreads, gather_spreads, spread_table
from mgvae_paper.ranks import draw_critical_differences, rank_methods
from mgvae_paper.render import render
from mgvae_paper.summary import FilledTable, entry_of, summarise
from mgvae_paper.tables import find_table, table_names

__all__ = ["costs", "write_page", "write_parts"]

_PROTOCOLS = {
    "paper": "The paper's protocol: its splits, its double softmax, its batch-wise metrics, the "
    "last epoch. In brackets the published value and the difference to it. It exists so that the "
    "published tables can be checked.",
    "clean": "The clean protocol: random draws, scalers that see training rows only, a validation "
    "part that picks the epoch, metrics on the whole test set. It exists so that the comparison "
    "can be believed; the paper's values do not apply to it.",
}
_RANKED = {"gm": "GM", "roc_auc": "ROC AUC", "ap": "AP"}
_COMPARED = ("mnist", "fashionmnist", "musk", "water_quality", "isolet")
_HEADING = re.compile(r"^(#+ .+)$", re.MULTILINE)


def write_page(store: Store, path: str | Path) -> None:
    """Write the page of all results, with its plots in ``figures/`` beside it.

    Parameters
    ----------
    store : Store
        Where results are.
    path : path
        The Markdown file to write.
    """
    path = Path(path)
    parts = ["# Results"]
    for protocol, explanation in _PROTOCOLS.items():
        summaries = [
            summarise(find_table(name), protocol, store)
            for name in table_names()
            if protocol in find_table(name).protocols
            and find_table(name).page == "results"
            and not find_table(name).grid
        ]
        filled = [summary for summary in summaries if summary.entries]
        shown = []
        for summary in filled:
            shown += [f"### {summary.table.title}", render(summary).rstrip()]
        if protocol == "paper":
            shown += [*_spreads(store, path), *_differences(store.folder / "differences.jsonl")]
        if protocol == "clean":
            compared = [summary for summary in filled if summary.table.name in _COMPARED]
            shown += _ranks(compared, path)
        if shown:
            parts += [f"## Protocol `{protocol}`\n\n{explanation}", *shown]
    parts += _pictures(path)
    command = "Written by `mgvae-paper page`; `mgvae-paper run` makes the results."
    parts += ["## What was run", command, costs(store, _PROTOCOLS)]
    write_parts(parts, path)


def write_parts(parts: Sequence[str], path: Path) -> None:
    """Write the paragraphs of a page, and what the reading beside it says of some of them.

    Parameters
    ----------
    parts : sequence of str
        Headings, alone or with what always stands under them, paragraphs, tables.
    path : path
        The Markdown file to write.

    Raises
    ------
    DataError
        If the reading speaks of a heading that the page does not have.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    reading = path.with_name(f"{path.stem}-reading.md")
    said = _by_heading(reading.read_text(encoding="utf-8")) if reading.exists() else {}
    beginnings = [part.partition("\n")[0] for part in parts]
    for heading in said:
        if heading not in beginnings:
            raise DataError(
                f"{reading} speaks of {heading!r:.100}, which {path.name} does not have. Name a "
                "heading of the page, with as many # as there."
            )
    text = ""
    for part, beginning in zip(parts, beginnings, strict=True):
        words = said.pop(beginning, "")  # a heading that comes again is another one
        text += f"{part}\n\n" + (f"{words}\n\n" if words else "")
    with atomic_write(path) as file:
        file.write(f"{text.rstrip()}\n".encode())


def _by_heading(reading: str) -> dict[str, str]:
    """Return what a reading says under each heading."""
    before, *others = _HEADING.split(reading)
    if first := before.strip():
        raise DataError(f"a reading begins with a heading of its page; it has {first!r:.60}")
    return {h: text.strip() for h, text in zip(others[::2], others[1::2], strict=True)}


def _ranks(summaries: list[FilledTable], path: Path) -> list[str]:
    parts = ["### Mean ranks over all data sets"]
    for metric, title in _RANKED.items():
        scores: dict[str, dict[str, float]] = {}
        for summary in summaries:
            for (row, column, name), entry in summary.entries.items():
                if name == metric and (metric == "gm" or "threshold" not in row):
                    scores.setdefault(row, {})[column] = entry.mean
        try:
            ranking = rank_methods(scores)
        except DataError:
            continue
        picture = path.parent / "figures" / f"ranks-{metric}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        draw_critical_differences(ranking, picture, f"Mean ranks by {title}")
        rows = "\n".join(f"| {name} | {rank:.2f} |" for name, rank in ranking.mean_ranks.items())
        parts += [
            f"**{title}**, {ranking.n_datasets} data sets. Friedman's test that all methods are "
            f"alike: p = {ranking.p_value:.2g}. Mean ranks that differ by less than "
            f"{ranking.critical_difference:.2f} do not differ significantly (Nemenyi, 5 %).",
            f"| method | mean rank |\n| --- | --- |\n{rows}",
            f"![Mean ranks by {title}](figures/{picture.name})",
        ]
    return parts if len(parts) > 1 else []


def _spreads(store: Store, path: Path) -> list[str]:
    """Show where the published numbers lie among those that could have been."""
    spreads = gather_spreads(store)
    if not spreads:
        return []
    picture = path.parent / "figures" / "grids.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    draw_spreads(spreads, picture)
    return [
        "### Where the published number lies",
        "The published scripts save the model at four epochs, offer four weights of EWC and "
        "several numbers of exemplars, and could be judged on the test set alone. Here every such "
        "choice is run, with three seeds of the classifier over one generator, as there. **The "
        "best of these is selected on the test set: it is no evidence that the method works.** It "
        "only tells whether the printed B-ACC is one that this procedure can give. The main "
        "table's settings were not chosen that way.",
        spread_table(spreads),
        "![B-ACC of every choice, and the printed one](figures/grids.png)",
    ]


def _differences(path: Path) -> list[str]:
    """Show what was changed, one thing at a time, and what that changed."""
    if not path.exists():
        return []
    found: dict[str, dict[str, list[float]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        found.setdefault(entry["varied"], {})[entry["dataset"]] = entry["b_acc"]
    as_declared = next(iter(found.values()))

    def shown(dataset: str, values: list[float] | None) -> str:
        if values is None:
            return ""
        entry = entry_of(values, "full")
        difference = entry.mean - statistics.fmean(as_declared[dataset])
        spread = "" if entry.sd is None else f" ± {entry.sd:.1f}"
        return f"{entry.mean:.1f}{spread} ({difference:+.1f})"

    lines = [
        f"| {varied} | {' | '.join(shown(d, values.get(d)) for d in as_declared)} |"
        for varied, values in found.items()
    ]
    return [
        "### What might be different, one thing at a time",
        "B-ACC of MGVAE on the test set, one generator and three seeds of the classifier, by "
        "`scripts/compare_differences.py`; in brackets the difference to the first line. Nothing "
        "is chosen by this.",
        f"| what is varied | {' | '.join(as_declared)} |\n|{' --- |' * (len(as_declared) + 1)}\n"
        + "\n".join(lines),
    ]


def _pictures(path: Path) -> list[str]:
    """Show the figures that have been drawn into the folder beside the page."""
    parts = ["## Figures", "Drawn by `mgvae-paper figure NAME --budget cpu`."]
    for name, figure in FIGURES.items():
        if (path.parent / "figures" / f"{name}.png").exists():
            parts += [f"**{name}**: {figure.caption}", f"![{figure.caption}](figures/{name}.png)"]
    return parts if len(parts) > 2 else []


def costs(store: Store, protocols: Container[str]) -> str:
    """Count the cells of some protocols and their hours."""
    cells: Counter[tuple[str, str]] = Counter()
    hours: defaultdict[tuple[str, str], float] = defaultdict(float)
    commits: set[str] = set()
    for result in store:
        key = (result["cell"]["protocol"], result["cell"]["budget"])
        if key[0] not in protocols:
            continue
        cells[key] += 1
        # a pre-training is part of the sampler's time in the one cell that did it
        spent = {k: v for k, v in result.get("seconds", {}).items() if k != "pretraining"}
        hours[key] += sum(spent.values()) / 3600
        commits.add(str(result.get("commit"))[:9])
    lines = [
        "| protocol | budget | cells | core-hours |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {p} | {b} | {n} | {hours[p, b]:.1f} |" for (p, b), n in sorted(cells.items())]
    return "\n".join(lines) + f"\n\nSource at commits {', '.join(sorted(commits)) or 'none'}."
