"""Several processes on this machine that train one model together.

:func:`learn_together` starts them, each a new interpreter that runs this module. Work, rows and
outcome are handed over in a folder that nobody else can read; rows in memory are mapped, not
copied, and rows in a file are read from it by every process. The processes find each other through
a file in the folder. The first one tells of its progress on standard output; the end of standard
input tells them that whoever started them is gone.
"""

import json
import os
import pickle
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar, cast

import numpy as np
import torch
from joblib import wrap_non_picklable_objects

from mgvae import errors
from mgvae.common.rows import EncodedRows, MemoryRows
from mgvae.errors import MGVAEWarning, ParameterError, ProcessError
from mgvae.training import Callback
from mgvae.training.team import Team, check_installed, make_fabric

__all__ = ["learn_together"]

_T = TypeVar("_T")
_Process = subprocess.Popen[bytes]

_WORK, _ROWS, _PATH, _OUTCOME, _STORE = "work", "rows.npy", "path.json", "outcome", "store"
_FEW_PROCESSES = 8  # on a machine with fewer processors, for trials
_PATIENCE = 30.0  # seconds in which processes end by themselves when one of them has


class SharedJob(Protocol):
    """A dataclass that says what to learn from; its field ``team`` is set in every process."""

    @property
    def rows(self) -> EncodedRows: ...
    @property
    def device(self) -> torch.device: ...
    @property
    def callback(self) -> Callback | None: ...


def _check_room(device: torch.device, processes: int) -> None:
    """Refuse more processes than the machine has devices; each takes hundreds of MB."""
    if device.type == "cuda" and processes > torch.cuda.device_count():
        raise ParameterError(
            f"devices={processes} is more than the {torch.cuda.device_count()} GPUs of this "
            'machine. Lower devices, or set device="cpu".'
        )
    most = max(_FEW_PROCESSES, os.cpu_count() or 1)
    if device.type == "cpu" and processes > most:
        raise ParameterError(
            f"devices={processes} is more than the {most} processes that this machine with "
            f"{os.cpu_count()} processors may start. Lower devices."
        )


def learn_together(learn: Callable[[Any], _T], job: SharedJob, processes: int) -> _T:
    """Learn from a job in several processes; give what the first one found.

    Parameters
    ----------
    learn : callable
        Called in every process, with the job as that process sees it.
    job : dataclass
        What to learn from; see :class:`SharedJob`.
    processes : int
        How many, each on a device of its own.

    Raises
    ------
    mgvae.errors.ProcessError
        When a process is ended from outside.
    """
    check_installed()
    _check_room(job.device, processes)
    with tempfile.TemporaryDirectory(prefix="mgvae-") as name:
        folder = Path(name)
        rows: EncodedRows | None = job.rows
        if isinstance(rows, MemoryRows):
            np.save(folder / _ROWS, rows.matrix.numpy())
            rows = None
        work = learn, replace(cast("Any", job), rows=rows, callback=None)
        whole = pickle.dumps(wrap_non_picklable_objects(work, keep_wrapper=False))
        (folder / _WORK).write_bytes(whole)
        (folder / _PATH).write_text(json.dumps(sys.path), encoding="utf-8")
        members: list[_Process] = []
        try:
            for rank in range(processes):
                members.append(_start(folder, rank, processes))  # noqa: PERF401 (all end below)
            if _follow(members, job.callback):
                _wait(members)
                raise _reason(folder, members)
        finally:
            _end(members)
        return cast("_T", pickle.loads((folder / _OUTCOME).read_bytes()))  # noqa: S301 (our own)


