"""From the outputs of a trained network to probabilities and labels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from mgvae.classifiers import training
from mgvae.classifiers.decisions import Judged, decide, decision_matrix
from mgvae.classifiers.epochs import flat_samples
from mgvae.classifiers.priors import correct_priors
from mgvae.codec import TableCodec, read_table
from mgvae.common.runtime import threads
from mgvae.errors import DataError

__all__ = ["NetworkOutputs"]


class NetworkOutputs:
    """What a classifier does after its network is trained.

    The network's probabilities are right for the shares of the classes that it was shown; they are
    carried back to the shares of the data where a decision or the user asks for it.
    """

    correct: str
    decide: str | float
    metric: str | Callable[[Any, Any], float]
    cost_matrix: Any
    n_threads: int | None

    classes_: NDArray[Any]
    codec_: TableCodec | None
    decision_matrix_: NDArray[np.float64]
    network_: nn.Module
    priors_: NDArray[np.float64]
    sample_shape_: tuple[int, ...]

    _scale: float  # factor on what comes out of the network, which gives logits
    _trained: NDArray[np.float64]  # shares of the classes that the network was shown

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row, as ``decide`` says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or images
            Rows like those of :meth:`fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        logits = self._logits(X)
        if self.decide == "trained":
            codes = logits.argmax(axis=1)
        else:
            codes = decide(self._at_true_shares(logits), self.decision_matrix_)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Return the probability of each class for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or images
            Rows like those of :meth:`fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; every row sums to 1.
        """
        logits = self._logits(X)
        return _softmax(logits) if self.correct == "none" else self._at_true_shares(logits)

    def decision_function(self, X: Any) -> NDArray[np.floating]:
        """Return the logits, or with two classes the log-odds of the second.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or images
            Rows like those of :meth:`fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
            Higher means more likely.
        """
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def _logits(self, X: Any) -> NDArray[np.floating]:
        check_is_fitted(self, "network_")
        X, sample_shape = flat_samples(self._encoded(X), self.sample_shape_)
        X = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        if sample_shape != self.sample_shape_:
            raise DataError(
                f"X must have samples of the shape {self.sample_shape_}, as in fit; "
                f"got {sample_shape}."
            )
        return self._outputs(X)

    def _outputs(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        with threads(self.n_threads):
            logits = training.outputs_of(self.network_, X, self.sample_shape_)
        return self._scale * logits

    def _at_true_shares(self, logits: NDArray[np.floating]) -> NDArray[np.float64]:
        return correct_priors(_softmax(logits).astype(np.float64), self.priors_, self._trained)

    def _settle(
        self, X: NDArray[np.floating], codes: NDArray[np.intp], weight: NDArray[np.float64]
    ) -> None:
        """Choose the decision, by the rows held out if it is to be tuned."""
        if self.decide == "trained":
            self.decision_matrix_ = np.diag(self._trained / self.priors_)
            return
        said = np.empty((0, len(self.classes_)))
        if len(X):
            said = self._at_true_shares(self._outputs(X))
        self.decision_matrix_ = decision_matrix(
            self.decide,
            self.classes_,
            self.priors_,
            Judged(said, codes, weight),
            metric=self.metric,
            cost_matrix=self.cost_matrix,
        )

    def _encoded(self, X: Any) -> Any:
        """Return a table that is not of numbers alone as the codec encodes it."""
        return X if self.codec_ is None else self.codec_.encode(read_table(X))

    def _flat(self, made: Any) -> NDArray[np.floating]:
        """Return samples that a sampler made as rows of numbers."""
        flat: NDArray[np.floating] = self._encoded(made)
        return flat.reshape(len(flat), -1)


def _softmax(logits: NDArray[np.floating]) -> NDArray[np.floating]:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: NDArray[np.floating] = odds / odds.sum(axis=1, keepdims=True)
    return probabilities
