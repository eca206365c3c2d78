r"""The generator and the discriminator of a DCGAN (the paper's OCDCGAN).

At 64 × 64 pixels the generator is z → 4²·1024 → 8²·512 → 16²·256 → 32²·128 → 64²·3, each arrow
a transposed convolution with batch normalisation and ReLU (the last has neither), and the
discriminator the same backwards with leaky ReLU and one logit at its end. Other sizes take as many
stages as bring the shorter side to 4 or less, from 128 channels next to the image upwards. A
discriminator whose slopes are penalised goes without batch normalisation: the slope at one image
means little where its logit also depends on the others.
"""

import math

from torch import nn

from mgvae.networks._bodies import (
    FeaturesToImages,
    RowNetwork,
    RowsToImages,
    channel_counts,
    halved_sides,
)
from mgvae.networks._cnn import Convolution, Doubling

__all__ = ["dcgan"]


def dcgan(
    shape: tuple[int, int, int],
    noise_size: int,
    width: float = 1.0,
    condition_size: int = 0,
    *,
    batch_norm: bool = True,
) -> tuple[nn.Module, nn.Module]:
    """Build the generator and the discriminator.

    Parameters
    ----------
    shape : (int, int, int)
        Channels, height and width of an image.
    noise_size : int
        Length of the generator's noise.
    width : float
        Factor on the numbers of channels 128, 256, 512 and 1024.
    condition_size : int
        Length of the condition that is appended to the noise and to the image.
    batch_norm : bool
        Whether the discriminator has batch normalisation; the generator always has.

    Examples
    --------
    >>> import torch
    >>> generator, discriminator = dcgan((3, 16, 16), 100, width=0.1, condition_size=2)
    >>> rows = generator(torch.zeros(4, 102))
    >>> rows.shape, discriminator(torch.cat([rows, torch.zeros(4, 2)], 1)).shape
    (torch.Size([4, 768]), torch.Size([4, 1]))
    """
    sides = halved_sides(*shape[1:])
    channels = channel_counts(128, 1024, len(sides) - 1, width)
    smallest = (channels[-1], *sides[-1])
    up: list[nn.Module] = [
        nn.Linear(noise_size + condition_size, math.prod(smallest)),
        FeaturesToImages(smallest),
    ]
    down: list[nn.Module] = [RowsToImages(shape, condition_size)]
    for i in range(len(channels) - 1, -1, -1):
        after = channels[i - 1] if i else shape[0]
        up += [nn.BatchNorm2d(channels[i]), nn.ReLU(inplace=True)]
        up.append(Doubling(channels[i], after, sides[i]))
    before = shape[0] + condition_size
    for i, after in enumerate(channels):
        down.append(Convolution(before, after, stride=2))
        if i and batch_norm:
            down.append(nn.BatchNorm2d(after))
        down.append(nn.LeakyReLU(0.2, inplace=True))
        before = after
    down += [nn.Flatten(), nn.Linear(math.prod(smallest), 1)]
    return RowNetwork(*up), RowNetwork(*down)
