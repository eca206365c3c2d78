"""
Is a new row any good? The quality report
=========================================

:func:`mgvae.report.quality` compares new rows with real ones. It finds copies, collapse, rows in
the territory of the other class, and columns that went wrong. Here it judges good rows and spoilt
ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from mgvae import MGVAE
from mgvae.report import quality

# %%
# Half of the rows are kept from the sampler. New rows cannot be judged by the rows that they were
# made from: exact copies would get the best marks.
X, y = make_classification(1000, 5, n_informative=4, n_redundant=1, weights=[0.85], random_state=2)
X, X_unseen, y, y_unseen = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
sampler = MGVAE(random_state=0, sampling_strategy={1: 250}, ewc_weight=1.0)
X_balanced, y_balanced = sampler.fit_resample(X, y)
good, labels = X_balanced[len(X) :], y_balanced[len(X) :]

# %%
# Three spoilt sets: copies of real rows, good rows with their columns shuffled apart, and rows that
# hardly differ from each other.
rng = np.random.default_rng(0)
real = X[y == 1]
sets = {
    "MGVAE": good,
    "copies": real[rng.integers(len(real), size=len(good))],
    "shuffled columns": np.stack([rng.permutation(column) for column in good.T], axis=1),
    "one place": real.mean(0) + 0.1 * (good - good.mean(0)),
}
reports = {
    name: quality(X, rows, target=(y, labels, y_unseen), held_out=X_unseen).classes[0]
    for name, rows in sets.items()
}
for name, report in reports.items():
    print(f"{name}: {report.headline}")

# %%
# Every figure has a verdict. They answer three questions: are the rows faithful, diverse, private?
figures = reports["MGVAE"].figures
colours = {"good": "#15803d", "caution": "#d97706", "bad": "#b91c1c", "unknown": "#6b7280"}
fig, ax = plt.subplots(figsize=(8.5, 0.36 * len(figures) + 0.6))
for column, report in enumerate(reports.values()):
    for row, figure in enumerate(figures):
        found = report[figure.name]
        box = plt.Rectangle((column, row), 0.96, 0.9, color=colours[found.verdict], alpha=0.9)
        ax.add_patch(box)
        words = "" if found.value is None else f"{found.value:.2f}"
        ax.text(column + 0.48, row + 0.45, words, ha="center", va="center", color="white")
ax.set(xlim=(0, len(reports)), ylim=(len(figures), 0))
ax.set_xticks(np.arange(len(reports)) + 0.48, reports)
ax.set_yticks(np.arange(len(figures)) + 0.45, [figure.title for figure in figures])
ax.tick_params(length=0, labeltop=True, labelbottom=False)
ax.spines[:].set_visible(False)
