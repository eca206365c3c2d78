r"""One training step of a VAE of fully connected layers, without autograd.

Forward, backward and the penalty of Eq. 6 in memory that is laid out once. What is computed is

.. math:: L = -\frac1n \sum_i O(\Psi, X^+; x_i) + \lambda \sum_i F_i (\Psi_i - \Psi_{+,i})^2 ,

Eq. 4 with one draw of z for each row of the batch, and Eq. 6. With the responsibilities
:math:`w_{in}` of the centres :math:`c_n` for the code :math:`z_i`, the mixture's part of the
gradient is

.. math:: \frac{\partial L}{\partial z_i} = \frac1{n s^2} \Bigl(z_i - \sum_n w_{in} c_n\Bigr),
          \qquad
          \frac{\partial L}{\partial c_n} = \frac1{n s^2} \sum_i w_{in} (c_n - z_i),

and that of :math:`\log s^2` follows from both by Euler's rule.

What lies between the layers is stored with one column for each row: products with a side as short
as a latent code are twice as fast that way, and none is slower.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mgvae.model.kernels.scores import Scorable, Scores
from mgvae.model.prior import Own
from mgvae.networks import Dense

__all__ = ["DenseStep"]


class Trainable(Protocol):
    """What :class:`DenseStep` needs of a :class:`mgvae.model.vae.VAE`."""

    latent_size: int
    encoder: nn.Module
    mean_head: nn.Linear
    log_variance_head: nn.Linear | None
    decoder: nn.Module
    log_variance: nn.Parameter

    @property
    def prior(self) -> str:
        """The prior's name."""

    @property
    def likelihood(self) -> Scorable:
        """What the outputs mean."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Iterate over all parameters."""


class Penalty(Protocol):
    """What :class:`DenseStep` needs of a :class:`mgvae.model.ewc.Consolidation`."""

    weight: float

    @property
    def anchor(self) -> Mapping[str, Tensor]:
        """The weights from which a model moves."""

    @property
    def fisher(self) -> Mapping[str, Tensor]:
        """How important they are."""


