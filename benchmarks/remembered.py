"""What it costs to remember exemplars, and what it changes.

Run: ``python benchmarks/remembered.py``. scikit-learn's digits 0-4 are the majority. The same model
is pre-trained three times, with a prior of all majority rows (slow, the mixture itself), of 64 rows
encoded in each step, and of these with 800 remembered ones. Afterwards all three are scored by
Eq. 4 against the mixture of *all* majority rows, in nats per image. And the prior's log-density
under means that are 12 steps old, the age of the oldest remembered ones, is compared with that of
the same rows encoded anew: the difference is the bias of remembering.
"""

import time

import numpy as np
import torch
from sklearn.datasets import load_digits

from mgvae.codec import Span
from mgvae.common.runtime import build, torch_generator
from mgvae.methods.mgvae.learning import pretrain
from mgvae.methods.settings import Stage
from mgvae.model.likelihood import Likelihood
from mgvae.model.prior import log_majority_mixture
from mgvae.model.vae import VAE, elbo
from mgvae.networks import mlp_bodies

STEPS, BATCH, LATENT, SEEDS = 600, 64, 10, 3


def trained(rows, n_exemplars, n_remembered, seed):
    """Return a pre-trained model and the milliseconds of a step."""
    spans = [Span("image", 64, "sigmoid", "bernoulli")]
    vae = build(
        lambda: VAE(mlp_bodies(64, (128, 128), LATENT), Likelihood(spans), LATENT),
        torch_generator(np.random.SeedSequence(seed)),
    )
    stage = Stage(
        STEPS, 1e-3, None, BATCH, n_exemplars, leave_one_out=True, n_remembered=n_remembered
    )
    history = pretrain(vae, rows, np.arange(len(rows)), stage, np.random.SeedSequence(seed))
    return vae, 1e3 * history.seconds / STEPS


@torch.no_grad()
def score(vae, rows):
    """Return Eq. 4 against all rows, averaged over rows and noise."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(len(rows), LATENT, generator=generator)
    return -elbo(vae, rows, noise, vae.mean(rows)).terms()["loss"].item()


def bias(rows, seed):
    """Compare remembered means, up to 12 steps old, with the same rows' means of now."""
    young, _ = trained(rows, 64, 800, seed)
    with torch.no_grad():
        old = young.mean(rows)
    stage = Stage(12, 1e-3, None, BATCH, 64, leave_one_out=True)
    pretrain(young, rows, np.arange(len(rows)), stage, np.random.SeedSequence(seed + 1))
    with torch.no_grad():
        new = young.mean(rows)
        stale = log_majority_mixture(new, old, young.log_variance).mean()
        return (stale - log_majority_mixture(new, new, young.log_variance).mean()).item()


def main():
    """Print the table."""
    torch.set_num_threads(1)
    digits = load_digits()
    rows = torch.from_numpy((digits.data[digits.target < 5] / 16).astype(np.float32))
    began = time.perf_counter()
    print(f"{len(rows)} majority rows, {SEEDS} seeds")
    for name, n_exemplars, n_remembered in (
        ("all rows encoded", len(rows), 0),
        ("64 encoded", 64, 0),
        ("64 encoded, 800 remembered", 64, 800),
    ):
        found = [trained(rows, n_exemplars, n_remembered, seed) for seed in range(SEEDS)]
        scores = [score(vae, rows) for vae, _ in found]
        print(
            f"{name:<28} {min(ms for _, ms in found):6.2f} ms a step, Eq. 4 against all rows "
            f"{np.mean(scores):.2f} (sd {np.std(scores, ddof=1):.2f})"
        )
    found = [bias(rows, seed) for seed in range(SEEDS)]
    print(f"log-density under means 12 steps old, less that under new ones: {np.mean(found):+.3f}")
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
