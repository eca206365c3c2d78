"""Kill a command at random moments, start it again, and compare what it wrote in the end.

``mgvae balance --checkpoint`` runs as a process of its own and is killed with SIGKILL after a
random part of the time that it takes alone; then the same command is started again, and so on until
one gets to its end. Its output must be, byte for byte, that of a run which nobody killed. Then all
begins anew in an empty folder, until there were enough kills.

    python benchmarks/kill_resume.py --kills 60 --seed 0
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

OPTIONS = ["--seed", "1", "--pretrain-steps", "400", "--finetune-steps", "150", "--quiet"]


def write_table(path: Path, rng: np.random.Generator) -> None:
    """Write a table of 1,060 rows, three classes, with numbers, categories and gaps."""
    y = np.repeat(["many", "some", "few"], [900, 120, 40])
    rows = [
        f"{rng.normal(2.0 * (name != 'many')):.4f},{rng.integers(100)},{rng.choice(list('abc'))},"
        f"{'' if rng.random() < 0.1 else round(rng.normal(), 3)},{name}"
        for name in rng.permutation(y)
    ]
    path.write_text("a,b,c,d,class\n" + "\n".join(rows) + "\n", encoding="utf-8")


def command(table: Path, out: Path, *more: str) -> list[str]:
    """Give the command that balances the table."""
    return [sys.executable, "-m", "mgvae.cli", "balance", str(table), "-t", "class",
            "-o", str(out), *OPTIONS, *more]  # fmt: skip


def stages(folder: Path) -> str:
    """Say how far a run had come: the last stage that has a file."""
    names = ["class-2", "class-0", "importance", "pre-training", "checkpoint"]
    found = {path.name.split(".")[0] for path in folder.glob("*.*")}
    return next((name for name in names if name in found), "nothing")


def main() -> None:
    """Run the experiment and print how it went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    kills, runs, ended, different = 0, 0, 0, 0
    reached: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        table, whole = Path(folder, "table.csv"), Path(folder, "whole.csv")
        write_table(table, rng)
        seconds = float("inf")
        for _ in range(3):  # the first one finds nothing in the disk's cache
            started = time.perf_counter()
            subprocess.run(command(table, whole, "--force"), check=True)
            seconds = min(seconds, time.perf_counter() - started)
        expected = whole.read_bytes()
        print(f"alone: {seconds:.1f} s, {len(expected)} bytes; seed {arguments.seed}", flush=True)
        while kills < arguments.kills:
            runs += 1
            state, out = Path(folder, f"run{runs}"), Path(folder, f"out{runs}.csv")
            while True:
                process = subprocess.Popen(
                    command(table, out, "--checkpoint", str(state), "--checkpoint-seconds", "0.05")
                )
                try:
                    code = process.wait(timeout=rng.uniform(0.0, seconds))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    kills += 1
                    reached[stages(state)] += 1
                    if not out.exists():
                        continue
                    code = 0  # it was killed after its work was done
                if code:
                    sys.exit(f"a run ended with code {code}")
                ended += 1
                different += out.read_bytes() != expected
                break
            print(f"{kills} kills, {ended} runs to the end, {different} different", flush=True)
    print("last file at the kill:", ", ".join(f"{name} {n}" for name, n in reached.most_common()))
    if different:
        sys.exit(f"{different} of {runs} outputs were different")


if __name__ == "__main__":
    main()
