"""Classifiers for imbalanced data."""

from mgvae.classifiers.balanced import BalancedClassifier
from mgvae.classifiers.torch_classifier import TorchClassifier

__all__ = ["BalancedClassifier", "TorchClassifier"]
