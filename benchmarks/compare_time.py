"""Processor seconds of a whole comparison: 5,000 rows of 20 numbers, all defaults, one process.

    python benchmarks/compare_time.py

The cells of a comparison do not wait for each other, so that two cores take about half of it by
the clock, and the start of one more process. ``time mgvae compare table.csv -t y`` tells.
"""

import time
from collections import Counter

import numpy as np

from mgvae.compare import compare
from mgvae.compare._work import CrossValidation


def main() -> None:
    """Print the seconds of all, and of every method with every classifier."""
    rng = np.random.default_rng(0)
    y = (rng.random(5_000) < 0.05).astype(int)
    X = rng.normal(size=(len(y), 20)) + 0.7 * y[:, None]
    spent: Counter[tuple[str, str]] = Counter()
    work = CrossValidation.__call__

    def timed(self, cell):
        begin = time.process_time()
        found = work(self, cell)
        spent[cell.method, cell.parameters["model"]] += time.process_time() - begin
        return found

    CrossValidation.__call__ = timed
    begin = time.process_time()
    compare(X, y)
    print(f"{'all':40}{time.process_time() - begin:8.1f} s")
    for (method, model), seconds in spent.most_common():
        print(f"{f'{method} with {model}':40}{seconds:8.1f} s")


if __name__ == "__main__":
    main()
