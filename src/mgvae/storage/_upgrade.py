"""Files of earlier versions, as this version writes them.

Up to version 2 a file held the parameters of the constructor of its time, and what each ``"auto"``
among them stood for. Since version 3 it holds the parameters and, complete, the settings of the
method. What is a setting but no longer a parameter comes back as an expert setting, so that another
fit does what it did.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mgvae.errors import ModelFileError

__all__ = ["Named", "move_parameters", "upgrade"]


class Named(NamedTuple):
    """What a file says about a sampler: parameters, expert settings, the method's settings."""

    parameters: dict[str, Any]
    expert: dict[str, Any]
    method: dict[str, Any]


_DEFAULTS: dict[str, dict[str, Any]] = {
    "MGVAE": {
        "prior": "majority", "n_exemplars": "auto", "n_remembered": "auto", "leave_one_out": True,
        "posterior_variance": "head", "likelihood": "auto", "scaling": "quantile",
        "network": "auto", "network_width": 0.25, "precision": "float32", "hidden_sizes": "auto",
        "latent_size": "auto", "batch_size": "auto", "pretrain_steps": "auto",
        "finetune_steps": "auto", "pretrain_learning_rate": "auto",
        "finetune_learning_rate": "auto", "schedule": "cosine", "clip_norm": None,
        "ewc_weight": "auto", "fisher_samples": 60, "early_stopping": False,
        "validation_fraction": 0.2, "patience": 5, "generation": "auto", "temperature": "auto",
        "decoder_output": "auto", "rejection": 0.0,
    },
    "CVAE": {
        "network": "auto", "network_width": 0.25, "precision": "float32", "hidden_sizes": "auto",
        "latent_size": "auto", "batch_size": "auto", "steps": "auto", "learning_rate": "auto",
        "schedule": "cosine", "clip_norm": None, "temperature": 1.0, "decoder_output": "auto",
    },
    "CGAN": {
        "network": "auto", "network_width": 0.25, "hidden_sizes": (300, 300), "noise_size": 100,
        "batch_size": 128, "steps": 1500, "learning_rate": 2e-4, "schedule": "constant",
        "clip_norm": None, "on_collapse": "raise",
    },
}  # fmt: skip
"""The settings that files up to version 2 knew, with the defaults of that time."""

_UNSAID = {1: {"MGVAE": {"generation": "translate"}}}
"""What files of version 1 did without saying so."""

_NO_PARAMETERS: dict[str, dict[str, Any]] = {
    "MGVAE": {"precision": "float32", "network_width": 0.25}
}
"""Settings that were parameters of a constructor in some files of every version, with defaults."""

_EXPERT = (
    "prior", "posterior_variance", "leave_one_out", "n_remembered", "schedule", "clip_norm",
    "fisher_samples", "patience", "decoder_output", "scaling",
)  # fmt: skip
_RATES = ("pretrain_learning_rate", "finetune_learning_rate")
_CHANNELS = {"first": "channels_first", "last": "channels_last"}


def upgrade(
    version: int, name: str, settings: Mapping[str, Any], resolved: Mapping[str, Any]
) -> Named:
    """Read the settings of a file of version 1 or 2.

    Parameters
    ----------
    version : int
        The file's.
    name : str
        The sampler's class.
    settings, resolved : mapping
        The constructor's parameters, and what each ``"auto"`` among them stood for.
    """
    given = {**_UNSAID.get(version, {}).get(name, {}), **settings}
    for setting in resolved:
        if given.get(setting, "auto") != "auto":
            raise ModelFileError(f"the setting {setting} is given twice")
    defaults = _DEFAULTS[name]
    known = {k: v for k, v in given.items() if k in defaults}
    complete = {**defaults, **known, **resolved}
    parameters = {k: v for k, v in given.items() if k not in ("channels", "likelihood", *_RATES)}
    if given.get("sample_shape") is None and given.get("channels") is not None:
        parameters["sample_shape"] = _CHANNELS[given["channels"]]
    if name != "MGVAE":
        if "likelihood" in given:
            parameters["likelihood"] = given["likelihood"]
        if "learning_rate" in given:
            parameters["learning_rate"] = given["learning_rate"]
        return Named(parameters, {}, {k: v for k, v in complete.items() if k != "likelihood"})
    expert = {k: given[k] for k in _EXPERT if k in given and given[k] != defaults[k]}
    likelihood = given.get("likelihood", "auto")
    if likelihood != "auto":
        expert |= {"table_likelihood": likelihood, "image_likelihood": likelihood}
    for dropped in (*_EXPERT, "validation_fraction"):
        parameters.pop(dropped, None)
    if given.get("early_stopping"):
        parameters["early_stopping"] = float(given.get("validation_fraction", 0.2))
    rates = [given.get(rate, "auto") for rate in _RATES]
    if rates != ["auto", "auto"]:
        parameters["learning_rate"] = tuple(complete[rate] for rate in _RATES)
    method = {k: v for k, v in complete.items() if k not in ("likelihood", "scaling")}
    method["ewc_candidates"] = (0.0, 1.0, 100.0)  # for learning only
    return Named(parameters, expert, method)


def move_parameters(name: str, named: Named) -> Named:
    """Make an expert setting of what is no longer a parameter, unless it has its default.

    Examples
    --------
    >>> move_parameters("MGVAE", Named({"precision": "bfloat16"}, {}, {})).expert
    {'precision': 'bfloat16'}
    """
    parameters, expert = dict(named.parameters), dict(named.expert)
    for setting, default in _NO_PARAMETERS.get(name, {}).items():
        value = parameters.pop(setting, default)
        if value not in (default, "auto"):
            expert[setting] = value
    return Named(parameters, expert, named.method)
