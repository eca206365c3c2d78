"""The class of each row, as users give it."""

from typing import Any

import numpy as np
from imblearn.utils import check_target_type
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from mgvae.errors import DataError

__all__ = ["read_target", "refuse_missing"]


def read_target(y: Any, name: str, *, declared: bool = False) -> tuple[NDArray[Any], bool]:
    """Return y as a 1-D array of labels, and whether it came as one column per class.

    What is declared to be classes need not look so.
    """
    if y is None:
        raise DataError(f"{name} requires y to be passed, but the target y is None.")
    if not isinstance(y, np.ndarray | list) and hasattr(y, "to_numpy"):
        y = np.asarray(y) if type(y).__module__ == "pyarrow.lib" else y.to_numpy()
    values = np.asarray(y, dtype=object).ravel().tolist()
    absent = sum(_is_missing(value) for value in values)
    if not values:
        raise DataError("y holds no label.")
    refuse_missing(absent)
    kinds = {type(value).__name__ for value in values}
    if "str" in kinds and len(kinds) > 1:
        raise DataError(f"y mixes labels of the types {sorted(kinds)}. Use one type.")
    if not declared:
        check_classification_targets(y)
    labels, one_vs_all = check_target_type(y, indicate_one_vs_all=True)
    labels = np.asarray(labels)
    if len(np.unique(labels)) < 2:
        raise DataError(
            f"y holds one class only ({labels[0]!r}), and the target needs to have more than 1 "
            "class to be balanced. Check that y is the right column."
        )
    return labels, bool(one_vs_all)


def refuse_missing(n: int) -> None:
    """Raise if some rows have no class."""
    if n:
        raise DataError(
            f"y has {n} missing labels, and a row without a class cannot be used. "
            "Drop these rows, or give them a class of their own."
        )


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
