"""Seeds, devices, threads and fresh modules: what every fit needs and nobody should see.

Every random number comes from generators spawned from one :class:`numpy.random.SeedSequence`. The
global generators of numpy, torch and Python are neither read nor changed.
"""

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from mgvae.errors import ParameterError, ResourceError

__all__ = [
    "build", "enough_memory", "physical_memory", "resolve_device", "seed_sequence", "threads",
    "torch_generator",
]  # fmt: skip

_Module = TypeVar("_Module", bound=nn.Module)


def seed_sequence(random_state: object) -> np.random.SeedSequence:
    """Turn any spelling of ``random_state`` into the root of a tree of seeds.

    None takes fresh entropy from the operating system, not from numpy's global generator.

    Examples
    --------
    >>> seed_sequence(7).entropy
    7
    """
    if random_state is None or isinstance(random_state, int | np.integer):
        seed = None if random_state is None else int(random_state)
        if seed is not None and seed < 0:
            raise ParameterError(
                f"random_state must not be negative; got {random_state!r:.60}. Use 0 or more."
            )
        return np.random.SeedSequence(seed)
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(
            random_state.randint(0, 2**32, size=4, dtype=np.uint32).tolist()
        )
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**32, size=4).tolist())
    raise ParameterError(
        "random_state must be None, an int, a numpy RandomState or a numpy Generator; "
        f"got {random_state!r}."
    )


def torch_generator(
    seeds: np.random.SeedSequence, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Make a torch generator of its own from a seed sequence.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = (torch_generator(np.random.SeedSequence(0)) for _ in range(2))
    >>> bool((torch.rand(3, generator=a) == torch.rand(3, generator=b)).all())
    True
    """
    generator = torch.Generator(device=device)
    generator.manual_seed(int(seeds.generate_state(1, np.uint64)[0] >> np.uint64(1)))
    return generator


def resolve_device(device: str | torch.device) -> torch.device:
    """Choose the device: ``"auto"`` takes CUDA when it is there, else the CPU.

    Examples
    --------
    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise ParameterError(
            f'device={device!r} cannot be used here ({error}). Use "auto" or "cpu".'
        ) from error
    return chosen


class _Threads:
    depth = 0
    outside = 1
    lock = threading.Lock()


@contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Run torch on ``n`` threads inside the block, and as before after it (None: as it is).

    Torch keeps the number per calling thread, so that several fits may run at once; the number to
    go back to is the one seen before the first of them began.

    Examples
    --------
    >>> before = torch.get_num_threads()
    >>> with threads(1):
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    if n is None:
        yield
        return
    with _Threads.lock:
        if _Threads.depth == 0:
            _Threads.outside = torch.get_num_threads()
        _Threads.depth += 1
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(_Threads.outside)
        with _Threads.lock:
            _Threads.depth -= 1


@contextmanager
def enough_memory(doing: str, remedy: str) -> Iterator[None]:
    """Turn every library's way of saying that memory ran out into one error with a remedy.

    Examples
    --------
    >>> with enough_memory("making rows", "Make fewer."):
    ...     raise MemoryError
    Traceback (most recent call last):
    ...
    mgvae.errors.ResourceError: making rows: there is not enough memory. Make fewer.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        own_words = any(words in str(error) for words in _OUT_OF_MEMORY)
        out = isinstance(error, MemoryError | torch.OutOfMemoryError) or own_words
        if not out or isinstance(error, ResourceError):
            raise
        raise ResourceError(f"{doing}: there is not enough memory. {remedy}") from error


_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")


@runtime_checkable
class Initialises(Protocol):
    """A module that fills its own parameters (not its children's) from a generator."""

    def initialise(self, generator: torch.Generator) -> None:
        """Fill the parameters."""


def build(factory: Callable[[], _Module], generator: torch.Generator) -> _Module:
    """Build a module whose every weight comes from ``generator``.

    The module is laid out without memory, given memory, and then filled: layers of torch as torch
    itself would, modules of ours through their ``initialise(generator)``. Other modules may only
    hold parameters in such children.

    Examples
    --------
    >>> import numpy as np
    >>> make = lambda: torch.nn.Linear(2, 1)
    >>> state = torch.get_rng_state()
    >>> a = build(make, torch_generator(np.random.SeedSequence(0)))
    >>> b = build(make, torch_generator(np.random.SeedSequence(0)))
    >>> bool((a.weight == b.weight).all()), bool((torch.get_rng_state() == state).all())
    (True, True)
    """
    with torch.device("meta"):
        module = factory()
    _give_memory(module)
    with torch.no_grad():
        for child in module.modules():
            _initialise(child, generator)
    return module


def _give_memory(module: nn.Module) -> None:
    """Give memory to parameters and buffers, as ``module.to_empty`` does.

    That method asks for tensors like those without memory, for which torch loads a package of
    symbolic algebra: a third of a second that the first fit of a program would wait.
    """
    given: dict[int, Tensor] = {}

    def memory(like: Tensor) -> Tensor:
        if id(like) not in given:
            place = torch.empty_strided(like.size(), like.stride(), dtype=like.dtype)
            is_parameter = isinstance(like, nn.Parameter)
            given[id(like)] = nn.Parameter(place, like.requires_grad) if is_parameter else place
        return given[id(like)]

    for child in module.modules():
        for name, tensor in (
            *child.named_parameters(recurse=False), *child.named_buffers(recurse=False)
        ):  # fmt: skip
            setattr(child, name, memory(tensor))


def _initialise(module: nn.Module, generator: torch.Generator) -> None:
    if isinstance(module, Initialises):
        module.initialise(generator)
    elif isinstance(module, nn.Linear | nn.modules.conv._ConvNd):
        # Torch's own rule: uniform on ±1/sqrt(fan-in), for weight and bias alike.
        fan_in = math.prod(module.weight.shape[1:])
        bound = 1.0 / math.sqrt(max(1, fan_in))
        module.weight.uniform_(-bound, bound, generator=generator)
        if module.bias is not None:
            module.bias.uniform_(-bound, bound, generator=generator)
    elif isinstance(module, nn.modules.batchnorm._NormBase | nn.GroupNorm | nn.LayerNorm):
        if isinstance(module, nn.modules.batchnorm._NormBase):
            module.reset_running_stats()
        if module.weight is not None:
            nn.init.ones_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, generator=generator)
    elif any(True for _ in module.parameters(recurse=False)):
        raise ParameterError(
            f"the module {type(module).__name__} holds parameters that cannot be filled "
            "reproducibly. Give it a method initialise(generator) that fills them."
        )


def physical_memory() -> int | None:
    """Return the bytes of memory that this machine has, or None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows, not on every Unix
        return None
