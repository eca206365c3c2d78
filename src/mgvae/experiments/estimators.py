"""Classifiers and treatments of imbalance by name."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.bench.methods import load_class
from mgvae.errors import ParameterError

__all__ = ["METHODS", "MODELS", "UNTREATED", "check_names", "make_model", "make_sampler"]

UNTREATED = ("nothing", "tuned threshold", "class weights")
"""The methods that add no row."""

METHODS = (*UNTREATED, "ROS", "SMOTE", "CVAE", "MGVAE")
"""The methods that are compared unless others are named."""

MODELS = ("logistic", "random_forest", "lightgbm", "knn", "mlp")
"""The classifiers that have a name."""


def check_names(models: list[str], methods: list[str]) -> None:
    """Raise if a name is not known."""
    for kind, given, known in (("model", models, MODELS), ("method", methods, METHODS)):
        if not given:
            raise ParameterError(f"{kind}s must name at least one of {', '.join(known)}.")
        for name in given:
            if ":" in name:
                load_class(name)
            elif name not in known:
                raise ParameterError(
                    f"there is no {kind} {name!r}; there are {', '.join(known)}, and any class "
                    "named as package.module:Class."
                )


def make_model(name: str, seed: int) -> Any:
    """Make a classifier; all of its randomness comes from the seed.

    Examples
    --------
    >>> make_model("knn", 0)
    KNeighborsClassifier()
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier

    if name == "logistic":
        return LogisticRegression(max_iter=1000)
    if name == "random_forest":
        return RandomForestClassifier(100, min_samples_leaf=2, random_state=seed)
    if name == "knn":
        return KNeighborsClassifier()
    if name == "mlp":
        return MLPClassifier(max_iter=300, random_state=seed)
    if name == "lightgbm":
        if not _has_lightgbm():
            raise ParameterError("the model lightgbm needs its package: pip install lightgbm.")
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            random_state=seed, n_jobs=1, deterministic=True, force_row_wise=True, verbose=-1
        )
    return _seeded(load_class(name), seed)


def make_sampler(name: str, seed: int, y: NDArray[np.int64], categorical: NDArray[np.bool_]) -> Any:
    """Make a sampler for training rows.

    Parameters
    ----------
    name : str
        The method.
    seed : int
        Decides all of its randomness.
    y : ndarray of int
        The classes of the rows.
    categorical : ndarray of bool
        Which columns are categories.

    Examples
    --------
    >>> make_sampler("SMOTE", 0, np.array([0] * 9 + [1] * 3), np.array([False])).k_neighbors
    2
    """
    from imblearn.over_sampling import SMOTE, SMOTEN, SMOTENC, RandomOverSampler

    if name == "ROS":
        return RandomOverSampler(random_state=seed)
    if name == "SMOTE":
        k = max(1, min(5, int(np.bincount(y).min()) - 1))
        if categorical.all():
            return SMOTEN(k_neighbors=k, random_state=seed)
        if categorical.any():
            places = np.flatnonzero(categorical)
            return SMOTENC(places.tolist(), k_neighbors=k, random_state=seed)
        return SMOTE(k_neighbors=k, random_state=seed)
    if name in ("CVAE", "MGVAE"):
        import mgvae

        return getattr(mgvae, name)(random_state=seed)
    return _seeded(load_class(name), seed)


def _seeded(made: Any, seed: int) -> Any:
    estimator = made()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    return estimator


def _has_lightgbm() -> bool:
    from importlib.util import find_spec

    return find_spec("lightgbm") is not None
