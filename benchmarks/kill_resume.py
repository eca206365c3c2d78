"""Kill a command at random moments, start it again, and compare what it wrote in the end.

``mgvae balance --checkpoint`` runs in a process of its own and is killed with SIGKILL after a
random part of the time that it takes alone; then the same command is started again, and so on until
one gets to its end. Its output must be, byte for byte, that of a run which nobody killed. Then all
begins anew in an empty folder, until there were enough kills.

The processes are forked from one that has loaded everything, so that they are killed at work and
not while they load torch; ``--fresh`` starts a new interpreter each time, which takes long.

    python benchmarks/kill_resume.py --kills 60 --seed 0
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

from mgvae.cli._run import run

OPTIONS = ["--seed", "1", "--pretrain-steps", "200", "--finetune-steps", "80", "--quiet"]


def write_table(path: Path, rng: np.random.Generator) -> None:
    """Write a table of 1,060 rows, three classes, with numbers, categories and gaps."""
    y = np.repeat(["many", "some", "few"], [900, 120, 40])
    rows = [
        f"{rng.normal(2.0 * (name != 'many')):.4f},{rng.integers(100)},{rng.choice(list('abc'))},"
        f"{'' if rng.random() < 0.1 else round(rng.normal(), 3)},{name}"
        for name in rng.permutation(y)
    ]
    path.write_text("a,b,c,d,class\n" + "\n".join(rows) + "\n", encoding="utf-8")


def start(table: Path, out: Path, *more: str, fresh: bool) -> BaseProcess:
    """Start a process that balances the table."""
    arguments = ["balance", str(table), "-t", "class", "-o", str(out), *OPTIONS, *more]
    work = partial(in_new_interpreter if fresh else in_this_one, arguments)
    process = get_context("fork").Process(target=work)
    process.start()
    return process


def in_this_one(arguments: list[str]) -> None:
    """Run the command in this process."""
    sys.exit(run(arguments))


def in_new_interpreter(arguments: list[str]) -> None:
    """Become the command."""
    os.execv(sys.executable, [sys.executable, "-m", "mgvae.cli", *arguments])  # noqa: S606


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
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    kills, runs, ended, different = 0, 0, 0, 0
    reached: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        table, whole = Path(folder, "table.csv"), Path(folder, "whole.csv")
        write_table(table, rng)
        run(["balance", str(table), "-t", "class", "-o", str(whole), *OPTIONS])  # loads everything
        seconds = float("inf")
        for _ in range(3):
            started = time.perf_counter()
            start(table, whole, "--force", fresh=arguments.fresh).join()
            seconds = min(seconds, time.perf_counter() - started)
        expected = whole.read_bytes()
        print(f"alone: {seconds:.1f} s, {len(expected)} bytes; seed {arguments.seed}", flush=True)
        while kills < arguments.kills:
            runs += 1
            state, out = Path(folder, f"run{runs}"), Path(folder, f"out{runs}.csv")
            while True:
                keep = ["--checkpoint", str(state), "--checkpoint-seconds", "0.02"]
                process = start(table, out, *keep, fresh=arguments.fresh)
                process.join(timeout=rng.uniform(0.0, seconds))
                if process.is_alive():
                    process.kill()
                    process.join()
                    kills += 1
                    reached[stages(state)] += 1
                    if not out.exists():
                        continue
                elif process.exitcode:
                    sys.exit(f"a run ended with code {process.exitcode}")
                ended += 1
                different += out.read_bytes() != expected
                break
            print(f"{kills} kills, {ended} runs to the end, {different} different", flush=True)
    print("last file at the kill:", ", ".join(f"{name} {n}" for name, n in reached.most_common()))
    if different:
        sys.exit(f"{different} of {runs} outputs were different")


if __name__ == "__main__":
    main()
