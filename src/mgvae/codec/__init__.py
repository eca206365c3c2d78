"""A user's data <-> the float rows that a network sees."""

from mgvae.codec._spans import Activation, LikelihoodName, Span

__all__ = ["Activation", "LikelihoodName", "Span"]
