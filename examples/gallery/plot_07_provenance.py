"""
Where a new row comes from
==========================

Every new row can be traced: to the majority row that guided it, and to the minority row that it
starts from.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from mgvae import MGVAE

rng = np.random.default_rng(3)
X = np.concatenate([rng.normal(0, 1, (300, 2)), rng.normal([2.6, 1.6], 0.5, (12, 2))])
y = np.repeat([0, 1], [300, 12])

sampler = MGVAE(random_state=0, sampling_strategy={1: 42})
X_balanced, _ = sampler.fit_resample(X, y)
new = X_balanced[len(X) :]

# %%
# ``source_indices_`` and ``anchor_indices_`` count rows of ``X``.
source = X[sampler.source_indices_[len(X) :]]
anchor = X[sampler.anchor_indices_[len(X) :]]
print("the first new row starts from", anchor[0].round(2), "and is guided by", source[0].round(2))

# %%
# Orange lines lead from a real minority row to the new one, grey lines on to the majority row.
fig, ax = plt.subplots(figsize=(7, 4.6))
ax.add_collection(LineCollection(np.stack([new, source], 1), colors="#9ca3af", lw=0.5))
ax.add_collection(LineCollection(np.stack([anchor, new], 1), colors="#f59e0b", lw=1.2))
ax.scatter(*X[y == 0].T, s=10, c="#7f9bb8", label="majority")
ax.scatter(*new.T, s=22, c="#f59e0b", label="new", zorder=3)
ax.scatter(*X[y == 1].T, s=55, c="#c2410c", ec="white", label="minority", zorder=4)
ax.legend(frameon=False)
ax.set_axis_off()
