"""Folders of images, from files to files."""

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mgvae import MGVAE
from mgvae.cli._run import run as run_command
from mgvae.errors import DataError, ParameterError
from mgvae.images import png_bytes, read_folder, write_folder
from mgvae.methods.mgvae import duration
from mgvae.report import quality

QUICK = ["--pretrain-steps", "4", "--finetune-steps", "3", "--seed", "1"]


def photo(rng, height=20, width=24, channels=3):
    pixels = rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels)


@pytest.fixture
def photos(tmp_path):
    """Ten dogs, three cats in four formats, and files that are no use."""
    rng = np.random.default_rng(0)
    root = tmp_path / "photos"
    for name in ("cat", "dog/2024", ".hidden", "empty"):
        (root / name).mkdir(parents=True)
    for i in range(10):
        photo(rng).save(root / "dog" / "2024" / f"dog {i}.jpg")
    photo(rng, 30, 18).save(root / "cat" / "a.PNG")
    photo(rng).save(root / "cat" / "b.webp", lossless=True)
    photo(rng, channels=1).save(root / "cat" / "=c.bmp")
    photo(rng, 7, 40).save(root / "cat" / "tiny.png")
    (root / "cat" / "broken.jpg").write_bytes((root / "dog/2024/dog 0.jpg").read_bytes()[:400])
    (root / "cat" / "text.png").write_text("not an image")
    (root / "cat" / "notes.txt").write_text("left out")
    (root / "loose.png").write_bytes(b"")
    photo(rng).save(root / ".hidden" / "x.png")
    return root


@pytest.fixture
def run(capfd):
    """Run the command; give its exit code and what it said on both streams."""

    def call(*arguments):
        code = run_command(["balance", *map(str, arguments)])
        said = capfd.readouterr()
        return code, said.out, said.err

    return call


class TestRead:
    def test_what_can_be_used_is_used_and_the_rest_is_listed(self, photos):
        found = read_folder(photos, size=16)
        assert found.images.shape == (13, 16, 16, 3)
        assert found.images.dtype == np.uint8
        assert found.files[:3] == ["cat/=c.bmp", "cat/a.PNG", "cat/b.webp"]
        assert found.labels.tolist() == ["cat"] * 3 + ["dog"] * 10
        assert [name for name, _ in found.skipped] == [
            "cat/broken.jpg", "cat/text.png", "cat/tiny.png",
        ]  # fmt: skip
        assert "40 × 7 pixels" in dict(found.skipped)["cat/tiny.png"]

    @pytest.mark.parametrize(
        ("sizes", "expected"),
        [([(28, 28)], (28, 28)), ([(20, 30), (20, 40), (60, 36)], (20, 36)),
         ([(128, 96)], (64, 48)), ([(9, 300)], (8, 64))],
    )  # fmt: skip
    def test_images_keep_their_size_up_to_a_bound(self, tmp_path, sizes, expected):
        (tmp_path / "a").mkdir()
        for i, (height, width) in enumerate(sizes):
            Image.new("L", (width, height)).save(tmp_path / "a" / f"{i}.png")
        found = read_folder(tmp_path)
        assert found.images.shape[1:] == expected
        assert found.native == tuple(np.median(sizes, axis=0))

    def test_the_size_is_that_of_the_upright_image(self, tmp_path):
        (tmp_path / "a").mkdir()
        exif = Image.Exif()
        exif[0x0112] = 6  # to be turned by a quarter
        Image.new("L", (40, 20)).save(tmp_path / "a" / "1.jpg", exif=exif)
        assert read_folder(tmp_path).images.shape == (1, 40, 20)

    def test_all_grey_files_give_grey_images(self, tmp_path):
        rng = np.random.default_rng(0)
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            photo(rng, 12, 12, channels=1).save(tmp_path / name / "1.png")
        found = read_folder(tmp_path, size=12)
        assert found.images.shape == (2, 12, 12)
        with Image.open(tmp_path / "a" / "1.png") as image:
            assert (np.asarray(image) == found.images[0]).all()

    def test_sixteen_bits_and_transparency(self, tmp_path):
        (tmp_path / "a").mkdir()
        Image.fromarray(np.full((9, 9), 256 * 100, np.uint16)).save(tmp_path / "a" / "deep.png")
        assert (read_folder(tmp_path, size=8).images == 100).all()
        (tmp_path / "b").mkdir()
        Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(tmp_path / "b" / "clear.png")
        assert (read_folder(tmp_path, size=8).images[1] == 255).all()

    def test_exif_says_which_side_is_up(self, tmp_path):
        (tmp_path / "a").mkdir()
        pixels = np.zeros((16, 16, 3), np.uint8)
        pixels[:, :8] = 255  # the left half is white ...
        exif = Image.Exif()
        exif[0x0112] = 6  # ... of a photograph to be turned a quarter clockwise
        Image.fromarray(pixels).save(tmp_path / "a" / "turned.png", exif=exif)
        found = read_folder(tmp_path, size=16).images[0]
        assert (found[:8] == 255).all()
        assert (found[8:] == 0).all()

    def test_resizing_keeps_the_centre(self, tmp_path):
        (tmp_path / "a").mkdir()
        pixels = np.zeros((20, 60), np.uint8)
        pixels[:, 15:45] = 200
        Image.fromarray(pixels).save(tmp_path / "a" / "wide.bmp")
        assert (read_folder(tmp_path, size=10).images == 200).all()
        assert read_folder(tmp_path, size=(8, 24)).images.shape == (1, 8, 24)

    def test_what_is_wrong_is_said(self, tmp_path):
        with pytest.raises(DataError, match="one folder per class"):
            read_folder(tmp_path)
        with pytest.raises(DataError, match="not a folder"):
            read_folder(tmp_path / "none")
        with pytest.raises(ParameterError, match="8 to 128"):
            read_folder(tmp_path, size=7)


