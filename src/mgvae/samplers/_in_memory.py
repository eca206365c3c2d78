"""Rows that are in memory: arrays, lists, data frames and images."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from mgvae.codec import append_labels
from mgvae.codec.samples import Samples
from mgvae.common.rows import EncodedRows, MemoryRows
from mgvae.samplers._target import read_target

__all__ = ["InMemory"]


class InMemory:
    """A user's X and y.

    Parameters
    ----------
    X : array or table of shape (n_samples, n_features), or images
        The rows.
    y : array-like of shape (n_samples,) or (n_samples, n_classes)
        The class of each row, or one column per class.
    name : str
        Who asks, for messages.
    """

    def __init__(self, X: Any, y: Any, name: str) -> None:
        self.sample = X
        self.y = y
        self.name = name
        self.n_rows = 0
        self._contents: Any = None
        self._n_columns = 0

    @property
    def example(self) -> Any:
        """X without rows."""
        return self.sample[:0]

    def observe(self, samples: Samples) -> tuple[NDArray[Any], NDArray[Any]]:
        """Fit the codec; return the labels, sorted, and the class of every row among them."""
        self._contents = samples.read(self.sample)
        labels, self._n_columns = read_target(self.y, self.name)
        check_consistent_length(self.sample, labels)
        self.n_rows = len(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        samples.codec.fit(self._contents)
        return classes, codes

    def encode(self, samples: Samples) -> EncodedRows:
        """Encode all rows."""
        return MemoryRows(torch.from_numpy(samples.codec.encode(self._contents)))

    def append(
        self, samples: Samples, new: Any, classes: NDArray[Any], codes: NDArray[np.int64]
    ) -> tuple[Any, Any]:
        """Return X and y with new samples below, whose classes are given by their codes."""
        labels = classes[codes]
        if self._n_columns:
            labels = np.eye(self._n_columns, dtype=np.int64)[labels]
        X = samples.append(self.sample, new)
        return X, append_labels(self.y, labels, X)
