"""Draw the pictures of docs/images.md and measure what they show.

Run: ``MGVAE_DATA=... python examples/image_grids.py mnist-100 mnist-600 celeba tiles``. MNIST and
the tiles take some minutes a picture on one core, CelebA about half an hour. The folder holds
``mnist/`` (the four idx files), ``celeba/`` in its original layout and ``magnetic_tile/``; the last
two are read by the project in ``paper/``. CelebA's licence forbids passing photographs on: there
the first columns are the pre-trained model's draws. Of the tiles only new images are shown.

For MNIST it prints how many of 5,000 translations a judge (a classifier trained on all digits) sees
as 5-9, how the slant and the ink of a translation go with those of its source, and how far new
images are from the nearest minority image that the model has seen, beside the same for real images
that it has not seen.
"""

import argparse
import gzip
import os
import time
from pathlib import Path

import numpy as np

from mgvae import MGVAE, TorchClassifier
from mgvae.images import grid

ROWS, COLUMNS, JUDGED = 2, 14, 5000


def read_mnist(folder, part):
    """Return images and digits of the ``train`` or ``t10k`` part."""
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        return images, np.frombuffer(file.read(), np.uint8, offset=8)


def slant_and_ink(images):
    """Return the shear of each image about its centre, and the sum of its pixels."""
    y, x = np.mgrid[:28, :28]
    ink = images.sum((1, 2)) + 1e-9
    dx = x - ((images * x).sum((1, 2)) / ink)[:, None, None]
    dy = y - ((images * y).sum((1, 2)) / ink)[:, None, None]
    return -(images * dx * dy).sum((1, 2)) / (images * dy**2).sum((1, 2)), ink


def nearest(images, seen):
    """Return the mean squared distance to the nearest image seen."""
    a, b = (part.reshape(len(part), -1) for part in (images, seen))
    squared = (a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1)
    return squared.min(1).mean()


def mnist(data, kept, path):
    """Draw and judge translations of 0-4 to 5-9, learned from ``kept`` images of each of 5-9."""
    X, digit = read_mnist(data / "mnist", "train")
    first = [np.flatnonzero(digit == d)[:kept] for d in range(5, 10)]
    rows = np.concatenate([np.flatnonzero(digit < 5), *first])
    images, digits = X[rows], digit[rows]
    sampler = MGVAE(random_state=0).fit(images, np.where(digits < 5, "0-4", "5-9"))
    rng = np.random.default_rng(0)
    shown = [rng.choice(np.flatnonzero(digits == d), ROWS, replace=False) for d in range(5)]
    picture = grid(sampler, images[np.concatenate(shown)], columns=COLUMNS)
    picture.convert("L").save(path, optimize=True)

    sources = images[rng.choice(np.flatnonzero(digits < 5), JUDGED, replace=False)] / 255.0
    made = sampler.translate((sources * 255).astype(np.uint8), "5-9", random_state=1) / 255.0
    judge = TorchClassifier(epochs=10, random_state=0)
    judge.fit(X.reshape(len(X), -1).astype(np.float32) / 255, digit)
    X_test, digit_test = read_mnist(data / "mnist", "t10k")
    right = judge.score(X_test.reshape(len(X_test), -1).astype(np.float32) / 255, digit_test)
    seen = judge.predict(made.reshape(JUDGED, -1).astype(np.float32))
    share = np.bincount(seen, minlength=10)[5:] / JUDGED
    (slant, ink), (slant_made, ink_made) = slant_and_ink(sources), slant_and_ink(made)
    minority, unseen = images[digits >= 5] / 255.0, X_test[digit_test >= 5][:500] / 255.0
    print(
        f"judge {100 * right:.1f} % right; sees 5-9 in {100 * (seen >= 5).mean():.0f} % "
        f"({', '.join(f'{100 * s:.0f}' for s in share)}); slant correlation "
        f"{np.corrcoef(slant, slant_made)[0, 1]:.2f}, ink {np.corrcoef(ink, ink_made)[0, 1]:.2f}; "
        f"distance to the nearest minority image {nearest(made[:500], minority):.0f}, "
        f"from a new real one {nearest(unseen, minority):.0f}"
    )


def celeba(data, path):
    """Draw generated faces: black hair, then translations to four other hair colours."""
    from mgvae_paper.celeba import load_celeba

    train = load_celeba(data / "celeba")
    many = int((train.labels == "black").sum())
    sampler = MGVAE(
        augment=None,
        random_state=0,
        pretrain_steps=3500,
        finetune_steps=350,
        temperature=0.7,
        sampling_strategy=dict.fromkeys(np.unique(train.labels).tolist(), many + 1),
    ).fit(train.images, train.labels)
    chosen = np.random.default_rng(3).choice(np.flatnonzero(train.labels == "black"), 8, False)
    labels = ["black", "blond", "bald", "brown", "gray"]
    grid(sampler, train.images[chosen], labels=labels, columns=3, reference=False).save(path)


def tiles(data, path):
    """Draw new photographs of magnetic tiles, one row for each kind of defect."""
    from PIL import Image

    from mgvae_paper.sources import find_tiles
    from mgvae_paper.tiles import CLASSES, load_tiles

    found = load_tiles(find_tiles(data))
    labels = np.array(CLASSES)[found.y]
    started = time.process_time()
    sampler = MGVAE(random_state=0).fit(found.X, labels)
    print(f"tiles: fitted in {time.process_time() - started:.0f} s of CPU time", flush=True)
    rows = [np.hstack(sampler.generate(COLUMNS, label, random_state=1)) for label in CLASSES[1:]]
    Image.fromarray(np.vstack(rows)).save(path, optimize=True)


def main():
    """Draw the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "pictures", nargs="+", choices=["mnist-100", "mnist-600", "celeba", "tiles"]
    )
    parser.add_argument("--output", type=Path, default=Path("docs/pictures"))
    options = parser.parse_args()
    data = Path(os.environ["MGVAE_DATA"])
    for name in options.pictures:
        started = time.process_time()
        if name == "celeba":
            celeba(data, options.output / "celeba-generated.png")
        elif name == "tiles":
            tiles(data, options.output / "tiles-generated.png")
        else:
            mnist(data, {"mnist-100": 60, "mnist-600": 10}[name], options.output / f"{name}.png")
        print(f"{name}: {time.process_time() - started:.0f} s of CPU time", flush=True)


if __name__ == "__main__":
    main()
