"""What a command saw in a table, for people and for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from mgvae.codec import ColumnSummary, RelationSummary

__all__ = ["Summary", "printable"]

_MOST = 50  # rows of a list shown to people; --json has all


@dataclass(frozen=True)
class Summary:
    """What was seen.

    Parameters
    ----------
    source : str
        The file.
    rows : int
        Rows in it.
    columns : sequence of ColumnSummary
        What the columns are, without the target.
    target : str
        The column that holds the class.
    classes : mapping of label to int
        Rows by class, the largest first.
    wanted : mapping of label to int
        New rows by class.
    dropped : sequence of str
        Columns that are left out.
    relations : sequence of RelationSummary
        What holds between columns, and new rows keep.
    """

    source: str
    rows: int
    columns: "Sequence[ColumnSummary]"
    target: str
    classes: Mapping[Any, int]
    wanted: Mapping[Any, int]
    dropped: Sequence[str]
    relations: "Sequence[RelationSummary]" = ()

    @property
    def ratio(self) -> float:
        """Rows of the largest class for one row of the smallest."""
        return max(self.classes.values()) / min(self.classes.values())

    def show(self, console: Console) -> None:
        """Print it for people."""
        console.print(f"{printable(self.source)}: {self.rows:,} rows", soft_wrap=True)
        columns = _table("column", "type", "missing", "")
        for column in self.columns[:_MOST]:
            share = f"{column.n_missing:,} ({column.n_missing / self.rows:.1%})"
            columns.add_row(
                _cell(column.name),
                _cell(column.kind),
                share if column.n_missing else "",
                _cell(column.note),
            )
        console.print(columns)
        _more(console, len(self.columns), "columns")
        if self.dropped:
            console.print(f"Left out: {printable(', '.join(self.dropped))}")
        console.print()
        if self.relations:
            relations = _table("every row, and every new one, has")
            for relation in self.relations[:_MOST]:
                relations.add_row(_cell(relation.text, 120))
            console.print(relations)
            _more(console, len(self.relations), "relations")
            console.print()
        classes = _table(f"class ({printable(self.target)})", "rows", "", "new rows")
        for label, count in list(self.classes.items())[:_MOST]:
            new = self.wanted.get(label, 0)
            classes.add_row(
                _cell(label), f"{count:,}", f"{count / self.rows:.1%}", f"{new:,}" if new else ""
            )
        console.print(classes)
        _more(console, len(self.classes), "classes")
        console.print(f"Imbalance {self.ratio:.4g} : 1")

    def as_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "input": self.source,
            "rows": self.rows,
            "columns": [
                {
                    "name": str(column.name),
                    "kind": column.kind,
                    "dtype": column.dtype,
                    "missing": column.n_missing,
                    "note": column.note,
                }
                for column in self.columns
            ],
            "relations": [
                {
                    "kind": relation.kind,
                    "columns": [str(name) for name in relation.columns],
                    "text": relation.text,
                    "declared": relation.declared,
                }
                for relation in self.relations
            ],
            "dropped": list(self.dropped),
            "target": self.target,
            "classes": [
                {"label": str(label), "rows": count, "new_rows": self.wanted.get(label, 0)}
                for label, count in self.classes.items()
            ],
            "imbalance_ratio": self.ratio,
        }


def printable(text: object) -> str:
    r"""Return text that cannot play tricks on a terminal.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return "".join(c if c.isprintable() else "�" for c in str(text))


def _cell(value: object, most: int = 60) -> Text:
    text = printable(value)
    return Text(text if len(text) <= most else text[: most - 1] + "…")


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, title in enumerate(titles):
        number = title in ("rows", "missing", "new rows") or (i == 2 and not title)
        table.add_column(Text(title), justify="right" if number else "left", overflow="fold")
    return table


def _more(console: Console, count: int, what: str) -> None:
    if count > _MOST:
        console.print(f"... and {count - _MOST:,} more {what}")
