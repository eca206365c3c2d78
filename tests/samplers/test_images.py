"""The samplers on images."""

from collections import Counter

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from mgvae import CGAN, CVAE, MGVAE
from mgvae.datasets import BalancedDataset
from mgvae.errors import DataError, ParameterError
from mgvae.images import grid
from mgvae.networks import mlp_bodies

QUICK = {
    MGVAE: {"pretrain_steps": 4, "finetune_steps": 3, "n_exemplars": 8},
    CVAE: {"steps": 4},
    CGAN: {"steps": 4, "on_collapse": "warn"},
}
every_sampler = pytest.mark.parametrize("sampler", list(QUICK))


def quick(sampler, **parameters):
    made = sampler(**{"random_state": 0, **QUICK[sampler], **parameters})
    if sampler is MGVAE:
        made.expert_settings = {"network_width": 0.1}
        return made
    return made.set_params(network_width=0.1)


@pytest.fixture
def photos():
    """Three classes of 9 × 12 colour images."""
    X = np.random.default_rng(0).integers(0, 256, (47, 9, 12, 3), dtype=np.uint8)
    return X, np.repeat(["many", "some", "few"], [30, 12, 5])


@every_sampler
@pytest.mark.filterwarnings("ignore::mgvae.errors.CollapseWarning")
class TestEverySampler:
    def test_what_comes_in_goes_out(self, sampler, photos):
        X, y = photos
        forms = {
            "bytes": X,
            "channels first": X.transpose(0, 3, 1, 2),
            "floats": (X / 255.0).astype(np.float32),
            "grey": X[..., 0],
            "around zero": X[..., :1] / 127.5 - 1.0,
        }
        for given in forms.values():
            s = quick(sampler)
            Xb, yb = s.fit_resample(given, y)
            assert Counter(yb.tolist()) == {"many": 30, "some": 30, "few": 30}
            assert Xb.shape == (90, *given.shape[1:])
            assert Xb.dtype == given.dtype
            assert (Xb[:47] == given).all()
            assert Xb.min() >= given.min()
            assert Xb.max() <= given.max()
            assert s.n_features_in_ == given[0].size
            made = s.generate(2, "few")
            assert made.shape == (2, *given.shape[1:])
            assert made.dtype == given.dtype

    def test_rows_with_a_declared_shape_are_the_same_images(self, sampler, photos):
        X, y = photos
        as_images, _ = quick(sampler).fit_resample(X, y)
        s = quick(sampler, sample_shape=(9, 12, 3))
        as_rows, _ = s.fit_resample(X.reshape(47, -1), y)
        assert (as_rows == as_images.reshape(90, -1)).all()

    def test_same_seed_same_bits(self, sampler, photos):
        state = torch.get_rng_state()
        one, two, other = (
            quick(sampler, random_state=seed).fit_resample(*photos)[0] for seed in (1, 1, 2)
        )
        assert one.tobytes() == two.tobytes() != other.tobytes()
        assert torch.equal(state, torch.get_rng_state())

    def test_tables_are_refused_convolutions(self, sampler):
        name = "dcgan" if sampler is CGAN else "cnn"
        with pytest.raises(ParameterError, match="is for images"):
            quick(sampler, network=name).fit(np.zeros((9, 4)), [0] * 6 + [1] * 3)


