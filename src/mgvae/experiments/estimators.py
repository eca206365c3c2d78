"""Classifiers, samplers and classes by name."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTE, SMOTEN, SMOTENC, RandomOverSampler
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from mgvae.errors import ParameterError
from mgvae.samplers import CVAE, MGVAE

__all__ = ["CLASSIFIERS", "load_class", "make_classifier", "make_oversampler"]

CLASSIFIERS = ("logistic", "random_forest", "lightgbm", "knn", "mlp")
"""The classifiers that have a name."""


def load_class(path: str) -> Any:
    """Import a class by ``package.module:Class``.

    Examples
    --------
    >>> load_class("imblearn.over_sampling:SMOTE").__name__
    'SMOTE'
    """
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            f"the method {path!r} cannot be imported ({error}). Name it as package.module:Class."
        ) from error


def make_classifier(name: str, seed: int) -> Any:
    """Make a classifier; all of its randomness comes from the seed.

    Examples
    --------
    >>> make_classifier("knn", 0)
    KNeighborsClassifier()
    """
    if name == "logistic":
        return LogisticRegression(max_iter=1000)
    if name == "random_forest":
        return RandomForestClassifier(100, min_samples_leaf=2, random_state=seed)
    if name == "knn":
        return KNeighborsClassifier()
    if name == "mlp":
        return MLPClassifier(max_iter=300, random_state=seed)
    if name == "lightgbm":
        if find_spec("lightgbm") is None:
            raise ParameterError("the model lightgbm needs its package: pip install lightgbm.")
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            random_state=seed, n_jobs=1, deterministic=True, force_row_wise=True, verbose=-1
        )
    return _seeded(load_class(name), seed)


def make_oversampler(
    name: str, seed: int, y: NDArray[np.int64], categorical: NDArray[np.bool_]
) -> Any:
    """Make a sampler for training rows that are numbers, some of them codes of categories.

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
    >>> make_oversampler("SMOTE", 0, np.array([0] * 9 + [1] * 3), np.array([False])).k_neighbors
    2
    """
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
        return {"CVAE": CVAE, "MGVAE": MGVAE}[name](random_state=seed)
    return _seeded(load_class(name), seed)


def _seeded(made: Any, seed: int) -> Any:
    estimator = made()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    return estimator
