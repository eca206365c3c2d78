r"""The file: a safetensors file with one JSON text, read as if an enemy had written it.

======== ===========================================================================================
8 bytes  length n of the header, little-endian
n bytes  JSON: the tensors' names, types, shapes and places, and ``__metadata__``, which holds our
         own JSON (``"mgvae"``) and a checksum of everything (``"sha256"``)
the rest the tensors' bytes, without gaps
======== ===========================================================================================

The safetensors library checks the places and loads the tensors. What it does not bound is bounded
here before it is called: the length of the header and of its parts, the number of tensors, their
types and shapes. Nothing is allocated by a size that is merely claimed. The checksum finds damage,
not malice: whoever writes a file can write its checksum.
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

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from mgvae.errors import ModelFileError, ParameterError

__all__ = ["ModelFile", "parse", "read_file", "read_stream", "to_bytes"]

_MOST_BYTES = 8 * 2**20  # of JSON
_MOST_TENSORS = 16_384
_MOST_AXES = 8
_MOST_NUMBERS = 2**40  # of a tensor, counting an axis of length 0 as one of length 1
_MOST_QUOTES = 600_000
_MOST_OF_EACH = {b",": 600_000, b":": 150_000, b"[": 100_000, b"{": 100_000}  # outside of texts
_CODES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.uint8: "U8"}
_NAME = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*", re.ASCII)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds."""

    metadata: dict[str, Any]
    tensors: dict[str, Tensor]


def to_bytes(file: ModelFile) -> bytes:
    """Return the bytes of a model file."""
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
    whole: bytes = save(tensors, {"mgvae": text, "sha256": _digest(text, tensors)})
    return whole


def read_file(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file; raise ModelFileError for anything that is not one."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        _refuse("it is not a regular file")
    with Path(path).open("rb") as source:
        return read_stream(source, os.fstat(source.fileno()).st_size)


def read_stream(source: BinaryIO, size: int) -> ModelFile:
    """Read a model file of so many bytes."""
    first = source.read(8)
    length = int.from_bytes(first, "little")
    if size < 10 or length > size - 8:
        _refuse("it does not begin as a safetensors file, or is cut off")
    if length > _MOST_BYTES:
        _refuse(f"its header of {length} bytes is longer than the {_MOST_BYTES} allowed")
    text = source.read(length)
    header = parse(text)
    own = header.pop("__metadata__", None)
    if not isinstance(own, dict) or set(own) != {"mgvae", "sha256"}:
        _refuse("it is a safetensors file, but not one of mgvae")
    if not all(isinstance(value, str) and value.isascii() for value in own.values()):
        _refuse("its metadata are not plain text")
    _check_table(header)
    try:
        tensors = load(first + text + source.read(size - 8 - length))
    except (SafetensorError, ValueError, RuntimeError) as error:
        _refuse(f"its tensors are not laid out as it says ({error!s:.100})")
    if own["sha256"] != _digest(own["mgvae"], tensors):
        _refuse("it is damaged: its contents do not match its checksum")
    if not all(torch.isfinite(t).all() for t in tensors.values() if t.is_floating_point()):
        _refuse("a tensor holds infinite values or NaN")
    return ModelFile(parse(own["mgvae"].encode("ascii")), {name: tensors[name] for name in header})


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


def _check_table(header: Mapping[str, Any]) -> None:
    """Refuse tensors that no model has, by what the header says of them."""
    if len(header) > _MOST_TENSORS:
        _refuse(f"it holds more than {_MOST_TENSORS} tensors")
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            _refuse(f"the tensor {name!r:.60} is not described as one")
        if (
            not _NAME.fullmatch(name)
            or len(name) > 200
            or entry["dtype"] not in (*_CODES.values(),)
        ):
            _refuse(f"the tensor {name!r:.60} has a name or a type that it cannot have")
        shape = entry["shape"]
        if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
            _refuse(f"the tensor {name} has no shape")
        if len(shape) > _MOST_AXES or math.prod(max(n, 1) for n in shape) > _MOST_NUMBERS:
            _refuse(f"the tensor {name} has a shape that is larger than any model's")


def _digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    table = sorted((name, (_CODES[t.dtype], list(t.shape))) for name, t in tensors.items())
    digest = hashlib.sha256(json.dumps([text, table]).encode())
    for name, _ in table:
        array = tensors[name].numpy().reshape(-1)
        digest.update(
            array.astype(array.dtype.newbyteorder("<"), copy=False).data
        )  # as in the file
    return digest.hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _refuse("its JSON names something twice")


def _refuse_constant(name: str) -> NoReturn:
    _refuse(f"its JSON holds {name}")


def _refuse(reason: str) -> NoReturn:
    raise ModelFileError(reason)
