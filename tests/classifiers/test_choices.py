"""Shares, calibration and decisions, against independent computations."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import f1_score

from mgvae.classifiers.bags import draw_bag, out_of_bag
from mgvae.classifiers.calibration import learn_calibration
from mgvae.classifiers.decisions import decide, tuned_weights
from mgvae.classifiers.shares import OutOfBag, average_out_of_bag, weigh


def test_every_class_and_whole_groups_are_in_a_bag() -> None:
    rng = np.random.default_rng(0)
    for seed in range(30):
        codes = np.append(rng.integers(2, size=60), [2, 2])
        groups = np.append(rng.integers(15, size=60), [15, 3])
        bag = draw_bag(codes, np.random.SeedSequence(seed), groups)
        assert set(codes[bag]) == {0, 1, 2}
        assert not set(groups[bag]) & set(groups[out_of_bag(bag, 62)])
        plain = draw_bag(codes, np.random.SeedSequence(seed))
        np.testing.assert_array_equal(np.bincount(codes[plain]), np.bincount(codes))


def test_weights_of_shares_are_the_best_of_all() -> None:
    """A grid finds no better weights of two shares than the search does."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=80)
    shares = [0.0, 1.0, 0.0]
    out = []
    for share in shares:
        rows = np.sort(rng.choice(80, 40, replace=False))
        p = rng.beta(2, 2, 40) if share else np.where(codes[rows] == 1, 0.7, 0.4)
        out.append(OutOfBag(rows, np.stack([1 - p, p], 1)))
    found = weigh(shares, out, codes)
    assert found.sum() == pytest.approx(1.0)
    assert found[0] == found[2]

    def loss(difference: float) -> float:
        member = np.exp([difference, 0.0, difference])
        above, below = np.zeros(80), np.zeros(80)
        for (rows, said), w in zip(out, member, strict=True):
            above[rows] += w * said[np.arange(40), codes[rows]]
            below[rows] += w
        seen = below > 0
        usual, least = np.bincount(codes)[codes[seen]] / 80, 1 / seen.sum()
        true = (1 - least) * above[seen] / below[seen] + least * usual
        away = difference + 2.0  # half of it on either side is the least penalty
        return 2 * (away / 2) ** 2 / (2 * 0.5**2) - np.log(true).sum()

    grid = np.linspace(-4, 4, 2001)
    best = grid[np.argmin([loss(d) for d in grid])]
    assert np.log(found[0] / found[1]) == pytest.approx(best, abs=0.01)
    averaged = average_out_of_bag(out, found, 80)
    assert np.isnan(averaged).all(1).sum() == 80 - len(
        np.unique(np.concatenate([o.rows for o in out]))
    )


def test_sigmoid_calibration_is_platts_with_a_prior() -> None:
    rng = np.random.default_rng(0)
    true = expit(rng.normal(-1, 1.5, 500))
    codes = (rng.random(500) < true).astype(int)
    p = expit(2.5 * logit(true) + 0.7)  # too sure, and shifted
    said = np.stack([1 - p, p], 1)
    priors = np.array([1 - codes.mean(), codes.mean()])
    learned = learn_calibration("sigmoid", said, codes, priors)(said)
    mixed = (1 - 1 / 500) * p + codes.mean() / 500

    def loss(v):  # shifts of both classes, the half each
        z = v[0] * logit(mixed) + v[1]
        return np.sum(np.logaddexp(0, z) - codes * z) + (v[0] - 1) ** 2 / 2 + v[1] ** 2 / 4

    a, b = minimize(loss, [1.0, 0.0], tol=1e-10).x
    np.testing.assert_allclose(learned[:, 1], expit(a * logit(mixed) + b), atol=1e-4)
    order = np.argsort(p)
    assert (np.diff(learned[order, 1]) >= 0).all()
    assert abs(learned[:, 1] - true).mean() < 0.5 * abs(p - true).mean()


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_calibration_of_three_classes_keeps_rows_of_one(kind: str) -> None:
    rng = np.random.default_rng(0)
    said = rng.dirichlet([1.0, 1.0, 0.2], 300)
    codes = np.array([rng.choice(3, p=row) for row in said])
    found = learn_calibration(kind, said, codes, np.bincount(codes) / 300)(said)
    np.testing.assert_allclose(found.sum(1), 1.0)
    assert (found >= 0).all()


def test_tuned_decisions_are_the_best_threshold() -> None:
    rng = np.random.default_rng(0)
    codes = (rng.random(150) < 0.2).astype(int)
    p = np.clip(0.2 * codes + 0.5 * rng.random(150), 0, 1)
    said = np.stack([1 - p, p], 1)
    chosen = decide(said, np.diag(tuned_weights(said, codes, np.ones(2), "f1", np.arange(2))))
    best = max(f1_score(codes, p > t) for t in [-1.0, *p])
    assert f1_score(codes, chosen) == pytest.approx(best)
    costs = np.array([[0.0, 1.0], [7.0, 0.0]])
    chosen = decide(said, np.diag(tuned_weights(said, codes, np.ones(2), costs, np.arange(2))))
    least = min(costs[codes, (p > t).astype(int)].sum() for t in [-1.0, *p])
    assert costs[codes, chosen].sum() == least
    doubled = tuned_weights(said, codes, np.ones(2), "gm", np.arange(2), np.full(150, 2.0))
    np.testing.assert_array_equal(
        doubled, tuned_weights(said, codes, np.ones(2), "gm", np.arange(2))
    )
