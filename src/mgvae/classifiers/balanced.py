r"""Probabilities after resampling.

A classifier that is trained on resampled rows believes that the classes are as frequent as they
were there. By Bayes' rule only the priors differ, as long as the rows of each class are still drawn
from that class. With :math:`\pi_c` the share of class :math:`c` in the data and :math:`\pi'_c` its
share after resampling,

.. math::
    p(c \mid x) = \frac{p'(c \mid x)\, \pi_c / \pi'_c}{\sum_k p'(k \mid x)\, \pi_k / \pi'_k} .

:class:`BalancedClassifier` trains on resampled rows and gives back these probabilities.
"""

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mgvae.common.runtime import seed_sequence
from mgvae.errors import DataError

__all__ = ["BalancedClassifier", "correct_priors"]

Floats = NDArray[np.float64]


def correct_priors(probabilities: Floats, true: Floats, trained: Floats) -> Floats:
    """Carry probabilities over from the priors of the training rows to the true ones.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        What the classifier says.
    true : ndarray of shape (n_classes,)
        How frequent the classes are.
    trained : ndarray of shape (n_classes,)
        How frequent they were among the rows it was trained on.

    Returns
    -------
    corrected : ndarray of shape (n_samples, n_classes)
        Each row sums to one.

    Examples
    --------
    >>> even = np.array([0.5, 0.5])
    >>> correct_priors(np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([0.9, 0.1]), even)
    array([[0.9, 0.1],
           [0.5, 0.5]])
    """
    weighted = probabilities * (true / trained)
    total = weighted.sum(1, keepdims=True)
    # where a class that hardly exists got all the probability, nothing else is known either
    corrected: Floats = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), true)
    return corrected


def _can_tell(classifier: "BalancedClassifier") -> bool:
    return hasattr(classifier.estimator, "predict_proba")


class BalancedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier trained on resampled rows whose probabilities are those of the data.

    .. versionadded:: 0.1

    Parameters
    ----------
    estimator : classifier
        What is trained; it is cloned.
    sampler : imbalanced-learn sampler
        What resamples the training rows, such as :class:`mgvae.MGVAE`; it is cloned.
    correct : {"priors", "none"}, default="priors"
        Whether ``predict_proba`` is carried back to the true shares of the classes.
    calibration : {"sigmoid", "isotonic"} or None, default=None
        Calibrate on a part of the training rows that neither sampler nor estimator sees. The part
        has the true shares of the classes, so that this takes the place of the correction.
    calibration_fraction : float, default=0.2
        How large that part is.
    decide : {"balanced", "corrected"}, default="balanced"
        What ``predict`` goes by: what the estimator says itself, for which the rows were
        resampled; or the most probable class by ``predict_proba``, which on rare classes is hardly
        ever the rare one.
    random_state : None, int, RandomState or Generator, default=None
        Draws the part for calibration.

    Attributes
    ----------
    estimator_ : classifier
        Trained on the resampled rows.
    sampler_ : sampler
        Fitted.
    classes_ : ndarray
        The labels, sorted.
    priors_, resampled_priors_ : ndarray
        Shares of the classes in the training rows, before and after resampling.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has them.

    See Also
    --------
    mgvae.MGVAE : The sampler of this library.
    mgvae.TorchClassifier : A network that gets new rows in every epoch.
    mgvae.compare.compare : Compare methods by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from mgvae import MGVAE, BalancedClassifier
    >>> X, y = make_classification(500, weights=[0.95], random_state=0)
    >>> model = BalancedClassifier(LogisticRegression(), MGVAE(random_state=0)).fit(X, y)
    >>> said = model.predict_proba(X)[:, 1].mean()  # near the share of the class, not near one half
    >>> bool(abs(said - y.mean()) < 0.05)
    True
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "estimator": [HasMethods(["fit", "predict"])],
        "sampler": [HasMethods(["fit_resample"])],
        "correct": [StrOptions({"priors", "none"})],
        "calibration": [StrOptions({"sigmoid", "isotonic"}), None],
        "calibration_fraction": [Interval(Real, 0, 1, closed="neither")],
        "decide": [StrOptions({"balanced", "corrected"})],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any,
        sampler: Any,
        *,
        correct: Literal["priors", "none"] = "priors",
        calibration: Literal["sigmoid", "isotonic"] | None = None,
        calibration_fraction: float = 0.2,
        decide: Literal["balanced", "corrected"] = "balanced",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        self.correct = correct
        self.calibration = calibration
        self.calibration_fraction = calibration_fraction
        self.decide = decide
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Resample, and train on what results.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The training rows, as sampler and estimator take them.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._validate_params()
        validate_data(self, X, y, skip_check_array=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if len(np.unique(y)) < 2:
            raise DataError("y must hold two classes or more; it holds one class only.")
        held_out = None
        if self.calibration is not None:
            X, X_held_out, y, y_held_out = self._split(X, y)
            held_out = X_held_out, y_held_out
        sampler, estimator = clone(self.sampler), clone(self.estimator)
        X_resampled, y_resampled = sampler.fit_resample(X, y)
        estimator.fit(X_resampled, y_resampled)
        classes, priors = _shares(y)
        found, resampled = _shares(y_resampled)
        if not np.array_equal(classes, found):
            raise DataError(
                f"sampler must keep every class: it was given {classes.tolist()!r:.80} and gave "
                f"{found.tolist()!r:.80}."
            )
        self._calibrated = self._calibrate(estimator, *held_out) if held_out else None
        self.estimator_, self.sampler_ = estimator, sampler
        self.classes_, self.priors_, self.resampled_priors_ = classes, priors, resampled
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, as ``decide`` says.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        if self.decide == "corrected":
            chosen: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(1)]
            return chosen
        return np.asarray(self.estimator_.predict(X))

    @available_if(_can_tell)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class at the true shares of the classes.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            Rows with the columns of the training data.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        if self._calibrated is not None:
            return np.asarray(self._calibrated.predict_proba(X), np.float64)
        said = np.asarray(self.estimator_.predict_proba(X), np.float64)
        if self.correct == "none":
            return said
        return correct_priors(said, self.priors_, self.resampled_priors_)

    def _split(self, X: Any, y: NDArray[Any]) -> list[Any]:
        counts = np.unique(y, return_counts=True)[1]
        if counts.min() < 2:
            raise DataError(
                f"calibration={self.calibration!r} needs two rows of every class, one to hold out; "
                "the smallest has one. Set calibration=None."
            )
        n = max(len(counts), round(self.calibration_fraction * len(y)))
        seed = int(seed_sequence(self.random_state).generate_state(1)[0])
        parts: list[Any] = train_test_split(X, y, test_size=n, stratify=y, random_state=seed)
        if len(np.unique(parts[3])) < len(counts):
            raise DataError(
                f"calibration_fraction={self.calibration_fraction!r} leaves no row of some class "
                "for calibration. Raise it, or set calibration=None."
            )
        return parts

    def _calibrate(self, estimator: Any, X: Any, y: NDArray[Any]) -> Any:
        rows = np.arange(len(y))  # all at once: the estimator is trained, and on other rows
        calibrated = CalibratedClassifierCV(
            FrozenEstimator(estimator), method=self.calibration, cv=[(rows, rows)], ensemble=False
        )
        return calibrated.fit(X, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator)
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            tags.input_tags.sparse = inner.input_tags.sparse
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def _shares(y: Any) -> tuple[NDArray[Any], Floats]:
    classes, counts = np.unique(np.asarray(y), return_counts=True)
    return classes, counts / counts.sum()
