"""CelebA's hair task, on a made-up archive in the same layout and on the real one."""

import gzip
import io
import shutil
import zipfile

import numpy as np
import pytest
from PIL import Image

from mgvae.errors import DataError, ParameterError
from mgvae_paper.celeba import HAIR, PAPER_COUNTS, load_celeba

OTHER = ["Smiling", "Young"]


@pytest.fixture
def made_up(tmp_path):
    """300 images; image i has hair colour i % 7 (5 none, 6 two), every fifth is for testing."""
    folder = tmp_path / "celeba" / "img_align_celeba"
    folder.mkdir(parents=True)
    names = [OTHER[0], *HAIR, OTHER[1]]
    attributes, partition = ["300", " ".join(names)], []
    for i in range(300):
        name = f"{i + 1:06d}.jpg"
        Image.new("RGB", (20, 26), (i % 256, 0, 0)).save(folder / name, quality=100)
        own = {list(HAIR)[i % 7]} if i % 7 < 5 else set(list(HAIR)[: 2 * (i % 7 - 5)])
        flags = [" 1" if attribute in own else "-1" for attribute in names]
        attributes.append(f"{name} {' '.join(flags)}")
        partition.append(f"{name} {2 if i % 5 == 0 else i % 2}")
    (folder.parent / "list_attr_celeba.txt").write_text("\n".join(attributes) + "\n")
    (folder.parent / "list_eval_partition.txt").write_text("\n".join(partition) + "\n")
    return folder.parent


def test_exactly_one_attribute_and_the_official_split(made_up):
    train, test = (load_celeba(made_up, s, long_tail=None, size=8) for s in ("train", "test"))
    numbers = np.array([int(name[:6]) - 1 for name in train.files])
    assert (numbers % 7 < 5).all()
    assert ((numbers % 5 != 0) & (numbers % 2 == 0)).all()
    assert train.labels.tolist() == [list(HAIR.values())[i % 7] for i in numbers]
    assert not set(train.files) & set(test.files)
    assert test.images.shape == (len(test.files), 8, 8, 3)
    red = train.images[..., 0].mean((1, 2))
    assert np.abs(red - numbers % 256).max() <= 3.0


def test_the_ratio_is_kept(made_up, monkeypatch):
    counts = {"black": 40, "blond": 20, "bald": 5, "brown": 4, "gray": 2}
    monkeypatch.setattr("mgvae_paper.celeba.PAPER_COUNTS", counts)
    found = load_celeba(made_up, size=8)
    n_black = (found.labels == "black").sum()
    for label, wanted in counts.items():
        assert abs((found.labels == label).sum() - n_black * wanted / 40) <= 1
    assert found.files == sorted(found.files)
    assert load_celeba(made_up, size=8).files == found.files
    assert load_celeba(made_up, size=8, random_state=1).files != found.files
    with pytest.raises(DataError, match="scaled"):
        load_celeba(made_up, size=8, long_tail="paper")


def test_zip_and_gz_hold_the_same(made_up):
    expected = load_celeba(made_up, long_tail=None, size=8)
    with zipfile.ZipFile(made_up / "img_align_celeba.zip", "w") as archive:
        for path in (made_up / "img_align_celeba").iterdir():
            archive.write(path, f"img_align_celeba/{path.name}")
    shutil.rmtree(made_up / "img_align_celeba")
    for name in ("list_attr_celeba.txt", "list_eval_partition.txt"):
        path = made_up / name
        (made_up / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    found = load_celeba(made_up, long_tail=None, size=8)
    assert found.files == expected.files
    assert (found.images == expected.images).all()


def test_what_is_wrong_is_said(made_up):
    with pytest.raises(ParameterError, match="split"):
        load_celeba(made_up, "all")
    with pytest.raises(DataError, match="too few"):
        load_celeba(made_up)
    (made_up / "list_eval_partition.txt").write_text("000001.jpg 7\n")
    with pytest.raises(DataError, match="partition"):
        load_celeba(made_up)
    (made_up / "list_eval_partition.txt").unlink()
    with pytest.raises(DataError, match="list_eval_partition"):
        load_celeba(made_up)


def test_the_real_one(data_folder):
    folder = data_folder("celeba")
    found = load_celeba(folder, "test", long_tail=None, size=64)
    assert set(found.labels) == set(PAPER_COUNTS)
    with zipfile.ZipFile(next(folder.glob("*.zip"))) as archive:
        data = archive.read(f"img_align_celeba/{found.files[0]}")
    with Image.open(io.BytesIO(data)) as image:
        assert (np.asarray(image) == found.images[0]).all()
    parts = dict(
        line.split()
        for line in gzip.decompress(
            (folder / "list_eval_partition.txt.gz").read_bytes()
        ).decode().splitlines()
    )  # fmt: skip
    assert {parts[name] for name in found.files} == {"2"}
