"""Settings of MGVAE that no parameter sets: they exist for published recipes and ablations."""

from typing import Any

from mgvae import MGVAE


def expert(settings: dict[str, Any], **parameters: Any) -> MGVAE:
    """Return an MGVAE with such settings."""
    sampler = MGVAE(**parameters)
    sampler.expert_settings = settings
    return sampler
