r"""The fence: every hand-written gradient and hand-fused operation of the package.

The modules beside this one say what is computed; this one computes the same in fewer passes. A
training step of a small network spends most of its time outside the matrix products: in small
passes over matrices, and in autograd's bookkeeping. The functions below remove both.

Rules of the fence:

- Every function here stands beside its plain form ``..._plain``, which autograd differentiates.
  There are two exceptions: the plain form of :func:`vae_codes` is Eq. 4 in :mod:`mgvae.model.vae`,
  that of :class:`Adam` is torch's. ``tests/model/test_kernels.py`` compares values and gradients of
  all pairs.
- Other modules use the names in ``__all__`` and nothing else.
- No result has a second derivative, and none works under :mod:`torch.func`: what needs either, such
  as the Fisher information, calls the plain form.

The gradient of gathering tensors from several processes is communication, and stands in
:mod:`mgvae.training.team`.
"""

import math
from collections.abc import Callable
from itertools import islice, zip_longest
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from mgvae.codec import Activation
from mgvae.model.prior import Own, log_component_count, log_majority_mixture
from mgvae.networks import Dense

__all__ = ["Adam", "squared_error", "vae_codes"]


# ------------------------------------------------------------------------- fully connected layers
#
# Results are laid out along their longer side, where BLAS fills its registers: 600 rows of 300
# outputs take a tenth less time.


def dense_plain(layers: Dense, x: Tensor) -> Tensor:
    """Apply fully connected layers with ReLU between them."""
    outputs: Tensor = layers(x)
    return outputs


def dense(layers: Dense, x: Tensor) -> Tensor:
    """Compute :func:`dense_plain` as one function, with ReLU and its gradient in place.

    Examples
    --------
    >>> import torch
    >>> layers = Dense(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    >>> x = torch.ones(4, 2)
    >>> torch.allclose(dense(layers, x), dense_plain(layers, x))
    True
    """
    outputs: Tensor = _Dense.apply(  # type: ignore[no-untyped-call]
        x, layers.activates_last, *_parameters(layers.linear)
    )
    return outputs


