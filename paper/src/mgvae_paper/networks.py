"""A small convolutional classifier, for images on which ResNet-20 takes too long.

Four times a 3 × 3 convolution, batch normalisation, ReLU and the largest of each 2 × 2 pixels, with
16, 32, 64 and 128 channels; then the mean of each channel over the image, and the last layer.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from mgvae.classifiers.networks import Head
from mgvae.losses import CosineLinear

__all__ = ["SmallCNN", "small_cnn", "small_cosine_cnn"]

_CHANNELS = (16, 32, 64, 128)


class SmallCNN(nn.Module):
    """A small convolutional network.

    Parameters
    ----------
    channels : int
        Channels of the image.
    head : Module
        The last layer, which takes 128 numbers.

    Examples
    --------
    >>> import torch
    >>> small_cnn((1, 64, 64), 6)(torch.zeros(2, 1, 64, 64)).shape
    torch.Size([2, 6])
    """

    def __init__(self, channels: int, head: nn.Module) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for wide, narrow in pairwise((channels, *_CHANNELS)):
            layers += [nn.Conv2d(wide, narrow, 3, padding=1, bias=False), nn.BatchNorm2d(narrow)]
            layers += [nn.ReLU(inplace=True), nn.MaxPool2d(2)]
        self.features = nn.Sequential(*layers)
        self.head = head

    def forward(self, images: Tensor) -> Tensor:
        """Return the outputs for images of shape (n, channels, height, width)."""
        images = images.contiguous(memory_format=torch.channels_last)
        found: Tensor = self.head(self.features(images).mean(dim=(2, 3)))
        return found


def small_cnn(shape: tuple[int, ...], n_classes: int) -> SmallCNN:
    """Make the network for images of a shape, (channels, height, width)."""
    return _make(shape, n_classes, nn.Linear)


def small_cosine_cnn(shape: tuple[int, ...], n_classes: int) -> SmallCNN:
    """Make the network with the last layer that the LDAM loss wants."""
    return _make(shape, n_classes, CosineLinear)


def _make(shape: tuple[int, ...], n_classes: int, head: Head) -> SmallCNN:
    network = SmallCNN(shape[0], head(_CHANNELS[-1], n_classes))
    # pixel by pixel in memory, as the images are, convolutions on a CPU take half the time
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]
