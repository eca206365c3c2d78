"""Every sampler as a user meets it."""

import pickle
import subprocess
import sys
import textwrap
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from imblearn.pipeline import make_pipeline
from imblearn.utils.estimator_checks import estimator_checks_generator as imblearn_checks
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator as sklearn_checks

from mgvae import CGAN, CVAE, MGVAE
from mgvae.errors import CollapseError, CollapseWarning, DataError, DivergenceError, MGVAEError
from mgvae.methods.cgan import ConditionalGAN
from mgvae.samplers import RECIPES, resolved_settings
from tests.expert import expert

QUICK = {
    MGVAE: {"pretrain_steps": 20, "finetune_steps": 10, "n_exemplars": 16},
    CVAE: {"steps": 20},
    CGAN: {"steps": 20, "on_collapse": "warn", "hidden_sizes": (32, 32)},
}
every_sampler = pytest.mark.parametrize("sampler", list(QUICK))


def quick(sampler, **parameters):
    return sampler(**{"random_state": 0, **QUICK[sampler], **parameters})


def all_checks():
    for sampler in QUICK:
        for suite in (imblearn_checks, sklearn_checks):
            for estimator, check in suite(quick(sampler)):
                name = f"{sampler.__name__}-{suite.__module__.split('.')[0]}-{check.func.__name__}"
                yield pytest.param(estimator, check, id=name)


