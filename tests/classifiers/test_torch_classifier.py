import math
import pickle
import random
from itertools import chain

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import make_pipeline
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn
from torch.nn import functional as F  # noqa: N812

from mgvae import MGVAE
from mgvae.augment import mix
from mgvae.classifiers import TorchClassifier, training
from mgvae.classifiers.epochs import as_training_rows, fresh_epochs, split
from mgvae.classifiers.networks import ResNet20
from mgvae.codec import cell_texts, read_table
from mgvae.common.runtime import seed_sequence, torch_generator
from mgvae.errors import DataError, ParameterError
from mgvae.losses import CosineLinear, FocalLoss, LDAMLoss, class_weights
from mgvae.metrics import accuracy, acsa, geometric_mean, scorers


@parametrize_with_checks([TorchClassifier()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_classification(
        n_samples=200,
        n_informative=4,
        n_classes=3,
        weights=[0.7, 0.2],
        class_sep=1.5,
        random_state=0,
    )


def quick(**parameters):
    return TorchClassifier(**{"epochs": 3, "hidden_sizes": (16,), "random_state": 0, **parameters})


# ---------------------------------------------------------------- training is what it says it is


def test_the_batches_of_an_epoch_add_up_to_the_weighted_loss_of_all_rows():
    generator = torch.Generator().manual_seed(0)
    y = (torch.arange(200) < 4).long()  # most batches of ten hold no row of class 1
    logits = torch.randn(200, 2, generator=generator, dtype=torch.float64)
    weight = class_weights([196, 4])[y.numpy()]
    rows = as_training_rows(logits.numpy(), y.numpy(), weight, (2,), torch.device("cpu"))
    order = torch.randperm(200, generator=generator).split(10)
    loss = nn.CrossEntropyLoss(reduction="none")
    batches = [
        training._mean_loss(loss, logits[part], y[part], rows.weight[part]) for part in order
    ]
    whole = np.average(loss(logits, y).numpy(), weights=weight)
    assert torch.stack(batches).mean().item() == pytest.approx(whole)


def focal(logits, y):
    p = F.softmax(logits, dim=1).gather(1, y[:, None])[:, 0]
    return (-(1 - p) * p.log()).mean()


def ldam(logits, y, counts):
    margins = counts**-0.25
    margins = 0.5 * margins / margins.max()
    return F.cross_entropy(30 * (logits - F.one_hot(y, len(counts)) * margins[y][:, None]), y)


def references(counts):
    """Each named loss, written out with torch's own functions."""
    inverse = 1 / counts
    effective = (1 - 0.9999) / (1 - 0.9999**counts)
    return {
        "ce": F.cross_entropy,
        "rw": lambda x, y: F.cross_entropy(x, y, inverse),
        "cbrw": lambda x, y: F.cross_entropy(x, y, effective),
        "focal": focal,
        "ldam": lambda x, y: ldam(x, y, counts),
    }


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("name", ["ce", "rw", "cbrw", "focal", "ldam"])
def test_training_agrees_with_a_plain_torch_loop(data, name, optimizer):
    """In float64 and with one batch an epoch, where the order of rows makes no difference."""
    X, y = data
    network = nn.Sequential(nn.Linear(20, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    ours = TorchClassifier(
        network,
        name,
        epochs=10,
        batch_size=len(X),
        optimizer=optimizer,
        learning_rate=0.02,
        lr_decay=0.9,
        weight_decay=0.01,
    ).fit(X, y)

    rows, labels = torch.from_numpy(X), torch.from_numpy(y)
    counts = torch.from_numpy(np.bincount(y)).double()
    loss = references(counts)[name]
    make = {
        "adam": lambda p: torch.optim.Adam(p, lr=0.02, weight_decay=0.01, foreach=False),
        "sgd": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, weight_decay=0.01),
    }[optimizer]
    steps = make(network.parameters())
    decay = torch.optim.lr_scheduler.ExponentialLR(steps, 0.9)
    values = []
    for _ in range(10):
        logits = network(rows)
        value = loss(logits, labels)
        steps.zero_grad()
        value.backward()
        steps.step()
        decay.step()
        values.append(value.item())

    np.testing.assert_allclose(ours.history_.terms["loss"], values, rtol=1e-6)
    with torch.no_grad():
        expected = F.softmax((30 if name == "ldam" else 1) * network(rows), dim=1)
    np.testing.assert_allclose(ours.predict_proba(X), expected, rtol=1e-5, atol=1e-8)


class Recorder(nn.Linear):
    """A linear layer that keeps the first column of what it sees while training."""

    seen: list

    def forward(self, x):
        if self.training:
            self.seen.append(x[:, 0].long().tolist())
        return super().forward(x)


def test_every_epoch_visits_every_row_once_in_a_new_order():
    network = Recorder(2, 2)
    network.seen = []
    X = np.column_stack([np.arange(25), np.zeros(25)]).astype(np.float32)
    model = TorchClassifier(network, epochs=3, batch_size=10, random_state=0)
    model.fit(X, np.arange(25) % 2)
    batches = model.network_.seen
    assert [len(batch) for batch in batches] == [10, 10, 5] * 3
    epochs = [list(chain(*batches[i : i + 3])) for i in (0, 3, 6)]
    assert all(sorted(epoch) == list(range(25)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


def test_class_weights_are_sample_weights(data):
    X, y = data
    by_class = quick(class_weight={1: 3.0, 2: 0.5}).fit(X, y)
    by_row = quick().fit(X, y, sample_weight=np.array([1.0, 3.0, 0.5])[y])
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X))
    balanced = quick(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(
        balanced.predict_proba(X), quick(loss="rw").fit(X, y).predict_proba(X)
    )
    assert not np.allclose(balanced.predict_proba(X), quick().fit(X, y).predict_proba(X))


def test_rows_without_weight_are_not_there(data):
    X, y = data
    weight = (y != 2).astype(float)
    model = quick().fit(X, y, sample_weight=weight)
    assert model.classes_.tolist() == [0, 1]
    expected = quick().fit(X[y != 2], y[y != 2]).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_a_loss_of_ones_own(data):
    X, y = data
    named = quick(loss="focal").fit(X, y)
    own = quick(loss=FocalLoss(gamma=1.0, reduction="none")).fit(X, y)
    np.testing.assert_allclose(named.predict_proba(X), own.predict_proba(X), rtol=1e-6)
    counts = np.bincount(y)
    network = nn.Sequential(nn.Linear(20, 8), CosineLinear(8, 3))
    weighted = LDAMLoss(counts, weight=class_weights(counts), reduction="none")
    model = quick(network=network, loss=weighted).fit(X, y)
    with torch.no_grad():
        cosines = model.network_(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(model.decision_function(X), 30 * cosines)


def test_ldam_ends_in_cosines(data):
    X, y = data
    model = quick(loss="ldam").fit(X, y)
    assert isinstance(model.network_[-1], CosineLinear)
    assert np.abs(model.decision_function(X)).max() <= 30 * (1 + 1e-12)


# ---------------------------------------------------------------- networks


def test_the_networks_are_those_of_the_paper(data):
    X, y = data
    layers = list(TorchClassifier(epochs=1).fit(X, y).network_)
    sizes = [(m.in_features, m.out_features) for m in layers if isinstance(m, nn.Linear)]
    assert sizes == [(20, 256), (256, 128), (128, 3)]
    assert [m.negative_slope for m in layers if isinstance(m, nn.LeakyReLU)] == [0.1, 0.1]


def test_resnet20_has_the_layers_and_shapes_of_its_name():
    network = ResNet20(3, 10, nn.Linear)
    convolutions = [m for m in network.modules() if isinstance(m, nn.Conv2d)]
    on_the_way = [m for m in convolutions if m.kernel_size == (3, 3)]
    assert len(on_the_way) + 1 == 20  # and the last layer
    assert len(convolutions) - len(on_the_way) == 2  # projection shortcuts
    assert network.stages(torch.zeros(2, 16, 64, 64)).shape == (2, 64, 16, 16)


def test_resnet20_blocks_without_a_body_are_their_shortcuts():
    network = ResNet20(1, 2, nn.Linear).eval()
    for block in network.stages:
        nn.init.zeros_(block.body[-1].weight)
    x = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    stem = network.stem(x)
    torch.testing.assert_close(network.stages[:3](stem), stem)
    first, second = network.stages[3].shortcut, network.stages[6].shortcut
    expected = network.head(second(first(stem).relu()).relu().mean((2, 3)))
    torch.testing.assert_close(network(x), expected)


@pytest.fixture(scope="module")
def images():
    """Class 1 is bright on the left, class 0 on the right; (n, height, width, channels)."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    images = rng.integers(0, 100, (40, 8, 9, 3)).astype(np.uint8)
    images[y == 1, :, :4] += 150
    images[y == 0, :, 4:] += 150
    return images, y


def test_images_may_come_in_any_shape(images):
    X, y = images
    model = quick(network="resnet20", batch_size=20)
    last = clone(model).fit(X, y)
    assert last.sample_shape_ == (8, 9, 3)
    assert last.n_features_in_ == 216
    expected = last.predict_proba(X)
    assert accuracy(y, last.predict(X)) > 0.9
    first = clone(model).fit(np.moveaxis(X, -1, 1), y)
    np.testing.assert_allclose(first.predict_proba(np.moveaxis(X, -1, 1)), expected, rtol=1e-4)
    flat = clone(model).set_params(sample_shape=(8, 9, 3)).fit(X.reshape(40, -1), y)
    np.testing.assert_array_equal(flat.predict_proba(X.reshape(40, -1)), expected)
    np.testing.assert_array_equal(last.predict_proba(X.reshape(40, -1)), expected)
    grey = clone(model).fit(X[..., 0], y)
    one_channel = clone(model).fit(X[..., :1], y)
    np.testing.assert_allclose(
        grey.predict_proba(X[..., 0]), one_channel.predict_proba(X[..., :1]), rtol=1e-4
    )


def test_pixels_of_bytes_are_parts_of_one(images):
    X, y = images
    as_bytes = quick().fit(X, y).predict_proba(X)
    as_floats = quick().fit(X / np.float32(255), y).predict_proba(X / np.float32(255))
    np.testing.assert_array_equal(as_bytes, as_floats)
    rows = X.reshape(40, -1)  # a table of bytes is no image, and taken as it comes
    np.testing.assert_array_equal(
        quick().fit(rows, y).predict_proba(rows),
        quick().fit(rows.astype(np.float32), y).predict_proba(rows.astype(np.float32)),
    )


def test_a_factory_gets_the_shape_and_the_number_of_classes(images, data):
    shapes = []

    def factory(sample_shape, n_classes):
        shapes.append((sample_shape, n_classes))
        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(sample_shape), n_classes))

    quick(network=factory).fit(*images)
    quick(network=factory).fit(*data)
    assert shapes == [((3, 8, 9), 2), ((20,), 3)]


def test_numbers_keep_their_type(data):
    X, y = data
    assert quick().fit(X, y).predict_proba(X).dtype == np.float64
    assert quick().fit(X.astype(np.float32), y).predict_proba(X).dtype == np.float32
    assert quick().fit(X.astype(int), y).predict_proba(X).dtype == np.float32


# ---------------------------------------------------------------- choosing the epoch


@given(
    hnp.arrays(np.intp, st.integers(1, 80), elements=st.integers(0, 4)),
    st.floats(0.01, 0.9),
    st.integers(0, 100),
)
def test_the_split_holds_out_a_part_of_every_class(labels, fraction, seed):
    _, codes = np.unique(labels, return_inverse=True)
    kept, held = split(codes, fraction, np.random.SeedSequence(seed))
    assert sorted([*kept, *held]) == list(range(len(codes)))
    for code in range(codes.max() + 1):
        n, n_held = np.sum(codes == code), np.sum(codes[held] == code)
        assert n_held < n
        assert n_held == 0 or abs(n_held - fraction * n) <= 1
        assert n_held > 0 or n == 1


def test_no_fraction_holds_out_nothing():
    kept, held = split(np.array([0, 1, 1]), 0.0, np.random.SeedSequence(0))
    assert (kept.tolist(), held.tolist()) == ([0, 1, 2], [])


@pytest.mark.parametrize("selection", ["geometric_mean", "loss"])
def test_the_best_epoch_is_given_back(data, selection):
    X, y = data
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.3, rng.integers(0, 3, len(y)), y)  # to be over-fitted
    model = TorchClassifier(
        epochs=30,
        batch_size=20,
        learning_rate=0.01,
        validation_fraction=0.3,
        selection=selection,
        random_state=3,
    ).fit(X, y)
    steps, values = zip(*model.history_.validation, strict=True)
    assert len(values) == 30
    assert model.history_.best_step == steps[int(np.argmin(values))] < steps[-1]
    _, held = split(y, 0.3, seed_sequence(3).spawn(4)[0])
    if selection == "geometric_mean":
        value = -geometric_mean(y[held], model.predict(X[held]))
    else:
        value = -np.log(model.predict_proba(X[held])[np.arange(len(held)), y[held]]).mean()
    assert value == pytest.approx(min(values))


def test_while_a_class_is_missed_the_mean_recall_chooses_the_epoch():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)).astype(np.float32)
    y = (X[:, 0] > 0.3).astype(int)
    y[::40] = 2  # a third class that nothing tells
    model = TorchClassifier(
        epochs=12, learning_rate=0.003, validation_fraction=0.3, random_state=0
    ).fit(X, y)
    _, held = split(y, 0.3, seed_sequence(0).spawn(4)[0])
    predicted = model.predict(X[held])
    assert geometric_mean(y[held], predicted) == 0.0
    steps, values = zip(*model.history_.validation, strict=True)
    assert model.history_.best_step == steps[int(np.argmin(values))] > steps[0]
    assert min(values) == pytest.approx(1.0 - acsa(y[held], predicted))


def test_patience_ends_training_early(data):
    X, y = data
    model = quick(epochs=200, validation_fraction=0.3, patience=4).fit(X, y)
    history = model.history_
    steps = [step for step, _ in history.validation]
    assert history.stopped_early
    assert len(steps) < 200
    assert steps.index(history.best_step) == len(steps) - 1 - 4


# ---------------------------------------------------------------- randomness


def dropout(sample_shape, n_classes):
    return nn.Sequential(nn.Dropout(0.5), nn.Linear(sample_shape[0], n_classes))


@pytest.mark.parametrize("network", ["mlp", dropout])
def test_the_seed_decides_and_global_states_stay(data, network):
    X, y = data
    before = np.random.get_state()[1].copy(), torch.get_rng_state(), random.getstate()  # noqa: NPY002
    a, b, c = (
        quick(network=network, validation_fraction=0.2, random_state=seed)
        .fit(X, y)
        .predict_proba(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)
    np.testing.assert_array_equal(before[0], np.random.get_state()[1])  # noqa: NPY002
    assert (before[1] == torch.get_rng_state()).all()
    assert before[2] == random.getstate()


def test_a_module_is_copied_and_not_changed(data):
    X, y = data
    network, loss = nn.Linear(20, 3), LDAMLoss([1, 2, 3])
    before = network.weight.detach().clone()
    quick(network=network, loss=loss).fit(X, y)
    assert (network.weight == before).all()
    assert network.weight.dtype == loss.margins.dtype == torch.float32


def test_threads_are_as_before(data):
    before = torch.get_num_threads()
    seen = []

    def factory(sample_shape, n_classes):
        seen.append(torch.get_num_threads())
        return nn.Linear(sample_shape[0], n_classes)

    quick(network=factory, n_threads=1).fit(*data)
    assert (seen, torch.get_num_threads()) == ([1], before)


# ---------------------------------------------------------------- among other estimators


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["maybe", "no", "yes"]),
        np.array(["maybe", "no", "yes"], dtype=object),
        np.array([-3, 7, 10]),
        np.array([-1.0, 0.0, 1.0]),
    ],
)
def test_labels_of_any_type(data, labels):
    X, y = data
    model = quick(class_weight={labels[1]: 5.0}).fit(X, labels[y])
    plain = quick(class_weight={1: 5.0}).fit(X, y)
    np.testing.assert_array_equal(model.classes_, labels)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, labels[plain.predict(X)])
    assert predicted.dtype == labels.dtype


def test_pipelines_grids_clones_and_pickles(data):
    X, y = data
    pipeline = make_pipeline(
        StandardScaler(), RandomOverSampler(random_state=0), quick(loss="ldam", epochs=20)
    )
    search = GridSearchCV(
        pipeline,
        {"torchclassifier__loss": ["ce", "ldam"], "torchclassifier__epochs": [1, 20]},
        scoring=scorers()["geometric_mean"],
        cv=2,
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_["torchclassifier__epochs"] == 20
    model = search.best_estimator_
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    copy = clone(model).fit(X, y)
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_tables_with_named_columns(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    table = pandas.DataFrame(X, columns=[f"c{i}" for i in range(20)])
    model = quick().fit(table, pandas.Series(y))
    assert model.feature_names_in_.tolist() == table.columns.tolist()
    np.testing.assert_array_equal(model.predict_proba(table), quick().fit(X, y).predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"network": "vgg"}, ParameterError, "network must be .* 'vgg'"),
        ({"network": 3}, ParameterError, "network must be"),
        ({"network": lambda *_: None}, ParameterError, "network must give a torch module"),
        ({"network": nn.Linear(20, 2)}, ParameterError, "each of the 3 classes"),
        ({"network": "resnet20"}, DataError, "needs images"),
        ({"loss": "hinge"}, ParameterError, "loss must be .* 'hinge'"),
        ({"loss": FocalLoss(), "class_weight": "balanced"}, ParameterError, 'reduction="none"'),
        ({"class_weight": {7: 2.0}}, ParameterError, "class_weight must"),
        ({"class_weight": {0: 0.0}}, ParameterError, "class_weight must"),
        ({"sample_shape": (4, 4)}, ParameterError, "sample_shape must multiply to the 20"),
        ({"patience": 3}, ParameterError, "validation_fraction"),
        ({"epochs": 0}, ValueError, "'epochs'"),
        ({"optimizer": "lion"}, ValueError, "'optimizer'"),
        ({"device": "nowhere"}, ParameterError, "device"),
    ],
)
def test_errors_name_what_is_wrong(data, parameters, error, words):
    with pytest.raises(error, match=words):
        quick(**parameters).fit(*data)


def test_predicting_other_images_is_an_error(images):
    X, y = images
    model = quick().fit(X, y)
    with pytest.raises(DataError, match=r"shape \(8, 9, 3\)"):
        model.predict(np.swapaxes(X, 1, 2))


def test_epochs_are_balanced_and_hold_all_real_rows():
    X = np.arange(60, dtype=np.float32).reshape(30, 2)
    codes = np.repeat([0, 1, 2], [20, 7, 3])
    rows = as_training_rows(X, codes, np.ones(30), (2,), torch.device("cpu"))
    asked = []

    def make(n, code):
        asked.append((n, code))
        return np.full((n, 2), -1.0, np.float32)

    epoch = fresh_epochs(rows, make, 0.75, (2,), np.random.SeedSequence(0))
    first, second = epoch(), epoch()
    assert asked == [(13, 1), (15, 2)] * 2
    for balanced in (first, second):
        assert torch.bincount(balanced.y).tolist() == [20, 20, 20]
        for code in range(3):
            shown = balanced.X[balanced.y == code]
            real = shown[shown[:, 0] >= 0]
            found, times = real.unique(dim=0, return_counts=True)
            assert torch.equal(found, torch.from_numpy(X[codes == code]))
            assert times.max() - times.min() <= 1


def test_smaller_classes_borrow_parts_of_differences_between_majority_neighbours():
    majority = np.repeat([[0.0, 0.0], [100.0, 0.0]], 11, axis=0)
    majority[:, 1] = np.arange(22) % 11  # two groups, neighbours differ in the second column only
    X = np.concatenate([majority, [[5.0, 50.0]] * 2]).astype(np.float32)
    codes = np.repeat([0, 1], [22, 2])
    rows = as_training_rows(X, codes, np.ones(24), (2,), torch.device("cpu"))
    epoch = fresh_epochs(
        rows, lambda n, _: np.full((n, 2), 7.0, np.float32), 0.5, (2,),
        np.random.SeedSequence(0), borrowed=0.5,
    )  # fmt: skip
    balanced = epoch()
    assert torch.equal(balanced.X[balanced.y == 0].sort(0)[0], rows.X[:22].sort(0)[0])
    smaller = balanced.X[balanced.y == 1]
    assert set(smaller[:, 0].tolist()) == {5.0, 7.0}
    shifts = smaller[:, 1] - torch.where(smaller[:, 0] == 5.0, 50.0, 7.0)
    assert 0.5 < shifts.abs().max() <= 0.5 * 10
    assert (shifts > 0).any()
    assert (shifts < 0).any()
    assert not torch.equal(epoch().X, balanced.X)


def test_a_share_is_how_large_a_class_becomes_at_least():
    codes = np.repeat([0, 1, 2], [40, 15, 4])
    rows = as_training_rows(np.zeros((59, 2)), codes, np.ones(59), (2,), torch.device("cpu"))
    for share, counts in {0.0: [40, 15, 4], 0.25: [40, 15, 10], 0.5: [40, 20, 20]}.items():
        for make in (None, lambda n, _: np.ones((n, 2))):
            epoch = fresh_epochs(rows, make, 0.5, (2,), np.random.SeedSequence(0), share=share)
            assert torch.bincount(epoch().y).tolist() == counts


def test_decisions_and_probabilities_are_those_of_the_data():
    X, y = make_classification(600, weights=[0.9], class_sep=0.7, random_state=0)
    options = {"sampler": "repeat", "epochs": 8, "random_state": 0, "validation_fraction": 0.3}
    plain = TorchClassifier(**options).fit(X, y)
    said, priors = plain.predict_proba(X), np.bincount(y) / 600
    corrected = TorchClassifier(correct="priors", **options).fit(X, y)
    by_bayes = said * priors  # trained on classes of one size
    np.testing.assert_allclose(
        corrected.predict_proba(X), by_bayes / by_bayes.sum(1, keepdims=True), rtol=1e-6
    )
    assert abs(corrected.predict_proba(X)[:, 1].mean() - 0.1) < 0.05 < said[:, 1].mean() - 0.1
    for decide in ("trained", "balanced"):  # which are the same where classes are of one size
        for correct in ("none", "priors"):
            model = TorchClassifier(decide=decide, correct=correct, **options).fit(X, y)
            np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    probable = TorchClassifier(decide="probable", **options).fit(X, y)
    np.testing.assert_array_equal(probable.predict(X), corrected.predict_proba(X).argmax(1))
    costs = {"decide": "costs", "cost_matrix": {0: 1, 1: 4}}
    np.testing.assert_array_equal(
        TorchClassifier(**costs, **options).fit(X, y).predict(X),
        corrected.predict_proba(X)[:, 1] > 0.2,
    )
    tuned = TorchClassifier(decide="tuned", metric="accuracy", **options).fit(X, y)
    kept = (tuned.predict(X) == y).mean()
    assert kept > (plain.predict(X) == y).mean()
    with pytest.raises(ParameterError, match="validation_fraction"):
        TorchClassifier(decide="tuned").fit(X, y)
    with pytest.raises(ParameterError, match="needs cost_matrix"):
        TorchClassifier(decide="costs").fit(X, y)


def test_classes_of_one_row_borrow_nothing_and_do_no_harm():
    rows = as_training_rows(np.eye(2), np.array([0, 1]), np.ones(2), (2,), torch.device("cpu"))
    epoch = fresh_epochs(
        rows, lambda n, _: np.zeros((n, 2)), 0.5, (2,), np.random.SeedSequence(0), borrowed=1.0
    )
    assert torch.equal(epoch().X, rows.X)


def test_sampler_brings_new_rows_every_epoch_and_is_repeatable():
    X, y = make_classification(300, weights=[0.9], random_state=0)
    made = []

    class Spy(MGVAE):
        def generate(self, n, label, random_state=None):
            made.append(super().generate(n, label, random_state))
            return made[-1]

    sampler = Spy(pretrain_steps=30, finetune_steps=20)
    model = TorchClassifier(sampler=sampler, epochs=3, validation_fraction=0.2, random_state=0)
    first = model.fit(X, y).predict_proba(X)
    assert len(made) == 3
    assert not np.array_equal(made[0], made[1])
    assert sum(model.sampler_.state_.counts) == 240  # not the rows held out
    assert sampler.random_state is None
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), first)


def test_sampler_balances_images_in_their_shape():
    digits = load_digits()
    kept = np.r_[np.flatnonzero(digits.target == 0), np.flatnonzero(digits.target == 1)[:9]]
    sampler = MGVAE(pretrain_steps=20, finetune_steps=10)
    model = TorchClassifier(sampler=sampler, epochs=2, borrowed=1.0, random_state=0)
    model.fit((digits.images[kept] / 16).astype(np.float32), digits.target[kept])
    assert model.sampler_.generate(2, 1).shape == (2, 8, 8)


def test_a_sampler_that_cannot_generate_is_refused():
    X, y = make_classification(60, random_state=0)
    with pytest.raises(ValueError, match="sampler"):
        TorchClassifier(sampler=SMOTE(), epochs=1).fit(X, y)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_mixed_tables_go_through_the_codec(kind):
    rng = np.random.default_rng(0)
    n = 300
    y = np.where(rng.random(n) < 0.3, "Yes", "no")
    frame = pd.DataFrame(
        {
            "word": np.where(y == "Yes", rng.choice(["a", "b"], n), rng.choice(["b", "c"], n)),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(90, size=n), "D"),
            "hole": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        }
    )
    X = pl.from_pandas(frame) if kind == "polars" else frame
    model = TorchClassifier(epochs=15, random_state=0).fit(X[:200], y[:200])
    assert set(model.classes_) == {"Yes", "no"}
    said = model.predict_proba(X[200:])
    by_hand = TorchClassifier(epochs=15, random_state=0)
    encoded = model.codec_.encode(read_table(frame))
    np.testing.assert_array_equal(
        said, by_hand.fit(encoded[:200], y[:200]).predict_proba(encoded[200:])
    )
    assert roc_auc_score(y[200:] == "Yes", said[:, 0]) > 0.7


def planted(n):
    """A mixed table whose category decides the class, and whose number hints at it."""
    rng = np.random.default_rng(1)
    y = np.where(rng.random(n) < 0.15, "rare", "common")
    told = np.where(rng.random(n) < 0.9, y, rng.permutation(y))
    frame = pd.DataFrame(
        {
            "word": np.where(told == "rare", rng.choice(["a", "b"], n), rng.choice(["c", "d"], n)),
            "hint": rng.normal(size=n) + 0.4 * (y == "rare"),
            "noise": rng.normal(size=n),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(90, size=n), "D"),
        }
    )
    return frame, y


def test_a_category_that_decides_the_class_is_learned():
    frame, y = planted(900)
    areas = {}
    for name, X in {"all": frame, "numbers": frame[["hint", "noise"]]}.items():
        model = TorchClassifier(epochs=15, random_state=0).fit(X[:600], y[:600])
        areas[name] = roc_auc_score(y[600:] == "rare", model.predict_proba(X[600:])[:, 1])
    assert areas["all"] > 0.85
    assert 0.5 < areas["numbers"] < 0.7


def test_a_real_mixed_table_is_learned(data_folder):
    names = [*map(str, range(14)), "income"]
    path = data_folder("mixed/adult.data.gz")
    table = pd.read_csv(path, names=names, nrows=3000, skipinitialspace=True, na_values="?")
    X, y = table.drop(columns="income"), table["income"] == ">50K"
    numbers = X.select_dtypes("number")
    models = {"all": TorchClassifier(epochs=10, random_state=0)}
    models["numbers"] = make_pipeline(StandardScaler(), models["all"])
    areas = {}
    for (name, model), some in zip(models.items(), (X, numbers), strict=True):
        model = clone(model).fit(some[:2000], y[:2000])
        areas[name] = roc_auc_score(y[2000:], model.predict_proba(some[2000:])[:, 1])
    assert areas["all"] > 0.85
    assert areas["all"] > areas["numbers"] + 0.03


@pytest.mark.parametrize("container", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_sampler_sees_a_mixed_table_as_it_is(container):
    frame, y = planted(600)
    X, X_new = container(frame[:400]), container(frame[400:])
    weight = np.ones(400)
    weight[::10] = 0
    made = []

    class Spy(MGVAE):
        def generate(self, n, label, random_state=None):
            made.append(super().generate(n, label, random_state))
            return made[-1]

    sampler = Spy(pretrain_steps=60, finetune_steps=40)
    model = TorchClassifier(sampler=sampler, epochs=4, validation_fraction=0.25, random_state=0)
    said = model.fit(X, y[:400], sample_weight=weight).predict_proba(X_new)
    assert len(made) == 4
    assert {type(rows) for rows in made} == {type(X)}
    assert all(set(cell_texts(read_table(rows).columns[0])) <= set("abcd") for rows in made)
    kept = sum(model.sampler_.state_.counts)
    assert kept == 270  # neither rows that weigh nothing nor those held out
    assert roc_auc_score(y[400:] == "rare", said[:, 1]) > 0.8
    again = clone(model).fit(X, y[:400], sample_weight=weight).predict_proba(X_new)
    np.testing.assert_array_equal(said, again)


def test_the_rows_of_an_epoch_are_those_of_the_sampler_encoded(monkeypatch):
    """One epoch of new rows alone: the network sees what the codec makes of the sampler's frame."""
    frame, y = planted(200)
    seen = []
    train = training.train_network

    def spy(network, loss, rows, held, plan, *, epoch, **given):
        seen.append(epoch())
        return train(network, loss, rows, held, plan, epoch=epoch, **given)

    monkeypatch.setattr(training, "train_network", spy)
    sampler = MGVAE(pretrain_steps=5, finetune_steps=5, random_state=3)
    model = TorchClassifier(sampler=sampler, synthetic_share=1.0, epochs=1, random_state=0)
    model.fit(frame, y)
    n_rare, n_common = (y == "rare").sum(), (y == "common").sum()
    rows = seen[0].X[seen[0].y == 1].numpy()
    assert len(rows) == n_common
    new = rows[n_rare:]
    levels = new[:, :4]
    real = model.codec_.encode(read_table(frame))[:, :4]
    assert {tuple(row) for row in levels} <= {tuple(row) for row in real}  # whole levels
    assert not (new[:, None] == model.codec_.encode(read_table(frame))[None]).all(-1).any()


def test_rows_of_a_mixed_table_are_repeated():
    frame, y = planted(300)
    model = TorchClassifier(sampler="repeat", epochs=3, random_state=0).fit(frame, y)
    assert model.predict(frame).shape == (300,)


# ---------------------------------------------------------------- augmentation


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == 3)[:60], np.flatnonzero(y == 8)[:12]])
    return (X[rows].reshape(-1, 8, 8) / 16).astype(np.float32), y[rows]


def test_augmentation_at_zero_strength_changes_no_bit(digits):
    X, y = digits
    plain = quick().fit(X, y)
    still = quick(augment={"shift": 0}, mixup=0.0, cutmix=0.0, defer=0.0).fit(X, y)
    assert np.array_equal(plain.decision_function(X), still.decision_function(X))


@pytest.mark.parametrize("how", [{"augment": {"shift": 1, "flip": True}}, {"mixup": 1.0},
                                 {"cutmix": 1.0}, {"sampler": "repeat"}])  # fmt: skip
def test_every_augmentation_does_something_and_the_seed_decides_it(digits, how):
    X, y = digits
    first, again = (quick(**how).fit(X, y).decision_function(X) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, quick().fit(X, y).decision_function(X))


def test_the_loss_of_mixtures_is_the_mixture_of_losses():
    """One step of plain gradient descent from known weights, worked out by hand."""
    X = np.random.default_rng(0).normal(size=(12, 5))
    y = np.arange(12) % 3
    seeds = seed_sequence(0).spawn(6)
    network = nn.Linear(5, 3).double()
    model = TorchClassifier(
        network, epochs=1, batch_size=12, optimizer="sgd", learning_rate=0.1, mixup=1.0,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    order = torch.randperm(12, generator=torch_generator(seeds[2]))
    mixed = mix(torch.from_numpy(X)[order], torch_generator(seeds[5]), mixup=1.0)
    own = F.one_hot(torch.from_numpy(y)[order]).double()
    soft = mixed.share * own + (1 - mixed.share) * own[mixed.partner]
    F.cross_entropy(network(mixed.X), soft).backward()
    expected = network.weight - 0.1 * network.weight.grad
    torch.testing.assert_close(model.network_.weight, expected)


def test_repeated_rows_balance_the_classes(digits):
    X, y = digits
    codes = (y == 8).astype(np.intp)
    rows = as_training_rows(
        X.reshape(len(X), -1), codes, np.ones(len(y)), (8, 8), torch.device("cpu")
    )
    epoch = fresh_epochs(rows, None, 0.5, (8, 8), np.random.SeedSequence(0))()
    assert torch.bincount(epoch.y).tolist() == [60, 60]
    real = {row.numpy().tobytes() for row in rows.X[rows.y == 1]}
    shown = [row.numpy().tobytes() for row in epoch.X[epoch.y == 1]]
    assert {shown.count(row) for row in real} == {5}


def test_deferred_weights_begin_late(digits):
    X, y = digits
    weighted = {"class_weight": "effective", "epochs": 4}
    plain = quick(epochs=4).fit(X, y).history_.terms["loss"]
    late = quick(**weighted, defer=0.5).fit(X, y).history_.terms["loss"]
    early = quick(**weighted).fit(X, y).history_.terms["loss"]
    half = len(plain) // 2
    np.testing.assert_allclose(late[:half], plain[:half], rtol=1e-6)
    assert late[half] != pytest.approx(plain[half], rel=1e-3)
    assert early[0] != pytest.approx(plain[0], rel=1e-3)


def test_deferred_weights_keep_the_weights_of_rows(digits):
    X, y = digits
    own = np.where(np.arange(len(y)) % 2, 3.0, 1.0)
    plain = quick(epochs=2).fit(X, y, own).history_.terms["loss"]
    late = quick(epochs=2, class_weight="balanced", defer=0.5).fit(X, y, own)
    np.testing.assert_allclose(late.history_.terms["loss"][0], plain[0], rtol=1e-5)


@pytest.mark.parametrize("name", ["augment", "cutmix"])
def test_what_only_images_have_is_refused_for_tables(data, name):
    X, y = data
    value = {"shift": 1} if name == "augment" else 1.0
    with pytest.raises(ParameterError, match=name):
        quick(**{name: value}).fit(X, y)


def test_balanced_softmax_is_told_the_shares_of_the_classes(digits):
    X, y = digits
    model = quick(loss="balanced_softmax").fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    loss = training.make_loss("balanced_softmax", np.array([60.0, 12.0]), False)
    torch.testing.assert_close(loss.adjustment.exp(), torch.tensor([60 / 72, 12 / 72]))
