"""Time of one pre-training step, against the bare matrix products it cannot do without.

Run: ``python benchmarks/step.py``. One thread, one process. Both sides take turns and are timed by
blocks of 20 steps. Other load on the machine can only slow a block down, and comes in spells longer
than a turn: so a turn counts by the fastest block of each side, whose ratio is taken within the
turn, and the result is the median over the turns.

1. Overhead: the step at the paper's MNIST shape (784-300-300-40, batch 100, 500 exemplars) divided
   by the same step's matrix products alone, forward and backward. Aim: at most 1.25.
2. Size: the same step at 1,000,000 majority rows divided by that at 10,000. Aim: at most 1.1.
"""

import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np
import torch

from mgvae.codec import Span
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.mgvae.learning import pretrain
from mgvae.methods.settings import Stage
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE
from mgvae.networks import mlp_bodies

WIDTH, HIDDEN, LATENT, BATCH, EXEMPLARS = 784, 300, 40, 100, 500
BLOCK, BLOCKS, TURNS = 20, 4, 16  # the training loop calls back every 20 steps


class Comparison(NamedTuple):
    """Median milliseconds per step of two functions, and the median of their ratios by turn."""

    first: float
    second: float
    ratio: float


def matrix_products() -> Callable[[], list[float]]:
    """Return a function that does the products of training steps and notes the time of blocks."""
    generator = torch.Generator().manual_seed(0)

    def matrix(rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, columns, generator=generator)

    both = BATCH + EXEMPLARS
    # (rows, inputs, outputs, whether a gradient flows on to the inputs)
    layers = [
        (both, WIDTH, HIDDEN, False),
        (both, HIDDEN, HIDDEN, True),
        (both, HIDDEN, LATENT, True),
        (BATCH, HIDDEN, LATENT, True),
        (BATCH, LATENT, EXEMPLARS, True),
        (BATCH, LATENT, HIDDEN, True),
        (BATCH, HIDDEN, HIDDEN, True),
        (BATCH, HIDDEN, WIDTH, True),
    ]
    made = [(matrix(n, i), matrix(o, i), matrix(n, o), flows) for n, i, o, flows in layers]

    def run() -> list[float]:
        times = [time.perf_counter()]
        for _ in range(BLOCKS):
            for _ in range(BLOCK):
                for inputs, weights, gradients, flows in made:
                    torch.mm(inputs, weights.T)
                    torch.mm(gradients.T, inputs)
                    if flows:
                        torch.mm(gradients, weights)
            times.append(time.perf_counter())
        return times

    return run


def training_steps(rows: torch.Tensor) -> Callable[[], list[float]]:
    """Return a function that runs the library's own pre-training and notes the time of blocks."""
    spans = [Span("image", WIDTH, "sigmoid", "squared_error")]
    vae = build(
        lambda: VAE(mlp_bodies(WIDTH, (HIDDEN, HIDDEN), LATENT), Likelihood(spans), LATENT),
        torch_generator(np.random.SeedSequence(0)),
    )
    # one block more than is timed: nothing is known of when the first began
    stage = Stage((BLOCKS + 1) * BLOCK, 1e-4, None, BATCH, EXEMPLARS, leave_one_out=True)
    majority = np.arange(len(rows))

    def run() -> list[float]:
        times: list[float] = []
        pretrain(
            vae, rows, majority, stage, np.random.SeedSequence(1),
            callback=lambda *_: times.append(time.perf_counter()),
        )  # fmt: skip
        return times

    return run


def compare(first: Callable[[], list[float]], second: Callable[[], list[float]]) -> Comparison:
    """Let two functions take turns; compare the fastest block of each within a turn."""
    turns = [(_fastest(first()), _fastest(second())) for _ in range(TURNS)]
    one, other = zip(*turns, strict=True)
    return Comparison(median(one), median(other), median(a / b for a, b in turns))


def _fastest(times: list[float]) -> float:
    """Return the milliseconds per step of the fastest block."""
    return min(late - early for early, late in pairwise(times)) / BLOCK * 1e3


def main() -> None:
    """Print both ratios."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    small = torch.from_numpy(rng.random((10_000, WIDTH), dtype=np.float32))
    step, products, ratio = compare(training_steps(small), matrix_products())
    print(f"step {step:.2f} ms, matrix products {products:.2f} ms: ratio {ratio:.2f}")

    large = torch.empty(1_000_000, WIDTH)
    for start in range(0, len(large), len(small)):
        large[start : start + len(small)] = small
    many, few, ratio = compare(training_steps(large), training_steps(small))
    print(f"1,000,000 rows {many:.2f} ms, 10,000 rows {few:.2f} ms: ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
