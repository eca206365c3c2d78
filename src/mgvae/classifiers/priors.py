r"""Probabilities after resampling.

A classifier that is trained on resampled rows believes that the classes are as frequent as they
were there. By Bayes' rule only the priors differ, as long as the rows of each class are still drawn
from that class. With :math:`\pi_c` the share of class :math:`c` in the data and :math:`\pi'_c` its
share after resampling,

.. math::
    p(c \mid x) = \frac{p'(c \mid x)\, \pi_c / \pi'_c}{\sum_k p'(k \mid x)\, \pi_k / \pi'_k} .
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "class_shares", "correct_priors"]

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


def class_shares(codes: NDArray[Any], n_classes: int, weight: Floats | None = None) -> Floats:
    """Return how large a part of the rows, or of their weight, each class is.

    Examples
    --------
    >>> class_shares(np.array([0, 0, 0, 1]), 2)
    array([0.75, 0.25])
    """
    counts = np.bincount(codes, weight, n_classes).astype(np.float64)
    shares: Floats = counts / counts.sum()
    return shares
