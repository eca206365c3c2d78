r"""The decoder's likelihood :math:`p(x \mid z)`, span by span.

The codec says what every run of outputs means (:class:`mgvae.codec.Span`); this module scores and
draws accordingly. With the decoder's raw outputs :math:`a` and means :math:`m = f(a)`:

============== ================================================================================
squared_error  :math:`-(x-m)^2`, as published: the Gaussian with variance 1/2 less its constant
gaussian       :math:`-\frac12(\log 2\pi v + (x-m)^2/v)`, a learned variance :math:`v` per output
bernoulli      :math:`x \log m + (1-x)\log(1-m)`, for values in [0, 1]
categorical    :math:`\sum_k x_k \log m_k` over the levels of one category
============== ================================================================================

The values of a missing cell are placeholders: they are left out of the sum.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from mgvae.codec import Span

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
        Log-variances of the Gaussian outputs (the others' are not used).

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
        self.blocks = _blocks(spans)
        gaussian = any(block.likelihood == "gaussian" for block in self.blocks)
        self.log_variance = nn.Parameter(torch.zeros(self.width)) if gaussian else None

    def initialise(self, generator: torch.Generator) -> None:  # noqa: ARG002
        """Start with unit variances."""
        if self.log_variance is not None:
            nn.init.zeros_(self.log_variance)

    def variance_parameters(self) -> list[nn.Parameter]:
        """Give the parameters that may learn faster than the weights."""
        return [] if self.log_variance is None else [self.log_variance]

    def mean(self, raw: Tensor) -> Tensor:
        """Turn raw outputs into means: values, or probabilities."""
        parts = [block.mean(raw[..., block.slice]) for block in self.blocks]
        return parts[0] if len(parts) == 1 else torch.cat(parts, -1)

    def log_prob(self, x: Tensor, raw: Tensor) -> Tensor:
        """Score encoded rows ``x`` of shape (..., width); give shape (...)."""
        total: Tensor | None = None
        for block in self.blocks:
            part = block.log_prob(x, raw, self._block_log_variance(block))
            total = part if total is None else total + part
        if total is None:
            return raw.new_zeros(raw.shape[:-1])
        return total

    def learn(self, x: Tensor, raw: Tensor) -> Tensor:
        """Give what :meth:`log_prob` gives, by a gradient of fewer passes where there is one."""
        block = self.blocks[0]
        if len(self.blocks) > 1 or block.likelihood != "squared_error" or block.masked:
            return self.log_prob(x, raw)
        score: Tensor = _SquaredError.apply(x, raw, block)  # type: ignore[no-untyped-call]
        return score

    def draw(self, raw: Tensor, generator: torch.Generator, *, numeric_noise: bool) -> Tensor:
        """Draw encoded rows from raw outputs; see :meth:`realise`."""
        return self.realise(self.mean(raw), generator, numeric_noise=numeric_noise)

    def realise(
        self, mean: Tensor, generator: torch.Generator, *, numeric_noise: bool = False
    ) -> Tensor:
        """Turn means into encoded rows.

        Categories and flags are always drawn from their probabilities, for they have no mean that
        is a value; numbers are drawn with ``numeric_noise`` and are their means without. Means
        that have been moved out of their range are brought back.
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
    """Join neighbouring spans that are scored alike, so that one operation serves them all."""
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
            noise = torch.rand(mean.shape, generator=generator, device=mean.device)
            gumbel = noise.clamp_(1e-20, 1.0 - 1e-7).log_().neg_().log_().neg_()
            scores = gumbel.add_(mean.clamp(min=1e-30).log_())
            drawn = torch.zeros_like(scores)
            for part, ones in zip(self._split(scores), self._split(drawn), strict=True):
                ones.scatter_(-1, part.argmax(-1, keepdim=True), 1.0)
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


class _SquaredError(torch.autograd.Function):
    """Less the squared distance of means from rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, raw: Tensor, block: _Block) -> Tensor:
        mean = block.mean(raw)
        error = x - mean
        ctx.save_for_backward(error, mean)
        ctx.activation = block.activation
        return error.square().sum(-1).neg_()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[None, Tensor, None]:
        error, mean = ctx.saved_tensors
        found = error * (2.0 * g).unsqueeze(-1)
        if ctx.activation == "sigmoid":
            found = torch.ops.aten.sigmoid_backward.grad_input(found, mean, grad_input=found)
        elif ctx.activation == "tanh":
            found = torch.ops.aten.tanh_backward.grad_input(found, mean, grad_input=found)
        return None, found, None
