"""Images in a report: as main components for distances, and as PNG to look at."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from mgvae.codec import ImageCodec
from mgvae.errors import ParameterError
from mgvae.images import image_bytes, pillow, png_bytes
from mgvae.report._data import Rows, Tables, read_labels

__all__ = ["open_images", "png"]

_COMPONENTS = 50


def open_images(parts: Sequence[tuple[str, Any, Any]]) -> Tables:
    """Read arrays of images, each with its name and its classes; the first are the real ones."""
    for _, _, labels in parts:
        if np.isscalar(labels):
            raise ParameterError(
                "target: images have no columns; give the classes of the real and of the synthetic "
                f"images as a pair; got {labels!r:.60}."
            )
    pillow()  # the examples are shown as PNG: say at once if that cannot be
    codec = ImageCodec().fit(parts[0][1])
    pixels = [image_bytes(np.asarray(images), codec) for _, images, _ in parts]
    flat = [images.reshape(len(images), -1) for images in pixels]
    components = PCA(min(_COMPONENTS, *flat[0].shape), svd_solver="randomized", random_state=0)
    components.fit(flat[0] / 255.0)
    keys = np.unique(np.concatenate(flat), axis=0, return_inverse=True)[1].reshape(-1)
    ends = np.cumsum([len(rows) for rows in flat])[:-1]
    rows = [
        Rows(
            [],
            components.transform(own / 255.0),
            key,
            read_labels(labels, len(own), ""),
            np.zeros((len(own), 0), bool),
            images,
        )
        for own, key, images, (_, _, labels) in zip(
            flat, np.split(keys, ends), pixels, parts, strict=True
        )
    ]
    return Tables(rows, [], [], "target")


def png(image: NDArray[np.uint8]) -> str:
    """Return an image (height, width, channels) as a data address.

    Examples
    --------
    >>> png(np.zeros((8, 8, 1), np.uint8))[:22]
    'data:image/png;base64,'
    """
    return "data:image/png;base64," + base64.b64encode(png_bytes(image)).decode()
