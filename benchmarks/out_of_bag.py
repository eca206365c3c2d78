"""Measure what leaks into out-of-bag predictions through the sampler that all members share.

Usage: python benchmarks/out_of_bag.py FOLDER [TABLE...]

FOLDER has tables ``name.csv.gz`` whose last column ``target`` is 1 for the minority. A member's new
rows start from rows of its own bag only, but the model that makes them has learned from all rows.
Each table and classifier is judged out of bag three times, by members with the same bags:

* shared: the sampler is fitted once, on all rows, as ``BalancedClassifier`` does;
* apart: it is fitted anew for each member, on the rows of its bag alone, and knows no row that
  judges;
* without: there are no new rows.

What leaks is shared minus apart: positive favours new rows. It is to be compared with what new rows
are worth, apart minus without, since a choice is wrong only where the former outweighs the latter.
Both are means over seeds, with the standard error of the mean over tables, classifiers and seeds.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mgvae import MGVAE, BalancedClassifier

TABLES = ("glass2", "yeast-1_vs_7", "vehicle1", "abalone9-18", "haberman")
SEEDS = range(3)
DRAWS = 10
MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "tree": DecisionTreeClassifier(min_samples_leaf=5),
}
FIGURES = ("ROC AUC", "average precision", "minus log loss")


class Apart(BaseEstimator):
    """An MGVAE that is fitted anew on each bag, once for all classifiers."""

    _sampling_type = "over-sampling"
    fitted: dict[bytes, MGVAE] = {}  # noqa: RUF012 (shared on purpose)

    def __init__(self, sampling_strategy: object = "auto", random_state: object = None) -> None:
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state

    def fit_resample(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the bag, and new ones below."""
        first = np.unique(np.column_stack([X, y]), axis=0, return_index=True)[1]
        key = X.tobytes()
        if key not in self.fitted:
            self.fitted[key] = MGVAE(random_state=0).fit(X[first], y[first])
        n = self.sampling_strategy[1] - int(y.sum())
        made = self.fitted[key].generate(n, 1, random_state=self.random_state)
        return np.concatenate([X, made]), np.concatenate([y, np.ones(n, y.dtype)])


def figures(model: BalancedClassifier, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ROC AUC, average precision, and minus the log loss out of bag."""
    said = model.fit(X, y).oob_probabilities_[:, 1]
    known = ~np.isnan(said)
    y, said = y[known], np.clip(said[known], 1e-3, 1 - 1e-3)
    return np.array([roc_auc_score(y, said), average_precision_score(y, said), -log_loss(y, said)])


def measure(folder: Path, name: str, seed: int) -> dict[str, np.ndarray]:
    """Return by classifier what leaks, and what new rows are worth."""
    table = pd.read_csv(folder / f"{name}.csv.gz")
    X = pd.get_dummies(table.drop(columns="target")).to_numpy(np.float64)
    y = table["target"].to_numpy()
    found = {}
    for label, model in MODELS.items():
        options = {"n_draws": DRAWS, "calibration": None, "random_state": seed}
        shared, apart, without = (
            figures(BalancedClassifier(model, sampler, share=share, **options), X, y)
            for sampler, share in ((MGVAE(), 1.0), (Apart(), 1.0), (Apart(), 0.0))
        )
        found[label] = np.stack([shared - apart, apart - without])
    return found


def line(name: str, values: Sequence[np.ndarray]) -> str:
    """Return means of both differences, and the standard errors of the first."""
    mean, error = np.mean(values, 0), np.std(values, 0, ddof=1) / np.sqrt(len(values))
    leak = "  ".join(f"{m:+.3f} ± {e:.3f}" for m, e in zip(mean[0], error[0], strict=True))
    return f"{name:24} {leak}   | " + "  ".join(f"{m:+.3f}" for m in mean[1])


def main() -> None:
    """Measure and print."""
    folder, *names = sys.argv[1:]
    everything = []
    print(f"{'':24} what leaks: {', '.join(FIGURES)}   | what new rows are worth: the same")
    for name in names or TABLES:
        found = [measure(Path(folder), name, seed) for seed in SEEDS]
        Apart.fitted.clear()
        for label in MODELS:
            values = [by[label] for by in found]
            everything += values
            print(line(f"{name}, {label}", values), flush=True)
    print(line("all", everything))


if __name__ == "__main__":
    main()
