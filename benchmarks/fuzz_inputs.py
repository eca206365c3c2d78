"""Feed the public entry points with random and hostile inputs.

Tables of every container go to ``fit_resample``, odd values to the samplers' parameters, damaged
files to the readers and the command line, changed dictionaries to the codec. Only errors of the
library may come out (or those of scikit-learn's and imbalanced-learn's own checks); inputs and
global random states must be as they were. Each input comes from (seed, number).

    python benchmarks/fuzz_inputs.py --count 10000 --seed 0
    python benchmarks/fuzz_inputs.py --seed 0 --only 1234
"""

import argparse
import contextlib
import copy
import datetime as dt
import decimal
import io
import json
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import torch

from mgvae import CVAE, MGVAE, files
from mgvae.cli._run import run
from mgvae.codec import TableCodec, read_table
from mgvae.errors import MGVAEError

Rng = np.random.Generator
THEIR_CHECKS = (os.sep + "sklearn" + os.sep, os.sep + "imblearn" + os.sep)
CELLS: list[Any] = [
    0, 1, -1, 2**31, 2**63 - 1, -(2**63), 2**64, 10**30, 0.0, -0.0, 0.1, 1e-320, 1e308, np.inf,
    float("nan"), None, True, "", "a", "ä", "\x00", "\ud800", "=1+1", "x" * 3000, b"", b"\xff",
    dt.date(1, 1, 1), dt.datetime(9999, 12, 31, 23), dt.timedelta(days=10**6), dt.time(1),
    decimal.Decimal("1.10"), decimal.Decimal("NaN"), pd.NA, pd.NaT, 1j, [], {}, (1,), object(),
]  # fmt: skip
VALUES: list[Any] = [
    *CELLS, "auto", "minority", "all", 0.5, 2.0, {}, {0: 5}, {"a": -1}, {1: 10**12}, -5, 3, (4,),
    "3 epochs", "epochs", "cpu", "cuda:99", "cnn", "bernoulli", "identity", lambda *_: {},
]  # fmt: skip


def column(rng: Rng, n: int) -> Any:
    """Make a column of one of many kinds."""
    kind = rng.integers(13)
    if kind == 0:
        return rng.normal(size=n) * 10.0 ** rng.integers(-300, 300)
    if kind == 1:
        return rng.integers(-(2**62), 2**62, n) if rng.random() < 0.5 else rng.integers(0, 3, n)
    if kind == 2:
        return rng.integers(0, 256, n).astype([np.uint8, np.uint64, np.int8][rng.integers(3)])
    if kind == 3:
        return rng.choice(["a", "b", "c d e", ""], n)
    if kind == 4:
        return np.where(rng.random(n) < 0.4, np.nan, rng.normal(size=n))
    if kind == 5:
        return rng.random(n) < 0.5
    if kind == 6:
        return np.array(rng.integers(0, 10**18, n), "datetime64[ns]")
    if kind == 7:
        return np.array([f"id{i}" for i in range(n)])
    cells = np.empty(n, object)
    few = [CELLS[i] for i in rng.integers(len(CELLS), size=rng.integers(1, 4))]
    for i in range(n):
        cells[i] = few[rng.integers(len(few))]
    return cells


def table(rng: Rng) -> tuple[Any, Any]:
    """Make X and y, more or less fit for over-sampling."""
    n, width = (
        int(rng.choice([0, 1, 2, 5, 30], p=[0.03, 0.04, 0.08, 0.2, 0.65])),
        rng.integers(0, 5),
    )
    cells = {f"c{j}": column(rng, n) for j in range(width)}
    kind = rng.integers(6)
    X: Any
    if kind == 0:
        X = rng.normal(size=(n, width)).astype(["f2", "f4", "f8"][rng.integers(3)])
    elif kind == 1:
        X = [list(row) for row in zip(*cells.values(), strict=True)]
    elif kind == 2:
        X = rng.integers(0, 256, (n, *rng.integers(6, 12, size=rng.integers(2, 4)))).astype(
            np.uint8
        )
    else:
        X = pd.DataFrame(cells)
        if kind == 3 and width:
            X = X.astype({"c0": "category"})
        with contextlib.suppress(Exception):  # some cells cannot be put there
            X = {4: pl.from_pandas, 5: pa.Table.from_pandas}.get(kind, lambda frame: frame)(X)
    y: Any = (rng.random(n) < 0.25).astype(int)
    change = rng.integers(12)
    if change == 0:
        y = column(rng, n)
    elif change == 1:
        y = y[:-1]
    elif change == 2:
        y = np.array(["no", "yes"])[y].tolist()
    elif change == 3:
        y = pd.Series(np.array(["no", "yes"], object)[y])
    return X, y


