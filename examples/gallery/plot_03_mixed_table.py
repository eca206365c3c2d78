"""
A table with everything in it
=============================

Amounts, whole numbers, categories, dates, flags and missing cells: new rows keep to every column.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.dates import YearLocator
from matplotlib.ticker import MaxNLocator

from mgvae import MGVAE

rng = np.random.default_rng(0)
n = 1200
bad = np.arange(n) >= 1140
loans = pd.DataFrame(
    {
        "amount": rng.lognormal(np.where(bad, 9.2, 8.4), 0.6, n).round(2),
        "children": rng.poisson(np.where(bad, 2.0, 1.0), n),
        "purpose": np.where(
            bad, rng.choice(["car", "house", "study"], n, p=[0.7, 0.1, 0.2]),
            rng.choice(["car", "house", "study"], n, p=[0.3, 0.5, 0.2]),
        ),
        "since": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1200, n), unit="D"),
        "score": np.where(rng.random(n) < 0.1, np.nan, rng.normal(np.where(bad, 560, 640), 40, n)),
        "online": rng.random(n) < np.where(bad, 0.8, 0.4),
    }
)  # fmt: skip
default = pd.Series(np.where(bad, "yes", "no"), name="default")

# %%
# Types, decimals and categories of the new rows are those of the table.
sampler = MGVAE(random_state=0)
balanced, labels = sampler.fit_resample(loans, default)
new = balanced.iloc[n:]
assert (balanced.dtypes == loans.dtypes).all()
new.head()

# %%
# What each column was taken for:
for column in sampler.codec_.describe():
    print(column)

# %%
# Column by column, the new rows follow the rare class.
fig, axes = plt.subplots(2, 3, figsize=(9.5, 5))
groups = {"good loans": loans[~bad], "bad loans": loans[bad], "new bad loans": new}
colours = ["#7f9bb8", "#c2410c", "#f59e0b"]
for ax, column in zip(axes.flat, loans.columns, strict=True):
    for (name, rows), colour in zip(groups.items(), colours, strict=True):
        if column in ("purpose", "online", "children"):
            share = rows[column].value_counts(normalize=True).sort_index()
            places = share.index if column == "children" else share.index.astype(str)
            ax.plot(places, share, "o-", c=colour, label=name)
        else:
            seen = rows[column].dropna()
            ax.hist(seen, 25, density=True, histtype="step", lw=1.6, color=colour, label=name)
    ax.set(title=column, yticks=[])
axes[1, 0].xaxis.set_major_locator(YearLocator())
axes[0, 0].xaxis.set_major_locator(MaxNLocator(3))
axes[0, 0].legend(frameon=False, fontsize=9)
