r"""Processes that train one model together.

In every step all processes draw the same joint batch of :math:`n` rows, the same exemplars and the
same noise, from the same seeds. Of :math:`W` processes, number :math:`k` takes the rows
:math:`B_k`, its share of the batch, and lowers

.. math:: L_k = \frac{W}{n} \sum_{i \in B_k} \ell_i + P, \qquad
          \frac1W \sum_k L_k = \frac1n \sum_i \ell_i + P = L,

where :math:`P` is a penalty on the weights. So the mean of the processes' gradients is the gradient
of the joint loss :math:`L`, and all of them move by it: their weights stay the same.

A row's :math:`\ell_i` needs the latent means of all exemplars, of which each process encodes its
portion only. The means are gathered; on the way back, the gradient with respect to a mean is summed
over the processes, each of which has used it.

Lightning Fabric joins the processes; it is imported only here, and only when it is asked for.
"""

import atexit
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, distributed, nn

from mgvae.common.rows import Positions
from mgvae.errors import MGVAEError, ParameterError, ProcessError
from mgvae.training.checkpoints import StageFile

__all__ = ["Team", "check_installed", "join_torchrun", "make_fabric", "started_from_outside"]

_T = TypeVar("_T")

_OUTSIDE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def started_from_outside() -> bool:
    """Tell whether ``torchrun``, or what does as it does, has started this process.

    Examples
    --------
    >>> started_from_outside()
    False
    """
    return all(name in os.environ for name in _OUTSIDE)


