r"""The likelihood of a batch and its gradient, without autograd.

With the decoder's raw outputs :math:`a`, their means :math:`m = f(a)` and :math:`p` = 1 where a
cell is present, the gradient of the cost :math:`-\log p(x \mid z)` with respect to :math:`a` is

============== ==================================================================
squared_error  :math:`2 p (m - x) f'(a)`
gaussian       :math:`p (m - x) f'(a) / v`
bernoulli      :math:`p (m - x)`
categorical    :math:`p (m \sum_k x_k - x)`
============== ==================================================================

so that one pass serves all outputs whose mean is the raw output itself. The plain form is
:meth:`mgvae.model.likelihood.Likelihood.log_prob`.
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mgvae.codec import Activation, LikelihoodName

__all__ = ["Block", "Scorable", "Scores"]

_LOG_2PI = math.log(2.0 * math.pi)

Arrays = NDArray[Any]


class Block(Protocol):
    """A run of outputs with one activation and one likelihood."""

    activation: Activation
    likelihood: LikelihoodName
    sizes: list[int]
    slice: slice
    masked: list[int]
    flags: list[int]


class Scorable(Protocol):
    """What :class:`Scores` needs of a :class:`mgvae.model.likelihood.Likelihood`."""

    width: int
    least_log_variance: float
    log_variance: nn.Parameter | None

    @property
    def blocks(self) -> Sequence[Block]:
        """The outputs, run by run."""


class Scores:
    """Score batches of one size.

    Parameters
    ----------
    likelihood : Likelihood
        What the outputs mean.
    n : int
        Rows of a batch.
    like : Tensor
        Has the type of the numbers.
    log_variance : tuple of Tensor, optional
        The parameter of the Gaussian outputs, and where its gradient goes.

    Attributes
    ----------
    for_raw : Tensor of shape (n, width)
        The gradient of the mean cost of the last batch with respect to the raw outputs.
    """

    def __init__(
        self,
        likelihood: Scorable,
        n: int,
        like: Tensor,
        log_variance: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        width = likelihood.width
        self.n = n
        self.least = likelihood.least_log_variance
        self.for_raw = like.new_empty(n, width)
        self._room = like.new_empty(n, width)
        self._squares = like.new_zeros(width)  # sums of squared errors by output
        self._weights = like.new_empty(width)  # of these sums in the cost
        self._factors = like.new_empty(width)  # of the errors in the gradient
        self._counts = like.new_zeros(width)  # of present cells of Gaussian outputs
        self._published, self._gaussian, self._other = like.new_zeros(3, width)
        self._log_variance = None
        if log_variance is not None:
            self._log_variance = (log_variance[0].numpy(), log_variance[1].numpy())
        self._curved = []
        self._present: Tensor | None = None
        categorical = [block for block in likelihood.blocks if block.likelihood == "categorical"]
        self._categories = _Categories(categorical, self.for_raw) if categorical else None
        for block in likelihood.blocks:
            kinds = {"squared_error": self._published, "gaussian": self._gaussian}
            kinds.get(block.likelihood, self._other)[block.slice] = 1.0
            if block in categorical:
                continue
            if block.activation != "identity" or block.likelihood == "bernoulli":
                self._curved.append(block)
        self._other_factor = self._other.numpy() / n
        self._has_squares = not bool(self._other.all())
        torch.mul(self._gaussian, n, out=self._counts)
        torch.mul(self._published, 2.0, out=self._factors).add_(self._other).div_(n)
        self._weights.copy_(self._published)
        if any(block.masked for block in likelihood.blocks):
            self._present = like.new_empty(n, width)
            self._flags = torch.zeros(width, dtype=torch.int64)
            self._may_miss = like.new_zeros(width)
            for block in likelihood.blocks:
                columns = torch.tensor(block.masked, dtype=torch.int64) + block.slice.start
                self._flags[columns] = torch.tensor(block.flags, dtype=torch.int64)
                self._may_miss[columns] = -1.0

    def cost(self, x: Tensor, raw: Tensor) -> float:
        """Return the mean of -log p(x|z) over a batch, and leave its gradients in place.

        Parameters
        ----------
        x, raw : Tensor of shape (n, width)
            Encoded rows and raw outputs.

        Returns
        -------
        cost : float
        """
        errors, present, total = self.for_raw, self._present, 0.0
        if present is not None:
            torch.index_select(x, 1, self._flags, out=present)
            present.mul_(self._may_miss).add_(1.0)
            torch.sum(present, 0, out=self._counts).mul_(self._gaussian)
        torch.sub(raw, x, out=errors)
        if self._categories is not None:
            total += self._categories.choose(x, raw, present)
        means = []
        for block in self._curved:
            cost, mean = self._bend(block, x, raw)
            total += cost
            means.append(mean)
        if present is not None:
            errors.mul_(present)
        if self._has_squares:
            torch.mul(errors, errors, out=self._room)
            torch.sum(self._room, 0, out=self._squares)
            if self._log_variance is not None:
                total += self._vary(*self._log_variance)
            total += float(self._weights.numpy() @ self._squares.numpy())
        errors.mul_(self._factors)
        for block, mean in zip(self._curved, means, strict=True):
            if mean is not None:
                _straighten(block, errors[:, block.slice], mean)
        return total / self.n

    def _vary(self, log_variance: Arrays, found: Arrays) -> float:
        """Weigh squares by the precisions 1/v; return the cost of log v, and find its gradient.

        These are vectors of one number for each output, for which numpy is faster.
        """
        bounded = np.maximum(log_variance, self.least)
        precision = np.exp(-bounded)
        precision *= self._gaussian.numpy()
        weights, counts = self._weights.numpy(), self._counts.numpy()
        np.multiply(precision, 0.5, out=weights)
        weights += self._published.numpy()
        np.multiply(weights, 2.0 / self.n, out=self._factors.numpy())
        self._factors.numpy()[...] += self._other_factor
        precision *= self._squares.numpy()
        np.subtract(counts, precision, out=found)
        found *= (0.5 / self.n) * (log_variance >= self.least)
        bounded += _LOG_2PI
        return 0.5 * float(counts @ bounded)

    def _bend(self, block: Block, x: Tensor, raw: Tensor) -> tuple[float, Tensor | None]:
        """Put the errors of a block whose means are not the raw outputs in place.

        Return its cost, if that is not a sum of squares, and else the means.
        """
        where = block.slice
        x, raw, errors = x[:, where], raw[:, where], self.for_raw[:, where]
        if block.likelihood != "bernoulli":
            mean = _mean(block, raw)
            torch.sub(mean, x, out=errors)
            return 0.0, mean
        # log(1 + exp a) - x a, where the first is max(a, 0) - log max(m, 1 - m)
        mean = torch.sigmoid(raw)
        torch.sub(mean, x, out=errors)
        costs = mean.sub_(0.5).abs_().add_(0.5).log_().neg_()
        costs.add_(raw.clamp(min=0.0)).addcmul_(x, raw, value=-1.0)
        if self._present is not None:
            costs.mul_(self._present[:, where])
        return costs.sum().item(), None


class _Categories:
    """All categories of a batch at once.

    The levels stand below each other, one column for each row of the batch: a product with the
    matrix that tells which level is whose sums every category over its levels without a loop.

    Parameters
    ----------
    blocks : sequence of Block
        The runs of categories.
    errors : Tensor of shape (n, width)
        Where the gradients go.
    """

    def __init__(self, blocks: Sequence[Block], errors: Tensor) -> None:
        sizes = [size for block in blocks for size in block.sizes]
        self.columns = np.concatenate([np.r_[block.slice] for block in blocks])
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.errors = errors.numpy()
        self.sums = (self.owner == np.arange(len(sizes))[:, None]).astype(self.errors.dtype)
        shape = len(self.columns), len(errors)
        self._raw, self._x, self._spread = np.empty((3, *shape), self.errors.dtype)

    def choose(self, x: Tensor, raw: Tensor, present: Tensor | None) -> float:
        """Return the cost of all categories, and put their errors in place.

        Parameters
        ----------
        x, raw : Tensor of shape (n, width)
            Encoded rows and raw outputs.
        present : Tensor of shape (n, width), optional
            1 where a cell is present, else 0.
        """
        a, chosen, spread = self._raw, self._x, self._spread
        raw.numpy().T.take(self.columns, 0, out=a, mode="clip")  # which needs no second copy
        x.numpy().T.take(self.columns, 0, out=chosen, mode="clip")
        if present is not None:
            chosen *= present.numpy().T.take(self.columns, 0, out=spread, mode="clip")
        with np.errstate(over="ignore", invalid="ignore"):  # the loop finds a loss of NaN
            np.maximum.reduceat(a, self.starts, 0).take(self.owner, 0, out=spread, mode="clip")
            a -= spread
            cost = -float(np.vdot(chosen, a))
            np.exp(a, out=a)
            totals, counts = self.sums @ a, self.sums @ chosen
            cost += float(np.vdot(counts, np.log(totals)))
            counts /= totals
            a *= counts.take(self.owner, 0, out=spread, mode="clip")
        a -= chosen
        self.errors[:, self.columns] = a.T
        return cost


def _mean(block: Block, raw: Tensor) -> Tensor:
    """Return the means of a block of squared errors."""
    if block.activation == "sigmoid":
        return torch.sigmoid(raw)
    if block.activation == "tanh":
        return torch.tanh(raw)
    return torch.cat([part.softmax(-1) for part in torch.split(raw, block.sizes, -1)], -1)


def _straighten(block: Block, errors: Tensor, mean: Tensor) -> None:
    """Multiply gradients with respect to means by the derivative of the activation, in place."""
    if block.activation == "sigmoid":
        found = torch.ops.aten.sigmoid_backward(errors, mean)
    elif block.activation == "tanh":
        found = torch.ops.aten.tanh_backward(errors, mean)
    else:
        parts = zip(*(torch.split(t, block.sizes, -1) for t in (errors, mean)), strict=True)
        pieces = [torch._softmax_backward_data(g, m, -1, g.dtype) for g, m in parts]
        found = torch.cat(pieces, -1)
    errors.copy_(found)
