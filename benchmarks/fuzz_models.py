"""Load thousands of damaged and hostile model files.

Every file must be refused with a ModelFileError, or give a sampler that makes rows or raises
another error of the library; within a second and 100 MB; and the global random states and the
folder must be as they were. Each file comes from (seed, number): a failure can be repeated alone.

    python benchmarks/fuzz_models.py --count 10000 --seed 0
    python benchmarks/fuzz_models.py --seed 0 --only 1234
"""

import argparse
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
import pyarrow as pa
import torch

from mgvae import CGAN, CVAE, MGVAE
from mgvae.common.tensor_file import ModelFile, read_file, to_bytes
from mgvae.errors import MGVAEError, ModelFileError
from mgvae.storage import read_model

CLASSES = {kind.__name__: kind for kind in (MGVAE, CVAE, CGAN)}
SECONDS, MEGABYTES = 1.0, 100
VALUES = [
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.0, -0.5, 1e300,
    "", "a", "auto", "object", "int64", "float32", "<U9", "datetime64[ns]", "category", "pyarrow",
    "../../etc/passwd", "os.system", "__import__('os')", "\x00", "\x1b[2J", "\u202e", "\ud800",
    "é" * 50, "9" * 5000, "a" * 100_000, [], {}, [[]], [None], [0] * 5000, ["a"] * 3, [[1, [2]]],
    {"map": []}, {"map": [[1, 2]]}, {"tensor": "codec.0"}, {"bytes": "zz"}, {"bytes": "00"},
]  # fmt: skip


def bases(folder: Path) -> list[Path]:
    """Save small models of every kind."""
    rng = np.random.default_rng(0)
    n = 40
    y = np.where(np.arange(n) % 5, 0, 1)
    table = pa.table(
        {
            "number": rng.normal(size=n),
            "whole": pa.array(rng.integers(0, 99, n), mask=rng.random(n) < 0.2),
            "level": pa.array(rng.choice(["x", "y", "z"], n)).dictionary_encode(),
            "when": pa.array(rng.integers(0, 10**9, n), pa.timestamp("s", "UTC")),
            "name": [f"n{i:03d}" for i in range(n)],
            "same": [1.5] * n,
        }
    )
    tiny: dict[str, Any] = {"hidden_sizes": (4,), "latent_size": 2, "random_state": 0}
    fast = tiny | {"pretrain_steps": 2, "finetune_steps": 2}
    gan: dict[str, Any] = {"hidden_sizes": (4,), "noise_size": 2, "steps": 2, "random_state": 0}
    samplers = [
        (MGVAE(**fast), table),
        (MGVAE(**fast, column_types={"whole": "ordinal"}), table.to_pandas()),
        (MGVAE(**fast, scaling="minmax", identifiers="missing"), table.drop_columns(["when"])),
        (CVAE(**tiny, steps=2), rng.normal(size=(n, 3)).astype(np.float32)),
        (CGAN(**gan, on_collapse="warn"), rng.normal(size=(n, 3)).tolist()),
        (MGVAE(**fast), rng.integers(0, 256, (n, 8, 8)).astype(np.uint8)),
        (MGVAE(**fast, network_width=0.02), rng.random((n, 3, 9, 8))),
    ]
    paths = []
    for i, (sampler, X) in enumerate(samplers):
        paths.append(folder / f"base{i}.safetensors")
        sampler.fit(X, y).save(paths[-1])
    return paths


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Give the way to every part of a JSON value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = list(enumerate(value))[:5]
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def edit(value: Any, rng: np.random.Generator) -> Any:
    """Change one part of a JSON value."""
    *way, last = (options := places(value)[1:])[rng.integers(len(options))]
    inner = value
    for key in way:
        inner = inner[key]
    action = rng.integers(6)
    if action == 0:
        del inner[last]
    elif action == 1 and isinstance(inner, dict):
        inner[f"{last}x"] = VALUES[rng.integers(len(VALUES))]
    elif action == 2 and isinstance(inner, list):
        inner.append(inner[last])
    elif action == 3 and type(inner[last]) in (int, float):
        inner[last] = type(inner[last])(
            inner[last] * int(rng.integers(-3, 4)) + rng.integers(-2, 3)
        )
    elif action == 4:
        there = (others := places(value))[rng.integers(len(others))]
        found = value
        for key in there:
            found = found[key]
        inner[last] = json.loads(json.dumps(found))
    else:
        inner[last] = VALUES[rng.integers(len(VALUES))]
    return value


def edit_tensors(tensors: dict[str, torch.Tensor], rng: np.random.Generator) -> None:
    """Change one tensor."""
    name = sorted(tensors)[rng.integers(len(tensors))]
    tensor = tensors.pop(name)
    action = rng.integers(7)
    if action == 1:
        tensors[["more", f"{name}.x", "model.9.x", "a/b", "..", name.upper()][rng.integers(6)]] = (
            tensor
        )
    elif action == 2:
        tensors[name] = tensor.reshape(-1)[: rng.integers(tensor.numel() + 1)].clone()
    elif action == 3:
        tensors[name] = tensor.to([torch.float32, torch.float64, torch.int64][rng.integers(3)])
    elif action == 4:
        tensors[name] = tensor * float([1e38, -1e30, 0.0, float("inf")][rng.integers(4)])
    elif action == 5:
        tensors[name] = tensor.reshape(-1, 1)
    elif action == 6:
        tensors[name] = tensor.flip(0) if tensor.ndim else tensor


