"""Combining: from what the members of an ensemble say to the probabilities of the ensemble.

Each member's probabilities are carried from the shares of its rows to the true ones
(:mod:`mgvae.classifiers.priors`), averaged with weights (:mod:`mgvae.classifiers.shares`), and
calibrated (:mod:`mgvae.classifiers.calibration`). The latter two are learned from what members say
of rows that were not in their bags.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mgvae.classifiers.calibration import Calibration, learn_calibration
from mgvae.classifiers.members import ClassifiedRows
from mgvae.classifiers.priors import Floats, correct_priors
from mgvae.classifiers.shares import OutOfBag, average_out_of_bag, weigh
from mgvae.errors import DataError

__all__ = ["CalibrationKind", "Combination", "combine", "spoken_priors"]

CalibrationKind = Literal["auto", "sigmoid", "isotonic"]

_FEW = 5  # rows of a class below which nothing is calibrated unless it is asked for


@dataclass(frozen=True)
class Combination:
    """How the members of an ensemble are combined.

    Attributes
    ----------
    weights : ndarray of shape (n_members,)
        What each member counts; they sum to one.
    priors : ndarray of shape (n_classes,)
        The true shares of the classes.
    trained : sequence of ndarray
        Their shares in the rows of each member; None leaves what members say as it is.
    calibrate : callable or None
        What is done to the average.
    out_of_bag : ndarray of shape (n_samples, n_classes) or None
        Combined predictions of each training row by the members that did not see it, NaN where
        there is none.
    """

    weights: Floats
    priors: Floats
    trained: Sequence[Floats] | None
    calibrate: Calibration | None
    out_of_bag: Floats | None

    def __call__(self, said: Iterable[Floats]) -> Floats:
        """Combine what each member says of the same rows, in the order of the members."""
        average: Floats = sum(  # one member at a time
            weight * _corrected(s, self.priors, self.trained, i)
            for i, (weight, s) in enumerate(zip(self.weights, said, strict=True))
        )
        average /= average.sum(1, keepdims=True)  # no probability is rounded to more than 1
        return average if self.calibrate is None else self.calibrate(average)


def combine(
    data: ClassifiedRows,
    shares: Sequence[float | None],
    trained: Sequence[Floats] | None,
    out: Sequence[OutOfBag] | None,
    calibration: CalibrationKind | None = "auto",
) -> Combination:
    """Learn from out-of-bag predictions how to combine members.

    Parameters
    ----------
    data : ClassifiedRows
        All real rows.
    shares : sequence
        The share of each member.
    trained : sequence of ndarray, optional
        The shares of the classes in the rows of each member; without, nothing is carried back to
        the true shares, weighed or calibrated.
    out : sequence of OutOfBag, optional
        What each member says of the rows that were not in its bag; without, members count alike.
    calibration : {"auto", "sigmoid", "isotonic"}, optional
        ``"auto"`` is ``"sigmoid"`` where five rows of every class were out of a bag, else none.
    """
    weights = np.full(len(shares), 1 / len(shares))
    if out is None:
        return Combination(weights, data.priors, trained, None, None)
    corrected = [
        OutOfBag(o.rows, _corrected(o.probabilities, data.priors, trained, i))
        for i, o in enumerate(out)
    ]
    if trained is not None:
        weights = weigh(shares, corrected, data.codes, data.weight)
    said = average_out_of_bag(corrected, weights, len(data.y))
    seen = ~np.isnan(said[:, 0])
    codes = data.codes[seen]
    fewest = int(np.bincount(codes, minlength=len(data.classes)).min())
    calibrate = None
    if trained is not None and calibration is not None:
        if calibration != "auto" and not fewest:
            raise DataError(
                f"calibration={calibration!r} needs two rows of every class; one class has none "
                "that was out of a bootstrap. Set calibration=None."
            )
        if calibration != "auto" or fewest >= _FEW:
            kind = "sigmoid" if calibration == "auto" else calibration
            weight = None if data.weight is None else data.weight[seen]
            calibrate = learn_calibration(kind, said[seen], codes, data.priors, weight)
            said[seen] = calibrate(said[seen])
    return Combination(weights, data.priors, trained, calibrate, said)


def spoken_priors(combined: Combination, trained: Sequence[Floats]) -> Floats:
    """Return the shares of the classes that the combined probabilities speak of."""
    if combined.trained is not None:
        return combined.priors
    mean: Floats = np.average(trained, 0, combined.weights)
    return mean


def _corrected(
    said: Floats, priors: Floats, trained: Sequence[Floats] | None, member: int
) -> Floats:
    return said if trained is None else correct_priors(said, priors, trained[member])
