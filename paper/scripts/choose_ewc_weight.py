"""Choose the weight of the EWC penalty for the paper's tables, on a validation part.

Run: ``MGVAE_DATA=... python scripts/choose_ewc_weight.py mnist-100 musk``. The published
procedure is fitted to the published training rows with each weight, and judged on rows that the
classifier has not seen; the test set is not touched. For images these are 1,000 of each of the
classes 5-9 of the official training set, behind those that are published as the minority, and
5,000 of the classes 0-4; for tables a fifth of each class of the training rows. Of these the VAE
has seen those of the majority. The classifier is the paper's, for images in 20 epochs. Results are
added to ``ewc_weight.jsonl`` beside this file; what is there is not run again.
"""

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mgvae_paper.classifier import train_classifier
from mgvae_paper.data import DATASETS, split
from mgvae_paper.metrics import judge_paper
from mgvae_paper.resampling import resample
from mgvae_paper.sources import read_source
from mgvae_paper.tables import find_table

Array = NDArray[Any]

RESULTS = Path(__file__).parent / "ewc_weight.jsonl"
CACHE = Path.home() / ".cache" / "mgvae"
WEIGHTS = [0.01, 1.0, 5e2, 5e4, 5e6]
CLASSIFIER = {"epochs": 20, "lr_decay": 0.95**5, "paper_double_softmax": True}
FIRST, PER_CLASS, MAJORITY = 600, 1000, 5000


class Validation(NamedTuple):
    """Rows to fit, which of these the classifier sees, and rows to judge by."""

    fitted: tuple[Array, Array]
    seen: Array
    judged: tuple[Array, Array]


def images(dataset: str) -> Validation:
    """Judge by images of the official training set that are not among the published ones."""
    source = read_source(dataset.split("-")[0])
    train = np.zeros(len(source.y), bool) if source.test is None else ~source.test
    of_class = [np.flatnonzero((source.y == c) & train) for c in range(10)]
    majority = np.flatnonzero((source.y < 5) & train)
    unseen = np.random.default_rng(1).choice(len(majority), MAJORITY, replace=False)
    held_out = majority[np.sort(unseen)]
    minority = np.concatenate([rows[FIRST : FIRST + PER_CLASS] for rows in of_class[5:]])
    rows = np.concatenate([held_out, minority])
    seen = ~np.isin(np.concatenate(of_class[:5]), held_out)
    parts = split(dataset, "paper")
    judged = source.X[rows], (source.y[rows] >= 5).astype(np.int64)
    return Validation((parts.X_train, parts.y_train), seen, judged)


def table(dataset: str) -> Validation:
    """Judge by a fifth of the training rows of each class."""
    parts = split(dataset, "paper")
    rng = np.random.default_rng(1)
    held_out = np.zeros(len(parts.y_train), bool)
    for label in (0, 1):
        rows = np.flatnonzero(parts.y_train == label)
        held_out[rng.choice(rows, len(rows) // 5, replace=False)] = True
    fitted = ~held_out | (parts.y_train == 0)
    return Validation(
        (parts.X_train[fitted], parts.y_train[fitted]),
        ~held_out[fitted],
        (parts.X_train[held_out], parts.y_train[held_out]),
    )


def measure(dataset: str, weight: float) -> dict[str, float]:
    """Fit with one weight; give the paper's metrics on the validation part."""
    image = DATASETS[dataset].kind == "image"
    fitted, seen, judged = images(dataset) if image else table(dataset)
    cells = find_table(DATASETS[dataset].family).cells("paper", seeds=1, budget="cpu")
    cell = next(c for c in cells if c.dataset == dataset and c.method == "MGVAE")
    settings = {**cell.parameters["settings"], "ewc_weight": weight}
    made = resample(*fitted, {**cell.parameters, "settings": settings}, 7, CACHE)
    kept = np.ones(len(made.y), bool)
    kept[: len(seen)] = seen
    parameters = CLASSIFIER if image else cell.parameters["classifier"]
    classifier = train_classifier(made.X[kept], made.y[kept], parameters, 3)
    predicted = classifier.probabilities(judged[0]).argmax(axis=1)
    return judge_paper(judged[1], predicted, 0)


def main() -> None:
    """Measure every weight that has not been, and print them all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+", help="such as mnist-100 or musk")
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
