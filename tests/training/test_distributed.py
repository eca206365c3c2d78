"""Several processes that train one model: the loss curve of one process with the joint batch."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgvae import MGVAE
from mgvae.errors import DivergenceError, ParameterError, ProcessError
from mgvae.training.team import Team
from tests.deadly import DeadlyNetwork
from tests.expert import expert

pytest.importorskip("lightning_fabric", reason="mgvae[ddp] is not installed")

# Nothing is a multiple of two, a class has fewer rows than there are processes, and all that a step
# may need is there: exemplars of earlier steps, leave-one-out, penalty, clipping, early stopping.
SETTINGS = {
    "random_state": 0, "pretrain_steps": 30, "finetune_steps": 24, "batch_size": 31,
    "n_exemplars": 33, "early_stopping": True,
}  # fmt: skip
EXPERT = {"n_remembered": 50, "clip_norm": 5.0, "fisher_samples": 7}
TOGETHER = {"devices": 2, "device": "cpu"}


def data():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 1.0, (n, 4)) for m, n in [(0, 150), (2, 40), (-2, 1)]])
    return X, np.repeat(["many", "some", "one"], [150, 40, 1])


def curves(sampler):
    return {
        f"{stage} {term}": values
        for stage, history in sampler.history_.items()
        for term, values in {**history.terms, "validation": history.validation}.items()
    }


@pytest.fixture(scope="module")
def marker(tmp_path_factory):
    return tmp_path_factory.mktemp("marker") / "died"


@pytest.fixture(scope="module")
def two(marker):
    """Training by two processes that nobody kills, with what they told on the way."""
    marker.touch()
    told = []
    network = DeadlyNetwork(marker, (("LOCAL_RANK", "1"),))
    sampler = expert(
        EXPERT, **SETTINGS, **TOGETHER, network=network, callback=lambda *a: told.append(a)
    )
    sampler.fit(*data())
    marker.unlink()
    return sampler, told


class TestTwoProcesses:
    def test_have_the_loss_curve_of_one(self, two, marker):
        network = DeadlyNetwork(marker, (("LOCAL_RANK", "1"),))
        told = []
        one = expert(EXPERT, **SETTINGS, network=network, callback=lambda *a: told.append(a))
        one.fit(*data())
        alone, together = curves(one), curves(two[0])
        assert alone.keys() == together.keys()
        for name, values in alone.items():
            np.testing.assert_allclose(values, together[name], rtol=1e-4, atol=1e-5, err_msg=name)
        assert one.ewc_weights_ == two[0].ewc_weights_
        rows = [sampler.generate(50, "some", random_state=1) for sampler in (one, two[0])]
        np.testing.assert_allclose(*rows, rtol=1e-3, atol=1e-3)
        assert [message[:3] for message in told] == [message[:3] for message in two[1]]

    def test_one_that_is_killed_ends_the_run_and_the_checkpoint_goes_on(
        self, two, marker, tmp_path
    ):
        def fit():
            network = DeadlyNetwork(marker, (("LOCAL_RANK", "1"),))
            sampler = expert(
                EXPERT, **SETTINGS, **TOGETHER, network=network, checkpoint=(tmp_path, 0.0)
            )
            return sampler.fit(*data())

        with pytest.raises(ProcessError, match=r"process 1 of 2.*ended from outside.*checkpoint"):
            fit()
        assert marker.exists()
        assert (tmp_path / "pre-training.safetensors").exists()
        again = fit()
        assert curves(again) == curves(two[0])
        rows = [sampler.generate(50, "some", random_state=1) for sampler in (again, two[0])]
        np.testing.assert_array_equal(*rows)

    def test_an_error_of_theirs_is_raised_here(self):
        settings = {**SETTINGS, "early_stopping": False, "ewc_weight": 0.0}
        sampler = expert(
            {"schedule": "constant"}, **settings, **TOGETHER, learning_rate=(2e-3, 1e30)
        )
        with pytest.raises(DivergenceError, match=r"class (one|some).*learning rate"):
            sampler.fit(*data())
        assert not hasattr(sampler, "classes_")


SCRIPT = """
import json, os, sys
import numpy as np
from mgvae import MGVAE
from mgvae.errors import DataError

X, y = np.load(sys.argv[1])["X"], np.load(sys.argv[1])["y"]
settings = json.loads(sys.argv[2])
rank = os.environ["RANK"]
made = {}
for name, seed in (("seed", 0), ("none", None)):
    sampler = MGVAE(**{**settings, "random_state": seed}, devices="torchrun", device="cpu",
                    checkpoint=f"checkpoint-{rank}-{name}")
    made[name] = sampler.fit_resample(X, y)[0]
    made[f"{name}-loss"] = sampler.history_["pre-training"].terms["loss"]
    made[f"{name}-files"] = os.path.exists(f"checkpoint-{rank}-{name}")
try:
    MGVAE(**settings, devices="torchrun", device="cpu").fit(np.roll(X, int(rank), 0), y)
except DataError as error:
    made["error"] = str(error)
