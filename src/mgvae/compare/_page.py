"""What the page of a comparison shows: curves averaged over the splits, and differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.compare._curves import COSTS, GRID

__all__ = ["Band", "bands"]

_SMOOTH = 20  # rows that a bin of probabilities needs to be drawn


@dataclass(frozen=True)
class Band:
    """A curve with the band that the splits leave.

    Parameters
    ----------
    xs, ys : list of float
        The mean over the splits.
    low, high : list of float
        Its band: a standard deviation to each side.
    """

    xs: list[float]
    ys: list[float]
    low: list[float]
    high: list[float]


def bands(
    splits: Mapping[str, Sequence[Mapping[str, list[float]]]], share: float
) -> dict[str, dict[str, Band]]:
    """Average the curves of every method.

    Parameters
    ----------
    splits : mapping of str to sequence of mapping
        By method, the curves of every split.
    share : float
        The share of the rare class, for the costs of deciding without a model.

    Returns
    -------
    bands : dict of str to dict of str to Band
        By picture (``"roc"``, ``"precision"``, ``"calibration"``, ``"cost"``) and method. Costs are
        given as parts of what it costs to always decide for the cheaper class; their x is the
        logarithm to base 10 of how many false alarms a missed row costs.
    """
    found: dict[str, dict[str, Band]] = {"roc": {}, "precision": {}, "calibration": {}, "cost": {}}
    costs = np.asarray(COSTS)
    without = np.minimum(share * costs, 1 - share)
    for method, curves in splits.items():
        for name in ("roc", "precision"):
            found[name][method] = _band(GRID, np.array([curve[name] for curve in curves]))
        cost = np.array([curve["cost"] for curve in curves]) / without
        found["cost"][method] = _band(np.log10(costs).tolist(), cost)
        found["calibration"][method] = _calibration(curves)
    return found


def _band(xs: list[float], values: NDArray[np.float64]) -> Band:
    mean, reach = values.mean(0), values.std(0)
    return Band(xs, mean.tolist(), (mean - reach).tolist(), (mean + reach).tolist())


def _calibration(curves: Sequence[Mapping[str, Any]]) -> Band:
    """Pool the bins of all splits; the band is that of a share of so many rows."""
    rows, rare, said = (
        np.sum([curve[name] for curve in curves], axis=0) for name in ("rows", "rare", "said")
    )
    drawn = rows >= _SMOOTH
    rows, rare, said = rows[drawn], rare[drawn], said[drawn]
    share = rare / rows
    reach = np.sqrt(share * (1 - share) / rows)
    return Band(
        (said / rows).tolist(),
        share.tolist(),
        (share - reach).tolist(),
        (share + reach).tolist(),
    )
