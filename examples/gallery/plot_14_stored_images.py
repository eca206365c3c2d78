"""
Stored results: images
======================

Digits and clothes with 60 and with 10 images of each rare kind, under the clean protocol of the
project in ``paper/``: the test set is used once, and the epoch is chosen on images held out.
"""

import json
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

here = Path.cwd()  # anywhere in the repository
root = next(p for p in (here, *here.parents) if (p / "paper" / "results").is_dir())
lines = (root / "paper/results/clean/images.jsonl").read_text(encoding="utf-8").splitlines()
cells = [result for result in map(json.loads, lines) if "metrics" in result]
latest = defaultdict(int)  # a method that was changed has results of several revisions
for result in cells:
    cell = result["cell"]
    revision = cell["parameters"].get("revision", 0)
    latest[cell["method"]] = max(latest[cell["method"]], revision)
scores = defaultdict(list)
for result in cells:
    cell = result["cell"]
    changed = cell["method"] == "MGVAE" and "settings" in cell["parameters"]  # an ablation
    if not changed and cell["parameters"].get("revision", 0) == latest[cell["method"]]:
        scores[cell["dataset"], cell["method"]].append(result["metrics"]["roc_auc"])

# %%
# ROC AUC depends on no threshold. Dots are seeds and draws, bars their means. "both" is small
# shifts and mixup, which any method may have: above them MGVAE has to earn its place.
panels = {
    "mnist-100": "digits, 60 of each", "mnist-600": "digits, 10 of each",
    "fashionmnist-100": "clothes, 60 of each", "fashionmnist-600": "clothes, 10 of each",
}  # fmt: skip
methods = ["ERM", "RW", "ROS", "SMOTE", "OCVAE", "MGVAE", "ROS + both", "MGVAE + both"]
fig, axes = plt.subplots(1, 4, figsize=(10, 3.6), sharey=True)
for ax, (dataset, title) in zip(axes, panels.items(), strict=True):
    for place, method in enumerate(methods):
        found = scores.get((dataset, method), [])
        colour = "#c2410c" if method.startswith("MGVAE") else "#7f9bb8"
        ax.plot(found, [place] * len(found), "o", c=colour, alpha=0.6, ms=5)
        if found:
            ax.plot([np.mean(found)], [place], "|", c="k", ms=16)
    ax.set(title=title, xlabel="ROC AUC", yticks=range(len(methods)), yticklabels=methods)
axes[0].invert_yaxis()
