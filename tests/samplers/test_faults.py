"""Faults: memory, disks, interrupts and divergence end in one clear error and nothing half-done."""

import errno
import os
import signal

import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from PIL import Image
from sklearn.exceptions import NotFittedError

from mgvae import CGAN, CVAE, MGVAE
from mgvae.cli._run import run
from mgvae.errors import DataError, DivergenceError, MGVAEError, ParameterError, ResourceError
from mgvae.experiments import Store
from tests.expert import expert

FAST = {"random_state": 0, "pretrain_steps": 20, "finetune_steps": 20}
QUICK = ["--pretrain-steps", "4", "--finetune-steps", "3", "--seed", "1", "-q"]


def is_unfitted(sampler):
    assert vars(sampler) == vars(type(sampler)(**sampler.get_params(deep=False)))
    with pytest.raises(NotFittedError):
        sampler.generate(1, "few")
    return True


def interrupt(*_):
    raise KeyboardInterrupt


class TestAllOrNothing:
    @pytest.mark.parametrize("method", ["fit", "fit_resample"])
    def test_a_first_fit_that_fails_leaves_it_unfitted(self, method, imbalanced):
        sampler = MGVAE(**FAST, callback=interrupt)
        with pytest.raises(KeyboardInterrupt):
            getattr(sampler, method)(*imbalanced)
        assert is_unfitted(sampler)

    @pytest.mark.parametrize("method", ["fit", "fit_resample"])
    def test_a_later_one_leaves_the_fit_before(self, method, imbalanced):
        X, y = imbalanced
        sampler = MGVAE(**FAST).fit(X, y)
        before = dict(vars(sampler))
        first = sampler.generate(3, "few", random_state=0)
        sampler.callback = interrupt
        with pytest.raises(KeyboardInterrupt):
            getattr(sampler, method)(X[:, :3], y)
        assert vars(sampler) == before | {"callback": interrupt}
        assert (sampler.generate(3, "few", random_state=0) == first).all()

    @pytest.mark.parametrize("part", ["_base.make", "_in_memory.append_labels"])
    def test_an_error_while_making_rows(self, part, imbalanced, monkeypatch):
        sampler = MGVAE(**FAST)
        monkeypatch.setattr(f"mgvae.samplers.{part}", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sampler.fit_resample(*imbalanced)
        assert is_unfitted(sampler)

    def test_ctrl_c_itself(self, imbalanced):
        sampler = CGAN(steps=10**6, callback=lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            sampler.fit(*imbalanced)
        assert is_unfitted(sampler)


class TestNames:
    def test_the_class_that_diverges(self, imbalanced):
        sampler = expert({"schedule": "constant"}, **FAST, learning_rate=(2e-3, 1e30))
        with pytest.raises(DivergenceError, match=r"class (few|some).*learning rate"):
            sampler.fit_resample(*imbalanced)
        assert not hasattr(sampler, "classes_")

    @pytest.mark.parametrize(
        "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you")]
    )
    def test_the_class_that_had_no_memory(self, error, imbalanced, monkeypatch):
        def hungry(vae, rows, minority, *_, **__):
            if len(minority) == 40:
                raise error

        monkeypatch.setattr("mgvae.methods.mgvae.classes.finetune", hungry)
        with pytest.raises(ResourceError, match=r"class some.*memory.*batch_size.*n_jobs") as info:
            MGVAE(**FAST).fit(*imbalanced)
        assert isinstance(info.value, MemoryError)
        assert isinstance(info.value, MGVAEError)

    def test_the_class_of_any_other_error(self, imbalanced, monkeypatch):
        def broken(vae, rows, minority, *_, **__):
            if len(minority) == 8:
                raise RuntimeError("shapes cannot be multiplied")

        monkeypatch.setattr("mgvae.methods.mgvae.classes.finetune", broken)
        with pytest.raises(RuntimeError, match="multiplied") as info:
            MGVAE(**FAST).fit(*imbalanced)
        assert info.value.__notes__ == ["This happened in the fine-tuning of class few."]

    @pytest.mark.parametrize("sampler", [MGVAE, CVAE, CGAN])
    def test_networks_that_do_not_fit_into_memory(self, sampler, imbalanced):
        with pytest.raises(ResourceError, match=r"training.*hidden_sizes"):
            sampler(hidden_sizes=(10**14,)).fit(*imbalanced)

    def test_rows_that_do_not_fit_into_memory(self, imbalanced, monkeypatch):
        sampler = MGVAE(**FAST).fit(*imbalanced)
        with pytest.raises(DataError, match=r"generate\(\) several times"):
            sampler.generate(10**14, "few")

        def hungry(*_):
            raise MemoryError

        monkeypatch.setattr("mgvae.methods.mgvae.generators.Crosser.generate", hungry)
        with pytest.raises(ResourceError, match=r"192 rows of class few.*sampling_strategy"):
            sampler.fit_resample(*imbalanced)

    def test_a_worker_that_the_system_ends(self, imbalanced, monkeypatch):
        def parallel(n_jobs):
            def ended(tasks):
                raise TerminatedWorkerError("A worker process was unexpectedly terminated")

            return ended

        monkeypatch.setattr("mgvae.methods.mgvae.classes.Parallel", parallel)
        sampler = MGVAE(**FAST, n_jobs=2)
        with pytest.raises(ResourceError, match=r"few, some.*want of memory.*n_jobs"):
            sampler.fit(*imbalanced)
        assert is_unfitted(sampler)


