"""Rows that a fitted MGVAE makes per second.

Run ``python benchmarks/generation.py [rows] [threads]`` (one thread unless more are asked for;
``MGVAE_DATA`` names the folder with Adult, without it a table of the same make is invented). For 20
numeric columns in an array, and for Adult in a pandas DataFrame and in an Arrow table, it fits the
defaults once and then calls ``generate`` ten times. The best call counts: the slower ones are those
that other work on the machine held up. The rate by the processor's seconds is what one thread
would reach if it had the processor to itself.
"""

import os
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa

from mgvae import MGVAE

ROUNDS = 10
WANTED = {"20 numbers": 500_000, "adult, pandas": 200_000, "adult, Arrow": 200_000}


def numbers():
    """Return 20 numeric columns with different tails, 2,000 of 20,000 rows of the minority."""
    rng = np.random.default_rng(0)
    y = np.arange(20_000) < 2_000
    X = rng.normal(size=(len(y), 20)) @ rng.normal(size=(20, 20)) + y[:, None]
    X[:, ::2] = np.exp(X[:, ::2] / 4)
    return X, y


def adult():
    """Return Adult, or a table of the same make."""
    if "MGVAE_DATA" in os.environ:
        from mgvae_paper.real_tables import read_labelled_table

        rows = read_labelled_table("adult")
        return rows.X.to_pandas(), rows.y == 1
    rng = np.random.default_rng(0)
    n = 48_842
    y = rng.random(n) < 0.24
    X = pd.DataFrame({f"number {i}": rng.poisson(40 + 5 * y) for i in range(6)})
    for i, levels in enumerate((9, 16, 7, 15, 6, 5, 2, 42)):
        names = np.array([f"level {level}" for level in range(levels)], object)
        X[f"category {i}"] = names[rng.integers(levels, size=n) * (1 + y) % levels]
    return X, y


def measure(sampler, n):
    """Return the least seconds and the least processor seconds of a call."""
    walls, owns = [], []
    for seed in range(ROUNDS):
        wall, own = time.perf_counter(), time.process_time()
        sampler.generate(n, True, random_state=seed)
        walls.append(time.perf_counter() - wall)
        owns.append(time.process_time() - own)
    return min(walls), min(owns)


def main():
    """Print a line for each table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    n_threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    X, y = adult()
    tables = {
        "20 numbers": numbers(),
        "adult, pandas": (X, y),
        "adult, Arrow": (pa.Table.from_pandas(X), y),
    }
    for name, (rows, labels) in tables.items():
        sampler = MGVAE(random_state=0, n_threads=n_threads).fit(rows, labels)
        wall, own = measure(sampler, n)
        print(
            f"{name:14} {n / wall:9,.0f} rows/s, by processor seconds {n / own:9,.0f} "
            f"(wanted: {WANTED[name]:,})",
            flush=True,
        )


if __name__ == "__main__":
    main()
