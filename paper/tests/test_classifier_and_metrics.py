"""The protocols' classifier is TorchClassifier; thresholds and judgements against brute force."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F  # noqa: N812

from mgvae.classifiers import TorchClassifier
from mgvae.errors import ParameterError
from mgvae.experiments.judging import best_threshold
from mgvae.metrics import accuracy, geometric_mean
from mgvae_paper.classifier import _balanced_draws, train_classifier
from mgvae_paper.metrics import at_threshold, judge_clean, judge_paper
from mgvae_paper.resampling import resample
from mgvae_paper.sources import read_source


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.2).astype(np.int64)
    return (rng.normal(size=(400, 5)) + 0.8 * y[:, None]).astype(np.float32), y


@pytest.mark.parametrize(
    "parameters",
    [{}, {"loss": "rw"}, {"loss": "cbrw"}, {"loss": "focal"}, {"loss": "ldam"}],
)
def test_the_same_bits_as_torch_classifier(rows, parameters):
    X, y = rows
    ours = train_classifier(X, y, {"epochs": 3, **parameters}, seed=7)
    theirs = TorchClassifier(epochs=3, random_state=7, **parameters).fit(X, y)
    np.testing.assert_array_equal(ours.probabilities(X), theirs.predict_proba(X))
    assert ours.epoch == 3


def test_images_of_bytes_as_torch_classifier_sees_them(rows):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 256, (120, 8, 8)).astype(np.uint8), np.arange(120) % 3
    ours = train_classifier(X, y, {"epochs": 2}, seed=0).probabilities(X)
    theirs = TorchClassifier(epochs=2, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("loss", ["ce", "rw", "focal", "ldam"])
def test_the_double_softmax_hands_the_loss_probabilities(rows, loss):
    """A network that ends in a softmax does the same, without the switch."""
    X, y = rows

    class EndsInProbabilities(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return F.softmax(self.inner(x), dim=1)

    inner = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))
    asked = {"epochs": 3, "loss": loss}
    ours, theirs = (
        train_classifier(X, y, {**asked, "network": network, "paper_double_softmax": double}, 7)
        for network, double in ((inner, True), (EndsInProbabilities(inner), False))
    )
    for mine, other in zip(
        ours.network.parameters(), theirs.network.inner.parameters(), strict=True
    ):
        assert torch.equal(mine, other)
    assert ours.scale == theirs.scale == (30.0 if loss == "ldam" else 1.0)


def test_the_double_softmax_collapses_on_mnist_and_logits_do_not(data_folder):
    source = read_source("mnist", data_folder("mnist").parent)
    first = [np.flatnonzero((source.y == digit) & ~source.test) for digit in range(10)]
    kept = np.concatenate([d[:1200] for d in first[:5]] + [d[:12] for d in first[5:]])
    X_test, y_test = source.X[source.test], (source.y[source.test] >= 5).astype(np.int64)
    paper, clean = (
        train_classifier(
            source.X[kept],
            (source.y[kept] >= 5).astype(np.int64),
            {"epochs": 5, "paper_double_softmax": double},
            0,
        )
        .probabilities(X_test)
        .argmax(1)
        for double in (True, False)
    )
    assert accuracy(y_test, paper) == 0.5139  # the published 51.4: every digit is a majority digit
    assert geometric_mean(y_test, paper) == 0
    assert geometric_mean(y_test, clean) > 0.3


def test_the_held_out_part_picks_the_epoch(rows):
    X, y = rows
    held_out = X[:150], y[:150]
    best = train_classifier(X[150:], y[150:], {"epochs": 12}, 0, held_out)
    by_epoch = [
        geometric_mean(
            held_out[1],
            # without decay, n epochs are the first n of twelve
            train_classifier(X[150:], y[150:], {"epochs": n}, 0).probabilities(X[:150]).argmax(1),
        )
        for n in range(1, 13)
    ]
    assert best.epoch == 1 + int(np.argmax(by_epoch))
    found = geometric_mean(held_out[1], best.probabilities(X[:150]).argmax(1))
    assert found == max(by_epoch)


def test_balanced_draws_are_uniform_over_classes_and_over_rows_of_a_class():
    y = torch.tensor([0] * 90 + [1] * 10)[torch.randperm(100, generator=torch.Generator())]
    draws = _balanced_draws(y, 40, torch.Generator().manual_seed(0))
    batches = [next(draws) for _ in range(3 * 400)]  # an epoch is 40 + 40 + 20
    assert [len(batch) for batch in batches[:3]] == [40, 40, 20]
    counts = np.bincount(torch.cat(batches).numpy(), minlength=100)
    expected = np.where(y.numpy() == 1, 1 / 20, 1 / 180) * counts.sum()
    assert chisquare(counts, expected).pvalue > 1e-3


def test_balanced_batches_recognise_the_minority(rows):
    X, y = rows
    figures = [
        at_threshold(y, train_classifier(X, y, p, 0).probabilities(X).argmax(1))["gm"]
        for p in ({"epochs": 5}, {"epochs": 5, "balanced_batches": True})
    ]
    assert figures[1] > figures[0]
    with pytest.raises(ParameterError, match="balanced_batches"):
        train_classifier(X, y, {"balanced_batches": True, "loss": "rw"}, 0)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=2, max_size=30))
def test_no_threshold_is_better_than_the_best(pairs):
    y = np.array([label for label, _ in pairs], dtype=np.int64)
    score = np.array([s for _, s in pairs]) / 8
    if len(set(y)) < 2:
        return

    def gm(threshold):
        return geometric_mean(y, (score >= threshold).astype(np.int64))

    candidates = [-1.0, *(np.unique(score) + 1e-6), *np.unique(score)]
    assert gm(best_threshold(y, score)) == pytest.approx(max(map(gm, candidates)))


def test_judgements_agree_on_one_batch():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    p = np.clip(0.3 * y + rng.random(100) * 0.7, 0, 1)
    probabilities = np.stack([1 - p, p], axis=1)
    paper = judge_paper(y, probabilities.argmax(1), seed=0)
    clean = judge_clean(y, probabilities)
    assert {name: clean[name] for name in paper} == pytest.approx(paper)
    pairs = [(a > b) + 0.5 * (a == b) for a in p[y == 1] for b in p[y == 0]]
    assert clean["roc_auc"] == pytest.approx(100 * np.mean(pairs), abs=1e-3)


def test_a_constant_classifier_of_many_classes():
    y = np.arange(50) % 5
    probabilities = np.tile([0.6, 0.1, 0.1, 0.1, 0.1], (50, 1))
    figures = judge_clean(y, probabilities)
    assert (figures["acsa"], figures["gm"], figures["roc_auc"]) == (20.0, 0.0, 50.0)


def test_fresh_epochs_are_repeatable_and_differ_from_one_fixed_set(tmp_path):
    digits = load_digits()
    kept = np.r_[np.flatnonzero(digits.target == 0), np.flatnonzero(digits.target == 1)[:9]]
    X = (digits.images[kept] / 16 * 255).astype(np.uint8)
    y = digits.target[kept].astype(np.int64)
    parameters = {
        "sampler": "mgvae:MGVAE",
        "settings": {"pretrain_steps": 20, "finetune_steps": 10, "fisher_samples": 5},
        "fresh": 0.5,
    }

    def probabilities(fresh):
        asked = parameters if fresh else {k: v for k, v in parameters.items() if k != "fresh"}
        found = resample(X, y, asked, 0, tmp_path)
        again = (found.sampler, 0.5) if fresh else None
        assert len(found.y) == (len(y) if fresh else 2 * (y == 0).sum())
        return train_classifier(found.X, found.y, {"epochs": 2}, 0, fresh=again).probabilities(X)

    np.testing.assert_array_equal(probabilities(fresh=True), probabilities(fresh=True))
    assert not np.array_equal(probabilities(fresh=True), probabilities(fresh=False))
