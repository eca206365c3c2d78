"""Balance a table that is larger than the memory allowed, and show that this limit is kept.

Makes a Parquet file of 10,000,000 rows × 20 columns (numbers with and without decimals, one with
missing cells, four columns of categories) and a target with 5,000 rows of the smaller class, then
balances it with MGVAE's defaults in a process of its own, so that 2,000,000 new rows are written.
Tables of 100,000 and 1,000,000 rows come before, to show what depends on the number of rows.

    python benchmarks/larger_than_memory.py
    python benchmarks/larger_than_memory.py --rows 1000000 --new 200000

Linux only: it reads /proc. Two figures of memory are given. The larger, the resident memory, also
counts pages of the file with the encoded rows that happen to be mapped; the other does not.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

_CHUNK = 2**18
_LIMIT = 2.0  # GB of resident memory


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


def balance(source: Path, output: Path, new: int, minority: int) -> dict[str, float]:
    """Balance a file, and give seconds and memory."""
    peak = _Anonymous()
    times: dict[str, float] = {}
    from mgvae import MGVAE
    from mgvae._disk import working_folder
    from mgvae.files import open_source, write_parquet
    from mgvae.samplers._job import Job, Trained
    from mgvae.streams._passes import balanced_batches, learn, look

    class Timed(MGVAE):
        def _train(self, job: Job) -> Trained:
            times["encode"] = time.perf_counter() - started
            return super()._train(job)

    sampler = Timed(sampling_strategy={"few": minority + new}, random_state=0)
    with working_folder() as folder:
        started = time.perf_counter()
        rows = open_source(source)
        seen = look(rows, "class", sampler)
        times["look"] = time.perf_counter() - started
        started = time.perf_counter()
        learn(sampler, rows, "class", seen, folder)
        times["train"] = time.perf_counter() - started - times["encode"]
        started = time.perf_counter()
        write_parquet(balanced_batches(sampler, rows, "class"), rows.schema, str(output))
        times["write"] = time.perf_counter() - started
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {**times, "resident": resident / 1e9, "anonymous": peak.stop() / 1e9}


class _Anonymous(threading.Thread):
    """Watches the memory that belongs to no file."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._done = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._done.wait(0.05):
            status = Path("/proc/self/status").read_text()
            kilobytes = int(status.split("RssAnon:")[1].split()[0])
            self.peak = max(self.peak, 1024 * kilobytes)

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
    parser.add_argument("--child", nargs=2, metavar=("SOURCE", "OUTPUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        source, output = map(Path, options.child)
        print(json.dumps(balance(source, output, options.new, options.minority)))
        return
    names = ("look", "encode", "train", "write", "resident", "anonymous")
    print("seconds of each step, and peak memory in GB")
    print(f"{'rows':>12} {'new rows':>10} " + " ".join(f"{name:>9}" for name in names), flush=True)
    for rows in sorted({100_000, 1_000_000, options.rows}):
        new = options.new if rows == options.rows else 100_000
        with tempfile.TemporaryDirectory(prefix="mgvae-benchmark-") as folder:
            source, output = Path(folder, "in.parquet"), Path(folder, "out.parquet")
            make_table(source, rows, options.minority)
            measured = ["--new", new, "--minority", options.minority, "--child", source, output]
            found = subprocess.run(
                [sys.executable, __file__, *map(str, measured)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            result = json.loads(found.stdout)
        print(
            f"{rows:>12,} {new:>10,} " + " ".join(f"{result[n]:>9.2f}" for n in names), flush=True
        )
    if result["resident"] > _LIMIT:
        sys.exit(f"{result['resident']:.2f} GB of resident memory, more than {_LIMIT:g} GB")


if __name__ == "__main__":
    main()
