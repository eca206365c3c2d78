"""A fitted sampler -> a model file."""

import datetime as dt
import io
import os
import platform
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from mgvae import __version__
from mgvae.codec import TableCodec
from mgvae.codec._storage import plain
from mgvae.common.atomic import atomic_write, check_writable
from mgvae.common.tensor_file import ModelFile, read_stream, to_bytes
from mgvae.errors import ModelFileError, ParameterError
from mgvae.storage._plain import hoist, store_settings
from mgvae.storage._read import SCHEMA_VERSION, revive
from mgvae.storage._templates import describe_template, same_template

if TYPE_CHECKING:
    from mgvae.samplers._base import GenerativeSampler

__all__ = ["pack", "save_sampler"]


def save_sampler(sampler: "GenerativeSampler", path: str | os.PathLike[str]) -> None:
    """Write a fitted sampler; what is written is known to load again."""
    check_is_fitted(sampler, "classes_")
    check_writable(path)
    content = to_bytes(pack(sampler))
    try:
        file = read_stream(io.BytesIO(content), len(content))
        again = revive(file, {type(sampler).__name__: type(sampler)}).sampler
    except ModelFileError as error:
        raise ParameterError(f"this sampler cannot be saved: {error}.") from error
    if not same_template(sampler._template, again._template):
        raise ParameterError(
            "this sampler cannot be saved: its table has column names or types that a model file "
            "cannot hold. Give the columns text for names and plain types."
        )
    with atomic_write(path) as target:
        target.write(content)


def pack(sampler: "GenerativeSampler") -> ModelFile:
    """Return a fitted sampler as tensors and plain data."""
    tensors: dict[str, Tensor] = {}
    models: list[nn.Module] = []
    generators = []
    codec = hoist(sampler.codec_.to_dict(), tensors)
    for code, generator in sampler._generators.items():
        model, besides = generator.stored()
        if model is not None and not any(model is known for known in models):
            models.append(model)
        place = next((i for i, known in enumerate(models) if known is model), None)
        generators.append({"class": code, "model": place})
        tensors |= {f"class.{code}.{name}": tensor for name, tensor in besides.items()}
    for i, model in enumerate(models):
        tensors |= {f"model.{i}.{name}": tensor for name, tensor in model.state_dict().items()}
    table = isinstance(sampler.codec_, TableCodec)
    metadata = {
        "schema_version": SCHEMA_VERSION,
        "class": type(sampler).__name__,
        "versions": _versions(),
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "settings": store_settings(sampler.get_params(deep=False)),
        "resolved": _resolved(sampler),
        "codec": codec,
        "container": describe_template(sampler._template) if table else {"kind": "images"},
        "classes": _classes(sampler),
        "generators": generators,
        "random": _random(sampler),
    }
    return ModelFile(metadata, tensors)


def _versions() -> dict[str, str]:
    return {
        "mgvae": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }


def _resolved(sampler: "GenerativeSampler") -> dict[str, Any]:
    """Return what every ``"auto"`` stood for: the defaults of a later version may be others."""
    names = [name for name, value in sampler.get_params(deep=False).items() if _is_auto(value)]
    chosen = {name: getattr(sampler._resolved(sampler._data), name) for name in names}
    return store_settings({name: value for name, value in chosen.items() if not _is_auto(value)})


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _classes(sampler: "GenerativeSampler") -> dict[str, Any]:
    labels = sampler.classes_
    named = {"U": "str", "S": "bytes", "O": "object"}
    return {
        "type": named.get(labels.dtype.kind, labels.dtype.name),
        "labels": plain(labels.tolist()),
        "rows": [int(n) for n in sampler._counts],
        "new_rows": [int(sampler.sampling_strategy_.get(label, 0)) for label in labels],
        "majority": sampler._code(sampler.majority_),
    }


def _random(sampler: "GenerativeSampler") -> dict[str, Any]:
    later = sampler._laters
    return {
        "entropy": plain(later.entropy),
        "spawn_key": [int(key) for key in later.spawn_key],
        "spawned": later.n_children_spawned,
        "made": sampler._n_later,
    }
