"""Grids of translations, as in the paper's figures."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec.images import ImageCodec
from mgvae.common.runtime import seed_sequence
from mgvae.errors import ParameterError
from mgvae.images._files import pillow

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["grid", "image_bytes"]

_GAP, _MARGIN, _TITLE = 2, 6, 14  # pixels
_SMALLEST = 32  # images are magnified to at least this side


def grid(
    samplers: Any,
    X_majority: Any,
    *,
    labels: Sequence[Any] | None = None,
    columns: int = 8,
    reference: bool = True,
    random_state: Any = 0,
) -> "Image":
    """Draw majority images with their translations to the right.

    Each row belongs to one image of ``X_majority``, which is in the first column. Classes are
    blocks side by side; samplers are blocks below each other.

    Parameters
    ----------
    samplers : fitted sampler, or mapping of str to fitted sampler
        What translates; a mapping names several. A sampler that cannot translate, such as a GAN,
        shows generated images instead.
    X_majority : array of images
        Majority images, one for each row of the grid.
    labels : sequence, optional
        The classes to show; by default all that the sampler generates.
    columns : int
        Translations of each image to each class.
    reference : bool
        Whether to show the majority images themselves.
    random_state : None, int, RandomState or Generator
        Decides the translations.

    Returns
    -------
    image : PIL.Image.Image
        ``image.save("grid.png")`` writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from mgvae import MGVAE
    >>> X = np.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype=np.uint8)
    >>> y = np.repeat(["many", "few"], [30, 10])
    >>> sampler = MGVAE(pretrain_steps=5, finetune_steps=5, random_state=0).fit(X, y)
    >>> grid(sampler, X[:3], columns=4).mode
    'L'
    """
    named = samplers if isinstance(samplers, Mapping) else {"": samplers}
    if not named:
        raise ParameterError("samplers is empty: give at least one fitted sampler.")
    if columns < 1:
        raise ParameterError(f"columns must be at least 1; got {columns!r}.")
    seeds = seed_sequence(random_state).spawn(len(named))
    blocks: list[list[tuple[str, NDArray[np.uint8]]]] = []
    for (name, sampler), seed in zip(named.items(), seeds, strict=True):
        given = image_bytes(X_majority, sampler.codec_)[:, None]
        row = [("", given)] if reference else []
        for label in _labels(sampler, labels):
            made = _translations(sampler, X_majority, label, columns, seed)
            row.append((f"{name}  {label}".strip(), made))
        blocks.append(row)
    return _draw(blocks)


def image_bytes(X: Any, codec: ImageCodec) -> NDArray[np.uint8]:
    """Return images as bytes of shape (N, H, W, C), whatever their range and order.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.ones((2, 8, 8), np.float32)
    >>> image_bytes(X, ImageCodec().fit(X)).shape, image_bytes(X, ImageCodec().fit(X)).max()
    ((2, 8, 8, 1), np.uint8(255))
    """
    encoded = codec.encode(X)
    if encoded.dtype != np.uint8:
        encoded = (encoded * 255.0).round().astype(np.uint8)
    return np.moveaxis(encoded.reshape(len(encoded), *codec.shape), 1, -1)


def _labels(sampler: Any, labels: Sequence[Any] | None) -> list[Any]:
    if labels is not None:
        return list(labels)
    return [label for label, n in sampler.sampling_strategy_.items() if n > 0]


def _translations(
    sampler: Any, X: Any, label: Any, columns: int, seeds: np.random.SeedSequence
) -> NDArray[np.uint8]:
    """Return translations of shape (rows, columns, H, W, C)."""
    made = []
    for child in seeds.spawn(columns):
        try:
            images = sampler.translate(X, label, random_state=child)
        except ParameterError:
            images = sampler.generate(len(X), label, random_state=child)
        made.append(image_bytes(images, sampler.codec_))
    return np.stack(made, 1)


def _draw(blocks: list[list[tuple[str, NDArray[np.uint8]]]]) -> "Image":
    pil = pillow()
    colour = any(cells.shape[-1] >= 3 for row in blocks for _, cells in row)
    mode, paper, ink = ("RGB", (255, 255, 255), (0, 0, 0)) if colour else ("L", 255, 0)
    rows = [[(title, _tile(cells)) for title, cells in row] for row in blocks]
    width = max(sum(t.shape[1] + _MARGIN for _, t in row) for row in rows) + _MARGIN
    heights = [max(t.shape[0] for _, t in row) + _TITLE + _MARGIN for row in rows]
    image: Image = pil.Image.new(mode, (width, sum(heights) + _MARGIN), paper)
    draw = pil.ImageDraw.Draw(image)
    top = _MARGIN
    for row, height in zip(rows, heights, strict=True):
        left = _MARGIN
        for title, tile in row:
            draw.text((left, top), textwrap.shorten(title, tile.shape[1] // 6 or 1), fill=ink)
            image.paste(pil.Image.fromarray(tile).convert(mode), (left, top + _TITLE))
            left += tile.shape[1] + _MARGIN
        top += height
    return image


def _tile(cells: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Arrange (rows, columns, H, W, C) as one image (H', W') or (H', W', 3)."""
    cells = cells[..., :3] if cells.shape[-1] >= 3 else cells[..., :1]
    times = -(-_SMALLEST // min(cells.shape[2:4]))
    cells = cells.repeat(times, 2).repeat(times, 3)
    cells = np.pad(cells, [(0, 0), (0, 0), (0, _GAP), (0, _GAP), (0, 0)], constant_values=255)
    n, m, h, w, c = cells.shape
    tile = cells.transpose(0, 2, 1, 3, 4).reshape(n * h, m * w, c)
    return tile[..., 0] if c == 1 else tile
