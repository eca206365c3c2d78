"""Samplers that draw as those from their files do."""

from copy import copy
from dataclasses import replace
from typing import Any

from mgvae.methods.mgvae.bridge import Sums, guides_to_store
from mgvae.methods.mgvae.generators import Crosser

__all__ = ["with_stored_guides"]


def with_stored_guides(sampler: Any) -> Any:
    """Return a copy of a fitted sampler whose bridges have of the majority what a file has."""
    made = copy(sampler)
    made.state_ = replace(
        sampler.state_,
        generators={code: _stored(one) for code, one in sampler.state_.generators.items()},
    )
    return made


def _stored(generator: Any) -> Any:
    if not isinstance(generator, Crosser):
        return generator
    centres, sums = guides_to_store(generator.vae, generator.bridge)
    return replace(
        generator, bridge=replace(generator.bridge, centres=centres, differences=Sums(sums))
    )
