"""Advice: which method to use, why, and the few lines of Python that build it."""

from dataclasses import dataclass

import numpy as np

from mgvae.compare._gains import JUDGED, Scores, gain, mean_rank
from mgvae.compare._methods import BASELINE
from mgvae.compare._scores import METRICS
from mgvae.experiments.judging import holm, paired_difference

__all__ = ["Recommendation", "recommend"]

_LEVEL = 0.05

_MODELS = {
    "logistic": ("sklearn.linear_model", "LogisticRegression(max_iter=1000)"),
    "random_forest": ("sklearn.ensemble", "RandomForestClassifier(min_samples_leaf=2)"),
    "lightgbm": ("lightgbm", "LGBMClassifier()"),
    "knn": ("sklearn.neighbors", "KNeighborsClassifier()"),
    "mlp": ("sklearn.neural_network", "MLPClassifier(max_iter=300)"),
}
_WEIGHTED = ("logistic", "random_forest", "lightgbm")  # these have class_weight
_TUNED = 'TunedThresholdClassifierCV({model}, scoring="balanced_accuracy")'
_BUILT = {
    "nothing": ("", "{model}"),
    BASELINE: ("from sklearn.model_selection import TunedThresholdClassifierCV", _TUNED),
    "nothing, bagged": (
        "from mgvae import BalancedClassifier",
        'BalancedClassifier({model}, share=0, decide="probable", random_state=0)',
    ),
    "class weights": ("", "{weighted}"),
    "ROS": (
        "from imblearn.over_sampling import RandomOverSampler\n"
        "from mgvae import BalancedClassifier",
        "BalancedClassifier({model}, RandomOverSampler(), n_draws=1, share=1, bootstrap=False)",
    ),
    "CVAE": (
        "from mgvae import CVAE, BalancedClassifier",
        "BalancedClassifier({model}, CVAE(), n_draws=1, share=1, bootstrap=False, random_state=0)",
    ),
    "SMOTE": (
        "from imblearn.over_sampling import SMOTE\nfrom mgvae import BalancedClassifier",
        "BalancedClassifier({model}, SMOTE(), n_draws=1, share=1, bootstrap=False)",
    ),
    "SMOTE, bagged": (
        "from imblearn.over_sampling import SMOTE\nfrom mgvae import BalancedClassifier",
        "BalancedClassifier({model}, SMOTE(), share=1, random_state=0)",
    ),
    "MGVAE": (
        "from mgvae import BalancedClassifier",
        "BalancedClassifier({model}, n_draws=1, share=1, bootstrap=False, random_state=0)",
    ),
    "BalancedClassifier": (
        "from mgvae import BalancedClassifier",
        "BalancedClassifier({model}, random_state=0)",
    ),
    "BalancedBagging": (
        "from imblearn.ensemble import BalancedBaggingClassifier",
        "BalancedBaggingClassifier({model}, random_state=0)",
    ),
    "EasyEnsemble": (
        "from imblearn.ensemble import EasyEnsembleClassifier",
        "EasyEnsembleClassifier(random_state=0)",
    ),
    "BalancedRandomForest": (
        "from imblearn.ensemble import BalancedRandomForestClassifier",
        "BalancedRandomForestClassifier(random_state=0)",
    ),
}


@dataclass(frozen=True)
class Recommendation:
    """What to use.

    .. versionadded:: 0.1

    Parameters
    ----------
    method : str
        The method; ``"nothing"`` where nothing helps.
    why : str
        In a sentence.
    python : str
        What builds it, from X and y that the classifier takes; empty for a method of one's own.

    See Also
    --------
    mgvae.compare.Comparison : Has one for each classifier.
    """

    method: str
    why: str
    python: str

    @property
    def title(self) -> str:
        """What to do, in a few words."""
        return {
            "nothing": "Leave the classes as they are",
            BASELINE: "Tune the threshold",
        }.get(self.method, f"Use {self.method}")


