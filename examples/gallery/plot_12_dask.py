"""
Many rows with Dask
===================

A fitted sampler makes any part of its rows on its own: part ``i`` of ``k`` is the same wherever and
whenever it is made. So a cluster makes them, here two threads that stand in for it.
"""

import dask
import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mgvae import MGVAE

rng = np.random.default_rng(0)
payments = pd.DataFrame(
    {"amount": rng.lognormal(3, 1, 3000).round(2), "hour": rng.integers(0, 24, 3000)}
)
fraud = np.arange(3000) >= 2900
payments.loc[fraud, "amount"] = rng.lognormal(5, 0.6, 100).round(2)
payments.loc[fraud, "hour"] = rng.normal(3, 2, 100).round().astype(int) % 24
sampler = MGVAE(random_state=0, ewc_weight=1.0).fit(payments, fraud)

# %%
# Nothing is made before Dask asks for a part.
n, k = 200_000, 8


def make(i):
    """Make part i of k."""
    return sampler.generate(n, label=True, random_state=0, partition=(i, k))


rows = dd.from_map(make, range(k), meta=sampler.generate(0, label=True))
with dask.config.set(scheduler="threads", num_workers=2):
    by_hour = rows.groupby("hour")["amount"].agg(["count", "mean"]).compute().sort_index()

# %%
real = payments[fraud].groupby("hour")["amount"].agg(["count", "mean"])
fig, axes = plt.subplots(2, 1, figsize=(7.5, 4.6), sharex=True)
for ax, column, title in ((axes[0], "count", "share of frauds"), (axes[1], "mean", "mean amount")):
    for found, name, colour in (
        (by_hour, f"{n:,} new frauds", "#f59e0b"),
        (real, "100 real frauds", "#c2410c"),
    ):
        values = found[column] / found[column].sum() if column == "count" else found[column]
        ax.plot(values.index, values, "o-", c=colour, label=name)
    ax.set_ylabel(title)
axes[0].legend(frameon=False)
axes[1].set_xlabel("hour of the day")
