"""How much each class counts while a network learns.

Weights, losses and a sampler show the network other shares of the classes than the data have. Its
probabilities are right for the shares that were shown.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mgvae.classifiers.priors import class_shares
from mgvae.common.shown import shown
from mgvae.errors import ParameterError
from mgvae.losses import class_weights

__all__ = ["trained_shares", "weights_by_class"]

_MOST = float(np.finfo(np.float64).max)

_Scheme = Literal["inverse", "effective"]
_BY_LOSS: dict[str, _Scheme] = {"rw": "inverse", "cbrw": "effective"}
_BY_WORD: dict[str, _Scheme] = {"balanced": "inverse", "effective": "effective"}


def weights_by_class(
    loss: Any,
    class_weight: Mapping[Any, float] | str | None,
    counts: NDArray[np.float64],
    classes: NDArray[Any],
) -> NDArray[np.float64]:
    """Return the weight of each class, by the loss and by what the user says.

    Parameters
    ----------
    loss : str or torch.nn.Module
        ``"rw"`` and ``"cbrw"`` weigh.
    class_weight : mapping of label to float, "balanced", "effective" or None
        Besides the loss.
    counts : ndarray of shape (n_classes,)
        Rows of each class.
    classes : ndarray of shape (n_classes,)
        The labels.

    Examples
    --------
    >>> weights_by_class("ce", {"b": 3.0}, np.array([9.0, 1.0]), np.array(["a", "b"]))
    array([1., 3.])
    """
    weights = np.ones(len(counts))
    if isinstance(loss, str) and loss in _BY_LOSS:
        weights = class_weights(counts, _BY_LOSS[loss])
    if isinstance(class_weight, str):
        return weights * class_weights(counts, _BY_WORD[class_weight])
    if class_weight is None:
        return weights
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown or not all(0 < value <= _MOST for value in class_weight.values()):
        raise ParameterError(
            "class_weight must give labels of y a finite weight greater than 0; "
            f"got {shown(dict(class_weight), 200)} where y holds {labels!r}."
        )
    return weights * [float(class_weight.get(label, 1.0)) for label in labels]


def trained_shares(
    loss: Any,
    codes: NDArray[np.intp],
    weight: NDArray[np.float64],
    n_classes: int,
    share: float | None,
) -> NDArray[np.float64]:
    """Return the shares of the classes that a network's outputs speak of.

    Parameters
    ----------
    loss : str or torch.nn.Module
        ``"balanced_softmax"`` makes them equal.
    codes, weight : ndarray of shape (n,)
        Classes and weights of the training rows.
    n_classes : int
        How many classes there are.
    share : float or None
        How large every class is made at least, as a part of the largest; None if none is.
    """
    n = np.bincount(codes, minlength=n_classes)
    if isinstance(loss, str) and loss == "balanced_softmax":
        return np.full(len(n), 1 / len(n))
    shown = n if share is None else np.maximum(n, round(share * n.max()))
    weighted = class_shares(codes, len(n), weight) * shown / n
    return np.asarray(weighted / weighted.sum())
