"""Training that survives its process.

A checkpoint is a folder. ``checkpoint.json`` says which run it belongs to: the data (as hashes),
the settings, the seeds, the versions. Every stage of training has a file of its own, written whole
or not at all, with the state of everything that changes in a step: weights, optimisers, generators,
histories. A stage that is done is read back and not trained again; one that was cut off goes on
after the last step that was kept. Either way the run ends with the bits of one that nobody cut off.

The files are those of :mod:`mgvae.storage`, numbers and JSON, and read with the same distrust.
"""

import hashlib
import json
import math
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Protocol

import numpy as np
import torch
from torch import Tensor

from mgvae.common.atomic import atomic_write
from mgvae.common.tensor_file import ModelFile, parse, read_file, to_bytes
from mgvae.errors import CheckpointError, CheckpointWarning, ModelFileError, ParameterError

__all__ = ["Checkpoint", "StageFile", "Stateful", "stored_seed"]

_RUN = "checkpoint.json"
_LONG = 16  # lists of so many floats are kept as tensors
_STALE = 60.0  # seconds after which a file that nobody finished writing is rubbish
_RUBBISH = re.compile(r"\.[\w.-]+\.(json|safetensors)\.[0-9a-f]{12}\.tmp")


class _HasState(Protocol):
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: Any, /) -> Any: ...


Stateful = _HasState | torch.Generator | np.random.Generator
"""What can be kept: generators, and everything that tells its state as torch's modules do."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder that keeps the state of one run.

    Parameters
    ----------
    folder : Path
        Where.
    run : str
        What the run is known by: a hash of its data, settings, seeds and versions.
    seconds : float
        Time between two looks at a stage under way.
    seeds : numpy.random.SeedSequence
        The root of the run's randomness.
    """

    folder: Path
    run: str
    seconds: float
    seeds: np.random.SeedSequence

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        facts: Mapping[str, Any],
        seeds: np.random.SeedSequence,
        *,
        adopt: bool,
        seconds: float,
    ) -> "Checkpoint":
        """Begin a run in an empty folder, or go on with the one that is there.

        Parameters
        ----------
        folder : path
            Made if it is not there.
        facts : mapping
            What decides the outcome, as plain data; a folder with other facts is refused.
        seeds : numpy.random.SeedSequence
            The root of the randomness of a new run.
        adopt : bool
            Whether to go on with the seeds of the run that is there, whatever ``seeds`` are.
        seconds : float
            Time between two looks at a stage under way.

        Examples
        --------
        >>> import tempfile
        >>> folder, seeds = tempfile.mkdtemp(), np.random.SeedSequence(0)
        >>> first = Checkpoint.open(folder, {"steps": 5}, seeds, adopt=False, seconds=30)
        >>> again = Checkpoint.open(folder, {"steps": 5}, seeds, adopt=False, seconds=30)
        >>> first.run == again.run
        True
        >>> Checkpoint.open(folder, {"steps": 6}, seeds, adopt=False, seconds=30)
        Traceback (most recent call last):
        ...
        mgvae.errors.CheckpointError: ... belongs to another run: steps was 5 and is 6. ...
        """
        path = Path(folder)
        given = {**facts, "seeds": _seeds(seeds)}
        kept = _read_run(path)
        if kept is not None:
            if adopt:
                given["seeds"] = kept.get("seeds")
            if changes := list(_differences(kept, given)):
                raise CheckpointError(
                    f"the checkpoint {path} belongs to another run: {'; '.join(changes)}. "
                    "Give another folder, or remove this one to begin anew."
                )
            try:
                entropy, spawn_key = given["seeds"]
                seeds = np.random.SeedSequence(entropy, spawn_key=spawn_key)
            except (TypeError, ValueError) as error:
                raise CheckpointError(
                    f"the checkpoint {path} cannot be continued: its seeds are damaged. Give "
                    "another folder, or remove this one to begin anew."
                ) from error
        text = json.dumps(given, sort_keys=True, indent=1, allow_nan=False)
        try:
            path.mkdir(parents=True, exist_ok=True)
            _sweep(path)
            with atomic_write(path / _RUN) as file:  # also shows that there is room and leave
                file.write(text.encode())
        except OSError as error:
            raise ParameterError(
                f"checkpoint={str(folder)!r} cannot be written: {error.strerror or error}. Give a "
                "folder on a disk with room where files may be made."
            ) from error
        return cls(path.absolute(), hashlib.sha256(text.encode()).hexdigest(), seconds, seeds)

    def stage(self, name: str) -> "StageFile":
        """Return the file of one stage; ``name`` is a part of a file's name."""
        return StageFile(self.folder / f"{name}.safetensors", self.run, self.seconds)


