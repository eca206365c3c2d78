"""MGVAE against what users would pick instead: time, memory, and what classifiers gain.

Usage::

    MGVAE_DATA=... python benchmarks/peers.py install [--peers ...]
    MGVAE_DATA=... python benchmarks/peers.py run [--peers ...] [--tables ...] [--folds 0 1]
    python benchmarks/peers.py summary

One cell is a table, a fold (of three, stratified) and a peer. The peer makes minority rows until
the classes are even, in a process of its own and in an environment of its own with pinned versions,
which is made under ``--cache`` at first use (``peers_generate.py`` says how each peer is used). Two
classifiers then learn from the result (``peers_judge.py``). Each result is a line that is appended
to ``--results`` as it comes, with commit, versions and cost. A second run does what is missing,
what failed, and what was over a lower limit; ``--again`` does all that is selected. The last line
of a cell counts.

Seconds are processor seconds of fit and sampling on one thread. Importing the peer does not count,
but what it loads only at its first fit does (MGVAE and others load parts of torch then). Memory is
the peak of the process, imports and the table included. A peer that is still busy after ``--limit``
seconds (15 minutes) is stopped and noted as over the limit; it has no scores.

The package ctgan (CTGAN, TVAE) has a licence that is not open, so it is no dependency of anything.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from peers_generate import LABEL
from sklearn.model_selection import StratifiedKFold

HERE = Path(__file__).resolve().parent
TABLES = {
    "water": "water_quality",
    "adult": "adult",
    "bank-full": "bank",
    "yeast4": "yeast4",
    "abalone9-18": "abalone9-18",
    "glass2": "glass2",
}
"""The tables, and the names by which they are read. The last three are KEEL's."""

TORCH = "torch==2.13.0"
ENVIRONMENTS = {
    "ctgan": (TORCH, "ctgan==0.12.1", "pandas==2.3.3", "numpy==2.4.6"),
    "arfpy": ("arfpy==0.1.1", "pandas==2.2.3", "numpy==1.26.4", "scikit-learn==1.5.2"),
    "ForestDiffusion": ("ForestDiffusion==1.0.6", "xgboost==3.2.0", "pandas==3.1.1"),
    "mostlyai-engine": (TORCH, "mostlyai-engine==2.7.3", "transformers==5.23.0", "pandas==3.1.1"),
}
"""What is installed for the peers of a package. arfpy calls a function that NumPy 2.4 has not."""

UNWANTED = {"mostlyai-engine": ("torchvision", "torchaudio")}
"""Installed with a package, needed by nothing that is used, and not importable beside a torch
without CUDA, so removed again."""

PEERS = {
    "MGVAE": None,
    "BalancedClassifier": None,
    "SMOTE": None,
    "TVAE": "ctgan",
    "CTGAN": "ctgan",
    "ARF": "arfpy",
    "ForestDiffusion": "ForestDiffusion",
    "TabularARGN": "mostlyai-engine",
}
"""The peers and their environments; None is the one that this script runs in."""


OURS = ("MGVAE", "BalancedClassifier")
SCORES = ("ROC AUC", "AP", "GM")


def python_of(peer, cache):
    """Return the Python that runs a peer, after making its environment if there is none."""
    package = PEERS[peer]
    if package is None:
        return sys.executable
    folder = cache / package
    python, done = folder / "bin" / "python", folder / "installed.json"
    wanted = list(ENVIRONMENTS[package])
    if not done.exists() or json.loads(done.read_text())["wanted"] != wanted:
        print(f"installing {' '.join(wanted)} into {folder}", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "--quiet"]
        subprocess.run([*pip, "install", *wanted], check=True)
        if package in UNWANTED:
            subprocess.run([*pip, "uninstall", "--yes", *UNWANTED[package]], check=True)
        listed = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True)
        versions = dict(line.split("==") for line in listed.stdout.split() if "==" in line)
        done.write_text(json.dumps({"wanted": wanted, "versions": versions}, indent=1))
    return str(python)


