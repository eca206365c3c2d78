"""Draws: the new rows that a member of an ensemble is trained on besides its bag of real ones.

A sampler that has learned can draw again (:class:`OneFit`): it is fitted once, on all rows, and
each member's new rows start only from rows of its own bag. Any other sampler of imbalanced-learn is
fitted again on each member's bag (:class:`Refit`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mgvae.classifiers.bags import Positions
from mgvae.classifiers.priors import Floats
from mgvae.codec import put_below
from mgvae.errors import DataError, ParameterError
from mgvae.samplers import GenerativeSampler

__all__ = [
    "Draws",
    "MemberRows",
    "OneFit",
    "Refit",
    "is_oversampler",
    "rows_wanted",
    "seed_randomness",
]


class MemberRows(NamedTuple):
    """What a member is trained on: rows, their labels, and their weights if rows have any."""

    X: Any
    y: NDArray[Any]
    weight: Floats | None


class Draws(Protocol):
    """Puts new rows below those of a bag."""

    def add(
        self,
        rows: MemberRows,
        bag: Positions,
        wanted: Mapping[Any, int] | None,
        seeds: np.random.SeedSequence,
    ) -> MemberRows:
        """Return the rows of a bag with new ones below.

        Parameters
        ----------
        rows : MemberRows
            Those of the bag.
        bag : ndarray of int
            Their positions among all rows.
        wanted : mapping or None
            How many new rows of each label; None leaves it to the sampler.
        seeds : numpy.random.SeedSequence
            Decides.
        """


def rows_wanted(counts: Mapping[Any, int], share: float) -> dict[Any, int]:
    """Return how many new rows lift every class to a share of the largest.

    Parameters
    ----------
    counts : mapping
        Rows by label.
    share : float
        How large a class shall be at least, as a part of the largest.

    Examples
    --------
    >>> rows_wanted({"no": 100, "yes": 5, "perhaps": 30}, 0.2)
    {'yes': 15}
    """
    least = round(share * max(counts.values()))
    return {label: least - n for label, n in counts.items() if n < least}


def is_oversampler(sampler: Any) -> bool:
    """Return whether a sampler adds as many rows as its ``sampling_strategy`` asks for."""
    kind = getattr(sampler, "_sampling_type", None)
    return kind == "over-sampling" and "sampling_strategy" in sampler.get_params(deep=False)


@dataclass(frozen=True)
class OneFit:
    """Draws again and again from one fitted sampler.

    Attributes
    ----------
    sampler : GenerativeSampler
        Fitted on all rows.
    """

    sampler: GenerativeSampler

    def add(
        self,
        rows: MemberRows,
        bag: Positions,
        wanted: Mapping[Any, int] | None,
        seeds: np.random.SeedSequence,
    ) -> MemberRows:
        """Return the rows of a bag, and new rows that start from them."""
        if wanted is None:
            wanted = {label: n for label, n in self.sampler.sampling_strategy_.items() if n}
        X, y = [rows.X], [rows.y]
        for (label, n), branch in zip(wanted.items(), seeds.spawn(len(wanted)), strict=True):
            X.append(self.sampler.draw(n, label, branch, among=bag).rows)
            y.append(np.full(n, label, dtype=rows.y.dtype))
        weight, labels = rows.weight, np.concatenate(y)
        if weight is not None:
            weight = np.concatenate([weight, _usual_weight(rows, labels[len(rows.y) :])])
        return MemberRows(put_below(X), labels, weight)


@dataclass(frozen=True)
class Refit:
    """Fits a sampler of imbalanced-learn anew on each bag.

    Attributes
    ----------
    sampler : sampler
        Not fitted; it is cloned.
    """

    sampler: Any

    def add(
        self,
        rows: MemberRows,
        bag: Positions,  # noqa: ARG002
        wanted: Mapping[Any, int] | None,
        seeds: np.random.SeedSequence,
    ) -> MemberRows:
        """Return the rows of a bag, resampled."""
        sampler = clone(self.sampler)
        seed_randomness(sampler, seeds)
        if wanted is not None:
            labels, counts = np.unique(rows.y, return_counts=True)
            there = dict(zip(labels.tolist(), counts.tolist(), strict=True))
            sampler.set_params(
                sampling_strategy={label: there[label] + n for label, n in wanted.items()}
            )
        X, y = sampler.fit_resample(rows.X, rows.y)
        y = np.asarray(y)
        missing = np.setdiff1d(rows.y, y)
        if len(missing):
            raise DataError(
                f"sampler must keep every class; {type(sampler).__name__} left no row of "
                f"{missing.tolist()!r:.80}."
            )
        return MemberRows(X, y, self._weights(sampler, rows, y))

    @staticmethod
    def _weights(sampler: Any, rows: MemberRows, y: NDArray[Any]) -> Floats | None:
        """Return the weights of the rows that were kept; a new row has the mean of its class."""
        if rows.weight is None:
            return None
        if hasattr(sampler, "sample_indices_"):
            kept: Floats = rows.weight[sampler.sample_indices_]
            return kept
        if not is_oversampler(sampler) or not np.array_equal(y[: len(rows.y)], rows.y):
            raise ParameterError(
                f"sample_weight cannot be carried through {type(sampler).__name__}, which does not "
                "tell which rows it kept. Leave sample_weight out, or use an over-sampler."
            )
        return np.concatenate([rows.weight, _usual_weight(rows, y[len(rows.y) :])])


def _usual_weight(rows: MemberRows, labels: NDArray[Any]) -> Floats:
    """Return for each label the mean weight of the rows that have it."""
    weights = np.zeros(len(labels))
    if rows.weight is not None:
        for label in np.unique(labels):
            weights[labels == label] = rows.weight[rows.y == label].mean()
    return weights


def seed_randomness(estimator: Any, seeds: np.random.SeedSequence) -> None:
    """Set every ``random_state`` of an estimator and of those inside it.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier()
    >>> seed_randomness(tree, np.random.SeedSequence(0))
    >>> tree.random_state
    1484405855
    """
    names = sorted(
        name
        for name in estimator.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    drawn = seeds.generate_state(max(1, len(names))) >> 1  # LightGBM's seeds have 31 bits
    if names:
        estimator.set_params(**{n: int(s) for n, s in zip(names, drawn, strict=True)})
