"""Images in files: folders, CelebA, and grids of translations. Needs Pillow."""

from mgvae.images._celeba import HAIR, PAPER_COUNTS, CelebaImages, load_celeba
from mgvae.images._files import pillow, png_bytes
from mgvae.images._folder import FolderImages, check_new_folder, read_folder, write_folder
from mgvae.images._grid import grid, image_bytes

__all__ = [
    "HAIR",
    "PAPER_COUNTS",
    "CelebaImages",
    "FolderImages",
    "check_new_folder",
    "grid",
    "image_bytes",
    "load_celeba",
    "pillow",
    "png_bytes",
    "read_folder",
    "write_folder",
]
