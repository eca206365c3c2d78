"""Choose the length and the exemplars of the pre-training on images, on a validation part.

Run: ``MGVAE_DATA=... python scripts/choose_pretraining.py``. The published procedure is fitted to
MNIST-100's training rows with each of a few pre-trainings and judged on the validation part of
``choose_ewc_weight.py``, by a classifier of 20 epochs; the test set is not touched. What is best
there serves all four columns of images. Results are added to ``pretraining.jsonl`` beside this
file; what is there is not run again.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from choose_ewc_weight import CACHE, CLASSIFIER, images

from mgvae_paper.classifier import train_classifier
from mgvae_paper.methods import make_cell
from mgvae_paper.metrics import judge_paper
from mgvae_paper.resampling import resample

RESULTS = Path(__file__).parent / "pretraining.jsonl"
CHOICES = [(7_000, 1_000), (7_000, 300), (3_000, 1_000)]  # steps, exemplars
SEEDS = 2


def measure(dataset: str, steps: int, n_exemplars: int) -> list[float]:
    """Fit with one pre-training; return the B-ACC of each seed on the validation part."""
    fitted, seen, judged = images(dataset)
    settings = {"pretrain_steps": steps, "n_exemplars": n_exemplars}
    parameters = make_cell(dataset, "MGVAE", "paper", settings=settings).parameters
    found = []
    for seed in range(SEEDS):
        made = resample(*fitted, parameters, seed, CACHE)
        kept = np.ones(len(made.y), bool)
        kept[: len(seen)] = seen
        classifier = train_classifier(made.X[kept], made.y[kept], CLASSIFIER, seed)
        predicted = classifier.probabilities(judged[0]).argmax(axis=1)
        found.append(judge_paper(judged[1], predicted, 0)["b_acc"])
    return found


def main() -> None:
    """Measure every choice that has not been, and print them all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=["mnist-100"])
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    lines = given.results.read_text().splitlines() if given.results.exists() else []
    entries = [json.loads(line) for line in lines]
    known = {(e["dataset"], e["pretrain_steps"], e["n_exemplars"]): e for e in entries}
    for dataset in given.datasets:
        for steps, n_exemplars in CHOICES:
            key = dataset, steps, n_exemplars
            if key not in known:
                names = ("dataset", "pretrain_steps", "n_exemplars")
                known[key] = {**dict(zip(names, key, strict=True)), "b_acc": measure(*key)}
                with given.results.open("a") as file:
                    file.write(json.dumps(known[key]) + "\n")
            found = ", ".join(f"{value:.1f}" for value in known[key]["b_acc"])
            print(f"{dataset} {steps:6} steps {n_exemplars:6} exemplars  {found}", flush=True)


if __name__ == "__main__":
    main()
