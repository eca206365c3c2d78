"""Runs that fail, are killed, are resumed, and repeat themselves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mgvae_paper.methods import make_cell
from mgvae_paper.protocols import Bench

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


SCRIPT = """
import json, sys, time
from pathlib import Path
from mgvae.experiments import Cell
from mgvae.experiments import run_cells, waiting
from mgvae.experiments import Store

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


def short(method, protocol, dataset="musk"):
    cell = make_cell(dataset, method, protocol)
    classifier = {**cell.parameters["classifier"], "epochs": 2}
    settings = {"pretrain_steps": 20, "finetune_steps": 10} if method == "MGVAE" else {}
    if method == "OCVAE":
        settings = {"steps": 20}
    parameters = {**cell.parameters, "classifier": classifier}
    if settings:
        parameters["settings"] = {**cell.parameters.get("settings", {}), **settings}
    return Cell(dataset, method, protocol, seed=1, parameters=parameters)


@pytest.mark.parametrize("protocol", ["paper", "clean"])
@pytest.mark.parametrize("method", ["ERM", "ROS", "SMOTE", "LDAM", "OCVAE", "MGVAE"])
def test_a_cell_repeats_itself(small_data, tmp_path, method, protocol):
    cell = short(method, protocol)
    first, second = (Bench(None, tmp_path / str(i))(cell) for i in range(2))
    for name in ("metrics", "confusion_matrix", "rows", "epoch", "settings"):
        assert first[name] == second[name]
    assert first.get("tuned") == second.get("tuned")
    assert ("tuned" in first) == (protocol == "clean")
    json.dumps(first, allow_nan=False)
    assert {"seconds", "peak_memory_mb", "versions", "commit"} <= set(first)
    balanced = first["rows"]["resampled"]
    resampling = method in ("SMOTE", "OCVAE", "MGVAE") or (method, protocol) == ("ROS", "clean")
    assert (balanced[0] == balanced[1]) == resampling


@pytest.mark.parametrize("method", ["SMOTE", "MGVAE"])
def test_cells_of_images(small_data, tmp_path, method):
    cell = short(method, "clean", "mnist-100")
    result = Bench(None, tmp_path)(cell)
    assert result["rows"]["resampled"] == [280, 280]
    assert sum(map(sum, result["confusion_matrix"])) == 200


def test_results_say_nothing_of_this_machine(small_data, tmp_path):
    text = json.dumps(Bench(tmp_path, tmp_path)(short("MGVAE", "paper")))
    assert str(tmp_path) not in text
    assert str(Path.home()) + "/" not in text
