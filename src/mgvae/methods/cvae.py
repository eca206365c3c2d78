r"""The conditional VAE over all classes: the paper's baseline OCVAE.

One model learns every class at once. The class, as a one-hot condition :math:`y`, is joined to the
row and to the latent code, and the prior is the standard normal:

.. math:: O(\Psi; x, y) = E_{q(z \mid x, y)} \bigl[ \log p(x \mid z, y)
          - \log q(z \mid x, y) + \log N(z;\, 0, I) \bigr].

A new row of a class is :math:`x \sim p(x \mid z, y)` with :math:`z \sim N(0, I)`.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mgvae.common.rows import blocks, take
from mgvae.common.runtime import torch_generator
from mgvae.methods.mgvae.generation import DecoderOutput
from mgvae.methods.mgvae.learning import Stage, adam
from mgvae.model.vae import VAE, elbo, with_condition
from mgvae.training import Callback, History, Player, train

if TYPE_CHECKING:
    from mgvae.training.checkpoints import StageFile

__all__ = ["fit_conditional", "generate_conditional", "one_hot", "translate_conditional"]


def one_hot(codes: NDArray[np.int64], n_classes: int) -> Tensor:
    """Give class codes as rows of zeros and a one.

    Examples
    --------
    >>> import numpy as np
    >>> one_hot(np.array([1]), 3)
    tensor([[0., 1., 0.]])
    """
    return functional.one_hot(torch.from_numpy(codes), n_classes).float()


def fit_conditional(
    vae: VAE,
    rows: Tensor,
    codes: NDArray[np.int64],
    n_classes: int,
    stage: Stage,
    seeds: np.random.SeedSequence,
    callback: Callback | None = None,
    file: "StageFile | None" = None,
) -> History:
    """Learn all rows under their classes; the model is changed in place.

    Parameters
    ----------
    vae : VAE
        With the standard prior, and bodies that take the condition.
    rows : Tensor of shape (n, width)
        Encoded rows.
    codes : ndarray of int of shape (n,)
        Their classes, from 0.
    n_classes : int
        How many classes there are.
    stage : Stage
        Steps, learning rate, batch size.
    seeds : numpy.random.SeedSequence
        Decides batches and noise.
    callback, file : optional
        See :func:`mgvae.training.train`.

    Returns
    -------
    history : History
        Loss terms by step.
    """
    device = vae.log_variance.device
    for_rows, for_noise = seeds.spawn(2)
    rng = np.random.default_rng(for_rows)
    generator = torch_generator(for_noise, device)
    n_batch = min(stage.batch_size, len(rows))

    def loss(step: int) -> dict[str, Tensor]:  # noqa: ARG001
        batch = rng.choice(len(rows), n_batch, replace=False, shuffle=False)
        condition = one_hot(codes[batch], n_classes).to(device)
        noise = torch.randn(n_batch, vae.latent_size, generator=generator, device=device)
        x = take(rows, batch).to(device)
        return dict(elbo(vae, x, noise, condition=condition).terms())

    return train(
        [Player(loss, adam(vae, stage.learning_rate))],
        stage="training",
        steps=stage.steps,
        schedule=stage.schedule,
        clip_norm=stage.clip_norm,
        callback=callback,
        parts=[vae, rng, generator],
        file=file,
    )


@torch.no_grad()
def generate_conditional(
    vae: VAE,
    condition: Tensor,
    n: int,
    seeds: np.random.SeedSequence,
    *,
    temperature: float = 1.0,
    decoder_output: DecoderOutput = "mean",
) -> Tensor:
    """Draw ``n`` rows of the class whose one-hot row is ``condition``.

    Parameters
    ----------
    vae : VAE
        The trained model.
    condition : Tensor of shape (k,)
        The class.
    n : int
        How many rows.
    seeds : numpy.random.SeedSequence
        Decides the codes and the draws.
    temperature : float
        Factor on the latent noise.
    decoder_output : {"mean", "sample"}
        Whether numbers are means or draws.

    Returns
    -------
    encoded : Tensor of shape (n, width)
        On the CPU.
    """
    device = vae.log_variance.device
    generator = torch_generator(seeds, device)
    made = [torch.empty(0, vae.likelihood.width)]
    for size in blocks(n):
        z = temperature * torch.randn(size, vae.latent_size, generator=generator, device=device)
        raw = vae.decoder(with_condition(z, condition.to(device).expand(size, -1)))
        drawn = vae.likelihood.draw(raw, generator, numeric_noise=decoder_output == "sample")
        made.append(drawn.cpu())
    return torch.cat(made)


@torch.no_grad()
def translate_conditional(
    vae: VAE,
    encoded: Tensor,
    source: Tensor,
    target: Tensor,
    seeds: np.random.SeedSequence,
    *,
    decoder_output: DecoderOutput = "mean",
) -> Tensor:
    """Encode rows under one class and decode them under another.

    Parameters
    ----------
    vae : VAE
        The trained model.
    encoded : Tensor of shape (n, width)
        Rows of the source class.
    source, target : Tensor of shape (k,)
        The classes, one-hot.
    seeds : numpy.random.SeedSequence
        Decides the draws.
    decoder_output : {"mean", "sample"}
        Whether numbers are means or draws.

    Returns
    -------
    encoded : Tensor of shape (n, width)
        On the CPU.
    """
    device = vae.log_variance.device
    generator = torch_generator(seeds, device)
    x = encoded.to(device)
    z = vae.mean(with_condition(x, source.to(device).expand(len(x), -1)))
    raw = vae.decoder(with_condition(z, target.to(device).expand(len(x), -1)))
    return vae.likelihood.draw(raw, generator, numeric_noise=decoder_output == "sample").cpu()
