"""Balance scikit-learn's digits with MGVAE and see what it is worth.

Run: ``make demo``, or ``python examples/demo.py``. The digits 0-4 are the majority; of the digits
5-9 only a few are kept, and told from the majority as one minority class. The same classifier is
trained on the data as they are, and balanced by random over-sampling, by SMOTE and by MGVAE.
"""

import argparse
from pathlib import Path

import numpy as np
from imblearn.over_sampling import SMOTE, RandomOverSampler
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mgvae import MGVAE
from mgvae.metrics import accuracy, acsa, geometric_mean

KEPT, DRAWS = 8, 3  # images kept of each minority digit; random draws of them


def thinned(seed):
    """Return digits with few 5-9 to learn from, and all digits to test on."""
    X, digit = load_digits(return_X_y=True)
    parts = train_test_split(X, digit, test_size=0.5, stratify=digit, random_state=seed)
    X_train, X_test, digit_train, digit_test = parts
    rng = np.random.default_rng(seed)
    kept = [np.flatnonzero(digit_train < 5)]
    kept += [
        rng.choice(np.flatnonzero(digit_train == d), KEPT, replace=False) for d in range(5, 10)
    ]
    rows = np.concatenate(kept)
    return X_train[rows], digit_train[rows] >= 5, X_test, digit_test >= 5


def samplers(seed):
    """Name the ways to balance."""
    return {
        "nothing": None,
        "random over-sampling": RandomOverSampler(random_state=seed),
        "SMOTE": SMOTE(random_state=seed),
        "MGVAE": MGVAE(random_state=seed, sample_shape=(8, 8), pretrain_steps=2000),
    }


def draw_translations(path, seed=0):
    """Draw rows of one majority digit followed by the minority digits made from it."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    X, y, _, _ = thinned(seed)
    sampler = samplers(seed)["MGVAE"].fit(X, y)
    chosen = np.random.default_rng(seed).choice(np.flatnonzero(~y), 8, replace=False)
    made = [sampler.translate(X[chosen], label=True, random_state=s) for s in range(9)]
    figure, axes = plt.subplots(8, 10, figsize=(6, 5))
    for row in range(8):
        for column in range(10):
            image = X[chosen[row]] if column == 0 else made[column - 1][row]
            axes[row, column].imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
            axes[row, column].set_axis_off()
    axes[0, 0].set_title("majority", fontsize=8)
    axes[0, 5].set_title("its translations to the minority (5-9)", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main():
    """Run the comparison, print the table, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo/translations.png"))
    path = parser.parse_args().output
    console = Console()
    scores = {name: [] for name in samplers(0)}
    with Progress(console=console) as progress:
        task = progress.add_task("balancing and classifying", total=DRAWS * len(scores) + 1)
        for seed in range(DRAWS):
            X, y, X_test, y_test = thinned(seed)
            for name, sampler in samplers(seed).items():
                data = (X, y) if sampler is None else sampler.fit_resample(X, y)
                model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
                found = model.fit(*data).predict(X_test)
                scores[name].append(
                    [metric(y_test, found) for metric in (accuracy, acsa, geometric_mean)]
                )
                progress.advance(task)
        draw_translations(path)
        progress.advance(task)
    table = Table(title=f"digits 0-4 against {5 * KEPT} of 5-9, mean of {DRAWS} draws, in %")
    for heading in ("balanced by", "B-ACC", "ACSA", "GM"):
        table.add_column(heading, justify="left" if heading == "balanced by" else "right")
    for name, values in scores.items():
        table.add_row(name, *[f"{100 * value:.1f}" for value in np.mean(values, axis=0)])
    console.print(table)
    console.print(f"wrote {path}")


if __name__ == "__main__":
    main()
