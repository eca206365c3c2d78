"""A plan says how long training takes, and never decides what is learned."""

import numpy as np
import pytest

from mgvae import MGVAE
from mgvae.errors import ParameterError
from mgvae.methods.mgvae import duration
from mgvae.methods.settings import count_steps


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return rng.random((90, 9, 9), dtype=np.float32), np.repeat([0, 1, 2], [50, 30, 10])


@pytest.fixture
def clock(monkeypatch):
    """Let a pre-training step take 0.1 s, a fine-tuning step 0.2 s, and the importance 3 s."""

    def seconds(run, stage):
        return 0.1 if stage.learning_rate == 1e-3 else 0.2

    monkeypatch.setattr(duration, "_step_seconds", seconds)
    monkeypatch.setattr(duration, "_seconds", lambda _: 3.0)


def test_the_time_is_that_of_all_stages(images, clock):
    plan = MGVAE(pretrain_steps=500, finetune_steps=400).plan(*images)
    trials = 3 * 0.25  # of the penalty's weight, for the class of 30 images: 10 are too few
    assert plan.seconds == pytest.approx(3.0 + 500 * 0.1 + 400 * 0.2 * (1 + trials + 1))
    assert plan.parameters == {"pretrain_steps": 500, "finetune_steps": 400}


def test_without_a_penalty_nothing_is_estimated_or_tried(images, clock):
    plan = MGVAE(pretrain_steps=500, finetune_steps=400, ewc_weight=0.0).plan(*images)
    assert plan.seconds == pytest.approx(500 * 0.1 + 400 * 0.2 * 2)


def test_steps_are_shortened_in_proportion_and_never_lengthened(images, clock):
    sampler = MGVAE(pretrain_steps=2000, finetune_steps=1000, ewc_weight=0.0)
    whole = sampler.plan(*images)
    half = sampler.plan(*images, minutes=whole.seconds / 120)
    assert half.parameters == {"pretrain_steps": 1000, "finetune_steps": 500}
    assert half.seconds == pytest.approx(whole.seconds / 2)
    assert sampler.plan(*images, minutes=1e3) == whole
    least = sampler.plan(*images, minutes=1e-6)
    assert least.parameters == {"pretrain_steps": 100, "finetune_steps": 50}


def test_looking_at_the_time_changes_no_bit(images):
    quick = {"pretrain_steps": 20, "finetune_steps": 10, "random_state": 0}
    looked = MGVAE(**quick)
    plan = looked.plan(*images)
    assert plan.seconds > 0
    looked.set_params(**plan.parameters)
    assert np.array_equal(looked.fit_resample(*images)[0], MGVAE(**quick).fit_resample(*images)[0])


def test_minutes_must_be_some(images):
    with pytest.raises(ParameterError, match="minutes"):
        MGVAE().plan(*images, minutes=0)


@pytest.mark.parametrize(
    ("text", "n_rows", "expected"),
    [("2 epochs, at most 50 steps", 1000, 20), ("2 epochs, at most 15 steps", 1000, 15)],
)
def test_passes_over_the_rows_may_be_bounded(text, n_rows, expected):
    assert count_steps(text, n_rows, 100) == expected
