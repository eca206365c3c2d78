"""Draw the figures of the landing page and of the guide.

Run: ``python docs/figures/draw.py``. Everything is drawn from generated data; the digits of the
front picture are cut out of pictures/mnist-100.png, the first images of each digit with their first
translations, as they come.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from mgvae import MGVAE

HERE = Path(__file__).resolve().parent
MANY, FEW, NEW = "#7f9bb8", "#c2410c", "#f59e0b"  # majority, minority, new rows
INK = {"light": "#1f2937", "dark": "#e5e7eb"}


def save(figure, name, look):
    """Save one look of a figure without a background."""
    figure.savefig(HERE / f"{name}-{look}.png", dpi=160, transparent=True, bbox_inches="tight")
    plt.close(figure)


def each_look(draw):
    """Draw a figure for light and for dark pages."""
    for look, ink in INK.items():
        with mpl.rc_context(
            {
                "text.color": ink, "axes.edgecolor": ink, "axes.labelcolor": ink,
                "xtick.color": ink, "ytick.color": ink, "legend.labelcolor": ink,
                "legend.frameon": False, "axes.facecolor": "none", "font.size": 11,
                "axes.spines.top": False, "axes.spines.right": False,
            }
        ):  # fmt: skip
            save(draw(ink), draw.__name__, look)


def cells(rows, columns):
    """Cut majority digits and their translations out of the picture of docs/images.md."""
    picture = plt.imread(HERE.parent / "pictures" / "mnist-100.png")
    picture = picture if picture.ndim == 2 else picture[..., 0]
    for row in rows:
        top = 20 + 58 * row
        yield [
            picture[top : top + 56, left : left + 56]
            for left in (6, *(70 + 58 * np.arange(columns)))
        ]


def bow():
    """Return a table of two columns, 400 majority rows and 12 minority rows, and new ones."""
    rng = np.random.default_rng(1)
    place = rng.uniform(-1.3, 1.3, 412)
    X = np.stack([place, -(place**2)], axis=1) + rng.normal(0, 0.11, (412, 2))
    X[400:] += [0.55, -1.0]
    y = np.repeat([0, 1], [400, 12])
    sampler = MGVAE(random_state=0, sampling_strategy={1: 162})
    return X, y, sampler.fit_resample(X, y)[0][len(X) :]


def front(ink):
    """Draw digits and their translations beside a table and its new rows."""
    figure = plt.figure(figsize=(9.6, 3.5))
    left, right = figure.add_gridspec(1, 2, width_ratios=[1.15, 1], wspace=0.12)
    grid = left.subgridspec(5, 8, wspace=0.06, hspace=0.06, width_ratios=[1, 0.45, *[1] * 6])
    for row, images in enumerate(cells([0, 2, 4, 6, 8], 6)):
        for column, image in zip([0, *range(2, 8)], images, strict=True):
            axes = figure.add_subplot(grid[row, column])
            axes.imshow(image, cmap="gray")
            axes.set_axis_off()
            if row == 0 and column in (0, 4):
                words = "majority" if column == 0 else "translated to the minority 5–9"
                axes.set_title(words, fontsize=10, loc="center")
        arrow = figure.add_subplot(grid[row, 1])
        arrow.set_axis_off()
        arrow.annotate("", (1, 0.5), (0, 0.5), arrowprops={"arrowstyle": "->", "color": ink})
    X, y, new = bow()
    axes = figure.add_subplot(right)
    axes.scatter(*X[y == 0].T, s=9, c=MANY, alpha=0.6, label="400 majority rows", lw=0)
    axes.scatter(*new.T, s=13, c=NEW, label="150 new rows", lw=0)
    axes.scatter(*X[y == 1].T, s=42, c=FEW, label="12 minority rows", ec="white", lw=0.8)
    axes.set_axis_off()
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=3, fontsize=10,
                handletextpad=0.1, columnspacing=1.0)  # fmt: skip
    return figure


def bridge(ink):
    """Draw how one new row of a table is made."""
    figure, axes = plt.subplots(figsize=(8.4, 3.6))
    cloud = np.random.default_rng(4).normal([-0.4, -0.6], [1.2, 0.5], (70, 2))
    anchor, guide, other = np.array([5.0, 1.3]), np.array([0.9, -0.2]), np.array([0.2, 0.75])
    stop = anchor + 0.4 * (guide - anchor)
    new = stop + 0.7 * (other - guide)
    axes.scatter(*cloud.T, s=14, c=MANY, alpha=0.5, lw=0)
    axes.scatter(*np.array([guide, other]).T, s=60, c=MANY, ec=ink, lw=1)
    axes.scatter(*anchor, s=90, c=FEW, ec="white")
    axes.scatter(*new, s=90, c=NEW, ec="white", zorder=3)
    line = {"arrowstyle": "->", "color": ink, "lw": 1.5, "shrinkA": 5, "shrinkB": 4}
    axes.plot(*np.array([stop, guide]).T, ":", color=ink, lw=1)
    axes.annotate("", stop, anchor, arrowprops=line)
    axes.annotate("", new, stop, arrowprops=line | {"shrinkA": 0})
    axes.annotate("", other, guide, arrowprops=line)
    for place, shift, words, side in (
        (anchor, (0.15, 0.1), "$m$, a real minority row", "left"),
        (guide, (0.15, -0.3), "$n$, a majority row near $m$", "left"),
        (other, (-0.1, 0.3), "$k$, a neighbour of $n$", "right"),
        (new, (-0.05, 0.3), "the new row", "center"),
        ((anchor + stop) / 2, (0.15, -0.3), "1. part of the way to $n$", "left"),
        ((stop + new) / 2, (-0.2, -0.35), "2. as $k$ differs from $n$", "right"),
    ):
        axes.text(*np.add(place, shift), words, ha=side, va="center")
    axes.set_axis_off()
    axes.set(xlim=(-3.4, 7.6), ylim=(-1.7, 2.1))
    return figure


def threshold(ink):
    """Draw one classifier's probabilities, and what three thresholds make of them."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (9500, 1)), rng.normal(1.8, 1, (500, 1))])
    y = np.repeat([0, 1], [9500, 500])
    said = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    figure, axes = plt.subplots(figsize=(7.2, 3.2))
    bins = np.linspace(0, 1, 41)
    for label, colour, words in ((0, MANY, "majority, 95 %"), (1, FEW, "minority, 5 %")):
        axes.hist(said[y == label], bins, color=colour, alpha=0.6, density=True, label=words)
    axes.set(xlabel="probability of the minority, as the classifier says", yscale="log", yticks=[])
    axes.minorticks_off()
    axes.spines["left"].set_visible(False)
    for place, top in ((0.05, 260), (0.5, 260)):
        caught, spared = (said[y == 1] >= place).mean(), (said[y == 0] < place).mean()
        axes.axvline(place, color=ink, ls="--", lw=1, ymax=1)
        words = f"decide at {place}:\n{100 * caught:.0f} % of the minority,\n"
        words += f"{100 * spared:.0f} % of the majority right"
        axes.text(place + 0.01, top, words, va="top", fontsize=10)
    axes.set_ylim(top=300)
    axes.legend(loc="upper right", bbox_to_anchor=(1, 0.75))
    return figure


if __name__ == "__main__":
    for figure_of in (front, bridge, threshold):
        each_look(figure_of)
