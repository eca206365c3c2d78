"""Rows that a fitted MGVAE makes per second, on one thread and on all.

Run ``python benchmarks/generation.py [rows]`` (``MGVAE_DATA`` names the folder with Adult; without
it a table of the same make is invented). For 20 numeric columns in an array, and for Adult in a
pandas DataFrame and in an Arrow table, it fits the defaults once and then calls ``generate``
several times. The best call counts: the slower ones are those that other work on the machine held
up. Beside it stand the processor's seconds of that call for a million rows.
"""

import os
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa

from mgvae import MGVAE

ROUNDS = 5
WANTED = {"20 numbers": 500_000, "adult, pandas": 100_000, "adult, Arrow": 100_000}


def numbers():
    """Give 20 numeric columns with different tails, 2,000 of 20,000 rows of the minority."""
    rng = np.random.default_rng(0)
    y = np.arange(20_000) < 2_000
    X = rng.normal(size=(len(y), 20)) @ rng.normal(size=(20, 20)) + y[:, None]
    X[:, ::2] = np.exp(X[:, ::2] / 4)
    return X, y


def adult():
    """Give Adult, or a table of the same make."""
    if "MGVAE_DATA" in os.environ:
        from mgvae.bench.real_tables import read_rows

        rows = read_rows("adult")
        return rows.X.to_pandas(), rows.y == 1
    rng = np.random.default_rng(0)
    n = 48_842
    y = rng.random(n) < 0.24
    X = pd.DataFrame({f"number {i}": rng.poisson(40 + 5 * y) for i in range(6)})
    for i, levels in enumerate((9, 16, 7, 15, 6, 5, 2, 42)):
        names = np.array([f"level {level}" for level in range(levels)], object)
        X[f"category {i}"] = names[rng.integers(levels, size=n) * (1 + y) % levels]
    return X, y


def measure(sampler, n, n_threads):
    """Give the best seconds and processor seconds of a call."""
    sampler.set_params(n_threads=n_threads)
    found = []
    for seed in range(ROUNDS):
        wall, own = time.perf_counter(), time.process_time()
        sampler.generate(n, True, random_state=seed)
        found.append((time.perf_counter() - wall, time.process_time() - own))
    return min(found)


def main():
    """Print a line for each table and number of threads."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    X, y = adult()
    tables = {
        "20 numbers": numbers(),
        "adult, pandas": (X, y),
        "adult, Arrow": (pa.Table.from_pandas(X), y),
    }
    for name, (rows, labels) in tables.items():
        sampler = MGVAE(random_state=0).fit(rows, labels)
        for n_threads in (1, os.cpu_count()):
            wall, own = measure(sampler, n, n_threads)
            print(
                f"{name:14} {n_threads} thread(s): {n / wall:9,.0f} rows/s, "
                f"{own / n * 1e6:.2f} processor seconds for a million (wanted: "
                f"{WANTED[name]:,} rows/s)",
                flush=True,
            )


if __name__ == "__main__":
    main()
