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

Latent quantities have one column for each row, the others one row for each: products with a side
as short as a latent code are twice as fast that way.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from mgvae.model.kernels.scores import Scorable, Scores
from mgvae.model.prior import Own
from mgvae.networks import Dense

__all__ = ["DenseStep"]


class Trainable(Protocol):
    """What :class:`DenseStep` needs of a :class:`mgvae.model.vae.VAE`."""

    prior: str
    latent_size: int
    encoder: nn.Module
    mean_head: nn.Linear
    log_variance_head: nn.Linear | None
    decoder: nn.Module
    likelihood: Scorable
    log_variance: nn.Parameter

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...


class Penalty(Protocol):
    """What :class:`DenseStep` needs of a :class:`mgvae.model.ewc.Consolidation`."""

    weight: float
    anchor: Mapping[str, Tensor]
    fisher: Mapping[str, Tensor]


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
        self, vae: Trainable, n: int, n_exemplars: int, penalty: Penalty | None = None
    ) -> None:
        if not (isinstance(vae.encoder, Dense) and isinstance(vae.decoder, Dense)):
            raise TypeError("the layers of the model are not fully connected")
        heads = [vae.mean_head, *([] if vae.log_variance_head is None else [vae.log_variance_head])]
        flat = _Flat(vae, heads)
        like, d, both = flat.values, vae.latent_size, n + n_exemplars
        self.n, self.d = n, d
        self.log_variance, self.for_log_variance = flat.pair(vae.log_variance)
        variances = vae.likelihood.log_variance
        self.variances = (None, None) if variances is None else flat.pair(variances)
        self.encoder, self.decoder = _Stack(flat, vae.encoder, both), _Stack(flat, vae.decoder, n)
        self.heads = flat.stacked([head.weight for head in heads])
        self.head_biases = flat.stacked([head.bias for head in heads])
        self.scores = Scores(vae.likelihood, n, like)
        self.penalty = None if penalty is None else _FlatPenalty(flat, penalty)

        # One column for each row of the batch, then one for each exemplar.
        self.codes, self.for_codes = like.new_zeros(2, len(heads) * d, both)
        self.z, self.moves, self.pulled = like.new_empty(3, d, n)
        self.room = like.new_empty(0, 0)  # for responsibilities
        self.everyone = like.new_empty(0, d)

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
        n, d = self.n, self.d
        features = self.encoder.forward(rows)
        torch.addmm(self.head_biases[0].unsqueeze(1), self.heads[0], features.T, out=self.codes)
        centres = self._all_centres(remembered)
        divergence = self._draw(noise.T, centres, own)
        raw = self.decoder.forward(self.z.T)
        cost = self.scores.cost(rows[:n], raw, *self.variances)
        terms = {"loss": cost + divergence, "reconstruction": cost, "divergence": divergence}

        for_z = self.for_codes[:d, :n]
        g = self.decoder.backward(self.scores.for_raw, self.z.T)
        torch.mm(self.decoder.transposed[0], g.T, out=for_z)
        self._pull(for_z, centres)
        torch.mm(self.for_codes, features, out=self.heads[1])
        torch.sum(self.for_codes, 1, out=self.head_biases[1])
        g = torch.mm(self.for_codes.T, self.heads[0], out=self.encoder.for_outputs[-1])
        self.encoder.backward(g, rows)
        if self.penalty is not None:
            terms["ewc"] = self.penalty.add()
            terms["loss"] += terms["ewc"]
        return terms, self.codes[:d, n:].T

    def _all_centres(self, remembered: Tensor | None) -> Tensor:
        """Return the centres of the mixture, one column each: the step's own come first."""
        own = self.codes[: self.d, self.n :]
        if remembered is None:
            return own
        s, count = own.shape[1], own.shape[1] + len(remembered)
        if len(self.everyone) != count:
            self.everyone = own.new_empty(count, self.d)
        self.everyone[:s].copy_(own.T)
        self.everyone[s:].copy_(remembered)
        return self.everyone.T

    def _draw(self, noise: Tensor, centres: Tensor, own: Own | None) -> float:
        """Draw the codes, and return the mean divergence from the prior."""
        n, d, z, moves = self.n, self.d, self.z, self.moves
        log_s2 = self.log_variance.item()
        precision = math.exp(-log_s2)
        if len(self.codes) == d:
            torch.mul(noise, math.exp(0.5 * log_s2), out=moves)
            spread = n * d * log_s2
        else:
            log_variance = self.codes[d:, :n]
            torch.mul(log_variance, 0.5, out=moves).exp_().mul_(noise)
            spread = log_variance.sum().item()
        torch.add(self.codes[:d, :n], moves, out=z)
        if self.room.shape[1] != centres.shape[1]:
            self.room = z.new_empty(n, centres.shape[1])
        self.lengths = centres.square().sum(0)
        logits = torch.addmm(
            self.lengths, z.T, centres, beta=-0.5 * precision, alpha=precision, out=self.room
        )
        count = n * math.log(centres.shape[1])
        if own is not None:
            logits.view(-1).index_fill_(0, own.places, -torch.inf)
            count = own.log_others.sum().item()
        highest = logits.amax(-1)
        self.weights = torch.softmax(logits, -1)
        mixture = highest.sub_(self.weights.amax(-1).log_()).sum().item()  # logsumexp
        self.squares = torch.dot(z.view(-1), z.view(-1)).item()
        squares = precision * self.squares - noise.square().sum().item() - spread
        return (0.5 * (squares + n * d * log_s2) - mixture + count) / n

    def _pull(self, for_z: Tensor, centres: Tensor) -> None:
        """Add the divergence's gradient to that of the codes, and find that of all latent means."""
        n, d, z, pulled = self.n, self.d, self.z, self.pulled
        share = math.exp(-self.log_variance.item()) / n
        torch.mm(centres, self.weights.T, out=pulled)
        for_z.add_(z, alpha=share).add_(pulled, alpha=-share)
        masses = self.weights.sum(0)
        s = self.codes.shape[1] - n
        for_centres = self.for_codes[:d, n:]
        torch.mul(centres[:, :s], masses[:s], out=for_centres)
        for_centres.addmm_(z, self.weights[:, :s], beta=share, alpha=-share)
        stretched = self.squares - 2.0 * torch.dot(z.view(-1), pulled.view(-1)).item()
        stretched = share * (stretched + torch.dot(masses, self.lengths).item())
        for_prior = 0.5 * (d - stretched)
        if len(self.codes) == d:
            for_prior += 0.5 * ((for_z * self.moves).sum().item() - d)
        else:
            for_spread = self.for_codes[d:, :n]
            torch.mul(for_z, self.moves, out=for_spread).sub_(1.0 / n).mul_(0.5)
        self.for_log_variance.fill_(for_prior)


