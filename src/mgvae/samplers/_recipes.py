"""What ``"auto"`` stands for: by the kind of data, and by the recipe.

A parameter that is ``"auto"`` takes the value of the sampler's ``recipe``, if that has one, or else
the default of the data it meets: a table, small grey images (up to 32 × 32 pixels, learned by an
MLP), or other images (learned by convolutions).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from mgvae.codec.samples import Samples
from mgvae.networks import is_small

__all__ = [
    "CGAN_RECIPES",
    "CVAE_DEFAULTS",
    "MGVAE_DEFAULTS",
    "RECIPES",
    "Defaults",
    "Family",
    "defaults_of",
    "family_of",
]

Family = Literal["table", "small image", "image"]
Defaults = Mapping[str, Mapping[str, Any]]


def family_of(samples: Samples, network: Any) -> Family:
    """Return whose defaults suit samples that a network is to learn."""
    if len(samples.shape) == 1:
        return "table"
    small = network == "mlp" or (network == "auto" and is_small(samples.shape))
    return "small image" if small else "image"


def defaults_of(family: Family, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return what ``"auto"`` stands for in :class:`mgvae.MGVAE`, for samples of a shape.

    Examples
    --------
    >>> defaults_of("small image", (1, 28, 28))["augment"]
    {'shift': 2}
    """
    defaults = dict(MGVAE_DEFAULTS[family])
    if family != "table":
        defaults["augment"] = {"shift": max(1, round(_SHIFT * min(shape[1:])))}
    return defaults


_SHIFT = 0.07  # of the shorter side: 2 of 28 pixels
_ALL: dict[str, Any] = {
    "prior": "majority",
    "posterior_variance": "head",
    "leave_one_out": True,
    "schedule": "cosine",
    "clip_norm": None,
    "network_width": 0.25,
    "precision": "float32",
    "rejection": 0.0,
    "fisher_samples": 60,
    "validation_fraction": 0.2,
    "patience": 5,
    "table_likelihood": "gaussian",
    "image_likelihood": "bernoulli",
    "scaling": "quantile",
    "relations": "auto",
    "augment": None,
    "moved": "all",
}

MGVAE_DEFAULTS: Defaults = MappingProxyType(
    {
        "table": {
            **_ALL,
            "ewc_candidates": (0.0, 1.0, 100.0),
            "generation": "bridge",
            "decoder_output": "sample",
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
            **_ALL,
            "ewc_candidates": (0.0, 0.1, 10.0),
            "generation": "translate",
            "decoder_output": "mean",
            "n_exemplars": 128,
            "n_remembered": 2000,
            "hidden_sizes": (300, 300),
            "latent_size": 40,
            "batch_size": 128,
            "pretrain_steps": "100 epochs, at most 8000 steps",
            "finetune_steps": 600,
            "pretrain_learning_rate": 1e-3,
            "finetune_learning_rate": 3e-3,
            "temperature": 1.5,
        },
        "image": {
            **_ALL,
            "ewc_candidates": (0.1,),
            "generation": "translate",
            "decoder_output": "mean",
            "n_exemplars": 64,
            "n_remembered": 2000,
            "hidden_sizes": (300, 300),
            "latent_size": 40,
            "batch_size": 64,
            "pretrain_steps": "60 epochs, at most 3000 steps",
            "finetune_steps": 300,
            "pretrain_learning_rate": 1e-3,
            "finetune_learning_rate": 3e-3,
            "temperature": 1.0,
        },
    }
)
"""What ``"auto"`` stands for in :class:`mgvae.MGVAE`, by kind of data."""

CVAE_DEFAULTS: Defaults = MappingProxyType(
    {
        "table": {
            "decoder_output": "sample",
            "hidden_sizes": (128, 128),
            "latent_size": 10,
            "batch_size": 128,
            "steps": 700,
            "learning_rate": 2e-3,
        },
        "small image": {
            "decoder_output": "mean",
            "hidden_sizes": (300, 300),
            "latent_size": 40,
            "batch_size": 128,
            "steps": 8000,
            "learning_rate": 1e-3,
        },
        "image": {
            "decoder_output": "mean",
            "hidden_sizes": (300, 300),
            "latent_size": 40,
            "batch_size": 64,
            "steps": 4000,
            "learning_rate": 1e-3,
        },
    }
)
"""The same for :class:`mgvae.CVAE`."""

CGAN_RECIPES: Defaults = MappingProxyType(
    {
        "default": {
            "balanced": True,
            "gradient_penalty": 0.3,
            "batch_norm": False,
            "steps": 1500,
            "learning_rate": 1e-3,
            "schedule": "cosine",
        },
        "paper": {
            "balanced": False,
            "gradient_penalty": 0.0,
            "batch_norm": True,
            "steps": 1500,
            "learning_rate": 2e-4,
            "schedule": "constant",
        },
    }
)
"""What ``"auto"`` stands for in :class:`mgvae.CGAN`, by its recipe."""

_PUBLISHED: dict[str, Any] = {
    "posterior_variance": "shared",
    "leave_one_out": False,
    "n_remembered": 0,
    "table_likelihood": "squared_error",
    "image_likelihood": "squared_error",
    "scaling": "symmetric",
    "relations": None,
    "hidden_sizes": (300, 300),
    "latent_size": 10,
    "batch_size": 100,
    "pretrain_steps": "200 epochs",
    "finetune_steps": "200 epochs",
    "pretrain_learning_rate": 5e-3,
    "finetune_learning_rate": 5e-3,
    "schedule": "constant",
    "fisher_samples": 100,
    "generation": "translate",
    "temperature": 1.0,
    "decoder_output": "mean",
    "augment": None,
}

RECIPES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "default": {},
        "paper-images": {
            **_PUBLISHED, "scaling": "minmax", "n_exemplars": 10_000, "ewc_weight": 5e4,
        },
        "paper-faces": {
            **_PUBLISHED, "network_width": 1.0, "latent_size": 40, "n_exemplars": 2_000,
            "pretrain_steps": "400 epochs", "finetune_steps": "100 epochs",
            "pretrain_learning_rate": 5e-4, "finetune_learning_rate": 5e-4,
            "ewc_weight": 50.0, "fisher_samples": 30,
        },
        "paper-tables": {**_PUBLISHED, "n_exemplars": 2_000, "ewc_weight": 500.0},
    }
)  # fmt: skip
"""What ``recipe`` may be: our own defaults, and the settings that were published."""
