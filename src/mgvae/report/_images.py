"""Images in a report: as main components for distances, and as PNG to look at."""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.errors import ParameterError
from mgvae.report._data import Tables, read_labels

__all__ = ["open_images", "png"]

_COMPONENTS = 50


def open_images(real: NDArray[Any], synthetic: NDArray[Any], target: Any) -> Tables:
    """Bring two arrays of images to one form."""
    from sklearn.decomposition import PCA

    from mgvae.codec.images import ImageCodec
    from mgvae.images._grid import to_bytes

    if not isinstance(target, tuple):
        raise ParameterError(
            "target: images have no columns; give the classes of the real and of the synthetic "
            f"images as a pair; got {target!r:.60}."
        )
    codec = ImageCodec().fit(real)
    old, new = (to_bytes(images, codec) for images in (real, synthetic))
    rows, rows_new = (part.reshape(len(part), -1) for part in (old, new))
    components = PCA(min(_COMPONENTS, *rows.shape), svd_solver="randomized", random_state=0)
    encoded = components.fit_transform(rows / 255.0)
    both = np.concatenate([rows, rows_new])
    keys = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    return Tables(
        columns=[],
        kinds=[],
        encoded=encoded,
        encoded_new=components.transform(rows_new / 255.0),
        keys=keys[: len(rows)],
        keys_new=keys[len(rows) :],
        labels=read_labels(target[0], len(rows), 0),
        labels_new=read_labels(target[1], len(rows_new), 1),
        target="target",
        pictures=old,
        pictures_new=new,
    )


def png(picture: NDArray[np.uint8]) -> str:
    """Give an image (height, width, channels) as a data address.

    Examples
    --------
    >>> png(np.zeros((8, 8, 1), np.uint8))[:22]
    'data:image/png;base64,'
    """
    picture = picture[..., :3] if picture.shape[2] >= 3 else picture[..., :1]
    height, width, channels = picture.shape
    lines = b"".join(b"\0" + line.tobytes() for line in picture)  # 0: each line as it is
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()
