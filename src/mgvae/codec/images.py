"""Images <-> the rows that a network sees.

A row holds an image's values between 0 and 1, all of the first channel, then all of the second.
Bytes stay bytes: rows of uint8 images are uint8, a quarter of the memory, and become numbers
between 0 and 1 only when a batch is taken. Decoding restores shape, order of the channels, type and
range.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mgvae.codec._spans import LikelihoodName, Span
from mgvae.codec._storage import Fields
from mgvae.errors import DataError, ParameterError

__all__ = ["Channels", "ImageCodec", "are_images"]

Channels = Literal["first", "last"]

_SIDES = (8, 128)
_CHANNELS = (1, 3, 4)  # grey, colour, colour with transparency
_FULL_SCALES = (1.0, 15.0, 16.0, 31.0, 63.0, 127.0, 255.0)
_LIKELIHOODS = ("bernoulli", "squared_error", "gaussian")
_MOST_CHANNELS = 64  # in a stored codec
_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248])")
_VERSION = 1


def are_images(X: object, sample_shape: Sequence[int] | None = None) -> bool:
    """Return whether data are images: samples of two or more axes, or declared so.

    Examples
    --------
    >>> import numpy as np
    >>> are_images(np.zeros((5, 64))), are_images(np.zeros((5, 8, 8)))
    (False, True)
    """
    if sample_shape is not None:
        return True
    if isinstance(X, list | tuple):
        try:
            return len(X) > 0 and np.ndim(X[0]) >= 2
        except ValueError:  # cells of several lengths, which no image has
            return False
    return getattr(X, "ndim", 2) >= 3


class ImageCodec:
    """Encode and decode images.

    Arrays of the shape (N, H, W), (N, H, W, C) or (N, C, H, W) are accepted, and with
    ``sample_shape`` rows (N, H * W * C). The sides are 8 to 128 pixels. Values are uint8; other
    integers from 0 to 255; booleans; or floats. The range of floats is found when fitting: 0 to 1,
    -1 to 1 (if any is negative), or 0 to the next full scale of 15, 16, 31, 63, 127 or 255.

    Parameters
    ----------
    sample_shape : sequence of int, optional
        Shape of one image, (H, W), (H, W, C) or (C, H, W), for data with one row per image.
    channels : {"first", "last"}, optional
        Where the channels are. Needed only when the shape does not say: when both ends, or neither,
        have the length 1, 3 or 4.
    likelihood : {"bernoulli", "squared_error", "gaussian"}
        How an image is scored.

    Attributes
    ----------
    shape : (int, int, int)
        Channels, height and width.
    spans : tuple of Span
        What a row means: one image.
    width : int
        Length of a row.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(2 * 8 * 8 * 3, dtype=np.uint8).reshape(2, 8, 8, 3)
    >>> codec = ImageCodec().fit(X)
    >>> codec.shape, codec.encode(X).shape
    ((3, 8, 8), (2, 192))
    >>> bool((codec.decode(codec.encode(X)) == X).all())
    True
    """

    def __init__(
        self,
        sample_shape: Sequence[int] | None = None,
        channels: Channels | None = None,
        likelihood: LikelihoodName = "bernoulli",
    ) -> None:
        if channels not in (None, "first", "last"):
            raise ParameterError(f'channels must be "first", "last" or None; got {channels!r}.')
        if likelihood not in _LIKELIHOODS:
            raise ParameterError(
                f"likelihood must be one of {', '.join(_LIKELIHOODS)} for images; "
                f"got {likelihood!r}."
            )
        self.sample_shape = _read_shape(sample_shape)
        self.channels = channels
        self.likelihood = likelihood
        self.dtype = np.dtype(np.uint8)
        self.low, self.high = 0.0, 255.0
        self.shape = (0, 0, 0)
        self.layout: Channels | None = None
        self.flat = False

    def read(self, X: Any) -> NDArray[Any]:
        """Return X as an array of images (N, H, W), (N, H, W, C) or (N, C, H, W).

        Raises
        ------
        mgvae.errors.DataError
            If X has another number of axes, no numbers, or rows of another length.
        """
        if hasattr(X, "columns"):
            raise DataError("images must be an array; a table becomes one with X.to_numpy().")
        try:
            images: NDArray[Any] = np.asarray(X)
        except ValueError as error:
            raise DataError(
                "the images must all have one size and number of channels. Resize them first."
            ) from error
        if images.dtype.kind not in "buif":
            raise DataError(f"images must hold numbers; these are of the type {images.dtype}.")
        if self.sample_shape is not None and images.shape[1:] != self.sample_shape:
            if images.ndim != 2 or images.shape[1] != math.prod(self.sample_shape):
                raise DataError(
                    f"X has the shape {images.shape}, which does not hold images of "
                    f"sample_shape={self.sample_shape}: rows of {math.prod(self.sample_shape)} "
                    "values are needed."
                )
            images = images.reshape(len(images), *self.sample_shape)
        if images.ndim not in (3, 4):
            raise DataError(
                f"images must have the shape (N, H, W), (N, H, W, C) or (N, C, H, W); got "
                f"{images.shape}. For one row per image set sample_shape."
            )
        return images

    def fit(self, X: Any) -> Self:
        """Learn shape, type and range."""
        images = self.read(X)
        self.flat = np.ndim(X) == 2
        if not len(images):
            raise DataError("X holds no image.")
        self.layout = _find_layout(images.shape, self.channels)
        height, width = _sides(images.shape, self.layout)
        if not all(_SIDES[0] <= side <= _SIDES[1] for side in (height, width)):
            raise DataError(
                f"images of {height} × {width} pixels cannot be used: the sides must be "
                f"{_SIDES[0]} to {_SIDES[1]} pixels. Resize them first."
            )
        n_channels = 1 if self.layout is None else images.shape[1 if self.layout == "first" else 3]
        self.shape = (n_channels, height, width)
        self.dtype = images.dtype
        self.low, self.high = _find_range(images)
        return self

    @property
    def width(self) -> int:
        """Length of a row."""
        return math.prod(self.shape)

    @property
    def spans(self) -> tuple[Span, ...]:
        """What a row means: one image."""
        return (Span("image", self.width, "sigmoid", self.likelihood),)

    def encode(self, X: Any) -> NDArray[Any]:
        """Encode images as rows (n, width), uint8 if they are, else float32 between 0 and 1."""
        images = self.read(X)
        self._check(images)
        if self.layout == "last":
            images = np.moveaxis(images, -1, 1)
        rows = np.ascontiguousarray(images).reshape(len(images), self.width)
        if self.dtype == np.uint8:
            return rows
        scaled: NDArray[np.float32] = rows.astype(np.float32)
        scaled -= self.low
        scaled /= self.high - self.low
        return scaled

    def pack(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """Convert a network's rows to the type of :meth:`encode`, which takes no more memory."""
        if self.dtype != np.uint8 or encoded.dtype == np.uint8:
            return encoded
        rounded: NDArray[np.uint8] = (np.clip(encoded, 0.0, 1.0) * 255.0).round().astype(np.uint8)
        return rounded

    def decode(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """Decode rows to images of the kind that was fitted, or to rows if these were given."""
        if encoded.ndim != 2 or encoded.shape[1] != self.width:
            raise DataError(
                f"encoded has shape {encoded.shape}, but the codec's rows have {self.width} values."
            )
        encoded = self.pack(encoded)
        if encoded.dtype != np.uint8:
            encoded = self._restore(encoded)
        images = encoded.reshape(len(encoded), *self.shape)
        if self.layout is None:
            images = images[:, 0]
        elif self.layout == "last":
            images = np.ascontiguousarray(np.moveaxis(images, 1, -1))
        return images.reshape(len(images), self.width) if self.flat else images

    def _restore(self, encoded: NDArray[Any]) -> NDArray[Any]:
        if np.isnan(encoded).any():
            raise DataError("encoded holds NaN, which no pixel can be decoded from.")
        values: NDArray[Any] = np.clip(encoded, 0.0, 1.0) * (self.high - self.low) + self.low
        if self.dtype.kind == "b":
            return values >= 0.5
        if self.dtype.kind in "ui":
            values = values.round()
        return values.astype(self.dtype)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted codec as plain data that JSON can hold."""
        return {
            "version": _VERSION,
            "shape": list(self.shape),
            "sample_shape": None if self.sample_shape is None else list(self.sample_shape),
            "channels": self.layout,
            "flat": self.flat,
            "dtype": self.dtype.str,
            "low": self.low,
            "high": self.high,
            "likelihood": self.likelihood,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore a codec that encodes and decodes like the one stored in the data.

        Examples
        --------
        >>> import numpy as np
        >>> codec = ImageCodec().fit(np.zeros((1, 8, 9), np.uint8))
        >>> ImageCodec.from_dict(codec.to_dict()).spans == codec.spans
        True
        """
        given = Fields(data, "the image codec")
        if given.take("version", int) != _VERSION:
            given.refuse("version", data["version"])
        codec = cls(
            given.take("sample_shape", list, type(None)), None, given.take("likelihood", str)
        )
        layout, shape = given.take("channels", str, type(None)), given.numbers("shape", int)
        dtype = given.take("dtype", str)
        if layout not in (None, "first", "last"):
            given.refuse("channels", layout)
        if len(shape) != 3 or not all(_SIDES[0] <= side <= _SIDES[1] for side in shape[1:]):
            given.refuse("shape", shape)
        if not 1 <= shape[0] <= (1 if layout is None else _MOST_CHANNELS):
            given.refuse("shape", shape)
        if not _DTYPE.fullmatch(dtype):
            given.refuse("dtype", dtype)
        codec.channels = codec.layout = layout
        codec.flat = given.take("flat", bool)
        codec.shape = (shape[0], shape[1], shape[2])
        codec.dtype = np.dtype(dtype)
        codec.low, codec.high = given.take("low", float), given.take("high", float)
        if not codec.low < codec.high <= _FULL_SCALES[-1]:
            given.refuse("high", codec.high)
        given.finish()
        return codec

    def _check(self, images: NDArray[Any]) -> None:
        """Raise if images are not of the kind that was fitted."""
        c, h, w = self.shape
        wanted = {None: (h, w), "first": (c, h, w), "last": (h, w, c)}[self.layout]
        if images.shape[1:] != wanted:
            raise DataError(
                f"the images have the shape {images.shape[1:]}, but those learned from have "
                f"{wanted}."
            )
        if images.dtype != self.dtype and (images.dtype.kind, self.dtype.kind) != ("f", "f"):
            raise DataError(
                f"the images are of the type {images.dtype}, but those learned from are "
                f"{self.dtype}. Convert them, range included."
            )
        if self.dtype == np.uint8 or not images.size:
            return
        low, high = float(images.min()), float(images.max())
        if not (self.low <= low and high <= self.high):  # also when one is NaN
            raise DataError(
                f"the images' values go from {low:g} to {high:g}, but those learned from lie in "
                f"{self.low:g} to {self.high:g}. Scale them alike."
            )


def _read_shape(sample_shape: Sequence[int] | None) -> tuple[int, ...] | None:
    if sample_shape is None:
        return None
    sizes = tuple(sample_shape)
    whole = all(isinstance(size, int | np.integer) and size > 0 for size in sizes)
    if len(sizes) not in (2, 3) or not whole:
        raise ParameterError(
            "sample_shape must be (H, W), (H, W, C) or (C, H, W) in whole numbers; "
            f"got {sample_shape!r}."
        )
    return tuple(int(size) for size in sizes)


def _find_layout(shape: tuple[int, ...], channels: Channels | None) -> Channels | None:
    if len(shape) == 3:
        return None
    if channels is not None:
        return channels
    first, last = shape[1] in _CHANNELS, shape[3] in _CHANNELS
    if first == last:
        raise DataError(
            f"images of the shape {shape[1:]} may have their channels first or last. Say so with "
            'sample_shape="channels_first" or "channels_last".'
        )
    return "first" if first else "last"


def _sides(shape: tuple[int, ...], layout: Channels | None) -> tuple[int, int]:
    return (shape[2], shape[3]) if layout == "first" else (shape[1], shape[2])


def _find_range(images: NDArray[Any]) -> tuple[float, float]:
    if images.dtype == np.uint8:
        return 0.0, 255.0
    low, high = float(images.min()), float(images.max())
    if not math.isfinite(low + high):
        raise DataError("the images hold NaN or infinite values. Replace them first.")
    if images.dtype.kind == "f" and -1.0 <= low < 0.0 and high <= 1.0:
        return -1.0, 1.0
    if low < 0.0 or high > _FULL_SCALES[-1]:
        raise DataError(
            f"the images' values go from {low:g} to {high:g}; they must lie in 0 to 1, -1 to 1 or "
            "0 to 255. Scale them first."
        )
    return 0.0, next(scale for scale in _FULL_SCALES if high <= scale)
