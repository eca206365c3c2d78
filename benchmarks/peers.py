"""MGVAE against what users would pick instead: time, memory, and what a classifier gains.

Run ``MGVAE_DATA=... python benchmarks/peers.py --out FOLDER [--folds 2] [--limit SECONDS]``. Every
fold of three-fold cross-validation (of Musk without splitting a molecule) is balanced by every
method in a process of its own, on one thread; LightGBM and logistic regression then learn from the
result and are judged by the geometric mean (GM) of their recalls at a threshold of 0.5. Each result
is written to a file of its own as it comes, and a second run does only what is missing.

Seconds are those of the processor, for fit and generation together, without imports: other work on
the machine does not count. Memory is the peak of the process before any classifier is trained,
imports and the table itself included.

``CTGAN`` and ``TVAE`` are those of the package ``ctgan`` with its defaults (300 epochs). It is not
a dependency, for its licence is not open: who wants them in the table installs it. What its
documentation offers for a class that is rare is used. CTGAN learns from all rows with the class
as one of the discrete columns and draws under the condition that it is the minority; as the
condition only makes that class likely, rows of another class are thrown away. TVAE knows no
conditions and learns from the minority's rows alone; ``TVAE-all`` is the other way to use it, on
all rows, throwing away the majority's. Missing categories, which neither these nor SMOTENC take,
become a category.

A method that is still learning after ``--limit`` seconds is stopped. It is listed with that time
as a lower bound, with the epochs it got through, and with the GM that these are good for, which is
not the GM of its defaults.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

DATA = {"musk": "musk", "water": "water_quality", "adult": "adult", "bank-full": "bank"}
METHODS = ("MGVAE", "CVAE", "SMOTE", "TVAE", "CTGAN", "TVAE-all")
SPLITS, EPOCHS, LABEL = 3, 300, "class of the row"


def read(name):
    """Return the columns as a DataFrame, the classes, and the groups or None."""
    from mgvae_paper.real_tables import read_labelled_table

    rows = read_labelled_table(DATA[name])
    X = rows.X.to_pandas() if hasattr(rows.X, "to_pandas") else pd.DataFrame(rows.X)
    X.columns = [str(column) for column in X.columns]
    return X, rows.y, rows.groups


def split(y, groups, fold):
    """Return the positions of a fold's training and test rows."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    parts = kind(SPLITS, shuffle=True, random_state=0).split(np.zeros(len(y)), y, groups)
    return list(parts)[fold]


def text_columns(X):
    """Name the columns that are not numbers."""
    return list(X.select_dtypes(exclude="number"))


def filled(X):
    """Turn missing categories into a category."""
    text = text_columns(X)
    return X.assign(**{name: X[name].astype(object).fillna("missing") for name in text})


def ours(name):
    """Return a resampler of this package, with its defaults."""
    import mgvae

    sampler = getattr(mgvae, name)(random_state=0)
    return sampler.fit_resample, lambda: None


def smote():
    """Return SMOTE, or SMOTENC where there are categories."""
    from imblearn.over_sampling import SMOTE, SMOTENC

    def resample(X, y):
        text = text_columns(X)
        sampler = SMOTENC(text, random_state=0) if text else SMOTE(random_state=0)
        return sampler.fit_resample(filled(X), y)

    return resample, lambda: None


def peer(name):
    """Return a resampler of the package ctgan, and what counts its epochs."""
    import ctgan
    import torch

    torch.set_num_threads(1)
    model = getattr(ctgan, name.removesuffix("-all"))(enable_gpu=False)
    model.set_random_state(0)

    def resample(X, y):
        wanted = int(np.sum(y == 0) - np.sum(y == 1))
        X = filled(X)
        if name == "TVAE":
            learn(X[y == 1], text_columns(X))
            new = model.sample(wanted)
        else:
            learn(X.assign(**{LABEL: y.astype(str)}), [*text_columns(X), LABEL])
            condition = (LABEL, "1") if name == "CTGAN" else ()
            parts = [X[:0]]
            while sum(map(len, parts)) < wanted:
                drawn = model.sample(wanted, *condition)
                parts.append(drawn[drawn[LABEL] == "1"].drop(columns=LABEL))
            new = pd.concat(parts)[:wanted]
        return pd.concat([X, new.astype(X.dtypes)]), np.append(y, np.ones(wanted, y.dtype))

    def learn(*data):
        try:
            model.fit(*data)
        except OutOfTimeError:
            if not epochs():
                raise

    def epochs():
        losses = model.loss_values
        return 0 if losses is None or losses.empty else int(losses["Epoch"].max()) + 1

    return resample, epochs


def scores(X, y, X_test, y_test):
    """Return the GM of both classifiers, in percent."""
    from lightgbm import LGBMClassifier
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from mgvae.metrics import geometric_mean

    X, X_test = filled(X), filled(X_test)
    text = text_columns(X)
    numbers = [name for name in X if name not in text]
    linear = make_pipeline(
        make_column_transformer(
            (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), text)
        ),
        LogisticRegression(max_iter=1000),
    )
    levels = {name: pd.unique(pd.concat([X[name], X_test[name]])) for name in text}
    coded = [
        part.assign(**{name: pd.Categorical(part[name], levels[name]) for name in text})
        for part in (X, X_test)
    ]
    plain = [part.set_axis(range(part.shape[1]), axis=1) for part in coded]
    trees = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    found = {
        "LightGBM": trees.fit(plain[0], y).predict(plain[1]),
        "logistic regression": linear.fit(X, y).predict(X_test),
    }
    return {name: 100 * geometric_mean(y_test, predicted) for name, predicted in found.items()}


