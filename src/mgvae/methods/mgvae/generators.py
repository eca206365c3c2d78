"""What an MGVAE generates with: one of three ways, for one class."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from mgvae.common.rows import MemoryRows, Positions, gather
from mgvae.errors import DataError, ParameterError
from mgvae.methods.method import Made, RowGenerator, Side, kept_of
from mgvae.methods.mgvae.bridge import (
    Bridge,
    Sums,
    cross,
    guides_to_store,
    nearest,
    without_rows,
)
from mgvae.methods.mgvae.generation import (
    BLUR,
    DecoderOutput,
    blurred,
    draw_anchors,
    exemplars_near,
    generate,
    latent_means,
    plausibility,
    secret_seeds,
    translate,
)
from mgvae.model.vae import VAE

__all__ = ["Crosser", "GenerationMode", "Manner", "Translator", "revive_generator"]

GenerationMode = Literal["translate", "responsibility", "bridge"]

_ANCHORS: dict[bool, tuple[str, ...]] = {
    True: ("anchor_means", "anchor_deviations", "anchor_residuals"),
    False: ("drawn_means", "drawn_deviations", "drawn_residuals"),
}
_GUIDES: dict[bool, tuple[str, ...]] = {
    True: ("guide_centres", "guide_differences"),
    False: ("blurred_guides", "drawn_differences"),
}
"""Names of a bridge's tensors, by whether rows can be worked out from them."""

_SCORED = 512  # exemplars against which the plausibility of new rows is judged


@dataclass(frozen=True)
class Manner:
    """How rows are generated, whatever from.

    Attributes
    ----------
    temperature : float
        Factor on the latent noise.
    decoder_output : {"mean", "sample"}
        Numbers as means, or drawn around them.
    rejection : float
        Share of the rows made that are thrown away, the least plausible ones.
    """

    temperature: float
    decoder_output: DecoderOutput
    rejection: float


@dataclass(frozen=True)
class Translator:
    """Translate majority rows, drawn uniformly (Algorithm 1) or near the minority's rows.

    Attributes
    ----------
    centres : Tensor of shape (N, d)
        Latent means of the majority's rows, blurred.
    majority : ndarray of int
        Their positions.
    anchors : Tensor of shape (M, d) or None
        Latent means of the minority's rows, blurred, near which exemplars are drawn; None draws
        uniformly.
    is_blurred : bool
        Whether they are, which those of model files of earlier versions are not, nor those of a
        temperature below the blur.
    """

    vae: VAE
    centres: Tensor
    majority: Positions
    anchors: Tensor | None
    manner: Manner
    is_blurred: bool

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        """Return ``n`` new rows."""
        return _most_plausible(self._generate, n, seeds, self.vae, self.centres, self.manner)

    def _generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        if self.anchors is None:
            encoded, sources = generate(
                self.vae,
                self.centres,
                n,
                seeds,
                temperature=self._remaining,
                decoder_output=self.manner.decoder_output,
            )
            return Made(
                encoded, sources if self.vae.prior == "standard" else self.majority[sources]
            )
        for_rows, for_noise = seeds.spawn(2)
        rng = np.random.default_rng(for_rows)
        anchors = draw_anchors(len(self.anchors), n, rng)
        log_variance = self.vae.log_variance.cpu()
        sources = exemplars_near(self.anchors, anchors, self.centres, log_variance, rng)
        centres = self.centres[torch.from_numpy(sources)]
        encoded = self._translate(centres, for_noise, self._remaining)
        return Made(encoded, self.majority[sources])

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:
        """Return one encoded row for each encoded majority row."""
        centres = latent_means(self.vae, MemoryRows(encoded), np.arange(len(encoded)))
        return self._translate(centres, seeds, self.manner.temperature)

    @property
    def _remaining(self) -> float:
        """The temperature of the noise that blurred centres lack."""
        blur = BLUR if self.is_blurred and self.vae.prior == "majority" else 0.0
        temperature = self.manner.temperature  # whose square may be too large for a number
        return float(np.sqrt(max(0.0, temperature - blur)) * np.sqrt(temperature + blur))

    def _translate(
        self, centres: Tensor, seeds: np.random.SeedSequence, temperature: float
    ) -> Tensor:
        return translate(
            self.vae,
            centres,
            seeds,
            temperature=temperature,
            decoder_output=self.manner.decoder_output,
        )

    def within(self, rows: Positions) -> "Translator":
        """Return the generator with only some of the majority's rows to translate."""
        kept = kept_of(self.majority, rows)
        return replace(self, centres=gather(self.centres, kept), majority=self.majority[kept])

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        """Return the model, and the tensors that a model file holds besides."""
        tensors = {"blurred_centres" if self.is_blurred else "centres": self.centres}
        if self.anchors is not None:
            tensors["blurred_anchors" if self.is_blurred else "anchors"] = self.anchors
        return self.vae, tensors

    @property
    def reveals(self) -> Sequence[Side]:
        """Whose rows can be worked out: where a code is as long as a row, from the code."""
        if self.is_blurred or self.vae.prior == "standard":
            return ()
        return ("majority",) if self.anchors is None else ("majority", "class")

    def without_rows(self) -> "Translator":
        """Return a generator with blurred latent means."""
        if not self.reveals:
            return self
        seeds = secret_seeds(np.random.SeedSequence(0), self.centres).spawn(2)
        centres, anchors = blurred(self.vae, self.centres, seeds[0]), self.anchors
        if anchors is not None:
            anchors = blurred(self.vae, anchors, seeds[1])
        return replace(self, centres=centres, anchors=anchors, is_blurred=True)


