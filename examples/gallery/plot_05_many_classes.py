"""
More than two classes
=====================

The largest class is learned once. Each other class then tunes a copy of that model, so three small
classes cost three short trainings and not three long ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from mgvae import MGVAE

# %%
# Four digits as a table of five columns: 170 zeros, and few of the others.
images, digit = load_digits(return_X_y=True)
kept = np.concatenate(
    [np.flatnonzero(digit == d)[:count] for d, count in ((0, 170), (4, 40), (3, 20), (6, 10))]
)
X = PCA(5, random_state=0).fit_transform(images[kept])
y = digit[kept]

sampler = MGVAE(random_state=0, ewc_weight=1.0)
X_balanced, y_balanced = sampler.fit_resample(X, y)
print(sampler.sampling_strategy_)

# %%
# One stage of pre-training and a stage for each class stand in ``history_``.
for stage, history in sampler.history_.items():
    print(f"{stage}: {len(history.terms['loss'])} steps")

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
colours = {0: "#7f9bb8", 4: "#c2410c", 3: "#15803d", 6: "#7c3aed"}
for ax, rows, labels, title in (
    (axes[0], X, y, "before"),
    (axes[1], X_balanced, y_balanced, "after"),
):
    for d, colour in colours.items():
        chosen = rows[labels == d]
        ax.scatter(*chosen[:, :2].T, s=14, c=colour, alpha=0.7, lw=0, label=f"{d} ({len(chosen)})")
    ax.set_title(title)
    ax.set_axis_off()
    ax.legend(frameon=False, title="digit (rows)")
