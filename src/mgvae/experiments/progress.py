"""What a person sees while cells are worked out: a live table of methods and data sets."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as RichTable
from rich.text import Text

from mgvae.experiments.cells import Cell
from mgvae.experiments.runner import Outcome
from mgvae.experiments.store import Store

__all__ = ["follow"]


def follow(
    finished: Iterable[tuple[Cell, Outcome]],
    cells: Sequence[Cell],
    store: Store,
    console: Console,
) -> Counter[Outcome]:
    """Show cells as they are finished: a live table on a terminal, else a line for each.

    Parameters
    ----------
    finished : iterable
        The outcomes, as :func:`mgvae.experiments.run_cells` yields them.
    cells : sequence of Cell
        All that are to be worked out.
    store : Store
        Where their results are.
    console : rich.console.Console
        Where to write.

    Returns
    -------
    counts : Counter
        How many cells ended how.
    """
    board = _Board(cells)
    if not console.is_terminal:
        for cell, outcome in finished:
            board.note(cell, outcome)
            console.print(
                f"[{sum(board.outcomes.values())}/{len(cells)}] {cell}: {_say(cell, store)}",
                soft_wrap=True, markup=False, highlight=False,
            )  # fmt: skip
        return board.outcomes
    with Live(board, console=console, refresh_per_second=2):
        for cell, outcome in finished:
            board.note(cell, outcome)
            board.last = f"{cell}: {_say(cell, store)}"
    return board.outcomes


class _Board:
    """The state of all cells, drawn by rich."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.total = Counter(_place(cell) for cell in cells)
        self.done: Counter[tuple[str, str]] = Counter()
        self.failed: Counter[tuple[str, str]] = Counter()
        self.outcomes: Counter[Outcome] = Counter()
        self.started = time.monotonic()
        self.last = ""

    def note(self, cell: Cell, outcome: Outcome) -> None:
        (self.done if outcome == "done" else self.failed)[_place(cell)] += 1
        self.outcomes[outcome] += 1

    def __rich__(self) -> Group:
        rows = list(dict.fromkeys(method for method, _ in self.total))
        columns = list(dict.fromkeys(dataset for _, dataset in self.total))
        table = RichTable("method", *columns)
        for row in rows:
            table.add_row(row, *(self._state((row, column)) for column in columns))
        ended, all_cells = sum(self.outcomes.values()), sum(self.total.values())
        elapsed = time.monotonic() - self.started
        left = f", about {_time(elapsed / ended * (all_cells - ended))} left" if ended else ""
        line = f"{ended} of {all_cells} cells in {_time(elapsed)}{left}"
        return Group(table, Text(line), Text(self.last, overflow="ellipsis", no_wrap=True))

    def _state(self, place: tuple[str, str]) -> Any:
        if place not in self.total:
            return ""
        text = Text(f"{self.done[place]}/{self.total[place]}")
        if self.failed[place]:
            text.append(f" {self.failed[place]} failed", style="red")
        elif self.done[place] == self.total[place]:
            text.stylize("green")
        return text


def _place(cell: Cell) -> tuple[str, str]:
    return cell.method, f"{cell.dataset} ({cell.protocol})"


def _say(cell: Cell, store: Store) -> str:
    result = store.get(cell)
    if result is None:
        error = store.error(cell) or {}
        return f"failed: {error.get('error')}: {error.get('message')}"
    figures = result.get("metrics", {})
    return ", ".join(f"{name} {value:.1f}" for name, value in figures.items())


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
