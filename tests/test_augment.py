"""Augmentation by identities: nothing where nothing is asked, and pixels where they must be."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from mgvae import augment
from mgvae.augment import Geometry, mix, read_geometry
from mgvae.errors import ParameterError


def images(n=4, channels=2, height=9, width=12, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, channels, height, width, generator=generator, dtype=dtype)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


# ---------------------------------------------------------------- geometry


def test_without_strength_nothing_changes_and_no_random_number_is_drawn():
    generator, X = seeded(), images()
    before = generator.get_state()
    assert Geometry()(X, generator) is X
    assert torch.equal(generator.get_state(), before)


@given(down=st.integers(-4, 4), right=st.integers(-4, 4), mirror=st.booleans())
def test_a_shift_is_a_roll_with_the_border_repeated(down, right, mirror):
    X = images()
    moved = augment._move(
        X, torch.full((4,), down), torch.full((4,), right), torch.full((4,), mirror)
    )
    source = X.flip(-1) if mirror else X
    padded = np.pad(source.numpy(), [(0, 0), (0, 0), (5, 5), (5, 5)], mode="edge")
    rolled = np.roll(padded, (down, right), axis=(2, 3))[:, :, 5:-5, 5:-5]
    assert np.array_equal(moved.numpy(), rolled)


@given(down=st.integers(-3, 3), right=st.integers(-3, 3), mirror=st.booleans())
def test_the_two_ways_to_move_an_image_agree(down, right, mirror):
    X, n = images(), 4
    shifts = torch.tensor([[down] * n, [right] * n])
    mirrored = torch.full((n,), mirror)
    warped = augment._warp(X, shifts, torch.zeros(n), torch.ones(n), mirrored)
    moved = augment._move(X, shifts[0], shifts[1], mirrored)
    torch.testing.assert_close(warped, moved)


def test_mirrored_twice_is_the_image_itself():
    X = images()
    still, every = torch.zeros(4, dtype=torch.int64), torch.ones(4, dtype=torch.bool)
    once = augment._move(X, still, still, every)
    assert torch.equal(once, X.flip(-1))
    assert torch.equal(augment._move(once, still, still, every), X)


@pytest.mark.parametrize(("degrees", "factor"), [(17.0, 1.0), (0.0, 1.2), (-30.0, 0.8)])
def test_turning_and_scaling_as_scipy_does(degrees, factor):
    X = images(n=1, channels=1, height=11, width=11)
    angle = torch.tensor([np.deg2rad(degrees)])
    still = torch.zeros(2, 1, dtype=torch.int64)
    found = augment._warp(X, still, angle, torch.tensor([factor]), torch.tensor([False]))
    c, s = np.cos(np.deg2rad(degrees)) / factor, np.sin(np.deg2rad(degrees)) / factor
    matrix = np.array([[c, -s], [s, c]])  # scipy's axes: rows, then columns
    centre = np.full(2, 5.0)
    expected = ndimage.affine_transform(
        X[0, 0].numpy(), matrix, centre - matrix @ centre, order=1, mode="nearest"
    )
    torch.testing.assert_close(found[0, 0], torch.from_numpy(expected), atol=1e-6, rtol=0)


def test_a_quarter_turn_moves_every_pixel():
    X = images(n=1, height=8, width=8)
    still = torch.zeros(2, 1, dtype=torch.int64)
    turned = augment._warp(X, still, torch.tensor([np.pi / 2]), torch.ones(1), torch.zeros(1) > 0)
    torch.testing.assert_close(turned, torch.rot90(X, -1, (2, 3)), atol=1e-5, rtol=0)


def test_amounts_are_drawn_over_the_whole_range_and_each_image_has_its_own():
    X = torch.zeros(4000, 1, 9, 9)
    X[:, :, 4, 4] = 1.0
    moved = Geometry(shift=2)(X, seeded())
    where = moved.flatten(1).argmax(1)
    rows, columns = where // 9 - 4, where % 9 - 4
    for offsets in (rows, columns):
        shares = torch.bincount(offsets + 2, minlength=5) / 4000
        torch.testing.assert_close(shares, torch.full((5,), 0.2), atol=0.03, rtol=0)
    assert abs(np.corrcoef(rows, columns)[0, 1]) < 0.05


def test_the_generator_decides_and_the_global_one_is_left_alone():
    X, strong = images(), Geometry(shift=2, rotation=20.0, scale=0.2, flip=True)
    before = torch.get_rng_state()
    assert torch.equal(strong(X, seeded(1)), strong(X, seeded(1)))
    assert not torch.equal(strong(X, seeded(1)), strong(X, seeded(2)))
    assert torch.equal(torch.get_rng_state(), before)


def test_bytes_stay_bytes():
    X = (images() * 255).to(torch.uint8)
    for how in (Geometry(shift=1), Geometry(rotation=5.0)):
        assert how(X, seeded()).dtype == torch.uint8


@pytest.mark.parametrize(
    "wrong",
    [{"shift": 1.5}, {"shift": -1}, {"shift": True}, {"rotation": 200.0}, {"scale": -0.1},
     {"flip": 1}, {"shear": 1}, "shift", [("shift", 1)]],
)  # fmt: skip
def test_wrong_augmentation_is_refused_by_name(wrong):
    with pytest.raises(ParameterError, match="augment"):
        read_geometry(wrong)


def test_nothing_asked_is_no_geometry():
    assert read_geometry(None) is None
    assert read_geometry({}) is None
    assert read_geometry({"shift": 0}) is None


# ---------------------------------------------------------------- mixtures


def test_mixup_is_the_mixture_it_says():
    X = images(n=7)
    mixed = mix(X, seeded(), mixup=1.0)
    expected = mixed.share * X + (1 - mixed.share) * X[mixed.partner]
    torch.testing.assert_close(mixed.X, expected)
    assert sorted(mixed.partner.tolist()) == list(range(7))


@given(seed=st.integers(0, 50))
def test_cutmix_takes_each_pixel_from_one_of_the_two_and_the_share_counts_them(seed):
    X = torch.arange(6.0)[:, None, None, None].expand(6, 2, 8, 10).contiguous()
    mixed = mix(X, seeded(seed), cutmix=1.0)
    own, other = mixed.X == X, X[mixed.partner] == mixed.X
    assert bool((own | other).all())
    differ = mixed.partner != torch.arange(6)
    shares = own[differ].flatten(1).double().mean(1)
    torch.testing.assert_close(shares, torch.full_like(shares, mixed.share))


def test_without_mixing_the_batch_is_itself():
    X = images()
    mixed = mix(X, seeded())
    assert mixed.X is X
    assert mixed.share == 1.0


@pytest.mark.parametrize("a", [0.2, 1.0, 5.0])
def test_shares_are_drawn_from_beta(a):
    generator = seeded()
    shares = np.array([augment._beta(a, generator) for _ in range(4000)])
    assert abs(shares.mean() - 0.5) < 0.03
    assert abs(shares.var() - 1 / (4 * (2 * a + 1))) < 0.01


def test_with_both_half_of_the_batches_are_cut():
    X, generator = torch.arange(6.0)[:, None, None, None].expand(6, 1, 9, 9), seeded()
    whole = [mix(X, generator, mixup=1.0, cutmix=1.0).X for _ in range(400)]
    cut = np.mean([bool((X.round() == X).all()) for X in whole])
    assert 0.4 < cut < 0.6
