"""What several test files need."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

settings.register_profile("mgvae", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("mgvae")

torch.set_num_threads(1)


def pytest_configure() -> None:
    """Let Ctrl-C interrupt: what a shell starts in the background ignores it from birth."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def data_folder() -> Callable[[str], Path]:
    """Find a real data set below the folder named by MGVAE_DATA, or skip and say why."""

    def find(relative: str) -> Path:
        root = os.environ.get("MGVAE_DATA")
        if not root:
            pytest.skip("MGVAE_DATA is not set: the real data sets are not at hand")
        path = Path(root) / relative
        if not path.exists():
            pytest.skip(f"MGVAE_DATA has no {relative}")
        return path

    return find


@pytest.fixture
def imbalanced() -> tuple[np.ndarray, np.ndarray]:
    """Three Gaussian classes of 200, 40 and 8 rows in five columns."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 1.0, (n, 5)) for m, n in [(0.0, 200), (2.0, 40), (-2.0, 8)]])
    y = np.repeat(["many", "some", "few"], [200, 40, 8])
    order = rng.permutation(len(y))
    return X[order], y[order]
