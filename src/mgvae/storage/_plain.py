"""Settings and codecs <-> what a JSON text and tensors can hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mgvae.codec import plain, unplain
from mgvae.errors import ModelFileError, ParameterError

__all__ = ["hoist", "lower", "restore_settings", "store_settings"]

_LONG = 16  # lists of so many floats become tensors, which are smaller than text, and exact
_MOST_THREADS = 256
_OF_THE_MACHINE = ("device", "devices", "n_jobs", "checkpoint", "callback", "verbose")


def store_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON can hold them, without those of the machine or of Python.

    Examples
    --------
    >>> store_settings({"hidden_sizes": (8, 8), "column_types": {0: "integer"}, "callback": print})
    {'hidden_sizes': [8, 8], 'column_types': {'map': [[0, 'integer']]}}
    """
    if callable(parameters.get("network")):
        raise ParameterError(
            "network is a callable, and a model file cannot hold code. Use a network by name, or "
            "keep the fitted sampler in memory."
        )
    settings = {}
    for name, value in parameters.items():
        if name == "constraints" and isinstance(value, tuple | list):
            value = [one for one in value if not callable(one)]  # a file holds no code
        if isinstance(value, Mapping):
            value = {"map": [[plain(k), plain(v)] for k, v in value.items()]}
        elif isinstance(value, tuple | list | np.ndarray | np.generic):
            value = plain(value)
        elif not isinstance(value, str | bool | int | float | None):
            continue  # a generator, a function: made by Python code, which is not stored
        if name not in _OF_THE_MACHINE and not (name == "n_threads" and value not in _threads()):
            settings[name] = value
    return settings


def restore_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Undo :func:`store_settings`."""
    restored = {}
    for name, value in settings.items():
        if name in _OF_THE_MACHINE:
            raise ModelFileError(f"it has the setting {name!r:.60}, which belongs to a machine")
        if name == "n_threads" and value not in _threads():
            raise ModelFileError(f"n_threads cannot be {value!r:.60}")
        if isinstance(value, dict):
            if list(value) != ["map"] or not all(len(pair) == 2 for pair in value["map"]):
                raise ModelFileError(f"the setting {name} cannot be {value!r:.60}")
            restored[name] = {unplain(k): unplain(v) for k, v in value["map"]}
        else:
            restored[name] = unplain(value)
    return restored


def hoist(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Move long lists of floats out of plain data into tensors, and leave their names.

    Examples
    --------
    >>> tensors = {}
    >>> hoist({"values": [0.5] * 20}, tensors), list(tensors)
    ({'values': {'tensor': 'codec.0'}}, ['codec.0'])
    """
    if isinstance(value, dict):
        return {name: hoist(item, tensors) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) >= _LONG and all(type(item) is float for item in value):
        name = f"codec.{len(tensors)}"
        tensors[name] = torch.tensor(value, dtype=torch.float64)
        return {"tensor": name}
    return [hoist(item, tensors) for item in value]


def lower(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Undo :func:`hoist`; every tensor is used once."""
    if isinstance(value, dict) and list(value) == ["tensor"]:
        tensor = tensors.pop(value["tensor"])
        if tensor.ndim != 1 or tensor.dtype != torch.float64:
            raise ModelFileError(f"the tensor {value['tensor']} is not a list of numbers")
        return tensor.tolist()
    if isinstance(value, dict):
        return {name: lower(item, tensors) for name, item in value.items()}
    return [lower(item, tensors) for item in value] if isinstance(value, list) else value


def _threads() -> tuple[int | None, ...]:
    return (None, *range(1, _MOST_THREADS + 1))
