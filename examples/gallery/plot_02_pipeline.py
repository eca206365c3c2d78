"""
Pipeline and grid search
========================

A sampler belongs inside of a pipeline: then only training rows are resampled, and the rows that
judge the model stay as they are. Its parameters are searched like all others.
"""

import matplotlib.pyplot as plt
import pandas as pd
from imblearn.pipeline import Pipeline
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from mgvae import MGVAE

X, y = make_classification(
    800, 8, n_informative=5, weights=[0.93], flip_y=0.02, class_sep=0.8, random_state=1
)

# %%
# How large should the smaller class become, as a share of the larger one?
model = Pipeline(
    [
        ("scale", StandardScaler()),
        ("balance", MGVAE(random_state=0, pretrain_steps=100, finetune_steps=60, ewc_weight=1.0)),
        ("classify", LogisticRegression()),
    ]
)
search = GridSearchCV(
    model,
    {"balance__sampling_strategy": [0.1, 0.3, 1.0]},
    scoring=["balanced_accuracy", "average_precision"],
    refit="average_precision",
    cv=3,
)
search.fit(X, y)

# %%
# Two scores, two answers. Balanced accuracy is taken at a threshold of 0.5 and wants balance.
# Average precision looks at the order of the rows only, and does not.
found = pd.DataFrame(search.cv_results_)
share = found["param_balance__sampling_strategy"].astype(float)
fig, axes = plt.subplots(1, 2, figsize=(8, 3.4))
for ax, score in zip(axes, ["balanced_accuracy", "average_precision"], strict=True):
    ax.errorbar(
        share, found[f"mean_test_{score}"], found[f"std_test_{score}"], marker="o", c="#c2410c"
    )
    ax.set(title=score.replace("_", " "), xlabel="rows of the smaller class, per row of the larger")
