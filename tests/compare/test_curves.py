"""Curves against scikit-learn's, and against what they mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

from mgvae.compare._curves import BINS, COSTS, GRID, curves

rows = st.lists(st.tuples(st.booleans(), st.integers(0, 20)), min_size=4, max_size=60).filter(
    lambda rows: len({rare for rare, _ in rows}) == 2
)


@given(rows)
@settings(max_examples=60)
def test_every_point_is_one_that_a_threshold_reaches(rows: list[tuple[bool, int]]) -> None:
    rare = np.array([row[0] for row in rows])
    score = np.array([row[1] / 20 for row in rows])
    found = curves(rare, score)
    precision, recall, _ = precision_recall_curve(rare, score)
    for at, value in zip(GRID, found["precision"], strict=True):
        assert value == pytest.approx(precision[:-1][recall[:-1] >= at - 1e-12].max())
    assert (np.diff(found["roc"]) >= 0).all()
    assert sum(found["rows"]) == len(rows)
    assert sum(found["rare"]) == rare.sum()
    assert sum(found["said"]) == pytest.approx(score.sum())
    for at, cost in zip(COSTS, found["cost"], strict=True):
        alarm = score * at >= 1 - score - 1e-12  # the cheaper decision by the probability
        missed, false = (rare & ~alarm).sum(), (~rare & alarm).sum()
        assert cost == pytest.approx((missed * at + false) / len(rows))


def test_areas_and_calibration() -> None:
    rng = np.random.default_rng(0)
    score = rng.random(20000)
    rare = rng.random(20000) < score
    found = curves(rare, score)
    assert trapezoid(found["roc"], GRID) == pytest.approx(roc_auc_score(rare, score), abs=0.002)
    assert trapezoid(found["precision"], GRID) == pytest.approx(
        average_precision_score(rare, score), abs=0.01
    )
    shares = np.divide(found["rare"], found["rows"])
    assert len(shares) == BINS
    np.testing.assert_allclose(shares, np.divide(found["said"], found["rows"]), atol=0.04)
