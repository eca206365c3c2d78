"""Pictures in files: folders, CelebA, and grids of translations. Needs Pillow."""

from mgvae.images._celeba import HAIR, PAPER_COUNTS, CelebaImages, load_celeba
from mgvae.images._folder import FolderImages, read_folder, write_folder
from mgvae.images._grid import grid

__all__ = [
    "HAIR",
    "PAPER_COUNTS",
    "CelebaImages",
    "FolderImages",
    "grid",
    "load_celeba",
    "read_folder",
    "write_folder",
]