@dataclass(frozen=True)
class Crosser:
    """Make rows by a bridge from the minority's rows to the majority's.

    Attributes
    ----------
    minority : ndarray of int
        Positions of the bridge's minority rows.
    majority : ndarray of int
        Positions of the bridge's guides.
    reveals : sequence of {"majority", "class"}
        Whose rows can be worked out from its file: those of the class, which it starts from. In
        model files of earlier versions the majority's too.
    """

    vae: VAE
    bridge: Bridge
    minority: Positions
    majority: Positions
    manner: Manner
    reveals: Sequence[Side] = ("class",)

    def generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        """Return ``n`` new rows."""
        centres = self.bridge.centres
        return _most_plausible(self._generate, n, seeds, self.vae, centres, self.manner)

    def _generate(self, n: int, seeds: np.random.SeedSequence) -> Made:
        for_rows, for_noise = seeds.spawn(2)
        rng = np.random.default_rng(for_rows)
        anchors = draw_anchors(len(self.minority), n, rng)
        log_variance = self.vae.log_variance.cpu()
        guides = exemplars_near(self.bridge.means, anchors, self.bridge.centres, log_variance, rng)
        encoded = cross(
            self.vae,
            self.bridge,
            anchors,
            guides,
            for_noise,
            temperature=self.manner.temperature,
        )
        return Made(encoded, self.majority[guides], self.minority[anchors])

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:
        """Return one encoded row for each encoded majority row."""
        for_rows, for_noise = seeds.spawn(2)
        centres = latent_means(self.vae, MemoryRows(encoded), np.arange(len(encoded)))
        anchors = exemplars_near(
            centres,
            np.arange(len(centres)),
            self.bridge.means,
            self.vae.log_variance.cpu(),
            np.random.default_rng(for_rows),
        )
        guides = nearest(centres, self.bridge.centres).ravel()
        return cross(
            self.vae,
            self.bridge,
            anchors,
            guides,
            for_noise,
            centres=centres,
            temperature=self.manner.temperature,
        )

    def within(self, rows: Positions) -> "Crosser":
        """Return the generator with only some of the minority's rows to start from.

        The guides stay: a new row has a difference between two of them, and is near neither.
        """
        kept = kept_of(self.minority, rows)
        bridge = self.bridge
        return replace(
            self,
            bridge=replace(
                bridge,
                means=gather(bridge.means, kept),
                deviations=gather(bridge.deviations, kept),
                residuals=gather(bridge.residuals, kept),
            ),
            minority=self.minority[kept],
        )

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        """Return the model, and the tensors that a model file holds besides."""
        bridge = self.bridge
        anchors = (bridge.means, bridge.deviations, bridge.residuals)
        guides = guides_to_store(self.vae, bridge)
        names = _ANCHORS["class" in self.reveals] + _GUIDES["majority" in self.reveals]
        return self.vae, dict(zip(names, (*anchors, *guides), strict=True))

    def without_rows(self) -> "Crosser":
        """Return a generator whose anchors are drawn, not rows of the class."""
        if "majority" in self.reveals:
            raise ParameterError(
                "this model was saved by an earlier version of mgvae, and rows of the majority can "
                "be worked out from it. Train it again to save it without rows."
            )
        return replace(self, bridge=without_rows(self.vae, self.bridge), reveals=())


