"""
A network of your own
=====================

Any torch encoder and decoder can take the place of the built-in ones. Here the encoder reads a
signal with one-dimensional convolutions.
"""

import matplotlib.pyplot as plt
import numpy as np
from torch import nn

from mgvae import MGVAE
from mgvae.networks import Bodies

# %%
# Signals of 32 numbers: slow waves, and few that have a bump on top.
rng = np.random.default_rng(0)
time = np.linspace(0, 1, 32)
phase, speed = rng.uniform(0, 6, (320, 1)), rng.uniform(1, 2, (320, 1))
X = np.sin(6 * speed * time + phase) + rng.normal(0, 0.05, (320, 32))
X[300:] += 1.5 * np.exp(-((time - 0.5) ** 2) / 0.005)
y = np.repeat(["wave", "bump"], [300, 20])


# %%
# ``network(shape, latent_size)`` returns the encoder, its number of features, and the decoder. Both
# take and give rows. The decoder gives one number for each number of an encoded row.
def network(shape, latent_size):
    """Return a small convolutional encoder and a plain decoder."""
    (length,) = shape
    encoder = nn.Sequential(
        nn.Unflatten(1, (1, length)), nn.Conv1d(1, 8, 5, stride=2, padding=2), nn.ReLU(),
        nn.Conv1d(8, 16, 5, stride=2, padding=2), nn.ReLU(), nn.Flatten(),
    )  # fmt: skip
    decoder = nn.Sequential(nn.Linear(latent_size, 128), nn.ReLU(), nn.Linear(128, length))
    return Bodies(encoder, 16 * (length // 4), decoder)


sampler = MGVAE(network=network, random_state=0, ewc_weight=1.0, pretrain_steps=800).fit(X, y)
made = sampler.generate(5, label="bump", random_state=1)

# %%
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3), sharey=True)
for ax, rows, title, colour in (
    (axes[0], X[:5], "waves", "#7f9bb8"),
    (axes[1], X[300:305], "bumps", "#c2410c"),
    (axes[2], made, "new bumps", "#f59e0b"),
):
    ax.plot(time, rows.T, c=colour, alpha=0.8)
    ax.set_title(title)
    ax.set_axis_off()
