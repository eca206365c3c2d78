"""A shared pre-training changes nothing but the time."""

import numpy as np
import pytest

from mgvae import MGVAE
from mgvae.methods.mgvae.method import MajorityGuided
from mgvae_paper import sampler as samplers
from mgvae_paper.controls import CodecSMOTE
from mgvae_paper.methods import make_cell
from mgvae_paper.sampler import SharedMGVAE, is_generative, make_sampler

SMALL = {"pretrain_steps": 30, "finetune_steps": 10, "hidden_sizes": (16,), "latent_size": 3}


def shared(folder, *, pretrain_seed=None, **settings):
    sampler = SharedMGVAE(**SMALL | {"random_state": 0} | settings)
    sampler.cache, sampler.pretrain_seed = folder, pretrain_seed
    return sampler


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [200, 30])
    return rng.normal(size=(230, 4)) + y[:, None], y


@pytest.fixture
def trainings(monkeypatch):
    """Count the pre-trainings that are really done."""
    done = []
    real = MajorityGuided.pretrain
    counted = lambda self, *a: done.append(1) or real(self, *a)  # noqa: E731
    monkeypatch.setattr(MajorityGuided, "pretrain", counted)
    return done


@pytest.mark.parametrize("ewc_weight", [0.0, 5.0])
def test_the_same_bits_first_and_later(tmp_path, data, trainings, ewc_weight):
    plain = MGVAE(**SMALL, ewc_weight=ewc_weight, random_state=0).fit_resample(*data)[0]
    del trainings[:]
    for _ in range(2):
        sampler = shared(tmp_path, ewc_weight=ewc_weight)
        np.testing.assert_array_equal(sampler.fit_resample(*data)[0], plain)
        assert sampler.history_["pre-training"].seconds > 0
    assert len(trainings) == 1


def test_what_comes_afterwards_shares_it_and_the_rest_does_not(tmp_path, data, trainings):
    X, y = data
    for settings in ({}, {"ewc_weight": 7.0}, {"finetune_steps": 3}, {"temperature": 2.0}):
        shared(tmp_path, **settings).fit(X, y)
    assert len(trainings) == 1
    for settings in ({"latent_size": 2}, {"n_exemplars": 9}, {"random_state": 1}):
        shared(tmp_path, **settings).fit(X, y)
    assert len(trainings) == 4
    shared(tmp_path).fit(X[::-1], y[::-1])
    shared(tmp_path).fit(np.vstack([X[0], X[1:] ** 3]), y)
    assert len(trainings) == 6


def test_one_that_is_cut_off_goes_on_to_the_same_bits(tmp_path, data, monkeypatch):
    plain = MGVAE(**SMALL | {"pretrain_steps": 300}, random_state=0).fit_resample(*data)[0]
    monkeypatch.setattr(samplers, "_MINUTE", 0.0)
    seen = []

    def cut_off(stage, done, total, terms):
        seen.append(done)
        if done >= 150:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        shared(tmp_path, pretrain_steps=300, callback=cut_off).fit(*data)
    later = []
    sampler = shared(tmp_path, pretrain_steps=300, callback=lambda *a: later.append(a[:2]))
    np.testing.assert_array_equal(sampler.fit_resample(*data)[0], plain)
    begun = [done for stage, done in later if stage == "pre-training"]
    assert begun[0] >= seen[-1] > seen[0]  # and not from the beginning
    assert not list(tmp_path.rglob("*.state"))


def test_seeds_share_it_when_told_to(tmp_path, data, trainings):
    made = [
        shared(tmp_path, pretrain_seed=0, random_state=seed).fit_resample(*data)[0]
        for seed in (1, 2)
    ]
    assert len(trainings) == 1
    assert not np.array_equal(*made)


def test_without_pretraining_nothing_is_kept(tmp_path, data):
    shared(tmp_path, pretrain_steps=0).fit(*data)
    assert not list(tmp_path.iterdir())


def test_images_of_one_majority_share_it_whatever_the_minority(tmp_path, trainings):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (90, 8, 8)).astype(np.uint8)
    for n in (10, 30):
        shared(tmp_path).fit(X[: 60 + n], np.repeat([0, 1], [60, n]))
    assert len(trainings) == 1


def test_names_in_cells_are_found_wherever_the_classes_are():
    parameters = make_cell("abalone", "SMOTE in codec", "folds").parameters
    assert parameters["sampler"] == "mgvae.bench.controls:CodecSMOTE"  # for ever: keys hold it
    assert isinstance(make_sampler(parameters, 3), CodecSMOTE)
    assert make_sampler(parameters, 3).random_state == 3
    assert not is_generative(make_sampler(parameters, 3))
    assert is_generative(make_sampler(make_cell("abalone", "CVAE", "folds").parameters, 3))


def test_a_killed_writer_leaves_no_half_model(tmp_path, data, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(samplers, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        shared(tmp_path).fit(*data)
    assert not list(tmp_path.rglob("*.safetensors"))


PUBLISHED = {**SMALL, "schedule": "constant", "early_stopping": False, "finetune_steps": 40}


def published(folder, **settings):
    known = MGVAE().get_params()
    given = {**PUBLISHED, "ewc_weight": 5.0, "random_state": 0, **settings}
    sampler = MGVAE if folder is None else shared
    where = () if folder is None else (folder,)
    made = sampler(*where, **{k: v for k, v in given.items() if k in known})
    made.expert_settings = {k: v for k, v in given.items() if k not in known}
    return made


@pytest.fixture
def tunings(monkeypatch):
    """Count the fine-tunings that are really done: what is read is not finished again."""
    done = []
    real = samplers._Parts.finish
    counted = lambda self, parts: done.append(1) or real(self, parts)  # noqa: E731
    monkeypatch.setattr(samplers._Parts, "finish", counted)
    return done


@pytest.mark.parametrize("steps", [10, 20, 30, 40])
def test_a_short_fine_tuning_is_the_beginning_of_a_long_one(tmp_path, data, tunings, steps):
    plain = published(None, finetune_steps=steps).fit_resample(*data)[0]
    published(tmp_path).fit(*data)
    del tunings[:]
    found = published(tmp_path, finetune_steps=steps).fit_resample(*data)[0]
    np.testing.assert_array_equal(found, plain)
    assert not tunings


def test_a_fine_tuning_whose_rate_falls_is_shared_as_a_whole(tmp_path, data, tunings):
    plain = MGVAE(**SMALL, ewc_weight=5.0, temperature=2.0, random_state=0).fit_resample(*data)[0]
    shared(tmp_path, ewc_weight=5.0).fit(*data)
    assert len(tunings) == 1
    found = shared(tmp_path, ewc_weight=5.0, temperature=2.0).fit_resample(*data)[0]
    np.testing.assert_array_equal(found, plain)
    assert len(tunings) == 1
    shared(tmp_path, ewc_weight=5.0, finetune_steps=5).fit(*data)
    assert len(tunings) == 2


@pytest.mark.parametrize(
    "other", [{"ewc_weight": 6.0}, {"finetune_steps": 15}, {"random_state": 1}]
)
def test_another_fine_tuning_is_done(tmp_path, data, tunings, other):
    published(tmp_path).fit(*data)
    del tunings[:]
    published(tmp_path, **other).fit(*data)
    assert tunings
