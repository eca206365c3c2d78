"""Small data in the shape of the real ones."""

import numpy as np
import pytest
from mgvae_paper import data
from mgvae_paper.sources import PublishedData


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

    monkeypatch.setattr(data, "read_source", read)
