"""Twenty eights and what is made of them: ``MGVAE_DATA=... python examples/few_images.py OUT.png``.

400 threes and 20 eights of MNIST, all defaults. The first row shows the eights learned from, the
others 60 new ones.
"""

import sys

import numpy as np
from PIL import Image

from mgvae import MGVAE
from mgvae_paper.sources import read_source

_COLUMNS, _TILE, _GAP = 20, 30, 6


def main(output: str) -> None:
    """Fit, generate and draw."""
    source = read_source("mnist")
    learnable = np.where(source.test, -1, source.y)
    threes, eights = np.flatnonzero(learnable == 3)[:400], np.flatnonzero(learnable == 8)[:20]
    X, y = source.X[np.concatenate([threes, eights])], np.repeat([3, 8], [400, 20])
    made = MGVAE(random_state=0).fit_resample(X, y)[0][len(X) :]
    shown = np.concatenate([X[400:], made[:60]])
    rows = len(shown) // _COLUMNS
    picture = Image.new("L", (_COLUMNS * _TILE, rows * _TILE + _GAP), 255)
    for i, image in enumerate(shown):
        row, column = divmod(i, _COLUMNS)
        picture.paste(Image.fromarray(image), (column * _TILE, row * _TILE + _GAP * (row > 0)))
    picture.resize((2 * picture.width, 2 * picture.height)).save(output)


if __name__ == "__main__":
    main(sys.argv[1])