def versions_of(peer, cache):
    """Return the versions of what makes a peer's rows."""
    package = PEERS[peer]
    if package is None:
        names = ("mgvae", "imbalanced-learn", "torch", "numpy", "scikit-learn", "lightgbm")
        return {name: version(name) for name in names}
    installed = json.loads((cache / package / "installed.json").read_text())["versions"]
    names = (package, "torch", "numpy", "pandas", "scikit-learn", "xgboost")
    return {name: installed[name] for name in names if name in installed}


def write_job(folder, table, fold, peer, limit):
    """Write a fold's rows and what is to be done with them; return the sizes."""
    from mgvae_paper.real_tables import read_labelled_table

    rows = read_labelled_table(TABLES[table])
    X = rows.X.to_pandas() if hasattr(rows.X, "to_pandas") else pd.DataFrame(rows.X)
    X.columns = [str(name) for name in X.columns]
    text = list(X.select_dtypes(exclude="number"))
    frame = X.assign(**{LABEL: rows.y})
    parts = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, rows.y))[fold]
    for name, positions in zip(("train", "test"), parts, strict=True):
        frame.iloc[positions].to_csv(folder / f"{name}.csv", index=False)
    minority = int(rows.y[parts[0]].sum())
    sizes = {"rows": len(parts[0]), "minority": minority, "columns": X.shape[1]}
    wanted = len(parts[0]) - 2 * minority
    job = {"peer": peer, "wanted": wanted, "text": text, "limit": limit}
    (folder / "job.json").write_text(json.dumps(job))
    return sizes


def measure(table, fold, peer, options):
    """Return the result of one cell."""
    python = python_of(peer, options.cache)
    one = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
    theirs = {**os.environ, **dict.fromkeys(one, "1")}
    ours = dict(theirs)
    if PEERS[peer]:
        theirs.pop("PYTHONPATH", None)  # nothing of this project in the peer's process
    steps = [(sys.executable, "peers_judge.py", ours)]
    if peer != "BalancedClassifier":
        steps.insert(0, (python, "peers_generate.py", theirs))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cell = {"table": table, "fold": fold, "peer": peer, "limit": options.limit}
        cell |= write_job(folder, table, fold, peer, options.limit)
        cell |= {"commit": commit(), "versions": versions_of(peer, options.cache)}
        for program, script, environment in steps:
            command = [program, str(HERE / script), name]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode == -signal.SIGPROF:
                return cell | {"state": "over the limit", "seconds": options.limit}
            if done.returncode:
                *_, error = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
                return cell | {"state": "failed", "error": error[-600:]}
        cost, scores = (json.loads((folder / f"{k}.json").read_text()) for k in ("cost", "scores"))
    return cell | {"state": "done", **cost, "scores": scores}