class TestMGVAE:
    def test_one_pretraining_serves_all_classes_and_sources_are_majority(self, photos):
        X, y = photos
        s = quick(MGVAE)
        s.fit_resample(X, y)
        assert list(s.history_) == [
            "pre-training", "fine-tuning of class few", "fine-tuning of class some",
        ]  # fmt: skip
        assert (y[s.source_indices_[47:]] == "many").all()

    def test_translations_are_of_the_sources(self, photos):
        X, y = photos
        s = quick(MGVAE, temperature=0.0)
        Xb, yb = s.fit_resample(X, y)
        few = np.flatnonzero(yb[47:] == "few")
        again = s.translate(X[s.source_indices_[47:][few]], "few").astype(int)
        assert np.abs(again - Xb[47:][few]).max() <= 1  # a rounded half may fall either way

    @pytest.mark.parametrize("network", ["mlp", "cnn", "residual"])
    def test_networks_by_name(self, photos, network):
        assert quick(MGVAE, network=network).fit_resample(*photos)[0].shape == (90, 9, 12, 3)

    def test_a_user_s_own_network(self, photos):
        seen = []

        def own(shape, latent_size):
            seen.append((shape, latent_size))
            return mlp_bodies(int(np.prod(shape)), (8,), latent_size)

        quick(MGVAE, network=own, latent_size=3).fit(*photos)
        assert set(seen) == {((3, 9, 12), 3)}

    def test_bfloat16_is_nearly_the_same(self, photos):
        samplers = [quick(MGVAE, temperature=0.0) for _ in range(2)]
        samplers[1].expert_settings = {"precision": "bfloat16"}
        full, reduced = (s.fit_resample(*photos)[0][47:].astype(float) for s in samplers)
        assert np.abs(full - reduced).max() > 0.0
        assert np.abs(full - reduced).mean() < 4.0

    @pytest.mark.parametrize("likelihood", ["bernoulli", "squared_error", "gaussian"])
    def test_likelihoods(self, photos, likelihood):
        sampler = quick(MGVAE)
        sampler.expert_settings = {"image_likelihood": likelihood}
        Xb, _ = sampler.fit_resample(*photos)
        assert Xb.dtype == np.uint8

    def test_images_that_cannot_be_told_apart_from_noise_are_refused(self, photos):
        X, y = photos
        s = quick(MGVAE).fit(X, y)
        with pytest.raises(DataError, match="shape"):
            s.translate(X[:, :8], "few")
        with pytest.raises(DataError, match="type"):
            s.translate(X / 255.0, "few")
        with pytest.raises(ParameterError, match="column_types"):
            quick(MGVAE, column_types={0: "integer"}).fit(X, y)
        with pytest.raises(DataError, match="sample_shape"):
            quick(MGVAE, sample_shape="channels_last").fit(X.reshape(47, -1), y)

    def test_strokes_are_learned(self):
        """The majority are bars at any height; the minority upright bars: new ones must be."""
        rng = np.random.default_rng(0)
        X = np.zeros((330, 12, 12), np.uint8)
        for image in X[:300]:
            image[rng.integers(1, 10) :][:2] = 255
        for image in X[300:]:
            image[:, rng.integers(1, 10) :][:, :2] = 255
        y = np.repeat([0, 1], [300, 30])
        s = MGVAE(
            random_state=0, pretrain_steps=400, finetune_steps=400, hidden_sizes=(64, 64)
        ).fit(X, y)
        made = s.generate(200, 1).astype(float)
        upright = made.mean(1).std(1) > made.mean(2).std(1)
        assert upright.mean() > 0.8


class TestAugmentedFineTuning:
    def test_without_changes_not_a_bit_changes(self, photos):
        plain = quick(MGVAE, augment=None).fit_resample(*photos)[0]
        still = quick(MGVAE, augment={"shift": 0}).fit_resample(*photos)[0]
        moved = quick(MGVAE, augment={"shift": 1}).fit_resample(*photos)[0]
        assert np.array_equal(plain, still)
        assert not np.array_equal(plain, moved)

    def test_a_class_of_one_image_is_learned_in_many_places(self):
        """One bright square: with shifts the class has it in several places, without in one."""
        rng = np.random.default_rng(0)
        X = np.zeros((61, 10, 10), np.uint8)
        for image in X[:60]:  # the majority has horizontal lines
            image[rng.integers(10)] = 255
        X[60, 4:6, 4:6] = 255
        y = np.repeat([0, 1], [60, 1])
        brightest = {}
        for shift in (0, 2):
            sampler = MGVAE(
                augment={"shift": shift}, pretrain_steps=300, finetune_steps=300,
                hidden_sizes=(64, 64), random_state=0,
            ).fit(X, y)  # fmt: skip
            made = sampler.generate(300, 1).astype(float)
            weight = made + 1e-9
            rows = (weight.sum(2) * np.arange(10)).sum(1) / weight.sum((1, 2))
            brightest[shift] = rows.std()
        assert brightest[2] > 2 * brightest[0]

    def test_tables_are_refused(self):
        with pytest.raises(ParameterError, match=r"augment.*images"):
            MGVAE(augment={"shift": 1}).fit(np.zeros((9, 3)), np.repeat([0, 1], [6, 3]))


