"""Runs that fail, are killed, are resumed, and repeat themselves."""

import os
import signal
import subprocess
import sys
import time

import pytest

from mgvae.experiments import Cell, Store, run_cells, waiting

CELLS = [Cell("data", "method", "test", seed=seed) for seed in range(6)]


def fail_on_two(cell):
    if cell.seed == 2:
        raise RuntimeError("two is not for me")
    return {"twice": 2 * cell.seed}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_cell_is_noted_and_the_rest_goes_on(tmp_path, jobs):
    store = Store(tmp_path)
    outcomes = {c.seed: o for c, o in run_cells(CELLS, fail_on_two, store, jobs=jobs)}
    assert outcomes == {seed: "failed" if seed == 2 else "done" for seed in range(6)}
    assert store.get(CELLS[5])["twice"] == 10
    assert store.error(CELLS[2])["message"] == "two is not for me"
    assert waiting(CELLS, store) == []
    assert waiting(CELLS, store, retry=True) == [CELLS[2]]
    assert waiting([*CELLS, *CELLS], store, again=True) == CELLS


def who(cell):
    return {"process": os.getpid()}


def test_cells_that_share_something_stay_in_one_process(tmp_path):
    store = Store(tmp_path)
    done = [c for c, _ in run_cells(CELLS, who, store, jobs=2, together=lambda c: c.seed % 3)]
    assert sorted(cell.seed for cell in done) == list(range(6))
    processes = [store.get(cell)["process"] for cell in CELLS]
    assert processes[:3] == processes[3:]


SCRIPT = """
import json, sys, time
from pathlib import Path
from mgvae.experiments import Cell, Store, run_cells, waiting

class Stuck:
    # begins every cell, and ends only the first ones
    def __init__(self, log, ends):
        self.log, self.ends = log, ends
    def __call__(self, cell):
        with open(self.log, "a") as file:
            file.write(f"{cell.seed}\\n")
        if cell.seed >= self.ends:
            time.sleep(20)
        return {"seed": cell.seed}

if __name__ == "__main__":
    folder, jobs = Path(sys.argv[1]), int(sys.argv[2])
    cells = [Cell("data", "method", "test", seed=seed) for seed in range(6)]
    store = Store(folder / "results")
    work = Stuck(str(folder / "log"), int(sys.argv[3]))
    for _ in run_cells(waiting(cells, store), work, store, jobs=jobs):
        pass
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_killed_run_resumes_without_repeating_a_finished_cell(tmp_path, jobs):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, str(script), str(tmp_path), str(jobs)]
    ends = 3  # cells that the first run can end before it hangs
    store, log = Store(tmp_path / "results"), tmp_path / "log"
    process = subprocess.Popen([*command, str(ends)])
    deadline = time.monotonic() + 60
    while sum(store.has(cell) for cell in CELLS) < ends and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(2.0)  # workers notice within a second that they are alone
    finished = [cell.seed for cell in CELLS if store.has(cell)]
    assert finished == list(range(ends))
    log.unlink()

    subprocess.run([*command, str(len(CELLS))], check=True, timeout=60)
    assert all(store.has(cell) for cell in CELLS)
    assert sorted(map(int, log.read_text().split())) == sorted(set(range(6)) - set(finished))
    assert not [p for p in (tmp_path / "results").rglob("*") if p.suffix == ".tmp"]
