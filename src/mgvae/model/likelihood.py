r"""The decoder's likelihood :math:`p(x \mid z)` of Eqs. 3 and 4, span by span.

The codec says what every run of outputs means (:class:`mgvae.codec.Span`); this module scores and
draws accordingly. Given :math:`z`, outputs are independent, so :math:`\log p(x \mid z)` is the sum
of these scores, with the decoder's raw outputs :math:`a` and means :math:`m = f(a)`:

============== ================================================================================
squared_error  :math:`-(x-m)^2`, as published: the Gaussian with variance 1/2 less its constant
gaussian       :math:`-\frac12(\log 2\pi v + (x-m)^2/v)`, a learned variance :math:`v` per output
bernoulli      :math:`x \log m + (1-x)\log(1-m)`, for values in [0, 1]
categorical    :math:`\sum_k x_k \log m_k` over the levels of one category
============== ================================================================================

The values of a missing cell are placeholders. They are left out of the sum.
"""

import math
from collections.abc import Sequence
from itertools import groupby

import torch
from torch import Tensor, nn
from torch.nn import functional

from mgvae.codec import Span
from mgvae.model import kernels

__all__ = ["Likelihood"]

_LOG_2PI = math.log(2.0 * math.pi)
_LEAST_LOG_VARIANCE = -7.0  # a column that is reproduced exactly must not have an infinite density


