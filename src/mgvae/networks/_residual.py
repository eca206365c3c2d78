r"""The residual network that was published for CelebA.

Two stages of 48 and 96 channels, each halving the sides, and a bottleneck of 6 channels: a
64 × 64 image becomes 6 × 16 × 16 features. Layers are weight-normalised,

.. math:: w = g \, v / \lVert v \rVert,

with one scale g for each output channel, and ELU stands between them. The decoder mirrors the
encoder. Sides are halved rounding up, whatever they are.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from mgvae.networks._bodies import Bodies, FeaturesToImages, RowNetwork, RowsToImages, halved
from mgvae.networks._cnn import Repetition

__all__ = ["NormalisedConvolution", "residual_bodies"]

_CHANNELS, _BOTTLENECK, _BLOCKS = (48, 96), 6, 2


class NormalisedConvolution(nn.Module):
    """A 3 × 3 convolution whose weights have a direction and a learned length.

    Parameters
    ----------
    before, after : int
        Channels.
    stride : int
        2 halves the sides.
    scale : float
        Length of each output channel's weights at the start.
    """

    def __init__(self, before: int, after: int, stride: int = 1, scale: float = 1.2) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.empty(after, before, 3, 3))
        self.length = nn.Parameter(torch.empty(after))
        self.bias = nn.Parameter(torch.empty(after))
        self.stride = stride
        self.scale = scale

    def initialise(self, generator: torch.Generator) -> None:
        """Draw random directions; a scale of 1.2 makes up for what ELU takes away."""
        nn.init.normal_(self.direction, generator=generator)
        nn.init.constant_(self.length, self.scale)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve."""
        norm = self.direction.flatten(1).norm(dim=1)
        weight = (self.length / norm)[:, None, None, None] * self.direction
        return functional.conv2d(x, weight, self.bias, self.stride, 1)


class _Residual(nn.Module):
    """x + f(x), with a quiet f at the start."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.ELU(),
            NormalisedConvolution(channels, channels),
            nn.ELU(),
            NormalisedConvolution(channels, channels, scale=0.2),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)  # type: ignore[no-any-return]


def residual_bodies(
    shape: tuple[int, int, int], latent_size: int, width: float = 1.0, condition_size: int = 0
) -> Bodies:
    """Build the residual encoder and decoder.

    .. versionadded:: 0.1

    Parameters
    ----------
    shape : (int, int, int)
        Channels, height and width of an image.
    latent_size : int
        Length of the latent code.
    width : float
        Factor on the numbers of channels 48 and 96.
    condition_size : int
        Length of a condition that is appended to the row and to the code.

    Returns
    -------
    bodies : Bodies
        Encoder and decoder, not yet filled from a seed.

    See Also
    --------
    mgvae.networks.cnn_bodies : The network of the paper's text.

    Examples
    --------
    >>> residual_bodies((3, 64, 64), 40).features == 6 * 16 * 16
    True
    """
    sides = [shape[1:], halved(shape[1:]), halved(halved(shape[1:]))]
    narrow, wide = (max(4, round(width * channels)) for channels in _CHANNELS)
    smallest = (_BOTTLENECK, *sides[2])
    encoder = RowNetwork(
        RowsToImages(shape, condition_size),
        NormalisedConvolution(shape[0] + condition_size, narrow, stride=2),
        *(_Residual(narrow) for _ in range(_BLOCKS)),
        nn.ELU(),
        NormalisedConvolution(narrow, wide, stride=2),
        *(_Residual(wide) for _ in range(_BLOCKS)),
        nn.ELU(),
        NormalisedConvolution(wide, _BOTTLENECK),
        nn.ELU(),
    )
    decoder = RowNetwork(
        nn.Linear(latent_size + condition_size, math.prod(smallest)),
        FeaturesToImages(smallest),
        NormalisedConvolution(_BOTTLENECK, wide),
        *(_Residual(wide) for _ in range(_BLOCKS)),
        nn.ELU(),
        Repetition(sides[1]),
        NormalisedConvolution(wide, narrow),
        *(_Residual(narrow) for _ in range(_BLOCKS)),
        nn.ELU(),
        Repetition(sides[0]),
        NormalisedConvolution(narrow, shape[0]),
    )
    return Bodies(encoder, math.prod(smallest), decoder)
