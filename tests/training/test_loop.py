"""The training loop: schedules, players, early stopping, divergence, history."""

import pytest
import torch
from torch import nn

from mgvae.errors import DivergenceError, MGVAEError
from mgvae.training import Player, Validation, constant, cosine, exponential, train


def parameter(value):
    return nn.Parameter(torch.tensor(float(value), dtype=torch.float64))


def test_plain_gradient_descent_by_hand():
    w = parameter(2.0)
    history = train(
        [Player(lambda _: {"loss": w**2, "half": w / 2}, torch.optim.SGD([w], lr=0.1))],
        stage="s",
        steps=3,
    )
    assert w.item() == pytest.approx(2.0 * 0.8**3)
    assert history.terms["loss"] == pytest.approx([(2.0 * 0.8**t) ** 2 for t in range(3)])
    assert history.terms["half"] == pytest.approx([0.8**t for t in range(3)])
    assert history.steps == 3


@pytest.mark.parametrize("schedule", [constant(), cosine(4), exponential(0.5, 2)])
def test_schedule_scales_every_groups_learning_rate_and_is_taken_back(schedule):
    a, b = parameter(0.0), parameter(0.0)
    optimizer = torch.optim.SGD([{"params": [a], "lr": 0.1}, {"params": [b], "lr": 0.3}])
    train([Player(lambda _: {"loss": a + b}, optimizer)], stage="s", steps=4, schedule=schedule)
    total = sum(schedule(t) for t in range(4))
    assert a.item() == pytest.approx(-0.1 * total)
    assert b.item() == pytest.approx(-0.3 * total)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.3]


def test_clipping_bounds_the_gradients_norm():
    w = nn.Parameter(torch.zeros(4, dtype=torch.float64))
    optimizer = torch.optim.SGD([w], lr=1.0)
    train([Player(lambda _: {"loss": 1e6 * w.sum()}, optimizer)], stage="s", steps=1, clip_norm=0.5)
    assert w.norm().item() == pytest.approx(0.5)


def test_two_players_move_in_turn_and_only_their_own_parameters():
    a, b = parameter(1.0), parameter(1.0)
    players = [
        Player(lambda _: {"a": a * b.detach()}, torch.optim.SGD([a], lr=0.5), "a"),
        Player(lambda _: {"b": -a.detach() * b}, torch.optim.SGD([b], lr=0.5), "b"),
    ]
    history = train(players, stage="game", steps=1)
    assert a.item() == pytest.approx(0.5)  # 1 - 0.5 * 1
    assert b.item() == pytest.approx(1.25)  # 1 + 0.5 * 0.5: it has seen the first one's move
    assert history.terms == {"a": [1.0], "b": [-0.5]}


def test_validation_gives_back_the_best_state_and_stops():
    module = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        module.weight.fill_(1.0)
    player = Player(
        lambda _: {"loss": module.weight.sum()}, torch.optim.SGD(module.parameters(), lr=0.1)
    )
    seen = Validation(lambda: abs(module.weight.item() - 0.5), [module], every=1, patience=3)
    history = train([player], stage="s", steps=100, validation=seen)
    assert module.weight.item() == pytest.approx(0.5)
    assert history.best_step == 5
    assert history.stopped_early
    assert history.steps == 8
    assert len(history.validation) == 8


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_named(bad):
    w = parameter(1.0)

    def loss(step):
        return {"loss": w * (bad if step == 3 else 1.0)}

    with pytest.raises(DivergenceError, match=r"stage one.*'loss'.*step 4.*learning rate") as info:
        train([Player(loss, torch.optim.SGD([w], lr=0.1))], stage="stage one", steps=10)
    assert isinstance(info.value, MGVAEError)
    assert isinstance(info.value, RuntimeError)


def test_an_exploding_loss_is_named():
    w = parameter(1.0)
    with pytest.raises(DivergenceError, match="clip_norm"):
        train(
            [Player(lambda _: {"loss": w**2}, torch.optim.SGD([w], lr=1.05))], stage="s", steps=400
        )


def test_a_peak_that_comes_down_again_is_no_explosion():
    w = parameter(0.0)

    def loss(step):
        return {"loss": w + (1e9 if 10 < step < 200 else 0.0)}

    train([Player(loss, torch.optim.SGD([w], lr=0.1))], stage="s", steps=300)


def test_callback_sees_progress_and_the_end():
    w = parameter(1.0)
    calls = []
    train(
        [Player(lambda _: {"loss": w**2}, torch.optim.SGD([w], lr=0.1))],
        stage="s",
        steps=50,
        callback=lambda *call: calls.append(call),
    )
    assert [(stage, done, total) for stage, done, total, _ in calls] == [
        ("s", 20, 50),
        ("s", 40, 50),
        ("s", 50, 50),
    ]
    assert set(calls[0][3]) == {"loss"}
