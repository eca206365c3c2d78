"""Try ways to make tiles with defects, judged on the validation parts alone.

Run: ``MGVAE_DATA=... python scripts/try_tiles.py --seeds 0 1 2``. A classifier learns from the
training part of a split and is judged on its validation part after the last epoch; the test part,
by which the table ``magnetic_tiles`` judges, is not touched. ``--part test`` judges by it, as that
table does, with the epoch that the validation part chooses: for ways that were chosen before.
Results are added to ``tiles.jsonl`` beside this file; what is there is not run again.

Besides the ways of the library, *transplants* are tried: a majority image to which is added what
the majority's model does not explain of a minority image, its defect, whole or where it stands out.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import recall_score, roc_auc_score
from torch.nn import functional as F  # noqa: N812

from mgvae import MGVAE
from mgvae.common.runtime import seed_sequence, threads
from mgvae_paper.classifier import train_classifier
from mgvae_paper.sources import find_tiles
from mgvae_paper.tiles import grouped_parts, load_tiles

RESULTS = Path(__file__).parent / "tiles.jsonl"
CACHE = Path.home() / ".cache" / "mgvae"
SIZE, EPOCHS, DECAY = 64, 10, 0.81
SHIFTS = {"shift": 4, "flip": True}
STANDS_OUT = 0.9, 0.995  # quantiles of the majority, between which the mask rises from 0 to 1

Images = NDArray[np.uint8]
Make = Callable[[int, int, np.random.SeedSequence], NDArray[Any]]

WAYS: dict[str, dict[str, Any]] = {
    "repeated": {},
    "repeated, mixup": {"mixup": 1.0},
    "translations": {"kinds": ["translation"], "share": 0.5},
    "bridges": {"kinds": ["bridge"], "share": 0.5},
    "transplants": {"kinds": ["whole"], "share": 0.5},
    "transplants of what stands out": {"kinds": ["masked"], "share": 0.5},
    "both transplants": {"kinds": ["whole", "masked"], "share": 0.5},
    "both transplants, mixup": {"kinds": ["whole", "masked"], "share": 0.5, "mixup": 1.0},
    "balanced softmax": {"loss": "balanced_softmax"},
    "balanced softmax, both transplants to 150": {
        "loss": "balanced_softmax", "kinds": ["whole", "masked"], "raised_to": 150,
    },
}  # fmt: skip
"""What the classifier learns from, always with shifts. ``share`` is the part of a defect's images
that is made anew in each balanced epoch, ``raised_to`` how many there are with fixed new ones."""


class Maker:
    """Makes new images by some of the kinds, in equal parts."""

    def __init__(self, X: Images, y: NDArray[np.int64], seed: int, kinds: list[str]) -> None:
        self.sampler = fitted(X, y, seed)
        self.y = y
        self.x = X.reshape(len(X), -1) / np.float32(255)
        vae = self.sampler.state_.generators[0].vae  # the majority's model
        with torch.no_grad(), threads(1):
            parts = torch.from_numpy(self.x).split(256)
            explained = [vae.likelihood.mean(vae.decoder(vae.mean(part))) for part in parts]
        self.residuals = self.x - torch.cat(explained).numpy()
        self.masks = stands_out(self.residuals, y)
        self.majority = X[y == 0]
        self.makes: list[Make] = [getattr(self, kind) for kind in kinds]

    def generate(self, n: int, code: int, random_state: Any) -> NDArray[Any]:
        """Return new images of a class."""
        counts = [len(part) for part in np.array_split(np.arange(n), len(self.makes))]
        seeds = seed_sequence(random_state).spawn(len(counts))
        made = [
            make(*what)
            for make, *what in zip(self.makes, counts, [code] * len(counts), seeds, strict=True)
        ]
        return np.concatenate(made)

    def translation(self, n: int, code: int, seeds: np.random.SeedSequence) -> NDArray[Any]:
        """Translate majority images."""
        rng = np.random.default_rng(seeds)
        chosen = self.majority[rng.integers(len(self.majority), size=n)]
        return self.sampler.translate(chosen, label=code, random_state=int(rng.integers(2**31)))

    def bridge(self, n: int, code: int, seeds: np.random.SeedSequence) -> NDArray[Any]:
        """Start from minority images."""
        return self.sampler.generate(n, code, random_state=seeds)

    def whole(self, n: int, code: int, seeds: np.random.SeedSequence) -> NDArray[Any]:
        """Add all that is not explained of a minority image to a majority image."""
        guide, start = self._pairs(n, code, seeds)
        return _bytes(self.x[guide] + self.residuals[start])

    def masked(self, n: int, code: int, seeds: np.random.SeedSequence) -> NDArray[Any]:
        """Put it in the place of the majority image's own, where it stands out."""
        guide, start = self._pairs(n, code, seeds)
        apart = self.residuals[start] - self.residuals[guide]
        return _bytes(self.x[guide] + self.masks[start] * apart)

    def _pairs(self, n: int, code: int, seeds: np.random.SeedSequence) -> tuple[Any, Any]:
        rng = np.random.default_rng(seeds)
        return tuple(rng.choice(np.flatnonzero(self.y == c), n) for c in (0, code))


