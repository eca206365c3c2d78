"""Load thousands of damaged and hostile model files.

Every file must be refused with a ModelFileError, or give a sampler that makes rows or raises
another error of the library; within a second of the processor's time, half a millisecond more for
each column that it describes, and 100 MB; and the global random states and the folder must be as
they were. A file that loads is also given to ``mgvae info`` and ``mgvae sample``, for which the
same limits hold.

Files are changed in two ways: as bytes, and by their grammar. The second knows what a field is:
numbers become huge, negative, fractions or NaN; texts long, or names of other types; lists long,
nested or of another order; fields are missing, new or renamed; columns and classes are multiplied;
tensors get other shapes, places, types and names. The checksum is made right afterwards, so that
what comes behind it is reached. Each file comes from (seed, number): a failure can be repeated
alone.

    python benchmarks/fuzz_models.py --count 10000 --seed 0
    python benchmarks/fuzz_models.py --seed 0 --only 1234
"""

import argparse
import contextlib
import copy
import hashlib
import io
import json
import pickle
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import torch

from mgvae import CGAN, CVAE, MGVAE
from mgvae.cli._run import run
from mgvae.errors import MGVAEError, ModelFileError
from mgvae.storage import read_model

Rng = np.random.Generator
CLASSES = {kind.__name__: kind for kind in (MGVAE, CVAE, CGAN)}
SECONDS, SECONDS_PER_COLUMN, MEGABYTES = 1.0, 0.0005, 100
ROWS = 200  # made by mgvae sample
SHARES = {
    "flip": 0.06, "cut": 0.03, "splice": 0.04, "random": 0.03, "foreign": 0.03,
    "header": 0.15, "tensors": 0.10, "metadata": 0.46, "multiply": 0.10,
}  # fmt: skip
LONG = (1000, 1001, 32_767, 32_768, 200_000, 3_000_000)
INTEGERS: list[Any] = [
    0, 1, -1, 2, 7, 63, 64, 255, 256, 4096, 4097, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -(2**63),
    2**64, 10**18, 10**30, 10**400, -(10**30),
]  # fmt: skip
FLOATS: list[Any] = [
    0.0, -0.0, 0.5, -0.5, 1e-320, 1e300, -1e300, 1.7e308, float("nan"), float("inf"), -float("inf")
]  # fmt: skip
TYPES = [
    "object", "bytes", "bool", "int8", "int64", "uint64", "float16", "float32", "float64",
    "float128", "datetime64[ns]", "datetime64[999999D]", "timedelta64", "<U9", "<U32768", "<U65537",
    "<U999999", "S999999", "|O", "category", "str", "string", "Int64", "String", "Binary", "Int128",
    "Enum(categories=['a'])", "Decimal(precision=99, scale=99)", "decimal128(99, 99)",
    "decimal256(76, 0)", "fixed_size_binary[9999]", "timestamp[us, tz=../../etc/passwd]",
    "timestamp[ns]", "date32[day]", "list<item: int64>", "extension<x>", "Sparse[int64, 0]",
    "dictionary<values=string, indices=int8, ordered=0>", "int64[pyarrow]", "large_string",
]  # fmt: skip
TEXTS = [
    "", "a", "auto", "pyarrow", "numpy", "pandas", "polars", "list", "images", "../../etc/passwd",
    "os.system", "__import__('os')", "\x00", "\x1b[2J", "\u202e", "\ud800", "é" * 50, "9" * 5000,
    "nan", "translate", "bridge", "responsibility", "standard", "majority", "cnn", "residual",
]  # fmt: skip
OTHERS: list[Any] = [
    None, True, False, [], {}, [[]], [None], [{}], {"": 0}, {"map": []}, {"map": [[1, 2]]},
    {"map": [[[1], 2], 3]}, {"tensor": "codec.0"}, {"tensor": "codec.1"}, {"tensor": []},
    {"bytes": "zz"}, {"bytes": "00"}, {"bytes": 5},
]  # fmt: skip


