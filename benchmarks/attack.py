"""Attack the library in every way that is known here, and print what came of it.

Each line of the table is a script of this folder that can also run alone, with the seed that is
shown: fuzzers of inputs and of model files, attempts to work rows out of model files, processes
that are killed at random moments, and measurements of memory. A script that finds something says
how to repeat it and ends with an exit code that is not 0. The whole takes hours; ``--share 0.01``
tries a hundredth of everything.

    python benchmarks/attack.py
    python benchmarks/attack.py --share 0.01 --only fuzz_models.py recover_rows.py
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent


def attacks(share: float, seed: int) -> list[list[str]]:
    """Return the commands, each with its part of the counts."""

    def part(count: int, least: int = 1) -> str:
        return str(max(least, round(share * count)))

    small = ["--rows", part(10_000_000, 100_000), "--new", part(2_000_000, 20_000)]
    return [
        ["fuzz_inputs.py", "--count", part(10_000), "--seed", str(seed)],
        ["fuzz_models.py", "--count", part(10_000), "--seed", str(seed)],
        ["recover_rows.py", "--seeds", part(5)],
        ["recover_rows.py", "--seeds", part(5), "--without-rows"],
        ["recover_categories.py", "--seeds", part(5)],
        ["kill_resume.py", "--kills", part(200), "--seed", str(seed)],
        ["memory_loop.py", "--fits", part(100, 8), "--early", part(20, 4)],
        ["larger_than_memory.py", *(small if share < 1 else [])],
    ]


def main(given: Sequence[str] | None = None) -> int:
    """Run all attacks, one after the other, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="part of the counts to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", metavar="SCRIPT")
    chosen = parser.parse_args(given)
    lines, failed = [], 0
    for name, *options in attacks(chosen.share, chosen.seed):
        if chosen.only and name not in chosen.only:
            continue
        print(f"== {name} {' '.join(options)}", flush=True)
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, HERE / name, *options], stdout=subprocess.PIPE, text=True, check=False
        )
        print(done.stdout, flush=True)
        said = done.stdout.strip().splitlines() or ["nothing"]
        outcome = "held" if done.returncode == 0 else "FOUND"
        failed += done.returncode != 0
        seconds = time.perf_counter() - started
        lines.append(f"{outcome:6s}{seconds:8.0f} s  {name} {' '.join(options)}: {said[-1]}")
    print("\n".join(lines))
    print(f"{len(lines)} attacks, {failed} with findings, seed {chosen.seed}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
