"""A model file -> a fitted sampler.

The order is the point: plain data are checked field by field; the networks they describe are laid
out without memory; and only when the file's tensors are exactly those of the networks are the
numbers put in. What does not fit is refused, what is not known too.
"""

import copy
import datetime as dt
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mgvae.codec import TableCodec
from mgvae.codec._storage import Fields
from mgvae.codec.images import ImageCodec
from mgvae.common.tensor_file import ModelFile, read_file
from mgvae.errors import DataError, ModelFileError
from mgvae.storage._plain import lower, restore_settings
from mgvae.storage._templates import KINDS, template

if TYPE_CHECKING:
    from mgvae.samplers._base import GenerativeSampler
    from mgvae.samplers._data import Data

__all__ = ["SCHEMA_VERSION", "Revived", "load_sampler", "read_model", "revive"]

SCHEMA_VERSION = 2

_ADDED: dict[int, dict[str, dict[str, Any]]] = {1: {"MGVAE": {"generation": "translate"}}}
"""What files of earlier versions did without saying so, by class."""

_MOST_CLASSES = 4096
_LONGEST_LABEL = 1000
_MOST_LAYERS = 1000
_LABEL_TYPES = {
    str: ("str", "object"),
    bytes: ("bytes", "object"),
    bool: ("bool", "object"),
    int: ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "object"),
    float: ("float16", "float32", "float64", "object"),
}
_WORD = re.compile(r"[0-9A-Za-z.+-]{1,40}")

Classes = Mapping[str, "type[GenerativeSampler]"]


@dataclass(frozen=True)
class Revived:
    """A sampler from a file, and what the file says about itself."""

    sampler: "GenerativeSampler"
    created: str
    versions: Mapping[str, str]


def load_sampler(path: str | os.PathLike[str], kind: "type[GenerativeSampler]") -> Any:
    """Read a sampler of one class."""
    return read_model(path, {kind.__name__: kind}).sampler


def read_model(path: str | os.PathLike[str], classes: Classes) -> Revived:
    """Read a sampler of one of the classes, given by their names."""
    try:
        return revive(read_file(path), classes)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}.") from error


def revive(file: ModelFile, classes: Classes) -> Revived:
    """Undo :func:`mgvae.storage._write.pack`; whatever is wrong is a ModelFileError."""
    try:
        return _revive(file, classes)
    except ModelFileError:
        raise
    except DataError as error:
        raise ModelFileError(str(error).rstrip(".")) from error
    except Exception as error:  # whatever the contents upset, it is their fault
        raise ModelFileError(f"its contents do not fit together ({error!s:.200})") from error


def _revive(file: ModelFile, classes: Classes) -> Revived:
    given = Fields(file.metadata, "the model file")
    version = given.take("schema_version", int)
    if version != SCHEMA_VERSION and version not in _ADDED:
        known = ", ".join(str(number) for number in (*_ADDED, SCHEMA_VERSION))
        _refuse(f"it has the schema version {version!r:.20}, and this mgvae knows {known}")
    name = given.take("class", str)
    if name not in classes:
        wanted = " or a ".join(classes)
        _refuse(f"it holds a {name!r:.40}, not a {wanted}")
    tensors = dict(file.tensors)
    unsaid = _ADDED.get(version, {}).get(name, {})
    sampler = _sampler(classes[name], {**unsaid, **given.take("settings", dict)})
    worker = _resolved(sampler, given.take("resolved", dict))
    codec = lower(given.take("codec", dict), tensors)
    sampler._data, sampler._template = _data(worker, codec, given.take("container", dict))
    sampler.codec_ = sampler._data.codec
    _set_classes(sampler, Fields(given.take("classes", dict), "the classes"))
    _set_random(sampler, Fields(given.take("random", dict), "the random state"))
    _set_generators(sampler, worker, given.take("generators", list), tensors)
    sampler.history_ = {}
    created = dt.datetime.fromisoformat(given.take("created", str)).isoformat()
    versions = given.take("versions", dict)
    if not all(_WORD.fullmatch(text) for pair in versions.items() for text in pair):
        given.refuse("versions", versions)
    given.finish()
    return Revived(sampler, created, versions)


