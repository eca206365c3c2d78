r"""Calibration: probabilities that mean what they say, learned from out-of-bag predictions.

``"sigmoid"`` scales log-probabilities and shifts them by class,

.. math:: q(c \mid x) \propto \exp(a \log p(c \mid x) + b_c),

which of two classes is Platt's scaling. A standard normal prior on :math:`a - 1` and on each
:math:`b_c` keeps the probabilities as they are where few rows speak. The order of rows does not
change, of two classes at least. ``"isotonic"`` learns a step function for each class.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.isotonic import IsotonicRegression

from mgvae.classifiers.bags import Positions
from mgvae.classifiers.priors import Floats

__all__ = ["Calibration", "Isotonic", "Scaling", "learn_calibration"]

Calibration = Callable[[Floats], Floats]


class Scaling:
    """Log-probabilities scaled, and shifted by class.

    Parameters
    ----------
    slope : float
        The factor a.
    shifts : ndarray of shape (n_classes,)
        The shifts b.
    priors : ndarray of shape (n_classes,)
        Shares of the classes, of which a little is mixed into each probability: what was never seen
        to happen is not impossible.
    least : float
        How little.
    """

    def __init__(self, slope: float, shifts: Floats, priors: Floats, least: float) -> None:
        self.slope, self.shifts, self.priors, self.least = slope, shifts, priors, least

    def __call__(self, probabilities: Floats) -> Floats:
        """Return calibrated probabilities."""
        scaled: Floats = softmax(self.slope * self.logs(probabilities) + self.shifts, axis=1)
        return scaled

    def logs(self, probabilities: Floats) -> Floats:
        """Return the logarithms that are scaled."""
        mixed: Floats = np.log((1 - self.least) * probabilities + self.least * self.priors)
        return mixed

    @classmethod
    def learn(cls, said: Floats, codes: Positions, priors: Floats, weight: Floats) -> "Scaling":
        """Learn slope and shifts."""
        logs = cls(1.0, np.zeros(len(priors)), priors, 1 / len(said)).logs(said)
        true = np.eye(len(priors))[codes]
        start = np.append(1.0, np.zeros(len(priors)))

        def loss(values: Floats) -> tuple[float, Floats]:
            z = values[0] * logs + values[1:]
            wrong = weight[:, None] * (softmax(z, axis=1) - true)
            away = values - start
            value = -weight @ log_softmax(z, axis=1)[np.arange(len(codes)), codes]
            gradient = np.append((wrong * logs).sum(), wrong.sum(0)) + away
            return float(value + away @ away / 2), gradient

        found = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(1e-3, None), *[(None, None)] * len(priors)],
        ).x
        return cls(float(found[0]), found[1:], priors, 1 / len(said))


class Isotonic:
    """A rising step function of each class's probability; each row sums to one again.

    Parameters
    ----------
    steps : list of IsotonicRegression
        By class.
    priors : ndarray of shape (n_classes,)
        What is said where every function gives 0.
    """

    def __init__(self, steps: list[IsotonicRegression], priors: Floats) -> None:
        self.steps, self.priors = steps, priors

    def __call__(self, probabilities: Floats) -> Floats:
        """Return calibrated probabilities."""
        raised = [step.predict(p) for step, p in zip(self.steps, probabilities.T, strict=True)]
        stepped = np.stack(raised, axis=1)
        total = stepped.sum(1, keepdims=True)
        return np.where(total > 0, stepped / np.where(total > 0, total, 1.0), self.priors)

    @classmethod
    def learn(cls, said: Floats, codes: Positions, priors: Floats, weight: Floats) -> "Isotonic":
        """Learn the functions."""
        return cls(
            [
                IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(
                    said[:, code], codes == code, weight
                )
                for code in range(len(priors))
            ],
            priors,
        )


def learn_calibration(
    kind: Literal["sigmoid", "isotonic"],
    said: Floats,
    codes: Positions,
    priors: Floats,
    weight: Floats | None = None,
) -> Calibration:
    """Learn to calibrate.

    Parameters
    ----------
    kind : {"sigmoid", "isotonic"}
        How.
    said : ndarray of shape (n_samples, n_classes)
        Probabilities of rows that nothing which says them was trained on.
    codes : ndarray of int
        The true class of each row.
    priors : ndarray of shape (n_classes,)
        Shares of the classes.
    weight : ndarray, optional
        Weight of each row.

    Examples
    --------
    >>> codes = np.repeat([0, 1, 0, 1], [400, 100, 100, 400])
    >>> said = np.repeat([[0.99, 0.01], [0.01, 0.99]], 500, axis=0)  # too sure
    >>> learned = learn_calibration("sigmoid", said, codes, np.array([0.5, 0.5]))
    >>> learned(said[:1]).round(2)
    array([[0.8, 0.2]])
    """
    counts = np.ones(len(codes)) if weight is None else weight / weight.mean()
    if kind == "sigmoid":
        return Scaling.learn(said, codes, priors, counts)
    return Isotonic.learn(said, codes, priors, counts)