class DenseStep:
    """The loss of a step, whose gradient is left in the parameters' ``grad``.

    The parameters of the model become views of one vector, and their gradients of another.

    Parameters
    ----------
    vae : VAE
        A model that :meth:`suits`.
    n : int
        Rows of a batch.
    n_exemplars : int
        Exemplars of a step.
    penalty : Consolidation, optional
        The penalty of Eq. 6.
    beside : DenseStep, optional
        A step of the same model, with whose vectors this one works.

    Attributes
    ----------
    weights, variances : list of torch.nn.Parameter
        All parameters of the model as one vector, but for the likelihood's variances, if it has
        any, which are the other. An optimiser that moves them moves the model.

    Examples
    --------
    >>> import torch
    >>> from mgvae.codec import Span
    >>> from mgvae.model.likelihood import Likelihood
    >>> from mgvae.model.vae import VAE
    >>> from mgvae.networks import mlp_bodies
    >>> p = Likelihood([Span("x", 4, "identity", "gaussian")])
    >>> vae = VAE(mlp_bodies(4, (8, 8), 2), p, 2)
    >>> step = DenseStep(vae, 3, 5)
    >>> terms, centres = step(torch.zeros(3 + 5, 4), torch.zeros(3, 2))
    >>> sorted(terms), centres.shape, vae.mean_head.weight.grad.shape
    (['divergence', 'loss', 'reconstruction'], torch.Size([5, 2]), torch.Size([2, 8]))
    """

    @staticmethod
    def suits(vae: Trainable) -> bool:
        """Tell whether a model consists of fully connected layers on a CPU, under Eq. 3's prior."""
        encoder, decoder = vae.encoder, vae.decoder
        return (
            vae.prior == "majority"
            and vae.log_variance.device.type == "cpu"
            and isinstance(encoder, Dense)
            and isinstance(decoder, Dense)
            and encoder.activates_last
            and not decoder.activates_last
        )

    def __init__(
        self,
        vae: Trainable,
        n: int,
        n_exemplars: int,
        penalty: Penalty | None = None,
        *,
        beside: "DenseStep | None" = None,
    ) -> None:
        if not (isinstance(vae.encoder, Dense) and isinstance(vae.decoder, Dense)):
            raise TypeError("the layers of the model are not fully connected")
        heads = [vae.mean_head, *([] if vae.log_variance_head is None else [vae.log_variance_head])]
        self._flat: _Flat = _Flat(vae, heads) if beside is None else beside._flat
        flat = self._flat
        like, d, both = flat.values, vae.latent_size, n + n_exemplars
        self.n, self.d = n, d
        self.weights, self.variances = flat.weights, flat.variances
        self._log_s2, self._for_log_s2 = flat.pair(vae.log_variance)
        self._encoder, self._decoder = _Stack(flat, vae.encoder, both), _Stack(flat, vae.decoder, n)
        self._heads = flat.stacked([head.weight for head in heads])
        biases, self._for_biases = flat.stacked([head.bias for head in heads])
        self._biases = biases.unsqueeze(1)
        variances = vae.likelihood.log_variance
        self._scores = Scores(
            vae.likelihood, n, like, None if variances is None else flat.pair(variances)
        )
        self._penalty = None if penalty is None else _FlatPenalty(flat, penalty)

        # One column for each row of the batch, then one for each exemplar.
        self._codes, self._for_codes = like.new_zeros(2, len(heads) * d, both)
        self._means, self._centres = self._codes[:d, :n], self._codes[:d, n:]
        self._for_z, self._for_centres = self._for_codes[:d, :n], self._for_codes[:d, n:]
        self._has_spread = len(heads) == 2
        self._spread, self._for_spread = self._codes[d:, :n], self._for_codes[d:, :n]
        self._z, self._moves, self._pulled = like.new_empty(3, d, n)
        # The same memory for numpy, whose sums of few numbers are faster.
        self._z_numbers, self._pulled_numbers = self._z.numpy(), self._pulled.numpy()
        self._spread_numbers = self._spread.numpy()
        self._constant = like.new_full((), -0.5 / n)
        self._highest, self._top = like.new_empty(2, n)
        self._highest_numbers, self._top_numbers = self._highest.numpy(), self._top.numpy()
        self._mixture = _Mixture(like, n, d, 0)

    def __call__(
        self, rows: Tensor, noise: Tensor, own: Own | None = None, remembered: Tensor | None = None
    ) -> tuple[dict[str, float], Tensor]:
        """Compute the loss of a batch and its gradient.

        Parameters
        ----------
        rows : Tensor of shape (n + S, width)
            The batch, then the exemplars.
        noise : Tensor of shape (n, d)
            Standard normal draws.
        own : Own, optional
            Pairs of a row and an exemplar that are the same and are left out.
        remembered : Tensor of shape (R, d), optional
            Latent means of other exemplars, from earlier steps.

        Returns
        -------
        terms : dict of str to float
            The loss and its parts.
        centres : Tensor of shape (S, d)
            Latent means of the exemplars; the next call overwrites them.
        """
        z_rows, (heads, for_heads) = self._z.T, self._heads
        terms, features, centres = self._forward(rows, noise, own, remembered)
        g = self._decoder.backward(self._scores.for_raw, z_rows)
        torch.mm(self._decoder.transposed[0], g.T, out=self._for_z)
        self._pull(centres)
        torch.mm(self._for_codes, features, out=for_heads)
        torch.sum(self._for_codes, 1, out=self._for_biases)
        g = torch.mm(self._for_codes.T, heads, out=self._encoder.for_outputs[-1])
        self._encoder.backward(g, rows)
        if self._penalty is not None:
            terms["ewc"] = self._penalty.add()
            terms["loss"] += terms["ewc"]
        return terms, self._centres.T

    def loss(self, rows: Tensor, noise: Tensor) -> float:
        """Compute the loss of a batch alone, without the penalty."""
        return self._forward(rows, noise, None, None)[0]["loss"]

    def _forward(
        self, rows: Tensor, noise: Tensor, own: Own | None, remembered: Tensor | None
    ) -> tuple[dict[str, float], Tensor, Tensor]:
        """Return the terms of the loss, the encoder's outputs and all centres."""
        features = self._encoder.forward(rows)
        torch.addmm(self._biases, self._heads[0], features.T, out=self._codes)
        centres = self._all_centres(remembered)
        divergence = self._draw(noise, centres, own)
        cost = self._scores.cost(rows[: self.n], self._decoder.forward(self._z.T))
        terms = {"loss": cost + divergence, "reconstruction": cost, "divergence": divergence}
        return terms, features, centres

    def _all_centres(self, remembered: Tensor | None) -> Tensor:
        """Return the centres of the mixture, one column each: the step's own come first."""
        own: Tensor = self._centres
        s, more = own.shape[1], 0 if remembered is None else len(remembered)
        if self._mixture.size != s + more:
            self._mixture = _Mixture(own, self.n, self.d, s + more)
        if remembered is None:
            return own
        everyone: Tensor = self._mixture.everyone.T
        everyone[:, :s].copy_(own)
        everyone[:, s:].copy_(remembered.T)
        return everyone

    def _draw(self, noise: Tensor, centres: Tensor, own: Own | None) -> float:
        """Draw the codes, and return the mean divergence from the prior."""
        n, d, z, moves, mixture = self.n, self.d, self._z, self._moves, self._mixture
        log_s2 = self._log_s2.item()
        precision = _exp(-log_s2)
        if self._has_spread:
            torch.mul(self._spread, 0.5, out=moves).exp_().mul_(noise.T)
            spread = float(self._spread_numbers.sum())
        else:
            torch.mul(noise.T, _exp(0.5 * log_s2), out=moves)
            spread = n * d * log_s2
        torch.add(self._means, moves, out=z)
        torch.mul(centres, centres, out=mixture.squares)
        lengths = torch.sum(mixture.squares, 0, out=mixture.lengths)
        logits = torch.addmm(
            lengths, z.T, centres, beta=-0.5 * precision, alpha=precision, out=mixture.logits
        )
        count = n * math.log(mixture.size)
        if own is not None and len(own.places):
            logits.view(-1).index_fill_(0, own.places, -torch.inf)
            count = float(own.log_others.numpy().sum())
        torch.amax(logits, -1, out=self._highest)
        torch.softmax(logits, -1, out=mixture.weights)
        torch.amax(mixture.weights, -1, out=self._top)
        log_p = float(self._highest_numbers.sum() - np.log(self._top_numbers).sum())  # logsumexp
        self._length = _dot(self._z_numbers, self._z_numbers)
        numbers = noise.numpy()
        squares = precision * self._length - _dot(numbers, numbers) - spread
        return (0.5 * (squares + n * d * log_s2) - log_p + count) / n

    def _pull(self, centres: Tensor) -> None:
        """Add the divergence's gradient to that of the codes, and find that of all latent means."""
        n, d, z, pulled, mixture = self.n, self.d, self._z, self._pulled, self._mixture
        share = _exp(-self._log_s2.item()) / n
        torch.mm(centres, mixture.weights.T, out=pulled)
        torch.sub(z, pulled, out=pulled)
        self._for_z.add_(pulled, alpha=share)
        torch.sum(mixture.weights, 0, out=mixture.masses)
        s = self._centres.shape[1]
        torch.mul(self._centres, mixture.masses[:s], out=self._for_centres)
        self._for_centres.addmm_(z, mixture.weights[:, :s], beta=share, alpha=-share)
        stretched = 2.0 * _dot(self._z_numbers, self._pulled_numbers) - self._length
        stretched += _dot(mixture.masses.numpy(), mixture.lengths.numpy())
        for_log_s2 = 0.5 * (d - share * stretched)
        if self._has_spread:
            torch.addcmul(self._constant, self._for_z, self._moves, value=0.5, out=self._for_spread)
        else:
            for_log_s2 += 0.5 * (float((self._for_z * self._moves).sum()) - d)
        self._for_log_s2.fill_(for_log_s2)


