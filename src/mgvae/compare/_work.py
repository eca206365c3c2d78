"""What a cell of a comparison does: one method with one classifier on one split.

Only training rows are shown to encoder, sampler and classifier, and thresholds are tuned by
cross-validation among them. A sampler that gives rows of the test part, which it cannot know, is
found out.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec import take_rows
from mgvae.compare._arms import Training, train_arm
from mgvae.compare._curves import curves
from mgvae.compare._scores import scores
from mgvae.errors import DataError, MGVAEError
from mgvae.experiments import Cell
from mgvae.experiments.tables import (
    LabelledTable,
    NumericEncoder,
    smallest_class,
)

__all__ = ["CrossValidation", "LeakError"]

Floats = NDArray[np.float64]

_KEPT = 5000  # test rows of a split whose probabilities are kept, for their spread over repeats


class LeakError(MGVAEError, RuntimeError):
    """A sampler gave rows that it must not know."""


@dataclass(frozen=True)
class CrossValidation:
    """The work of a comparison, to be handed to :func:`mgvae.experiments.run_cells`."""

    data: LabelledTable

    def __call__(self, cell: Cell) -> dict[str, Any]:
        """Work out one cell."""
        settings = cell.parameters
        split = settings["repeat"], settings["fold"]
        train, test = self.data.split(settings["folds"], cell.seed, *split)
        y, y_test = self.data.y[train], self.data.y[test]
        n_classes = int(self.data.y.max()) + 1
        if len(np.unique(y)) < n_classes or len(np.unique(y_test)) < n_classes:
            raise DataError(
                "a split has no row of some class on one of its sides. Lower folds, or form "
                "smaller groups."
            )
        X, X_test = take_rows(self.data.X, train), take_rows(self.data.X, test)
        groups = None if self.data.groups is None else self.data.groups[train]
        seeds = np.random.SeedSequence([cell.seed, *split]).generate_state(3)
        for_model, for_sampler, for_threshold = (int(seed) for seed in seeds)
        started = time.perf_counter()
        encoder = NumericEncoder(self.data.column_types).fit(X)
        Z, Z_test = encoder.transform(X), encoder.transform(X_test)
        training = Training(
            X, X_test, Z, Z_test, y, groups, encoder, settings["model"],
            (for_model, for_sampler, for_threshold), (cell.dataset, cell.seed, *split),
        )  # fmt: skip
        predict = train_arm(cell.method, training, lambda given: _check_leak(given, Z, Z_test))
        seconds = time.perf_counter() - started + sum(training.lent)
        predicted, probabilities = predict()
        rare = smallest_class(self.data.y)
        return {
            "metrics": scores(y_test, predicted, probabilities, rare),
            "curves": curves(y_test == rare, probabilities[:, rare]),
            "said": {
                "rows": test[:_KEPT].tolist(),
                "rare": np.round(probabilities[:_KEPT, rare], 4).tolist(),
            },
            "seconds": {"fit": round(seconds, 3)},
            "rows": {
                "train": np.bincount(y, minlength=n_classes).tolist(),
                "test": np.bincount(y_test, minlength=n_classes).tolist(),
            },
        }


def _check_leak(given: Floats, known: Floats, hidden: Floats) -> None:
    """Raise if rows were given that stand in the test part and not in the training part.

    Where a column is continuous that cannot be chance; in other tables it can, and nothing is said.
    """
    if not any(len(np.unique(column)) > 0.5 * len(column) for column in known.T):
        return
    seen, secret = _keys(known), _keys(hidden)
    new = [key for key in _keys_in_order(given) if key not in seen]
    leaked = sum(key in secret for key in new)
    if leaked > 1 + 0.01 * len(new):
        raise LeakError(
            f"the sampler gave {leaked} rows that stand in the test part and not in the training "
            "part: it has seen what it must not see, and its scores would mean nothing."
        )


def _keys_in_order(rows: Floats) -> list[bytes]:
    rows = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # -0 becomes 0
    return [row.tobytes() for row in rows]


def _keys(rows: Floats) -> set[bytes]:
    return set(_keys_in_order(rows))
