"""A model file -> a fitted sampler.

The order is the point: plain data are checked field by field; the networks they describe are laid
out without memory; and only when the file's tensors are exactly those of the networks are the
numbers put in. What does not fit is refused, what is not known too.
"""

import copy
import datetime as dt
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mgvae.codec import Fields, ImageCodec, TableCodec
from mgvae.codec.samples import ImageSamples, Samples, TableSamples
from mgvae.common.tensor_file import ModelFile, read_file
from mgvae.errors import DataError, ModelFileError
from mgvae.methods.method import DataLayout, Method, RowGenerator, Unvaried
from mgvae.storage._plain import lower, restore_settings
from mgvae.storage._state import FittedState
from mgvae.storage._templates import KINDS, template
from mgvae.storage._upgrade import Named, move_parameters, upgrade

__all__ = ["SCHEMA_VERSION", "Revived", "Sampler", "load_sampler", "read_model", "revive"]

SCHEMA_VERSION = 3

_EARLIER = (1, 2)

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


class Sampler(Protocol):
    """What a file can hold: a sampler as :class:`mgvae.MGVAE` is one."""

    network: Any
    state_: FittedState

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters."""

    def check_parameters(self) -> None:
        """Raise if a parameter is wrong."""

    def method_of(self, settings: Mapping[str, Any]) -> Method:
        """Return what learns with given settings."""

    def set_state(self, state: FittedState, history: dict[str, Any]) -> None:
        """Become fitted."""


Classes = Mapping[str, type[Sampler]]


@dataclass(frozen=True)
class Revived:
    """A sampler from a file, and what the file says about itself."""

    sampler: Any
    created: str
    versions: Mapping[str, str]


def load_sampler(path: str | os.PathLike[str], kind: type[Sampler]) -> Any:
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
    if version not in (*_EARLIER, SCHEMA_VERSION):
        known = ", ".join(str(number) for number in (*_EARLIER, SCHEMA_VERSION))
        _refuse(f"it has the schema version {version!r:.20}, and this mgvae knows {known}")
    name = given.take("class", str)
    if name not in classes:
        wanted = " or a ".join(classes)
        _refuse(f"it holds a {name!r:.40}, not a {wanted}")
    tensors = dict(file.tensors)
    named = move_parameters(name, _named(version, name, given))
    sampler = _sampler(classes[name], named)
    method = sampler.method_of(named.method)
    if len(getattr(method.settings, "hidden_sizes", ())) > _MOST_LAYERS:
        _refuse(f"its networks have more than {_MOST_LAYERS} layers")
    codec = lower(given.take("codec", dict), tensors)
    samples, empty = _samples(codec, given.take("container", dict))
    state = _state(samples, empty, method, Fields(given.take("classes", dict), "the classes"))
    _set_random(state, Fields(given.take("random", dict), "the random state"))
    _set_generators(state, given.take("generators", list), tensors)
    if "ewc_weights" in given.data:
        state.ewc_weights = _weights(given.take("ewc_weights", dict), state.layout.names)
    if "spellings" in given.data:
        state.spellings = _spellings(given.take("spellings", dict))
    sampler.set_state(state, {})
    _set_columns(sampler, samples)
    created = dt.datetime.fromisoformat(given.take("created", str)).isoformat()
    versions = given.take("versions", dict)
    if not all(_WORD.fullmatch(text) for pair in versions.items() for text in pair):
        given.refuse("versions", versions)
    given.finish()
    return Revived(sampler, created, versions)


def _named(version: int, name: str, given: Fields) -> Named:
    """Read the parameters and the settings."""
    settings = restore_settings(given.take("settings", dict))
    if version in _EARLIER:
        return upgrade(version, name, settings, restore_settings(given.take("resolved", dict)))
    expert = restore_settings(given.take("expert", dict))
    method = restore_settings(given.take("method", dict))
    for setting in method.keys() & settings.keys() - {"early_stopping"}:  # True, or the part
        if settings[setting] not in ("auto", method[setting]):
            _refuse(f"the setting {setting} is given twice")
    return Named(settings, expert, method)


def _sampler(kind: type[Sampler], named: Named) -> Any:
    unknown = set(named.parameters) - set(kind().get_params(deep=False))
    if unknown:
        _refuse(
            f"it has the setting {sorted(unknown)[0]!r:.60}, which is not known here; it may come "
            "from a later version of mgvae"
        )
    sampler: Any = kind(**named.parameters)
    if named.expert:
        sampler.expert_settings = named.expert
    sampler.check_parameters()
    if callable(sampler.network):
        _refuse("its network is not one by name")
    return sampler


def _samples(codec: Any, container: Any) -> tuple[Samples, Any]:
    """Return the kind of samples, and the user's container without rows."""
    given = Fields(container, "the container")
    kind = given.choose("kind", (*KINDS, "images"))
    if kind == "images":
        given.finish()
        images = ImageSamples(ImageCodec.from_dict(codec))
        return images, images.codec.decode(np.empty((0, images.codec.width), np.float32))
    table = TableSamples(TableCodec.from_dict(codec))
    table.codec.describe()
    columns = table.codec.decode(np.zeros((2, table.codec.width)), np.random.default_rng(0))
    if not columns or len({str(column.name) for column in columns}) != len(columns):
        _refuse("it has no columns, or two of the same name")
    empty = template(kind, given.take("dtype", str) if kind == "numpy" else None, columns)
    given.finish()
    table.only(empty, columns)  # codec and container agree
    return table, empty


