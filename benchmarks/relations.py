"""Relations between columns: what is found, what new rows keep, what it costs, whether it helps.

Run: ``MGVAE_DATA=... python benchmarks/relations.py COMMAND [table ...]``.

found
    For each table, the relations that are found, and the seconds that a codec takes with and
    without looking for them.
cost
    The same for numbers drawn at random, 10,000 × 20 and 10,000 × 200.
efficacy
    For each table, with and without relations, over three folds: the share of new rows that break
    a relation of the training rows, how far the columns of the new rows are from those of the real
    minority, and ROC AUC, average precision and geometric mean of LightGBM and of logistic
    regression on the balanced training part. Then the difference that relations make, with its
    standard error over the folds, how far relations move a column's cells (the share that differs,
    and the mean difference of numbers in standard deviations of the column), and what another
    seed changes without relations, which is what luck alone does.

Tables are named ``adult``, ``bank``, or by file, such as ``tabular/abalone`` and ``keel/pima``.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from mixed_tables import adult, as_categories, bank, distances
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mgvae import MGVAE
from mgvae.codec import TableCodec, read_table
from mgvae.metrics import geometric_mean

FOLDER = Path(os.environ.get("MGVAE_DATA", "."))
SOME = (
    "adult", "bank", "tabular/abalone", "tabular/hypothyroid", "tabular/cm1", "tabular/kc1",
    "tabular/adbench_cardio", "tabular/wine_quality", "keel/page-blocks0", "keel/flare-F",
    "keel/vehicle1", "keel/yeast3",
)  # fmt: skip


def every_table():
    """Return the names of all tables."""
    files = [*FOLDER.glob("tabular/*.csv.gz"), *FOLDER.glob("keel/*.csv.gz")]
    names = [f"{path.parent.name}/{path.name.removesuffix('.csv.gz')}" for path in files]
    return ["adult", "bank", *sorted(names)]


def parts(name):
    """Return the training and the test part of a table."""
    if name in ("adult", "bank"):
        return {"adult": adult, "bank": bank}[name](FOLDER)
    table = pd.read_csv(FOLDER / f"{name}.csv.gz")
    X, y = table.drop(columns="target"), table["target"] == 1
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
    return [(X, y), (X_test, y_test)]


def seconds(constraints, table, times=3):
    """Return the codec and the least of the seconds that fitting it takes."""
    best = np.inf
    for _ in range(times):
        started = time.perf_counter()
        codec = TableCodec(constraints=constraints).fit(table)
        best = min(best, time.perf_counter() - started)
    return codec, best


def found(names):
    """Print what is found."""
    for name in names:
        X = pd.concat([part for part, _ in parts(name)])
        table = read_table(X)
        (_, without), (codec, with_them) = (seconds(c, table) for c in (None, "auto"))
        n = len(codec.relations)
        print(f"{name} {X.shape}: {n} relations, {without:.2f} s without, {with_them:.2f} s with")
        for relation in codec.relations:
            print(f"    {relation.kind}: {relation.text}", flush=True)


def cost():
    """Print what looking costs where there is nothing to find."""
    for width in (20, 200):
        table = read_table(np.random.default_rng(0).normal(size=(10_000, width)))
        (_, without), (codec, with_them) = (seconds(c, table) for c in (None, "auto"))
        assert not codec.relations
        print(f"10,000 × {width}: {without:.2f} s without, {with_them:.2f} s with", flush=True)


def dummies(*tables):
    """Turn categories into flags and fill gaps, for logistic regression."""
    joined = pd.get_dummies(pd.concat(tables), dummy_na=False)
    joined = joined.fillna(joined.median())
    ends = np.cumsum([len(table) for table in tables])
    starts = [0, *ends[:-1]]
    return [joined.iloc[a:b].to_numpy(float) for a, b in zip(starts, ends, strict=True)]


def scores(X, y, X_test, y_test):
    """Return ROC AUC, average precision and geometric mean by classifier, in per cent."""
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    trees = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    row = []
    for model, encode in ((trees, as_categories), (linear, dummies)):
        train, test = encode(X, X_test)
        score = model.fit(train, y).predict_proba(test)[:, 1]
        row += [
            roc_auc_score(y_test, score),
            average_precision_score(y_test, score),
            geometric_mean(y_test, score > 0.5),
        ]
    return 100 * np.array(row)


def fold_scores(X, y, X_test, y_test, seed):
    """Return broken rows in per cent, distance and scores, and what relations change in cells.

    The three rows are those without relations, with them, and without them for another seed.
    """
    judge = TableCodec(constraints="auto").fit(read_table(X))
    rows, made = [], []
    for constraints, own in ((None, seed), ("auto", seed), (None, seed + 100)):
        Xb, yb = MGVAE(random_state=own, constraints=constraints).fit_resample(X, y)
        new = Xb.iloc[len(X) :]
        made.append(new)
        broken = judge.broken(read_table(new).columns)
        share = 0.0 if broken is None else broken.mean()
        apart = distances(X[y], new).mean()
        rows.append([100 * share, apart, *scores(Xb, yb, X_test, y_test)])
    return np.array(rows), moves(made[0], made[1], X)


def moves(old, new, X):
    """Return the share of cells that differ in per cent, and how far numbers do in deviations."""
    differ = (old != new) & ~(old.isna() & new.isna())
    numbers = X.select_dtypes("number").columns
    gaps = (old[numbers] - new[numbers]).abs() / X[numbers].std()
    return 100 * differ.to_numpy().mean(), np.nanmean(gaps.replace(np.inf, np.nan).to_numpy())


def show_line(title, row, form):
    """Print one line of the table of scores."""
    first = f"{row[0]:6.2f} %" if "+" not in form else " " * 8
    groups = ["  ".join(format(value, form) for value in row[i : i + 3]) for i in (2, 5)]
    print(f"{title:28s} {first} {row[1]:8.4f}  | {groups[0]} | {groups[1]}", flush=True)


def efficacy(names, folds=3):
    """Print a table of scores without and with relations."""
    print(f"{'table':28s}   broken distance  | LightGBM AUC, AP, GM | logistic AUC, AP, GM")
    for name in names:
        whole = parts(name)
        X, y = (pd.concat(side, ignore_index=True) for side in zip(*whole, strict=True))
        splits = StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y)
        found = []
        for seed, (train, test) in enumerate(splits):
            here, there = X.iloc[train].reset_index(drop=True), X.iloc[test]
            y_here = y.iloc[train].reset_index(drop=True)
            found.append(fold_scores(here, y_here, there, y.iloc[test], seed))
        rows = np.array([one for one, _ in found])
        without, with_them, _ = rows.mean(0)
        show_line(f"{name} without", without, "6.2f")
        show_line(f"{name} with", with_them, "6.2f")
        for title, arm in (("difference", 1), ("another seed", 2)):
            gaps = rows[:, arm] - rows[:, 0]
            show_line(f"  {title}", gaps.mean(0), "+6.2f")
            show_line("  its standard error", gaps.std(0, ddof=1) / np.sqrt(folds), "+6.2f")
        cells, deviations = np.mean([moved for _, moved in found], axis=0)
        print(f"  relations change {cells:.1f} % of cells, numbers by {deviations:.3f} deviations")


def main():
    """Run a command."""
    warnings.simplefilter("ignore")
    command, *names = sys.argv[1:]
    if command == "cost":
        cost()
    elif command == "found":
        found(names or every_table())
    else:
        efficacy(names or SOME)


if __name__ == "__main__":
    main()
