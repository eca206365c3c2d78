"""
Stored results: what it costs
=============================

The measurements of 16 November 2026 (commit e1e6abe): the seconds of one thread to fit and to make
the rows, against the geometric mean (GM) of the recalls of two classifiers, on four tables. MGVAE
has become faster since then.
"""

import json
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

here = Path.cwd()  # anywhere in the repository
root = next(p for p in (here, *here.parents) if (p / "benchmarks" / "results").is_dir())
found = defaultdict(list)
for path in sorted((root / "benchmarks" / "results" / "peers").glob("*.json")):
    result = json.loads(path.read_text(encoding="utf-8"))
    table, method, _ = path.stem.rsplit("-", 2)
    found[table, method].append((result["seconds"], np.mean(list(result["gm"].values()))))

# %%
# Left is fast, up is good. CTGAN was stopped after ten minutes on three of the tables.
colours = {
    "SMOTE": "#7f9bb8", "CVAE": "#15803d", "MGVAE": "#c2410c", "TVAE": "#7c3aed", "CTGAN": "#4b5563"
}  # fmt: skip
tables = {"musk": "musk", "water": "water", "adult": "adult", "bank-full": "bank"}
fig, axes = plt.subplots(1, 4, figsize=(10, 3.4))
for ax, (table, title) in zip(axes, tables.items(), strict=True):
    for method, colour in colours.items():
        seconds, gm = np.mean(found[table, method], axis=0)
        ax.scatter(seconds, gm, c=colour, s=60)
        ax.annotate(method, (seconds, gm), xytext=(0, 7), textcoords="offset points", ha="center")
    ax.set(title=title, xscale="log", xlabel="seconds", xlim=(0.01, 5000))
    ax.margins(y=0.2)
axes[0].set_ylabel("GM")