class TestWrite:
    def test_a_failure_leaves_nothing_behind(self, photos, tmp_path):
        found = read_folder(photos, size=8)
        (photos / found.files[-1]).unlink()
        with pytest.raises(FileNotFoundError):
            write_folder(tmp_path / "out", photos, found, found.images[:0], [], [])
        assert sorted(path.name for path in tmp_path.iterdir()) == ["photos"]

    def test_new_names_never_hit_old_ones(self, tmp_path):
        rng = np.random.default_rng(0)
        (tmp_path / "in" / "a").mkdir(parents=True)
        photo(rng).save(tmp_path / "in" / "a" / "synthetic-1.png")
        found = read_folder(tmp_path / "in", size=8)
        write_folder(tmp_path / "out", tmp_path / "in", found, found.images, ["a"], [0])
        names = sorted(path.name for path in (tmp_path / "out" / "a").iterdir())
        assert names == ["new-synthetic-1.png", "synthetic-1.png"]

    @pytest.mark.parametrize("label", ["..", ".", "", "../out", "/etc", "a/b", "a\0b"])
    def test_a_class_cannot_leave_the_folder(self, photos, tmp_path, label):
        found = read_folder(photos, size=8)
        with pytest.raises(DataError, match="names a folder"):
            write_folder(tmp_path / "out", photos, found, found.images[:1], [label], [0])
        assert sorted(path.name for path in tmp_path.iterdir()) == ["photos"]

    @pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "cat/../../x.png", "cat//x"])
    def test_a_file_cannot_leave_the_folder(self, photos, tmp_path, name):
        found = read_folder(photos, size=8)
        found.files[0] = name
        with pytest.raises(DataError, match="not below"):
            write_folder(tmp_path / "out", photos, found, found.images[:0], [], [])
        assert sorted(path.name for path in tmp_path.iterdir()) == ["photos"]

    def test_symbolic_links_do_not_lead_out(self, run, photos, tmp_path):
        """A linked folder is not read; a linked file is copied as what it shows, not as a link."""
        outside = tmp_path / "outside"
        outside.mkdir()
        photo(np.random.default_rng(1)).save(outside / "secret.png")
        (photos / "cat" / "way-out").symlink_to(outside)
        (photos / "dog" / "one.png").symlink_to(outside / "secret.png")
        code, *_ = run(photos, "-o", tmp_path / "out", "--size", "8", "-q", *QUICK)
        assert code == 0
        written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
        assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))
        assert all(path.resolve().is_relative_to(tmp_path / "out") for path in written)
        assert not (tmp_path / "out" / "cat" / "way-out").exists()
        assert (tmp_path / "out" / "dog" / "one.png").exists()
        assert [path.name for path in outside.iterdir()] == ["secret.png"]

    def test_links_share_the_bytes_on_the_disk(self, photos, tmp_path):
        found = read_folder(photos, size=8)
        write_folder(tmp_path / "out", photos, found, found.images[:0], [], [], originals="link")
        assert (tmp_path / "out" / "cat" / "a.PNG").samefile(photos / "cat" / "a.PNG")


