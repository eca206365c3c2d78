"""Experiments as cells that are worked out once, in several processes, and kept.

What :mod:`mgvae.compare` and the project that checks the paper's tables share: cells and their
results on disk, the runner, tables as numbers for classifiers, estimators by name, and tests.
"""

from mgvae.experiments.cells import Cell, distinct
from mgvae.experiments.runner import Outcome, Work, run_cells, waiting
from mgvae.experiments.store import Store, by_dataset

__all__ = ["Cell", "Outcome", "Store", "Work", "by_dataset", "distinct", "run_cells", "waiting"]
