"""
First steps
===========

A table has 480 rows of one class and 20 of the other. One call makes the classes equal.
The figure shows the new rows between the ones that were there.
"""

import matplotlib.pyplot as plt
import numpy as np

from mgvae import MGVAE

# %%
# The data: two columns, so that we can look at them. The smaller class bends like the larger one.
rng = np.random.default_rng(0)
place = rng.uniform(-1.3, 1.3, 500)
X = np.stack([place, -(place**2)], axis=1) + rng.normal(0, 0.12, (500, 2))
X[480:] += [0.5, -1.0]
y = np.repeat(["common", "rare"], [480, 20])

# %%
# The call. The original rows come first, and no bit of them changes.
sampler = MGVAE(random_state=0)
X_balanced, y_balanced = sampler.fit_resample(X, y)
assert (X_balanced[:500] == X).all()
print(dict(zip(*np.unique(y_balanced, return_counts=True), strict=True)))

# %%
# The new rows lie along the bend, also where there is no rare row.
new = X_balanced[500:]
fig, ax = plt.subplots(figsize=(7, 4.5))
ax.scatter(*X[y == "common"].T, s=12, c="#7f9bb8", label="common")
ax.scatter(*new.T, s=10, c="#f59e0b", alpha=0.7, label="new rare rows")
ax.scatter(*X[y == "rare"].T, s=50, c="#c2410c", ec="white", label="rare")
ax.legend(frameon=False)
ax.set_axis_off()
