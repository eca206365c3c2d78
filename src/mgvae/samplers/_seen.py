"""What a sampler knows of its data before it learns: columns, classes, and rows to make."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from imblearn.utils import check_sampling_strategy
from numpy.typing import NDArray

from mgvae.samplers._data import Data

__all__ = ["Seen", "rows_to_make"]


class Seen(NamedTuple):
    """What one pass over the data tells.

    Attributes
    ----------
    data : Data
        The kind of data; its codec is fitted.
    example : object
        The data's container without rows.
    classes : ndarray
        The labels, sorted.
    codes : ndarray of int
        The class of every row, as a position among the labels.
    new_rows : dict
        How many rows to make, by label.
    """

    data: Data
    example: Any
    classes: NDArray[Any]
    codes: NDArray[Any]
    new_rows: dict[Any, int]


def rows_to_make(strategy: Any, classes: NDArray[Any], codes: NDArray[Any]) -> dict[Any, int]:
    """Read ``sampling_strategy``: how many rows of each class it asks for.

    imbalanced-learn counts the labels by sorting them, which is slow for much text: it is given
    their codes.

    Examples
    --------
    >>> import numpy as np
    >>> rows_to_make({"b": 3}, np.array(["a", "b"]), np.array([0, 1, 0, 0]))
    {'b': 2}
    """
    kind = "over-sampling"
    if callable(strategy):
        return dict(check_sampling_strategy(strategy, classes[codes], kind))
    labels = dict(enumerate(classes))
    if isinstance(strategy, Mapping):
        place = {label: code for code, label in labels.items()}
        if any(label not in place or n < 0 for label, n in strategy.items()):
            check_sampling_strategy(strategy, classes, kind)  # raises, and names the label
        labels |= {place[label]: label for label in strategy}
        strategy = {place[label]: n for label, n in strategy.items()}
    wanted = check_sampling_strategy(strategy, codes, kind)
    return {labels[int(code)]: int(n) for code, n in wanted.items()}
