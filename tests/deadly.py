"""A network that kills its process once, in the middle of training."""

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor, nn

from mgvae.networks import Bodies, mlp_bodies


class Deadly(nn.Module):
    """An encoder that kills its process, if it is the right one and nobody has died yet."""

    def __init__(self, inner: nn.Module, marker: Path, where: dict[str, str | None]) -> None:
        super().__init__()
        self.inner, self.marker, self.where = inner, marker, where
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        here = all(os.environ.get(name) == value for name, value in self.where.items())
        if self.calls == 10 and here:
            try:
                self.marker.touch(exist_ok=False)
            except FileExistsError:
                return self.inner(x)
            os.kill(os.getpid(), signal.SIGKILL)
        return self.inner(x)


@dataclass(frozen=True)
class DeadlyNetwork:
    """To be given as ``network``: deadly where the environment has the values given."""

    marker: Path
    where: tuple[tuple[str, str | None], ...]

    def __call__(self, shape: tuple[int, ...], latent_size: int) -> Bodies:
        bodies = mlp_bodies(shape[0], (16, 16), latent_size)
        return replace(bodies, encoder=Deadly(bodies.encoder, self.marker, dict(self.where)))