class OutOfTimeError(Exception):
    """The limit is reached."""


def stop(*_):
    """End what is being done."""
    raise OutOfTimeError


def measure(data, method, fold, limit):
    """Work out one result, in this process."""
    warnings.simplefilter("ignore")
    X, y, groups = read(data)
    train, test = split(y, groups, fold)
    makers = {"MGVAE": ours, "CVAE": ours, "SMOTE": lambda _: smote()}
    resample, epochs = makers.get(method, peer)(method)
    signal.signal(signal.SIGPROF, stop)
    balanced = None
    wall, started = time.perf_counter(), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, limit)
    with contextlib.suppress(OutOfTimeError):
        balanced = resample(X.iloc[train].reset_index(drop=True), y[train])
    signal.setitimer(signal.ITIMER_PROF, 0)
    spent, wall = time.process_time() - started, time.perf_counter() - wall
    result = {
        "data": data,
        "method": method,
        "fold": fold,
        "finished": balanced is not None and epochs() in (None, EPOCHS),
        "seconds": round(spent, 2),
        "wall_seconds": round(wall, 2),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "epochs": epochs(),
        "rows": len(train),
        "minority": int(y[train].sum()),
        "columns": X.shape[1],
    }
    if balanced is not None:
        result["gm"] = scores(*balanced, X.iloc[test], y[test])
    return result


def collect(options):
    """Work out what is missing, each in its own process."""
    chosen = [m for m in options.methods if m in METHODS[:3] or importlib.util.find_spec("ctgan")]
    one = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
    environment = {**os.environ, **dict.fromkeys(one, "1")}
    for fold in range(options.folds):
        for method in chosen:
            for data in options.data:
                place = options.out / f"{data}-{method}-{fold}.json"
                if place.exists():
                    continue
                command = [sys.executable, __file__, "--one", data, method, str(fold)]
                command += ["--limit", str(options.limit)]
                done = subprocess.run(command, env=environment, capture_output=True, text=True)
                if done.returncode:
                    print(f"{place.stem} failed:\n{done.stderr[-2000:]}", flush=True)
                    continue
                place.write_text(done.stdout.splitlines()[-1] + "\n")
                print(done.stdout.splitlines()[-1], flush=True)


def table(folder):
    """Return the results as a Markdown table, averaged over the folds that MGVAE has too."""
    found = {}
    for path in folder.glob("*.json"):
        result = json.loads(path.read_text())
        found.setdefault((result["data"], result["method"]), {})[result["fold"]] = result
    lines = [
        "| data | method | folds | seconds | × MGVAE | peak MB | × MGVAE | GM LightGBM "
        "| GM logistic | mean GM − MGVAE's |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for data in DATA:
        base = found.get((data, "MGVAE"), {})
        for method in METHODS:
            folds = sorted(set(found.get((data, method), {})) & set(base))
            if not folds:
                continue
            own, its = ([r[f] for f in folds] for r in (found[data, method], base))
            lines.append(f"| {data} | {method} | {len(folds)} | {_line(own, its)} |")
    return "\n".join(lines) + "\n"


def _line(own, base):
    """Return the figures of a method beside MGVAE's on the same folds."""
    more = "" if all(r["finished"] for r in own) else "> "
    seconds, ratio = _means(own, base, "seconds")
    memory, memory_ratio = _means(own, base, "peak_mb")
    epochs = f" ({min(r['epochs'] for r in own)} of {EPOCHS} epochs)" if more else ""
    parts = [f"{more}{seconds:.3g}{epochs}", f"{more}{ratio:.2g}"]
    parts += [f"{memory:.0f}", f"{memory_ratio:.1f}"]
    if not all("gm" in r for r in own):
        return " | ".join([*parts, "", "", ""])
    means = [[np.mean([r["gm"][c] for r in rs]) for c in base[0]["gm"]] for rs in (own, base)]
    gain = np.mean(means[0]) - np.mean(means[1])
    return " | ".join([*parts, *(f"{gm:.1f}" for gm in means[0]), f"{gain:+.1f}"])


def _means(own, base, name):
    """Return a figure's mean, and its ratio to that of MGVAE."""
    mean, other = (np.mean([r[name] for r in rs]) for rs in (own, base))
    return mean, mean / other


def main():
    """Work out what is missing and print the table."""
    parser = argparse.ArgumentParser(description="MGVAE against SMOTE, CVAE, TVAE and CTGAN.")
    parser.add_argument("--out", type=Path, default=Path("build/peers"), help="where results go")
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--folds", type=int, default=SPLITS, help="how many of the three folds")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for one fit")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        data, method, fold = options.one
        print(json.dumps(measure(data, method, int(fold), options.limit)))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    collect(options)
    page = table(options.out)
    (options.out / "table.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
