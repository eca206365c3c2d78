"""Judge the new rows of a peer: LightGBM and logistic regression learn from them, test rows decide.

Run by ``peers.py``, as ``python peers_judge.py FOLDER``. The classifiers learn from ``train.csv``
with ``synthetic.csv`` below it and are judged on ``test.csv``. ``scores.json`` gets the geometric
mean of the recalls at a threshold of 0.5 (GM), the average precision (AP) and the ROC AUC, in
percent.

``BalancedClassifier`` makes no file of rows: it is fitted here, around each of the two classifiers,
and decides by its own rule. Its cost is the mean of both fits, the members' training included.
"""

import json
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from peers_generate import LABEL, peak_mb, read_rows, spent
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from mgvae import BalancedClassifier
from mgvae.metrics import geometric_mean


def classifiers(columns, text):
    """Return both classifiers for rows with these columns."""
    numbers = [name for name in columns if name not in text]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    places = list(range(len(text)))  # the transformer puts them first
    categories = {"categorical_feature": places} if text else {}
    trees = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0, **categories)
    return {
        "LightGBM": make_pipeline(
            make_column_transformer((codes, text), ("passthrough", numbers)), trees
        ),
        "logistic regression": make_pipeline(
            make_column_transformer(
                (OneHotEncoder(handle_unknown="ignore"), text), (StandardScaler(), numbers)
            ),
            LogisticRegression(max_iter=1000),
        ),
    }


def figures(y, classifier, X):
    """Return GM, AP and ROC AUC in percent."""
    probable = classifier.predict_proba(X)[:, 1]
    found = {
        "GM": geometric_mean(y, classifier.predict(X)),
        "AP": average_precision_score(y, probable),
        "ROC AUC": roc_auc_score(y, probable),
    }
    return {name: round(100 * float(value), 2) for name, value in found.items()}


def main():
    """Judge the rows in a folder."""
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    text = job["text"]
    train, test = (read_rows(folder / f"{part}.csv", text) for part in ("train", "test"))
    for part in (train, test):
        part[text] = part[text].fillna("missing")
    y, y_test = train.pop(LABEL).to_numpy(), test.pop(LABEL).to_numpy()
    models = classifiers(list(train), text)
    if job["peer"] == "BalancedClassifier":
        models = {k: BalancedClassifier(model, random_state=0) for k, model in models.items()}
        signal.setitimer(signal.ITIMER_PROF, job["limit"] * len(models))
    else:
        new = read_rows(folder / "synthetic.csv", text)[list(train)]
        new[text] = new[text].fillna("missing")
        train = pd.concat([train, new], ignore_index=True)
        y = np.append(y, np.ones(len(new), y.dtype))
    started = spent()
    for model in models.values():
        model.fit(train, y)
    seconds = (spent() - started) / len(models)
    if job["peer"] == "BalancedClassifier":
        signal.setitimer(signal.ITIMER_PROF, 0)
        cost = {"seconds": round(seconds, 2), "peak_mb": peak_mb()}
        (folder / "cost.json").write_text(json.dumps(cost))
    scores = {name: figures(y_test, model, test) for name, model in models.items()}
    (folder / "scores.json").write_text(json.dumps(scores))


if __name__ == "__main__":
    main()
