"""Does a class of few images come back as copies? 20 eights of MNIST against 400 threes.

For every way to fine-tune, of 1,000 new images:

* *copies*: the share that is nearer to one of the 20 eights learned from than to any of 20 others
  that were held out; 0.5 would be no memory at all;
* *coverage*: the share of 200 held-out eights that have a new image nearer than their own third
  nearest neighbour among themselves;
* *judged*: the share that a classifier trained on all threes and eights takes for an eight.

Run with the folder of the data in ``MGVAE_DATA``: ``python benchmarks/memorising.py``.
"""

import sys
import time

import numpy as np
import torch

from mgvae import MGVAE
from mgvae.classifiers import TorchClassifier
from mgvae_paper.sources import read_source

_WAYS = {
    "as before": {"augment": None, "finetune_steps": 600},
    "shifts": {"augment": {"shift": 2}, "finetune_steps": 600},
    "shifts, 1200 steps": {"augment": {"shift": 2}, "finetune_steps": 1200},
    "shifts, rotation, scale": {
        "augment": {"shift": 2, "rotation": 10.0, "scale": 0.1}, "finetune_steps": 600,
    },
    "decoder alone": {"augment": None, "finetune_steps": 600, "moved": "decoder"},
    "decoder alone, shifts": {"augment": {"shift": 2}, "finetune_steps": 600, "moved": "decoder"},
}  # fmt: skip
_MAJORITY, _LEARNED, _HELD_OUT, _MADE = 400, 20, 200, 1_000


def nearest(X: np.ndarray, others: np.ndarray, k: int = 1) -> np.ndarray:
    """Return the distance of each image to the k-th nearest of the others."""
    flat = [
        torch.from_numpy(part.reshape(len(part), -1).astype(np.float32)) for part in (X, others)
    ]
    return torch.cdist(*flat).kthvalue(k, dim=1).values.numpy()


def main(names: list[str]) -> None:
    """Print the three shares of each way."""
    source = read_source("mnist")
    rng = np.random.default_rng(0)
    threes, eights = (
        rng.permutation(np.flatnonzero((source.y == d) & ~source.test)) for d in (3, 8)
    )
    X = np.concatenate([source.X[threes[:_MAJORITY]], source.X[eights[:_LEARNED]]])
    y = np.repeat([3, 8], [_MAJORITY, _LEARNED])
    learned, held_out = X[_MAJORITY:], source.X[eights[_LEARNED : _LEARNED + _HELD_OUT]]
    both = np.concatenate([threes, eights])
    judge = TorchClassifier(epochs=3, random_state=0).fit(source.X[both], source.y[both])
    reach = nearest(held_out, held_out, k=4)  # the first is the image itself
    print("way | copies | coverage | judged | seconds")
    for name in names:
        given = dict(_WAYS[name])
        sampler = MGVAE(random_state=0)
        sampler.expert_settings = {k: given.pop(k) for k in ("moved",) if k in given}
        started = time.process_time()
        made = sampler.set_params(**given).fit(X, y).generate(_MADE, 8)
        seconds = time.process_time() - started
        copies = np.mean(nearest(made, learned) < nearest(made, held_out[:_LEARNED]))
        coverage = np.mean(nearest(held_out, made) < reach)
        judged = np.mean(judge.predict(made) == 8)
        print(f"{name} | {copies:.2f} | {coverage:.2f} | {judged:.2f} | {seconds:.0f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(_WAYS))
