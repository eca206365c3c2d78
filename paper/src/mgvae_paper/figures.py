"""Figures: what the models make, as the paper shows it, and how methods fare over many tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mgvae.common.atomic import atomic_write
from mgvae.errors import ParameterError
from mgvae_paper.data import DataSet, Split, split, split_dataset
from mgvae_paper.efficacy import gather
from mgvae_paper.efficacy_figures import EFFICACY_FIGURES
from mgvae_paper.grids import draw_spreads, gather_spreads
from mgvae_paper.methods import make_cell
from mgvae_paper.resampling import resample
from mgvae_paper.sampler import make_sampler, share_pretraining
from mgvae_paper.store import open_store
from mgvae_paper.tables import find_table

__all__ = ["FIGURES", "draw_figure"]

Images = NDArray[Any]  # (rows, columns, height, width), or with colours at the end
Panels = list[list[tuple[str, Images]]]

_ROWS, _COLUMNS = 8, 8


@dataclass(frozen=True)
class _Studio:
    """What a figure is made with."""

    budget: str
    data: Path | None
    cache: Path

    def parts(self, name: str) -> Split:
        return split(name, "paper", 0, self.data)

    def sampler(self, parameters: Mapping[str, Any]) -> Any:
        return share_pretraining(make_sampler(parameters, 0), parameters, self.cache)

    def parameters(self, name: str, method: str, **settings: Any) -> Any:
        return make_cell(name, method, "paper", budget=self.budget, settings=settings).parameters


def draw_figure(
    name: str,
    path: str | Path,
    *,
    budget: str,
    data: Path | None,
    cache: Path,
    results: Path = Path("results"),
) -> None:
    """Draw a figure.

    Parameters
    ----------
    name : str
        One of :data:`FIGURES` or :data:`mgvae_paper.efficacy_figures.EFFICACY_FIGURES`, or "grids".
    path : path
        The .png file to write.
    budget : {"full", "cpu"}
        Lengths of training.
    data : path or None
        Where data sets are.
    cache : path
        Where pre-trained models are kept.
    results : path
        Where results are, which the figures of many tables are drawn from.
    """
    if name in EFFICACY_FIGURES:
        EFFICACY_FIGURES[name](gather(find_table("efficacy"), open_store(results)), path)
        return
    if name == "grids":
        draw_spreads(gather_spreads(open_store(results)), path)
        return
    if name not in FIGURES:
        known = ", ".join([*FIGURES, "grids", *EFFICACY_FIGURES])
        raise ParameterError(f"there is no figure {name!r}; there are {known}.")
    _draw(FIGURES[name].panels(_Studio(budget, data, cache)), path)


def _pretraining(studio: _Studio) -> Panels:
    """Show samples at falling sizes of the minority, without and with pre-training."""
    panels: Panels = []
    for title, sizes, settings in (
        ("without pre-training", (3000, 300, 50), {"pretrain_steps": 0}),
        ("with pre-training", (300, 50, 10), {}),
    ):
        line = []
        for size in sizes:
            parts = split_dataset(DataSet("mnist", "image", size // 5), "paper", 0, studio.data)
            parameters = studio.parameters("mnist-100", "MGVAE", **settings)
            sampler = studio.sampler(parameters).fit(parts.X_train, parts.y_train)
            made = sampler.generate(_ROWS * _COLUMNS, 1, random_state=0)
            line.append((f"{title}, {size} images", _tiled(made)))
        panels.append(line)
    return panels


def _exemplars(family: str, studio: _Studio) -> Panels:
    """Show majority images in the first column and their translations to the right."""
    line = []
    for ratio in (600, 100):
        name = f"{family}-{ratio}"
        parts = studio.parts(name)
        sampler = studio.sampler(studio.parameters(name, "MGVAE"))
        sampler.fit(parts.X_train, parts.y_train)
        rows = np.random.default_rng(0).choice(np.flatnonzero(parts.y_train == 0), _ROWS)
        given = parts.X_train[np.sort(rows)]
        made = [sampler.translate(given, 1, random_state=seed) for seed in range(_COLUMNS - 1)]
        line.append((f"ratio {ratio}", np.stack([given, *made], axis=1)))
    return [line]


def _methods(family: str, studio: _Studio) -> Panels:
    """Show images that each method makes for the same minority."""
    panels: Panels = []
    for ratio in (600, 100):
        name = f"{family}-{ratio}"
        parts = studio.parts(name)
        line = []
        for method in ("SMOTE", "OCVAE", "MGVAE"):
            parameters = studio.parameters(name, method)
            X = resample(parts.X_train, parts.y_train, parameters, 0, studio.cache).X
            new = X[len(parts.X_train) :]
            shown = np.random.default_rng(0).choice(len(new), _ROWS * _COLUMNS, replace=False)
            line.append((f"{method}, ratio {ratio}", _tiled(new[shown])))
        panels.append(line)
    return panels


def _faces(studio: _Studio) -> Panels:
    """Show faces that each method makes, one hair colour a row; no photograph is among them."""
    line = []
    for method in ("OCVAE", "OCDCGAN", "MGVAE"):
        cell = make_cell("celeba-100", method, "clean", budget=studio.budget)
        size = cell.parameters.get("image_size", 64)
        parts = split("celeba-100", "clean", 0, studio.data, size=size)
        sampler = studio.sampler(cell.parameters).fit(parts.X_train, parts.y_train)
        rare = np.unique(parts.y_train[parts.y_train != sampler.majority_])
        made = [sampler.generate(_COLUMNS, int(code), random_state=0) for code in rare]
        line.append((method, np.stack(made)))
    return [line]


@dataclass(frozen=True)
class _Figure:
    """How a figure is made, and what it shows."""

    panels: Callable[[_Studio], Panels]
    caption: str


_EXEMPLARS = "Majority images (first column) and minority images translated from each."
_METHODS = "What each method makes for the same minority images."

FIGURES: dict[str, _Figure] = {
    "pretraining": _Figure(
        _pretraining, "Minority images made from fewer and fewer real ones, as named above each."
    ),
    **{
        f"exemplars-{family}": _Figure(partial(_exemplars, family), _EXEMPLARS)
        for family in ("mnist", "fashionmnist")
    },
    **{
        f"methods-{family}": _Figure(partial(_methods, family), _METHODS)
        for family in ("mnist", "fashionmnist")
    },
    "methods-celeba": _Figure(
        _faces, "Faces that each method makes, one rare hair colour a row; no photograph is shown."
    ),
}
"""Every figure of the paper by name."""


def _tiled(images: NDArray[Any]) -> Images:
    return images.reshape(_ROWS, _COLUMNS, *images.shape[1:])


def _draw(panels: Panels, path: str | Path) -> None:

    columns = max(len(line) for line in panels)
    figure = Figure(figsize=(3.2 * columns, 3.4 * len(panels)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(panels), columns, squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for line, places in zip(panels, grid, strict=True):
        for (title, images), axes in zip(line, places, strict=False):
            rows, across, height, width, *colours = images.shape
            picture = images.swapaxes(1, 2).reshape(rows * height, across * width, *colours)
            axes.imshow(picture, cmap="gray_r", interpolation="nearest")
            axes.set_title(title, fontsize=9)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=120, metadata={"Software": None})