def _most_plausible(
    make: Callable[[int, np.random.SeedSequence], Made],
    n: int,
    seeds: np.random.SeedSequence,
    vae: VAE,
    centres: Tensor,
    manner: Manner,
) -> Made:
    """Make more rows than wanted and keep the most plausible ones, in the order they were made."""
    if manner.rejection == 0.0 or n == 0:
        return make(n, seeds)
    for_rows, for_exemplars = seeds.spawn(2)
    made = make(int(np.ceil(n / (1.0 - manner.rejection))), for_rows)
    size = min(_SCORED, len(centres))
    chosen = np.random.default_rng(for_exemplars).choice(len(centres), size, replace=False)
    scores = plausibility(vae, made.encoded, centres[torch.from_numpy(chosen)]).numpy()
    kept = np.sort(np.argsort(-scores, kind="stable")[:n])
    return Made(
        made.encoded[torch.from_numpy(kept)],
        made.sources[kept],
        None if made.anchors is None else made.anchors[kept],
    )


def revive_generator(vae: VAE, tensors: Mapping[str, Tensor], manner: Manner) -> RowGenerator:
    """Undo ``stored``: which tensors there are says in which way they generate."""
    d, width = vae.latent_size, vae.likelihood.width
    for name, tensor in tensors.items():
        long = width if name.endswith(("residuals", "differences")) else d
        if tensor.dtype != torch.float32 or tensor.shape[1:] != (long,) or not len(tensor):
            raise DataError(f"its {name.replace('_', ' ')} do not fit the model")
    for exact_anchors, anchors in _ANCHORS.items():
        for exact_guides, guides in _GUIDES.items():
            if set(tensors) == {*anchors, *guides}:
                sides: dict[Side, bool] = {"majority": exact_guides, "class": exact_anchors}
                parts = [tensors[name] for name in (*anchors, *guides)]
                return _revive_crosser(vae, parts, manner, [s for s, v in sides.items() if v])
    is_blurred = "blurred_centres" in tensors
    names = ("blurred_centres", "blurred_anchors") if is_blurred else ("centres", "anchors")
    if not {names[0]} <= set(tensors) <= set(names):
        raise DataError("the latent means that it generates from are not complete")
    centres = tensors[names[0]]
    majority = np.arange(len(centres))
    return Translator(vae, centres, majority, tensors.get(names[1]), manner, is_blurred)


def _revive_crosser(
    vae: VAE, parts: Sequence[Tensor], manner: Manner, reveals: Sequence[Side]
) -> Crosser:
    means, deviations, residuals, centres, differences = parts
    if not len(means) == len(deviations) == len(residuals) or len(centres) != len(differences):
        raise DataError("the parts of its bridge do not fit each other")
    bridge = Bridge(means, deviations, residuals, centres, Sums(differences))
    positions = np.arange(len(means)), np.arange(len(centres))
    return Crosser(vae, bridge, *positions, manner, reveals)
