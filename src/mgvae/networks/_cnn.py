r"""The convolutional network of the paper's appendix, for colour or larger images.

At 64 × 64 pixels, with :math:`a \to b` a convolution that halves or doubles the sides:

======== =========================================================================================
encoder  64²·3 → 32²·64 → 16²·128 → 8²·256 → 4²·512, flat
decoder  z → 4²·512 (linear), ×2 by repetition, 8²·512 → 16²·256 → 32²·128 → 64²·64, then to 64²·3
======== =========================================================================================

Other sizes take as many stages as bring the shorter side to 4 or less; sides are halved rounding
up, and what a doubling makes too large is cropped. There is no batch normalisation: its statistics
would couple samples, and the Fisher information of single samples would be meaningless.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from mgvae.networks._bodies import (
    Bodies,
    FeaturesToImages,
    RowNetwork,
    RowsToImages,
    channel_counts,
    halved_sides,
)

__all__ = ["Convolution", "Doubling", "Repetition", "cnn_bodies"]

_SLOPE = 0.1


class Convolution(nn.Conv2d):
    """A 3 × 3 convolution that keeps the sides or halves them, with variance-keeping weights."""

    def __init__(self, before: int, after: int, stride: int = 1) -> None:
        super().__init__(before, after, 3, stride, 1)

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights so that a leaky ReLU's outputs keep their variance."""
        _fill(self.weight, self.bias, 9 * self.in_channels, generator)


class Doubling(nn.ConvTranspose2d):
    """A 4 × 4 transposed convolution that doubles the sides, cropped to what is wanted."""

    def __init__(self, before: int, after: int, side: tuple[int, int]) -> None:
        super().__init__(before, after, 4, 2, 1)
        self.side = side

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights; four of the sixteen meet in each output."""
        _fill(self.weight, self.bias, 4 * self.in_channels, generator)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Double the sides and crop."""
        return _crop(super().forward(x, output_size), self.side)


class Repetition(nn.Module):
    """Double the sides by repeating pixels, and crop."""

    def __init__(self, side: tuple[int, int]) -> None:
        super().__init__()
        self.side = side

    def forward(self, x: Tensor) -> Tensor:
        """Repeat every pixel four times."""
        return _crop(functional.interpolate(x, scale_factor=2.0), self.side)


def cnn_bodies(
    shape: tuple[int, int, int], latent_size: int, width: float = 1.0, condition_size: int = 0
) -> Bodies:
    """Build the convolutional encoder and decoder.

    .. versionadded:: 0.1

    Parameters
    ----------
    shape : (int, int, int)
        Channels, height and width of an image.
    latent_size : int
        Length of the latent code.
    width : float
        Factor on the numbers of channels 64, 128, 256 and 512.
    condition_size : int
        Length of a condition that is appended to the row and to the code.

    Returns
    -------
    bodies : Bodies
        Encoder and decoder, not yet filled from a seed.

    See Also
    --------
    mgvae.networks.mlp_bodies : The network for tables.
    mgvae.networks.residual_bodies : The published network for faces.

    Examples
    --------
    >>> cnn_bodies((3, 64, 64), 40).features == 4 * 4 * 512
    True
    """
    sides = halved_sides(*shape[1:])
    channels = channel_counts(64, 512, len(sides) - 1, width)
    down: list[nn.Module] = [RowsToImages(shape, condition_size)]
    before = shape[0] + condition_size
    for after in channels:
        down += [Convolution(before, after, stride=2), nn.LeakyReLU(_SLOPE, inplace=True)]
        before = after
    smallest = (channels[-1], *sides[-1])
    up: list[nn.Module] = [
        nn.Linear(latent_size + condition_size, math.prod(smallest)),
        nn.LeakyReLU(_SLOPE, inplace=True),
        FeaturesToImages(smallest),
        Repetition(sides[-2]),
    ]
    for i in range(len(channels) - 1, 0, -1):
        up += [
            Doubling(channels[i], channels[i - 1], sides[i - 1]),
            nn.LeakyReLU(_SLOPE, inplace=True),
        ]
    up.append(nn.Conv2d(channels[0], shape[0], 3, 1, 1))
    return Bodies(RowNetwork(*down), math.prod(smallest), RowNetwork(*up))


def _crop(x: Tensor, side: tuple[int, int]) -> Tensor:
    if x.shape[-2:] == side:  # a slice is a view, on which the next layer cannot work in place
        return x
    return x[..., : side[0], : side[1]].clone()


def _fill(weight: Tensor, bias: Tensor | None, fan_in: int, generator: torch.Generator) -> None:
    nn.init.normal_(weight, 0.0, math.sqrt(2.0 / fan_in), generator=generator)
    if bias is not None:
        nn.init.zeros_(bias)
