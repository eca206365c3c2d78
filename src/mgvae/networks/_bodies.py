"""What a network for a VAE consists of, and the layers between rows and images."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

__all__ = [
    "Bodies",
    "FeaturesToImages",
    "Reduced",
    "RowNetwork",
    "RowsToImages",
    "channel_counts",
    "halved",
    "halved_sides",
]

_SMALLEST = 4  # a side is not halved below this
_PART = 256  # images that pass through a network at once when nothing is learned


@dataclass
class Bodies:
    """An encoder's body with its number of features, and the decoder that goes with it.

    Both map rows to rows, (n, width); networks for images reshape the rows themselves.

    .. versionadded:: 0.1

    Parameters
    ----------
    encoder : torch module
        Maps encoded rows to features.
    features : int
        How many features it gives.
    decoder : torch module
        Maps latent codes to encoded rows.

    See Also
    --------
    mgvae.networks.mlp_bodies : The network for tables.
    mgvae.networks.cnn_bodies : The network for images.

    Examples
    --------
    >>> from torch import nn
    >>> from mgvae.networks import Bodies
    >>> encoder = nn.Sequential(nn.Linear(20, 64), nn.ReLU())
    >>> decoder = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 20))
    >>> Bodies(encoder, 64, decoder).features
    64
    """

    encoder: nn.Module
    features: int
    decoder: nn.Module


class RowsToImages(nn.Module):
    """Reshape rows to images; a condition at their ends becomes constant planes.

    Values are mapped from [0, 1] to [-1, 1], where layers without normalisation learn best.

    Examples
    --------
    >>> import torch
    >>> RowsToImages((3, 8, 8), condition_size=2)(torch.zeros(5, 3 * 8 * 8 + 2)).shape
    torch.Size([5, 5, 8, 8])
    """

    def __init__(self, shape: tuple[int, int, int], condition_size: int = 0) -> None:
        super().__init__()
        self.shape = shape
        self.condition_size = condition_size

    def forward(self, rows: Tensor) -> Tensor:
        """Return images (n, channels + condition, height, width)."""
        size = math.prod(self.shape)
        images = rows[:, :size].reshape(-1, *self.shape) * 2.0 - 1.0
        if self.condition_size:
            planes = rows[:, size:, None, None].expand(-1, -1, *self.shape[1:])
            images = torch.cat([images, planes], 1)
        return channels_last(images)


class FeaturesToImages(nn.Module):
    """Reshape features to small images with many channels."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, rows: Tensor) -> Tensor:
        """Return images (n, channels, height, width)."""
        return channels_last(rows.reshape(-1, *self.shape))


def channels_last(images: Tensor) -> Tensor:
    """Store images pixel by pixel in memory: convolutions on a CPU take a quarter less time.

    Written as permutations, because torch's per-sample gradients do not know memory formats.
    """
    return images.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


class RowNetwork(nn.Module):
    """Run layers on rows; when nothing is learned, in parts that fit the processor's caches."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, rows: Tensor) -> Tensor:
        """Return rows."""
        if torch.is_grad_enabled() or len(rows) <= _PART:
            return self.layers(rows).flatten(1)  # type: ignore[no-any-return]
        return torch.cat([self.layers(part).flatten(1) for part in torch.split(rows, _PART)])


class Reduced(nn.Module):
    """Run a network in bfloat16 where that is safe, and return float32.

    Examples
    --------
    >>> import torch
    >>> Reduced(torch.nn.Linear(2, 1))(torch.zeros(3, 2)).dtype
    torch.float32
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, rows: Tensor) -> Tensor:
        """Return rows."""
        with torch.autocast(rows.device.type, torch.bfloat16):
            outputs: Tensor = self.network(rows)
        return outputs.float()


def halved_sides(height: int, width: int) -> list[tuple[int, int]]:
    """Halve an image's sides, rounding up, until the shorter is 4 or less.

    Examples
    --------
    >>> halved_sides(64, 64)
    [(64, 64), (32, 32), (16, 16), (8, 8), (4, 4)]
    >>> halved_sides(28, 20)
    [(28, 20), (14, 10), (7, 5), (4, 3)]
    """
    sides = [(height, width)]
    while min(sides[-1]) > _SMALLEST:
        sides.append(halved(sides[-1]))
    return sides


def halved(side: tuple[int, int]) -> tuple[int, int]:
    """Halve a height and a width, rounding up."""
    return math.ceil(side[0] / 2), math.ceil(side[1] / 2)


def channel_counts(first: int, most: int, depth: int, factor: float) -> Sequence[int]:
    """Double the channels from stage to stage up to ``most``, all times a factor.

    Examples
    --------
    >>> channel_counts(64, 512, 5, 1.0)
    [64, 128, 256, 512, 512]
    """
    return [max(4, round(min(first * 2**i, most) * factor)) for i in range(depth)]
