"""Members: what one classifier of an ensemble is trained on, and what it says of the other rows.

A member's seeds decide its bag, its draw and its own randomness, each apart: the bag is the same
whatever the share, and the rows are the same whatever the classifier. So whoever trains several
ensembles on the same rows may train the members that they have in common once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mgvae.classifiers.bags import Positions, draw_bag, out_of_bag
from mgvae.classifiers.draws import Draws, MemberRows, rows_wanted, seed_randomness
from mgvae.classifiers.priors import Floats, class_shares
from mgvae.classifiers.shares import OutOfBag
from mgvae.codec import take_rows

__all__ = [
    "ClassifiedRows",
    "Member",
    "MemberSeeds",
    "Trainer",
    "choose_rows",
    "member_seeds",
    "probabilities_of",
]


@dataclass(frozen=True)
class ClassifiedRows:
    """All rows that an ensemble is trained on, with codes of their classes and of their groups."""

    X: Any
    y: NDArray[Any]
    codes: Positions
    classes: NDArray[Any]
    priors: Floats
    weight: Floats | None
    groups: Positions | None


class MemberSeeds(NamedTuple):
    """What decides a member."""

    bag: np.random.SeedSequence
    draw: np.random.SeedSequence
    estimator: np.random.SeedSequence


def member_seeds(seeds: np.random.SeedSequence, n: int) -> list[MemberSeeds]:
    """Return the seeds of the first ``n`` members of an ensemble.

    Examples
    --------
    >>> first, second = member_seeds(np.random.SeedSequence(0), 2)
    >>> first.bag.spawn_key, second.draw.spawn_key
    ((0, 0), (1, 1))
    """
    return [MemberSeeds(*branch.spawn(3)) for branch in seeds.spawn(n)]


class Member(NamedTuple):
    """A trained member, the shares of the classes in its rows, and what it says out of bag."""

    estimator: Any
    priors: Floats
    out: OutOfBag | None
    n_rows: int


def choose_rows(
    data: ClassifiedRows,
    draws: Draws,
    share: float | None,
    seeds: MemberSeeds,
    *,
    bootstrap: bool = True,
) -> tuple[MemberRows, Positions]:
    """Choose what a member is trained on.

    Parameters
    ----------
    data : ClassifiedRows
        All real rows.
    draws : Draws
        Where new rows come from.
    share : float or None
        How large every class becomes at least, as a part of the largest; None leaves it to the
        sampler.
    seeds : MemberSeeds
        Decide.
    bootstrap : bool
        Whether there is a bag, or all rows.

    Returns
    -------
    rows : MemberRows
        The rows of the bag, and new ones below.
    bag : ndarray of int
        Positions of the real rows among all.
    """
    rows, bag = MemberRows(data.X, data.y, data.weight), np.arange(len(data.y))
    if bootstrap:
        bag = draw_bag(data.codes, seeds.bag, data.groups)
        weight = None if data.weight is None else data.weight[bag]
        rows = MemberRows(take_rows(data.X, bag), data.y[bag], weight)
    wanted = _wanted(data, data.codes[bag], share)
    if wanted is None or wanted:
        rows = draws.add(rows, bag, wanted, seeds.draw)
    return rows, bag


def _wanted(
    data: ClassifiedRows, codes: Positions, share: float | None
) -> Mapping[Any, int] | None:
    if share is None:
        return None
    counts = np.bincount(codes, minlength=len(data.classes))
    return rows_wanted(dict(zip(data.classes.tolist(), counts.tolist(), strict=True)), share)


@dataclass(frozen=True, eq=False)  # so that it has a hash, which some engines of joblib ask for
class Trainer:
    """Trains a member; it goes to other processes."""

    estimator: Any
    data: ClassifiedRows
    draws: Draws
    bootstrap: bool
    weights_option: str = "sample_weight"

    def __call__(self, share: float | None, seeds: MemberSeeds) -> Member:
        """Train the member with these seeds at a share."""
        data = self.data
        rows, bag = choose_rows(data, self.draws, share, seeds, bootstrap=self.bootstrap)
        estimator = clone(self.estimator)
        seed_randomness(estimator, seeds.estimator)
        options = {} if rows.weight is None else {self.weights_option: rows.weight}
        estimator.fit(rows.X, rows.y, **options)
        codes = np.searchsorted(data.classes, rows.y)
        priors = class_shares(codes, len(data.classes), rows.weight)
        out = None
        if self.bootstrap:
            left = out_of_bag(bag, len(data.y))
            said = np.empty((0, len(data.classes)))
            if len(left):
                said = probabilities_of(estimator, take_rows(data.X, left), data.classes)
            out = OutOfBag(left, said)
        return Member(estimator, priors, out, len(rows.y))


def probabilities_of(member: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Return what a member says, or its votes if it gives no probabilities."""
    if hasattr(member, "predict_proba"):
        said = np.asarray(member.predict_proba(X), np.float64)
        places = np.searchsorted(classes, member.classes_)
        if len(places) == len(classes):
            return said
        whole = np.zeros((len(said), len(classes)))
        whole[:, places] = said
        return whole
    votes: Floats = np.eye(len(classes))[np.searchsorted(classes, member.predict(X))]
    return votes
