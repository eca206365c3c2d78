"""Many fits at once: each gives the bits that it gives alone, and nothing is left behind."""

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import torch
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor

from mgvae import CGAN, CVAE, MGVAE

CASES = [
    (MGVAE, {"pretrain_steps": 40, "finetune_steps": 20}),
    (MGVAE, {"pretrain_steps": 30, "finetune_steps": 30, "early_stopping": True}),
    (CVAE, {"steps": 50}),
    (CGAN, {"steps": 50, "hidden_sizes": (16,), "on_collapse": "warn"}),
]

pytestmark = pytest.mark.filterwarnings("ignore::mgvae.errors.CollapseWarning")


def data():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 1.0, (n, 4)) for m, n in [(0, 150), (2, 40), (-2, 8)]])
    return X, np.repeat(["many", "some", "few"], [150, 40, 8])


def fit(number):
    """Fit one of the cases with a seed of its own; give what came out as bytes."""
    sampler, settings = CASES[number % len(CASES)]
    X, y = sampler(random_state=number, **settings).fit_resample(*data())
    return X.tobytes(), y.tobytes()


@pytest.fixture(scope="module")
def alone():
    return [fit(number) for number in range(8)]


@pytest.fixture(autouse=True)
def _no_idle_workers():
    """End joblib's workers of earlier tests, which would otherwise end when they like."""
    get_reusable_executor().shutdown(wait=True)


def leftovers():
    """What a fit could leave behind in this process."""
    return {
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "children": {process.pid for process in multiprocessing.active_children()},
        "files": len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0,
        "torch threads": torch.get_num_threads(),
    }


def test_eight_threads(alone):
    before = leftovers()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(fit, range(8)))
    assert together == alone
    assert leftovers() == before


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_four_forked_processes(alone):
    before = leftovers()
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("fork")) as pool:
        assert list(pool.map(fit, range(8))) == alone
    assert leftovers() == before


def test_a_spawned_process(alone):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(fit, 1).result() == alone[1]


def test_a_fit_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    fit(0)  # what is loaded at the first use stays
    before = leftovers()
    for number in range(4):
        fit(number)
    assert leftovers() == before
    assert os.listdir(tmp_path) == []


def test_more_torch_threads_are_given_back():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        MGVAE(n_threads=1, pretrain_steps=5, finetune_steps=5).fit_resample(*data())
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_workers_of_joblib(alone):
    assert Parallel(n_jobs=2)(delayed(fit)(number) for number in (0, 1)) == alone[:2]
