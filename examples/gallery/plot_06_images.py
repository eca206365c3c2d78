"""
Images
======

Eight images of each of the digits 5 to 9, and all of 0 to 4. The model learns the many digits, then
tunes itself to the few, and translates one into the other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mgvae import MGVAE

images, digit = load_digits().images, load_digits().target
few = [np.flatnonzero(digit == d)[:8] for d in range(5, 10)]
rows = np.concatenate([np.flatnonzero(digit < 5), *few])
X, y = images[rows], np.where(digit[rows] < 5, "0-4", "5-9")

# %%
# Arrays with three axes are images. The defaults train longer; 800 steps do for images of 8 x 8.
sampler = MGVAE(random_state=0, pretrain_steps=800, finetune_steps=250, ewc_weight=0.1)
sampler.fit(X, y)

# %%
# :meth:`mgvae.MGVAE.translate` makes a minority image of every majority image that it is given.
# The first column is real; each image to its right is made from it.
chosen = [np.flatnonzero(digit[rows] == d)[3] for d in range(5)]
made = [sampler.translate(X[chosen], "5-9", random_state=s) for s in range(9)]
fig, axes = plt.subplots(5, 10, figsize=(8, 4.2))
for line, row in zip(axes, range(5), strict=True):
    for ax, image in zip(line, [X[chosen[row]], *(m[row] for m in made)], strict=True):
        ax.imshow(image, cmap="gray_r", vmin=0, vmax=16)
        ax.set_axis_off()
axes[0, 0].set_title("real", fontsize=10)
axes[0, 5].set_title("translated to 5-9", fontsize=10)
