"""Tables as Markdown, HTML, LaTeX and CSV.

A figure reads ``mean ± sd (paper's value, difference)``; the best of a column is bold, the second
underlined, a dagger marks results of a shortened budget, and a double one those of an earlier
revision of a method. One seed has no spread; what has fewer seeds than the rest is named below the
table.
"""

import csv
import html
import io
from collections.abc import Callable, Sequence
from typing import Literal

from mgvae_paper.summary import Entry, FilledTable
from mgvae_paper.tables import METRICS

__all__ = ["FORMATS", "Format", "markdown_table", "render"]

Format = Literal["md", "html", "latex", "csv"]


def render(summary: FilledTable, form: Format = "md") -> str:
    """Write a table.

    Parameters
    ----------
    summary : FilledTable
        The filled table.
    form : {"md", "html", "latex", "csv"}
        How.

    Returns
    -------
    text : str
        Ends with a line break.
    """
    return FORMATS[form](summary)


def markdown_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return lines of cells as a table in Markdown.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _markdown(summary: FilledTable) -> str:
    marks = {"best": "**{}**", "second": "<u>{}</u>", "": "{}"}
    names, cells = _grid(summary, marks, "±", "†", "‡")
    lines = [["method", *names], ["---"] * (len(names) + 1)]
    lines += [[row, *line] for row, line in cells]
    body = "\n".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in x)} |" for x in lines)
    return f"{body}\n{_note(summary)}"


def _html(summary: FilledTable) -> str:
    marks = {"best": "<b>{}</b>", "second": "<u>{}</u>", "": "{}"}
    names, cells = _grid(summary, marks, "±", "†", "‡")
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ["method", *names])
    lines = [
        f"<tr><th>{html.escape(row)}</th>{''.join(f'<td>{text}</td>' for text in line)}</tr>"
        for row, line in cells
    ]
    caption = f"<caption>{html.escape(summary.table.title)} ({summary.protocol})</caption>"
    parts = ["<table>", caption, f"<tr>{head}</tr>", *lines, "</table>", _note(summary)]
    return "\n".join(part for part in parts if part) + "\n"


def _latex(summary: FilledTable) -> str:
    marks = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "": "{}"}
    names, cells = _grid(summary, marks, r"$\pm$", r"$^\dagger$", r"$^\ddagger$")
    lines = [["Method", *names], *([row, *line] for row, line in cells)]
    escaped = [[lines[0][0], *map(_tex, lines[0][1:])]]
    escaped += [[_tex(line[0]), *line[1:]] for line in lines[1:]]
    body = "\n".join(" & ".join(line) + r" \\" for line in escaped)
    return f"\\begin{{tabular}}{{l{'c' * len(names)}}}\n{body}\n\\end{{tabular}}\n"


def _csv(summary: FilledTable) -> str:
    """Write a line per data set and row; the metrics of the paper come first."""
    first = METRICS if "b_acc" in summary.metrics else summary.metrics
    further = [name for name in summary.metrics if name not in first]
    published = METRICS if first is METRICS else ()
    header = ["dataset", "method", *first, *(f"{name}_sd" for name in first), "seeds"]
    header += [f"paper_{name}" for name in published]
    header += [*further, *(f"{name}_sd" for name in further), "budget"]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for column in summary.columns:
        for row in summary.rows:
            found = {m: summary.entries.get((row, column, m)) for m in summary.metrics}
            some = found[next(iter(first))]
            if some is None:
                continue
            line = [column, row, *(_number(found[m], "mean") for m in first)]
            line += [*(_number(found[m], "sd") for m in first), str(some.seeds)]
            line += [_number(found[m], "paper") for m in published]
            line += [_number(found[m], "mean") for m in further]
            line += [*(_number(found[m], "sd") for m in further), some.budget]
            writer.writerow(line)
    return file.getvalue()


FORMATS: dict[Format, Callable[[FilledTable], str]] = {
    "md": _markdown,
    "html": _html,
    "latex": _latex,
    "csv": _csv,
}
"""Every form a table can take."""


def _grid(
    summary: FilledTable, marks: dict[str, str], plus_minus: str, dagger: str, double: str
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the names of all columns and, for each row, its figures as text."""
    keys = [(column, metric) for column in summary.columns for metric in summary.metrics]
    several = len(summary.columns) > 1 or summary.protocol != "folds"
    names = [f"{c} {summary.metrics[m]}" if several else summary.metrics[m] for c, m in keys]

    def text(row: str, column: str, metric: str) -> str:
        entry = summary.entries.get((row, column, metric))
        if entry is None:
            return ""
        shown = marks[entry.mark].format(f"{entry.mean:.1f}")
        if entry.sd is not None:
            shown += f" {plus_minus} {entry.sd:.1f}"
        if entry.paper is not None:
            shown += f" ({entry.paper:.1f}, {entry.mean - entry.paper:+.1f})"
        shown += dagger if entry.budget != "full" else ""
        return shown + (double if entry.is_earlier else "")

    return names, [(row, [text(row, *key) for key in keys]) for row in summary.rows]


def _note(summary: FilledTable) -> str:
    entries = summary.entries
    used = sorted({entry.budget for entry in entries.values() if entry.budget != "full"})
    most = max((entry.seeds for entry in entries.values()), default=0)
    several = len({column for _, column, _ in entries}) > 1
    fewer = dict.fromkeys(
        f"{row}{f' {column}' if several else ''} ({entry.seeds})"
        for (row, column, _), entry in entries.items()
        if entry.seeds < most
    )
    notes = [f"† shortened budget: {', '.join(used)}."] if used else []
    if any(entry.is_earlier for entry in entries.values()):
        notes.append("‡ an earlier revision of the method; the present one has not been run yet.")
    notes += [f"Fewer than {most} seeds: {', '.join(fewer)}."] if fewer else []
    return f"\n{' '.join(notes)}\n" if notes else ""


def _number(entry: Entry | None, name: str) -> str:
    value = None if entry is None else getattr(entry, name)
    return "" if value is None else f"{value:.2f}"


def _tex(text: str) -> str:
    return "".join("\\" + c if c in "_%&#$" else c for c in text)