@pytest.mark.parametrize(("estimator", "check"), list(all_checks()))
def test_conformance(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::mgvae.errors.CollapseWarning")
class TestEverySampler:
    @every_sampler
    def test_originals_first_and_bit_identical(self, sampler, imbalanced):
        X, y = imbalanced
        s = quick(sampler)
        Xb, yb = s.fit_resample(X, y)
        assert Counter(yb) == {"many": 200, "some": 200, "few": 200}
        assert Xb[: len(X)].tobytes() == X.tobytes()
        assert (yb[: len(y)] == y).all()
        assert (s.source_indices_[: len(y)] == np.arange(len(y))).all()
        assert len(s.source_indices_) == len(yb)

    @every_sampler
    def test_same_seed_same_bits_other_seed_other_bits(self, sampler, imbalanced):
        states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        one, two, other = (
            quick(sampler, random_state=seed).fit_resample(*imbalanced)[0] for seed in (3, 3, 4)
        )
        assert one.tobytes() == two.tobytes()
        assert one.tobytes() != other.tobytes()
        assert torch.equal(states[0], torch.get_rng_state())
        assert (states[1] == np.random.get_state()[1]).all()  # noqa: NPY002

    @every_sampler
    def test_generate_repeats_by_seed_and_goes_on_without(self, sampler, imbalanced):
        s = quick(sampler).fit(*imbalanced)
        a, b = (s.generate(7, "few", random_state=1) for _ in range(2))
        c, d = (s.generate(7, "few") for _ in range(2))
        assert a.shape == (7, 5)
        assert (a == b).all()
        assert not (c == d).all()
        assert s.generate(0, "few").shape == (0, 5)
        again = quick(sampler).fit(*imbalanced)
        assert (again.generate(7, "few") == c).all()

    @every_sampler
    @pytest.mark.parametrize("n_minority", [1, 2, 5])
    def test_very_few_rows(self, sampler, n_minority):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60 + n_minority, 3))
        y = np.repeat([0, 1], [60, n_minority])
        Xb, yb = quick(sampler).fit_resample(X, y)
        assert Counter(yb.tolist()) == {0: 60, 1: 60}
        assert np.isfinite(Xb).all()

    @every_sampler
    def test_constant_columns_and_duplicate_rows(self, sampler):
        X = np.column_stack([np.ones(40), np.repeat([0.0, 1.0], 20), np.tile([2.0, 3.0], 20)])
        y = np.repeat([0, 1], [34, 6])
        Xb, _ = quick(sampler).fit_resample(X, y)
        assert (Xb[:, 0] == 1.0).all()
        assert (Xb >= X.min(0)).all()
        assert (Xb <= X.max(0)).all()

    @every_sampler
    def test_nothing_to_do_is_nothing_done(self, sampler):
        X, y = np.arange(20.0).reshape(10, 2), np.repeat([0, 1], 5)
        s = quick(sampler)
        Xb, yb = s.fit_resample(X, y)
        assert (Xb == X).all()
        assert (yb == y).all()
        assert s.history_ == {}
        with pytest.raises(MGVAEError, match=r"label=1 is not a class that this sampler generates"):
            s.generate(3, 1)

    @every_sampler
    def test_frames_in_frames_out(self, sampler, imbalanced):
        X, y = imbalanced
        frame = pd.DataFrame(X, columns=list("abcde"), index=[f"r{i}" for i in range(len(X))])
        frame["colour"] = pd.Categorical(np.where(X[:, 0] > 0, "red", "blue"))
        frame.loc[frame.index[::7], "b"] = np.nan
        label = pd.Series(y, index=frame.index, name="class")
        s = quick(sampler)
        Xb, yb = s.fit_resample(frame, label)
        pd.testing.assert_frame_equal(Xb.iloc[: len(frame)], frame)
        assert (Xb.dtypes == frame.dtypes).all()
        assert Xb.index.is_unique
        assert yb.name == "class"
        assert (yb.index == Xb.index).all()
        assert Xb["a"].notna().all()
        assert list(s.feature_names_in_) == list(frame.columns)
        assert list(s.generate(2, "few").columns) == list(frame.columns)
        for other, labels in [
            (pl.from_pandas(frame.reset_index(drop=True)), pl.Series("class", y)),
            (pa.Table.from_pandas(frame, preserve_index=False), pa.chunked_array([y.tolist()])),
        ]:
            Xo, yo = quick(sampler).fit_resample(other, labels)
            assert type(Xo) is type(other)
            assert type(yo) is type(labels)
            assert len(Xo) == len(yo) == len(Xb)

    @every_sampler
    @pytest.mark.filterwarnings("ignore:column 'id'")
    def test_identifiers_never_repeat(self, sampler, imbalanced):
        X, y = imbalanced
        frame = pd.DataFrame({"a": X[:, 0], "id": np.arange(len(X))})
        s = quick(sampler)
        Xb, _ = s.fit_resample(frame, y)
        more = [s.generate(5, "few") for _ in range(2)]
        ids = pd.concat([Xb, *more])["id"]
        assert ids.is_unique
        assert s.generate(5, "few", random_state=0).equals(s.generate(5, "few", random_state=0))

    @every_sampler
    def test_in_a_pipeline_and_a_grid_search(self, sampler, imbalanced):
        X, y = imbalanced
        pipeline = make_pipeline(StandardScaler(), quick(sampler), LogisticRegression())
        name = sampler.__name__.lower()
        search = GridSearchCV(pipeline, {f"{name}__batch_size": [16, 32]}, cv=2)
        search.fit(X, y == "some")
        assert search.best_score_ > 0.5
        assert clone(quick(sampler)).get_params() == quick(sampler).get_params()

    @every_sampler
    def test_a_fitted_sampler_can_be_pickled(self, sampler, imbalanced):
        s = quick(sampler).fit(*imbalanced)
        again = pickle.loads(pickle.dumps(s))  # noqa: S301
        assert (again.generate(4, "few", 0) == s.generate(4, "few", 0)).all()

    @every_sampler
    def test_input_arrays_may_be_anything_numpy_has(self, sampler, imbalanced):
        X, y = imbalanced
        reference = quick(sampler).fit_resample(X, y)[0]
        locked = X.copy()
        locked.flags.writeable = False
        strided = np.repeat(X, 2, axis=1)[:, ::2]
        for variant in (locked, strided, np.asfortranarray(X)):
            assert (quick(sampler).fit_resample(variant, y)[0] == reference).all()
        assert quick(sampler).fit_resample(X.astype(np.float32), y)[0].dtype == np.float32


