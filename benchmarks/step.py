"""Time of one pre-training step, against the bare matrix products it cannot do without.

Run: ``python benchmarks/step.py``. One thread, one process; both sides are timed in turns, and the
ratio is that of their fastest rounds, so that other load on the machine hits both alike.

1. Overhead: the step at the paper's MNIST shape (784-300-300-40, batch 100, 500 exemplars) divided
   by the same step's matrix products alone, forward and backward. Aim: at most 1.25.
2. Size: the same step at 1,000,000 majority rows divided by that at 10,000. Aim: at most 1.1.
"""

import time
from collections.abc import Callable

import numpy as np
import torch

from mgvae._runtime import build, torch_generator
from mgvae.codec import Span
from mgvae.likelihood import Likelihood
from mgvae.mgvae import Stage, pretrain
from mgvae.networks import mlp_bodies
from mgvae.vae import VAE

WIDTH, HIDDEN, LATENT, BATCH, EXEMPLARS = 784, 300, 40, 100, 500
STEPS, ROUNDS = 50, 18


def matrix_products() -> Callable[[], None]:
    """Give a function that does STEPS times the products of one step and their gradients."""
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

    def run() -> None:
        for _ in range(STEPS):
            for inputs, weights, gradients, flows in made:
                torch.mm(inputs, weights.T)
                torch.mm(gradients.T, inputs)
                if flows:
                    torch.mm(gradients, weights)

    return run


def training_steps(rows: torch.Tensor) -> Callable[[], None]:
    """Give a function that takes STEPS steps of the library's own pre-training."""
    spans = [Span("image", WIDTH, "sigmoid", "squared_error")]
    vae = build(
        lambda: VAE(mlp_bodies(WIDTH, (HIDDEN, HIDDEN), LATENT), Likelihood(spans), LATENT),
        torch_generator(np.random.SeedSequence(0)),
    )
    stage = Stage(STEPS, 1e-4, None, BATCH, EXEMPLARS, leave_one_out=True)
    majority = np.arange(len(rows))

    def run() -> None:
        pretrain(vae, rows, majority, stage, np.random.SeedSequence(1))

    return run


def fastest(*functions: Callable[[], None]) -> list[float]:
    """Time the functions in turns; give each one's fastest round in milliseconds per step."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for function, kept in zip(functions, times, strict=True):
            started = time.perf_counter()
            function()
            kept.append((time.perf_counter() - started) / STEPS * 1e3)
    return [min(kept) for kept in times]


def main() -> None:
    """Print both ratios."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    small = torch.from_numpy(rng.random((10_000, WIDTH), dtype=np.float32))
    step, products = fastest(training_steps(small), matrix_products())
    print(f"step {step:.2f} ms, matrix products {products:.2f} ms: ratio {step / products:.2f}")

    large = torch.empty(1_000_000, WIDTH)
    for start in range(0, len(large), len(small)):
        large[start : start + len(small)] = small
    many, few = fastest(training_steps(large), training_steps(small))
    print(f"1,000,000 rows {many:.2f} ms, 10,000 rows {few:.2f} ms: ratio {many / few:.2f}")


if __name__ == "__main__":
    main()
