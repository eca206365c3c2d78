"""All that decides what an MGVAE learns and makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from sklearn.utils._param_validation import Interval

from mgvae.methods.mgvae.generation import DecoderOutput
from mgvae.methods.mgvae.generators import GenerationMode
from mgvae.methods.mgvae.learning import Moved
from mgvae.methods.settings import AUTO, COUNT, POSITIVE, STEPS, choice, setting
from mgvae.model.vae import PosteriorVariance, PriorName
from mgvae.networks import Network, Precision

__all__ = ["MGVAESettings"]

_COUNT_OR_NONE = Interval(Integral, 0, None, closed="left")
_WEIGHT = Interval(Real, 0, None, closed="left")


@dataclass(frozen=True)
class MGVAESettings:
    """The settings of an MGVAE, without any ``"auto"`` but that of the EWC weight.

    Most have the name and the meaning of a parameter of :class:`mgvae.MGVAE`. The others exist for
    the published recipe and for ablations:

    Parameters
    ----------
    prior : {"majority", "standard"}
        The majority mixture of the paper, or the standard normal of a plain VAE.
    posterior_variance : {"head", "shared"}
        The variance of the posterior from the network, or the prior's one scalar.
    leave_one_out : bool
        Whether a row may not be its own exemplar.
    n_remembered : int
        Latent means of the latest exemplars that stand for the prior besides the step's own, in
        pre-training: many more components at no cost, but without a gradient. Fine-tuning does
        without: few exemplars a step make the minority spread over the whole majority.
    schedule : {"cosine", "constant"}
        How the learning rates fall.
    clip_norm : float or None
        Largest norm of a gradient.
    fisher_samples : int
        Generated rows from which the importance of the weights is estimated.
    ewc_candidates : sequence of float
        The weights among which ``ewc_weight="auto"`` chooses; a very small class gets the middle.
    validation_fraction, patience
        The part of a class that is held out, and how often its likelihood may fail to rise.
    moved : {"all", "decoder"}
        What fine-tuning moves.
    decoder_output : {"mean", "sample"}
        Numbers as the decoder's means, or drawn around them. Categories and missing marks, which
        have no mean, are always drawn. A bridge needs no such draw: it has a real row's residual.
    """

    prior: PriorName = setting(choice("majority", "standard"), decides="pre-training")
    posterior_variance: PosteriorVariance = setting(
        choice("head", "shared"), decides="pre-training"
    )
    leave_one_out: bool = setting("boolean", decides="pre-training")
    n_exemplars: int = setting(COUNT, decides="pre-training")
    n_remembered: int = setting(_COUNT_OR_NONE, decides="pre-training")
    network: Network = setting(
        choice("auto", "mlp", "cnn", "residual"), callable, decides="pre-training"
    )
    network_width: float = setting(POSITIVE, decides="pre-training")
    precision: Precision = setting(choice("float32", "bfloat16"), decides="pre-training")
    hidden_sizes: Sequence[int] = setting("array-like", decides="pre-training")
    latent_size: int = setting(COUNT, decides="pre-training")
    batch_size: int = setting(COUNT, decides="pre-training")
    pretrain_steps: int | str = setting(*STEPS, decides="pre-training")
    pretrain_learning_rate: float = setting(POSITIVE, decides="pre-training")
    schedule: Literal["cosine", "constant"] = setting(
        choice("cosine", "constant"), decides="pre-training"
    )
    clip_norm: float | None = setting(POSITIVE, None, decides="pre-training")
    fisher_samples: int = setting(COUNT, decides="pre-training")
    finetune_steps: int | str = setting(*STEPS, decides="fine-tuning")
    finetune_learning_rate: float = setting(POSITIVE, decides="fine-tuning")
    ewc_weight: Any = setting(_WEIGHT, AUTO, decides="fine-tuning")
    ewc_candidates: Sequence[float] = setting("array-like", decides="fine-tuning")
    early_stopping: bool = setting("boolean", decides="fine-tuning")
    validation_fraction: float = setting(
        Interval(Real, 0, 1, closed="neither"), decides="fine-tuning"
    )
    patience: int = setting(COUNT, decides="fine-tuning")
    generation: GenerationMode = setting(
        choice("translate", "responsibility", "bridge"), decides="generation"
    )
    temperature: float = setting(_WEIGHT, decides="generation")
    decoder_output: DecoderOutput = setting(choice("mean", "sample"), decides="generation")
    rejection: float = setting(Interval(Real, 0, 1, closed="left"), decides="generation")
    augment: Mapping[str, Any] | None = setting(Mapping, None, decides="fine-tuning", before=None)
    moved: Moved = setting(choice("all", "decoder"), decides="fine-tuning", before="all")
