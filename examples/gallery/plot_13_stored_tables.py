"""
Stored results: twenty-six real tables
======================================

The project in ``paper/`` keeps one line for every experiment. This program reads those of the
comparison on real tables and draws, table by table, what MGVAE changes against two rivals: SMOTE,
and doing nothing but choosing a better threshold.
"""

import json
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

here = Path.cwd()  # anywhere in the repository
root = next(p for p in (here, *here.parents) if (p / "paper" / "results").is_dir())
newest = {}
for path in sorted((root / "paper" / "results" / "folds").glob("*.jsonl")):
    for result in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        cell = result["cell"]
        # cells with settings of their own belong to ablations; a later revision replaces an earlier
        if "metrics" in result and "settings" not in cell["parameters"]:
            key = cell["method"], cell["dataset"], cell["seed"]
            revision = cell["parameters"].get("revision", 1)
            if revision >= newest.get(key, (0, None))[0]:
                newest[key] = revision, result["metrics"]
cells = defaultdict(list)
for (method, table, _), (_, metrics) in newest.items():
    cells[method, table].append(metrics)


def mean(method, table, metric):
    """Return the mean over the seeds, in percent."""
    return np.mean([metrics[metric] for metrics in cells[method, table]])


tables = sorted(table for method, table in cells if method == "MGVAE" and ("SMOTE", table) in cells)

# %%
# Each dot is a table, the mean over four classifiers. To the right of the line MGVAE is better.
# Left: the geometric mean of the recalls at the usual threshold. Right: the order of the rows.
fig, axes = plt.subplots(1, 2, figsize=(9, 0.22 * len(tables) + 1.2), sharey=True)
for ax, metric, rival_metric, title in (
    (axes[0], "gm", "gm_tuned", "GM: MGVAE at 0.5, less …"),
    (axes[1], "roc_auc", "roc_auc", "ROC AUC: MGVAE, less …"),
):
    smote = [mean("MGVAE", t, metric) - mean("SMOTE", t, metric) for t in tables]
    nothing = [mean("MGVAE", t, metric) - mean("nothing", t, rival_metric) for t in tables]
    places = np.arange(len(tables))
    ax.axvline(0, c="#9ca3af", lw=1)
    better = sum(np.array(smote) > 0)
    ax.scatter(smote, places, c="#c2410c", s=24, label=f"SMOTE: better on {better}")
    word = "nothing, tuned" if metric == "gm" else "nothing"
    better = sum(np.array(nothing) > 0)
    ax.scatter(nothing, places, c="#7f9bb8", s=24, marker="D", label=f"{word}: better on {better}")
    ax.set(title=title, yticks=places, yticklabels=tables, xlabel="points")
    ax.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.08))
