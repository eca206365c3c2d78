"""Measure how honest out-of-bag predictions are whose sampler has seen all rows.

Usage: python benchmarks/out_of_bag.py FOLDER [TABLE...]

A member's new rows start from rows of its own bootstrap only, but the sampler was fitted on all
rows. For some tables (FOLDER holds them as TABLE.csv.gz, the last column ``target``) this compares
the out-of-bag figures of members trained on new rows at full balance with

* nested: for each part of a five-fold split, the sampler and the members are fitted on the other
  parts, and the part is judged by as many members as judge a row out of bag (about 37 % of them);
* the same two figures of members without new rows, which have no sampler to leak through.

What leaks is the difference of the differences. Positive: out of bag favours new rows.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mgvae import BalancedClassifier

TABLES = ("glass2", "yeast-1_vs_7", "vehicle1", "abalone9-18", "haberman")
DRAWS = 12
MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "tree": DecisionTreeClassifier(min_samples_leaf=5),
}


def figures(y: np.ndarray, said: np.ndarray) -> np.ndarray:
    """Return ROC AUC, average precision, and minus the log loss."""
    said = np.clip(said, 1e-3, 1 - 1e-3)
    return np.array([roc_auc_score(y, said), average_precision_score(y, said), -log_loss(y, said)])


def out_of_bag(model: object, X: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
    """Judge rows by the members whose bootstrap they were not in."""
    ensemble = BalancedClassifier(
        model, n_draws=DRAWS, share=share, calibration=None, random_state=0
    ).fit(X, y)
    said = ensemble.oob_probabilities_[:, 1]
    known = ~np.isnan(said)
    return figures(y[known], said[known])


def nested(model: object, X: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
    """Judge rows by members whose sampler has not seen them."""
    said = np.empty(len(y))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        ensemble = BalancedClassifier(
            model, n_draws=round(0.37 * DRAWS), share=share, calibration=None, random_state=0
        ).fit(X[train], y[train])
        said[test] = ensemble.predict_proba(X[test])[:, 1]
    return figures(y, said)


def main() -> None:
    """Measure and print."""
    folder, *names = sys.argv[1:]
    found = []
    print("table           model      ROC AUC, average precision, log loss: positive favours")
    for name in names or TABLES:
        table = pd.read_csv(Path(folder) / f"{name}.csv.gz")
        X = pd.get_dummies(table.drop(columns="target")).to_numpy(np.float64)
        y = table["target"].to_numpy()
        for label, model in MODELS.items():
            optimism = [
                out_of_bag(model, X, y, share) - nested(model, X, y, share) for share in (1.0, 0.0)
            ]
            found.append(optimism[0] - optimism[1])
            print(f"{name:15} {label:10}", *(f"{value:+.3f}" for value in found[-1]), flush=True)
    mean, error = np.mean(found, 0), np.std(found, 0, ddof=1) / np.sqrt(len(found))
    print("mean", *(f"{m:+.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True)))


if __name__ == "__main__":
    main()
