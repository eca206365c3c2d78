"""
Does over-sampling help here? A comparison
==========================================

:func:`mgvae.compare.compare` cross-validates a classifier with and without over-sampling, and with
a tuned threshold, which costs nothing. It says in words what came out.
"""

import tempfile

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from mgvae.compare import compare

X, y = make_classification(
    600, 6, n_informative=4, weights=[0.9], flip_y=0.03, class_sep=0.7, random_state=4
)
with tempfile.TemporaryDirectory() as folder:
    found = compare(
        X, y, models=["logistic"], methods=["SMOTE", "MGVAE"], folds=3,
        repeats=1, store=folder,
    )  # fmt: skip
print(found.verdicts["logistic"])

# %%
# GM depends on the threshold, average precision does not. A method that moves GM alone has only
# moved the threshold. Three folds are few, so the differences are drawn for each of them.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
methods = list(found.scores["logistic"])
for ax, metric, title in (
    (axes[0], "gm", "geometric mean of the recalls"),
    (axes[1], "average_precision", "average precision"),
):
    for place, method in enumerate(methods):
        scores = found.scores["logistic"][method][metric]
        ax.plot(scores, [place] * len(scores), "o", c="#7f9bb8", alpha=0.7)
        ax.plot(sum(scores) / len(scores), place, "D", c="#c2410c")
    ax.set(title=title, yticks=range(len(methods)))
    ax.set_yticklabels(methods)
