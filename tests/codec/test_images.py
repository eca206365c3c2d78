"""What comes in goes out."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mgvae.codec.images import ImageCodec, are_images
from mgvae.common.rows import MemoryRows
from mgvae.errors import DataError, ParameterError

sides = st.integers(8, 20)
shapes = st.one_of(
    st.tuples(st.integers(1, 4), sides, sides),
    st.tuples(st.integers(1, 4), sides, sides, st.sampled_from([1, 3, 4])),
    st.tuples(st.integers(1, 4), st.sampled_from([1, 3, 4]), sides, sides),
)
ranges = {  # how values between 0 and 255 may be written
    "uint8": lambda X: X,
    "int64": lambda X: X.astype(np.int64),
    "zero to one": lambda X: (X / 255).astype(np.float32),
    "minus one to one": lambda X: X / 127.5 - 1.0,
    "floats to 255": lambda X: X.astype(np.float32),
    "digits": lambda X: np.floor(X / 16) + (X == 255),
}


@given(hnp.arrays(np.uint8, shapes), st.sampled_from(sorted(ranges)))
def test_round_trip(X, kind):
    X.flat[:2] = 0, 255  # so that the range can be seen
    written = ranges[kind](X)
    codec = ImageCodec().fit(written)
    encoded = codec.encode(written)
    assert encoded.shape == (len(X), X[0].size)
    assert encoded.dtype == (np.uint8 if kind == "uint8" else np.float32)
    assert len(codec.spans) == 1
    assert codec.spans[0].size == codec.width == X[0].size
    back = codec.decode(encoded)
    assert back.dtype == written.dtype
    np.testing.assert_allclose(back, written, atol=2e-5)
    stored = ImageCodec.from_dict(json.loads(json.dumps(codec.to_dict())))
    assert (stored.decode(stored.encode(written)) == back).all()


@given(hnp.arrays(np.uint8, shapes))
def test_bytes_and_floats_reach_the_network_as_the_same_numbers(X):
    X.flat[0] = 255
    positions = np.arange(len(X))
    of_bytes = MemoryRows(torch.from_numpy(ImageCodec().fit(X).encode(X))).take(positions)
    floats = (X / 255).astype(np.float32)
    of_floats = MemoryRows(torch.from_numpy(ImageCodec().fit(floats).encode(floats))).take(
        positions
    )
    torch.testing.assert_close(of_bytes, of_floats, atol=1e-7, rtol=0)
    assert of_bytes.dtype == torch.float32


def test_the_first_channel_comes_first():
    X = np.random.default_rng(0).integers(0, 256, (2, 9, 10, 3), dtype=np.uint8)
    last = ImageCodec().fit(X)
    first = ImageCodec().fit(X.transpose(0, 3, 1, 2))
    assert (last.encode(X) == first.encode(X.transpose(0, 3, 1, 2))).all()
    assert (last.encode(X)[0, :90] == X[0, :, :, 0].ravel()).all()


def test_rows_with_a_declared_shape():
    X = np.random.default_rng(0).integers(0, 256, (5, 8 * 9 * 3), dtype=np.uint8)
    codec = ImageCodec(sample_shape=(8, 9, 3)).fit(X)
    assert codec.shape == (3, 8, 9)
    assert (codec.decode(codec.encode(X)) == X).all()
    assert are_images(X, (8, 9, 3))
    assert not are_images(X)


def test_booleans():
    X = np.random.default_rng(0).random((3, 8, 8)) < 0.5
    codec = ImageCodec().fit(X)
    assert (codec.decode(codec.encode(X)) == X).all()


def test_a_network_s_rows_are_rounded_and_kept_in_range():
    codec = ImageCodec().fit(np.zeros((1, 8, 8), np.uint8))
    rows = np.full((1, 64), 0.1 / 255, np.float32)
    rows[0, :3] = 1.2, -0.3, 127.6 / 255
    assert codec.decode(rows)[0, 0, :4].tolist() == [255, 0, 128, 0]


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros((2, 3, 16, 3)), {}, '"channels_first"'),
        (np.zeros((2, 16, 16, 5)), {}, '"channels_first"'),
        (np.zeros((2, 7, 16)), {}, "7 × 16 pixels"),
        (np.zeros((2, 16, 129)), {}, "16 × 129 pixels"),
        (np.full((2, 8, 8), np.nan), {}, "NaN"),
        (np.full((2, 8, 8), -3.0), {}, "Scale them"),
        (np.full((2, 8, 8), 256), {}, "Scale them"),
        (np.zeros((0, 8, 8)), {}, "no image"),
        (np.zeros((2, 8, 8, 3, 1)), {}, "the shape"),
        (np.array([["a"]]), {}, "numbers"),
        ([np.zeros((8, 8)), np.zeros((9, 8))], {}, "one size"),
        (np.zeros((2, 65)), {"sample_shape": (8, 8)}, "rows of 64"),
    ],
)
def test_nonsense_is_refused(X, options, message):
    with pytest.raises(DataError, match=message):
        ImageCodec(**options).fit(X)


def test_declared_channels_settle_it():
    assert ImageCodec(channels="last").fit(np.zeros((2, 16, 16, 5))).shape == (5, 16, 16)
    assert ImageCodec(channels="first").fit(np.zeros((2, 3, 16, 16))).shape == (3, 16, 16)


@pytest.mark.parametrize(
    "options", [{"sample_shape": (64,)}, {"channels": "middle"}, {"likelihood": "categorical"}]
)
def test_parameters_are_checked(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        ImageCodec(**options)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((1, 8, 9), np.float32), "shape"),
        (np.zeros((1, 8, 8), np.uint8), "type uint8"),
        (np.full((1, 8, 8), 255.0), "Scale them alike"),
    ],
)
def test_later_images_must_be_like_the_first(X, message):
    codec = ImageCodec().fit(np.random.default_rng(0).random((4, 8, 8), dtype=np.float32))
    with pytest.raises(DataError, match=message):
        codec.encode(X)


def test_stored_nonsense_is_refused():
    with pytest.raises(DataError, match="the image codec: the field 'sample_shape' is missing"):
        ImageCodec.from_dict({"version": 1, "shape": [3]})