@settings(max_examples=15)
@given(
    X=hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.int16, np.uint8]),
        st.tuples(st.integers(12, 40), st.integers(1, 4)),
        elements=st.integers(0, 100),
    ),
    few=st.integers(1, 5),
)
def test_any_shape_and_dtype(X, few):
    y = np.r_[np.ones(few, int), np.zeros(len(X) - few, int)]
    Xb, yb = quick(MGVAE, pretrain_steps=3, finetune_steps=2).fit_resample(X, y)
    assert Xb.dtype == X.dtype
    assert Xb.shape == (2 * (len(X) - few), X.shape[1])
    assert (Xb[: len(X)] == X).all()
    assert (Xb.min(0) >= X.min(0)).all()
    assert (Xb.max(0) <= X.max(0)).all()
    assert yb.sum() == len(X) - few


class TestMGVAE:
    def test_sources_are_majority_rows_and_translations_of_them(self, imbalanced):
        X, y = imbalanced
        s = quick(MGVAE, generation="translate", temperature=0.0)
        s.expert_settings = {"decoder_output": "mean"}
        Xb, yb = s.fit_resample(X, y)
        sources = s.source_indices_[len(X) :]
        assert (y[sources] == "many").all()
        for label in ("some", "few"):
            rows = np.flatnonzero(yb[len(X) :] == label)
            translated = s.translate(X[sources[rows]], label)
            np.testing.assert_array_equal(translated, Xb[len(X) :][rows])

    def test_translate_keeps_order_and_container(self, imbalanced):
        X, y = imbalanced
        frame = pd.DataFrame(X, columns=list("abcde"))
        s = quick(MGVAE, generation="translate", temperature=0.0)
        s.expert_settings = {"decoder_output": "mean"}
        s.fit(frame, y)
        rows = frame[y == "many"].head(6)
        made = s.translate(rows, "few")
        assert list(made.columns) == list("abcde")
        backwards = s.translate(rows.iloc[::-1], "few").to_numpy()[::-1]
        # Matrix products of the same rows in another order may differ in the last bit.
        np.testing.assert_allclose(made.to_numpy(), backwards, rtol=1e-5, atol=1e-6)

    def test_one_pretraining_serves_all_classes(self, imbalanced):
        s = quick(MGVAE).fit(*imbalanced)
        assert list(s.history_) == [
            "pre-training",
            "fine-tuning of class few",
            "fine-tuning of class some",
        ]
        assert set(s.history_["fine-tuning of class few"].terms) == {
            "loss", "reconstruction", "divergence", "ewc",
        }  # fmt: skip

    def test_any_n_jobs_gives_the_same_bits(self, imbalanced):
        one, two = (quick(MGVAE, n_jobs=n).fit_resample(*imbalanced)[0] for n in (None, 2))
        assert one.tobytes() == two.tobytes()

    def test_the_next_process_gives_the_same_bits(self):
        code = """
            import hashlib, sys
            import numpy as np
            from mgvae import MGVAE
            rng = np.random.default_rng(0)
            X, y = rng.normal(size=(80, 4)), np.repeat([0, 1], [70, 10])
            s = MGVAE(pretrain_steps=30, finetune_steps=20, random_state=0)
            print(hashlib.sha256(s.fit_resample(X, y)[0].tobytes()).hexdigest())
        """
        found = {
            subprocess.run(
                [sys.executable, "-c", textwrap.dedent(code)],
                capture_output=True, text=True, check=True,
            ).stdout
            for _ in range(2)
        }  # fmt: skip
        assert len(found) == 1

    @pytest.mark.parametrize(
        ("strategy", "expected"),
        [
            ("auto", {"many": 200, "some": 200, "few": 200}),
            ("minority", {"many": 200, "some": 40, "few": 200}),
            ("not majority", {"many": 200, "some": 200, "few": 200}),
            ("all", {"many": 200, "some": 200, "few": 200}),
            ("not minority", {"many": 200, "some": 200, "few": 8}),
            ({"few": 20}, {"many": 200, "some": 40, "few": 20}),
            ({"many": 210, "few": 9}, {"many": 210, "some": 40, "few": 9}),
            (lambda _: {"some": 50}, {"many": 200, "some": 50, "few": 8}),
        ],
    )
    def test_every_spelling_of_the_strategy(self, strategy, expected, imbalanced):
        _, yb = quick(MGVAE, sampling_strategy=strategy).fit_resample(*imbalanced)
        assert Counter(yb.tolist()) == expected

    def test_a_float_is_the_wanted_ratio_of_two_classes(self, imbalanced):
        X, y = imbalanced
        two = y != "few"
        _, yb = quick(MGVAE, sampling_strategy=0.5).fit_resample(X[two], y[two])
        assert Counter(yb.tolist()) == {"many": 200, "some": 100}

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([True, False]), np.array([-1, 1]), np.array([0.0, 1.0], np.float32),
            np.array(["no", "yes"]), np.array(["no", "yes"], object), np.array([7, 3], np.int8),
        ],
    )  # fmt: skip
    def test_labels_come_back_as_they_went_in(self, labels):
        X = np.random.default_rng(0).normal(size=(50, 2))
        y = labels[np.repeat([0, 1], [40, 10])]
        _, yb = quick(MGVAE).fit_resample(X, y)
        assert yb.dtype == y.dtype
        first, second = labels.tolist()
        assert Counter(yb.tolist()) == {first: 40, second: 40}
        assert [type(label) for label in yb.tolist()] == [type(first)] * 80

    @pytest.mark.parametrize(
        "options",
        [
            {"pretrain_steps": 0},
            {"ewc_weight": 0.0},
            {"early_stopping": True},
            {"early_stopping": 0.4},
            {"learning_rate": 1e-3},
            {"learning_rate": (1e-3, 1e-4)},
            {"recipe": "paper-tables", "n_exemplars": 16},
            {"pretrain_steps": "2 epochs", "finetune_steps": "3 epochs"},
            {"hidden_sizes": [8]},
        ],
    )
    def test_every_option_makes_rows(self, options, imbalanced):
        X, y = imbalanced
        s = quick(MGVAE, **options)
        Xb, yb = s.fit_resample(X, y)
        assert Counter(yb.tolist()) == {"many": 200, "some": 200, "few": 200}
        assert np.isfinite(Xb).all()
        if options.get("pretrain_steps") == 0:
            assert "pre-training" not in s.history_
        if options.get("pretrain_steps") == "2 epochs":
            assert s.history_["pre-training"].steps == 2 * 2  # 200 rows in batches of 128

    @pytest.mark.parametrize(
        "settings",
        [
            {"prior": "standard", "generation": "translate"},
            {"posterior_variance": "shared"},
            {"table_likelihood": "squared_error"},
            {"table_likelihood": "squared_error", "scaling": "symmetric"},
            {"table_likelihood": "bernoulli", "scaling": "minmax"},
            {"scaling": "identity"},
            {"decoder_output": "sample"},
            {"leave_one_out": False},
            {"n_remembered": 30},
            {"schedule": "constant", "clip_norm": 1.0},
        ],
    )
    def test_every_expert_setting_makes_rows(self, settings, imbalanced):
        X, y = imbalanced
        s = expert(settings, **QUICK[MGVAE], random_state=0)
        Xb, yb = s.fit_resample(X, y)
        assert Counter(yb.tolist()) == {"many": 200, "some": 200, "few": 200}
        assert np.isfinite(Xb).all()
        if settings.get("prior") == "standard":
            assert (s.source_indices_[len(y) :] == -1).all()
        for name in settings.keys() - {"table_likelihood", "scaling"}:
            assert getattr(s.state_.method.settings, name) == settings[name]

    @pytest.mark.parametrize("name", sorted(RECIPES.keys() - {"default"}))
    def test_recipes_are_what_auto_stands_for(self, name, imbalanced):
        s = MGVAE.from_preset(name, random_state=0, pretrain_steps=5, finetune_steps=5)
        assert (
            s.get_params()
            == MGVAE(recipe=name, random_state=0, pretrain_steps=5, finetune_steps=5).get_params()
        )
        Xb, _ = s.fit_resample(*imbalanced)
        settings = s.state_.method.settings
        assert settings.posterior_variance == "shared"
        assert settings.ewc_weight == RECIPES[name]["ewc_weight"]
        assert settings.pretrain_steps == 5
        assert np.isfinite(Xb).all()
        with pytest.raises(TypeError, match="hiddden_size"):
            MGVAE.from_preset(name, hiddden_size=3)

    def test_minority_rows_are_learned(self, imbalanced):
        """The point of it all: new rows lie where the class lies, not where the majority does."""
        X, y = imbalanced
        s = MGVAE(random_state=0)
        Xb, yb = s.fit_resample(X, y)
        for label in ("some", "few"):
            made = Xb[len(X) :][yb[len(X) :] == label].mean(0)
            own, major = X[y == label].mean(0), X[y == "many"].mean(0)
            assert np.linalg.norm(made - own) < 0.35 * np.linalg.norm(major - own)

    def test_progress_reaches_the_callback(self, imbalanced):
        calls = []
        quick(MGVAE, callback=lambda *call: calls.append(call)).fit(*imbalanced)
        assert {call[0] for call in calls} == {
            "pre-training", "fine-tuning of class few", "fine-tuning of class some",
        }  # fmt: skip
        assert all(0 < done <= total for _, done, total, _ in calls)

    def test_bars_are_shown_when_asked_for(self, imbalanced, capsys):
        quick(MGVAE, verbose=True).fit(*imbalanced)
        assert "pre-training" in capsys.readouterr().err


