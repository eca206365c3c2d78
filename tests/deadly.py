"""A network that kills its process once, in the middle of training."""

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor, nn

from mgvae.networks import Bodies, mlp_bodies

Where = tuple[tuple[str, str], ...]  # values that the right environment has


class Deadly(nn.Module):
    """An encoder that kills its process, if it is the right one and nobody has died yet."""

    def __init__(self, inner: nn.Module, marker: Path, where: Where) -> None:
        super().__init__()
        self.inner, self.marker, self.where = inner, marker, where
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        if all(os.environ.get(name) == value for name, value in self.where):
            self.calls += 1
            if self.calls == 10 and not self.marker.exists():
                self.marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return self.inner(x)


@dataclass(frozen=True)
class DeadlyNetwork:
    """To be given as ``network``: deadly where the environment has the values given."""

    marker: Path
    where: Where

    def __call__(self, shape: tuple[int, ...], latent_size: int) -> Bodies:
        bodies = mlp_bodies(shape[0], (16, 16), latent_size)
        return replace(bodies, encoder=Deadly(bodies.encoder, self.marker, self.where))