class _Flat:
    """The parameters of a model as one vector, and their gradients as another."""

    def __init__(self, vae: Trainable, heads: Sequence[nn.Linear]) -> None:
        named = dict(vae.named_parameters())
        self.names = {id(p): name for name, p in named.items()}
        stacked = [*(head.weight for head in heads), *(head.bias for head in heads)]
        apart = {id(p) for p in stacked}
        self.ordered = [*stacked, *(p for p in named.values() if id(p) not in apart)]
        self.values = torch.cat([p.detach().reshape(-1) for p in self.ordered])
        self.gradients = torch.zeros_like(self.values)
        self._places: dict[int, slice] = {}
        start = 0
        for p in self.ordered:
            place = self._places[id(p)] = slice(start, start + p.numel())
            p.data = self.values[place].view(p.shape)
            p.grad = self.gradients[place].view(p.shape)
            start = place.stop

    def pair(self, parameter: Tensor) -> tuple[Tensor, Tensor]:
        """Return a parameter and its gradient."""
        return self.stacked([parameter])

    def stacked(self, parameters: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return parameters that are neighbours as one, and their gradients."""
        places = [self._places[id(p)] for p in parameters]
        place = slice(places[0].start, places[-1].stop)
        shape = parameters[0].shape
        shape = (len(parameters) * shape[0], *shape[1:]) if shape else shape
        return self.values[place].view(shape), self.gradients[place].view(shape)

    def lay_out(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return tensors, given by their parameters' names, in the order of the vector."""
        return torch.cat([tensors[self.names[id(p)]].reshape(-1) for p in self.ordered])


class _Stack:
    """Fully connected layers, and room for the outputs of ``n`` rows and their gradients."""

    def __init__(self, flat: _Flat, layers: Dense, n: int) -> None:
        self.weights = [flat.pair(layer.weight) for layer in layers.linear]
        self.biases = [flat.pair(layer.bias) for layer in layers.linear]
        self.transposed = [weight.T for weight, _ in self.weights]
        self.activated = [True] * (len(self.weights) - 1) + [layers.activates_last]
        self.outputs = [flat.values.new_empty(n, layer.out_features) for layer in layers.linear]
        self.for_outputs = [torch.empty_like(outputs) for outputs in self.outputs]

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