class TestBadInput:
    @pytest.mark.parametrize(
        ("X", "y", "message"),
        [
            (np.zeros((4, 2)), [1, 1, 1, 1], "one class"),
            (np.zeros((4, 2)), [1, 1, 0], "inconsistent"),
            (np.zeros((4, 2)), None, "y to be passed"),
            (np.zeros((4, 2)), [1, 0, None, 1], "1 missing label"),
            (np.zeros((4, 2)), ["a", 1, "a", "a"], "y mixes labels"),
            (np.zeros((4, 2)), [0.1, 0.2, 0.3, 0.4], "Unknown label type"),
            (np.array([[1.0], [np.inf], [2.0], [3.0]]), [0, 0, 0, 1], "inf"),
            (np.empty((0, 2)), [], "0 sample"),
            (np.empty((4, 0)), [0, 0, 0, 1], "0 feature"),
            (np.zeros(4), [0, 0, 0, 1], "Expected 2D array"),
            (sparse.csr_matrix(np.eye(4)), [0, 0, 0, 1], "toarray"),
        ],
    )
    def test_data(self, X, y, message):
        with pytest.raises(ValueError, match=message):
            quick(MGVAE).fit_resample(X, y)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"generation": "magic"}, "'generation' parameter of MGVAE must be"),
            ({"n_exemplars": 0}, "'n_exemplars' parameter"),
            ({"ewc_weight": -1}, "'ewc_weight' parameter"),
            ({"pretrain_steps": "many"}, '"200 epochs"'),
            ({"hidden_sizes": ()}, "hidden_sizes must be"),
            ({"hidden_sizes": (0,)}, "hidden_sizes must be"),
            ({"device": "nowhere"}, "device='nowhere'"),
            ({"sampling_strategy": {"none": 3}}, "none"),
            ({"sampling_strategy": {"few": 3}}, "at least"),
            ({"sampling_strategy": {"few": 10**12}}, "GiB"),
            ({"column_types": {99: "categorical"}}, "99"),
            ({"learning_rate": (1e-3, 1e-3, 1e-3)}, "learning_rate must be"),
            ({"early_stopping": 1.5}, "'early_stopping' parameter"),
            ({"checkpoint": ("run", "often")}, "checkpoint must be"),
        ],
    )
    def test_parameters_are_named_before_any_training(self, parameters, message, imbalanced):
        calls = []
        s = quick(MGVAE, callback=lambda *call: calls.append(call), **parameters)
        with pytest.raises(ValueError, match=message):
            s.fit_resample(*imbalanced)
        assert calls == []
        assert not hasattr(s, "classes_")

    def test_generate_and_translate_check_what_they_get(self, imbalanced):
        X, _ = imbalanced
        s = quick(MGVAE).fit(*imbalanced)
        with pytest.raises(ValueError, match=r"label='fev'.*\['few', 'some'\]"):
            s.generate(3, "fev")
        with pytest.raises(ValueError, match=r"n must be a whole number.*-1"):
            s.generate(-1, "few")
        with pytest.raises(ValueError, match="features"):
            s.translate(X[:, :3], "few")

    def test_divergence_names_the_stage_and_leaves_nothing_fitted(self, imbalanced):
        s = quick(MGVAE, learning_rate=1e6, pretrain_steps=300)
        with pytest.raises(DivergenceError, match=r"pre-training.*learning rate"):
            s.fit_resample(*imbalanced)
        assert not hasattr(s, "classes_")

    def test_a_failed_fit_keeps_the_fit_before(self, imbalanced):
        X, y = imbalanced
        s = quick(MGVAE).fit(X, y)
        with pytest.raises(DataError):
            s.fit(X, np.zeros(len(X)))
        assert s.generate(2, "few").shape == (2, 5)