def _state(samples: Samples, empty: Any, method: Method, given: Fields) -> FittedState:
    """Return a state without seeds and generators."""
    labels = given.levels("labels", 2)
    if len(labels) > _MOST_CLASSES or max(len(str(label)) for label in labels) > _LONGEST_LABEL:
        _refuse(
            f"it has more than {_MOST_CLASSES} classes, or a label of more than {_LONGEST_LABEL} "
            "characters"
        )
    dtype = given.choose("type", _LABEL_TYPES[type(labels[0])])
    classes = _array(labels, dtype)
    if classes.tolist() != list(labels) or sorted(labels) != list(labels):
        given.refuse("labels", labels)
    counts = _counts(given, "rows", 1, len(labels))
    made = _counts(given, "new_rows", 0, len(labels))
    majority = given.take("majority", int)
    if not 0 <= majority < len(labels):
        given.refuse("majority", majority)
    given.finish()
    names = [str(label) for label in classes]
    return FittedState(
        samples=samples,
        template=empty,
        layout=DataLayout(samples.shape, samples.codec.spans, names, majority),
        classes=classes,
        counts=counts,
        new_rows={classes[i]: n for i, n in enumerate(made) if n},
        method=method,
        generators={},
        later=np.random.SeedSequence(0),
    )


def _set_columns(sampler: Any, samples: Samples) -> None:
    table = isinstance(samples.codec, TableCodec)
    names = [column.name for column in samples.codec.describe()] if table else []
    sampler.n_features_in_ = len(names) or samples.codec.width
    if names and samples.codec.named and all(isinstance(name, str) for name in names):
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


def _set_random(state: FittedState, given: Fields) -> None:
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
    state.later = np.random.SeedSequence(
        entropy, spawn_key=tuple(words), n_children_spawned=spawned
    )
    state.n_later = made


def _set_generators(state: FittedState, entries: list[Any], tensors: dict[str, Tensor]) -> None:
    owners: dict[int, int | None] = {}
    for entry in entries:
        given = Fields(entry, "a generator")
        code, place = given.take("class", int), given.take("model", int, type(None))
        given.finish()
        if not 0 <= code < len(state.classes) or code in owners:
            given.refuse("class", code)
        owners[code] = place
    models: dict[int, nn.Module] = {}
    parts = _by_owner(tensors)
    for code, place in owners.items():
        besides = parts.pop(("class", str(code)), {})
        generator: RowGenerator
        if state.samples.codec.width == 0:
            generator = Unvaried(np.arange(1))
        elif place is None:
            _refuse(f"the class of number {code} has no model")
        else:
            if place not in models:
                own = parts.pop(("model", str(place)), {})
                models[place] = _filled(state, models, own)
            generator = state.method.revive(state.layout, code, models[place], besides)
        if set(generator.stored()[1]) != set(besides):
            _refuse(f"the class of number {code} has tensors that it has no use for")
        state.generators[code] = generator
    if parts:
        _refuse(f"it has the tensor {'.'.join(next(iter(parts))):.60}, for which there is no use")


def _filled(
    state: FittedState, models: dict[int, nn.Module], tensors: dict[str, Tensor]
) -> nn.Module:
    """Lay a model out without memory, and put the numbers in if they are exactly its own."""
    if models:
        model = copy.deepcopy(next(iter(models.values())))
    else:
        with torch.device("meta"):
            model = state.method.model(state.layout)
    wanted = {name: (t.dtype, t.shape) for name, t in model.state_dict().items()}
    if wanted != {name: (t.dtype, t.shape) for name, t in tensors.items()}:
        _refuse("its tensors are not those of the networks that it describes")
    model.load_state_dict(tensors, assign=True)
    return model.eval().requires_grad_(False)


def _weights(given: dict[str, Any], names: Collection[str]) -> dict[str, float]:
    """Return the weights of the penalty by class."""
    fields = Fields(given, "the weights of the penalty")
    found = {name: fields.take(name, float) for name in given}
    for name, weight in found.items():
        if name not in names or weight < 0:
            fields.refuse(name, weight)
    return found


def _spellings(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return how cells of columns are written; what it means is checked by whoever writes them."""
    fields = Fields(given, "the spellings")
    return {name: fields.take(name, dict) for name in given}


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