def fingerprint(value: Any) -> Any:
    """Return what must not change of an input."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.tobytes()
    return repr(value)


def fuzz_tables(rng: Rng, _folder: Path) -> None:
    """``fit_resample`` on any table."""
    try:
        X, y = table(rng)
    except (TypeError, ValueError):  # pandas itself refuses some
        return
    before = fingerprint(X), fingerprint(y)
    tiny: dict[str, Any] = {"hidden_sizes": (3,), "latent_size": 2, "random_state": 0}
    if rng.random() < 0.7:
        sampler: Any = MGVAE(**tiny, pretrain_steps=1, finetune_steps=1)
    else:
        sampler = CVAE(**tiny, steps=1)
    if rng.random() < 0.3:
        sampler.scaling = ["minmax", "symmetric", "identity"][rng.integers(3)]
    try:
        found, labels = sampler.fit_resample(X, y)
    finally:
        if (fingerprint(X), fingerprint(y)) != before:
            raise AssertionError("the input was changed")
    if len(found) != len(labels) or len(found) < len(X):
        raise AssertionError(f"{len(found)} rows, {len(labels)} labels")


def fuzz_parameters(rng: Rng, _folder: Path) -> None:
    """Odd values of parameters."""
    X, y = rng.normal(size=(24, 3)), np.arange(24) % 4 == 0
    small: dict[str, Any] = {"hidden_sizes": (3,), "pretrain_steps": 1, "finetune_steps": 1}
    sampler = MGVAE(**small, latent_size=2, random_state=0)
    names = sorted(
        set(sampler.get_params()) - {"callback", "n_jobs", "n_threads", "network", "verbose"}
    )
    for name in rng.choice(names, rng.integers(1, 3), replace=False):
        value = VALUES[rng.integers(len(VALUES))]
        if isinstance(value, int) and value > 10**4 and name != "random_state":
            value = 10**4
        sampler.set_params(**{str(name): value})
    sampler.fit_resample(X, y)
    sampler.generate(VALUES[rng.integers(len(VALUES))], VALUES[rng.integers(len(VALUES))])


def damaged(rng: Rng, folder: Path) -> Path:
    """Write a file of some format, mostly damaged."""
    columns: dict[str, Any] = {
        "a": rng.normal(size=20).round(2),
        "b": rng.choice(["x", "y, z", 'q"'], 20),
        "y": np.where(np.arange(20) % 4, "no", "yes"),
    }
    ending = [".csv", ".tsv", ".jsonl", ".parquet", ".feather", ".arrow", ".csv.gz"][
        rng.integers(7)
    ]
    if ending in (".feather", ".arrow") and rng.random() < 0.5:  # types that text has not
        cells = [rng.bytes(16) for _ in range(20)]
        days = rng.integers(-(2**31), 2**31, 20).astype(np.int32)
        columns["c"] = [
            pa.array(cells, pa.binary(16)),
            pa.array(cells),
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array(cells, pa.binary(16))),
            pa.array(days).cast(pa.date32()),
            pa.array(rng.integers(-(2**62), 2**62, 20), pa.timestamp("us")),
            pa.array(rng.integers(0, 86_400, 20).astype(np.int32)).cast(pa.time32("s")),
        ][rng.integers(6)]
    frame = pa.table(columns)
    path = folder / f"in{ending}"
    files.write(frame, str(path), files.TableFile(frame, files.find_format(str(path))))
    content = bytearray(path.read_bytes())
    action = rng.integers(6)
    if action == 0:
        for place in rng.integers(len(content), size=rng.integers(1, 6)):
            content[place] ^= 1 << int(rng.integers(8))
    elif action == 1:
        content = content[: rng.integers(len(content))]
    elif action == 2:
        place = rng.integers(len(content))
        content[place : place + 9] = rng.bytes(int(rng.integers(30)))
    elif action == 3:
        odd = [b'"', b"\r", b"\n\n", b"\x00", b",,,", b"\xff\xfe", b"NaN", b"{", b"1e999", b"=a"]
        odd += [b"\\ud800", b"Infinity", b'"a": 1, ', b"\xfe\xff", b"[" * 3000, b"9" * 5000, b" "]
        for place in rng.integers(len(content), size=3):
            content[place:place] = odd[rng.integers(len(odd))]
    elif action == 4:
        content = bytearray(rng.bytes(int(rng.integers(200))))
    path.write_bytes(content)
    return path


def fuzz_readers(rng: Rng, folder: Path) -> None:
    """Damaged files to the readers; what is read can be written."""
    path = damaged(rng, folder)
    file = files.read(str(path))
    files.write(file.table, str(folder / "out.csv"), file, originals=file.table.num_rows)


def fuzz_command_line(rng: Rng, folder: Path) -> None:
    """Damaged files and odd words to the command line."""
    words = ["--target", "y", "-t", "a", "--drop", "b", "--type", "a=categorical", "--no-header"]
    words += ["--strategy", '{"yes": 3}', "0.5", "--delimiter", ";", "--encoding", "latin-1", "-o"]
    words += ["--missing", "x", "--preset", "none", "--seed", "-1", "7", "\x00", "é"]
    words += ["--encoding=rot13", "--encoding=utf-16-be", "--encoding=utf-7", "--strategy=NaN"]
    words += [f"--strategy={'[' * 9999}", f'--strategy={{"yes": {"9" * 99}}}', "--jobs=0"]
    command = ["balance", str(damaged(rng, folder)), "--dry-run"]
    if rng.random() < 0.5:  # what cannot be written there is refused as well
        command += ["-o", str(folder / ["new.csv", "new.jsonl", "new.parquet"][rng.integers(3)])]
    if rng.random() < 0.8:
        command += ["--target", "y"]
    command += [words[i] for i in rng.integers(len(words), size=rng.integers(0, 4))]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = run(command)
    if code not in (0, 2) or "should not happen" in said.getvalue():
        raise AssertionError(f"{command}: exit code {code}: {said.getvalue()[-500:]}")


def fuzz_codec(rng: Rng, _folder: Path) -> None:
    """Fit, store, change, restore, encode, decode."""
    n = 30
    cells = {f"c{j}": column(rng, n) for j in range(rng.integers(1, 4))}
    try:
        frame = pd.DataFrame(cells)
    except (TypeError, ValueError):  # pandas itself refuses some
        return
    rows = read_table(frame)
    codec = TableCodec().fit(rows)
    stored = json.loads(json.dumps(codec.to_dict()))
    if rng.random() < 0.8:
        stored = change(stored, rng)
    again = TableCodec.from_dict(stored)
    again.describe()
    again.decode(rng.normal(size=(3, again.width)), rng)
    again.encode(rows)


def change(value: Any, rng: Rng) -> Any:
    """Change one part of plain data."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        name = sorted(value)[rng.integers(len(value))]
        if rng.random() < 0.05:
            return {k: v for k, v in value.items() if k != name}
        return value | {name: change(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.95:
        place = rng.integers(len(value))
        return [*value[:place], change(value[place], rng), *value[place + 1 :]]
    plain = [v for v in CELLS if isinstance(v, str | int | float | None)]
    return copy.copy(plain[rng.integers(len(plain))])


ENTRIES = {
    "tables": (fuzz_tables, 0.3),
    "parameters": (fuzz_parameters, 0.1),
    "readers": (fuzz_readers, 0.25),
    "command line": (fuzz_command_line, 0.1),
    "codec": (fuzz_codec, 0.25),
}


def documented(error: Exception) -> bool:
    """Tell whether an error may come out."""
    if isinstance(error, MGVAEError):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    checked = any(part in frames[-1].filename for part in THEIR_CHECKS)
    return checked and isinstance(error, ValueError | TypeError)


def states() -> tuple[Any, ...]:
    """Return the global random states."""
    numpy = np.random.get_state()[1].tobytes()  # noqa: NPY002
    return random.getstate(), numpy, torch.get_rng_state().numpy().tobytes()


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    numbers = [*range(options.first, options.first + options.count)]
    if options.only is not None:
        numbers = [options.only]
    outcomes: Counter[str] = Counter()
    failures = []
    names, shares = list(ENTRIES), [share for _, share in ENTRIES.values()]
    before, started = states(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number in numbers:
            rng = np.random.default_rng([options.seed, number])
            name = names[rng.choice(len(names), p=shares)]
            try:
                ENTRIES[name][0](rng, Path(folder))
                outcomes[f"{name}: taken"] += 1
            except Exception as error:  # noqa: BLE001 (this is what is looked for)
                outcomes[f"{name}: refused"] += 1
                if not documented(error):
                    failures.append((number, name, traceback.format_exc(limit=-4)))
    if states() != before:
        failures.append((-1, "all", "a global random state was changed"))
    print(f"{len(numbers)} inputs, seed {options.seed}, {time.perf_counter() - started:.0f} s")
    print("outcomes:", dict(sorted(outcomes.items())))
    for number, name, what in failures[:20]:
        print(f"FAILED --seed {options.seed} --only {number} ({name}): {what}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