def test_a_collapsed_gan_is_named(imbalanced):
    X, y = imbalanced
    parameters = {"steps": 1, "learning_rate": 1e-9, "hidden_sizes": (4,), "noise_size": 1}

    class Zero(torch.nn.Module):
        def forward(self, x):
            return 0.0 * x

    class CollapsedGAN(ConditionalGAN):
        def model(self, layout):
            gan = super().model(layout)
            gan.generator = torch.nn.Sequential(gan.generator, Zero())
            return gan

    class Collapsed(CGAN):
        def method_of(self, settings):
            return CollapsedGAN(super().method_of(settings).settings)

    with pytest.raises(CollapseError, match=r"collapsed for class (few|some).*MGVAE"):
        Collapsed(random_state=0, **parameters).fit_resample(X, y)
    with pytest.warns(CollapseWarning, match="collapsed"):
        Collapsed(random_state=0, on_collapse="warn", **parameters).fit_resample(X, y)


def test_the_gans_losses_are_both_kept(imbalanced):
    s = quick(CGAN, steps=50)
    s.fit(*imbalanced)
    assert set(s.history_["training"].terms) == {"discriminator", "penalised", "generator"}
    with pytest.raises(ValueError, match="no encoder"):
        s.translate(imbalanced[0], "few")


def test_a_conditional_vae_learns_its_classes(imbalanced):
    X, y = imbalanced
    s = CVAE(random_state=0).fit(X, y)
    made = s.generate(200, "some", 0).mean(0)
    own, major = X[y == "some"].mean(0), X[y == "many"].mean(0)
    assert np.linalg.norm(made - own) < 0.35 * np.linalg.norm(major - own)
    assert s.translate(X[y == "many"], "some").shape == (200, 5)


