"""Progress bars for long work."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

__all__ = ["Callback", "progress_bars"]

Callback = Callable[[str, int, int, Mapping[str, float]], None]
"""Called while training, with the stage, the steps done, all steps, and the latest loss terms."""


@contextmanager
def progress_bars(enabled: bool, also: Callback | None = None) -> Iterator[Callback | None]:
    """Show one bar per stage of training while the block runs.

    Parameters
    ----------
    enabled : bool
        Whether to show bars; without, only ``also`` is called.
    also : callable, optional
        A user's own callback.

    Yields
    ------
    callback : callable or None
        To be handed to the training loop.
    """
    if not enabled:
        yield also
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[terms]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    tasks: dict[str, Any] = {}

    def callback(stage: str, done: int, total: int, terms: Mapping[str, float]) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total, terms="")
        name, value = next(iter(terms.items()))
        bars.update(tasks[stage], completed=done, total=total, terms=f"{name} {value:.4g}")
        if also is not None:
            also(stage, done, total, terms)

    with bars:
        yield callback
