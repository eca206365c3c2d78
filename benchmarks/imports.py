"""What importing the package costs beyond importing numpy.

Each import runs in fresh processes of its own; the median is taken. ``import mgvae`` must
stay within 0.3 s of ``import numpy``; ``mgvae.metrics`` loads scikit-learn and ``mgvae.losses``
torch.

    python benchmarks/imports.py
"""

import statistics
import subprocess
import sys
import time

ROUNDS, LIMIT = 7, 0.3
MODULES = ("numpy", "mgvae", "mgvae.metrics", "mgvae.losses", "torch")


def seconds(module: str) -> float:
    """Time one fresh process that imports a module."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return time.perf_counter() - started


def main() -> int:
    """Print the median time of every import, and how much that is beyond numpy."""
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
