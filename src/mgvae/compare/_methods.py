"""The classifiers and treatments of imbalance that are compared."""

from mgvae.errors import ParameterError
from mgvae.experiments.estimators import CLASSIFIERS, load_class

__all__ = ["METHODS", "UNTREATED", "check_names"]

UNTREATED = ("nothing", "tuned threshold", "class weights")
"""The methods that add no row."""

METHODS = (*UNTREATED, "ROS", "SMOTE", "CVAE", "MGVAE")
"""The methods that are compared unless others are named."""


def check_names(models: list[str], methods: list[str]) -> None:
    """Raise if a name is not known."""
    for kind, given, known in (("model", models, CLASSIFIERS), ("method", methods, METHODS)):
        if not given:
            raise ParameterError(f"{kind}s must name at least one of {', '.join(known)}.")
        for name in given:
            if ":" in name:
                load_class(name)
            elif name not in known:
                raise ParameterError(
                    f"there is no {kind} {name!r}; there are {', '.join(known)}, and any class "
                    "named as package.module:Class."
                )
