"""Sets of parameters: the defaults of each kind of data, and the published settings by name.

A parameter that is ``"auto"`` takes the default of the data it meets: a table, small grey images
(up to 32 × 32 pixels, learned by an MLP), or other images (learned by convolutions).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = [
    "CGAN_DEFAULTS",
    "CVAE_DEFAULTS",
    "EWC_CANDIDATES",
    "MGVAE_DEFAULTS",
    "PRESETS",
    "Defaults",
]

Defaults = Mapping[str, Mapping[str, Any]]

MGVAE_DEFAULTS: Defaults = MappingProxyType(
    {
        "table": {
            "generation": "bridge",
            "decoder_output": "sample",
            "likelihood": "gaussian",
            "n_exemplars": 128,
            "n_remembered": 0,
            "hidden_sizes": (128, 128),
            "latent_size": 10,
            "batch_size": 128,
            "pretrain_steps": 500,
            "finetune_steps": 200,
            "pretrain_learning_rate": 2e-3,
            "finetune_learning_rate": 1e-3,
            "temperature": 1.0,
        },
        "small image": {
            "generation": "translate",
            "decoder_output": "mean",
            "likelihood": "bernoulli",
            "n_exemplars": 128,
            "n_remembered": 2000,
            "hidden_sizes": (300, 300),
            "latent_size": 40,
            "batch_size": 128,
            "pretrain_steps": 8000,
            "finetune_steps": 600,
            "pretrain_learning_rate": 1e-3,
            "finetune_learning_rate": 3e-3,
            "temperature": 1.5,
        },
        "image": {
            "generation": "translate",
            "decoder_output": "mean",
            "likelihood": "bernoulli",
            "n_exemplars": 64,
            "n_remembered": 2000,
            "hidden_sizes": (300, 300),
            "latent_size": 40,
            "batch_size": 64,
            "pretrain_steps": 4000,
            "finetune_steps": 400,
            "pretrain_learning_rate": 1e-3,
            "finetune_learning_rate": 3e-3,
            "temperature": 1.0,
        },
    }
)
"""What ``"auto"`` stands for in :class:`mgvae.MGVAE`, by kind of data."""

EWC_CANDIDATES: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {"table": (0.0, 1.0, 100.0), "small image": (0.0, 0.1, 10.0), "image": (0.1,)}
)
"""The weights among which ``ewc_weight="auto"`` chooses; a very small class gets the middle one."""

CVAE_DEFAULTS: Defaults = MappingProxyType(
    {
        "table": {
            "decoder_output": "sample",
            "likelihood": "gaussian",
            "hidden_sizes": (128, 128),
            "latent_size": 10,
            "batch_size": 128,
            "steps": 700,
            "learning_rate": 2e-3,
        },
        "small image": {
            "decoder_output": "mean",
            "likelihood": "bernoulli",
            "hidden_sizes": (300, 300),
            "latent_size": 40,
            "batch_size": 128,
            "steps": 8000,
            "learning_rate": 1e-3,
        },
        "image": {
            "decoder_output": "mean",
            "likelihood": "bernoulli",
            "hidden_sizes": (300, 300),
            "latent_size": 40,
            "batch_size": 64,
            "steps": 4000,
            "learning_rate": 1e-3,
        },
    }
)
"""The same for :class:`mgvae.CVAE`."""

CGAN_DEFAULTS: Defaults = MappingProxyType(
    {family: {"likelihood": "squared_error"} for family in ("table", "small image", "image")}
)
"""The same for :class:`mgvae.CGAN`, whose outputs have no likelihood: they are values."""

_PUBLISHED: dict[str, Any] = {
    "prior": "majority",
    "leave_one_out": False,
    "n_remembered": 0,
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
    "generation": "translate",
    "temperature": 1.0,
    "decoder_output": "mean",
    "rejection": 0.0,
}

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "paper-images": {
            **_PUBLISHED, "scaling": "minmax", "n_exemplars": 10_000, "ewc_weight": 5e4,
        },
        "paper-faces": {
            **_PUBLISHED, "network_width": 1.0, "latent_size": 40, "n_exemplars": 2_000,
            "pretrain_steps": "400 epochs", "finetune_steps": "100 epochs",
            "pretrain_learning_rate": 5e-4, "finetune_learning_rate": 5e-4,
            "ewc_weight": 50.0, "fisher_samples": 30,
        },
        "paper-tables": {
            **_PUBLISHED, "scaling": "symmetric", "n_exemplars": 2_000, "ewc_weight": 500.0,
        },
    }
)  # fmt: skip
"""Settings by name, as keyword arguments of :class:`mgvae.MGVAE`."""
