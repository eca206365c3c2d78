"""Our Adam is torch's."""

import copy

import pytest
import torch

from mgvae.model.optimiser import Adam


def network(seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))


def steps(model, optimiser, n, rng):
    for _ in range(n):
        optimiser.zero_grad()
        model(torch.randn(7, 3, generator=rng)).square().sum().backward()
        optimiser.step()


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_bit_for_bit_torchs_adam(decay):
    ours, theirs = network(0), network(0)
    a = Adam([{"params": ours[0].parameters(), "lr": 1e-2}, {"params": ours[2].parameters()}],
             lr=1e-3, weight_decay=decay)  # fmt: skip
    b = torch.optim.Adam([{"params": theirs[0].parameters(), "lr": 1e-2},
                          {"params": theirs[2].parameters()}],
                         lr=1e-3, weight_decay=decay, fused=True)  # fmt: skip
    for model, optimiser in ((ours, a), (theirs, b)):
        steps(model, optimiser, 20, torch.Generator().manual_seed(1))
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(p, q)


def test_it_goes_on_from_a_state_as_if_it_had_not_stopped():
    through, stopped = network(0), network(0)
    a = Adam(through.parameters())
    steps(through, a, 10, torch.Generator().manual_seed(1))
    rng = torch.Generator().manual_seed(1)
    b = Adam(stopped.parameters())
    steps(stopped, b, 4, rng)
    again = Adam(stopped.parameters())
    again.load_state_dict(copy.deepcopy(b.state_dict()))
    steps(stopped, again, 6, rng)
    for p, q in zip(through.parameters(), stopped.parameters(), strict=True):
        assert torch.equal(p, q)


def test_parameters_without_a_gradient_stay():
    model = network(0)
    before = model[2].weight.detach().clone()
    optimiser = Adam(model.parameters())
    model[0](torch.ones(1, 3)).sum().backward()
    optimiser.step()
    assert torch.equal(model[2].weight, before)
