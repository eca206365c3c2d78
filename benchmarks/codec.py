"""How long the table codec takes, and how much memory, on a million mixed rows.

Run ``python benchmarks/codec.py [rows]``. It fits, encodes and decodes a pandas DataFrame of 20
columns of every kind and prints the seconds of each stage and the peak of resident memory.
"""

import resource
import sys
import time
import warnings

import numpy as np
import pandas as pd

from mgvae.codec import TableCodec, only_rows, read_table
from mgvae.errors import CodecWarning


def mixed(n: int) -> pd.DataFrame:
    """Make 20 columns: 7 continuous, 4 integer, 5 categorical, 1 boolean, 2 of time, 1 constant."""
    rng = np.random.default_rng(0)
    holes = rng.random(n) < 0.1
    cities = np.array([f"city {i}" for i in range(5_000)], dtype=object)
    return pd.DataFrame(
        {
            "normal": rng.normal(size=n),
            "normal32": rng.normal(size=n).astype(np.float32),
            "heavy": np.exp(3 * rng.normal(size=n)),
            "zeros": np.where(rng.random(n) < 0.7, 0.0, rng.gamma(1.0, size=n)),
            "cents": np.round(rng.gamma(2.0, 30.0, n), 2),
            "holes": np.where(holes, np.nan, rng.normal(size=n)),
            "whole": np.rint(rng.normal(0.0, 1_000.0, n)),
            "age": rng.integers(18, 90, n).astype(np.int8),
            "count": rng.poisson(3.0, n),
            "large": rng.integers(0, 2**62, n),
            "nullable": pd.arrays.IntegerArray(rng.integers(0, 500, n), holes),
            "two": rng.choice(np.array(["yes", "no"], dtype=object), n),
            "nine": rng.choice(np.array(list("abcdefghi"), dtype=object), n),
            "sixty": pd.Categorical.from_codes(
                rng.integers(0, 60, n), [f"c{i}" for i in range(60)]
            ),
            "ordered": pd.Categorical.from_codes(
                rng.integers(0, 4, n), ["low", "mid", "high", "top"], ordered=True
            ),
            "city": cities[rng.zipf(1.3, n) % 5_000],
            "flag": rng.random(n) < 0.2,
            "when": pd.Timestamp("2020") + pd.to_timedelta(rng.integers(0, 10**8, n), unit="s"),
            "took": pd.to_timedelta(rng.gamma(2.0, 500.0, n).astype(int), unit="s"),
            "constant": np.ones(n),
        }
    )


def main() -> None:
    """Measure one run."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    X = mixed(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds: dict[str, float] = {}
    started = time.perf_counter()

    def lap(stage: str) -> None:
        seconds[stage] = time.perf_counter() - started - sum(seconds.values())

    warnings.simplefilter("ignore", CodecWarning)
    table = read_table(X)
    lap("read")
    codec = TableCodec().fit(table)
    lap("fit")
    encoded = codec.encode(table)
    lap("encode")
    columns = codec.decode(encoded, np.random.default_rng(0))
    lap("decode")
    only_rows(X, columns)
    lap("rebuild")

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{n:,} rows x {X.shape[1]} columns, encoded width {codec.width}")
    for stage, spent in seconds.items():
        print(f"{stage:>8} {spent:7.2f} s")
    print(f"{'total':>8} {sum(seconds.values()):7.2f} s (target: under 30 s)")
    print(f"peak resident memory {peak:.2f} GiB, {before:.2f} of it the table (target: under 3 GB)")


if __name__ == "__main__":
    main()
