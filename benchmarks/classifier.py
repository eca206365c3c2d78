"""What training the paper's MLP costs beyond its matrix products and its optimiser.

At the paper's MNIST setting (60,000 rows of 784, batches of 100, one thread), an epoch of
``TorchClassifier`` is timed against an epoch of nothing but the matrix products of the forward and
backward pass and a fused Adam step. Both alternate in one process, and the fastest of the rounds
counts, as the one least disturbed by other work. The ratio must not exceed 1.5.

    python benchmarks/classifier.py
"""

import sys
import time
from itertools import pairwise

import numpy as np
import torch

from mgvae.classifiers import TorchClassifier

ROWS, BATCH, SIZES, ROUNDS, LIMIT = 60_000, 100, (784, 256, 128, 2), 7, 1.5


def bare_epoch(batch: torch.Tensor) -> float:
    """Time the products and the optimiser of one epoch, in seconds."""
    weights = [torch.randn(narrow, wide) / wide for wide, narrow in pairwise(SIZES)]
    biases = [torch.zeros(size) for size in SIZES[1:]]
    parameters = [torch.nn.Parameter(p) for p in (*weights, *biases)]
    for p in parameters:
        p.grad = torch.zeros_like(p)
    adam = torch.optim.Adam(parameters, fused=True)
    started = time.perf_counter()
    for _ in range(ROWS // BATCH):
        inputs = [batch]
        for weight in weights:
            inputs.append(inputs[-1] @ weight.T)
        gradient = inputs.pop()
        for layer in reversed(range(len(weights))):
            parameters[layer].grad = gradient.T @ inputs[layer]
            if layer > 0:
                gradient = gradient @ weights[layer]
        adam.step()
    return time.perf_counter() - started


def classifier_epoch(X: np.ndarray, y: np.ndarray) -> float:
    """Time one epoch of the classifier, in seconds."""
    return TorchClassifier(epochs=1, random_state=0).fit(X, y).history_.seconds


def main() -> int:
    """Print both times and their ratio."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    X = rng.random((ROWS, SIZES[0]), dtype=np.float32)
    y = rng.integers(0, SIZES[-1], ROWS)
    batch = torch.from_numpy(X[:BATCH])
    bare_epoch(batch)
    times = [(bare_epoch(batch), classifier_epoch(X, y)) for _ in range(ROUNDS)]
    bare, ours = (min(column) for column in zip(*times, strict=True))
    ratio = ours / bare
    print(f"bare products and Adam   {bare:6.2f} s an epoch")
    print(f"TorchClassifier          {ours:6.2f} s an epoch")
    print(f"ratio                    {ratio:6.2f}   (limit {LIMIT})")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
