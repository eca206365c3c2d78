"""
First steps
===========

Balance a table.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from mgvae import MGVAE

X, y = make_classification(n_samples=600, weights=[0.95], random_state=0)
X_balanced, y_balanced = MGVAE(random_state=0).fit_resample(X, y)
plt.scatter(X_balanced[:, 0], X_balanced[:, 1], c=y_balanced, s=8)
