"""Does a class of few images come back as copies? Some eights of MNIST against 400 threes.

For every way to fine-tune and every temperature, of 1,000 new images:

* *copies*: the share that is nearer to one of the eights learned from than to any of as many others
  that were held out; 0.5 would be no memory at all;
* *coverage*: the share of 200 held-out eights that have a new image nearer than their own third
  nearest neighbour among themselves;
* *judged*: the share that a classifier trained on all threes and eights takes for an eight.

Each is a mean over draws of the images, which are also the seeds. Run with the folder of the data
in ``MGVAE_DATA``::

    python benchmarks/memorising.py --images 10 20 60 --draws 2
"""

import argparse
import time
from dataclasses import replace

import numpy as np
import torch

from mgvae import MGVAE
from mgvae.classifiers import TorchClassifier
from mgvae_paper.sources import read_source

_SHIFTS = {"augment": {"shift": 2}}
_GEOMETRY = {"augment": {"shift": 2, "rotation": 15.0, "scale": 0.15}}
_WAYS = {
    "no shifts": {"augment": None},
    "shifts": _SHIFTS,
    "shifts, 1200 steps": {**_SHIFTS, "finetune_steps": 1200},
    "shifts, 300 steps": {**_SHIFTS, "finetune_steps": 300},
    "shifts, stopped early": {**_SHIFTS, "early_stopping": True},
    "geometry": _GEOMETRY,
    "geometry, 1200 steps, weight 0": {**_GEOMETRY, "finetune_steps": 1200, "ewc_weight": 0.0},
    "decoder alone, no shifts": {"augment": None, "moved": "decoder"},
    "decoder alone, shifts": {**_SHIFTS, "moved": "decoder"},
    "shifts, mixed codes": {**_SHIFTS, "mixed": True},
    "shifts, codes near the minority's": {**_SHIFTS, "generation": "responsibility"},
    "shifts, bridge": {**_SHIFTS, "generation": "bridge"},
}
_MAJORITY, _HELD_OUT, _MADE = 400, 200, 1_000


def nearest(X: np.ndarray, others: np.ndarray, k: int = 1) -> np.ndarray:
    """Return the distance of each image to the k-th nearest of the others."""
    flat = [
        torch.from_numpy(part.reshape(len(part), -1).astype(np.float32)) for part in (X, others)
    ]
    return torch.cdist(*flat).kthvalue(k, dim=1).values.numpy()


def fitted(way: dict, X: np.ndarray, y: np.ndarray, seed: int) -> MGVAE:
    """Fit a sampler in one of the ways."""
    given = dict(way)
    sampler = MGVAE(random_state=seed)
    given.pop("mixed", None)  # which is done when images are made
    sampler.expert_settings = {k: given.pop(k) for k in ("moved",) if k in given}
    return sampler.set_params(**given).fit(X, y)


def at_temperature(sampler: MGVAE, temperature: float, *, mixed: bool = False) -> np.ndarray:
    """Make new eights with another temperature than that of the fit, or between two majority codes.

    A code between two others lies at a random place of the line that joins them.
    """
    generator = sampler.state_.generators[1]
    generator = replace(generator, manner=replace(generator.manner, temperature=temperature))
    if mixed:
        rng = np.random.default_rng(0)
        one, other = generator.centres[rng.integers(len(generator.centres), size=(2, 4 * _MADE))]
        places = torch.from_numpy(rng.random((len(one), 1), np.float32))
        positions = np.zeros(len(one), np.int64)  # of no use here
        generator = replace(generator, centres=one.lerp(other, places), majority=positions)
    made = generator.generate(_MADE, np.random.SeedSequence(0)).encoded
    return (255.0 * made.clamp(0.0, 1.0).numpy()).round().astype(np.uint8).reshape(-1, 28, 28)


def main() -> None:
    """Print the three shares of each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", default=list(_WAYS), help=", ".join(_WAYS))
    parser.add_argument("--images", nargs="+", type=int, default=[20], help="eights to learn from")
    parser.add_argument("--temperatures", nargs="+", type=float, default=[1.0, 1.5, 2.0])
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    source = read_source("mnist")
    digits = [np.flatnonzero((source.y == d) & ~source.test) for d in (3, 8)]
    both = np.concatenate(digits)
    judge = TorchClassifier(epochs=3, random_state=0).fit(source.X[both], source.y[both])
    print("images | way | temperature | copies | coverage | judged | seconds")
    for n in options.images:
        for name in options.ways:
            started, found = time.process_time(), []
            for draw in range(options.draws):
                rng = np.random.default_rng(draw)
                threes, eights = (rng.permutation(members) for members in digits)
                X = source.X[np.concatenate([threes[:_MAJORITY], eights[:n]])]
                learned, held_out = X[_MAJORITY:], source.X[eights[n : n + _HELD_OUT]]
                reach = nearest(held_out, held_out, k=4)  # the first is the image itself
                sampler = fitted(_WAYS[name], X, np.repeat([3, 8], [_MAJORITY, n]), draw)
                mixed = _WAYS[name].get("mixed", False)
                made = [at_temperature(sampler, t, mixed=mixed) for t in options.temperatures]
                found.append([
                    (
                        np.mean(nearest(new, learned) < nearest(new, held_out[:n])),
                        np.mean(nearest(held_out, new) < reach),
                        np.mean(judge.predict(new) == 8),
                    )
                    for new in made
                ])  # fmt: skip
            seconds = (time.process_time() - started) / options.draws
            for temperature, row in zip(options.temperatures, np.mean(found, axis=0), strict=True):
                shares = " | ".join(f"{share:.2f}" for share in row)
                print(f"{n} | {name} | {temperature:g} | {shares} | {seconds:.0f}", flush=True)


if __name__ == "__main__":
    main()
