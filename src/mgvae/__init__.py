"""Over-sampling imbalanced data with deep generative models that learn from the majority class.

Importing the package is cheap: scikit-learn, imbalanced-learn and torch are loaded when a name that
needs them is first used.

Examples
--------
>>> from sklearn.datasets import make_classification
>>> from mgvae import MGVAE
>>> X, y = make_classification(n_samples=300, weights=[0.9], random_state=0)
>>> X_balanced, y_balanced = MGVAE(random_state=0).fit_resample(X, y)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mgvae.common.version import __version__

if TYPE_CHECKING:
    from mgvae.classifiers import TorchClassifier
    from mgvae.classifiers.balanced import BalancedClassifier
    from mgvae.samplers import CGAN, CVAE, MGVAE
    from mgvae.streams import balance_dataset

__all__ = [
    "CGAN",
    "CVAE",
    "MGVAE",
    "BalancedClassifier",
    "TorchClassifier",
    "__version__",
    "balance_dataset",
]

_HOMES = {
    "BalancedClassifier": "mgvae.classifiers",
    "CGAN": "mgvae.samplers",
    "CVAE": "mgvae.samplers",
    "MGVAE": "mgvae.samplers",
    "TorchClassifier": "mgvae.classifiers",
    "balance_dataset": "mgvae.streams",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
