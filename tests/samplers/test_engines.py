"""Engines that spread many fits and very many rows: real clusters, whose workers get killed.

A cluster has two workers in processes of their own. The code of docs/distributed.md runs on both.
"""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

from mgvae import MGVAE
from mgvae.compare import compare
from tests.deadly import DeadlyNetwork
from tests.stored import with_stored_guides

ROOT = Path(__file__).parents[2]
WORKER = "MGVAE_TEST_WORKER"  # set in the environment of workers alone
QUICK = {"random_state": 0, "pretrain_steps": 20, "finetune_steps": 15}
COMPARED = {"models": ["logistic"], "methods": ["ROS"], "folds": 2, "repeats": 1}
AGAIN = {"max_restarts": 1, "max_task_retries": 1}


def data():
    """Four classes in a pandas table."""
    rng = np.random.default_rng(0)
    sizes = [150, 30, 8, 10]
    X = np.concatenate([rng.normal(2 * k, 1.0, (n, 3)) for k, n in enumerate(sizes)])
    return pd.DataFrame(X, columns=list("abc")), np.repeat(range(4), sizes)


@pytest.fixture(scope="module")
def dask():
    """Start a scheduler and two workers as processes; give the scheduler's address."""
    distributed = pytest.importorskip("distributed", reason="mgvae[dask] is not installed")
    with tempfile.TemporaryDirectory() as folder:
        address = Path(folder, "scheduler.json")
        common = ["--scheduler-file", str(address), "--no-dashboard"]
        scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", "0", *common]
        worker = ["dask_worker", "--nthreads", "1", "--local-directory", folder, *common]
        log = Path(folder, "log").open("wb")  # noqa: SIM115 (closed below)
        running = [
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{command[0]}", *command[1:]],
                stdout=log, stderr=log, start_new_session=True, cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), **more},
            )
            for command, more in ((scheduler, {}), (worker, {WORKER: "1"}), (worker, {WORKER: "1"}))
        ]  # fmt: skip
        try:
            with distributed.Client(scheduler_file=str(address), timeout=120) as client:
                client.wait_for_workers(2, timeout=120)
                yield json.loads(address.read_text(encoding="utf-8"))["address"]
        finally:
            for process in running:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            log.close()


@pytest.fixture(scope="module")
def ray():
    """Start a cluster of two workers."""
    engine = pytest.importorskip("ray", reason="mgvae[ray] is not installed")
    from ray.util.joblib import register_ray

    folder = tempfile.mkdtemp(prefix="ray-")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv(WORKER, "1")
        engine.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=100 * 2**20,
            _temp_dir=folder,
        )
        patch.delenv(WORKER)
        register_ray()
        yield engine
        engine.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


def same_scores(first, second):
    """Tell whether two comparisons found the same, but for the time it took."""
    found = []
    for comparison in (first, second):
        scores = comparison.as_dict()["scores"]["logistic"]
        found.append({method: {**by, "seconds": None} for method, by in scores.items()})
    return found[0] == found[1]


ON_RAY = {"backend": "ray", "n_jobs": -1, "ray_remote_args": AGAIN}


@pytest.mark.parametrize(("engine", "settings"), [("dask", {"backend": "dask"}), ("ray", ON_RAY)])
def test_a_worker_that_is_killed_changes_nothing(engine, settings, request, tmp_path):
    request.getfixturevalue(engine)
    network = DeadlyNetwork(tmp_path / "died", ((WORKER, "1"),))
    alone = MGVAE(**QUICK, network=network).fit_resample(*data())
    assert not (tmp_path / "died").exists()
    with joblib.parallel_config(**settings):
        spread = MGVAE(**QUICK, network=network).fit_resample(*data())
    assert (tmp_path / "died").exists()
    pd.testing.assert_frame_equal(spread[0], alone[0])
    np.testing.assert_array_equal(spread[1], alone[1])


def test_the_code_of_the_documentation(dask, ray, tmp_path):
    X, y = data()
    names = {"scheduler": dask, "X": X, "y": y, "folder": str(tmp_path)}
    text = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        if "devices=2" not in block:  # tests/test_distributed_training.py
            exec(compile(block, "docs/distributed.md", "exec"), names)  # noqa: S102
    names["client"].close()
    for found in (names["found"], names["same"]):
        assert same_scores(found, compare(X, y, **COMPARED))
    alone = with_stored_guides(MGVAE(random_state=0).fit(X, y))
    parts = [alone.generate(10_000, 1, 0, partition=(i, 8)) for i in range(8)]
    expected = pd.concat(parts).sort_values(["a", "b", "c"], ignore_index=True)
    assert not expected.duplicated().any()
    for folder in ("rows", "rows-of-ray"):
        found = pd.read_parquet(tmp_path / folder)[["a", "b", "c"]]
        found = found.sort_values(["a", "b", "c"], ignore_index=True)
        pd.testing.assert_frame_equal(found, expected, check_column_type=False)
