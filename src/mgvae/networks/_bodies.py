"""What a network for a VAE consists of, and how conditions reach a picture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

__all__ = [
    "Bodies",
    "Picture",
    "Reduced",
    "Rows",
    "Unflattened",
    "channel_counts",
    "halved",
    "halved_sides",
]

_SMALLEST = 4  # a side is not halved below this
_PART = 256  # pictures that pass through a network at once when nothing is learned


@dataclass
class Bodies:
    """An encoder's body with its number of features, and the decoder that goes with it.

    Both take and give rows, (n, width); networks for pictures shape the rows themselves.
    """

    encoder: nn.Module
    features: int
    decoder: nn.Module


class Picture(nn.Module):
    """Shape rows into pictures; a condition at their ends becomes constant planes.

    Values are moved from [0, 1] to [-1, 1], which is where layers without normalisation learn best.

    Examples
    --------
    >>> import torch
    >>> Picture((3, 8, 8), condition_size=2)(torch.zeros(5, 3 * 8 * 8 + 2)).shape
    torch.Size([5, 5, 8, 8])
    """

    def __init__(self, shape: tuple[int, int, int], condition_size: int = 0) -> None:
        super().__init__()
        self.shape = shape
        self.condition_size = condition_size

    def forward(self, rows: Tensor) -> Tensor:
        """Give pictures (n, channels + condition, height, width)."""
        size = math.prod(self.shape)
        pictures = rows[:, :size].reshape(-1, *self.shape) * 2.0 - 1.0
        if self.condition_size:
            planes = rows[:, size:, None, None].expand(-1, -1, *self.shape[1:])
            pictures = torch.cat([pictures, planes], 1)
        return channels_last(pictures)


class Unflattened(nn.Module):
    """Shape features into small pictures with many channels."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, rows: Tensor) -> Tensor:
        """Give pictures (n, channels, height, width)."""
        return channels_last(rows.reshape(-1, *self.shape))


def channels_last(pictures: Tensor) -> Tensor:
    """Lay out pictures pixel by pixel in memory: convolutions on a CPU take a quarter less time.

    Written as permutations, for torch's per-sample gradients do not know memory formats.
    """
    return pictures.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


class Rows(nn.Module):
    """Run layers on rows; when nothing is learned, in parts that fit the processor's caches."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, rows: Tensor) -> Tensor:
        """Give rows."""
        if torch.is_grad_enabled() or len(rows) <= _PART:
            return self.layers(rows).flatten(1)  # type: ignore[no-any-return]
        return torch.cat([self.layers(part).flatten(1) for part in torch.split(rows, _PART)])


class Reduced(nn.Module):
    """Run a network in bfloat16 where that is safe; what it gives is float32 again.

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
        """Give rows."""
        with torch.autocast(rows.device.type, torch.bfloat16):
            outputs: Tensor = self.network(rows)
        return outputs.float()


def halved_sides(height: int, width: int) -> list[tuple[int, int]]:
    """Halve a picture's sides, rounding up, until the shorter is 4 or less.

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
