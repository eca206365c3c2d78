"""Labels that are not one class, and numbers that Python does not write."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from mgvae import CGAN, CVAE, MGVAE, BalancedClassifier, TorchClassifier
from mgvae.errors import DataError, ParameterError
from mgvae.report import quality

X, y = make_classification(100, 4, n_redundant=0, weights=[0.8], random_state=0)
HUGE = 10**5000  # Python writes no more than 4,300 digits


def sampler(**given: Any) -> MGVAE:
    return MGVAE(pretrain_steps=2, finetune_steps=2, random_state=0, **given)


@pytest.fixture(scope="module", params=[MGVAE, CVAE, CGAN])
def fitted(request: pytest.FixtureRequest) -> Any:
    short = {"pretrain_steps": 2, "finetune_steps": 2} if request.param is MGVAE else {"steps": 2}
    return request.param(random_state=0, **short).fit(X, y)


@pytest.mark.parametrize(
    "label", [[1], (1,), np.array([1]), np.array([[1]]), pd.Series([1]), [0, 1], {1}, {1: 2}, []]
)
def test_several_classes_are_refused(fitted: Any, label: Any) -> None:
    for make in (fitted.generate, fitted.draw):
        with pytest.raises(ParameterError, match=r"label must be one class; got .* of type "):
            make(2, label)


@pytest.mark.parametrize("label", [1, np.int8(1), np.array(1), 1.0])
def test_one_class_may_be_any_number_that_is_equal(fitted: Any, label: Any) -> None:
    assert fitted.generate(2, label).shape == (2, 4)


def test_a_label_that_cannot_be_written(fitted: Any) -> None:
    for make in (fitted.generate, fitted.draw):
        with pytest.raises(ParameterError, match=r"label=a whole number of about 5,001 digits is"):
            make(2, HUGE)


@pytest.mark.parametrize("container", [list, lambda y: np.array(y, object), pd.Series, tuple])
@pytest.mark.parametrize("label", [HUGE, -HUGE, 10**30], ids=["huge", "negative", "large"])
@pytest.mark.parametrize(
    "fit",
    [
        lambda y: sampler().fit(X, y),
        lambda y: sampler().fit_resample(X, y),
        lambda y: TorchClassifier(epochs=1).fit(X, y),
        lambda y: BalancedClassifier(LogisticRegression(), sampler()).fit(X, y),
        lambda y: quality(X, X[:5], target=(y, y[:5])),
    ],
    ids=["fit", "fit_resample", "TorchClassifier", "BalancedClassifier", "quality"],
)
def test_classes_that_do_not_fit_into_64_bits(
    fit: Callable[[Any], Any], label: int, container: Callable[[Any], Any]
) -> None:
    with pytest.raises(DataError, match=r"y holds .* 64 bits. Write the classes as text."):
        fit(container([label] * 80 + [1] * 20))


def test_the_largest_numbers_of_64_bits_are_classes() -> None:
    labels = np.array([2**64 - 1] * 80 + [1] * 20, np.uint64)
    made = sampler().fit_resample(X, labels)[1]
    assert np.unique(made).tolist() == [1, 2**64 - 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sampling_strategy", {HUGE: 90}),
        ("sampling_strategy", {1: HUGE}),
        ("sampling_strategy", -HUGE),
        ("random_state", HUGE),
        ("pretrain_steps", -HUGE),
        ("constraints", HUGE),
    ],
    ids=["label", "rows", "number", "random_state", "pretrain_steps", "constraints"],
)
def test_parameters_that_cannot_be_written(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=rf"^{name} .* of about 5,001 digits"):
        sampler().set_params(**{name: value}).fit(X, y)


@pytest.mark.parametrize("weights", [{HUGE: 1.0}, {1: HUGE}, {1: -HUGE}])
def test_weights_and_costs_that_cannot_be_written(weights: dict[int, float]) -> None:
    with pytest.raises(ParameterError, match=r"^class_weight must .* too many digits"):
        TorchClassifier(epochs=1, class_weight=weights).fit(X, y)
    with pytest.raises(ParameterError, match=r"^cost_matrix must .* too many digits"):
        TorchClassifier(epochs=1, decide="costs", cost_matrix=weights).fit(X, y)


@pytest.mark.parametrize("n", [HUGE, -HUGE], ids=["huge", "negative"])
def test_numbers_of_rows_that_cannot_be_written(fitted: Any, n: int) -> None:
    with pytest.raises(ParameterError, match=r"^n .* of about 5,001 digits"):
        fitted.generate(n, 1)
    with pytest.raises(ParameterError, match=r"^partition must .* too many digits"):
        fitted.generate(2, 1, 0, partition=(n, n))


def test_epochs_that_cannot_be_written() -> None:
    with pytest.raises(ParameterError, match=r"^pretrain_steps must be .*9…\.$"):
        sampler().set_params(pretrain_steps="9" * 5000 + " epochs").fit(X, y)
