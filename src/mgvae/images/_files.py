"""One image file <-> an array of bytes. The only module that reads and writes image formats."""

import io
import os
import warnings
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mgvae.errors import DataError, MGVAEError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "SUFFIXES",
    "UnreadableError",
    "is_grey",
    "load_image",
    "open_image",
    "pillow",
    "png_bytes",
    "save_image",
    "upright_size",
]

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
"""How the names of image files end."""

_TINY = 8  # pixels: a shorter side has nothing to learn from
_MOST = 100_000_000  # pixels: more is an attack or an accident
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)  # EXIF's tag, and its values for a quarter turn
_GREY = ("1", "L", "LA", "La", "I", "I;16", "F")


class UnreadableError(MGVAEError, ValueError):
    """An image file that cannot be used; the message says why, without the file's name."""


def pillow() -> Any:
    """Return the module ``PIL``, an optional package, with the parts that are used here.

    Raises
    ------
    mgvae.errors.DataError
        If Pillow is not installed.
    """
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageOps
    except ImportError:
        raise DataError(
            "reading and writing images needs Pillow: pip install 'mgvae[images]'."
        ) from None
    return PIL


def open_image(file: str | os.PathLike[str] | IO[bytes]) -> "Image":
    """Open an image and read its header, but not its pixels yet.

    Raises
    ------
    UnreadableError
        If it is no image, smaller than 8 pixels or larger than 100 million pixels.
    """
    pil = pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's own about large images; see below
            image: Image = pil.Image.open(file, formats=("PNG", "JPEG", "WEBP", "BMP"))
    except (OSError, ValueError, SyntaxError, pil.Image.DecompressionBombError) as error:
        raise UnreadableError(_reason(error)) from error
    width, height = image.size
    if min(width, height) < _TINY:
        image.close()
        raise UnreadableError(f"only {width} × {height} pixels, at least 8 × 8 are needed")
    if width * height > _MOST:
        image.close()
        raise UnreadableError(f"{width} × {height} pixels are too many")
    return image


def is_grey(image: "Image") -> bool:
    """Return whether an image has no colour, according to its header."""
    return image.mode in _GREY


def upright_size(image: "Image") -> tuple[int, int]:
    """Return the height and width of an opened image, turned as its EXIF data say."""
    width, height = image.size
    turned = image.getexif().get(_ORIENTATION) in _TURNED
    return (width, height) if turned else (height, width)


def load_image(image: "Image", size: tuple[int, int], *, grey: bool) -> NDArray[np.uint8]:
    """Read an opened image's pixels, upright, resized and cropped around its centre.

    Parameters
    ----------
    image : PIL.Image.Image
        From :func:`open_image`; it is closed.
    size : (int, int)
        Height and width wanted.
    grey : bool
        Whether to return (H, W) grey values, or (H, W, 3) colours. Transparent pixels become white.

    Raises
    ------
    UnreadableError
        If the file is broken.
    """
    pil = pillow()
    height, width = size
    try:
        with image:
            longest = 2 * max(size)
            image.draft("L" if grey else "RGB", (longest, longest))  # a large JPEG, read small
            upright = pil.ImageOps.exif_transpose(image)
            if upright.mode in ("I", "I;16", "F"):
                upright = upright.point(lambda value: value / 256.0).convert("L")
            elif "A" in upright.getbands() or "transparency" in upright.info:
                upright = upright.convert("RGBA")
                paper = pil.Image.new("RGBA", upright.size, (255, 255, 255, 255))
                upright = pil.Image.alpha_composite(paper, upright)
            upright = upright.convert("L" if grey else "RGB")
            fitted = pil.ImageOps.fit(upright, (width, height), pil.Image.Resampling.BICUBIC)
            return np.asarray(fitted)
    except (OSError, ValueError, SyntaxError, EOFError, pil.Image.DecompressionBombError) as error:
        raise UnreadableError(_reason(error)) from error


def save_image(pixels: NDArray[np.uint8], file: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write bytes of shape (H, W), (H, W, 1) or (H, W, 3) as a PNG.

    Of more than three channels the first three are written, of two the first.
    """
    if pixels.ndim == 3:
        pixels = pixels[..., :3] if pixels.shape[2] >= 3 else pixels[..., 0]
    pillow().Image.fromarray(pixels).save(file, format="PNG")


def png_bytes(pixels: NDArray[np.uint8]) -> bytes:
    """Return a PNG file as bytes; see :func:`save_image`.

    Examples
    --------
    >>> png_bytes(np.zeros((8, 8, 1), np.uint8))[1:4]
    b'PNG'
    """
    file = io.BytesIO()
    save_image(pixels, file)
    return file.getvalue()


def _reason(error: BaseException) -> str:
    text = str(error)
    if "cannot identify" in text:
        return "not a PNG, JPEG, WebP or BMP image"
    return text.splitlines()[0] if text else type(error).__name__
