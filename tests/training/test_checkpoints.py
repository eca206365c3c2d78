"""Checkpoints: a run that is cut off ends with the bits of one that is not."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from joblib import parallel_config
from torch import nn

from mgvae import CGAN, CVAE, MGVAE
from mgvae.common.tensor_file import read_file
from mgvae.errors import CheckpointError, CheckpointWarning, DivergenceError, ParameterError
from mgvae.training import Player, Validation, cosine, train
from mgvae.training.checkpoints import Checkpoint, StageFile
from tests.expert import expert

SMALL = {"hidden_sizes": (16,)}
SAMPLERS = [
    (partial(expert, {"n_remembered": 50}), SMALL | {"pretrain_steps": 45, "finetune_steps": 25}),
    (partial(expert, {"patience": 1}), SMALL | {"pretrain_steps": 0, "finetune_steps": 45,
                                                "early_stopping": True}),
    (CVAE, SMALL | {"steps": 70}),
    (CGAN, SMALL | {"steps": 70, "on_collapse": "warn"}),
]  # fmt: skip


class CutError(Exception):
    """Stands for whatever ends a process."""


def cut_at(call: int):
    """Return a callback that fails at one of its calls."""
    left = [call]

    def callback(stage, done, total, terms):
        left[0] -= 1
        if left[0] == 0:
            raise CutError

    return callback


def same(a, b):
    return all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))


class TestResuming:
    @pytest.mark.parametrize(("sampler", "settings"), SAMPLERS)
    @pytest.mark.filterwarnings("ignore::mgvae.errors.CollapseWarning")
    def test_any_number_of_cuts_changes_nothing(self, sampler, settings, imbalanced, tmp_path):
        whole = sampler(random_state=0, **settings)
        expected = whole.fit_resample(*imbalanced)
        cuts = 0
        for call in [1, 2, 1, 3, 2, 1, 99]:
            again = sampler(
                random_state=0, checkpoint=(tmp_path, 0.0),
                callback=cut_at(call), **settings,
            )  # fmt: skip
            try:
                found = again.fit_resample(*imbalanced)
            except CutError:
                cuts += 1
        assert cuts >= 2
        assert same(found, expected)
        assert np.array_equal(again.source_indices_, whole.source_indices_)
        for stage, history in whole.history_.items():
            assert again.history_[stage].terms == history.terms
            assert again.history_[stage].validation == history.validation
            assert again.history_[stage].stopped_early == history.stopped_early
        assert same([again.generate(5, "few")], [whole.generate(5, "few")])

    def test_what_is_done_is_not_done_again(self, imbalanced, tmp_path):
        settings = {"random_state": 0, "pretrain_steps": 40, "finetune_steps": 40}
        first = MGVAE(**settings, checkpoint=tmp_path).fit_resample(*imbalanced)
        seen = []
        again = MGVAE(**settings, checkpoint=tmp_path, callback=lambda *call: seen.append(call[:3]))
        assert same(again.fit_resample(*imbalanced), first)
        assert seen == [
            ("pre-training", 40, 40),
            ("fine-tuning of class few", 40, 40),
            ("fine-tuning of class some", 40, 40),
        ]

    def test_classes_at_once_share_a_folder(self, imbalanced, tmp_path):
        settings = {"random_state": 0, "pretrain_steps": 40, "finetune_steps": 40}
        expected = MGVAE(**settings).fit_resample(*imbalanced)
        cut = MGVAE(**settings, checkpoint=(tmp_path, 0.0), callback=cut_at(3))
        with pytest.raises(CutError):  # in the first class
            cut.fit(*imbalanced)
        with parallel_config(backend="threading"):
            found = MGVAE(**settings, checkpoint=tmp_path, n_jobs=2).fit_resample(*imbalanced)
        assert same(found, expected)

    def test_without_a_seed_the_first_run_decides(self, imbalanced, tmp_path):
        settings = {"pretrain_steps": 40, "finetune_steps": 20, "checkpoint": tmp_path}
        with pytest.raises(CutError):
            MGVAE(**settings, callback=cut_at(2)).fit(*imbalanced)
        first, again = (MGVAE(**settings).fit_resample(*imbalanced) for _ in range(2))
        assert same(first, again)
        other = MGVAE(**settings | {"checkpoint": tmp_path / "other"}).fit_resample(*imbalanced)
        assert not same(first, other)

    def test_images(self, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 256, (30, 8, 8), np.uint8)
        y = np.repeat(["a", "b"], [24, 6])
        settings = {"random_state": 0, "network": "cnn", "batch_size": 4,
                    "pretrain_steps": 22, "finetune_steps": 3, "n_exemplars": 4}  # fmt: skip
        with pytest.raises(CutError):
            MGVAE(**settings, checkpoint=(tmp_path, 0.0), callback=cut_at(1)).fit(X, y)
        found = MGVAE(**settings, checkpoint=tmp_path).fit_resample(X, y)
        assert same(found, MGVAE(**settings).fit_resample(X, y))

    def test_the_loop_alone_with_every_kind_of_part(self, tmp_path):
        """Two players, a schedule, clipping, validation, dropout of steps: cut after every step."""

        def run(file, stop_after=None):
            generator = torch.Generator().manual_seed(0)
            rng = np.random.default_rng(0)
            a, b = (nn.utils.skip_init(nn.Linear, 2, 1) for _ in range(2))
            with torch.no_grad():
                for p in [*a.parameters(), *b.parameters()]:
                    p.fill_(0.5)
            taken = []

            def loss(module, name):
                def value(step):
                    if len(taken) == stop_after:
                        raise CutError
                    taken.append(step)
                    x = torch.randn(4, 2, generator=generator) + rng.normal()
                    return {name: (module(x) ** 2).mean(), f"{name} size": x.abs().mean()}

                return value

            history = train(
                [
                    Player(loss(a, "a"), torch.optim.Adam(a.parameters(), lr=0.1, fused=True), "a"),
                    Player(loss(b, "b"), torch.optim.SGD(b.parameters(), 0.1, momentum=0.9), "b"),
                ],
                stage="game",
                steps=30,
                schedule=cosine(30),
                clip_norm=0.5,
                validation=Validation(lambda: a.weight.abs().sum().item(), [a, b], every=4),
                parts=[a, b, generator, rng],
                file=file,
            )
            return [p.detach().clone() for p in [*a.parameters(), *b.parameters()]], history

        expected, history = run(None)
        file = Checkpoint.open(
            tmp_path, {}, np.random.SeedSequence(0), adopt=False, seconds=0
        ).stage("game")
        for _ in range(14):
            with pytest.raises(CutError):
                run(file, stop_after=4)  # two steps of two players
        found, continued = run(file)
        assert all(torch.equal(p, q) for p, q in zip(found, expected, strict=True))
        assert continued.terms == history.terms
        assert continued.validation == history.validation
        assert continued.best_step == history.best_step


class TestKilledProcesses:
    def test_killed_three_times_at_random_moments(self, imbalanced, tmp_path):
        settings = {"random_state": 0, "pretrain_steps": 150, "finetune_steps": 60}
        expected = MGVAE(**settings).fit_resample(*imbalanced)
        result = tmp_path / "result.npz"

        def work():
            sampler = MGVAE(**settings, checkpoint=(tmp_path / "run", 0.01))
            X, y = sampler.fit_resample(*imbalanced)
            with (tmp_path / "half").open("wb") as file:
                np.savez(file, X=X, y=y)
            (tmp_path / "half").replace(result)

        fork = multiprocessing.get_context("fork")
        rng = np.random.default_rng(0)
        kept = []
        for turn in range(3):
            child = fork.Process(target=work)
            child.start()
            time.sleep(rng.uniform(0.05, 0.2))
            while turn == 2 and not [*(tmp_path / "run").glob("*.safetensors")]:
                assert child.is_alive()  # a busy machine may take longer to keep its first state
                time.sleep(0.001)
            child.kill()
            child.join()
            assert child.exitcode == -signal.SIGKILL
            kept.append(sorted(path.name for path in (tmp_path / "run").glob("*.safetensors")))
        assert kept[-1]  # some state had been kept
        child = fork.Process(target=work)
        child.start()
        child.join()
        assert child.exitcode == 0
        with np.load(result) as found:
            assert same([found["X"], found["y"]], expected)

    def test_sigterm_saves_before_the_process_ends(self, imbalanced, tmp_path):
        def work():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # Ray, if it ran here, left its own
            MGVAE(
                pretrain_steps=10**6, checkpoint=(tmp_path / "run", 1e9),
                callback=lambda *_: (tmp_path / "training").touch(),
            ).fit(*imbalanced)  # fmt: skip

        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        while not (tmp_path / "training").exists():
            assert child.is_alive()
            time.sleep(0.01)
        child.terminate()
        child.join()
        assert child.exitcode == -signal.SIGTERM
        assert read_file(tmp_path / "run" / "pre-training.safetensors").metadata["done"] >= 20

    def test_ctrl_c_in_the_command_saves_before_it_ends(self, imbalanced, tmp_path):
        X, y = imbalanced
        table, run, out = tmp_path / "a.csv", tmp_path / "run", tmp_path / "out.csv"
        lines = [",".join([*(f"{v:.4f}" for v in row), c]) for row, c in zip(X, y, strict=True)]
        table.write_text("a,b,c,d,e,class\n" + "\n".join(lines) + "\n", encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "mgvae.cli", "balance", str(table), "-t", "class", "-o",
             str(out), "-q", "--pretrain-steps", "1000000", "--checkpoint", str(run),
             "--checkpoint-seconds", "1"]
        )  # fmt: skip
        state = run / "pre-training.safetensors"
        while not state.exists():
            assert process.poll() is None
            time.sleep(0.01)
        done = read_file(state).metadata["done"]
        time.sleep(0.3)  # for some steps more than the state has; the next one is kept after 1 s
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert read_file(state).metadata["done"] > done
        assert not out.exists()

    def test_a_command_without_a_seed_goes_on_with_the_first_one(self, imbalanced, tmp_path):
        """In one process, for speed: what the command line does is the same."""
        from mgvae.cli._run import run as run_cli

        X, y = imbalanced
        table = tmp_path / "a.csv"
        rows = [f"{a:.4f},{b:.4f},{c}" for (a, b), c in zip(X[:, :2], y, strict=True)]
        table.write_text("a,b,class\n" + "\n".join(rows) + "\n", encoding="utf-8")
        written = []
        for name in ("one.csv", "two.csv"):
            assert run_cli(["balance", str(table), "-t", "class", "-o", str(tmp_path / name), "-q",
                            "--pretrain-steps", "20", "--finetune-steps", "20",
                            "--checkpoint", str(tmp_path / "run")]) == 0  # fmt: skip
            written.append((tmp_path / name).read_bytes())
        assert written[0] == written[1]


class TestSignals:
    def stage(self, folder, seconds=1e9):
        return Checkpoint.open(
            folder, {}, np.random.SeedSequence(0), adopt=False, seconds=seconds
        ).stage("s")

    def endless(self, file, at_step, act, steps=100):
        w = nn.Parameter(torch.tensor(1.0))

        def loss(step):
            if step == at_step:
                act()
            return {"loss": w**2}

        return train([Player(loss, torch.optim.SGD([w], 0.01))], stage="s", steps=steps, file=file)

    def test_ctrl_c_saves_and_gives_the_handlers_back(self, tmp_path):
        before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        file = self.stage(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            self.endless(file, 7, lambda: signal.raise_signal(signal.SIGINT))
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
        assert file._read()[0] == 8

    def test_a_second_one_does_not_wait(self, tmp_path):
        def twice():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

        file = self.stage(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            self.endless(file, 7, twice)
        assert not file.path.exists()

    def test_a_users_own_handler_is_called_and_may_go_on(self, tmp_path):
        got = []
        before = signal.signal(signal.SIGTERM, lambda number, _: got.append(number))
        try:
            history = self.endless(
                self.stage(tmp_path), 7, lambda: signal.raise_signal(signal.SIGTERM)
            )
        finally:
            signal.signal(signal.SIGTERM, before)
        assert got == [signal.SIGTERM]
        assert history.steps == 100

    def test_what_is_ignored_stays_ignored(self, tmp_path):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self.endless(self.stage(tmp_path), 7, lambda: signal.raise_signal(signal.SIGINT))
        finally:
            signal.signal(signal.SIGINT, before)

    def test_without_a_checkpoint_there_is_no_handler(self):
        seen = []
        self.endless(None, 3, lambda: seen.append(signal.getsignal(signal.SIGINT)), steps=5)
        assert seen == [signal.default_int_handler]


class TestRefusing:
    settings = {"random_state": 0, "pretrain_steps": 20, "finetune_steps": 20}  # noqa: RUF012

    @pytest.fixture
    def run(self, imbalanced, tmp_path):
        MGVAE(**self.settings, checkpoint=tmp_path).fit(*imbalanced)
        return tmp_path

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"latent_size": 3}, "latent_size was 10 and is 3"),
            ({"random_state": 1}, "random_state is another"),
            ({"sampling_strategy": "minority"}, "new rows of some was 160 and is None"),
            ({"pretrain_steps": 30, "rejection": 0.5}, "pretrain_steps was 20 and is 30; reject"),
            ({"recipe": "paper-tables"}, "batch_size was 128 and is 100"),
        ],
    )
    def test_other_settings_are_named(self, run, imbalanced, changes, reason):
        with pytest.raises(CheckpointError, match=f"{reason}.*another folder"):
            MGVAE(**self.settings | changes, checkpoint=run).fit(*imbalanced)

    def test_another_sampler_is_named(self, run, imbalanced):
        with pytest.raises(CheckpointError, match="sampler was 'MGVAE' and is 'CVAE'"):
            CVAE(random_state=0, checkpoint=run).fit(*imbalanced)

    def test_other_data_are_named(self, run, imbalanced):
        X, y = imbalanced
        with pytest.raises(CheckpointError, match=r"rows was \[248, 5\] and is \[247, 5\]"):
            MGVAE(**self.settings, checkpoint=run).fit(X[1:], y[1:])
        X = X.copy()
        X[3, 2] += 0.1
        with pytest.raises(CheckpointError, match="the values of X or y are others"):
            MGVAE(**self.settings, checkpoint=run).fit(X, y)

    def test_other_versions_are_named(self, run, imbalanced):
        path = run / "checkpoint.json"
        facts = json.loads(path.read_text(encoding="utf-8"))
        facts["versions"]["torch"] = "1.0"
        path.write_text(json.dumps(facts), encoding="utf-8")
        with pytest.raises(CheckpointError, match=r"torch was '1\.0' and is"):
            MGVAE(**self.settings, checkpoint=run).fit(*imbalanced)

    @pytest.mark.parametrize("same", [{"n_jobs": 2}, {"verbose": True}])
    def test_what_has_no_effect_may_change(self, run, imbalanced, same):
        with parallel_config(backend="threading"):
            MGVAE(**self.settings, checkpoint=run, **same).fit(*imbalanced)

    def test_a_damaged_file_is_named(self, run, imbalanced):
        path = run / "pre-training.safetensors"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"pre-training\.safetensors.*damaged.*Remove"):
            MGVAE(**self.settings, checkpoint=run).fit(*imbalanced)
        path.unlink()
        MGVAE(**self.settings, checkpoint=run).fit(*imbalanced)

    def test_a_stage_of_another_run_is_refused(self, run, imbalanced, tmp_path_factory):
        other = tmp_path_factory.mktemp("other")
        MGVAE(**self.settings | {"random_state": 1}, checkpoint=other).fit(*imbalanced)
        (other / "class-0.safetensors").replace(run / "class-0.safetensors")
        with pytest.raises(CheckpointError, match=r"class-0.*another run"):
            MGVAE(**self.settings, checkpoint=run).fit(*imbalanced)

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\x80\x04N.", b'{"seeds": 3}'])
    def test_a_broken_run_file_is_named(self, imbalanced, tmp_path, content):
        (tmp_path / "checkpoint.json").write_bytes(content)
        with pytest.raises(CheckpointError):
            MGVAE(**self.settings, checkpoint=tmp_path).fit(*imbalanced)

    @pytest.mark.parametrize("seeds", [None, 3, [1], [["x"], []], [-1, []]])
    def test_broken_seeds_are_named(self, imbalanced, tmp_path, seeds):
        settings = {"pretrain_steps": 2, "finetune_steps": 2, "checkpoint": tmp_path}
        MGVAE(**settings).fit(*imbalanced)
        path = tmp_path / "checkpoint.json"
        facts = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(facts | {"seeds": seeds}), encoding="utf-8")
        with pytest.raises(CheckpointError, match="seeds are damaged"):
            MGVAE(**settings).fit(*imbalanced)

    def test_a_folder_that_cannot_be_made_is_named_before_training(self, imbalanced, tmp_path):
        (tmp_path / "file").write_text("", encoding="utf-8")
        sampler = MGVAE(checkpoint=tmp_path / "file", callback=cut_at(1))
        with pytest.raises((ParameterError, CheckpointError), match=r"file.*folder"):
            sampler.fit(*imbalanced)


class TestDisk:
    def test_a_full_disk_later_is_a_warning_and_the_last_state_stays(
        self, imbalanced, tmp_path, monkeypatch
    ):
        settings = {"random_state": 0, "pretrain_steps": 60, "finetune_steps": 20}
        expected = MGVAE(**settings).fit_resample(*imbalanced)
        with pytest.raises(CutError):
            MGVAE(**settings, checkpoint=(tmp_path, 0.0), callback=cut_at(2)).fit(*imbalanced)
        kept = (tmp_path / "pre-training.safetensors").read_bytes()
        real = os.fsync
        calls = []

        def full(descriptor):
            calls.append(descriptor)
            if len(calls) > 2:  # the file of the run and its folder are written
                raise OSError(28, "No space left on device")
            real(descriptor)

        monkeypatch.setattr(os, "fsync", full)
        with pytest.warns(CheckpointWarning, match="No space left.*Training goes on"):
            found = MGVAE(**settings, checkpoint=tmp_path).fit_resample(*imbalanced)
        assert same(found, expected)
        assert (tmp_path / "pre-training.safetensors").read_bytes() == kept
        assert not list(tmp_path.glob(".*"))

    def test_a_full_disk_is_noticed_before_training(self, imbalanced, tmp_path, monkeypatch):
        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        sampler = MGVAE(checkpoint=tmp_path, callback=cut_at(1))
        with pytest.raises(ParameterError, match=r"checkpoint=.*No space left"):
            sampler.fit(*imbalanced)

    def test_rubbish_of_killed_writers_is_swept(self, imbalanced, tmp_path):
        old, new = (tmp_path / f".class-0.safetensors.{c * 12}.tmp" for c in "ab")
        foreign = tmp_path / ".notes.tmp"
        for path in (old, new, foreign):
            path.write_bytes(b"half")
        os.utime(old, (0, 0))
        os.utime(foreign, (0, 0))
        MGVAE(pretrain_steps=5, finetune_steps=5, checkpoint=tmp_path).fit(*imbalanced)
        assert not old.exists()
        assert new.exists()
        assert foreign.exists()


def test_a_run_about_to_diverge_keeps_its_last_good_state(tmp_path):
    file = StageFile(tmp_path / "s.safetensors", "run", 0.0)
    w = nn.Linear(1, 1)

    def loss(step):
        factor = float("inf") if step == 5 else 1.0
        return {"loss": (w.weight * factor).sum()}

    with pytest.raises(DivergenceError):
        train(
            [Player(loss, torch.optim.SGD(w.parameters(), 0.1))],
            stage="s", steps=50, parts=[w], file=file,
        )  # fmt: skip
    assert file._read()[0] == 5


def test_no_file_of_a_checkpoint_is_pickle(imbalanced, tmp_path):
    MGVAE(pretrain_steps=5, finetune_steps=5, checkpoint=tmp_path).fit(*imbalanced)
    names = sorted(path.name for path in Path(tmp_path).iterdir())
    assert names == [
        "checkpoint.json", "class-0.safetensors", "class-2.safetensors",
        "importance.safetensors", "pre-training.safetensors",
    ]  # fmt: skip
    from safetensors import safe_open

    for name in names[1:]:
        with safe_open(tmp_path / name, framework="np") as file:
            assert json.loads(file.metadata()["mgvae"])["done"] is None