class TestCommand:
    def test_a_folder_in_a_balanced_folder_out(self, run, photos, tmp_path):
        out = tmp_path / "balanced"
        code, said, complaint = run(photos, "-o", out, "--size", 8, *QUICK, "--json")
        assert code == 0, complaint
        report = json.loads(said)
        assert report["classes"] == [
            {"label": "dog", "images": 10, "new_images": 0},
            {"label": "cat", "images": 3, "new_images": 7},
        ]
        assert len(report["skipped"]) == 3
        with (out / "manifest.csv").open(newline="") as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == 20
        new = [line for line in lines if line["synthetic"] == "1"]
        assert len(new) == 7
        for line in new:
            assert line["class"] == "cat"
            assert line["source_file"].startswith("dog/2024/")
            assert line["anchor_file"] == ""  # images are translated
            with Image.open(out / line["file"]) as image:
                assert (image.format, image.size, image.mode) == ("PNG", (8, 8), "RGB")
        for line in lines:
            if line["synthetic"] == "0":
                assert (out / line["file"]).read_bytes() == (photos / line["file"]).read_bytes()
        files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
        assert files == {line["file"] for line in lines} | {"manifest.csv"}

        again = tmp_path / "again"
        assert run(photos, "-o", again, "--size", 8, *QUICK, "--only-synthetic")[0] == 0
        for line in new:
            assert (again / line["file"]).read_bytes() == (out / line["file"]).read_bytes()
        assert not (again / "dog" / "2024").exists()

    def test_a_report_and_a_model_come_with_it(self, run, photos, tmp_path):
        out, page, model = (tmp_path / name for name in ("out", "r.html", "m.safetensors"))
        options = ["--report", page, "--save-model", model, "--seed", 0]
        code, said, _ = run(photos, "-o", out, "--size", 8, *QUICK, *options)
        assert code == 0
        assert "Private: " in said
        assert "data:image/png" in page.read_text(encoding="utf-8")
        made = MGVAE.load(model).generate(3, "cat")
        assert (made.shape, made.dtype) == ((3, 8, 8, 3), np.uint8)
        again = run(photos, "-o", tmp_path / "other", "--size", 8, *QUICK, *options)
        assert again[0] == 2
        assert "--force" in again[2]
        assert not (tmp_path / "other").exists()

    def test_minutes_bound_the_steps_which_then_give_the_same_images(
        self, photos, run, tmp_path, monkeypatch
    ):
        def images(folder):
            return {p.name: p.read_bytes() for p in folder.rglob("synthetic-*.png")}

        # Let a pre-training step take 0.1 s, a fine-tuning step 0.2 s, and the importance 3 s.
        rates = {1e-3: 0.1, 3e-3: 0.2}
        monkeypatch.setattr(duration, "_step_seconds", lambda _, s: rates[s.learning_rate])
        monkeypatch.setattr(duration, "_seconds", lambda _: 3.0)
        first, again = tmp_path / "first", tmp_path / "again"
        shared = ["--size", 8, "--seed", 3]
        whole = ["--pretrain-steps", 200, "--finetune-steps", 100]  # 3 s and 2 * 20 s
        code, said, _ = run(photos, "-o", first, *shared, *whole, "--minutes", 23 / 60, "--json")
        assert code == 0
        told = json.loads(said)
        assert (told["pretrain_steps"], told["finetune_steps"]) == (100, 50)
        assert told["training_seconds"] == pytest.approx(23.0)
        half = ["--pretrain-steps", 100, "--finetune-steps", 50]
        assert run(photos, "-o", again, *shared, *half, "-q")[0] == 0
        assert images(first) == images(again)
        assert images(first)

    def test_the_time_is_said_before_training(self, photos, run):
        code, said, _ = run(photos, "--dry-run")
        assert code == 0
        assert "Training will take about" in said

    def test_minutes_and_a_checkpoint_exclude_each_other(self, photos, run, tmp_path):
        options = ["--minutes", 1, "--checkpoint", tmp_path / "run"]
        code, _, complaint = run(photos, "-o", tmp_path / "out", *options)
        assert code == 2
        assert "--minutes and --checkpoint" in complaint

    def test_people_are_told_what_was_skipped(self, run, photos):
        code, said, _ = run(photos, "--dry-run", "--size", 8)
        assert code == 0
        assert "Skipped 3 files" in said
        assert "cat/text.png: not a PNG, JPEG, WebP or BMP image" in said

    @pytest.mark.parametrize(
        ("output", "options", "message"),
        [
            ("photos", [], "must be outside of"),
            ("photos/new", [], "must be outside of"),
            (".", [], "must be outside of"),
            ("taken", [], "exists already"),
            ("no/such/place", [], "there is no folder"),
            ("out", ["--target", "y"], "--target is for tables"),
            ("out", ["--size", "500"], "8 to 128"),
            ("out", ["--strategy", '{"cow": 9}'], "no class 'cow'"),
        ],
    )
    def test_refusals_come_before_any_work(self, run, photos, tmp_path, output, options, message):
        (tmp_path / "taken").mkdir()
        (tmp_path / "taken" / "file").write_text("mine")
        before = sorted(map(str, tmp_path.rglob("*")))
        code, _, complaint = run(photos, "-o", tmp_path / output, *options)
        assert code == 2
        assert message in complaint
        assert complaint.count("\n") == 1
        assert sorted(map(str, tmp_path.rglob("*"))) == before

    def test_one_class_is_not_enough(self, run, tmp_path):
        (tmp_path / "in" / "a").mkdir(parents=True)
        photo(np.random.default_rng(0)).save(tmp_path / "in" / "a" / "1.png")
        code, _, complaint = run(tmp_path / "in", "-o", tmp_path / "out")
        assert code == 2
        assert "at least two folders" in complaint
        assert not Path(tmp_path / "out").exists()