def recommend(model: str, scores: Scores, folds: int) -> Recommendation:
    """Choose a method for a classifier.

    A method is worth its price if it is better than a tuned threshold in GM, average precision,
    ROC AUC or log loss, beyond the luck of the splits (p < 0.05 by the corrected t-test, raised by
    Holm's rule over methods and figures), and worse in none of them. Of several, the one with the
    best mean rank over the four is taken. If there is none, a tuned threshold is recommended where
    its GM is better than that of doing nothing, else nothing. Where ROC AUC is not shown to exceed
    0.5, GM is no evidence: a coin has a GM of 0.5, and always saying the largest class one of 0.

    Parameters
    ----------
    model : str
        The classifier.
    scores : mapping
        By method and metric, one score for each split.
    folds : int
        Of the cross-validation.

    Examples
    --------
    >>> same = dict.fromkeys(("gm", "average_precision", "roc_auc", "log_loss"), [0.5] * 6)
    >>> recommend("knn", {"nothing": same, "tuned threshold": same, "ROS": same}, 3).method
    'nothing'
    """
    others = [method for method in scores if method not in ("nothing", BASELINE)]
    intervals = {
        (method, metric): gain(scores, method, BASELINE, metric, folds)
        for method in others
        for metric in JUDGED
    }
    raised = holm([interval.p_value for interval in intervals.values()])
    sure = {key for key, p in zip(intervals, raised, strict=True) if p < _LEVEL}
    better = {key for key in sure if intervals[key].mean > 0}
    worse = {method for method, metric in sure - better}
    worthy = [m for m in others if m not in worse and any(key[0] == m for key in better)]
    if worthy:
        chosen = min(worthy, key=lambda method: mean_rank(scores, method))
        found = [metric for metric in JUDGED if (chosen, metric) in better]
        said = ", ".join(
            f"{METRICS[metric]} {np.mean(scores[chosen][metric]):.3f} against "
            f"{np.mean(scores[BASELINE][metric]):.3f}"
            for metric in found
        )
        return Recommendation(
            chosen, f"{chosen} is better than a tuned threshold: {said}.", _python(chosen, model)
        )
    areas = scores[BASELINE]["roc_auc"]
    learned = paired_difference(areas, [0.5] * len(areas), folds)
    if learned.mean <= 0 or learned.p_value >= _LEVEL:
        why = (
            f"Nothing helps: with a ROC AUC of {np.mean(areas):.3f}, the classifier is not shown "
            "to tell the classes apart better than chance."
        )
        return Recommendation("nothing", why, _python("nothing", model))
    tuned = gain(scores, BASELINE, "nothing", "gm", folds)
    if tuned.mean > 0 and tuned.p_value < _LEVEL:
        why = (
            f"A tuned threshold raises GM from {np.mean(scores['nothing']['gm']):.3f} to "
            f"{np.mean(scores[BASELINE]['gm']):.3f}, and no costlier method is clearly better."
        )
        return Recommendation(BASELINE, why, _python(BASELINE, model))
    why = "No method is clearly better than doing nothing."
    return Recommendation("nothing", why, _python("nothing", model))


def _python(method: str, model: str) -> str:
    if method not in _BUILT or (method == "class weights" and model not in _WEIGHTED):
        return ""
    imports, built = _BUILT[method]
    lines = [imports] if imports else []
    name = model
    if "{" in built:
        if model in _MODELS:
            module, name = _MODELS[model]
            lines.append(f"from {module} import {name.partition('(')[0]}")
        else:
            module, _, name = model.partition(":")
            lines.append(f"from {module} import {name}")
            name = f"{name}()"
    weighted = name[:-1] + (", " if name[-2] != "(" else "") + 'class_weight="balanced")'
    return "\n".join(
        [*lines, "", f"model = {built.format(model=name, weighted=weighted)}.fit(X, y)"]
    )
