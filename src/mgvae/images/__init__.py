"""Images in files: one, folders of them, and grids of translations. Needs Pillow."""

from mgvae.images._files import UnreadableError, load_image, open_image, pillow, png_bytes
from mgvae.images._folder import (
    MOST_NATIVE,
    FolderImages,
    check_new_folder,
    read_folder,
    write_folder,
)
from mgvae.images._grid import grid, image_bytes

__all__ = [
    "MOST_NATIVE",
    "FolderImages",
    "UnreadableError",
    "check_new_folder",
    "grid",
    "image_bytes",
    "load_image",
    "open_image",
    "pillow",
    "png_bytes",
    "read_folder",
    "write_folder",
]
