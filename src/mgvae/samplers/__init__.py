"""The over-samplers."""

from mgvae.samplers._mgvae import MGVAE
from mgvae.samplers._presets import PRESETS

__all__ = ["MGVAE", "PRESETS"]
