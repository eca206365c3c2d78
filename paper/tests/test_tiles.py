import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mgvae.errors import DataError
from mgvae_paper.tiles import CLASSES, group_numbers, grouped_parts, load_tiles


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=40))
def test_near_numbers_are_never_parted(numbers):
    numbers = np.array(numbers)
    groups = group_numbers(numbers)
    near = np.abs(numbers[:, None] - numbers[None]) <= 100
    assert (groups[:, None] == groups[None])[near].all()
    ordered = np.sort(numbers)
    assert groups.max() == (np.diff(ordered) > 100).sum()


def test_parts_keep_groups_whole_and_have_every_class():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), 6)
    y = np.repeat(rng.choice(6, 200, p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]), 6)
    parts = grouped_parts(y, groups, 0)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(1200))
    for i, part in enumerate(parts):
        assert set(y[part]) == set(range(6))
        others = np.concatenate(parts[:i] + parts[i + 1 :])
        assert not set(groups[part]) & set(groups[others])
    assert not np.array_equal(parts[2], grouped_parts(y, groups, 1)[2])


def test_photographs_are_read_by_class(tmp_path):
    with zipfile.ZipFile(tmp_path / "tiles.zip", "w") as file:
        for label, number, grey in (("free", 10, 30), ("fray", 500, 200), ("free", 20, 60)):
            photo = io.BytesIO()
            Image.new("L", (40, 30), grey).save(photo, "JPEG")
            file.writestr(f"{label}/exp1_num_{number}.jpg", photo.getvalue())
        file.writestr("README.txt", "left out")
    found = load_tiles(tmp_path / "tiles.zip", 16)
    assert found.X.shape == (3, 16, 16)
    assert [CLASSES[code] for code in found.y] == ["fray", "free", "free"]
    assert found.X.mean((1, 2)).round().tolist() == [200, 30, 60]
    assert found.groups[1] == found.groups[2] != found.groups[0]
    with pytest.raises(DataError, match="no file"):
        load_tiles(tmp_path / "none.zip")
