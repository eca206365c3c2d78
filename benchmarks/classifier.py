"""What training the paper's MLP costs beyond its matrix products and its optimiser.

At the paper's MNIST setting (60,000 rows of 784, batches of 100, one thread), an epoch of
``TorchClassifier`` is timed against an epoch of nothing but the matrix products of the forward and
backward pass and a fused Adam step. Both take turns in one process and are timed in blocks of 20
steps, of which the fastest tenth counts: other load on the machine can only slow a block down. The
ratio must not exceed 1.5.

    python benchmarks/classifier.py
"""

import statistics
import sys
import time
from itertools import pairwise

import numpy as np
import torch

from mgvae.classifiers import TorchClassifier

ROWS, BATCH, SIZES = 60_000, 100, (784, 256, 128, 2)
ROUNDS, BLOCK, LIMIT = 8, 20, 1.5


class TimedLoss(torch.nn.CrossEntropyLoss):
    """Cross-entropy that notes when it is called; shared by the copies that are made of it."""

    times: list[float] = []  # noqa: RUF012

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Note the time and give the loss."""
        self.times.append(time.perf_counter())
        return super().forward(logits, target)


def blocks(times: list[float]) -> list[float]:
    """Return the seconds that blocks of steps took, from the time of each step."""
    return [late - early for early, late in pairwise(times[::BLOCK])]


def bare_blocks(batch: torch.Tensor) -> list[float]:
    """Time the matrix products and the optimiser of one epoch."""
    weights = [torch.randn(narrow, wide) / wide for wide, narrow in pairwise(SIZES)]
    biases = [torch.zeros(size) for size in SIZES[1:]]
    parameters = [torch.nn.Parameter(p) for p in (*weights, *biases)]
    for p in parameters:
        p.grad = torch.zeros_like(p)
    adam = torch.optim.Adam(parameters, fused=True)
    times = []
    for _ in range(ROWS // BATCH):
        times.append(time.perf_counter())
        inputs = [batch]
        for weight in weights:
            inputs.append(inputs[-1] @ weight.T)
        gradient = inputs.pop()
        for layer in reversed(range(len(weights))):
            parameters[layer].grad = gradient.T @ inputs[layer]
            if layer > 0:
                gradient = gradient @ weights[layer]
        adam.step()
    return blocks(times)


def classifier_blocks(X: np.ndarray, y: np.ndarray) -> list[float]:
    """Time one epoch of the classifier."""
    TimedLoss.times.clear()
    TorchClassifier(loss=TimedLoss(), epochs=1, random_state=0).fit(X, y)
    return blocks(TimedLoss.times)


def main() -> int:
    """Print both times and their ratio."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    X = rng.random((ROWS, SIZES[0]), dtype=np.float32)
    y = rng.integers(0, SIZES[-1], ROWS)
    batch = torch.from_numpy(X[:BATCH])
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(ROUNDS):
        bare += bare_blocks(batch)
        ours += classifier_blocks(X, y)
    per_epoch = ROWS / BATCH / BLOCK
    fast_bare, fast_ours = (statistics.quantiles(times, n=10)[0] for times in (bare, ours))
    ratio = fast_ours / fast_bare
    print(f"bare products and Adam   {per_epoch * fast_bare:6.2f} s an epoch")
    print(f"TorchClassifier          {per_epoch * fast_ours:6.2f} s an epoch")
    print(f"ratio                    {ratio:6.2f}   (limit {LIMIT})")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
