"""What importing the package costs beyond importing numpy, and how soon a command answers.

Each import runs in fresh processes of its own; the median is taken. ``import mgvae`` must
stay within 0.3 s of ``import numpy``; ``mgvae.metrics`` loads scikit-learn and ``mgvae.losses``
torch. ``mgvae --help`` shall answer within 0.25 s, and ``mgvae balance --dry-run`` of a table of
5,000 rows × 20 columns within 1.5 s. Of the commands, seconds of the processor are shown too, which
other work on the machine does not prolong.

    python benchmarks/imports.py
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROUNDS, LIMIT = 7, 0.3
MODULES = ("numpy", "mgvae", "mgvae.metrics", "mgvae.losses", "torch")


def seconds(module: str) -> float:
    """Time one fresh process that imports a module."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return time.perf_counter() - started


def command_seconds(*arguments: str) -> tuple[float, float]:
    """Time one fresh process of the command, by the clock and by the processor."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "mgvae", *arguments], check=True, stdout=subprocess.DEVNULL
    )
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ended - started, spent


def answers() -> None:
    """Print how soon commands answer."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        rows = np.random.default_rng(0).normal(size=(5_000, 21))
        rows[:, -1] = rows[:, -1] > 1.5
        names = ",".join([*(f"c{i}" for i in range(20)), "y"])
        np.savetxt(table, rows, "%.6g", ",", header=names, comments="")
        for arguments in (["--help"], ["balance", str(table), "-t", "y", "--dry-run"]):
            clock, spent = zip(*(command_seconds(*arguments) for _ in range(ROUNDS)), strict=True)
            name = " ".join(a for a in arguments if a != str(table))
            print(
                f"mgvae {name:25} {statistics.median(clock):6.3f} s, "
                f"processor {statistics.median(spent):6.3f} s"
            )


def main() -> int:
    """Print the median time of every import, and how much that is beyond numpy."""
    answers()
    for module in MODULES:
        seconds(module)  # once, so that every file is in the disk cache
    rounds = [{module: seconds(module) for module in MODULES} for _ in range(ROUNDS)]
    medians = {module: statistics.median(r[module] for r in rounds) for module in MODULES}
    for module, median in medians.items():
        print(f"import {module:14} {median:6.3f} s   numpy {median - medians['numpy']:+.3f} s")
    beyond = medians["mgvae"] - medians["numpy"]
    print(f"mgvae: {beyond:.3f} s beyond numpy (limit {LIMIT})")
    return int(beyond > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