def _sampler(kind: "type[GenerativeSampler]", settings: Mapping[str, Any]) -> "GenerativeSampler":
    sampler: GenerativeSampler = kind(**restore_settings(settings, kind().get_params(deep=False)))
    sampler._validate_params()
    if callable(sampler.network):
        _refuse("its network is not one by name")
    return sampler


def _resolved(sampler: "GenerativeSampler", resolved: Mapping[str, Any]) -> "GenerativeSampler":
    """Return a copy in which nothing is ``"auto"``, but for what has no default of its own."""
    worker = copy.copy(sampler)
    for name, value in restore_settings(resolved, sampler.get_params(deep=False)).items():
        if getattr(sampler, name) != "auto":
            _refuse(f"the setting {name} is given twice")
        setattr(worker, name, value)
    worker._validate_params()
    left = [name for name in sampler._defaults["table"] if getattr(worker, name) == "auto"]
    if left:
        _refuse(f"the setting {left[0]} is not resolved")
    if len(getattr(worker, "hidden_sizes", ())) > _MOST_LAYERS:
        _refuse(f"its networks have more than {_MOST_LAYERS} layers")
    return worker


def _data(worker: "GenerativeSampler", codec: Any, container: Any) -> "tuple[Data, Any]":
    from mgvae.samplers._data import ImageData, TableData

    given = Fields(container, "the container")
    kind = given.choose("kind", (*KINDS, "images"))
    if kind == "images":
        given.finish()
        images = ImageData(ImageCodec.from_dict(codec), worker.network)
        return images, images.codec.decode(np.empty((0, images.codec.width), np.float32))
    table = TableData(TableCodec.from_dict(codec))
    table.codec.describe()
    columns = table.codec.decode(np.zeros((2, table.codec.width)), np.random.default_rng(0))
    if not columns or len({str(column.name) for column in columns}) != len(columns):
        _refuse("it has no columns, or two of the same name")
    empty = template(kind, given.take("dtype", str) if kind == "numpy" else None, columns)
    given.finish()
    table.only(empty, columns)  # codec and container agree
    return table, empty


def _set_classes(sampler: "GenerativeSampler", given: Fields) -> None:
    labels = given.levels("labels", 2)
    if len(labels) > _MOST_CLASSES or max(len(str(label)) for label in labels) > _LONGEST_LABEL:
        _refuse(
            f"it has more than {_MOST_CLASSES} classes, or a label of more than {_LONGEST_LABEL} "
            "characters"
        )
    dtype = given.choose("type", _LABEL_TYPES[type(labels[0])])
    sampler.classes_ = _array(labels, dtype)
    if sampler.classes_.tolist() != list(labels) or sorted(labels) != list(labels):
        given.refuse("labels", labels)
    sampler._counts = _counts(given, "rows", 1, len(labels))
    made = _counts(given, "new_rows", 0, len(labels))
    majority = given.take("majority", int)
    if not 0 <= majority < len(labels):
        given.refuse("majority", majority)
    given.finish()
    sampler.majority_ = sampler.classes_[majority]
    sampler.sampling_strategy_ = {sampler.classes_[i]: n for i, n in enumerate(made) if n}
    names = [column.name for column in sampler.codec_.describe()] if _is_table(sampler) else []
    sampler.n_features_in_ = len(names) or sampler.codec_.width
    if names and sampler.codec_.named and all(isinstance(name, str) for name in names):
        sampler.feature_names_in_ = np.array(names, object)


def _array(labels: tuple[Any, ...], dtype: str) -> NDArray[Any]:
    array = np.empty(len(labels), object)
    array[:] = labels
    return array if dtype == "object" else array.astype(dtype)


def _counts(given: Fields, name: str, least: int, length: int) -> list[int]:
    counts = given.numbers(name, int)
    if len(counts) != length or not all(least <= n < 2**53 for n in counts):
        given.refuse(name, counts)
    return counts