class Likelihood(nn.Module):
    """Score and draw encoded rows, given the decoder's raw outputs.

    Parameters
    ----------
    spans : sequence of Span
        What the outputs mean, in order.

    Attributes
    ----------
    log_variance : torch.nn.Parameter of shape (width,)
        Log-variances of the Gaussian outputs; those of other outputs are not used.

    Examples
    --------
    >>> import torch
    >>> from mgvae.codec import Span
    >>> p = Likelihood([Span("age", 1, "identity", "squared_error")])
    >>> p.log_prob(torch.tensor([[3.0]]), torch.tensor([[1.0]]))
    tensor([-4.])
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        super().__init__()
        self.width = sum(span.size for span in spans)
        self.least_log_variance = _LEAST_LOG_VARIANCE
        self.blocks = _blocks(spans)
        gaussian = any(block.likelihood == "gaussian" for block in self.blocks)
        self.log_variance = nn.Parameter(torch.zeros(self.width)) if gaussian else None

    @property
    def numeric(self) -> Tensor:
        """1 for every output that is a number, 0 for those of categories and flags."""
        parts = [torch.full((block.width,), float(not block.discrete)) for block in self.blocks]
        return torch.cat(parts) if parts else torch.empty(0)

    def initialise(self, generator: torch.Generator) -> None:  # noqa: ARG002
        """Start with unit variances."""
        if self.log_variance is not None:
            nn.init.zeros_(self.log_variance)

    def mean(self, raw: Tensor) -> Tensor:
        """Compute the means m = f(a): values, or probabilities."""
        parts = [block.mean(raw[..., block.slice]) for block in self.blocks]
        return parts[0] if len(parts) == 1 else torch.cat(parts, -1)

    def log_prob(self, x: Tensor, raw: Tensor, *, fast: bool = False) -> Tensor:
        """Compute log p(x|z) of encoded rows from the decoder's outputs.

        Parameters
        ----------
        x, raw : Tensor of shape (..., width)
            Encoded rows and raw outputs.
        fast : bool
            Whether to use the hand-written gradient where there is one. It has no second
            derivative.

        Returns
        -------
        log_density : Tensor of shape (...)
            One number for each row.
        """
        if not self.blocks:
            return raw.new_zeros(raw.shape[:-1])
        first, *others = self.blocks
        if fast and not others and first.is_plain_squared_error:
            return kernels.squared_error(x, raw, first.activation)
        total = first.log_prob(x, raw, self._block_log_variance(first))
        for block in others:
            total = total + block.log_prob(x, raw, self._block_log_variance(block))
        return total

    def draw(self, raw: Tensor, generator: torch.Generator, *, numeric_noise: bool) -> Tensor:
        """Draw encoded rows from raw outputs; see :meth:`realise`."""
        return self.realise(self.mean(raw), generator, numeric_noise=numeric_noise)

    def realise(
        self, mean: Tensor, generator: torch.Generator, *, numeric_noise: bool = False
    ) -> Tensor:
        """Convert means to encoded rows.

        Categories and flags are always drawn from their probabilities, because their means are no
        values. Numbers are drawn with ``numeric_noise`` and are their means without. Means outside
        of their range are clipped to it.
        """
        parts = [
            block.realise(
                mean[..., block.slice], self._block_log_variance(block), generator, numeric_noise
            )
            for block in self.blocks
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts, -1)

    def _block_log_variance(self, block: "_Block") -> Tensor | None:
        if self.log_variance is None or block.likelihood != "gaussian":
            return None
        return self.log_variance[block.slice].clamp(min=_LEAST_LOG_VARIANCE)


def _blocks(spans: Sequence[Span]) -> "list[_Block]":
    """Group neighbouring spans that are scored alike, so that one operation serves them all."""
    blocks = []
    start = 0
    for _, run in groupby(spans, lambda s: (s.activation, s.likelihood, s.discrete)):
        members = list(run)
        blocks.append(_Block(start, members))
        start += sum(span.size for span in members)
    return blocks


class _Block:
    """A run of neighbouring spans with one activation and one likelihood."""

    def __init__(self, start: int, spans: list[Span]) -> None:
        self.activation = spans[0].activation
        self.likelihood = spans[0].likelihood
        self.discrete = spans[0].discrete
        self.sizes = [span.size for span in spans]
        self.width = sum(self.sizes)
        self.slice = slice(start, start + self.width)
        masks = [span.mask for span in spans for _ in range(span.size)]
        self.masked = [i for i, mask in enumerate(masks) if mask is not None]
        self.flags = [mask for mask in masks if mask is not None]

    @property
    def is_plain_squared_error(self) -> bool:
        """Whether :func:`mgvae.model.kernels.squared_error` scores the block."""
        plain = self.likelihood == "squared_error" and self.activation != "softmax"
        return plain and not self.masked

    def _split(self, raw: Tensor) -> tuple[Tensor, ...]:
        return torch.split(raw, self.sizes, -1)

    def mean(self, raw: Tensor) -> Tensor:
        if self.activation == "sigmoid":
            return torch.sigmoid(raw)
        if self.activation == "tanh":
            return torch.tanh(raw)
        if self.activation == "softmax":
            return torch.cat([part.softmax(-1) for part in self._split(raw)], -1)
        return raw

    def log_prob(self, x: Tensor, raw: Tensor, log_variance: Tensor | None) -> Tensor:
        whole = x
        if raw.shape[-1] != self.width:  # a slice of all would cost a copy of its gradient
            x, raw = x[..., self.slice], raw[..., self.slice]
        if self.likelihood == "bernoulli":
            costs = functional.binary_cross_entropy_with_logits(raw, x, reduction="none")
        elif self.likelihood == "categorical":
            costs = x * -torch.cat([part.log_softmax(-1) for part in self._split(raw)], -1)
        else:
            costs = functional.mse_loss(self.mean(raw), x, reduction="none")
            if log_variance is not None:
                costs = 0.5 * (costs * torch.exp(-log_variance) + log_variance + _LOG_2PI)
        if self.masked:
            present = torch.ones_like(costs)
            present[..., self.masked] = 1.0 - whole[..., self.flags]
            costs = costs * present
        return -costs.sum(-1)

    def realise(
        self,
        mean: Tensor,
        log_variance: Tensor | None,
        generator: torch.Generator,
        numeric_noise: bool,
    ) -> Tensor:
        if self.likelihood == "categorical":
            drawn = torch.zeros_like(mean)
            noise = torch.rand(
                (len(self.sizes), *mean.shape[:-1], 1), generator=generator, device=mean.device
            )
            parts = zip(self._split(mean.clamp(min=1e-30)), self._split(drawn), noise, strict=True)
            for weights, ones, share in parts:
                upto = weights.cumsum(-1)
                level = (upto < share * upto[..., -1:]).sum(-1, keepdim=True)
                ones.scatter_(-1, level, 1.0)
            return drawn
        if self.discrete:
            noise = torch.rand(mean.shape, generator=generator, device=mean.device)
            return (noise < mean).to(mean.dtype)
        if self.activation == "sigmoid":
            mean = mean.clamp(0.0, 1.0)
        elif self.activation == "tanh":
            mean = mean.clamp(-1.0, 1.0)
        if not numeric_noise or self.likelihood == "bernoulli":
            return mean
        noise = torch.randn(mean.shape, generator=generator, device=mean.device)
        if log_variance is None:
            return mean + math.sqrt(0.5) * noise
        return mean + torch.exp(0.5 * log_variance) * noise
