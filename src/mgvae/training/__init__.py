"""The one training loop, and what keeps, shares and resumes its state."""

from mgvae.training.loop import (
    Callback,
    History,
    Player,
    Schedule,
    Validation,
    constant,
    cosine,
    exponential,
    train,
)

__all__ = [
    "Callback",
    "History",
    "Player",
    "Schedule",
    "Validation",
    "constant",
    "cosine",
    "exponential",
    "train",
]