np.savez(f"{sys.argv[3]}-{rank}.npz", **made)
"""


def check_ranks(folder, one):
    """Look at what the processes of a script have found, and compare it with one process's."""
    first, second = (np.load(folder / f"found-{rank}.npz") for rank in range(2))
    np.testing.assert_allclose(first["seed-loss"], one, rtol=1e-4, atol=1e-5)
    for name in ("seed", "none"):
        np.testing.assert_array_equal(first[name], second[name])
        assert first[f"{name}-files"]
        assert not second[f"{name}-files"]  # only the first process keeps a checkpoint
    assert "same X and y" in str(first["error"])
    assert "same X and y" in str(second["error"])


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """Write a script that fits, and the data that it fits to; give its arguments and its losses."""
    folder = tmp_path_factory.mktemp("script")
    settings = {**SETTINGS, "finetune_steps": 2, "pretrain_steps": 20, "early_stopping": False}
    (folder / "fit.py").write_text(SCRIPT, encoding="utf-8")
    X, y = data()
    np.savez(folder / "data.npz", X=X, y=y)
    losses = MGVAE(**settings).fit(X, y).history_["pre-training"].terms["loss"]
    arguments = [folder / "fit.py", folder / "data.npz", json.dumps(settings), "found"]
    return [str(argument) for argument in arguments], losses


TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]


def test_processes_of_torchrun_all_get_the_same(script, tmp_path):
    arguments, losses = script
    command = [*TORCHRUN, "--standalone", "--nproc-per-node", "2", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    check_ranks(tmp_path, losses)


@pytest.fixture
def hosts():
    """Two hosts: network namespaces with a cable between them."""
    if sys.platform != "linux" or shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need Linux, iproute2 and root")
    names = [f"mgvae-{os.getpid()}-{k}" for k in range(2)]
    ends = [f"mgv{os.getpid() % 10**7}{k}" for k in range(2)]
    commands = [
        *(["ip", "netns", "add", name] for name in names),
        ["ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]],
    ]
    for k, (name, end) in enumerate(zip(names, ends, strict=True)):
        inside = ["ip", "-n", name]
        commands += [
            ["ip", "link", "set", end, "netns", name],
            [*inside, "addr", "add", f"10.209.0.{k + 1}/24", "dev", end],
            [*inside, "link", "set", end, "up"],
            [*inside, "link", "set", "lo", "up"],
        ]
    try:
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"no network namespaces here: {done.stderr.strip()}")
        yield list(zip(names, ends, strict=True))
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def test_two_hosts(script, hosts, tmp_path):
    arguments, losses = script
    running = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, *TORCHRUN, "--nnodes", "2", "--nproc-per-node", "1",
             "--node-rank", str(k), "--master-addr", "10.209.0.1", "--master-port", "29400",
             *arguments],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "GLOO_SOCKET_IFNAME": end},
        )
        for k, (name, end) in enumerate(hosts)
    ]  # fmt: skip
    try:
        for process in running:
            said, _ = process.communicate(timeout=300)
            assert process.returncode == 0, said[-3000:]
    finally:
        for process in running:
            process.kill()
            process.communicate()
    check_ranks(tmp_path, losses)


def member(rank, size):
    team = Team.__new__(Team)
    team.rank, team.size = rank, size
    return team


@given(n=st.integers(1, 40), size=st.integers(1, 6))
def test_shares_make_up_the_joint_mean(n, size):
    losses = np.random.default_rng(0).normal(size=n)
    team = [member(rank, size) for rank in range(size)]
    means = [one.weight(n) * losses[one.share(n)].mean() for one in team]
    assert np.mean(means) == pytest.approx(losses.mean())


@given(n=st.integers(0, 40), size=st.integers(1, 6))
def test_portions_are_equal_and_make_up_the_whole(n, size):
    exemplars = np.arange(n) * 3
    portions = [member(rank, size).portion(exemplars) for rank in range(size)]
    assert len({len(portion) for portion in portions}) == 1
    np.testing.assert_array_equal(np.concatenate(portions)[:n], exemplars)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"devices": 2, "n_jobs": 2}, "exclude each other"),
        ({"devices": 0}, "devices"),
        ({"devices": "torchrun"}, "Start it with torchrun"),
        ({"devices": "many"}, "devices"),
        ({"devices": 10_000, "device": "cpu"}, "devices=10000 is more than"),
    ],
)
def test_parameters_that_cannot_be(parameters, message):
    with pytest.raises(ValueError, match=message):
        MGVAE(**SETTINGS, **parameters).fit(*data())


def test_one_device_needs_no_other_process():
    quick = {"random_state": 0, "pretrain_steps": 2, "finetune_steps": 2}
    plain, same = (
        MGVAE(**quick, **more).fit(*data()) for more in ({}, {"devices": 1, "n_jobs": 1})
    )
    np.testing.assert_array_equal(*(s.generate(9, "some", random_state=0) for s in (plain, same)))


def test_lightning_that_is_not_installed(monkeypatch):
    monkeypatch.setattr("mgvae.training.team.find_spec", lambda _: None)
    with pytest.raises(ParameterError, match=r"pip install mgvae\[ddp\]"):
        MGVAE(**SETTINGS, **TOGETHER).fit(*data())
