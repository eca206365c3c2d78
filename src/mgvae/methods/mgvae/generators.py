"""What an MGVAE generates with: one of three ways, for one class."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from mgvae.common.rows import MemoryRows, Positions, gather
from mgvae.errors import DataError
from mgvae.methods.method import Made, RowGenerator, kept_of
from mgvae.methods.mgvae.bridge import Bridge, cross, nearest
from mgvae.methods.mgvae.generation import (
    DecoderOutput,
    draw_anchors,
    exemplars_near,
    generate,
    latent_means,
    plausibility,
    translate,
)
from mgvae.model.vae import VAE

__all__ = ["Crosser", "GenerationMode", "Manner", "Translator", "revive_generator"]

GenerationMode = Literal["translate", "responsibility", "bridge"]

_BRIDGE = (
    "anchor_means",
    "anchor_deviations",
    "anchor_residuals",
    "guide_centres",
    "guide_differences",
)
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
        Latent means of the majority's rows.
    majority : ndarray of int
        Their positions.
    anchors : Tensor of shape (M, d) or None
        Latent means of the minority's rows, near which exemplars are drawn; None draws uniformly.
    """

    vae: VAE
    centres: Tensor
    majority: Positions
    anchors: Tensor | None
    manner: Manner

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
                temperature=self.manner.temperature,
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
        encoded = self._translate(self.centres[torch.from_numpy(sources)], for_noise)
        return Made(encoded, self.majority[sources])

    def translate(self, encoded: Tensor, seeds: np.random.SeedSequence) -> Tensor:
        """Return one encoded row for each encoded majority row."""
        centres = latent_means(self.vae, MemoryRows(encoded), np.arange(len(encoded)))
        return self._translate(centres, seeds)

    def _translate(self, centres: Tensor, seeds: np.random.SeedSequence) -> Tensor:
        return translate(
            self.vae,
            centres,
            seeds,
            temperature=self.manner.temperature,
            decoder_output=self.manner.decoder_output,
        )

    def within(self, rows: Positions) -> "Translator":
        """Return the generator with only some of the majority's rows to translate."""
        kept = kept_of(self.majority, rows)
        return replace(self, centres=gather(self.centres, kept), majority=self.majority[kept])

    def stored(self) -> tuple[nn.Module | None, dict[str, Tensor]]:
        """Return the model, and the tensors that a model file holds besides."""
        tensors = {"centres": self.centres}
        if self.anchors is not None:
            tensors["anchors"] = self.anchors
        return self.vae, tensors


@dataclass(frozen=True)
class Crosser:
    """Make rows by a bridge from the minority's rows to the majority's.

    Attributes
    ----------
    minority : ndarray of int
        Positions of the bridge's minority rows.
    majority : ndarray of int
        Positions of the bridge's guides.
    """

    vae: VAE
    bridge: Bridge
    minority: Positions
    majority: Positions
    manner: Manner

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
        parts = (bridge.means, bridge.deviations, bridge.residuals)
        guides = (bridge.centres, bridge.differences)
        return self.vae, dict(zip(_BRIDGE, (*parts, *guides), strict=True))


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
    widths = {"anchor_residuals": width, "guide_differences": width}
    for name, tensor in tensors.items():
        fits = tensor.dtype == torch.float32 and tensor.shape[1:] == (widths.get(name, d),)
        if not fits or not len(tensor):
            raise DataError(f"its {name.replace('_', ' ')} do not fit the model")
    if "anchor_means" not in tensors:
        if "centres" not in tensors:
            raise DataError("it has no latent means of the majority")
        centres = tensors["centres"]
        return Translator(vae, centres, np.arange(len(centres)), tensors.get("anchors"), manner)
    if set(tensors) != set(_BRIDGE):
        raise DataError("its bridge is not complete")
    means, deviations, residuals, centres, differences = (tensors[name] for name in _BRIDGE)
    if not len(means) == len(deviations) == len(residuals) or len(centres) != len(differences):
        raise DataError("the parts of its bridge do not fit each other")
    guides = np.arange(len(centres))
    bridge = Bridge(means, deviations, residuals, centres, differences, guides)
    return Crosser(vae, bridge, np.arange(len(means)), guides, manner)
