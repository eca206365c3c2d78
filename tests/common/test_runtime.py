"""Seeds, threads and module building leave the process as it was."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from mgvae.common.runtime import build, resolve_device, seed_sequence, threads, torch_generator
from mgvae.errors import ParameterError


def everything():
    return nn.Sequential(
        nn.Linear(3, 4), nn.Conv2d(2, 3, 3), nn.ConvTranspose2d(2, 3, 3), nn.BatchNorm2d(3),
        nn.LayerNorm(3), nn.Embedding(4, 2),
    )  # fmt: skip


def test_built_modules_repeat_and_leave_the_global_generators_alone():
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    one, two, other = (
        build(everything, torch_generator(np.random.SeedSequence(seed))) for seed in (0, 0, 1)
    )
    for name, p in one.state_dict().items():
        assert torch.equal(p, two.state_dict()[name])
        assert torch.isfinite(p).all()
    assert not torch.equal(one[0].weight, other[0].weight)
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002


@pytest.mark.parametrize(
    "layer",
    [lambda: nn.Linear(64, 50), lambda: nn.Conv2d(8, 16, 3), lambda: nn.ConvTranspose2d(8, 16, 3)],
)
def test_weights_have_torchs_own_distribution(layer):
    ours = build(layer, torch_generator(np.random.SeedSequence(0))).weight.detach().ravel()
    torch.manual_seed(0)
    theirs = layer().weight.detach().ravel()
    assert stats.ks_2samp(ours.numpy(), theirs.numpy()).pvalue > 1e-3


def test_a_parameter_nobody_can_fill_is_named():
    class Strange(nn.Module):
        def __init__(self):
            super().__init__()
            self.own = nn.Parameter(torch.zeros(2))

    with pytest.raises(ParameterError, match=r"Strange.*initialise"):
        build(Strange, torch_generator(np.random.SeedSequence(0)))


def test_threads_are_restored_even_after_an_error_and_from_several_threads():
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), threads(1):
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == before
    seen = []

    def work():
        with threads(1):
            seen.append(torch.get_num_threads())

    workers = [threading.Thread(target=work) for _ in range(8)]
    with threads(1):
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert seen == [1] * 8
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("state", [-1, np.int64(-7)])
def test_negative_random_states_are_refused(state):
    with pytest.raises(ParameterError, match=r"random_state must not be negative; got .*-"):
        seed_sequence(state)


def test_every_spelling_of_random_state():
    state = np.random.RandomState(0)
    assert seed_sequence(state).entropy != seed_sequence(state).entropy
    assert seed_sequence(3).entropy == seed_sequence(np.int64(3)).entropy
    assert seed_sequence(None).entropy != seed_sequence(None).entropy
    assert seed_sequence(np.random.default_rng(0)).entropy == (
        seed_sequence(np.random.default_rng(0)).entropy
    )
    with pytest.raises(ParameterError, match=r"random_state.*'x'"):
        seed_sequence("x")


def test_an_absent_device_is_named():
    with pytest.raises(ParameterError, match="'nowhere'"):
        resolve_device("nowhere")


def test_the_command_line_is_also_a_module():
    found = subprocess.run(
        [sys.executable, "-m", "mgvae", "--help"], capture_output=True, text=True, check=True
    )
    assert "balance" in found.stdout