def commit():
    """Return the commit of this project, with a plus if the code differs from it."""
    git = ["git", "-C", str(HERE.parent)]
    name = [*git, "rev-parse", "--short", "HEAD"]
    found = subprocess.run(name, check=True, capture_output=True, text=True).stdout.strip()
    same = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src", "benchmarks/*.py"])
    return found + "+" * bool(same.returncode)


def read_results(path):
    """Return the last result of each cell."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {(r["table"], r["fold"], r["peer"]): r for r in map(json.loads, lines)}


def run(options):
    """Work out the selected cells that are missing."""
    known = read_results(options.results)
    for table in options.tables:
        for fold in options.folds:
            for peer in options.peers:
                old = known.get((table, fold, peer), {"state": "failed"})
                low = old["state"] == "over the limit" and old["limit"] < options.limit
                if not (options.again or low or old["state"] == "failed"):
                    continue
                line = json.dumps(measure(table, fold, peer, options))
                with options.results.open("a") as file:
                    file.write(line + "\n")
                print(line, flush=True)


def summary(options):
    """Print the results as Markdown tables, each peer beside MGVAE on the same folds."""
    known = read_results(options.results)
    names = [f"{f} {c}" for c in ("LightGBM", "logistic") for f in ("GM", "AP", "AUC")]
    heads = ["table", "method", "folds", "seconds", "× MGVAE", "peak MB", *names]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for table in options.tables:
        for peer in options.peers:
            pairs = [
                (known[table, fold, peer], known[table, fold, "MGVAE"])
                for fold in options.folds
                if (table, fold, peer) in known and (table, fold, "MGVAE") in known
            ]
            if pairs:
                print(f"| {table} | {peer} | {len(pairs)} | {' | '.join(figures(pairs))} |")
    heads = [
        "MGVAE against",
        *SCORES,
        "their seconds, × MGVAE",
        "BalancedClassifier against: ROC AUC",
    ]
    print(f"\n| {' | '.join([*heads, *SCORES[1:]])} |\n|{'---|' * (len(heads) + 2)}")
    for peer in options.peers:
        if peer not in OURS:
            first, second = (differences(known, own, peer, options) for own in OURS)
            if first:
                times = [t for _, t in first]
                cells = [*told(first), f"{min(times):.2g} to {max(times):.3g}", *told(second)]
                print(f"| {peer} | {' | '.join(cells)} |")
    commits = sorted({r["commit"] for r in known.values()})
    print(f"\nCommits: {', '.join(commits)}.")


def differences(known, own, peer, options):
    """Return, for each table, by how much ours is better, and the peer's seconds, as a part."""
    found = []
    for table in options.tables:
        pairs = [
            (known[table, fold, own], known[table, fold, peer])
            for fold in options.folds
            if known.get((table, fold, own), {}).get("state") == "done"
            and known.get((table, fold, peer), {}).get("state") == "done"
        ]
        if pairs:
            better = np.mean(
                [
                    [[a["scores"][c][s] - b["scores"][c][s] for s in SCORES] for c in a["scores"]]
                    for a, b in pairs
                ],
                axis=(0, 1),
            )
            ours, theirs = (np.mean([pair[i]["seconds"] for pair in pairs]) for i in (0, 1))
            found.append((better, theirs / ours))
    return found


def told(found):
    """Return the mean of each score's differences, and on how many tables ours is better."""
    better = np.array([difference for difference, _ in found])
    return [f"{d.mean():+.1f} ({(d > 0).sum()}:{(d < 0).sum()})" for d in better.T]


def figures(pairs):
    """Return the cells of a line of the summary."""
    states = {own["state"] for own, _ in pairs}
    if "failed" in states:
        return ["failed", *[""] * 8]
    seconds, base = (np.mean([pair[i]["seconds"] for pair in pairs]) for i in (0, 1))
    if "over the limit" in states:
        return [f"over the limit of {pairs[0][0]['limit']:g}", f"> {seconds / base:.2g}", *[""] * 7]
    peak = np.mean([own["peak_mb"] for own, _ in pairs])
    scores = [[v for c in own["scores"].values() for v in c.values()] for own, _ in pairs]
    means = [f"{mean:.1f}" for mean in np.mean(scores, axis=0)]
    return [f"{seconds:.3g}", f"{seconds / base:.2g}", f"{peak:.0f}", *means]


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description="MGVAE against what users would pick instead.")
    parser.add_argument("command", choices=("install", "run", "summary"))
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--folds", nargs="+", type=int, choices=range(3), default=[0, 1])
    parser.add_argument("--limit", type=float, default=900.0, help="processor seconds of a cell")
    parser.add_argument("--again", action="store_true", help="also what is there already")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "mgvae-peers")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "peers.jsonl")
    options = parser.parse_args()
    if options.command == "install":
        for peer in options.peers:
            print(peer, python_of(peer, options.cache), flush=True)
    else:
        {"run": run, "summary": summary}[options.command](options)


if __name__ == "__main__":
    main()
