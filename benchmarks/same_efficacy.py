"""Does a change of the generator change what classifiers gain? Scores of two versions, paired.

One run scores the version that is imported, on twelve tables of the folder ``MGVAE_DATA``, three
folds, three classifiers, and writes one line for each. A second call compares two such files by
the means over tables, and by a signed-rank test over tables.

    python benchmarks/same_efficacy.py run new.jsonl
    PYTHONPATH=.../earlier/src python benchmarks/same_efficacy.py run old.jsonl
    python benchmarks/same_efficacy.py compare old.jsonl new.jsonl
"""

import argparse
import json
import os
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from scipy.stats import wilcoxon
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, recall_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mgvae import MGVAE

TABLES = (
    "keel/abalone9-18", "keel/ecoli3", "keel/glass2", "keel/haberman", "keel/pima",
    "keel/vehicle1", "keel/winequality-red-4", "keel/yeast4", "keel/flare-F",
    "keel/ecoli1", "tabular/cm1", "tabular/libras_move",
)  # fmt: skip
MEASURES = ("gm", "ap", "auc")


def main() -> None:
    """Run or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--saved", action="store_true", help="the rows of a saved model")
    parser.add_argument("--without-rows", action="store_true", help="of one without rows")
    chosen = parser.parse_args()
    if chosen.what == "compare":
        compare(*chosen.files)
    else:
        rows = False if chosen.without_rows else True if chosen.saved else None
        run(chosen.files[0], chosen.tables, chosen.seeds, rows)


def run(path: Path, tables: Sequence[str], seeds: int, with_rows: bool | None) -> None:
    """Score the version that is imported."""
    warnings.simplefilter("ignore")
    with path.open("a") as out:
        for table in tables:
            for seed in range(seeds):
                for line in scores(table, seed, with_rows):
                    out.write(json.dumps({"table": table, "seed": seed, **line}) + "\n")
            out.flush()


def scores(table: str, seed: int, with_rows: bool | None) -> list[dict[str, object]]:
    """Return the measures of every fold and classifier."""
    frame = pd.read_csv(Path(os.environ["MGVAE_DATA"]) / f"{table}.csv.gz")
    X, y = frame.drop(columns="target"), frame["target"].to_numpy()
    found = []
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    for fold, (train, test) in enumerate(folds.split(X, y)):
        rows, labels = balanced(X.iloc[train], y[train], 3 * seed + fold, with_rows)
        both = pd.get_dummies(pd.concat([rows, X.iloc[test]]), dtype=float).to_numpy()
        new, seen = both[: len(rows)], both[len(rows) :]
        for name, classifier in {
            "lightgbm": LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1, random_state=0),
            "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier()),
        }.items():
            chance = classifier.fit(new, labels).predict_proba(seen)[:, 1]
            recalls = recall_score(y[test], chance > 0.5, average=None)
            found.append(
                {
                    "fold": fold,
                    "classifier": name,
                    "gm": 100 * float(np.sqrt(recalls.prod())),
                    "ap": 100 * float(average_precision_score(y[test], chance)),
                    "auc": 100 * float(roc_auc_score(y[test], chance)),
                }
            )
    return found


def balanced(
    X: pd.DataFrame, y: np.ndarray, seed: int, with_rows: bool | None
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the rows and new ones, these from a file if it is said whether it has rows."""
    sampler = MGVAE(random_state=seed)
    if with_rows is None:
        rows, labels = sampler.fit_resample(X, y)
        return rows, np.asarray(labels)
    sampler.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        sampler.save(path, without_rows=not with_rows)
        again = MGVAE.load(path)
    n = int((y == 0).sum() - (y == 1).sum())
    new = again.generate(n, 1, random_state=seed)
    return pd.concat([X, new]), np.concatenate([y, np.ones(n, y.dtype)])


def compare(before: Path, after: Path) -> None:
    """Print the means of two versions, and how sure their difference is."""
    cell = ["table", "seed", "fold", "classifier"]
    one, two = (
        pd.read_json(path, lines=True).set_index(cell).sort_index() for path in (before, after)
    )
    both = one.index.intersection(two.index)
    one, two = (scored.loc[both].reset_index() for scored in (one, two))
    print(f"{len(both)} pairs of scores on {one['table'].nunique()} tables")
    print(f"{'':12s}{before.stem:>12s}{after.stem:>12s}  difference   better : worse  p (tables)")
    for chosen in ("all", *sorted(one["classifier"].unique())):
        for measure in MEASURES:
            a, b = (
                (f if chosen == "all" else f[f["classifier"] == chosen])
                .groupby("table")[measure]
                .mean()
                for f in (one, two)
            )
            apart = b - a
            error = apart.std() / np.sqrt(len(apart))
            p = wilcoxon(apart).pvalue
            print(
                f"{chosen:11s} {measure:4s}{a.mean():8.2f}{b.mean():12.2f}{apart.mean():+9.2f} ± "
                f"{error:.2f}{(apart > 0).sum():9d} : {(apart < 0).sum():d}{p:14.2f}"
            )


if __name__ == "__main__":
    main()
