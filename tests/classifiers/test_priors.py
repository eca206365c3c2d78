"""Priors: the correction is Bayes' rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgvae.classifiers.priors import correct_priors

shares = st.lists(st.integers(1, 50), min_size=3, max_size=3).map(lambda n: np.array(n) / sum(n))


@given(shares, shares, st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_the_correction_is_bayes_rule(
    true: np.ndarray, trained: np.ndarray, log_likelihoods: list[float]
) -> None:
    likelihoods = np.exp(log_likelihoods)
    at_trained = likelihoods * trained / (likelihoods @ trained)
    at_true = likelihoods * true / (likelihoods @ true)
    np.testing.assert_allclose(correct_priors(at_trained[None], true, trained)[0], at_true)


def test_the_correction_survives_certainty() -> None:
    found = correct_priors(np.array([[0.0, 1.0]]), np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    assert found.sum() == pytest.approx(1.0)
