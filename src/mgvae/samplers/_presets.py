"""Named sets of parameters."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["PRESETS"]

_PUBLISHED: dict[str, Any] = {
    "prior": "majority",
    "leave_one_out": False,
    "posterior_variance": "shared",
    "likelihood": "squared_error",
    "hidden_sizes": (300, 300),
    "latent_size": 10,
    "batch_size": 100,
    "pretrain_steps": "200 epochs",
    "finetune_steps": "200 epochs",
    "pretrain_learning_rate": 5e-3,
    "finetune_learning_rate": 5e-3,
    "schedule": "constant",
    "clip_norm": None,
    "fisher_samples": 100,
    "temperature": 1.0,
    "decoder_output": "mean",
}

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "paper-images": {
            **_PUBLISHED, "scaling": "minmax", "n_exemplars": 10_000, "ewc_weight": 5e4,
        },
        "paper-tables": {
            **_PUBLISHED, "scaling": "symmetric", "n_exemplars": 2_000, "ewc_weight": 500.0,
        },
    }
)  # fmt: skip
"""Settings by name, as keyword arguments of :class:`mgvae.MGVAE`."""