class StageFile:
    """The file of one stage of training.

    Inside a ``with`` block SIGINT and SIGTERM wait until :meth:`save`, or the end of the block, has
    let them through; a second one does not wait. Only the main thread can do this: in others they
    act as ever.

    Parameters
    ----------
    path : Path
        The file.
    run : str
        The run it must belong to.
    seconds : float
        Time between two looks.
    """

    def __init__(self, path: Path, run: str, seconds: float) -> None:
        self.path = path
        self.run = run
        self.seconds = seconds
        self._next = 0.0
        self._signals: _Signals | None = None
        self._warned = False

    def __enter__(self) -> "StageFile":
        self._next = time.monotonic() + self.seconds
        self._signals = _Signals()
        return self

    def __exit__(self, *_: object) -> None:
        if self._signals is not None:
            self._signals.deliver()
            self._signals = None

    def due(self) -> bool:
        """Tell whether it is time to save."""
        waiting = self._signals is not None and self._signals.pending is not None
        return waiting or time.monotonic() >= self._next

    def save(self, done: int, parts: Sequence[Stateful]) -> None:
        """Keep the state after ``done`` steps, then let a waiting signal through."""
        self._write(done, [_state(part) for part in parts])
        self._next = time.monotonic() + self.seconds
        if self._signals is not None and self._signals.pending is not None:
            self._signals.deliver()
            self._signals = _Signals()  # whoever got the signal wants to go on

    def finish(self, parts: Sequence[Stateful]) -> None:
        """Keep the outcome of the stage."""
        self._write(None, [_state(part) for part in parts])

    def resume(self, parts: Sequence[Stateful]) -> int:
        """Put the parts back as they were when they were last saved; give the steps then done."""
        done, states = self._read()
        if not isinstance(done, int):
            return 0
        self._restore(states, parts)
        return done

    def finished(self, parts: Sequence[Stateful]) -> bool:
        """Put the parts back as they were in the end, if the stage has come to one."""
        done, states = self._read()
        if done is not None or states is None:
            return False
        self._restore(states, parts)
        return True

    def once(
        self, compute: Callable[[], dict[str, Tensor]], device: torch.device
    ) -> dict[str, Tensor]:
        """Return the tensors that are kept, or compute and keep them."""
        _, kept = self._read()
        if kept is not None:
            if not isinstance(kept, dict) or not all(isinstance(t, Tensor) for t in kept.values()):
                self._refuse("it does not hold tensors by name")
            return {str(name): tensor.to(device) for name, tensor in kept.items()}
        computed = compute()
        self._write(None, computed)
        return computed

    def _write(self, done: int | None, states: Any) -> None:
        tensors: dict[str, Tensor] = {}
        states = _pack(states, tensors)
        if not all(torch.isfinite(t).all() for t in tensors.values() if t.is_floating_point()):
            return  # it is about to diverge; the last good state stays
        metadata = {"run": self.run, "stage": self.path.stem, "done": done, "states": states}
        content = to_bytes(ModelFile(metadata, tensors))
        try:
            with atomic_write(self.path) as file:
                file.write(content)
        except OSError as error:
            if not self._warned:
                warnings.warn(
                    f"the checkpoint {self.path} could not be written: {error.strerror or error}. "
                    "Training goes on; if it is cut off, it begins again at the last state kept.",
                    CheckpointWarning,
                    stacklevel=2,
                )
            self._warned = True

    def _read(self) -> tuple[int | None, Any]:
        """Return the steps done (None for all) and the states; no states if none are kept."""
        try:
            file = read_file(self.path)
        except FileNotFoundError:
            return None, None
        except (ModelFileError, OSError) as error:
            self._refuse(str(error))
        if file.metadata.get("run") != self.run:
            self._refuse("it belongs to another run")
        stage = file.metadata.get("stage", self.path.stem)  # earlier versions did not write it
        if stage != self.path.stem:
            self._refuse(f"it belongs to another stage, {stage!r:.60}")
        try:
            done = file.metadata["done"]
            states = _unpack(file.metadata["states"], file.tensors)
        except (KeyError, TypeError, ValueError) as error:
            self._refuse(f"it lacks {error}")
        if not (done is None or (type(done) is int and 0 <= done < 2**53)):
            self._refuse(f"it says that {done!r:.60} steps are done")
        return done, states

    def _restore(self, states: Any, parts: Sequence[Stateful]) -> None:
        try:
            for part, state in zip(parts, states, strict=True):
                _set_state(part, state)
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
            self._refuse(f"it does not fit this run ({error})")

    def _refuse(self, reason: str) -> NoReturn:
        raise CheckpointError(
            f"the checkpoint {self.path} cannot be continued: {reason}. Remove the file, and this "
            "stage of training begins anew."
        )