@pytest.fixture
def table(imbalanced, tmp_path):
    X, y = imbalanced
    rows = [f"{a:.3f},{b:.3f},{c}" for (a, b), c in zip(X[:, :2], y, strict=True)]
    path = tmp_path / "a.csv"
    path.write_text("a,b,class\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def photos(tmp_path):
    rng = np.random.default_rng(0)
    for name, n in (("cat", 3), ("dog", 9)):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(n):
            pixels = rng.integers(0, 256, (8, 8), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{i}.png")
    return tmp_path / "photos"


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """Return a folder in which nothing can be brought to the disk."""
    folder = tmp_path / "full"
    folder.mkdir()
    real = os.fsync

    def fsync(descriptor):
        if os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(folder)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return folder


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
class TestFullDisk:
    """Every command writes beside the old file: a full disk is an error, and the old file stays."""

    def fails(self, folder, name, arguments, capfd):
        old = folder / name
        old.write_bytes(b"old")
        assert run([str(old) if a == "OUT" else str(a) for a in arguments]) == 1
        assert "No space left on device" in capfd.readouterr().err
        assert old.read_bytes() == b"old"
        assert os.listdir(folder) == [name]

    @pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.arrow", "a.jsonl"])
    def test_tables(self, name, table, full_disk, capfd):
        command = ["balance", table, "-t", "class", "-o", "OUT", "-f", *QUICK]
        self.fails(full_disk, name, command, capfd)

    def test_models_reports_and_samples(self, table, full_disk, tmp_path, capfd):
        model, out = tmp_path / "m.safetensors", tmp_path / "o.csv"
        balance = ["balance", table, "-t", "class", "-o", out, "-f", *QUICK]
        assert run([*map(str, balance), "--save-model", str(model)]) == 0
        self.fails(full_disk, "m", [*balance, "--save-model", "OUT"], capfd)
        (full_disk / "m").unlink()
        sample = ["sample", model, "--label", "few", "-n", "5", "-o", "OUT", "-f"]
        self.fails(full_disk, "s.csv", sample, capfd)
        (full_disk / "s.csv").unlink()
        report = ["report", table, out, "-t", "class", "-o", "OUT", "-f"]
        self.fails(full_disk, "r.html", report, capfd)

    def test_images(self, photos, full_disk, tmp_path, capfd):
        model = tmp_path / "m.safetensors"
        command = ["balance", photos, "--size", "8", *QUICK, "-o"]
        assert run([*map(str, command), str(tmp_path / "new"), "--save-model", str(model)]) == 0
        assert run([*map(str, command), str(full_disk / "new")]) == 1
        assert "No space left on device" in capfd.readouterr().err
        assert os.listdir(full_disk) == []
        self.fails(full_disk, "g.png", ["grid", photos, model, "-o", "OUT", "-f", "-q"], capfd)


class TestUnwritable:
    """What cannot be written is said before any training; a file stands where a folder must be."""

    @pytest.fixture
    def nowhere(self, tmp_path):
        path = tmp_path / "file"
        path.write_text("", encoding="utf-8")
        return path / "below"

    @pytest.mark.parametrize(
        "options", [["-o", "OUT"], ["-o", "x.csv", "--save-model", "OUT"],
                    ["-o", "x.csv", "--report", "OUT"], ["-o", "x.csv", "--checkpoint", "OUT"]]
    )  # fmt: skip
    def test_tables(self, options, table, nowhere, tmp_path, capfd, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("mgvae.training.train", lambda *_, **__: 1 / 0)
        options = [str(nowhere) if o == "OUT" else o for o in options]
        assert run(["balance", str(table), "-t", "class", *options, *QUICK]) == 2
        assert "file" in capfd.readouterr().err
        assert not (tmp_path / "x.csv").exists()

    def test_images(self, photos, nowhere, capfd):
        assert run(["balance", str(photos), "-o", str(nowhere), *QUICK]) == 2
        assert "--output" in capfd.readouterr().err

    @pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
    )
    def test_a_read_only_folder(self, photos, tmp_path):
        folder = tmp_path / "mine"
        folder.mkdir(0o500)
        assert run(["balance", str(photos), "-o", str(folder / "new"), *QUICK]) == 2
        sampler = MGVAE(checkpoint=folder / "run")
        with pytest.raises(ParameterError, match=r"checkpoint=.*Permission denied"):
            sampler.fit(np.zeros((5, 1)), [0, 0, 0, 1, 1])

    def test_results_of_experiments(self, nowhere):
        with pytest.raises(ParameterError, match="results cannot be kept"):
            Store(nowhere).check_writable()
