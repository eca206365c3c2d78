"""Images in files: one, folders of them, and grids of translations. Needs Pillow."""

from mgvae.images._files import UnreadableError, load_image, open_image
from mgvae.images._folder import FolderImages, read_folder, write_folder
from mgvae.images._grid import grid

__all__ = [
    "FolderImages",
    "UnreadableError",
    "grid",
    "load_image",
    "open_image",
    "read_folder",
    "write_folder",
]
