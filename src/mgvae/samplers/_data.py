"""The two kinds of data, tables and pictures, as one thing to the samplers.

All that differs between them is here: how data are read and checked, what encodes them, how new
rows are put under a user's own, and which defaults suit them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from mgvae.codec import (
    KindName,
    NumericScale,
    TableCodec,
    append_rows,
    join_columns,
    only_rows,
    read_table,
)
from mgvae.codec.images import Channels, ImageCodec, are_images
from mgvae.common.rows import BLOCK
from mgvae.errors import DataError, ParameterError
from mgvae.networks import is_small
from mgvae.samplers._presets import Defaults

__all__ = ["Data", "Family", "HasData", "ImageData", "TableData", "open_data"]

Family = Literal["table", "small image", "image"]

_PICTURES = 2048  # made at once
_ROWS, _NUMBERS = 2**18, 2**24  # most rows of a table made at once, and most numbers in them


class HasData(Protocol):
    """A sampler with the parameters that say what its data are."""

    _defaults: Defaults
    column_types: Mapping[Any, KindName] | None
    scaling: NumericScale
    likelihood: Any
    identifiers: Literal["new", "missing"]
    sample_shape: Sequence[int] | None
    channels: Channels | None
    network: Any


class Data(Protocol):
    """A kind of data, with the codec for it."""

    @property
    def codec(self) -> Any:
        """What encodes and decodes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample as a network sees it: (width,), or channels, height, width."""

    @property
    def family(self) -> Family:
        """Whose defaults suit."""

    @property
    def bytes_per_row(self) -> int:
        """Memory that a new row needs, about."""

    def read(self, X: Any) -> Any:
        """Give X as the codec takes it."""

    def validate(self, sampler: Any, X: Any, *, reset: bool) -> None:
        """Set the sampler's ``n_features_in_``, or compare with it."""

    def parts(self, n: int) -> list[int]:
        """Cut ``n`` new rows into parts that are made one after the other."""

    def decode(self, encoded: NDArray[Any], rng: np.random.Generator, first: int) -> Any:
        """Give encoded rows as new samples; ``first`` of them were made before."""

    def join(self, parts: Sequence[Any]) -> Any:
        """Put decoded parts below each other; there is at least one."""

    def append(self, X: Any, new: Any) -> Any:
        """Put new samples under X."""

    def only(self, X: Any, new: Any) -> Any:
        """Give new samples in X's container."""


@dataclass(frozen=True)
class TableData:
    """Tables: arrays, lists and data frames."""

    codec: TableCodec

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.codec.width,)

    @property
    def family(self) -> Family:
        return "table"

    @property
    def bytes_per_row(self) -> int:
        return 8 * self.codec.width + 16 * len(self.codec.describe())

    def read(self, X: Any) -> Any:
        return read_table(X)

    def validate(self, sampler: Any, X: Any, *, reset: bool) -> None:
        validate_data(sampler, X=X, reset=reset, skip_check_array=True)

    def parts(self, n: int) -> list[int]:
        return _cut(n, max(BLOCK, min(_ROWS, _NUMBERS // max(1, self.codec.width))))

    def decode(self, encoded: NDArray[Any], rng: np.random.Generator, first: int) -> Any:
        return self.codec.decode(encoded, rng, first=first)

    def join(self, parts: Sequence[Any]) -> Any:
        return join_columns(parts)

    def append(self, X: Any, new: Any) -> Any:
        return append_rows(X, new)

    def only(self, X: Any, new: Any) -> Any:
        return only_rows(X, new)


@dataclass(frozen=True)
class ImageData:
    """Pictures: arrays with two or three axes per sample, or rows declared to be such."""

    codec: ImageCodec
    network: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codec.shape

    @property
    def family(self) -> Family:
        small = self.network == "mlp" or (self.network == "auto" and is_small(self.codec.shape))
        return "small image" if small else "image"

    @property
    def bytes_per_row(self) -> int:
        return 2 * self.codec.width * self.codec.dtype.itemsize

    def read(self, X: Any) -> Any:
        self.codec.read(X)
        return np.asarray(X)

    def validate(self, sampler: Any, X: Any, *, reset: bool) -> None:  # noqa: ARG002
        if reset:
            sampler.n_features_in_ = self.codec.width

    def parts(self, n: int) -> list[int]:
        return _cut(n, _PICTURES)

    def decode(self, encoded: NDArray[Any], rng: np.random.Generator, first: int) -> Any:  # noqa: ARG002
        return self.codec.decode(encoded)

    def join(self, parts: Sequence[Any]) -> Any:
        return np.concatenate(parts)

    def append(self, X: Any, new: Any) -> Any:
        return np.concatenate([np.asarray(X), new])

    def only(self, X: Any, new: Any) -> Any:
        like = np.asarray(X)
        if like.ndim < 2:  # an empty list has no shape to follow
            return new
        return new.reshape(len(new), *like.shape[1:]).astype(like.dtype, copy=False)


def _cut(n: int, size: int) -> list[int]:
    return [min(size, n - start) for start in range(0, n, size)]


def open_data(X: Any, sampler: HasData) -> Data:
    """Choose the kind of data by X and the sampler's parameters; the codec is not fitted yet."""
    pictures = are_images(X, sampler.sample_shape)
    likelihood = sampler.likelihood
    if likelihood == "auto":
        likelihood = sampler._defaults["image" if pictures else "table"]["likelihood"]
    if pictures:
        if sampler.column_types:
            raise ParameterError("column_types is for tables; images have no columns.")
        return ImageData(
            ImageCodec(sampler.sample_shape, sampler.channels, likelihood), sampler.network
        )
    if sampler.channels is not None:
        raise DataError(
            f"channels={sampler.channels!r} is for images, but X has one row per sample. Set "
            "sample_shape, or leave channels out for a table."
        )
    if sampler.network in ("cnn", "residual", "dcgan"):
        raise ParameterError(
            f"network={sampler.network!r} is for images. For images with one row each set "
            'sample_shape=(H, W, C); for tables use network="mlp".'
        )
    return TableData(
        TableCodec(
            column_types=sampler.column_types,
            numeric=sampler.scaling,
            likelihood=likelihood,
            identifiers=sampler.identifiers,
        )
    )
