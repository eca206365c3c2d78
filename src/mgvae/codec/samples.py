"""The two kinds of samples, rows of a table and images, as one thing to the samplers.

All that differs between them is here: how they are read and checked, what encodes them, and how new
ones are put under a user's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from mgvae.codec._columns import join_columns, take_cells
from mgvae.codec._infer import NumericScale
from mgvae.codec._table_codec import TableCodec
from mgvae.codec.containers import append_rows, only_rows, read_table
from mgvae.codec.images import Channels, ImageCodec, are_images
from mgvae.common.rows import BLOCK
from mgvae.errors import DataError, ParameterError

__all__ = ["CodecOptions", "ImageSamples", "SampleShape", "Samples", "TableSamples", "open_samples"]

_IMAGES = 2048  # made at once
_ROWS, _NUMBERS = 2**18, 2**24  # most rows of a table made at once, and most numbers in them

SampleShape = Sequence[int] | Literal["channels_first", "channels_last"]


class CodecOptions(NamedTuple):
    """How samples are encoded, as far as a sampler decides it."""

    column_types: Mapping[Any, Any] | None
    identifiers: Literal["new", "missing"]
    sample_shape: SampleShape | None
    table_likelihood: Any
    image_likelihood: Any
    scaling: NumericScale
    constraints: Literal["auto"] | Sequence[str] | None = None


class Samples(Protocol):
    """A kind of samples, with the codec for it."""

    @property
    def codec(self) -> Any:
        """What encodes and decodes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample as a network sees it: (width,), or channels, height, width."""

    @property
    def bytes_per_row(self) -> int:
        """Memory that a new row needs, about."""

    def read(self, X: Any) -> Any:
        """Return X as the codec takes it."""

    def validate(self, sampler: Any, X: Any, *, reset: bool) -> None:
        """Set the sampler's ``n_features_in_``, or compare with it."""

    def parts(self, n: int) -> list[int]:
        """Cut ``n`` new rows into parts that are made one after the other."""

    def decode(self, encoded: NDArray[Any], rng: np.random.Generator, first: int) -> Any:
        """Return encoded rows as new samples; ``first`` of them were made before."""

    def broken(self, rows: Any) -> NDArray[np.bool_] | None:
        """Return which decoded rows break a relation between columns; None if there are none."""

    def replaced(self, rows: Any, where: NDArray[np.intp], others: Any) -> Any:
        """Return decoded rows, some of them replaced by others."""

    def concatenate(self, parts: Sequence[Any]) -> Any:
        """Put decoded parts below each other; there is at least one."""

    def append(self, X: Any, new: Any) -> Any:
        """Put new samples under X."""

    def only(self, X: Any, new: Any) -> Any:
        """Return new samples in X's container."""