class _Dense(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, activates_last: bool, *parameters: Tensor) -> Tensor:
        weights, biases = parameters[::2], parameters[1::2]
        outputs = [x]
        for weight, bias in zip(weights, biases, strict=True):
            outputs.append(_affine(outputs[-1], weight, bias))
            if activates_last or len(outputs) <= len(weights):
                outputs[-1].relu_()
        ctx.activates_last = activates_last
        ctx.save_for_backward(*weights, *outputs)
        return outputs[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Any:
        n = len(ctx.saved_tensors) // 2
        weights, outputs = ctx.saved_tensors[:n], ctx.saved_tensors[n:]
        if ctx.activates_last:
            g = torch.ops.aten.threshold_backward(g, outputs[n], 0.0)
        found: list[Tensor | None] = []  # the last layer's first
        for i in reversed(range(n)):
            found += [g.sum(0), g.T @ outputs[i]]
            if i:
                g = _product(g, weights[i])
                torch.ops.aten.threshold_backward.grad_input(g, outputs[i], 0.0, grad_input=g)
        found += [None, g @ weights[0] if ctx.needs_input_grad[0] else None]
        return tuple(reversed(found))


def two_heads_plain(
    features: Tensor, one: nn.Linear, other: nn.Linear, n: int
) -> tuple[Tensor, Tensor]:
    """Apply one layer to all rows and another to the first ``n``."""
    return one(features), other(features[:n])


def two_heads(features: Tensor, one: nn.Linear, other: nn.Linear, n: int) -> tuple[Tensor, Tensor]:
    """Compute :func:`two_heads_plain`; one product adds its gradient to that of the other.

    Examples
    --------
    >>> import torch
    >>> means, spreads = two_heads(torch.ones(5, 2), nn.Linear(2, 3), nn.Linear(2, 3), 4)
    >>> means.shape, spreads.shape
    (torch.Size([5, 3]), torch.Size([4, 3]))
    """
    outputs: tuple[Tensor, Tensor] = _TwoHeads.apply(  # type: ignore[no-untyped-call]
        features, n, *_parameters([one, other])
    )
    return outputs


class _TwoHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, n: int, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        weight, bias, other_weight, other_bias = parameters
        ctx.save_for_backward(features, weight, other_weight)
        outputs = _affine(features, weight, bias)
        return outputs, _affine(features[:n], other_weight, other_bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor, other_g: Tensor) -> Any:
        features, weight, other_weight = ctx.saved_tensors
        n = len(other_g)
        for_features = _product(g, weight)
        for_features[:n].addmm_(other_g, other_weight)
        return (
            for_features, None,
            g.T @ features, g.sum(0),
            other_g.T @ features[:n], other_g.sum(0),
        )  # fmt: skip


def _parameters(layers: list[nn.Linear]) -> list[Tensor]:
    """Return the weights and the bias of each layer in turn."""
    return [p for layer in layers for p in (layer.weight, layer.bias)]


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Multiply two matrices; the longer side of the result is contiguous."""
    return (b.T @ a.T).T if a.shape[0] > b.shape[1] else a @ b


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Apply a layer; the longer side of the result is contiguous."""
    if len(x) > len(weight):
        return torch.addmm(bias.unsqueeze(1), weight, x.T).T
    return torch.addmm(bias, x, weight.T)


# ---------------------------------------------------- drawing a code and comparing q with the prior


def draw_and_compare_plain(
    mean: Tensor,
    log_variance: Tensor,
    noise: Tensor,
    centres: Tensor,
    prior_log_variance: Tensor,
    own: Own | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw z from q and return it with log q(z|x) - log p(z|X+), the divergence of Eq. 4."""
    z = mean + torch.exp(0.5 * log_variance) * noise
    log_q = -0.5 * (noise.square() + log_variance + math.log(2.0 * math.pi)).sum(-1)
    return z, log_q - log_majority_mixture(z, centres, prior_log_variance, own)


def draw_and_compare(
    mean: Tensor,
    log_variance: Tensor,
    noise: Tensor,
    centres: Tensor,
    prior_log_variance: Tensor,
    own: Own | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Compute :func:`draw_and_compare_plain` with every gradient in closed form.

    With the responsibilities :math:`w_{in}` of the exemplars for a code,
    :math:`\partial \log p / \partial z_i = s^{-2} \sum_n w_{in} (c_n - z_i)`, and so on: two
    products in place of many passes over small matrices, which are a tenth of a training step.

    Parameters
    ----------
    mean, log_variance, noise : Tensor of shape (n, d)
        The posterior's means and log-variances, and standard normal draws.
    centres : Tensor of shape (S, d)
        Latent means of the exemplars.
    prior_log_variance : Tensor, scalar
        :math:`\log s^2`.
    own : Own, optional
        See :func:`mgvae.model.prior.log_majority_mixture`.

    Returns
    -------
    z : Tensor of shape (n, d)
        The codes.
    divergence : Tensor of shape (n,)
        :math:`\log q(z \mid x) - \log p(z \mid X^+)`.

    Examples
    --------
    >>> import torch
    >>> x, c = torch.zeros(1, 2), torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    >>> z, divergence = draw_and_compare(x, x, x, c, torch.tensor(0.0))
    >>> round(divergence.item(), 4)
    0.3799
    """
    drawn: tuple[Tensor, Tensor] = _DrawAndCompare.apply(  # type: ignore[no-untyped-call]
        mean, log_variance, noise, centres, prior_log_variance, own
    )
    return drawn


class _DrawAndCompare(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        mean: Tensor,
        log_variance: Tensor,
        noise: Tensor,
        centres: Tensor,
        prior_log_variance: Tensor,
        own: Own | None,
    ) -> tuple[Tensor, Tensor]:
        moves = (0.5 * log_variance).exp_().mul_(noise)
        z = mean + moves
        precision = torch.exp(-prior_log_variance)
        scaled = z * precision
        logits = torch.addmm(centres.square().sum(-1) * (-0.5 * precision), scaled, centres.T)
        if own is not None:
            logits.view(-1).index_fill_(0, own.places, -torch.inf)
        highest = logits.amax(-1, keepdim=True)
        weights = logits.sub_(highest).exp_()
        total = weights.sum(-1, keepdim=True)
        squares = scaled.mul_(z).addcmul_(noise, noise, value=-1.0).sub_(log_variance).sum(-1)
        divergence = squares.add_(z.shape[-1] * prior_log_variance).mul_(0.5)
        divergence.sub_(highest.add_(total.log()).squeeze(-1))  # logsumexp
        ctx.save_for_backward(z, moves, centres, precision, weights, total)
        return z, divergence.add_(log_component_count(z, centres, own))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        z, moves, centres, precision, weights, total = ctx.saved_tensors
        for_z, g = gradients[0], gradients[1].unsqueeze(-1)  # (n, d), (n, 1)
        shares = weights * (g / total)  # (n, S)
        pull = precision * (g * z - shares @ centres)  # of the mixture on the codes, (n, d)
        for_centres = (centres.T * shares.sum(0)).addmm_(z.T, shares, alpha=-1.0).mul_(precision).T
        stretched = (z * pull).sum() + (centres * for_centres).sum()  # Euler's rule
        for_z = for_z + pull
        for_log_variance = (for_z * moves).sub_(g).mul_(0.5)
        for_prior = 0.5 * (z.shape[-1] * g.sum() - stretched)
        return for_z, for_log_variance, None, for_centres, for_prior, None


# ------------------------------------------------------------------------- Eq. 4 but the likelihood


class Autoencoder(Protocol):
    """What :func:`vae_codes` needs of a :class:`mgvae.model.vae.VAE`."""

    encoder: nn.Module
    mean_head: nn.Linear
    log_variance_head: nn.Linear | None
    decoder: nn.Module
    log_variance: nn.Parameter


Gather = Callable[[Tensor], Tensor]


def vae_codes(
    vae: Autoencoder,
    rows: Tensor,
    noise: Tensor,
    own: Own | None = None,
    remembered: Tensor | None = None,
    gather: Gather | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Compute Eq. 4 up to the likelihood by the functions above.

    The plain form is Eq. 4 itself, :func:`mgvae.model.vae.elbo`. A network of fully connected
    layers becomes one function from the rows to the decoder's outputs, so that autograd has one
    function to record and to call in place of six. Other networks are run layer by layer.

    Parameters
    ----------
    vae : VAE
        The model.
    rows : Tensor of shape (n + S, width)
        The batch, then the exemplars.
    noise : Tensor of shape (n, d)
        Standard normal draws.
    own : Own, optional
        See :func:`mgvae.model.prior.log_majority_mixture`.
    remembered : Tensor of shape (R, d), optional
        Latent means of other exemplars, from earlier steps.
    gather : callable, optional
        Puts the latent means of exemplars that other processes have encoded beside these.

    Returns
    -------
    raw : Tensor of shape (n, width)
        The decoder's outputs.
    divergence : Tensor of shape (n,)
        :math:`\log q(z \mid x) - \log p(z \mid X^+)`.
    centres : Tensor of shape (S, d)
        Latent means of the exemplars. Use their values only: depending on the way taken, they have
        no gradient.
    """
    encoder, head, decoder = vae.encoder, vae.log_variance_head, vae.decoder
    if (
        isinstance(encoder, Dense)
        and isinstance(decoder, Dense)
        and head is not None
        and gather is None
    ):
        layers = [*encoder.linear, vae.mean_head, head, *decoder.linear]
        codes: tuple[Tensor, Tensor, Tensor] = _Codes.apply(  # type: ignore[no-untyped-call]
            rows, noise, own, remembered, vae.log_variance, len(encoder.linear),
            *_parameters(layers),
        )  # fmt: skip
        return codes
    n = len(noise)
    features = _run(encoder, rows)
    if head is None:
        means = vae.mean_head(features)
        log_variance = vae.log_variance.expand(n, means.shape[1])
    else:
        means, log_variance = two_heads(features, vae.mean_head, head, n)
    mean, centres = torch.split(means, [n, len(features) - n])
    if gather is not None:
        centres = gather(centres.contiguous())
    everyone = centres if remembered is None else torch.cat([centres, remembered])
    z, divergence = draw_and_compare(mean, log_variance, noise, everyone, vae.log_variance, own)
    return _run(decoder, z), divergence, centres


def _run(body: nn.Module, x: Tensor) -> Tensor:
    outputs: Tensor = dense(body, x) if isinstance(body, Dense) else body(x)
    return outputs


class _Codes(torch.autograd.Function):
    """The encoder, its heads, the comparison with the prior and the decoder in one function."""

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        noise: Tensor,
        own: Own | None,
        remembered: Tensor | None,
        prior_log_variance: Tensor,
        depth: int,
        *parameters: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        n, heads = len(noise), 2 * depth
        notes = [_Notes() for _ in range(4)]
        features = _Dense.forward(notes[0], rows, True, *parameters[:heads])
        means, log_variance = _TwoHeads.forward(
            notes[1], features, n, *parameters[heads : heads + 4]
        )
        mean, centres = means[:n], means[n:]
        everyone = centres if remembered is None else torch.cat([centres, remembered])
        z, divergence = _DrawAndCompare.forward(
            notes[2], mean, log_variance, noise, everyone, prior_log_variance, own
        )
        raw = _Dense.forward(notes[3], z, False, *parameters[heads + 4 :])
        ctx.save_for_backward(*(tensor for part in notes for tensor in part.saved_tensors))
        ctx.sizes = [len(part.saved_tensors) for part in notes]
        ctx.n_exemplars = len(centres)
        ctx.mark_non_differentiable(centres)
        return raw, divergence, centres

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, for_raw: Tensor, for_divergence: Tensor, _: Tensor) -> Any:
        saved = iter(ctx.saved_tensors)
        notes = [_Notes(*islice(saved, size)) for size in ctx.sizes]
        notes[0].activates_last = True
        notes[3].needs_input_grad = (True,)
        for_z, _, *decoder = _Dense.backward(notes[3], for_raw)
        for_mean, for_log_variance, _, for_centres, for_prior, _ = _DrawAndCompare.backward(
            notes[2], for_z, for_divergence
        )
        for_all = torch.cat([for_mean, for_centres[: ctx.n_exemplars]])
        for_features, _, *heads = _TwoHeads.backward(notes[1], for_all, for_log_variance)
        _, _, *encoder = _Dense.backward(notes[0], for_features)
        return (None, None, None, None, for_prior, None, *encoder, *heads, *decoder)


class _Notes:
    """What one part of a function notes for its gradient; stands in for autograd's context."""

    def __init__(self, *tensors: Tensor) -> None:
        self.saved_tensors = tensors
        self.activates_last = False
        self.needs_input_grad = (False,)

    def save_for_backward(self, *tensors: Tensor) -> None:
        self.saved_tensors = tensors


# --------------------------------------------------------------------------------- squared error


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda raw: raw,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def squared_error_plain(x: Tensor, raw: Tensor, activation: Activation) -> Tensor:
    """Return less the squared distance of the means f(raw) from x, row by row."""
    return -(x - _ACTIVATIONS[activation](raw)).square().sum(-1)


def squared_error(x: Tensor, raw: Tensor, activation: Activation) -> Tensor:
    """Compute :func:`squared_error_plain`; the gradient is one pass, in place.

    Examples
    --------
    >>> import torch
    >>> squared_error(torch.tensor([[3.0]]), torch.tensor([[1.0]]), "identity")
    tensor([-4.])
    """
    score: Tensor = _SquaredError.apply(x, raw, activation)  # type: ignore[no-untyped-call]
    return score


class _SquaredError(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, raw: Tensor, activation: Activation) -> Tensor:
        mean = _ACTIVATIONS[activation](raw)
        error = x - mean
        ctx.save_for_backward(error, mean)
        ctx.activation = activation
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


# ------------------------------------------------------------------------------------------ Adam


class _Moments(NamedTuple):
    """The parameters that moved last, with what Adam keeps of them."""

    moved: list[Tensor]
    first: list[Tensor]
    second: list[Tensor]
    steps: list[Tensor]


class Adam(torch.optim.Adam):
    """Adam with one count of steps for all parameters of a group.

    The plain form is the base class with ``fused=True``, whose results are the same to the last
    bit. It counts the steps of every parameter in a tensor of its own. A small network has a dozen
    parameters, and adding one to a dozen tensors takes as long as moving all weights.

    Parameters
    ----------
    params : iterable
        Parameters, or groups of them, as in torch.
    lr : float
        The learning rate of groups that have none.
    weight_decay : float
        Added to the gradient, times the weight.

    Examples
    --------
    >>> import torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> w.grad = torch.tensor([2.0])
    >>> Adam([w], lr=0.1).step()
    >>> round(w.item(), 6)
    0.9
    """

    def __init__(self, params: Any, lr: float = 1e-3, weight_decay: float = 0.0) -> None:
        super().__init__(params, lr=lr, weight_decay=weight_decay, fused=True)
        self._moments: dict[int, _Moments] = {}  # by group

    def load_state_dict(self, state_dict: Any) -> None:
        """Continue from a state that ``state_dict`` returned."""
        super().load_state_dict(state_dict)
        self._moments.clear()

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient."""
        if closure is not None:
            closure()
        for number, group in enumerate(self.param_groups):
            moved = [p for p in group["params"] if p.grad is not None]
            if moved:
                self._move(number, group, moved)

    step.hooked = True  # type: ignore[attr-defined] # else torch times every call for its profiler

    def _move(self, number: int, group: dict[str, Any], moved: list[Tensor]) -> None:
        found = self._moments.get(number)
        if found is None or any(p is not q for p, q in zip_longest(moved, found.moved)):
            found = self._moments[number] = self._begin(moved)
        found.steps[0].add_(1)
        beta1, beta2 = group["betas"]
        torch._fused_adam_(
            moved,
            [p.grad for p in moved if p.grad is not None],
            found.first,
            found.second,
            [],
            found.steps,
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )

    def _begin(self, moved: list[Tensor]) -> _Moments:
        """Start a group, or continue one whose loaded counts are equal but separate tensors."""
        states = [self.state[p] for p in moved]
        count = states[0].get("step", torch.zeros((), device=moved[0].device))
        for parameter, state in zip(moved, states, strict=True):
            if state and state["step"].item() != count.item():
                raise ValueError("the parameters of a group have taken different numbers of steps")
            if not state:
                state["exp_avg"] = torch.zeros_like(parameter)
                state["exp_avg_sq"] = torch.zeros_like(parameter)
            state["step"] = count
        return _Moments(
            moved,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [count] * len(moved),
        )
