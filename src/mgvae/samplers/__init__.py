"""The over-samplers, and the way that their data go."""

from mgvae.samplers._base import Draw, GenerativeSampler
from mgvae.samplers._cgan import CGAN
from mgvae.samplers._cvae import CVAE
from mgvae.samplers._making import Part, check_size
from mgvae.samplers._mgvae import MGVAE
from mgvae.samplers._recipes import RECIPES
from mgvae.samplers._resolved import resolved_settings
from mgvae.samplers._target import (
    check_labels,
    count_missing,
    read_target,
    refuse_long_labels,
    refuse_missing,
)
from mgvae.samplers._way import Given, Seen, learn, look, make, rows_to_make

__all__ = [
    "CGAN",
    "CVAE",
    "MGVAE",
    "RECIPES",
    "Draw",
    "GenerativeSampler",
    "Given",
    "Part",
    "Seen",
    "check_labels",
    "check_size",
    "count_missing",
    "learn",
    "look",
    "make",
    "read_target",
    "refuse_long_labels",
    "refuse_missing",
    "resolved_settings",
    "rows_to_make",
]
