"""Working through cells: several at once, resumable, one failure stopping nobody.

A worker writes its result itself as soon as it has it, so that whatever happens to the others, or
to the process that started them, only cells under way are lost.
"""

import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mgvae.experiments.cells import Cell, distinct
from mgvae.experiments.store import Store

__all__ = ["Outcome", "Work", "run_cells", "waiting"]

Work = Callable[[Cell], Mapping[str, Any]]
Outcome = Literal["done", "failed"]


def waiting(
    cells: Sequence[Cell], store: Store, *, retry: bool = False, again: bool = False
) -> list[Cell]:
    """Return the cells that have no result yet, each once.

    Parameters
    ----------
    cells : sequence of Cell
        All cells.
    store : Store
        Where results are.
    retry : bool
        Also those that failed.
    again : bool
        All, whatever there is.
    """
    return [
        cell
        for cell in distinct(cells)
        if again or (not store.has(cell) and (retry or store.error(cell) is None))
    ]


def run_cells(
    cells: Sequence[Cell],
    work: Work,
    store: Store,
    *,
    jobs: int | None = None,
    together: Callable[[Cell], Hashable] = id,
) -> Iterator[tuple[Cell, Outcome]]:
    """Work out cells and keep their results, yielding each as it is finished.

    .. versionadded:: 0.1

    Parameters
    ----------
    cells : sequence of Cell
        What to do, the first first; see :func:`waiting`.
    work : callable
        Takes a cell, returns its result as plain data. It goes to other processes.
    store : Store
        Where results and errors are kept.
    jobs : int, optional
        Cells at once, on one thread each. None is one, unless ``joblib.parallel_config`` around
        the call says another number or another engine, whose machines must see the store's folder.
    together : callable, optional
        Returns the same key for cells that one process shall work out one after the other, because
        they share something. All are on their own unless given.

    Yields
    ------
    cell : Cell
        A finished cell.
    outcome : {"done", "failed"}
        Whether there is a result, or a note of the error.

    See Also
    --------
    mgvae.experiments.Store : Where results are kept.

    Examples
    --------
    >>> import tempfile
    >>> store, cell = Store(tempfile.mkdtemp()), Cell("d", "m", "p", seed=3)
    >>> [outcome for _, outcome in run_cells([cell], lambda c: {"twice": 2 * c.seed}, store)]
    ['done']
    >>> store.get(cell)["twice"]
    6
    """
    groups: dict[Hashable, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(together(cell), []).append(cell)
    try:
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    except ValueError:  # an engine that tells of results only when it has all (Ray's)
        parallel = Parallel(n_jobs=jobs, batch_size=1)
    tasks = (delayed(_attempt_all)(group, work, store, os.getpid()) for group in groups.values())
    for finished in parallel(tasks):
        yield from finished


def _attempt_all(
    cells: Sequence[Cell], work: Work, store: Store, starter: int
) -> list[tuple[Cell, Outcome]]:
    _end_with(starter)
    return [(cell, _attempt(cell, work, store)) for cell in cells]


def _attempt(cell: Cell, work: Work, store: Store) -> Outcome:
    try:
        with threadpool_limits(1), parallel_config(backend="sequential"):  # a cell has one core
            result = work(cell)
    except Exception as error:  # noqa: BLE001 (whatever it is, it belongs to this cell)
        store.put_error(cell, error)
        return "failed"
    store.put(cell, result)
    return "done"


_watched = threading.Event()


def _end_with(starter: int) -> None:
    """End this worker when the process that started the run is gone, were it killed."""
    if os.getppid() != starter or _watched.is_set():
        return  # it is that process itself, a worker of another engine, or watched already
    _watched.set()

    def watch() -> None:
        while os.getppid() == starter:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
