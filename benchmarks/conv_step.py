"""Time of one pre-training step of the CNN, against its bare convolutions and matrix products.

Run: ``python benchmarks/conv_step.py``. One thread, one process; both sides are timed in turns, and
the ratio is that of their fastest rounds, so that other load on the machine hits both alike.

1. Overhead: the step on 64 × 64 colour images (a quarter of the paper's channels, batch 64, 64
   exemplars, 2,000 remembered) divided by the same step's convolutions and matrix products alone,
   forward and backward. Aim: at most 1.3.
2. Images generated per second, as bytes, by a fitted sampler.
3. What was tried and does not pay everywhere: bfloat16 and torch.compile.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from mgvae import MGVAE
from mgvae.codec import Span
from mgvae.common.rows import MemoryRows
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.mgvae.learning import pretrain
from mgvae.methods.settings import Stage
from mgvae.model.likelihood import Likelihood
from mgvae.model.vae import VAE
from mgvae.networks import cnn_bodies

SHAPE, FACTOR, LATENT, BATCH, EXEMPLARS, REMEMBERED = (3, 64, 64), 0.25, 40, 64, 64, 2000
STEPS, ROUNDS = 2, 6


def bare_products() -> Callable[[], None]:
    """Return a function that does STEPS times one step's convolutions, products and gradients."""
    generator = torch.Generator().manual_seed(0)

    def numbers(*shape: int) -> torch.Tensor:
        made = torch.randn(*shape, generator=generator)
        return made.to(memory_format=torch.channels_last) if made.ndim == 4 else made

    c = [round(FACTOR * channels) for channels in (64, 128, 256, 512)]
    both = BATCH + EXEMPLARS
    # (pictures, channels before and after, side before and after, kernel, stride, transposed)
    convolutions = [
        (both, 3, c[0], 64, 32, 3, 2, False),
        (both, c[0], c[1], 32, 16, 3, 2, False),
        (both, c[1], c[2], 16, 8, 3, 2, False),
        (both, c[2], c[3], 8, 4, 3, 2, False),
        (BATCH, c[3], c[2], 8, 16, 4, 2, True),
        (BATCH, c[2], c[1], 16, 32, 4, 2, True),
        (BATCH, c[1], c[0], 32, 64, 4, 2, True),
        (BATCH, c[0], 3, 64, 64, 3, 1, False),
    ]
    flat = 16 * c[3]
    # (rows, inputs, outputs)
    products = [
        (both, flat, LATENT),
        (BATCH, flat, LATENT),
        (BATCH, LATENT, EXEMPLARS + REMEMBERED),
        (BATCH, LATENT, flat),
    ]
    made = []
    for n, before, after, side, end, kernel, stride, transposed in convolutions:
        first, second = (before, after) if transposed else (after, before)
        weight = numbers(first, second, kernel, kernel)
        x, gradient = numbers(n, before, side, side), numbers(n, after, end, end)
        flows = before != 3
        shape = ([stride] * 2, [1, 1], [1, 1], transposed, [0, 0], 1)
        made.append((x, weight, gradient, [after], shape, [flows, True, True]))
    matrices = [(numbers(n, i), numbers(o, i), numbers(n, o)) for n, i, o in products]

    def run() -> None:
        for _ in range(STEPS):
            for x, weight, gradient, sizes, shape, wanted in made:
                torch.ops.aten.convolution(x, weight, None, *shape)
                torch.ops.aten.convolution_backward(gradient, x, weight, sizes, *shape, wanted)
            for inputs, weights, gradients in matrices:
                torch.mm(inputs, weights.T)
                torch.mm(gradients.T, inputs)
                torch.mm(gradients, weights)

    return run


def training_steps(change: Callable[[VAE], None] = lambda _: None) -> Callable[[], None]:
    """Return a function that takes STEPS steps of the library's own pre-training."""
    size = int(np.prod(SHAPE))
    rows = MemoryRows(
        torch.randint(
            0, 256, (500, size), generator=torch.Generator().manual_seed(0), dtype=torch.uint8
        )
    )
    spans = [Span("image", size, "sigmoid", "bernoulli")]
    vae = build(
        lambda: VAE(cnn_bodies(SHAPE, LATENT, FACTOR), Likelihood(spans), LATENT),
        torch_generator(np.random.SeedSequence(0)),
    )
    change(vae)
    stage = Stage(STEPS, 1e-4, None, BATCH, EXEMPLARS, True, REMEMBERED)
    majority = np.arange(len(rows))

    def run() -> None:
        pretrain(vae, rows, majority, stage, np.random.SeedSequence(1))

    return run


def compiled(vae: VAE) -> None:
    """Let torch compile both bodies."""
    vae.encoder.compile(dynamic=False)
    vae.decoder.compile(dynamic=False)


def fastest(*functions: Callable[[], None], rounds: int = ROUNDS) -> list[float]:
    """Time the functions in turns; give each one's fastest round in milliseconds per step."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, kept in zip(functions, times, strict=True):
            started = time.perf_counter()
            function()
            kept.append((time.perf_counter() - started) / STEPS * 1e3)
    return [min(kept) for kept in times]


def generated_per_second(n: int = 2000) -> float:
    """Fit for a moment and generate."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (80, 64, 64, 3), dtype=np.uint8)
    y = np.repeat([0, 1], [70, 10])
    sampler = MGVAE(pretrain_steps=1, finetune_steps=1, ewc_weight=0, random_state=0).fit(X, y)
    started = time.perf_counter()
    sampler.generate(n, 1)
    return n / (time.perf_counter() - started)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", action="store_true", help="also what does not pay (slow)")
    variants = parser.parse_args().variants
    torch.set_num_threads(1)
    step, bare = fastest(training_steps(), bare_products())
    print(f"step {step:.0f} ms, convolutions and products {bare:.0f} ms: ratio {step / bare:.2f}")
    print(f"{generated_per_second():.0f} images of 64 × 64 × 3 generated per second")
    if variants:
        compile_step, plain = fastest(training_steps(compiled), training_steps(), rounds=4)
        print(f"torch.compile: step {compile_step:.0f} ms against {plain:.0f} ms")
        reduced = training_steps()

        def autocast() -> None:
            with torch.autocast("cpu", torch.bfloat16):
                reduced()

        bfloat16, plain = fastest(autocast, training_steps(), rounds=2)
        print(f"bfloat16: step {bfloat16:.0f} ms against {plain:.0f} ms")


if __name__ == "__main__":
    main()