def _is_table(sampler: "GenerativeSampler") -> bool:
    return isinstance(sampler.codec_, TableCodec)


def _set_random(sampler: "GenerativeSampler", given: Fields) -> None:
    entropy = given.take("entropy", int, list)
    words = given.numbers("spawn_key", int)
    spawned, made = given.take("spawned", int), given.take("made", int)
    given.finish()
    parts = entropy if isinstance(entropy, list) else [entropy]
    if len(parts) + len(words) > 64 or not all(type(p) is int and 0 <= p < 2**256 for p in parts):
        given.refuse("entropy", entropy)
    if not all(0 <= word < 2**32 for word in words) or not 0 <= spawned < 2**32:
        given.refuse("spawn_key", words)
    if not 0 <= made < 2**53:
        given.refuse("made", made)
    sampler._laters = np.random.SeedSequence(
        entropy, spawn_key=tuple(words), n_children_spawned=spawned
    )
    sampler._n_later = made


def _set_generators(
    sampler: "GenerativeSampler",
    worker: "GenerativeSampler",
    entries: list[Any],
    tensors: dict[str, Tensor],
) -> None:
    from mgvae.methods.job import Job, Unvaried

    owners: dict[int, int | None] = {}
    for entry in entries:
        given = Fields(entry, "a generator")
        code, place = given.take("class", int), given.take("model", int, type(None))
        given.finish()
        if not 0 <= code < len(sampler.classes_) or code in owners:
            given.refuse("class", code)
        owners[code] = place
    data, n_classes = sampler._data, len(sampler.classes_)
    job = Job(
        rows=torch.empty(0, data.codec.width),
        members=[np.empty(0, np.int64)] * n_classes,
        names=[str(label) for label in sampler.classes_],
        majority=sampler._code(sampler.majority_),
        targets=list(owners),
        shape=data.shape,
        spans=data.codec.spans,
        device=torch.device("cpu"),
        seeds=np.random.SeedSequence(0),
        callback=None,
    )
    models: dict[int, nn.Module] = {}
    parts = _by_owner(tensors)
    sampler._generators = {}
    for code, place in owners.items():
        besides = parts.pop(("class", str(code)), {})
        if data.codec.width == 0:
            generator: Any = Unvaried(np.arange(1))
        elif place is None:
            _refuse(f"the class of number {code} has no model")
        else:
            if place not in models:
                state = parts.pop(("model", str(place)), {})
                models[place] = _filled(worker, job, models, state)
            generator = worker._revived(job, code, models[place], besides)
        if set(generator.stored()[1]) != set(besides):
            _refuse(f"the class of number {code} has tensors that it has no use for")
        sampler._generators[code] = generator
    if parts:
        _refuse(f"it has the tensor {'.'.join(next(iter(parts))):.60}, for which there is no use")


def _filled(
    worker: "GenerativeSampler", job: Any, models: dict[int, nn.Module], state: dict[str, Tensor]
) -> nn.Module:
    """Lay a model out without memory, and put the numbers in if they are exactly its own."""
    if models:
        model = copy.deepcopy(next(iter(models.values())))
    else:
        with torch.device("meta"):
            model = worker._model(job)
    wanted = {name: (t.dtype, t.shape) for name, t in model.state_dict().items()}
    if wanted != {name: (t.dtype, t.shape) for name, t in state.items()}:
        _refuse("its tensors are not those of the networks that it describes")
    model.load_state_dict(state, assign=True)
    return model.eval().requires_grad_(False)


def _by_owner(tensors: Mapping[str, Tensor]) -> dict[tuple[str, str], dict[str, Tensor]]:
    """Return the tensors by the first two parts of their names: a class's or a model's."""
    parts: dict[tuple[str, str], dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        number, _, own = rest.partition(".")
        parts.setdefault((kind, number), {})[own] = tensor
    return parts


def _refuse(reason: str) -> NoReturn:
    raise ModelFileError(reason)
