r"""Losses for imbalanced classes, for any torch training code.

With logits :math:`x \in \mathbb R^K` of a row of class :math:`y`, probabilities
:math:`p = \mathrm{softmax}(x)` and class counts :math:`n_c`:

.. math::
    \mathrm{focal} &= -(1 - p_y)^\gamma \log p_y, \\
    \mathrm{LDAM} &= -\log \frac{e^{s(x_y - m_y)}}{e^{s(x_y - m_y)} + \sum_{c \ne y} e^{s x_c}},
    \qquad m_c = m \, (n_c / \min_k n_k)^{-1/4}, \\
    \mathrm{logit\ adjustment} &= -\log \frac{n_y^\tau e^{x_y}}{\sum_c n_c^\tau e^{x_c}}, \\
    \mathrm{RW:}\ w_c &\propto 1/n_c, \qquad
    \mathrm{CBRW:}\ w_c \propto (1 - \beta)/(1 - \beta^{n_c}), \qquad \sum_c w_c = K.

Everything is computed from log-probabilities, in float32 at least. Losses and gradients are finite
for logits of any finite size, and for half precision under autocast.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mgvae.errors import DataError, ParameterError

__all__ = ["CosineLinear", "FocalLoss", "LDAMLoss", "LogitAdjustedLoss", "class_weights"]

Reduction = Literal["none", "mean", "sum"]


def class_weights(
    counts: ArrayLike, scheme: Literal["inverse", "effective"] = "inverse", *, beta: float = 0.9999
) -> NDArray[np.float64]:
    """Compute class weights that fall with class size and sum to the number of classes.

    .. versionadded:: 0.1

    Parameters
    ----------
    counts : array-like of shape (n_classes,)
        Rows of each class.
    scheme : {"inverse", "effective"}, default="inverse"
        ``"inverse"`` (the paper's RW) takes 1/n, ``"effective"`` (CBRW) the inverse of the
        effective number of rows, (1 - beta) / (1 - beta^n).
    beta : float, default=0.9999
        How slowly further rows stop counting under ``"effective"``: from 0 (all classes weigh the
        same) up to, not including, 1 (where it becomes ``"inverse"``).

    Returns
    -------
    weights : ndarray of shape (n_classes,)
        In the order of ``counts``.

    See Also
    --------
    mgvae.losses.FocalLoss : A loss that takes such weights.

    Examples
    --------
    >>> class_weights([900, 100])
    array([0.2, 1.8])
    >>> class_weights([900, 100], "effective", beta=0.99).round(3)
    array([0.776, 1.224])
    """
    n = np.asarray(counts, dtype=np.float64)
    if n.ndim != 1 or len(n) == 0 or not (np.isfinite(n).all() and (n > 0).all()):
        raise DataError(
            f"counts must hold one positive number for each class; got {n.tolist()!r}. Leave out "
            "classes without rows."
        )
    if scheme == "inverse":
        weights = n.min() / n
    elif scheme == "effective":
        if not 0.0 <= beta < 1.0:
            raise ParameterError(
                f'beta must lie in [0, 1); got {beta!r}. For the limit 1 use scheme="inverse".'
            )
        # 1 - beta^n = -expm1(n log beta), exact also where beta^n is nearly 1
        effective = -np.expm1(n * np.log(beta)) if beta > 0 else np.ones_like(n)
        weights = effective.min() / effective
    else:
        raise ParameterError(f'scheme must be "inverse" or "effective"; got {scheme!r}.')
    scaled: NDArray[np.float64] = weights * (len(n) / weights.sum())
    return scaled


class FocalLoss(nn.Module):
    """Cross-entropy that gives less weight to rows that are already recognised.

    Logits with two or more columns are multi-class: the target holds class indices, shape (n,).
    Logits of shape (n,) or (n, 1) are binary, for the class 1: the target is 0 or 1, as float or
    integer, of shape (n,) or (n, 1). A binary target between 0 and 1 mixes the losses of both.

    .. versionadded:: 0.1

    Parameters
    ----------
    gamma : float, default=1.0
        How much recognised rows lose weight; 0 is cross-entropy.
    weight : sequence of float or Tensor, optional
        One weight for each class (binary: for 0 and for 1), such as from :func:`class_weights`.
    reduction : {"none", "mean", "sum"}, default="mean"
        ``"mean"`` divides by the sum of the rows' weights, as torch's cross-entropy does.

    See Also
    --------
    mgvae.losses.LDAMLoss : A loss with larger margins for rare classes.
    mgvae.losses.class_weights : Weights for the loss.

    Examples
    --------
    In a training loop of one's own:

    >>> import torch
    >>> from mgvae.losses import FocalLoss, class_weights
    >>> generator = torch.Generator().manual_seed(0)
    >>> y = torch.arange(200).remainder(10).eq(0).long()  # 20 of 200 rows are the minority
    >>> X = torch.randn(200, 2, generator=generator) + 3.0 * y[:, None]
    >>> model = torch.nn.Linear(2, 2)
    >>> loss = FocalLoss(gamma=1.0, weight=class_weights([180, 20]))
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    >>> for _ in range(100):
    ...     optimizer.zero_grad()
    ...     loss(model(X), y).backward()
    ...     optimizer.step()
    >>> recall = (model(X).argmax(1) == y)[y == 1].float().mean()
    >>> bool(recall > 0.8)
    True
    """

    weight: Tensor | None

    def __init__(
        self,
        gamma: float = 1.0,
        weight: Sequence[float] | NDArray[np.float64] | Tensor | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        if not gamma >= 0:
            raise ParameterError(f"gamma must be at least 0; got {gamma!r}.")
        self.gamma = float(gamma)
        self.reduction = _check_reduction(reduction)
        self.register_buffer("weight", None if weight is None else _check_weight(weight))

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Compute the loss of ``logits`` against ``target``."""
        x = _at_least_float32(logits)
        binary = x.ndim == 1 or (x.ndim == 2 and x.shape[1] == 1)
        class_weight = _class_weight(self.weight, 2 if binary else x.shape[-1], x)
        if binary:
            _check_binary(x, target)
            x, t = x.reshape(-1), target.reshape(-1).to(x.dtype)
            weight_0, weight_1 = (1 - t) * class_weight[0], t * class_weight[1]
            log_p, log_q = F.logsigmoid(x), F.logsigmoid(-x)
            losses = weight_1 * self._focal(log_p, log_q) + weight_0 * self._focal(log_q, log_p)
            weights = weight_0 + weight_1
        else:
            _check_multiclass(x, target)
            y = target.long()[:, None]
            x = x - x.detach().amax(1, keepdim=True)  # large logits keep their small differences
            total = x.logsumexp(1)
            log_p = x.gather(1, y)[:, 0] - total
            # log(1 - p) from the other classes: taken from p it would be lost where p is nearly 1
            log_q = x.scatter(1, y, -torch.inf).logsumexp(1) - total
            weights = class_weight[y[:, 0]]
            losses = weights * self._focal(log_p, log_q)
        if self.reduction == "none":
            return losses
        return losses.sum() / (weights.sum() if self.reduction == "mean" else 1)

    def extra_repr(self) -> str:
        """Show the parameters."""
        return f"gamma={self.gamma:g}, reduction={self.reduction!r}"

    def _focal(self, log_p: Tensor, log_q: Tensor) -> Tensor:
        return -torch.exp(self.gamma * log_q) * log_p  # q = 1 - p


class LDAMLoss(nn.Module):
    """Cross-entropy with label-distribution-aware margins, wider for smaller classes.

    The logits should be bounded, or the network could outgrow the margins. Use
    :class:`CosineLinear` as its last layer.

    .. versionadded:: 0.1

    Parameters
    ----------
    class_counts : array-like of shape (n_classes,)
        Training rows of each class.
    max_margin : float, default=0.5
        Margin of the smallest class; the others' fall as counts to the power -1/4.
    scale : float, default=30.0
        Factor on the logits. For probabilities take the softmax of ``scale * logits``.
    weight : sequence of float or Tensor, optional
        One weight for each class. Re-weighting works better once the features have formed: train
        without it, then call :meth:`reweight`.
    reduction : {"none", "mean", "sum"}, default="mean"
        ``"mean"`` divides by the sum of the rows' weights, as torch's cross-entropy does.

    See Also
    --------
    mgvae.losses.CosineLinear : The last layer that this loss expects.
    mgvae.losses.FocalLoss : A loss that looks at hard rows.

    Examples
    --------
    >>> import torch
    >>> from mgvae.losses import CosineLinear, LDAMLoss, class_weights
    >>> counts = [810_000, 10_000]
    >>> loss = LDAMLoss(counts)
    >>> loss.margins
    tensor([0.1667, 0.5000])
    >>> head = CosineLinear(8, 2)
    >>> value = loss(head(torch.ones(4, 8)), torch.tensor([0, 0, 0, 1]))
    >>> loss.reweight(class_weights(counts, "effective"))  # for the last epochs
    """

    margins: Tensor
    weight: Tensor | None

    def __init__(
        self,
        class_counts: ArrayLike,
        max_margin: float = 0.5,
        scale: float = 30.0,
        weight: Sequence[float] | NDArray[np.float64] | Tensor | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        if not max_margin >= 0:
            raise ParameterError(f"max_margin must be at least 0; got {max_margin!r}.")
        if not scale > 0:
            raise ParameterError(f"scale must be greater than 0; got {scale!r}.")
        inverse = class_weights(class_counts)
        margins = max_margin * (inverse / inverse.max()) ** 0.25
        self.scale = float(scale)
        self.reduction = _check_reduction(reduction)
        self.register_buffer("margins", torch.as_tensor(margins, dtype=torch.float32))
        self.register_buffer("weight", None if weight is None else _check_weight(weight))

    def reweight(self, weight: Sequence[float] | NDArray[np.float64] | Tensor | None) -> None:
        """Set the weights of the classes; None removes them."""
        self.weight = None if weight is None else _check_weight(weight).to(self.margins)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Compute the loss of ``logits``, shape (n, classes), against class indices ``target``."""
        x = _at_least_float32(logits)
        _check_multiclass(x, target)
        y = target.long()
        _check_columns(x, len(self.margins))
        shifted = x.scatter_add(1, y[:, None], -self.margins.to(x)[y][:, None])
        weight = None if self.weight is None else _class_weight(self.weight, x.shape[1], x)
        return F.cross_entropy(self.scale * shifted, y, weight, reduction=self.reduction)

    def extra_repr(self) -> str:
        """Show the parameters."""
        return f"scale={self.scale:g}, reduction={self.reduction!r}"


class LogitAdjustedLoss(nn.Module):
    """Cross-entropy of logits that are raised by the logarithm of the class's share.

    The network learns what the logits would be if all classes were equally frequent, so that the
    largest logit is the class with the best balanced accuracy. At a strength of 1 this is the
    *balanced softmax*. To have probabilities at the true shares, add ``adjustment`` to the logits
    before the softmax.

    .. versionadded:: 0.1

    Parameters
    ----------
    class_counts : array-like of shape (n_classes,)
        Training rows of each class.
    strength : float, default=1.0
        Factor on the logarithms (the tau of the formula); 0 is cross-entropy.
    weight : sequence of float or Tensor, optional
        One weight for each class.
    reduction : {"none", "mean", "sum"}, default="mean"
        ``"mean"`` divides by the sum of the rows' weights, as torch's cross-entropy does.

    See Also
    --------
    mgvae.losses.class_weights : Weights instead of shifted logits.
    mgvae.losses.LDAMLoss : Margins instead of shifted logits.

    References
    ----------
    .. [1] A. K. Menon et al., "Long-tail learning via logit adjustment", ICLR 2021.
    .. [2] J. Ren et al., "Balanced meta-softmax for long-tailed visual recognition", NeurIPS 2020.

    Examples
    --------
    >>> import torch
    >>> from mgvae.losses import LogitAdjustedLoss
    >>> loss = LogitAdjustedLoss([900, 100])
    >>> loss(torch.zeros(1, 2), torch.tensor([1]))  # -log 0.1: of 10 rows, one is of class 1
    tensor(2.3026)
    """

    adjustment: Tensor
    weight: Tensor | None

    def __init__(
        self,
        class_counts: ArrayLike,
        strength: float = 1.0,
        weight: Sequence[float] | NDArray[np.float64] | Tensor | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        if not strength >= 0:
            raise ParameterError(f"strength must be at least 0; got {strength!r}.")
        inverse = class_weights(class_counts)
        shares = (1.0 / inverse) / (1.0 / inverse).sum()
        self.strength = float(strength)
        self.reduction = _check_reduction(reduction)
        self.register_buffer(
            "adjustment", torch.as_tensor(strength * np.log(shares), dtype=torch.float32)
        )
        self.register_buffer("weight", None if weight is None else _check_weight(weight))

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Compute the loss of ``logits``, shape (n, classes), against class indices ``target``."""
        x = _at_least_float32(logits)
        _check_multiclass(x, target)
        _check_columns(x, len(self.adjustment))
        weight = None if self.weight is None else _class_weight(self.weight, x.shape[1], x)
        raised = x + self.adjustment.to(x)
        return F.cross_entropy(raised, target.long(), weight, reduction=self.reduction)

    def extra_repr(self) -> str:
        """Show the parameters."""
        return f"strength={self.strength:g}, reduction={self.reduction!r}"


class CosineLinear(nn.Module):
    """Cosines between a row's features and one direction for each class, the layer for LDAM.

    They are computed in float32 at least, also under autocast, because half precision is too coarse
    for cosines that the loss scales up. A row of zeros has cosines of 0.

    .. versionadded:: 0.1

    Parameters
    ----------
    in_features, out_features : int
        Numbers of features and of classes.

    See Also
    --------
    mgvae.losses.LDAMLoss : The loss that goes with this layer.

    Examples
    --------
    >>> import torch
    >>> layer = CosineLinear(3, 2)
    >>> x = torch.tensor([[1.0, 2.0, 3.0]])
    >>> bool((layer(x).abs() <= 1).all()), torch.allclose(layer(x), layer(10 * x))
    (True, True)
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.initialise()

    @torch.no_grad()
    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw directions uniformly, from torch's own generator if None."""
        nn.init.normal_(self.weight, generator=generator)
        self.weight.copy_(F.normalize(self.weight))

    def forward(self, features: Tensor) -> Tensor:
        """Compute the cosines, shape (n, out_features)."""
        with torch.autocast(features.device.type, enabled=False):
            x = _at_least_float32(features)
            return F.linear(F.normalize(x), F.normalize(self.weight.to(x.dtype)))

    def extra_repr(self) -> str:
        """Show the sizes."""
        return f"in_features={self.weight.shape[1]}, out_features={self.weight.shape[0]}"


def _at_least_float32(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.float()


def _class_weight(weight: Tensor | None, n_classes: int, like: Tensor) -> Tensor:
    if weight is None:
        return like.new_ones(n_classes)
    if len(weight) != n_classes:
        raise DataError(
            f"weight must hold one number for each of the {n_classes} classes; got {len(weight)}."
        )
    return weight.to(like)


def _check_binary(x: Tensor, target: Tensor) -> None:
    if target.numel() != x.numel():
        raise DataError(
            f"binary logits need one target each; got {x.numel()} logits and a target of shape "
            f"{tuple(target.shape)}. For several classes give logits of shape (n, classes)."
        )


def _check_multiclass(x: Tensor, target: Tensor) -> None:
    if x.ndim != 2 or target.shape != x.shape[:1] or target.is_floating_point():
        raise DataError(
            "logits must have the shape (n, classes) and the target must hold n class indices as "
            f"integers; got logits of shape {tuple(x.shape)} and a target of shape "
            f"{tuple(target.shape)} and type {target.dtype}."
        )


def _check_columns(x: Tensor, n_classes: int) -> None:
    if x.shape[1] != n_classes:
        raise DataError(
            f"logits must have one column for each of the {n_classes} class_counts; "
            f"got {x.shape[1]}."
        )


def _check_weight(weight: Sequence[float] | NDArray[np.float64] | Tensor) -> Tensor:
    checked = torch.as_tensor(weight, dtype=torch.float32).detach().clone()
    if checked.ndim != 1 or not bool((checked >= 0).all()) or not bool(checked.isfinite().all()):
        raise ParameterError(
            "weight must hold one finite number of at least 0 for each class; "
            f"got {checked.tolist()!r}."
        )
    return checked


def _check_reduction(reduction: Reduction) -> Reduction:
    if reduction not in ("none", "mean", "sum"):
        raise ParameterError(f'reduction must be "none", "mean" or "sum"; got {reduction!r}.')
    return reduction
