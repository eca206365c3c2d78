"""Fully connected networks: the paper's for tables and small grey images."""

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from mgvae.networks._bodies import Bodies

__all__ = ["Dense", "mlp", "mlp_bodies"]


class Dense(nn.Sequential):
    """Fully connected layers with ReLU between them, and perhaps after the last.

    The class tells :mod:`mgvae.model.kernels` that it may run the layers as one function.

    Attributes
    ----------
    linear : list of torch.nn.Linear
        The fully connected layers in order.
    activates_last : bool
        Whether a ReLU follows the last of them.

    Examples
    --------
    >>> Dense(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)).activates_last
    False
    """

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__(*layers)
        leaves = [layer for layer in self.modules() if not isinstance(layer, nn.Sequential)]
        self.linear = [layer for layer in leaves if isinstance(layer, nn.Linear)]
        self.activates_last = leaves[-1] is not self.linear[-1]


def mlp(sizes: Sequence[int], slope: float = 0.0) -> nn.Sequential:
    """Stack fully connected layers with (leaky) ReLU between them (not after the last).

    Parameters
    ----------
    sizes : sequence of int
        Width of the input, the hidden layers, and the output.
    slope : float
        Slope of the activation below zero; 0 is the plain ReLU.

    Examples
    --------
    >>> [type(layer).__name__ for layer in mlp([4, 3, 2])]
    ['Linear', 'ReLU', 'Linear']
    """
    layers: list[nn.Module] = []
    for wide, narrow in pairwise(sizes):
        activation = nn.LeakyReLU(slope, inplace=True) if slope else nn.ReLU(inplace=True)
        layers += [nn.Linear(wide, narrow), activation]
    return nn.Sequential(*layers[:-1])


def mlp_bodies(
    width: int, hidden_sizes: Sequence[int], latent_size: int, condition_size: int = 0
) -> Bodies:
    """Build the encoder D - h1 - h2 and the decoder z - h2 - h1 - D, with ReLU.

    .. versionadded:: 0.1

    Parameters
    ----------
    width : int
        Length D of an encoded row.
    hidden_sizes : sequence of int
        Widths h1, h2, ... as the encoder sees them.
    latent_size : int
        Length of the latent code.
    condition_size : int
        Length of a condition that is appended to the row and to the code.

    Returns
    -------
    bodies : Bodies
        Encoder and decoder, not yet filled from a seed.

    See Also
    --------
    mgvae.networks.cnn_bodies : The network for images.

    Examples
    --------
    >>> bodies = mlp_bodies(784, (300, 300), 40)
    >>> bodies.features
    300
    """
    encoder = Dense(mlp([width + condition_size, *hidden_sizes]), nn.ReLU(inplace=True))
    decoder = Dense(*mlp([latent_size + condition_size, *reversed(hidden_sizes), width]))
    return Bodies(encoder, hidden_sizes[-1], decoder)
