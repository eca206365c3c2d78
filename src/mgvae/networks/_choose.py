"""Networks by name."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from mgvae.errors import ParameterError
from mgvae.networks._bodies import Bodies, Reduced
from mgvae.networks._cnn import cnn_bodies
from mgvae.networks._mlp import mlp_bodies
from mgvae.networks._residual import residual_bodies

__all__ = ["Network", "Precision", "choose_bodies", "is_small"]

Network = Literal["auto", "mlp", "cnn", "residual"] | Callable[..., Bodies]

Precision = Literal["float32", "bfloat16"]

_SMALL = 32  # grey images up to this side go without convolutions


def is_small(shape: tuple[int, ...]) -> bool:
    """Return whether samples are rows of a table or small and grey, for which the paper has an MLP.

    Examples
    --------
    >>> is_small((1, 28, 28)), is_small((3, 28, 28))
    (True, False)
    """
    return len(shape) == 1 or (shape[0] == 1 and max(shape[1:]) <= _SMALL)


def choose_bodies(
    network: Network,
    shape: tuple[int, ...],
    latent_size: int,
    *,
    hidden_sizes: Sequence[int],
    width: float,
    precision: Precision = "float32",
    condition_size: int = 0,
) -> Bodies:
    """Build the network of a name.

    Parameters
    ----------
    network : {"auto", "mlp", "cnn", "residual"} or callable
        Its name. ``"auto"`` is the MLP for tables and for grey images of up to 32 × 32 pixels,
        the CNN for others. A callable is called as ``network(shape, latent_size)``, in a
        conditional model as ``network(shape, latent_size, condition_size)``, and returns
        :class:`Bodies`.
    shape : tuple of int
        (width,) of a row, or channels, height and width of an image.
    latent_size : int
        Length of the latent code.
    hidden_sizes : sequence of int
        Widths of the MLP's hidden layers.
    width : float
        Factor on the numbers of channels.
    precision : {"float32", "bfloat16"}
        Whether the bodies compute in bfloat16; weights, heads and losses are float32 anyway.
    condition_size : int
        Length of a condition that is appended to the row and to the code.

    Examples
    --------
    >>> bodies = choose_bodies("auto", (1, 28, 28), 40, hidden_sizes=(300, 300), width=1.0)
    >>> bodies.features
    300
    """
    bodies = _lay_out(network, shape, latent_size, hidden_sizes, width, condition_size)
    if precision == "float32":
        return bodies
    return Bodies(Reduced(bodies.encoder), bodies.features, Reduced(bodies.decoder))


def _lay_out(
    network: Network,
    shape: tuple[int, ...],
    latent_size: int,
    hidden_sizes: Sequence[int],
    width: float,
    condition_size: int,
) -> Bodies:
    if callable(network):
        extra = (condition_size,) if condition_size else ()
        return _check(network(shape, latent_size, *extra))
    if network == "mlp" or (network == "auto" and is_small(shape)):
        return mlp_bodies(math.prod(shape), hidden_sizes, latent_size, condition_size)
    image = (shape[0], shape[1], shape[2])
    layout = residual_bodies if network == "residual" else cnn_bodies
    return layout(image, latent_size, width, condition_size)


def _check(bodies: Any) -> Bodies:
    if not isinstance(bodies, Bodies):
        raise ParameterError(
            "a network given as a callable must give mgvae.networks.Bodies(encoder, features, "
            f"decoder); got {type(bodies).__name__}."
        )
    return bodies
