"""What a codec tells the network about its outputs."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Activation", "LikelihoodName", "Span"]

Activation = Literal["identity", "sigmoid", "tanh", "softmax"]
LikelihoodName = Literal["squared_error", "gaussian", "bernoulli", "categorical"]


@dataclass(frozen=True, slots=True)
class Span:
    """A run of neighbouring outputs that share one meaning.

    A numeric column is a span of one output, a category with five levels a span of five, a grey
    28 × 28 image one span of 784. Spans are in the order of the encoded row and cover it exactly.

    Parameters
    ----------
    name : str
        What a person would call it: the column, or ``"image"``.
    size : int
        How many outputs it takes.
    activation : {"identity", "sigmoid", "tanh", "softmax"}
        What turns the network's raw outputs into the mean.
    likelihood : {"squared_error", "gaussian", "bernoulli", "categorical"}
        How the encoded values are scored against that mean.
    discrete : bool
        Whether the encoded values are only 0 and 1, so that new ones are drawn from their
        probabilities: categories and flags. Pixels, which may be any grey, are not.
    mask : int or None
        Position in the encoded row of the flag that is 1 where the cell was missing; there the
        span's values are placeholders and do not count.

    Examples
    --------
    >>> from mgvae.codec import Span
    >>> Span("colour", 3, "softmax", "categorical", discrete=True).size
    3
    """

    name: str
    size: int
    activation: Activation
    likelihood: LikelihoodName
    discrete: bool = False
    mask: int | None = None
