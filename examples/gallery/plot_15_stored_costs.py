"""
Stored results: what it costs
=============================

The seconds of one thread to fit and to make the rows, against the ROC AUC that two classifiers have
with them (``benchmarks/peers.py``), on three tables of thousands of rows.
"""

import json
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

here = Path.cwd()  # anywhere in the repository
root = next(p for p in (here, *here.parents) if (p / "benchmarks" / "results").is_dir())
lines = (root / "benchmarks" / "results" / "peers.jsonl").read_text(encoding="utf-8").splitlines()
latest = {(r["table"], r["peer"], r["fold"]): r for r in map(json.loads, lines)}
found = defaultdict(list)
for (table, peer, _), result in latest.items():
    if result["state"] == "done":
        auc = np.mean([scores["ROC AUC"] for scores in result["scores"].values()])
        found[table, peer].append((result["seconds"], auc))

# %%
# Left is fast, up is good. Who was stopped by the clock is not shown: on adult and bank these are
# CTGAN and ForestDiffusion.
colours = {
    "SMOTE": "#7f9bb8", "MGVAE": "#c2410c", "BalancedClassifier": "#f59e0b", "TVAE": "#7c3aed",
    "ARF": "#15803d", "CTGAN": "#4b5563", "ForestDiffusion": "#0e7490", "TabularARGN": "#be185d",
}  # fmt: skip
tables = {"water": "water", "adult": "adult", "bank-full": "bank"}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.6))
for ax, (table, title) in zip(axes, tables.items(), strict=True):
    for peer, colour in colours.items():
        if (table, peer) in found:
            seconds, auc = np.mean(found[table, peer], axis=0)
            ax.scatter(seconds, auc, c=colour, s=60, label=peer)
    ax.set(title=title, xscale="log", xlabel="seconds", xlim=(0.01, 500))
    ax.margins(y=0.2)
axes[0].set_ylabel("ROC AUC")
handles = axes[0].get_legend_handles_labels()
fig.legend(*handles, ncols=4, loc="outside lower center", frameon=False)
fig.set_layout_engine("constrained")
