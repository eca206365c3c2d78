r"""The file: a safetensors file with one JSON text, read as if an enemy had written it.

======== ===========================================================================================
8 bytes  length n of the header, little-endian
n bytes  JSON: the tensors' names, types, shapes and places, and ``__metadata__``, which holds our
         own JSON (``"mgvae"``) and a checksum of everything (``"sha256"``)
the rest the tensors' bytes, without gaps
======== ===========================================================================================

Nothing is allocated by a size that is merely claimed: the places must cover the file exactly. The
text is bounded before it is parsed, so that no header takes more than some tens of megabytes. The
checksum finds damage, not malice: whoever writes a file can write its checksum.
"""

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from mgvae.errors import ModelFileError, ParameterError

__all__ = ["ModelFile", "parse", "read_file", "read_stream", "to_bytes"]

_MOST_BYTES = 8 * 2**20  # of JSON
_MOST_TENSORS = 16_384
_MOST_QUOTES = 600_000
_MOST_OF_EACH = {b",": 600_000, b":": 150_000, b"[": 100_000, b"{": 100_000}  # outside of texts
_DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}
_CODES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.uint8: "U8"}
_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*", re.ASCII)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds."""

    metadata: dict[str, Any]
    tensors: dict[str, Tensor]


def to_bytes(file: ModelFile) -> bytes:
    """Give the bytes of a model file."""
    try:
        text = json.dumps(file.metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"the sampler's settings cannot be stored: {error}.") from error
    if len(text) > _MOST_BYTES // 2:  # quotation marks and backslashes take two characters in there
        raise ParameterError(
            f"the columns' names, levels and texts take {len(text) / 2**20:.0f} MiB, and a model "
            f"file holds up to {_MOST_BYTES // 2**21}. Leave out columns with many levels or long "
            "texts."
        )
    tensors = {name: t.detach().cpu().contiguous() for name, t in file.tensors.items()}
    table = {name: (_CODES[t.dtype], list(t.shape)) for name, t in tensors.items()}
    buffers = {name: t.numpy().tobytes() for name, t in tensors.items()}
    whole: bytes = save(tensors, {"mgvae": text, "sha256": _digest(text, table, buffers)})
    return whole


def read_file(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file; raise ModelFileError for anything that is not one."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        _refuse("it is not a regular file")
    with Path(path).open("rb") as source:
        return read_stream(source, os.fstat(source.fileno()).st_size)


def read_stream(source: BinaryIO, size: int) -> ModelFile:
    """Read a model file of so many bytes."""
    length = int.from_bytes(source.read(8), "little")
    if size < 10 or length > size - 8:
        _refuse("it does not begin as a safetensors file, or is cut off")
    if length > _MOST_BYTES:
        _refuse(f"its header of {length} bytes is longer than the {_MOST_BYTES} allowed")
    header = parse(source.read(length))
    own = header.pop("__metadata__", None)
    if not isinstance(own, dict) or set(own) != {"mgvae", "sha256"}:
        _refuse("it is a safetensors file, but not one of mgvae")
    if not all(isinstance(value, str) and value.isascii() for value in own.values()):
        _refuse("its metadata are not plain text")
    places = _places(header, size - 8 - length)
    view = memoryview(source.read(size - 8 - length))
    buffers = {name: view[begin:end] for name, (_, _, begin, end) in places.items()}
    table = {name: (code, shape) for name, (code, shape, _, _) in places.items()}
    if own["sha256"] != _digest(own["mgvae"], table, buffers):
        _refuse("it is damaged: its contents do not match its checksum")
    metadata = parse(own["mgvae"].encode("ascii"))
    return ModelFile(metadata, {name: _tensor(*table[name], buffers[name]) for name in table})


def parse(text: bytes) -> dict[str, Any]:
    """Parse a JSON object within bounds of time and memory.

    Examples
    --------
    >>> parse(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    if not text.isascii() or text.count(b'"') > _MOST_QUOTES:
        _refuse("its JSON is not plain, or has too many texts")
    structure = _STRING.sub(b"", text)
    if any(structure.count(c) > most for c, most in _MOST_OF_EACH.items()):
        _refuse("its JSON has too many parts")
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse_constant)
        if b"\\ud" in text.lower():  # half a character, without its other half, cannot be printed
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        _refuse(f"its JSON is broken ({error})")
    return value if isinstance(value, dict) else _refuse("its JSON is not an object")


def _places(header: Mapping[str, Any], size: int) -> dict[str, tuple[str, list[int], int, int]]:
    """Give every tensor's type, shape and place; together they cover all ``size`` bytes."""
    if len(header) > _MOST_TENSORS:
        _refuse(f"it holds more than {_MOST_TENSORS} tensors")
    places = {}
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            _refuse(f"the tensor {name!r:.60} is not described as one")
        code, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not _NAME.fullmatch(name) or len(name) > 200 or code not in (*_DTYPES,):
            _refuse(f"the tensor {name!r:.60} has a name or a type that it cannot have")
        whole = all(isinstance(v, list) and all(type(i) is int and i >= 0 for i in v)
                    for v in (shape, place))  # fmt: skip
        if not whole or len(shape) > 8 or len(place) != 2:
            _refuse(f"the tensor {name} has no shape or place")
        if math.prod(shape) * _DTYPES[code].itemsize != place[1] - place[0]:
            _refuse(f"the tensor {name} has a shape that does not fit its bytes")
        places[name] = (code, shape, place[0], place[1])
    reached = 0
    for _, _, begin, end in sorted(places.values(), key=lambda entry: entry[2:]):
        if begin != reached:
            _refuse("its tensors overlap or leave gaps")
        reached = end
    if reached != size:
        _refuse(f"its tensors take {reached} bytes, but {size} follow the header")
    return places


def _tensor(code: str, shape: list[int], data: memoryview) -> Tensor:
    array = np.frombuffer(data, _DTYPES[code]).reshape(shape)
    tensor = torch.from_numpy(array.astype(array.dtype.newbyteorder("=")))  # a copy, aligned
    if tensor.is_floating_point() and not torch.isfinite(tensor).all():
        _refuse("a tensor holds infinite values or NaN")
    return tensor


def _digest(
    text: str, table: Mapping[str, tuple[str, list[int]]], buffers: Mapping[str, bytes | memoryview]
) -> str:
    digest = hashlib.sha256(json.dumps([text, sorted(table.items())]).encode())
    for name in sorted(buffers):
        digest.update(buffers[name])
    return digest.hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _refuse("its JSON names something twice")


def _refuse_constant(name: str) -> NoReturn:
    _refuse(f"its JSON holds {name}")


def _refuse(reason: str) -> NoReturn:
    raise ModelFileError(reason)
