"""Balance a table that is larger than the memory allowed, and show that this limit is kept.

Makes a Parquet file of 10,000,000 rows × 20 columns (numbers with and without decimals, one with
missing cells, four columns of categories) and a target with 5,000 rows of the smaller class, then
balances it with MGVAE's defaults in a process of its own, so that 2,000,000 new rows are written.
Tables of 100,000 and 1,000,000 rows come before, to show what depends on the number of rows.

    python benchmarks/larger_than_memory.py
    python benchmarks/larger_than_memory.py --rows 1000000 --new 200000

Linux only: it reads /proc. Each step is given in seconds and, below, in seconds of the processor,
which depend less on what else the machine does. Of memory, the resident part also counts pages of
files that are mapped, such as libraries; the anonymous part does not.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_CHUNK = 2**18
_LIMIT = 2.0  # GB of resident memory
_STEPS = ("look", "encode", "train", "write")
_CLOCKS = ("seconds", "processor")


def make_table(path: Path, rows: int, minority: int) -> None:
    """Write a table, a row group at a time; the same for the same numbers."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    few = np.random.default_rng(0).choice(rows, minority, replace=False)
    writer = None
    for start in range(0, rows, _CHUNK):
        n = min(_CHUNK, rows - start)
        rng = np.random.default_rng([1, start])
        y = np.zeros(n, bool)
        y[few[(few >= start) & (few < start + n)] - start] = True
        base = rng.normal(size=(n, 4)) + y[:, None] * np.array([1.5, -1.0, 0.5, 0.0])
        columns = {f"normal_{i}": base[:, i] + 0.5 * rng.normal(size=n) for i in range(4)}
        columns |= {f"skewed_{i}": np.exp(base[:, i] + rng.normal(size=n)) for i in range(4)}
        columns["price"] = np.round(rng.gamma(2.0 + y, 50.0), 2)
        columns["rate"] = rng.beta(2.0, 5.0 - 2.0 * y).astype(np.float32)
        measured = pa.array(base[:, 0] * base[:, 1], mask=rng.random(n) < 0.1)
        columns["count"] = rng.poisson(3.0 + 4.0 * y)
        columns["age"] = rng.integers(18, 90, n).astype(np.int8)
        columns["amount"] = rng.integers(0, 10**9, n)
        columns["score"] = np.rint(100 * base[:, 2]).astype(np.int32)
        columns["visits"] = rng.geometric(0.2, n)
        for name, levels in (("colour", 4), ("region", 12), ("product", 40)):
            chosen = np.minimum(rng.geometric(3 / levels, n) - 1, levels - 1)
            columns[name] = pa.DictionaryArray.from_arrays(
                pa.array(chosen.astype(np.int32)), [f"{name} {i}" for i in range(levels)]
            ).dictionary_decode()
        columns["flag"] = rng.random(n) < 0.3 + 0.4 * y
        table = pa.table({"measured": measured, **columns, "class": np.where(y, "few", "many")})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def balance(source: Path, output: Path, new: int, minority: int, devices: int) -> dict[str, Any]:
    """Balance a file, and return seconds and memory."""
    peak = _Anonymous()
    from mgvae import MGVAE
    from mgvae.codec.samples import Samples
    from mgvae.common.disk import working_folder
    from mgvae.common.rows import EncodedRows
    from mgvae.files import open_source, write_parquet
    from mgvae.samplers import learn, look, make
    from mgvae.streams import InBatches

    class Timed(InBatches):
        def encode(self, samples: Samples) -> EncodedRows:
            encoded = super().encode(samples)
            clock.stop("encode")
            return encoded

    strategy = {"few": minority + new}
    sampler = MGVAE(sampling_strategy=strategy, random_state=0, devices=devices)
    clock = _Clock()
    with working_folder() as folder:
        given = Timed(open_source(source), "class", folder=folder)
        seen = look(sampler, given)
        clock.stop("look")
        seeds = learn(sampler, given, seen)
        clock.stop("train")
        batches = given.balanced(sampler.state_, make(sampler.state_, seeds, sampler.n_threads))
        write_parquet(batches, given.schema(None), str(output))
        clock.stop("write")
    return {
        "seconds": clock.seconds,
        "processor": clock.processor,
        "memory": [_largest_resident() / 1e9, peak.stop() / 1e9],
    }


class _Clock:
    """Measures one step after the other."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self._last = time.perf_counter(), time.process_time()

    def stop(self, step: str) -> None:
        now = time.perf_counter(), time.process_time()
        self.seconds[step], self.processor[step] = (
            after - before for after, before in zip(now, self._last, strict=True)
        )
        self._last = now


def _memory(which: str) -> int:
    """Return the bytes of a kind of memory; ``VmHWM`` is the most that was resident at any time."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(f"{which}:")[1].split()[0])


def _largest_resident() -> int:
    """Return the most bytes that this process, or one that it started, had resident."""
    started = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return max(_memory("VmHWM"), started)


class _Anonymous(threading.Thread):
    """Watches the memory that belongs to no file."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._done = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._done.wait(0.05):
            self.peak = max(self.peak, _memory("RssAnon"))

    def stop(self) -> int:
        self._done.set()
        self.join()
        return self.peak


def main() -> None:
    """Run the benchmark, or (with ``--child``) the part of it that is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--new", type=int, default=2_000_000, help="new rows to write")
    parser.add_argument("--minority", type=int, default=5000)
    parser.add_argument("--devices", type=int, default=1, help="processes that train together")
    parser.add_argument("--child", nargs=2, metavar=("SOURCE", "OUTPUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        source, output = map(Path, options.child)
        found = balance(source, output, options.new, options.minority, options.devices)
        print(json.dumps(found))
        return
    print("seconds of each step (below: of the processor), and peak memory in GB")
    print(f"{'rows':>12} {'new rows':>10}" + _line((*_STEPS, "resident", "anonymous")), flush=True)
    for rows in sorted({100_000, 1_000_000, options.rows}):
        new = options.new if rows == options.rows else 100_000
        with tempfile.TemporaryDirectory(prefix="mgvae-benchmark-") as folder:
            source, output = Path(folder, "in.parquet"), Path(folder, "out.parquet")
            make_table(source, rows, options.minority)
            measured = ["--new", new, "--minority", options.minority, "--devices", options.devices]
            measured += ["--child", source, output]
            found = subprocess.run(
                [sys.executable, __file__, *map(str, measured)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            result = json.loads(found.stdout)
        seconds, processor = ([result[kind][step] for step in _STEPS] for kind in _CLOCKS)
        print(f"{rows:>12,} {new:>10,}" + _line([*seconds, *result["memory"]]))
        print(" " * 23 + _line(processor), flush=True)
    resident = result["memory"][0]
    if resident > _LIMIT:
        sys.exit(f"{resident:.2f} GB of resident memory, more than {_LIMIT:g} GB")


def _line(cells: Iterable[str | float]) -> str:
    texts = (cell if isinstance(cell, str) else f"{cell:.2f}" for cell in cells)
    return "".join(f"{text:>10}" for text in texts)


if __name__ == "__main__":
    main()
