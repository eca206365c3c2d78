"""A fitted sampler -> a model file."""

import datetime as dt
import io
import os
import platform
import warnings
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from mgvae.codec import TableCodec, plain
from mgvae.common.atomic import atomic_write, check_writable
from mgvae.common.tensor_file import ModelFile, read_stream, to_bytes
from mgvae.common.version import __version__
from mgvae.errors import (
    CodecWarning,
    DisclosureWarning,
    ModelFileError,
    ParameterError,
    Setting,
)
from mgvae.methods.settings import as_plain
from mgvae.storage._plain import hoist, store_settings
from mgvae.storage._read import SCHEMA_VERSION, Sampler, revive
from mgvae.storage._state import FittedState
from mgvae.storage._templates import describe_template, same_template

__all__ = ["pack", "revealed", "save_sampler"]


def save_sampler(
    sampler: Sampler, path: str | os.PathLike[str], without_rows: bool | None = None
) -> None:
    """Write a fitted sampler; what is written is known to load again."""
    check_is_fitted(sampler, "classes_")
    if not isinstance(without_rows, bool | None):
        raise ParameterError(f"without_rows must be True, False or None; got {without_rows!r:.60}.")
    check_writable(path)
    if sampler.state_.predicates:
        words = " holds functions, which a model file cannot hold: rows that are made with the file"
        warnings.warn(
            CodecWarning(Setting("constraints"), f"{words} will not be checked by them."),
            stacklevel=3,
        )
    if without_rows is None:
        _warn_of_rows(sampler.state_, path)
    content = to_bytes(pack(sampler, without_rows=bool(without_rows)))
    try:
        file = read_stream(io.BytesIO(content), len(content))
        again = revive(file, {type(sampler).__name__: type(sampler)}).sampler
    except ModelFileError as error:
        raise ParameterError(f"this sampler cannot be saved: {error}.") from error
    if not same_template(sampler.state_.template, again.state_.template):
        raise ParameterError(
            "this sampler cannot be saved: its table has column names or types that a model file "
            "cannot hold. Give the columns text for names and plain types."
        )
    with atomic_write(path) as target:
        target.write(content)


def _warn_of_rows(state: FittedState, path: str | os.PathLike[str]) -> None:
    """Say whose rows can be worked out from the file, if any can."""
    whose = revealed(state)
    if whose:
        warnings.warn(
            DisclosureWarning(
                f"the rows of class {', '.join(whose):.200} can be worked out from "
                f"{os.fspath(path)}: new rows start from them. To share the model, save it with ",
                Setting("without_rows", True),
                ".",
            ),
            stacklevel=4,
        )


def revealed(state: FittedState) -> list[str]:
    """Return the names of the classes whose rows can be worked out from a file of this state.

    Parameters
    ----------
    state : FittedState
        A fitted sampler's.
    """
    codes = {
        code if side == "class" else state.layout.majority
        for code, generator in state.generators.items()
        for side in generator.reveals
    }
    return [state.layout.names[code] for code in sorted(codes)]


def pack(sampler: Sampler, *, without_rows: bool = False) -> ModelFile:
    """Return a fitted sampler as tensors and plain data."""
    state = sampler.state_
    tensors: dict[str, Tensor] = {}
    models: list[nn.Module] = []
    generators = []
    codec = hoist(state.samples.codec.to_dict(), tensors)
    for code, generator in state.generators.items():
        kept = generator.without_rows() if without_rows else generator
        model, besides = kept.stored()
        if model is not None and not any(model is known for known in models):
            models.append(model)
        place = next((i for i, known in enumerate(models) if known is model), None)
        generators.append({"class": code, "model": place})
        tensors |= {f"class.{code}.{name}": tensor for name, tensor in besides.items()}
    for i, model in enumerate(models):
        tensors |= {f"model.{i}.{name}": tensor for name, tensor in model.state_dict().items()}
    table = isinstance(state.samples.codec, TableCodec)
    metadata = {
        "schema_version": SCHEMA_VERSION,
        "class": type(sampler).__name__,
        "versions": _versions(),
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "settings": store_settings(sampler.get_params(deep=False)),
        "expert": store_settings(getattr(sampler, "expert_settings", {})),
        "method": store_settings(as_plain(state.method.settings)),
        "codec": codec,
        "container": describe_template(state.template) if table else {"kind": "images"},
        "classes": _classes(state),
        "generators": generators,
        "random": _random(state),
    }
    if state.ewc_weights:
        metadata["ewc_weights"] = {k: float(w) for k, w in state.ewc_weights.items()}
    if state.spellings:
        metadata["spellings"] = {name: dict(how) for name, how in state.spellings.items()}
    return ModelFile(metadata, tensors)


def _versions() -> dict[str, str]:
    return {
        "mgvae": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }


def _classes(state: FittedState) -> dict[str, Any]:
    labels = state.classes
    named = {"U": "str", "S": "bytes", "O": "object"}
    return {
        "type": named.get(labels.dtype.kind, labels.dtype.name),
        "labels": plain(labels.tolist()),
        "rows": [int(n) for n in state.counts],
        "new_rows": [int(state.new_rows.get(label, 0)) for label in labels],
        "majority": state.layout.majority,
    }


def _random(state: FittedState) -> dict[str, Any]:
    later = state.later
    return {
        "entropy": plain(later.entropy),
        "spawn_key": [int(key) for key in later.spawn_key],
        "spawned": later.n_children_spawned,
        "made": state.n_later,
    }
