"""Choose the weight of the EWC penalty for the paper's image tables, on a validation part.

Run: ``MGVAE_DATA=... python benchmarks/choose_ewc_weight.py mnist-100 mnist-600``. The published
procedure is fitted to the published training images with each weight, and judged on images of the
official training set that it has not seen: 1,000 of each of the classes 5-9, behind those that are
published as the minority, and 5,000 of the classes 0-4, which the classifier does not see (the VAE
does). The test set is not touched. The classifier is the paper's, in 20 epochs. Results are added
to ``benchmarks/results/ewc_weight.jsonl``; what is there is not run again.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from mgvae.bench.classifier import train_classifier
from mgvae.bench.data import split
from mgvae.bench.metrics import judge_paper
from mgvae.bench.resampling import resample
from mgvae.bench.sources import read_source
from mgvae.bench.tables import find_table

RESULTS = Path(__file__).parent / "results" / "ewc_weight.jsonl"
CACHE = Path.home() / ".cache" / "mgvae"
WEIGHTS = [0.01, 1.0, 5e2, 5e4, 5e6]
CLASSIFIER = {"epochs": 20, "lr_decay": 0.95**5, "paper_double_softmax": True}
FIRST, PER_CLASS, MAJORITY = 600, 1000, 5000


def measure(dataset: str, weight: float) -> dict[str, float]:
    """Fit with one weight; give the paper's metrics on the validation part."""
    family = dataset.split("-")[0]
    source = read_source(family)
    train = np.zeros(len(source.y), bool) if source.test is None else ~source.test
    of_class = [np.flatnonzero((source.y == c) & train) for c in range(10)]
    majority = np.flatnonzero((source.y < 5) & train)
    unseen = np.random.default_rng(1).choice(len(majority), MAJORITY, replace=False)
    held_out = majority[np.sort(unseen)]
    minority = np.concatenate([rows[FIRST : FIRST + PER_CLASS] for rows in of_class[5:]])

    cells = find_table(family).cells("paper", seeds=1, budget="cpu")
    cell = next(c for c in cells if c.dataset == dataset and c.method == "MGVAE")
    settings = {**cell.parameters["settings"], "ewc_weight": weight}
    parts = split(dataset, "paper")
    made = resample(
        parts.X_train, parts.y_train, {**cell.parameters, "settings": settings}, 7, CACHE
    )
    seen = np.ones(len(made.y), bool)
    seen[: len(majority)] = ~np.isin(np.concatenate(of_class[:5]), held_out)
    classifier = train_classifier(made.X[seen], made.y[seen], CLASSIFIER, 3)
    rows = np.concatenate([held_out, minority])
    predicted = classifier.probabilities(source.X[rows]).argmax(axis=1)
    return judge_paper((source.y[rows] >= 5).astype(np.int64), predicted, 0)


def main() -> None:
    """Measure every weight that has not been, and print them all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+", help="such as mnist-100 or fashionmnist-600")
    parser.add_argument("--weights", nargs="+", type=float, default=WEIGHTS)
    given = parser.parse_args()
    known = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            entry = json.loads(line)
            known[entry["dataset"], entry["ewc_weight"]] = entry
    for dataset in given.datasets:
        for weight in given.weights:
            if (dataset, weight) not in known:
                entry = {"dataset": dataset, "ewc_weight": weight, **measure(dataset, weight)}
                known[dataset, weight] = entry
                with RESULTS.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
            found = known[dataset, weight]
            print(
                f"{dataset:18} {weight:8g}  B-ACC {found['b_acc']:.1f}  ACSA {found['acsa']:.1f}  "
                f"GM {found['gm']:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
