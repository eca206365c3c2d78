"""Choose how translations join mixup and shifts, on draws whose test images are training images.

Run: ``MGVAE_DATA=... python scripts/choose_translations.py mnist-600 --draws 0 1``. All parts of a
draw come from the official training set: the minority, a fifth of which is held out, and 1,000
images of each of the ten classes to judge by. The official test set is not touched, so
that the table ``augmented_images`` can judge what was chosen. Results are added to
``translations.jsonl`` beside this file; what is there is not run again.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mgvae.experiments.judging import best_threshold
from mgvae_paper.classifier import train_classifier
from mgvae_paper.data import DATASETS, Split
from mgvae_paper.metrics import at_threshold, judge_clean
from mgvae_paper.sampler import Generative, make_sampler, share_pretraining
from mgvae_paper.sources import read_source

RESULTS = Path(__file__).parent / "translations.jsonl"
CACHE = Path.home() / ".cache" / "mgvae"
FIRST, PER_CLASS, HELD_OUT = 1000, 1000, 0.2
SHIFTS = {"shift": 2}
GEOMETRY = {"shift": 2, "rotation": 15.0, "scale": 0.15}
ALONE = {"augment": SHIFTS, "ewc_weight": 0.0, "finetune_steps": 1200}
"""Settings of the sampler, where a way does not say otherwise."""

WAYS: dict[str, dict[str, Any]] = {
    "balanced": {},
    "balanced, all geometry": {"augment": GEOMETRY},
    "half translations": {"share": 0.5},
    "a fifth translations": {"share": 0.2},
    "four fifths translations": {"share": 0.8},
    "half, decoder alone tuned": {"share": 0.5, "settings": {"moved": "decoder"}},
    "half, tuned with geometry": {"share": 0.5, "settings": {"augment": GEOMETRY}},
    "half, weight 1": {"share": 0.5, "settings": {"ewc_weight": 1.0}},
    "half, temperature 1": {"share": 0.5, "settings": {"temperature": 1.0}},
    "borrowed differences": {"share": 0.0, "borrowed": 1.0},
    "half, borrowed": {"share": 0.5, "borrowed": 1.0},
    "four fifths, borrowed": {"share": 0.8, "borrowed": 1.0},
    "half, borrowed, tuned with geometry": {
        "share": 0.5, "borrowed": 1.0, "settings": {"augment": GEOMETRY},
    },
    "borrowed differences, all geometry": {
        "share": 0.0, "borrowed": 1.0, "augment": GEOMETRY, "settings": {"augment": GEOMETRY},
    },
    "half, borrowed, tuned with geometry, all geometry": {
        "share": 0.5, "borrowed": 1.0, "augment": GEOMETRY, "settings": {"augment": GEOMETRY},
    },
}  # fmt: skip
"""What the classifier learns from, always with mixup: by default with shifts, and with real images
alone, repeated. ``share`` is the part of the minority that is made anew in each epoch."""


def split(dataset: str, draw: int) -> Split:
    """Draw the minority and the images to judge by, all of the official training set."""
    source = read_source(DATASETS[dataset].family)
    if source.test is None:
        raise ValueError(f"{dataset} has no official test set.")
    parts: dict[str, list[np.ndarray]] = {"train": [], "valid": [], "test": []}
    for digit in range(10):
        rows = np.flatnonzero((source.y == digit) & ~source.test)
        rows = np.random.default_rng([FIRST + draw, digit]).permutation(rows)
        parts["test"].append(rows[-PER_CLASS:])
        rows = rows[:-PER_CLASS] if digit < 5 else rows[:-PER_CLASS][: DATASETS[dataset].minority]
        n = round(HELD_OUT * len(rows))
        parts["valid"].append(rows[:n])
        parts["train"].append(rows[n:])
    y = (source.y >= 5).astype(np.int64)
    chosen = [np.concatenate(part) for part in parts.values()]
    return Split(*(values[rows] for rows in chosen for values in (source.X, y)))


def fitted(parts: Split, settings: Mapping[str, Any], seed: int) -> Generative:
    """Fit an MGVAE, whose pre-training all ways share."""
    parameters = {
        "sampler": "mgvae:MGVAE", "settings": {**ALONE, **settings}, "pretrain_seed": 0,
    }  # fmt: skip
    sampler: Generative = share_pretraining(make_sampler(parameters, seed), parameters, CACHE)
    return sampler.fit(parts.X_train, parts.y_train)


def measure(parts: Split, way: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Train one classifier, and judge it."""
    X, y, fresh = parts.X_train, parts.y_train, None
    if "share" in way:
        fresh = fitted(parts, way.get("settings", {}), seed), way["share"]
    else:
        minority = np.flatnonzero(y == 1)
        missing = int((y == 0).sum()) - len(minority)
        more = np.random.default_rng(seed).choice(minority, missing)
        X, y = np.concatenate([X, X[more]]), np.concatenate([y, y[more]])
    given = {"epochs": 30, "mixup": 1.0, "augment": way.get("augment", SHIFTS)}
    given |= {"borrowed": way["borrowed"]} if "borrowed" in way else {}
    held_out = parts.X_valid, parts.y_valid
    classifier = train_classifier(X, y, given, seed, held_out, fresh=fresh)
    probabilities = classifier.probabilities(parts.X_test)
    found = judge_clean(parts.y_test, probabilities)
    threshold = best_threshold(parts.y_valid, classifier.probabilities(parts.X_valid)[:, 1])
    tuned = at_threshold(parts.y_test, (probabilities[:, 1] >= threshold).astype(np.int64))
    figures = {"roc_auc": found["roc_auc"], "ap": found["ap"], "gm": found["gm"]}
    return {k: round(v, 2) for k, v in {**figures, "gm_tuned": tuned["gm"]}.items()}


def main() -> None:
    """Measure every way that has not been, and print them all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+", help="such as mnist-600")
    parser.add_argument("--draws", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), help="some of the ways, by name")
    given = parser.parse_args()
    known = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            entry = json.loads(line)
            known[entry["dataset"], entry["draw"], entry["way"]] = entry
    for dataset in given.datasets:
        for draw in given.draws:
            for way in given.ways:
                key = dataset, draw, way
                if key not in known:
                    figures = measure(split(dataset, draw), WAYS[way], draw)
                    known[key] = {"dataset": dataset, "draw": draw, "way": way, **figures}
                    with RESULTS.open("a") as file:
                        file.write(json.dumps(known[key]) + "\n")
                found = known[key]
                print(
                    f"{dataset:18} {draw}  {way:50} ROC AUC {found['roc_auc']:.1f}  AP "
                    f"{found['ap']:.1f}  GM {found['gm']:.1f}, tuned {found['gm_tuned']:.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