def _bytes(x: NDArray[np.floating]) -> Images:
    return (255 * x.clip(0, 1)).round().astype(np.uint8).reshape(-1, SIZE, SIZE)


def stands_out(residuals: NDArray[np.floating], y: NDArray[np.int64]) -> NDArray[np.floating]:
    """Return 1 where a residual is larger than the majority's are, 0 where it is not, smoothly."""
    box = torch.ones(1, 1, 5, 5) / 25
    images = torch.from_numpy(np.abs(residuals)).view(-1, 1, SIZE, SIZE)
    strength = F.conv2d(images, box, padding=2)
    low, high = np.quantile(strength[torch.from_numpy(y == 0)].numpy(), STANDS_OUT)
    mask = F.max_pool2d(((strength - low) / (high - low)).clamp(0, 1), 5, 1, 2)
    return F.conv2d(mask, box, padding=2).flatten(1).numpy()


def fitted(X: Images, y: NDArray[np.int64], seed: int) -> Any:
    """Fit the sampler that all ways of a split share, or take it from the cache."""
    file = CACHE / f"tiles-{seed}.joblib"
    if file.exists():
        return joblib.load(file)
    counts = np.bincount(y)
    wanted = {
        code: counts[0] + (code == 0) for code in range(len(counts))
    }  # the majority's model, too
    sampler = MGVAE(
        sampling_strategy=wanted, generation="bridge", augment={"shift": 4}, ewc_weight=0.1,
        finetune_steps=400, random_state=seed,
    ).fit(X, y)  # fmt: skip
    CACHE.mkdir(parents=True, exist_ok=True)
    joblib.dump(sampler, file)
    return sampler


def measure(seed: int, way: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Train one classifier, and judge it."""
    tiles = load_tiles(find_tiles(), SIZE)
    train, valid, test = grouped_parts(tiles.y, tiles.groups, seed)
    held_out = (tiles.X[valid], tiles.y[valid]) if part == "test" else None
    judged = test if part == "test" else valid
    X, y = tiles.X[train], tiles.y[train]
    maker = Maker(X, y, seed, way["kinds"]) if "kinds" in way else None
    given = {"network": "mgvae_paper.networks:small_cnn", "batch_size": 50, "augment": SHIFTS}
    given |= {name: way[name] for name in ("loss", "mixup") if name in way}
    fresh = maker, way.get("share", 0.0)
    epochs = EPOCHS
    if "loss" in way:
        if maker is not None:
            missing = [(code, way["raised_to"] - n) for code, n in enumerate(np.bincount(y))]
            more = [(code, maker.generate(n, code, seed)) for code, n in missing if n > 0]
            X = np.concatenate([X, *(images for _, images in more)])
            y = np.concatenate([y, *(np.full(len(images), code) for code, images in more)])
        epochs = round(EPOCHS * 6 * np.bincount(y)[0] / len(y))  # as many steps
        fresh = None
    given |= {"epochs": epochs, "lr_decay": DECAY ** (EPOCHS / epochs)}
    network = train_classifier(X, y, given, seed, held_out, fresh)
    said = network.probabilities(tiles.X[judged])
    said = said / said.sum(1, keepdims=True, dtype=np.float64)
    recalls = recall_score(tiles.y[judged], said.argmax(1), average=None)
    area = roc_auc_score(tiles.y[judged], said, multi_class="ovr")
    return {
        "mean_recall": round(100 * recalls.mean(), 2),
        "roc_auc": round(100 * area, 2),
        "recalls": (100 * recalls).round(1).tolist(),
    }


def main() -> None:
    """Measure every way that has not been, and print them all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), help="some of the ways, by name")
    parser.add_argument("--part", choices=("validation", "test"), default="validation")
    given = parser.parse_args()
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    known = {(r["part"], r["way"], r["seed"]): r for r in map(json.loads, lines)}
    for way in given.ways:
        for seed in given.seeds:
            key = given.part, way, seed
            if key not in known:
                names = dict(zip(("part", "way", "seed"), key, strict=True))
                known[key] = names | measure(seed, WAYS[way], given.part)
                with RESULTS.open("a") as file:
                    file.write(json.dumps(known[key]) + "\n")
        found = [known[given.part, way, seed] for seed in given.seeds]
        figures = "  ".join(
            f"{name.replace('_', ' ')} {np.mean([one[name] for one in found]):.1f}"
            for name in ("mean_recall", "roc_auc")
        )
        print(f"{way:45} {figures}", flush=True)


if __name__ == "__main__":
    main()