@pytest.mark.parametrize("generation", ["bridge", "translate", "responsibility"])
def test_a_draw_starts_from_given_rows_only(generation: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), np.repeat(["a", "b", "c"], [80, 30, 10])
    sampler = MGVAE(generation=generation, pretrain_steps=5, finetune_steps=5, random_state=0)
    sampler.fit(X, y)
    among = rng.choice(120, 60, replace=False)
    drawn = sampler.draw(200, "c", 0, among=among)
    assert drawn.rows.shape == (200, 3)
    if generation == "bridge":
        assert np.isin(drawn.anchor_indices, among).all()
        assert (y[drawn.anchor_indices] == "c").all()
    else:
        assert np.isin(drawn.source_indices, among).all()
    assert (y[drawn.source_indices] == "a").all()
    np.testing.assert_array_equal(sampler.draw(200, "c", 0, among=among).rows, drawn.rows)
    whole = sampler.draw(200, "c", 0)
    np.testing.assert_array_equal(whole.rows, sampler.generate(200, "c", 0))
    with pytest.raises(DataError, match="among must hold a row"):
        sampler.draw(1, "c", 0, among=np.flatnonzero(y == "b"))


@every_sampler
@pytest.mark.filterwarnings("ignore::mgvae.errors.CollapseWarning")
def test_resolved_settings_name_the_network(sampler):
    """What "auto" stood for is the network that was built: convolutions where images are large."""
    rng = np.random.default_rng(0)
    images, y = rng.random((40, 8, 8, 3), dtype=np.float32), np.repeat([0, 1], [30, 10])
    short = {name: 2 for name in QUICK[sampler] if name.endswith("steps")}
    found = [
        resolved_settings(quick(sampler, **short).fit(X, y)) for X in (images[:, 0, :, 0], images)
    ]
    assert [one["network"] for one in found] == ["mlp", "dcgan" if sampler is CGAN else "cnn"]
