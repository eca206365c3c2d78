"""The paper's classifier networks: a multi-layer perceptron and ResNet-20."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

__all__ = ["Head", "ResNet20", "mlp"]

Head = Callable[[int, int], nn.Module]  # the last layer, from its numbers of inputs and outputs


def mlp(
    sample_shape: Sequence[int], n_classes: int, hidden_sizes: Sequence[int], head: Head
) -> nn.Sequential:
    """Lay out D - h1 - h2 - ... - K with LeakyReLU(0.1).

    Parameters
    ----------
    sample_shape : sequence of int
        Shape of one sample, which is read as a row of D numbers.
    n_classes : int
        Number K of outputs.
    hidden_sizes : sequence of int
        Widths h1, h2, ... of the hidden layers.
    head : callable
        Makes the last layer.

    Examples
    --------
    >>> [type(layer).__name__ for layer in mlp((4,), 2, (3,), nn.Linear)]
    ['Flatten', 'Linear', 'LeakyReLU', 'Linear']
    """
    sizes = [math.prod(sample_shape), *hidden_sizes]
    layers: list[nn.Module] = [nn.Flatten()]
    for wide, narrow in pairwise(sizes):
        layers += [nn.Linear(wide, narrow), nn.LeakyReLU(0.1, inplace=True)]
    return nn.Sequential(*layers, head(sizes[-1], n_classes))


class ResNet20(nn.Module):
    """ResNet-20 as laid out for small images.

    A 3 × 3 convolution to 16 channels, three stages of three residual blocks with 16, 32 and 64
    channels, the second and third beginning at stride 2 with a projection shortcut, the average
    over the image, and the last layer.

    Parameters
    ----------
    channels : int
        Channels of the image.
    n_classes : int
        Number of outputs.
    head : callable
        Makes the last layer.

    Examples
    --------
    >>> sum(p.numel() for p in ResNet20(3, 10, nn.Linear).parameters())
    272474
    """

    def __init__(self, channels: int, n_classes: int, head: Head) -> None:
        super().__init__()
        self.stem = nn.Sequential(*_convolution(channels, 16), nn.ReLU(inplace=True))
        self.stages = nn.Sequential(
            _Block(16, 16), _Block(16, 16), _Block(16, 16),
            _Block(16, 32), _Block(32, 32), _Block(32, 32),
            _Block(32, 64), _Block(64, 64), _Block(64, 64),
        )  # fmt: skip
        self.head = head(64, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Return the outputs for images of shape (n, channels, height, width)."""
        # pixel by pixel in memory, convolutions on a CPU take a quarter less time
        images = images.contiguous(memory_format=torch.channels_last)
        features: Tensor = self.stages(self.stem(images))  # (n, 64, height / 4, width / 4)
        outputs: Tensor = self.head(features.mean(dim=(2, 3)))
        return outputs


class _Block(nn.Module):
    """Two convolutions beside a shortcut; where the channels grow, the image shrinks by half."""

    def __init__(self, channels: int, out_channels: int) -> None:
        super().__init__()
        stride = 1 if channels == out_channels else 2
        self.body = nn.Sequential(
            *_convolution(channels, out_channels, stride=stride),
            nn.ReLU(inplace=True),
            *_convolution(out_channels, out_channels),
        )
        self.shortcut = (
            nn.Identity()
            if stride == 1
            else nn.Sequential(*_convolution(channels, out_channels, kernel=1, stride=stride))
        )

    def forward(self, x: Tensor) -> Tensor:
        """Add the two ways."""
        outputs: Tensor = self.body(x) + self.shortcut(x)
        return outputs.relu_()


def _convolution(
    channels: int, out_channels: int, kernel: int = 3, stride: int = 1
) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    convolution = nn.Conv2d(channels, out_channels, kernel, stride, kernel // 2, bias=False)
    return convolution, nn.BatchNorm2d(out_channels)