def bases(folder: Path) -> list[Path]:
    """Save small models of every kind."""
    rng = np.random.default_rng(0)
    n = 40
    y = np.where(np.arange(n) % 5, 0, 1)
    words = ["lorem", "ipsum", "dolor", "sit", "amet"]
    table = pa.table(
        {
            "number": rng.normal(size=n),
            "whole": pa.array(rng.integers(0, 99, n), mask=rng.random(n) < 0.2),
            "level": pa.array(rng.choice(["x", "y", "z"], n)).dictionary_encode(),
            "when": pa.array(rng.integers(0, 10**9, n), pa.timestamp("s", "UTC")),
            "name": [f"n{i:03d}" for i in range(n)],
            "prose": [" ".join(rng.choice(words, 9)) + f" {i}" for i in range(n)],
            "key": pa.array(rng.choice([b"0" * 16, b"1" * 16], n), pa.binary(16)),
            "flag": rng.random(n) < 0.5,
            "none": pa.nulls(n, pa.float64()),
            "same": [1.5] * n,
            "word": ["constant"] * n,
        }
    )
    frame = table.drop_columns(["key"]).to_pandas()
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D")
    tiny: dict[str, Any] = {"hidden_sizes": (4,), "latent_size": 2, "random_state": 0}
    fast = tiny | {"pretrain_steps": 2, "finetune_steps": 2}
    gan: dict[str, Any] = {"hidden_sizes": (4,), "noise_size": 2, "steps": 2, "random_state": 0}
    many = np.repeat(["a", "b", "c", "d"], [22, 6, 6, 6])
    samplers: list[tuple[Any, Any, Any]] = [
        (MGVAE(**fast), table, y),
        (MGVAE(**fast, column_types={"whole": "ordinal"}), frame, y),
        (MGVAE(**fast), pl.from_pandas(frame).with_columns(pl.col("level").cast(pl.String)), y),
        (
            MGVAE(**fast, recipe="paper-tables", identifiers="missing"),
            table.drop_columns(["when"]),
            y,
        ),
        (MGVAE(**fast, generation="translate"), rng.choice(["aa", "b"], (n, 3)), many),
        (MGVAE(**fast, generation="responsibility"), rng.normal(size=(n, 4)), many),
        (CVAE(**tiny, steps=2), rng.normal(size=(n, 3)).astype(np.float32), y),
        (CGAN(**gan, on_collapse="warn"), rng.normal(size=(n, 3)).tolist(), y),
        (MGVAE(**fast), np.full((n, 3), "same"), y),
        (MGVAE(**fast), rng.integers(0, 256, (n, 8, 8)).astype(np.uint8), y),
        (MGVAE(**fast, network="cnn"), rng.random((n, 3, 9, 8)), y),
    ]
    paths = []
    for i, (sampler, X, labels) in enumerate(samplers):
        paths.append(folder / f"base{i}.safetensors")
        sampler.fit(X, labels).save(paths[-1])
    return paths


class Parts:
    """A file, taken apart."""

    def __init__(self, path: Path) -> None:
        whole = path.read_bytes()
        length = int.from_bytes(whole[:8], "little")
        self.table = json.loads(whole[8 : 8 + length])
        self.metadata = json.loads(self.table.pop("__metadata__")["mgvae"])
        self.data = whole[8 + length :]

    def put_together(self) -> bytes:
        """Return the bytes of a file with a right checksum, whatever the parts hold."""
        text = json.dumps(self.metadata)
        entries = [
            (name, entry)
            for name, entry in self.table.items()
            if isinstance(entry, dict) and {"dtype", "shape", "data_offsets"} <= set(entry)
        ]
        table = sorted((name, (entry["dtype"], entry["shape"])) for name, entry in entries)
        digest = hashlib.sha256(json.dumps([text, table]).encode())
        with contextlib.suppress(TypeError, ValueError):  # places that are none
            for _, entry in sorted(entries, key=lambda pair: pair[0]):
                begin, end = entry["data_offsets"]
                digest.update(self.data[begin:end])
        own = {"mgvae": text, "sha256": digest.hexdigest()}
        header = json.dumps({"__metadata__": own, **self.table}).encode()
        return len(header).to_bytes(8, "little") + header + self.data


