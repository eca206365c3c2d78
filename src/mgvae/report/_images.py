"""Images in a report: as main components for distances, and as PNG to look at."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from mgvae.codec import ImageCodec
from mgvae.errors import ParameterError
from mgvae.images import image_bytes, pillow, png_bytes
from mgvae.report._data import PairedRows, read_labels

__all__ = ["open_images", "png"]

_COMPONENTS = 50


def open_images(real: NDArray[Any], synthetic: NDArray[Any], target: Any) -> PairedRows:
    """Read two arrays of images."""
    if not isinstance(target, tuple):
        raise ParameterError(
            "target: images have no columns; give the classes of the real and of the synthetic "
            f"images as a pair; got {target!r:.60}."
        )
    pillow()  # the examples are shown as PNG: say at once if that cannot be
    codec = ImageCodec().fit(real)
    old, new = (image_bytes(images, codec) for images in (real, synthetic))
    rows, rows_new = (part.reshape(len(part), -1) for part in (old, new))
    components = PCA(min(_COMPONENTS, *rows.shape), svd_solver="randomized", random_state=0)
    encoded = components.fit_transform(rows / 255.0)
    both = np.concatenate([rows, rows_new])
    keys = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    return PairedRows(
        columns=[],
        kinds=[],
        encoded=encoded,
        encoded_new=components.transform(rows_new / 255.0),
        keys=keys[: len(rows)],
        keys_new=keys[len(rows) :],
        labels=read_labels(target[0], len(rows), 0),
        labels_new=read_labels(target[1], len(rows_new), 1),
        target="target",
        images=old,
        images_new=new,
    )


def png(image: NDArray[np.uint8]) -> str:
    """Return an image (height, width, channels) as a data address.

    Examples
    --------
    >>> png(np.zeros((8, 8, 1), np.uint8))[:22]
    'data:image/png;base64,'
    """
    return "data:image/png;base64," + base64.b64encode(png_bytes(image)).decode()