def mutate(base: Path, target: Path, rng: np.random.Generator) -> str:
    """Write a changed file; say how it was changed."""
    whole = bytearray(base.read_bytes())
    length = int.from_bytes(whole[:8], "little")
    kind = ["flip", "cut", "splice", "random", "header", "metadata", "tensors", "foreign"][
        rng.choice(8, p=[0.12, 0.06, 0.08, 0.06, 0.2, 0.33, 0.12, 0.03])
    ]
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
    elif kind == "header":
        header = edit(json.loads(whole[8 : 8 + length]), rng)
        text = json.dumps(header, ensure_ascii=bool(rng.integers(2))).encode(errors="surrogatepass")
        whole = len(text).to_bytes(8, "little") + text + whole[8 + length :]
    elif kind == "foreign":
        whole = foreign(rng)
    if kind not in ("metadata", "tensors"):
        target.write_bytes(whole)
        return kind
    file = read_file(base)
    metadata, tensors = file.metadata, dict(file.tensors)
    if kind == "tensors":
        edit_tensors(tensors, rng)
    else:
        for _ in range(rng.integers(1, 4)):
            metadata = edit(metadata, rng)
    try:
        copies = {name: t.clone() for name, t in tensors.items()}
        target.write_bytes(to_bytes(ModelFile(metadata, copies)))
    except (MGVAEError, UnicodeError, ValueError):  # not even a file can be made of it
        target.write_bytes(b"")
    return kind


def foreign(rng: np.random.Generator) -> bytes:
    """Give other files, and headers that would take long or much memory."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(print))
    texts = [
        b"[" * 4_000_000,
        b'{"a":' * 1_000_000,
        b'{"a":[' + b"[]," * 2_000_000,
        b'{"a":"' + b'\\"' * 3_000_000,
        b'{"a":"' + b"\\ud83d\\ude00" + b"a" * 7_000_000 + b'"}',
        b'{"a":[' + b"999," * 1_500_000 + b"1]}",
        b'{"__metadata__":{"mgvae":"' + b"[" * 5_000_000 + b'","sha256":""}}',
    ]
    text = texts[rng.integers(len(texts))]
    choices = [
        archive.getvalue(),
        pickle.dumps({"weights": [1.0] * 100}),
        rng.bytes(int(rng.integers(5000))),
        int(rng.integers(2**62)).to_bytes(8, "little") + b"{}",
        len(text).to_bytes(8, "little") + text,
    ]
    return choices[rng.integers(len(choices))]


def attempt(path: Path) -> str:
    """Load a file and, if it loads, generate."""
    try:
        sampler: Any = read_model(path, CLASSES).sampler
    except ModelFileError:
        return "refused"
    for code in list(sampler._generators):
        try:
            sampler.generate(3, sampler.classes_[code], random_state=0)
            sampler.generate(2, sampler.classes_[code])
        except MGVAEError:
            return "loaded, then refused"
    return "loaded"


def states() -> tuple[Any, ...]:
    """Give the global random states."""
    numpy = np.random.get_state()[1].tobytes()  # noqa: NPY002
    return random.getstate(), numpy, torch.get_rng_state().numpy().tobytes()


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    numbers = range(options.count) if options.only is None else [options.only]
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    failures, slowest = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        originals = bases(Path(folder))
        target = Path(folder, "mutated.safetensors")
        for base in originals:
            attempt(base)
        before = states()
        started = time.perf_counter()
        for number in numbers:
            rng = np.random.default_rng([options.seed, number])
            kinds[mutate(originals[rng.integers(len(originals))], target, rng)] += 1
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            began = time.perf_counter()
            try:
                outcomes[attempt(target)] += 1
            except Exception:  # noqa: BLE001 (this is what is looked for)
                failures.append((number, traceback.format_exc(limit=-3)))
            taken = time.perf_counter() - began
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
            slowest = max(slowest, taken)
            if taken > SECONDS or more > MEGABYTES:
                failures.append((number, f"took {taken:.2f} s and {more:.0f} MB"))
        if states() != before:
            failures.append((-1, "a global random state was changed"))
        if len(list(Path(folder).iterdir())) != len(originals) + 1:
            failures.append((-1, "files were left behind"))
    print(f"{len(numbers)} files, seed {options.seed}, {time.perf_counter() - started:.0f} s")
    print("changed by:", dict(kinds))
    print("outcomes:", dict(outcomes), f"slowest {slowest:.2f} s")
    for number, what in failures[:20]:
        print(f"FAILED --seed {options.seed} --only {number}: {what}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
