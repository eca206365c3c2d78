r"""What MGVAE is measured against inside its own codec, without any network.

``CodecSMOTE`` interpolates encoded rows as SMOTE does. ``BorrowedDifference`` moves a minority row
by a difference that the majority shows: with a minority row :math:`m`, a majority row :math:`n` and
one of its ten nearest majority neighbours :math:`k`, all encoded,

.. math:: x' = x^-_m + u \, (x^+_k - x^+_n), \qquad u \sim U(0, 1).

Both decode what they made by the codec, so that whatever MGVAE gains over them its network gains.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTE
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors

from mgvae.codec import TableCodec, append_rows, read_table

__all__ = ["BorrowedDifference", "CodecSMOTE", "CodecSampler"]

Encoded = NDArray[np.float32]

_NEIGHBOURS = 10


class CodecSampler(BaseEstimator, ABC):  # type: ignore[misc]
    """Balance two classes by rows that are made and decoded in the codec's space.

    Parameters
    ----------
    random_state : int
        Decides everything.
    codec : bool
        Whether there is a codec; without one, rows are numbers in one range, as those of images.
    sampling_strategy : "auto" or dict
        Balance, or the wanted number of rows of the smaller class by its label, 1.
    """

    _sampling_type = "over-sampling"

    def __init__(
        self, random_state: int = 0, *, codec: bool = True, sampling_strategy: Any = "auto"
    ) -> None:
        self.random_state = random_state
        self.codec = codec
        self.sampling_strategy = sampling_strategy

    def fit_resample(self, X: Any, y: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        """Return the rows of X and, below them, new ones of the smaller class.

        Parameters
        ----------
        X : array or table
            The rows.
        y : ndarray of int
            Their classes, 1 for the minority and 0 for the majority.
        """
        rng = np.random.default_rng(self.random_state)
        wanted = int((y == 0).sum())
        if self.sampling_strategy != "auto":
            wanted = self.sampling_strategy[1]
        n = wanted - int((y == 1).sum())
        labels = np.concatenate([y, np.ones(n, np.int64)])
        if not self.codec:
            made = self._make(X[y == 1], X[y == 0], n, rng)
            return np.concatenate([X, np.clip(made, X.min(), X.max())]), labels
        table = read_table(X)
        codec = TableCodec().fit(table)
        rows = codec.encode(table)
        made = self._make(rows[y == 1], rows[y == 0], n, rng)
        return append_rows(X, codec.decode(made, rng)), labels

    @abstractmethod
    def _make(
        self, minority: Encoded, majority: Encoded, n: int, rng: np.random.Generator
    ) -> Encoded:
        """Make ``n`` encoded rows of the minority."""


class CodecSMOTE(CodecSampler):
    """SMOTE on encoded rows; with few minority rows, fewer than five neighbours.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [8.0]]), np.array([0, 0, 0, 0, 1, 1])
    >>> CodecSMOTE().fit_resample(X, y)[0].shape
    (8, 1)
    """

    def _make(
        self, minority: Encoded, majority: Encoded, n: int, rng: np.random.Generator
    ) -> Encoded:

        smote = SMOTE(
            k_neighbors=max(1, min(5, len(minority) - 1)),
            random_state=int(rng.integers(2**31)),
        )
        rows = np.concatenate([majority, minority])
        classes = np.repeat([0, 1], [len(majority), len(minority)])
        made: Encoded = smote.fit_resample(rows, classes)[0][len(rows) :]
        return made[:n]


class BorrowedDifference(CodecSampler):
    """Minority rows moved by differences between neighbouring majority rows.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [8.0]]), np.array([0, 0, 0, 0, 1, 1])
    >>> BorrowedDifference().fit_resample(X, y)[1]
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    def _make(
        self, minority: Encoded, majority: Encoded, n: int, rng: np.random.Generator
    ) -> Encoded:

        anchors = rng.integers(len(minority), size=n)
        firsts = rng.integers(len(majority), size=n)
        k = min(_NEIGHBOURS, len(majority) - 1)
        near = NearestNeighbors(n_neighbors=k).fit(majority)
        drawn, places = np.unique(firsts, return_inverse=True)
        _, found = near.kneighbors(majority[drawn], n_neighbors=k + 1)
        others = [row[row != self_][:k] for row, self_ in zip(found, drawn, strict=True)]
        seconds = np.stack(others)[places, rng.integers(k, size=n)]
        steps = rng.random((n, 1), dtype=np.float32)
        moved: Encoded = minority[anchors] + steps * (majority[seconds] - majority[firsts])
        return moved
