"""The classifiers and treatments of imbalance that are compared."""

from mgvae.errors import ParameterError, Setting
from mgvae.experiments.estimators import CLASSIFIERS, load_class

__all__ = ["BASELINE", "ENSEMBLES", "KNOWN", "METHODS", "UNTREATED", "check_names"]

BASELINE = "tuned threshold"
"""What differences are taken to: it costs nothing, and no row is made for it."""

ENSEMBLES = (
    "nothing, bagged",
    "class weights, bagged",
    "SMOTE, bagged",
    "BalancedBagging",
    "EasyEnsemble",
    "BalancedRandomForest",
    "BalancedClassifier",
)
"""The methods that train many members: ten, or as many as imbalanced-learn's own defaults say."""

UNTREATED = (
    "nothing", "tuned threshold", "class weights", "nothing, bagged", "class weights, bagged",
)  # fmt: skip
"""The methods that add no row."""

METHODS = (
    "nothing", "tuned threshold", "class weights", "SMOTE", "MGVAE", "nothing, bagged",
    "BalancedClassifier",
)  # fmt: skip
"""The methods that are compared unless others are named."""

KNOWN = (*dict.fromkeys((*METHODS, "ROS", "CVAE", *ENSEMBLES)),)
"""The methods that have a name."""


def check_names(models: list[str], methods: list[str]) -> None:
    """Raise if a name is not known."""
    for kind, given, known in (("model", models, CLASSIFIERS), ("method", methods, KNOWN)):
        if not given:
            raise ParameterError(
                Setting(f"{kind}s"), f" must name at least one of {', '.join(map(repr, known))}."
            )
        for name in given:
            if ":" in name:
                load_class(name)
            elif name not in known:
                raise ParameterError(
                    Setting(f"{kind}s"),
                    f" must each be one of {', '.join(map(repr, known))}, or a class written as "
                    f"package.module:Class; got {name!r}.",
                )