class _Signals:
    """SIGINT and SIGTERM, put off."""

    def __init__(self) -> None:
        self.pending: int | None = None
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before = signal.getsignal(number)
                if before not in (signal.SIG_IGN, None):  # None: not Python's to give back
                    self._before[number] = before
                    signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        again = self.pending is not None
        self.pending = number
        if again:
            self.deliver()

    def deliver(self) -> None:
        """Put the handlers back, and give them what has come."""
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()
        waiting, self.pending = self.pending, None
        if waiting is not None:
            signal.raise_signal(waiting)


def stored_seed(folder: str | os.PathLike[str]) -> int | None:
    """Return the ``random_state`` of the run in a folder, if there is one and it was a number.

    Examples
    --------
    >>> import tempfile
    >>> stored_seed(tempfile.mkdtemp()) is None
    True
    """
    seeds = (_read_run(Path(folder)) or {}).get("seeds")
    entropy = seeds[0] if isinstance(seeds, list) and seeds else None
    return entropy if isinstance(entropy, int) else None


def _read_run(folder: Path) -> dict[str, Any] | None:
    try:
        if (folder / _RUN).exists() and not (folder / _RUN).is_file():
            raise ModelFileError("it is not a regular file")
        return parse((folder / _RUN).read_bytes())
    except FileNotFoundError:
        return None
    except (ModelFileError, OSError, ValueError) as error:  # the last for paths that no file has
        raise CheckpointError(
            f"the checkpoint {folder} cannot be continued: {_RUN}: {error}. Give another folder, "
            "or remove this one to begin anew."
        ) from error


def _seeds(seeds: np.random.SeedSequence) -> list[Any]:
    entropy = seeds.entropy
    words = [int(word) for word in entropy] if isinstance(entropy, Sequence) else int(entropy or 0)
    return [words, [int(key) for key in seeds.spawn_key]]


def _differences(kept: Any, given: Any, name: str = "") -> Iterator[str]:
    """Say what is not as it was, in words."""
    if isinstance(kept, dict) and isinstance(given, dict):
        for key in sorted({*kept, *given}):
            full = f"{name} {key}" if name.endswith(" of") else key
            yield from _differences(kept.get(key), given.get(key), full)
    elif kept != given:
        unspeakable = {
            "seeds": "random_state is another",
            "data": "the values of X or y are others",
        }
        yield unspeakable.get(name, f"{name} was {kept!r:.60} and is {given!r:.60}")


def _sweep(folder: Path) -> None:
    """Remove what killed processes were writing."""
    for path in folder.iterdir():
        if _RUBBISH.fullmatch(path.name):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink()


def _state(part: Stateful) -> Any:
    if isinstance(part, torch.Generator):
        return part.get_state()
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    if isinstance(part, torch.optim.Optimizer):
        state = part.state_dict()["state"]  # the rest is settings
        return {str(number): values for number, values in state.items()}
    return dict(part.state_dict())


def _set_state(part: Stateful, state: Any) -> None:
    if isinstance(part, torch.Generator):
        part.set_state(state)
    elif isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    elif isinstance(part, torch.optim.Optimizer):
        settings = part.state_dict()["param_groups"]
        numbered = {int(number): values for number, values in state.items()}
        part.load_state_dict({"state": numbered, "param_groups": settings})
    else:
        part.load_state_dict(state)


def _pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Move tensors and long lists of floats out of a tree, and leave their names.

    Examples
    --------
    >>> tensors = {}
    >>> tree = {"weights": torch.zeros(2), "loss": [0.5] * 20, "lowest": math.inf, "step": 3}
    >>> packed = _pack(tree, tensors)
    >>> packed["weights"], packed["lowest"], sorted(tensors)
    ({'tensor': 't0'}, {'float': 'inf'}, ['t0', 't1'])
    >>> _unpack(packed, tensors)["loss"] == tree["loss"]
    True
    """
    if isinstance(value, Tensor):
        kept = value.detach().cpu().clone()
        if kept.dtype not in (torch.float32, torch.float64, torch.uint8):
            kept = kept.float() if kept.is_floating_point() else kept.long()  # nothing is lost
        tensors[name := f"t{len(tensors)}"] = kept
        return {"tensor": name}
    if isinstance(value, Mapping):
        return {key: _pack(item, tensors) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if len(value) >= _LONG and all(type(i) is float and math.isfinite(i) for i in value):
            tensors[name := f"t{len(tensors)}"] = torch.tensor(value, dtype=torch.float64)
            return {"floats": name}
        return [_pack(item, tensors) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _unpack(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Undo :func:`_pack`."""
    if isinstance(value, dict):
        match list(value.items()):
            case [("tensor", str(name))]:
                return tensors[name]
            case [("floats", str(name))]:
                return tensors[name].tolist()
            case [("float", str(text))]:
                return float(text)
        return {key: _unpack(item, tensors) for key, item in value.items()}
    return [_unpack(item, tensors) for item in value] if isinstance(value, list) else value
