"""
A fraud-like table, from data to cost
=====================================

In the end somebody pays. Here a missed fraud costs 200 and a false alarm costs 4. The question is
not which method has the best score but which decisions cost least, and at which threshold.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mgvae import BalancedClassifier

MISSED, ALARM = 200, 4
X, y = make_classification(
    12000, 12, n_informative=7, n_clusters_per_class=3, weights=[0.99], flip_y=0.004,
    class_sep=0.9, random_state=5,
)  # fmt: skip
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
print(f"{y.sum()} frauds among {len(y)} payments to learn from, {y_test.sum()} to be judged by")

# %%
# Three ways to a probability. :class:`mgvae.BalancedClassifier` trains on several draws of new rows
# and gives probabilities at the true share of frauds, so that a threshold means the same for all.
trees = HistGradientBoostingClassifier(max_iter=40, random_state=0)
models = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "boosted trees": trees,
    "boosted trees, MGVAE": BalancedClassifier(trees, n_draws=6, random_state=0),
}
said = {name: model.fit(X, y).predict_proba(X_test)[:, 1] for name, model in models.items()}


def cost(probability, threshold):
    """Return what the decisions cost for each payment."""
    alarm = probability >= threshold
    return (MISSED * (y_test & ~alarm).sum() + ALARM * (alarm & (y_test == 0)).sum()) / len(y_test)


# %%
# The threshold that the costs ask for is 4 / (200 + 4): raise the alarm when the expected loss is
# larger than the price of an alarm. Deciding at 0.5 is dear for every model.
best = ALARM / (MISSED + ALARM)
thresholds = np.geomspace(0.002, 0.7, 60)
fig, ax = plt.subplots(figsize=(7.5, 4.2))
for (name, probability), colour in zip(
    said.items(), ["#9ca3af", "#7f9bb8", "#c2410c"], strict=True
):
    ax.plot(thresholds, [cost(probability, t) for t in thresholds], c=colour, lw=2, label=name)
    print(
        f"{name}: {cost(probability, 0.5):.2f} at 0.5, {cost(probability, best):.2f} at {best:.3f}"
    )
ax.axvline(best, c="k", ls=":", lw=1)
ax.axhline(MISSED * y_test.mean(), c="k", lw=0.8)
ax.text(0.0021, MISSED * y_test.mean(), "never raise an alarm", va="bottom", fontsize=9)
ax.set(xscale="log", xlabel="threshold", ylabel="cost of a payment", ylim=(0, None))
ax.legend(frameon=False)
