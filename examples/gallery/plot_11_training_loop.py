"""
A training loop with fresh images in every epoch
================================================

:class:`mgvae.datasets.BalancedDataset` wraps a torch data set. An epoch has the same number of
images of every class, and those that are generated are new each time.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from mgvae import MGVAE
from mgvae.datasets import BalancedDataset
from mgvae.metrics import per_class_recall

images, digit = load_digits().images.astype(np.float32), load_digits().target
train = np.arange(len(digit)) % 2 == 0
few = [np.flatnonzero(train & (digit == d))[:6] for d in range(5, 10)]
rows = np.concatenate([np.flatnonzero(train & (digit < 5)), *few])
X, y = images[rows], (digit[rows] >= 5).astype(int)
X_test, y_test = images[~train], (digit[~train] >= 5).astype(int)

# %%
sampler = MGVAE(random_state=0, pretrain_steps=600, finetune_steps=200, ewc_weight=0.1).fit(X, y)
real = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
balanced = BalancedDataset(real, sampler, random_state=0)


# %%
# The loop is the usual one.
def train_network(data):
    """Return the recalls of both classes after each epoch."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimiser = torch.optim.Adam(network.parameters(), 2e-3)
    loader = DataLoader(
        data, batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(0)
    )
    recalls = []
    for _ in range(12):
        for batch, labels in loader:
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(batch / 16), labels).backward()
            optimiser.step()
        with torch.no_grad():
            predicted = network(torch.from_numpy(X_test) / 16).argmax(1)
        recalls.append(per_class_recall(y_test, predicted.numpy()))
    return np.array(recalls)


curves = {"the images as they are": train_network(real), "balanced": train_network(balanced)}

# %%
fig, ax = plt.subplots(figsize=(7, 4))
for (name, recalls), colour in zip(curves.items(), ["#7f9bb8", "#c2410c"], strict=True):
    ax.plot(np.arange(1, 13), recalls[:, 1], c=colour, lw=2, label=f"{name}: rare digits")
    ax.plot(np.arange(1, 13), recalls[:, 0], c=colour, lw=1, ls="--", label=f"{name}: others")
ax.set(xlabel="epoch", ylabel="recall on test images", ylim=(0, 1.02))
ax.legend(frameon=False)