class TestBalancedDataset:
    @pytest.fixture
    def real(self, photos):
        X, y = photos
        codes = np.unique(y, return_inverse=True)[1]
        return TensorDataset(torch.from_numpy(X / np.float32(255)), torch.from_numpy(codes))

    @pytest.fixture
    def sampler(self, real):
        return quick(MGVAE).fit(real.tensors[0].numpy(), real.tensors[1].numpy())

    def test_every_class_is_as_large_as_the_largest(self, real, sampler):
        balanced = BalancedDataset(real, sampler, random_state=0)
        images, labels = next(iter(DataLoader(balanced, batch_size=90)))
        assert Counter(labels.tolist()) == {0: 30, 1: 30, 2: 30}
        assert images.shape == (90, 9, 12, 3)
        assert images.dtype == torch.float32

    def test_real_samples_stay_and_synthetic_ones_are_new_in_every_epoch(self, real, sampler):
        balanced = BalancedDataset(real, sampler, random_state=0)
        loader = DataLoader(balanced, batch_size=16)
        first, second = (torch.cat([x for x, _ in loader]) for _ in range(2))
        stay = (first == second).flatten(1).all(1)
        assert stay.sum() == 30 + 15 + 15  # all of the majority, and half of the others
        originals = {x.numpy().tobytes() for x in real.tensors[0]}
        assert {x.numpy().tobytes() for x in first[stay]} == originals
        assert not {x.numpy().tobytes() for x in first[~stay]} & originals

    @pytest.mark.parametrize("workers", [0, 2])
    def test_a_seed_decides(self, real, sampler, workers):
        def two_epochs(seed):
            loader = DataLoader(
                BalancedDataset(real, sampler, random_state=seed),
                batch_size=45,
                shuffle=True,
                num_workers=workers,
                generator=torch.Generator().manual_seed(0),
            )
            return [torch.cat([x for x, _ in loader]) for _ in range(2)]

        one, two, other = two_epochs(5), two_epochs(5), two_epochs(6)
        assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
        assert not torch.equal(one[0], other[0])
        assert not torch.equal(one[0].sort(0)[0], one[1].sort(0)[0])

    def test_augmentation_changes_images_and_mixing_gives_shares_of_classes(self, real, sampler):
        def batch(**how):
            balanced = BalancedDataset(real, sampler, random_state=0, synthetic_share=0.0, **how)
            return next(iter(DataLoader(balanced, batch_size=90)))

        plain, labels = batch()
        still, _ = batch(augment={"shift": 0})
        assert torch.equal(plain, still)
        with pytest.raises(DataError, match="channels, height, width"):
            batch(augment={"shift": 1})  # these photos have their channels last
        mixed, shares = batch(mixup=1.0)
        assert torch.equal(shares.sum(1), torch.ones(90))
        own = torch.nn.functional.one_hot(labels).float()
        torch.testing.assert_close(shares.mean(0), own.mean(0))  # a permutation loses nobody
        torch.testing.assert_close(mixed.mean(), plain.mean())
        assert not torch.equal(mixed, plain)

    def test_images_are_moved_one_by_one(self, photos):
        X, y = photos
        grey = torch.from_numpy(X[..., 0] / np.float32(255))
        codes = torch.from_numpy(np.unique(y, return_inverse=True)[1])
        sampler = quick(MGVAE).fit(grey.numpy(), codes.numpy())
        how = {"augment": {"flip": True}, "random_state": 0, "synthetic_share": 0.0}
        balanced = BalancedDataset(TensorDataset(grey, codes), sampler, **how)
        seen = [balanced[0][0] for _ in range(20)]
        own = grey[codes == 0][0]
        is_self = [torch.equal(x, own) for x in seen]
        is_mirrored = [torch.equal(x, own.flip(-1)) for x in seen]
        assert all(a or b for a, b in zip(is_self, is_mirrored, strict=True))
        assert any(is_self)
        assert any(is_mirrored)

    def test_any_data_set_and_a_transform(self, photos):
        X, y = photos

        class Photos(Dataset):
            def __len__(self):
                return len(X)

            def __getitem__(self, index):
                return torch.from_numpy(X[index]).permute(2, 0, 1) / 255, y[index]

        sampler = quick(MGVAE).fit(X, y)
        balanced = BalancedDataset(
            Photos(),
            sampler,
            synthetic_share=1.0,
            transform=lambda x: torch.from_numpy(x).permute(2, 0, 1) / 255,
        )
        samples = [balanced[i] for i in range(len(balanced))]
        assert Counter(label for _, label in samples) == {"many": 30, "some": 30, "few": 30}
        assert {tuple(x.shape) for x, _ in samples} == {(3, 9, 12)}
        with pytest.raises(IndexError):
            balanced[90]

    def test_what_is_wrong_is_said(self, real, sampler):
        with pytest.raises(ParameterError, match="synthetic_share"):
            BalancedDataset(real, sampler, synthetic_share=2.0)
        with pytest.raises(DataError, match="3 labels"):
            BalancedDataset(real, sampler, labels=[0, 1, 1])


class TestGrid:
    def test_classes_side_by_side_and_methods_below_each_other(self, photos):
        X, y = photos
        mgvae, cgan = quick(MGVAE).fit(X, y), quick(CGAN).fit(X, y)
        one = grid(mgvae, X[:4], columns=3)
        two = grid({"MGVAE": mgvae, "CGAN": cgan}, X[:4], columns=3)
        assert one.mode == "RGB"
        assert two.width == one.width
        assert 1.8 < two.height / one.height < 2.0
        narrow = grid(mgvae, X[:4], labels=["few"], columns=3, reference=False)
        assert one.width > 2 * narrow.width

    def test_the_first_column_holds_the_majority_images(self, photos):
        X, y = photos
        drawn = np.asarray(grid(quick(MGVAE).fit(X, y), X[:1], columns=2))
        times = 4  # nine pixels are magnified to at least 32
        corner = drawn[20 : 20 + 9 * times, 6 : 6 + 12 * times]
        assert (corner[::times, ::times] == X[0]).all()

    def test_the_seed_decides(self, photos):
        X, y = photos
        s = quick(MGVAE).fit(X, y)
        one, two, other = (np.asarray(grid(s, X[:2], random_state=r)) for r in (0, 0, 1))
        assert (one == two).all()
        assert (one != other).any()
