"""What several test files need; among it, small data in the shape of the real ones."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

from mgvae_paper import data, real_tables
from mgvae_paper.sources import PublishedData

settings.register_profile("mgvae", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("mgvae")

torch.set_num_threads(1)


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
def small_data(monkeypatch):
    """Stand in for every data set: digits that differ in one bright row, tables of two classes."""

    def read(family, folder=None):
        rng = np.random.default_rng(0)
        if family in ("mnist", "fashionmnist"):
            y = np.tile(np.arange(10), 90)
            X = rng.integers(0, 60, (900, 28, 28)).astype(np.uint8)
            X[np.arange(900), 2 * y] = 250
            return PublishedData(X, y, test=np.arange(900) >= 700)
        y = np.repeat([1, 0], [400, 900])
        X = (rng.normal(size=(1300, 6)) + 2.0 * y[:, None]).astype(np.float32)
        return PublishedData(X, y, groups=np.arange(1300) // 10)

    for module in (data, real_tables):
        monkeypatch.setattr(module, "read_source", read)
