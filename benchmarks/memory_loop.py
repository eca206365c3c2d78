"""Fit again and again in one process; the memory must stay where it is.

Prints the resident memory after 20 and after 100 fits, and their ratio, for every sampler. The exit
code is 1 if it has grown by more than a tenth.

    python benchmarks/memory_loop.py
"""

import argparse
import gc
import re
import resource
import sys
import warnings
from pathlib import Path

import numpy as np

from mgvae import CGAN, CVAE, MGVAE

CASES = {
    "MGVAE": lambda seed: MGVAE(random_state=seed, pretrain_steps=30, finetune_steps=15),
    "CVAE": lambda seed: CVAE(random_state=seed, steps=30),
    "CGAN": lambda seed: CGAN(random_state=seed, steps=30, on_collapse="warn"),
}


def resident() -> float:
    """Return the memory that the process holds now, in MiB (its peak where /proc is not there)."""
    gc.collect()
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmRSS:\s*(\d+) kB", status.read_text(encoding="ascii"))
        return int(found[1]) / 1024 if found else float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> int:
    """Fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--early", type=int, default=20)
    parser.add_argument("--fits", type=int, default=100)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 20)).astype(np.float32)
    y = np.repeat([0, 1, 2], [4500, 400, 100])
    print(f"{'':8} {arguments.early:>5} fits {arguments.fits:>5} fits   ratio")
    grown = False
    for name, make in CASES.items():
        early = 0.0
        for i in range(1, arguments.fits + 1):
            make(i).fit_resample(X, y)
            if i == arguments.early:
                early = resident()
        late = resident()
        print(f"{name:8} {early:6.1f} MiB {late:6.1f} MiB   {late / early:.3f}", flush=True)
        grown |= late > 1.1 * early
    return int(grown)


if __name__ == "__main__":
    sys.exit(main())
