"""The over-samplers."""

from mgvae.samplers._cgan import CGAN
from mgvae.samplers._cvae import CVAE
from mgvae.samplers._mgvae import MGVAE
from mgvae.samplers._presets import PRESETS

__all__ = ["CGAN", "CVAE", "MGVAE", "PRESETS"]