@cache
def join_torchrun(kind: str) -> "Team":
    """Join the processes that ``torchrun`` has started, on devices of one kind."""
    check_installed()
    from lightning_fabric.plugins.environments import TorchElasticEnvironment

    here, everywhere = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["WORLD_SIZE"])
    was_joined = distributed.is_initialized()
    team = Team(make_fabric(kind, here, everywhere // here, TorchElasticEnvironment()))
    if not was_joined:
        atexit.register(_leave)
    return team


def _leave() -> None:
    """Leave the other processes: with its threads still running, the interpreter may abort."""
    if distributed.is_initialized():
        distributed.destroy_process_group()


def check_installed() -> None:
    """Raise if Lightning Fabric is not there."""
    if find_spec("lightning_fabric") is None:
        raise ParameterError(
            "devices needs Lightning Fabric, which is not installed: pip install mgvae[ddp]."
        )


def make_fabric(kind: str, devices: int, hosts: int, environment: Any) -> Any:
    """Set Lightning Fabric up for processes that exist already."""
    import logging

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    logging.getLogger("lightning_utilities.core.rank_zero").setLevel(logging.WARNING)
    from lightning_fabric import Fabric

    fabric = Fabric(
        accelerator=kind, devices=devices, num_nodes=hosts, strategy="ddp", plugins=[environment]
    )
    fabric.launch()
    return fabric


class Team:
    """One process among several.

    Parameters
    ----------
    fabric : lightning_fabric.Fabric
        Launched.

    Attributes
    ----------
    rank, size : int
        The number of this process, and how many there are.
    device : torch.device
        Where this process computes.
    """

    def __init__(self, fabric: Any) -> None:
        self._fabric = fabric
        self.rank: int = fabric.global_rank
        self.size: int = fabric.world_size
        self.device: torch.device = fabric.device

    def share(self, n: int) -> slice:
        """Return this process's rows of a joint batch; all, if there are fewer rows than processes.

        The shares are as even as can be, and :meth:`weight` makes up for the rest.
        """
        if n < self.size:
            return slice(0, n)
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def weight(self, n: int) -> float:
        """Return the factor that turns a mean over this share into its part of the joint mean."""
        rows = len(range(n)[self.share(n)])
        return rows * self.size / n if n >= self.size else 1.0

    def portion(self, positions: Positions) -> Positions:
        """Return the exemplars that this process encodes, as many as every other."""
        each = -(-len(positions) // self.size)
        places = np.arange(each * self.rank, each * (self.rank + 1))
        return positions[np.minimum(places, len(positions) - 1)] if each else positions

    def gather(self, n: int, portion: Tensor) -> Tensor:
        """Put the portions of all processes together again, with their gradients."""
        gathered: Tensor = _Gather.apply(portion, self.rank, self.size)  # type: ignore[no-untyped-call]
        return gathered[:n]

    def average(
        self, parameters: Sequence[Tensor], terms: Mapping[str, Tensor | float]
    ) -> dict[str, Tensor | float]:
        """Replace all gradients by their means over the processes; give the means of the terms."""
        gradients = [p.grad for p in parameters if p.grad is not None]
        numbers = [torch.stack([torch.as_tensor(term).detach().float() for term in terms.values()])]
        flat = torch.cat([part.reshape(-1) for part in [*gradients, *numbers]])
        distributed.all_reduce(flat)
        flat /= self.size
        *parts, means = torch.split(flat, [part.numel() for part in [*gradients, *numbers]])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
        return dict(zip(terms, means.unbind(), strict=True))

    def sum(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Add tensors up over the processes."""
        for tensor in tensors.values():
            distributed.all_reduce(tensor)
        return dict(tensors)

    def from_first(self, value: _T) -> _T:
        """Send every process the value that the first one has, and return it."""
        with self.connected():
            given: _T = self._fabric.broadcast(value)
        return given

    def agree(self, value: object) -> bool:
        """Tell every process whether all have the same value."""
        with self.connected():
            others = torch.tensor(value != self.from_first(value), device=self.device).float()
            distributed.all_reduce(others)
        return not others.item()

    def align(self, module: nn.Module) -> None:
        """Send every process the weights that the first one has."""
        if any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in module.modules()):
            raise ParameterError(
                "a network with batch normalisation cannot be trained by several processes, each "
                "of which would see the statistics of its own rows only. Use another "
                "normalisation (nn.GroupNorm, nn.LayerNorm)."
            )
        for tensor in module.state_dict().values():
            distributed.broadcast(tensor, 0)

    def file(self, file: StageFile) -> StageFile:
        """Return the file of one stage as these processes use it: the first reads and writes."""
        return _SharedFile(file, self)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Turn every way of saying that another process is gone into one error."""
        try:
            yield
        except RuntimeError as error:
            lost = any(words in str(error) for words in _LOST)
            if isinstance(error, MGVAEError) or not (lost or isinstance(error, _NETWORK)):
                raise
            raise ProcessError(
                f"process {self.rank} of {self.size} has lost the connection to the others: one "
                "of them has ended. Its own message says why; a checkpoint keeps what was learned."
            ) from error


_NETWORK = (distributed.DistBackendError, distributed.DistNetworkError, distributed.DistStoreError)
_LOST = ("Connection closed", "Connection reset", "Broken pipe", "Connection refused", "Timed out")


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, portion: Tensor, rank: int, size: int) -> Tensor:
        ctx.place = slice(len(portion) * rank, len(portion) * (rank + 1))
        portions = [torch.empty_like(portion) for _ in range(size)]
        distributed.all_gather(portions, portion.contiguous())
        return torch.cat(portions)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(total)
        return total[ctx.place], None, None


class _SharedFile(StageFile):
    """A stage's file of which the other processes know what the first one tells them."""

    def __init__(self, file: StageFile, team: Team) -> None:
        super().__init__(file.path, file.run, file.seconds)
        self.team = team

    def due(self) -> bool:
        return self.team.rank == 0 and super().due()

    def _write(self, done: int | None, states: Any) -> None:
        if self.team.rank == 0:
            super()._write(done, states)

    def _read(self) -> tuple[int | None, Any]:
        return self.team.from_first(super()._read() if self.team.rank == 0 else (None, None))
