"""Fitted samplers <-> files.

A model file is one safetensors file: numbers, and a JSON text that says what they mean. Reading one
runs nothing that the file names, and believes nothing that it says before it is checked.
"""

from mgvae.storage._plain import store_settings
from mgvae.storage._read import Revived, load_sampler, read_model
from mgvae.storage._state import FittedState
from mgvae.storage._write import revealed, save_sampler

__all__ = [
    "FittedState",
    "Revived",
    "load_sampler",
    "read_model",
    "revealed",
    "save_sampler",
    "store_settings",
]