@dataclass(frozen=True)
class TableSamples:
    """Rows of tables: arrays, lists and data frames."""

    codec: TableCodec

    @property
    def shape(self) -> tuple[int, ...]:
        """The width of an encoded row."""
        return (self.codec.width,)

    @property
    def bytes_per_row(self) -> int:
        """Memory that a new row needs, about."""
        return 8 * self.codec.width + 16 * len(self.codec.describe())

    def read(self, X: Any) -> Any:
        """Return X as columns."""
        return read_table(X)

    def validate(self, sampler: Any, X: Any, *, reset: bool) -> None:
        """Set or compare the number and the names of the columns."""
        validate_data(sampler, X=X, reset=reset, skip_check_array=True)

    def parts(self, n: int) -> list[int]:
        """Cut ``n`` rows into parts of bounded size."""
        return _cut(n, max(BLOCK, min(_ROWS, _NUMBERS // max(1, self.codec.width))))

    def decode(self, encoded: NDArray[Any], rng: np.random.Generator, first: int) -> Any:
        """Return encoded rows as columns."""
        return self.codec.decode(encoded, rng, first=first)

    def broken(self, rows: Any) -> NDArray[np.bool_] | None:
        """Return which rows break a relation between columns; None if there are none."""
        return self.codec.broken(rows)

    def replaced(self, rows: Any, where: NDArray[np.intp], others: Any) -> Any:
        """Return columns, some of whose cells are replaced by others; identifiers stay distinct."""
        n = len(rows[0].values)
        order = np.arange(n)
        order[where] = n + np.arange(len(where))
        kinds = [column.kind for column in self.codec.describe()]
        return [
            column if kind == "identifier" else take_cells(both, order)
            for kind, column, both in zip(kinds, rows, join_columns([rows, others]), strict=True)
        ]

    def concatenate(self, parts: Sequence[Any]) -> Any:
        """Put columns below each other."""
        return join_columns(parts)

    def append(self, X: Any, new: Any) -> Any:
        """Put new rows under the table X."""
        return append_rows(X, new)

    def only(self, X: Any, new: Any) -> Any:
        """Return new rows in X's container."""
        return only_rows(X, new)


@dataclass(frozen=True)
class ImageSamples:
    """Images: arrays with two or three axes per sample, or rows declared to be such."""

    codec: ImageCodec

    @property
    def shape(self) -> tuple[int, ...]:
        """Channels, height and width."""
        return self.codec.shape

    @property
    def bytes_per_row(self) -> int:
        """Memory that a new image needs, about."""
        return 2 * self.codec.width * self.codec.dtype.itemsize

    def read(self, X: Any) -> Any:
        """Return X as an array."""
        self.codec.read(X)
        return np.asarray(X)

    def validate(self, sampler: Any, X: Any, *, reset: bool) -> None:  # noqa: ARG002
        """Set the number of numbers in an image."""
        if reset:
            sampler.n_features_in_ = self.codec.width

    def parts(self, n: int) -> list[int]:
        """Cut ``n`` images into parts of bounded size."""
        return _cut(n, _IMAGES)

    def decode(self, encoded: NDArray[Any], rng: np.random.Generator, first: int) -> Any:  # noqa: ARG002
        """Return encoded rows as images."""
        return self.codec.decode(encoded)

    def broken(self, rows: Any) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """Return None: images have no columns."""
        return None

    def replaced(self, rows: Any, where: NDArray[np.intp], others: Any) -> Any:
        """Return images, some of them replaced by others."""
        rows[where] = others
        return rows

    def concatenate(self, parts: Sequence[Any]) -> Any:
        """Put images behind each other."""
        return np.concatenate(parts)

    def append(self, X: Any, new: Any) -> Any:
        """Put new images behind X's."""
        return np.concatenate([np.asarray(X), new])

    def only(self, X: Any, new: Any) -> Any:
        """Return new images in the shape and type of X's."""
        like = np.asarray(X)
        if like.ndim < 2:  # an empty list has no shape to follow
            return new
        return new.reshape(len(new), *like.shape[1:]).astype(like.dtype, copy=False)


def _cut(n: int, size: int) -> list[int]:
    return [min(size, n - start) for start in range(0, n, size)]


def open_samples(X: Any, options: CodecOptions) -> Samples:
    """Choose the kind of samples by X and what is said of them; the codec is not fitted yet."""
    shape, channels = _read_shape(options.sample_shape)
    if are_images(X, shape):
        if options.column_types:
            raise ParameterError("column_types is for tables; images have no columns.")
        if options.constraints not in (None, "auto", [], ()):
            raise ParameterError("constraints is for tables; images have no columns.")
        return ImageSamples(ImageCodec(shape, channels, options.image_likelihood))
    if channels is not None:
        raise DataError(
            f"sample_shape={options.sample_shape!r} is for images, but X has one row per sample. "
            "Set sample_shape=(H, W, C) or (C, H, W), or leave it out for a table."
        )
    return TableSamples(
        TableCodec(
            column_types=options.column_types,
            numeric=options.scaling,
            likelihood=options.table_likelihood,
            identifiers=options.identifiers,
            constraints=options.constraints,
        )
    )


def _read_shape(
    sample_shape: SampleShape | None,
) -> tuple[Sequence[int] | None, Channels | None]:
    """Tell the shape of an image, if it is given, and where its channels are, if that is."""
    if sample_shape is None:
        return None, None
    if isinstance(sample_shape, str):
        if sample_shape not in ("channels_first", "channels_last"):
            raise ParameterError(
                'sample_shape must be a shape such as (28, 28, 3), "channels_first" or '
                f'"channels_last"; got {sample_shape!r}.'
            )
        return None, "first" if sample_shape == "channels_first" else "last"
    return sample_shape, None