class _Mixture:
    """Room for what is computed of a mixture of some size."""

    everyone: Tensor
    squares: Tensor
    lengths: Tensor
    masses: Tensor
    logits: Tensor
    weights: Tensor

    def __init__(self, like: Tensor, n: int, d: int, size: int) -> None:
        self.size = size
        self.everyone = like.new_empty(size, d)
        self.squares = like.new_empty(d, size)
        self.lengths, self.masses = like.new_empty(2, size)
        self.logits, self.weights = like.new_empty(2, n, size)


def _dot(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the sum of the products of two arrays."""
    return float(np.vdot(a, b))


class _Flat:
    """The parameters of a model as one vector, and their gradients as another.

    The likelihood's own parameters are at the end.
    """

    def __init__(self, vae: Trainable, heads: Sequence[nn.Linear]) -> None:
        named = dict(vae.named_parameters())
        self.names = {id(p): name for name, p in named.items()}
        first = [*(head.weight for head in heads), *(head.bias for head in heads)]
        last = [p for p in (vae.likelihood.log_variance,) if p is not None]
        apart = {id(p) for p in (*first, *last)}
        self.ordered = [*first, *(p for p in named.values() if id(p) not in apart), *last]
        self.values = torch.cat([p.detach().reshape(-1) for p in self.ordered])
        self.gradients = torch.zeros_like(self.values)
        self._places: dict[int, slice] = {}
        start = 0
        for p in self.ordered:
            place = self._places[id(p)] = slice(start, start + p.numel())
            p.data = self.values[place].view(p.shape)
            p.grad = self.gradients[place].view(p.shape)
            start = place.stop
        end = start - sum(p.numel() for p in last)
        self.weights, self.variances = self._vector(slice(0, end)), self._vector(slice(end, start))

    def _vector(self, place: slice) -> list[Tensor]:
        if place.start == place.stop:
            return []
        vector = nn.Parameter(self.values[place])
        vector.grad = self.gradients[place]
        return [vector]

    def pair(self, parameter: Tensor) -> tuple[Tensor, Tensor]:
        """Return a parameter and its gradient."""
        return self.stacked([parameter])

    def stacked(self, parameters: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return parameters that are neighbours as one, and their gradients."""
        places = [self._places[id(p)] for p in parameters]
        place = slice(places[0].start, places[-1].stop)
        first = parameters[0].shape
        shape = (len(parameters) * first[0], *first[1:]) if first else ()
        return self.values[place].view(shape), self.gradients[place].view(shape)

    def lay_out(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return tensors, given by their parameters' names, in the order of the vector."""
        return torch.cat([tensors[self.names[id(p)]].reshape(-1) for p in self.ordered])


class _Stack:
    """Fully connected layers, and room for the outputs of ``n`` rows and their gradients.

    A layer's gradient takes the place of outputs that are not needed any more, so that the
    processor's cache holds all.
    """

    def __init__(self, flat: _Flat, layers: Dense, n: int) -> None:
        self.weights = [flat.pair(layer.weight) for layer in layers.linear]
        self.biases = [flat.pair(layer.bias) for layer in layers.linear]
        self.transposed = [weight.T for weight, _ in self.weights]
        self.activated = [True] * (len(self.weights) - 1) + [layers.activates_last]
        sizes = [layer.out_features for layer in layers.linear]
        least = [max(sizes[i], sizes[i - 1] if i else 0) for i in range(len(sizes))]
        room = [flat.values.new_empty(n * size) for size in [*least, sizes[-1]]]
        self.outputs = [
            _columns(memory, size, n) for memory, size in zip(room, sizes, strict=False)
        ]
        self.for_outputs = [
            _columns(memory, size, n) for memory, size in zip(room[1:], sizes, strict=True)
        ]
        if not layers.activates_last:  # what is scored is laid out as the rows are
            self.outputs[-1] = room[-2][: n * sizes[-1]].view(n, sizes[-1])

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layers."""
        for i, transposed in enumerate(self.transposed):
            x = torch.addmm(self.biases[i][0], x, transposed, out=self.outputs[i])
            if self.activated[i]:
                x.relu_()
        return x

    def backward(self, g: Tensor, x: Tensor) -> Tensor:
        """Find the gradients of all layers, given that of the outputs, which is overwritten.

        Return the gradient with respect to the first layer's outputs before their activation.
        """
        for i in reversed(range(len(self.weights))):
            if self.activated[i]:
                torch.ops.aten.threshold_backward.grad_input(g, self.outputs[i], 0.0, grad_input=g)
            torch.mm(g.T, self.outputs[i - 1] if i else x, out=self.weights[i][1])
            torch.sum(g, 0, out=self.biases[i][1])
            if i:
                g = torch.mm(g, self.weights[i][0], out=self.for_outputs[i - 1])
        return g


def _columns(memory: Tensor, size: int, n: int) -> Tensor:
    """Return memory as a matrix of ``n`` rows that are stored as columns."""
    return memory[: n * size].view(size, n).T


class _FlatPenalty:
    """The penalty of Eq. 6 on all parameters at once."""

    def __init__(self, flat: _Flat, penalty: Penalty) -> None:
        self.flat = flat
        self.anchor = flat.lay_out(penalty.anchor)
        self.strengths = flat.lay_out(penalty.fisher).mul_(penalty.weight)
        self.moves, self.pulls = torch.empty_like(flat.values), torch.empty_like(flat.values)

    def add(self) -> float:
        """Return the penalty, and add its gradient to that of the loss."""
        torch.sub(self.flat.values, self.anchor, out=self.moves)
        torch.mul(self.moves, self.strengths, out=self.pulls)
        self.flat.gradients.add_(self.pulls, alpha=2.0)
        return torch.dot(self.moves, self.pulls).item()


def _exp(value: float) -> float:
    """Return e to a power, infinity where it is too large: the loop then finds a loss of NaN."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