class TestGridCommand:
    @pytest.fixture
    def model(self, photos, tmp_path):
        found = read_folder(photos, size=8)
        sampler = MGVAE(pretrain_steps=3, finetune_steps=3, n_exemplars=8, random_state=0)
        sampler.fit(found.images, found.labels).save(tmp_path / "model.safetensors")
        return tmp_path / "model.safetensors"

    def test_a_model_draws(self, photos, model, tmp_path):
        out = tmp_path / "grid.png"
        arguments = ["grid", photos, model, "-o", out, "--rows", 3, "--columns", 2]
        assert run_command([str(a) for a in arguments]) == 0
        with Image.open(out) as image:
            assert image.mode == "RGB"
            assert image.height == 6 + 14 + 3 * (32 + 2) + 6
        first = out.read_bytes()
        assert run_command([str(a) for a in [*arguments, "--force"]]) == 0
        assert out.read_bytes() == first

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--label", "cow"], "no class 'cow'"),
            (["--size", "8"], "a model knows the size"),
            (["-o", "grid.jpg"], ".png file"),
        ],
    )
    def test_refusals(self, photos, model, tmp_path, capfd, options, message):
        arguments = ["grid", photos, model, "-o", tmp_path / "g.png", *options]
        assert run_command([str(a) for a in arguments]) == 2
        assert message in capfd.readouterr().err
        assert not (tmp_path / "g.png").exists()


def test_without_pillow_every_way_to_images_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    X, y = np.zeros((4, 8, 8), np.uint8), ["a", "a", "b", "b"]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.png").write_bytes(b"")
    ways = [
        lambda: read_folder(tmp_path),
        lambda: png_bytes(X[0]),
        lambda: quality(X, X, target=(y, y)),
    ]
    for way in ways:
        with pytest.raises(DataError, match=r"Pillow.*mgvae\[images\]"):
            way()


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_png_holds_grey_or_the_first_three_channels(channels):
    pixels = np.random.default_rng(0).integers(0, 256, (9, 8, channels), dtype=np.uint8)
    with Image.open(io.BytesIO(png_bytes(pixels))) as image:
        kept = pixels[..., :3] if channels > 2 else pixels[..., 0]
        np.testing.assert_array_equal(np.asarray(image), kept)