def _start(folder: Path, rank: int, size: int) -> _Process:
    environment = {**os.environ, "LOCAL_RANK": str(rank), "NODE_RANK": "0"}
    if sys.platform == "linux":
        environment["GLOO_SOCKET_IFNAME"] = "lo"
    with (folder / f"stderr-{rank}").open("wb") as stderr:
        return subprocess.Popen(  # noqa: S603 (this very program)
            [sys.executable, "-m", __name__, str(folder), str(rank), str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
            env=environment,
            start_new_session=True,  # Ctrl-C is for whoever started them
        )


def _follow(members: Sequence[_Process], callback: Callback | None) -> bool:
    """Pass on what the processes tell, until all have ended, or one has failed."""
    with selectors.DefaultSelector() as selector:
        for member in members:
            selector.register(cast("IO[bytes]", member.stdout), selectors.EVENT_READ, member)
        while selector.get_map():
            for key, _ in selector.select():
                line = cast("IO[bytes]", key.fileobj).readline()
                if line:
                    _pass_on(json.loads(line), callback)
                    continue
                selector.unregister(key.fileobj)
                if key.data.wait() != 0:
                    return True
    return False


def _pass_on(message: list[Any], callback: Callback | None) -> None:
    match message:
        case ["warning", category, text]:
            warnings.warn(text, getattr(errors, category), stacklevel=2)
        case ["progress", stage, done, steps, terms] if callback is not None:
            callback(stage, done, steps, terms)


def _wait(members: Sequence[_Process]) -> None:
    """Let the other processes notice that one is gone."""
    end = time.monotonic() + _PATIENCE
    for member in members:
        with suppress(subprocess.TimeoutExpired):
            member.wait(max(0.0, end - time.monotonic()))


def _end(members: Sequence[_Process]) -> None:
    """End all processes; the first may keep its state before, for which it needs the others."""
    for first in members[:1]:
        first.terminate()
        with suppress(subprocess.TimeoutExpired):
            first.wait(_PATIENCE)
    for member in members:
        member.kill()
        member.wait()
        for pipe in (member.stdin, member.stdout):
            cast("IO[bytes]", pipe).close()


def _reason(folder: Path, members: Sequence[_Process]) -> BaseException:
    """Find the error that the others follow from."""
    found: list[BaseException] = []
    for rank, member in enumerate(members):
        name = f"process {rank} of {len(members)}, which trained one model together,"
        told = folder / f"error-{rank}"
        if told.exists():
            found.append(pickle.loads(told.read_bytes()))  # noqa: S301 (our own)
        elif (code := member.poll()) == -signal.SIGKILL:
            return ProcessError(
                f"{name} was ended from outside, most likely for want of memory. Lower devices, "
                "batch_size or n_exemplars. A checkpoint keeps what was learned."
            )
        elif code:
            last = (folder / f"stderr-{rank}").read_text(errors="replace").strip()[-500:]
            return ProcessError(f"{name} ended with code {code}: {last}")
    return next((error for error in found if not isinstance(error, ProcessError)), found[0])


def _main(folder: Path, rank: int, size: int) -> int:
    """Do the work as one of several processes."""
    voice = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed must not be taken for a message
    threading.Thread(target=_end_with_starter, args=[rank], daemon=True).start()

    def say(*message: Any) -> None:
        voice.write(json.dumps(message) + "\n")
        voice.flush()

    def warn(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if rank == 0 and issubclass(category, MGVAEWarning):
            say("warning", category.__name__, str(message))

    def progress(stage: str, done: int, steps: int, terms: Mapping[str, float]) -> None:
        say("progress", stage, done, steps, dict(terms))

    warnings.showwarning = warn
    try:
        sys.path[:] = json.loads((folder / _PATH).read_text(encoding="utf-8"))
        learn, job = pickle.loads((folder / _WORK).read_bytes())  # noqa: S301 (our own)
        team = _join(folder, rank, size, job.device.type)
        rows = job.rows
        if rows is None:
            rows = MemoryRows(torch.from_numpy(np.load(folder / _ROWS, mmap_mode="c")))
        tell = progress if rank == 0 else None
        outcome = learn(replace(job, rows=rows, team=team, device=team.device, callback=tell))
        if rank == 0:
            (folder / _OUTCOME).write_bytes(pickle.dumps(outcome))
        torch.distributed.destroy_process_group()
    except Exception as error:  # noqa: BLE001 (it is told to whoever started this process)
        error.add_note(f"In process {rank} of {size}:\n{traceback.format_exc()}")
        (folder / "told").mkdir(exist_ok=True)
        told = folder / "told" / str(rank)
        told.write_bytes(_pickled(error))
        told.rename(folder / f"error-{rank}")
        return 1
    return 0


def _join(folder: Path, rank: int, size: int, kind: str) -> Team:
    from lightning_fabric.plugins.environments import LightningEnvironment

    torch.distributed.init_process_group(
        "nccl" if kind == "cuda" else "gloo",
        init_method=f"file://{folder / _STORE}",
        rank=rank,
        world_size=size,
    )
    return Team(make_fabric(kind, size, 1, LightningEnvironment()))


def _end_with_starter(rank: int) -> None:
    os.read(0, 1)  # gives nothing, at the end
    if rank == 0:
        os.kill(os.getpid(), signal.SIGTERM)  # it may keep its state before it goes
    time.sleep(_PATIENCE)
    os._exit(1)


def _pickled(error: Exception) -> bytes:
    try:
        whole = pickle.dumps(error)
        pickle.loads(whole)  # noqa: S301 (our own)
    except Exception:  # noqa: BLE001 (some errors cannot be sent)
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return whole


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