def pick(rng: Rng, options: Any) -> Any:
    """Return one of the options."""
    return options[int(rng.integers(len(options)))]


def odd(value: Any, rng: Rng) -> Any:
    """Return something that must not, or hardly can, stand where a value stands."""
    if rng.random() < 0.15:
        return copy.deepcopy(pick(rng, [*INTEGERS, *FLOATS, *TYPES, *TEXTS, *OTHERS]))
    if isinstance(value, bool) or value is None:
        return copy.deepcopy(pick(rng, [not value, 0, 1, "true", *OTHERS]))
    if isinstance(value, int):
        near = [value + 1, value - 1, -value, 2 * value, 10**6 * value, [value]]
        if abs(value) < 2**53:
            near += [float(value), str(value)]
        return pick(rng, [*near, *INTEGERS, *FLOATS[:5]])
    if isinstance(value, float):
        near = [-value, 2 * value, value * 1e30, np.nextafter(value, 9e9), str(value), [value]]
        return pick(rng, [*near, *FLOATS, 0, 10**30])
    if isinstance(value, str):
        letters = [value or "a", "9", "é", '"', "\\", "\u202e"]
        longer = [pick(rng, letters) * (pick(rng, LONG) // 2), value + "a" * pick(rng, LONG)]
        near = [value.upper(), value[:-1], value + " ", value + "0", value[::-1], list(value)]
        return pick(rng, [*longer, *near, pick(rng, TYPES), pick(rng, TYPES), pick(rng, TEXTS)])
    if isinstance(value, list):
        return odd_list(value, rng)
    return odd_dict(value, rng)


def odd_list(value: list[Any], rng: Rng) -> Any:
    """Return a list of another length, order or depth."""
    action = rng.integers(8)
    if action == 0:
        return value[: rng.integers(len(value) + 1)]
    if action == 1:
        return [value[i] for i in rng.permutation(len(value))]
    if action == 2:
        return (value or [0]) * int(pick(rng, [2, 100, 10_000, 100_000]) // max(1, len(value)) + 1)
    if action == 3:
        deep: Any = value
        for _ in range(int(pick(rng, [1, 10, 500, 2000]))):
            deep = [deep]
        return deep
    if action == 4:
        return {str(i): item for i, item in enumerate(value)}
    if action == 5:
        return list(range(int(pick(rng, [3, 300, 30_000]))))
    changed = copy.deepcopy(value)
    place = int(rng.integers(len(value) + 1))
    changed[place : place + int(action == 6)] = [odd(pick(rng, value or [0]), rng)]
    return changed


def odd_dict(value: dict[str, Any], rng: Rng) -> Any:
    """Return an object with other fields."""
    changed = copy.deepcopy(value)
    action = rng.integers(5)
    name = pick(rng, sorted(changed)) if changed else "a"
    if action == 0:
        changed.pop(name, None)
    elif action == 1:
        changed[pick(rng, ["extra", "", name.upper(), "a" * 10_000])] = copy.deepcopy(
            pick(rng, OTHERS)
        )
    elif action == 2 and changed:
        changed[f"{name}x"] = changed.pop(name)
    elif action == 3:
        changed |= {f"field{i}": i for i in range(int(pick(rng, [5, 5000])))}
    else:
        return [[key, item] for key, item in changed.items()]
    return changed


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every part of a JSON value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = list(enumerate(value))[:12]
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def edit(value: Any, rng: Rng) -> None:
    """Change one part of a JSON value by what it is; sometimes for another part of it."""
    options = places(value)[1:]
    if not options:
        return
    *way, last = pick(rng, options)
    inner = value
    for key in way:
        inner = inner[key]
    if rng.random() < 0.12:
        found = value
        for key in pick(rng, options):
            found = found[key]
        inner[last] = copy.deepcopy(found)
    else:
        inner[last] = odd(inner[last], rng)


def multiply(parts: Parts, rng: Rng) -> None:
    """Let a file have very many of something: columns, levels, classes, models, tensors."""
    n = int(pick(rng, [50, 500, 4000, 9000]))
    codec, classes = parts.metadata["codec"], parts.metadata["classes"]
    action = rng.integers(6)
    if action == 0 and "columns" in codec:
        one = pick(rng, codec["columns"])
        codec["columns"] = [one | {"name": f"{one['name']}{i}"} for i in range(n)]
    elif action == 1 and "columns" in codec:
        plain = [c for c in codec["columns"] if c["kind"]["form"] in ("constant", "empty", "text")]
        if plain:
            one = pick(rng, plain)
            codec["columns"] = [one | {"name": i} for i in range(n)]
            for name in [name for name in parts.table if not name.startswith("codec.")]:
                del parts.table[name]  # there is nothing left to model
            parts.metadata["container"] |= {"dtype": pick(rng, TYPES)}
    elif action == 2:
        classes["labels"] = [f"label {i:05d}" for i in range(n)]
        classes |= {"type": "str", "rows": [5] * n, "new_rows": [1] * n, "majority": 0}
        model = pick(rng, [0, None, "own"])
        parts.metadata["generators"] = [
            {"class": i, "model": i if model == "own" else model} for i in range(1, n)
        ]
    elif action == 3 and parts.table:
        name, entry = pick(rng, sorted(parts.table.items()))
        kind = name.split(".")[0]
        empty = {"dtype": entry["dtype"], "shape": [0], "data_offsets": [0, 0]}
        parts.table |= {f"{kind}.{i}.weight": dict(empty) for i in range(n)}
    elif action == 4 and "columns" in codec:
        column = pick(rng, codec["columns"])
        levels = [f"{i:06d}" for i in range(n)]
        column["kind"] |= {"levels": levels, "slots": [*range(n)], "counts": [1] * n}
        column["levels"] = levels
    else:
        parts.metadata["settings"]["hidden_sizes"] = [int(pick(rng, [1, 4, 10**6]))] * n


def edit_header(parts: Parts, rng: Rng) -> None:
    """Change what the header says of a tensor, by what it is."""
    name = pick(rng, sorted(parts.table))
    entry = parts.table[name]
    action = rng.integers(5)
    if action == 0:
        shapes = [
            [0, 10**30], [10**30, 0], [0, 2**62, 2**62], [2**62, 2**62, 0], [0] * 9, [0] * 8,
            [1] * 64, [1] * 100_000, [-1], [2**63], [0, 2**40], [0, -1], [True], [1.0], ["1"], [[]],
            [2**32, 2**32, 2**32], entry["shape"][::-1], [*entry["shape"], 1], [],
        ]  # fmt: skip
        entry["shape"] = pick(rng, shapes)
        if rng.random() < 0.5 and 0 in entry["shape"]:
            entry["data_offsets"] = [0, 0]
    elif action == 1:
        begin, end = entry["data_offsets"]
        offsets = [
            [end, begin], [begin, end + 4], [begin - 4, end], [0, 2**63], [-1, 3], [begin], [],
            [0, len(parts.data)], [float(begin), end], [str(begin), end], [begin, end, end], None,
        ]  # fmt: skip
        entry["data_offsets"] = pick(rng, offsets)
    elif action == 2:
        entry["dtype"] = pick(
            rng, ["F16", "BF16", "F64", "I64", "I8", "U8", "BOOL", "F8_E4M3", "C64", "f32", None, 3]
        )
    elif action == 3:
        names = ["", "..", "a/b", name.upper(), f"{name}.x", "model.9.x", "codec.9", "\ud800"]
        parts.table[pick(rng, [*names, "__metadata__ ", "é", "a" * 201])] = parts.table.pop(name)
    else:
        edit(parts.table, rng)


def edit_tensors(parts: Parts, rng: Rng) -> None:
    """Change the numbers of a tensor, or cut it."""
    name = pick(rng, sorted(parts.table))
    begin, end = parts.table[name]["data_offsets"]
    action = rng.integers(5)
    data = bytearray(parts.data)
    if action == 0:
        data[begin:end] = rng.bytes(end - begin)
    elif action == 1 and end - begin >= 8:
        number = np.array([pick(rng, [1e38, -1e38, np.nan, np.inf, 0.0, 1e-45])], "<f4")
        data[begin : begin + 4] = number.tobytes()
    elif action == 2:
        data[begin:end] = bytes(end - begin)
    elif action == 3:
        cut = int(rng.integers((end - begin) // 4 + 1)) * 4
        del data[end - cut : end]
        for entry in parts.table.values():
            entry["data_offsets"] = [o - cut if o >= end else o for o in entry["data_offsets"]]
        size = {"F32": 4, "F64": 8, "I64": 8, "U8": 1}[parts.table[name]["dtype"]]
        parts.table[name]["shape"] = [(end - begin - cut) // size]
    else:
        data[begin:end] = data[begin:end][::-1]
    parts.data = bytes(data)


def mutate(base: Path, target: Path, rng: Rng) -> str:
    """Write a changed file; say how it was changed."""
    whole = bytearray(base.read_bytes())
    kind = str(rng.choice([*SHARES], p=[*SHARES.values()]))
    if kind == "flip":
        for place in rng.integers(len(whole), size=rng.integers(1, 9)):
            whole[place] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        whole = whole[: rng.integers(len(whole))]
    elif kind == "splice":
        a, b, size = rng.integers(len(whole), size=3)
        whole[a : a + size % 2000] = whole[b : b + size % 2000]
    elif kind == "random":
        place = rng.integers(len(whole))
        whole[place : place + 16] = rng.bytes(int(rng.integers(64)))
    elif kind == "foreign":
        whole = bytearray(foreign(rng))
    else:
        parts = Parts(base)
        if not parts.table and kind in ("header", "tensors"):
            kind = "metadata"  # a table of constants has no tensors
        try:
            if kind == "header":
                edit_header(parts, rng)
            elif kind == "tensors":
                edit_tensors(parts, rng)
            elif kind == "multiply":
                multiply(parts, rng)
            for _ in range(int(rng.integers(1, 4)) if kind == "metadata" else rng.random() < 0.1):
                edit(parts.metadata, rng)
            whole = bytearray(parts.put_together())
        except (RecursionError, OverflowError, TypeError, ValueError):  # no text can be made of it
            whole = whole[:100]
    target.write_bytes(whole)
    return kind


def foreign(rng: Rng) -> bytes:
    """Return other files, and headers that would take long or much memory."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(print))
    tensor = b'{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
    texts = [
        b"[" * 4_000_000,
        b'{"a":' * 1_000_000,
        b'{"a":[' + b"[]," * 2_000_000,
        b'{"a":"' + b'\\"' * 3_000_000,
        b'{"a":"' + b"\\ud83d\\ude00" + b"a" * 7_000_000 + b'"}',
        b'{"a":[' + b"999," * 1_500_000 + b"1]}",
        b'{"__metadata__":{"mgvae":"' + b"[" * 5_000_000 + b'","sha256":""}}',
        b"{" + b",".join(b'"t%d":%b' % (i, tensor) for i in range(120_000)) + b"}",
        b"{" + b",".join(b'"t%d":%b' % (i, tensor) for i in range(20_000)) + b"}",
        b'{"a":{"dtype":"F32","shape":[' + b"0," * 500_000 + b'0],"data_offsets":[0,0]}}',
    ]
    text = pick(rng, texts)
    choices = [
        archive.getvalue(),
        pickle.dumps({"weights": [1.0] * 100}),
        rng.bytes(int(rng.integers(5000))),
        int(rng.integers(2**62)).to_bytes(8, "little") + b"{}",
        len(text).to_bytes(8, "little") + text,
    ]
    return pick(rng, choices)


class Clock:
    """The longest step so far, in seconds of the processor's time."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._began = time.process_time()

    def tick(self) -> None:
        """End a step and begin the next."""
        now = time.process_time()
        self.longest, self._began = max(self.longest, now - self._began), now


def attempt(path: Path, out: Path, clock: Clock) -> str:
    """Load a file and, if it loads, generate, in Python and on the command line."""
    try:
        sampler: Any = read_model(path, CLASSES).sampler
    except ModelFileError:
        return "refused"
    finally:
        clock.tick()
    outcome = "loaded"
    for code in list(sampler.state_.generators)[:3]:
        label = sampler.classes_[code]
        try:
            sampler.generate(3, label, random_state=0)
            sampler.generate(2, label)
        except MGVAEError:
            outcome = "loaded, then refused"
        clock.tick()
        ask(["sample", str(path), "-n", str(ROWS), "--label", str(label), "-o", str(out), "-f"])
        clock.tick()
    ask(["info", str(path)])
    clock.tick()
    return outcome


def ask(command: list[str]) -> None:
    """Run a command; it must do its work, or refuse in one line."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = run(command)
    if code not in (0, 2) or "should not happen" in said.getvalue():
        raise AssertionError(f"{command[0]}: exit code {code}: {said.getvalue()[-300:]}")


def states() -> tuple[Any, ...]:
    """Return the global random states."""
    numpy = np.random.get_state()[1].tobytes()  # noqa: NPY002
    return random.getstate(), numpy, torch.get_rng_state().numpy().tobytes()


class Memory:
    """The most memory taken since :meth:`begin`, beyond what was taken before, in MB."""

    def __init__(self) -> None:
        self.before = 0.0

    def begin(self) -> None:
        """Start to measure."""
        with contextlib.suppress(OSError):  # Linux can forget the peak; others only exceed it
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self.before = self._peak()

    def more(self) -> float:
        """Return how much more it was."""
        return self._peak() - self.before

    @staticmethod
    def _peak() -> float:
        with contextlib.suppress(OSError):
            for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path, help="where to keep the last file that was made")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    numbers = [*range(options.first, options.first + options.count)]
    if options.only is not None:
        numbers = [options.only]
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    failures, slowest, largest = [], 0.0, 0.0
    memory = Memory()
    with tempfile.TemporaryDirectory() as folder:
        originals = bases(Path(folder))
        target, out = Path(folder, "mutated.safetensors"), Path(folder, "out.csv")
        for base in originals:
            attempt(base, out, Clock())
        # more than any file may take: a failure that is found, not one that stops the machine
        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (taken + 3 * 2**30, resource.RLIM_INFINITY))
        before = states()
        started = time.perf_counter()
        for number in numbers:
            rng = np.random.default_rng([options.seed, number])
            kind = mutate(pick(rng, originals), target, rng)
            kinds[kind] += 1
            if options.keep:
                options.keep.write_bytes(target.read_bytes())
            memory.begin()
            clock = Clock()
            try:
                outcomes[attempt(target, out, clock)] += 1
            except Exception:  # noqa: BLE001 (this is what is looked for)
                failures.append((number, traceback.format_exc(limit=-3)))
            seconds, more = clock.longest, memory.more()
            slowest, largest = max(slowest, seconds), max(largest, more)
            columns = target.read_bytes().count(b"n_missing")
            if seconds > SECONDS + SECONDS_PER_COLUMN * columns or more > MEGABYTES:
                failures.append((number, f"{kind} took {seconds:.2f} s and {more:.0f} MB"))
        if states() != before:
            failures.append((-1, "a global random state was changed"))
        if {*Path(folder).iterdir()} - {*originals, target, out}:
            failures.append((-1, "files were left behind"))
    print(f"{len(numbers)} files, seed {options.seed}, {time.perf_counter() - started:.0f} s")
    print("changed by:", dict(kinds))
    print("outcomes:", dict(outcomes), f"slowest {slowest:.2f} s, largest {largest:.0f} MB")
    for number, what in failures[:20]:
        print(f"FAILED --seed {options.seed} --only {number}: {what}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
