"""Does over-sampling help on these data? The comparison and what it found."""

import hashlib
import json
import platform
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec import Column, KindName, read_table
from mgvae.common.notebook import axes, data_frame, html_table
from mgvae.compare._advice import Recommendation, recommend
from mgvae.compare._arms import shared_by
from mgvae.compare._methods import BASELINE, METHODS, check_names
from mgvae.compare._page import bands
from mgvae.compare._scores import LOWER_IS_BETTER, METRICS
from mgvae.compare._verdict import FEWEST_SPLITS, verdict
from mgvae.compare._work import CrossValidation
from mgvae.errors import DataError, ParameterError, Setting
from mgvae.experiments import Cell, Store, run_cells, waiting
from mgvae.experiments.judging import holm, paired_difference
from mgvae.experiments.tables import LabelledTable, smallest_class
from mgvae.report.page import render

__all__ = ["Comparison", "Difference", "compare"]

_PACKAGES = ("mgvae", "torch", "numpy", "scikit-learn", "imbalanced-learn")


@dataclass(frozen=True)
class Difference:
    """How far a method is from the baseline.

    .. versionadded:: 0.1

    Parameters
    ----------
    model, method, metric : str
        Whose difference, in what.
    mean, low, high : float
        The mean over the splits, and the ends of its 95% interval.
    p_value : float
        By the corrected resampled t-test, raised by Holm's rule over the methods.
    better : bool or None
        Whether the method is better than the baseline; None if that cannot be told.

    See Also
    --------
    mgvae.compare.Comparison : What holds the differences.
    """

    model: str
    method: str
    metric: str
    mean: float
    low: float
    high: float
    p_value: float
    better: bool | None


@dataclass(frozen=True, repr=False)
class Comparison:
    """What :func:`compare` found.

    .. versionadded:: 0.1

    Parameters
    ----------
    target : str
        The column that holds the class.
    classes : dict of str to int
        Rows by class.
    minority : str
        The smallest class, which recall and precision are about.
    baseline : str
        What differences are taken to.
    folds, repeats : int
        How rows were split.
    seed : int
        What decided the splits and all other randomness.
    scores : dict
        By model, method and metric: one score for each split; ``"seconds"`` is the time to fit.
    differences : list of Difference
        To the baseline.
    verdicts : dict of str to str
        By model, in words.
    failures : dict of str to str
        What was left out, and why.
    versions : dict
        Of everything that decides a figure.
    curves : dict
        By model and method, for each split: the points of its ROC, precision-recall, calibration
        and cost curves.
    stability : dict
        By model and method: how far the probability of a row varies from repeat to repeat, as the
        mean over rows of its standard deviation; empty with one repeat.
    recommendations : dict of str to Recommendation
        By model: which method to use, why, and the Python that builds it.

    See Also
    --------
    mgvae.compare.compare : Make one.
    mgvae.compare.Difference : One entry of ``differences``.
    """

    target: str
    classes: dict[str, int]
    minority: str
    baseline: str
    folds: int
    repeats: int
    seed: int
    scores: dict[str, dict[str, dict[str, list[float]]]]
    differences: list[Difference]
    verdicts: dict[str, str]
    failures: dict[str, str]
    versions: dict[str, str]
    curves: dict[str, dict[str, list[dict[str, list[float]]]]] = field(default_factory=dict)
    stability: dict[str, dict[str, float]] = field(default_factory=dict)
    recommendations: dict[str, Recommendation] = field(default_factory=dict)

    def mean(self, model: str, method: str, metric: str) -> float:
        """Return a mean over all splits."""
        return float(np.mean(self.scores[model][method][metric]))

    def best(self, model: str, metric: str) -> str:
        """Return the method with the best mean."""
        sign = -1 if metric in LOWER_IS_BETTER else 1
        return max(self.scores[model], key=lambda method: sign * self.mean(model, method, metric))

    def __repr__(self) -> str:
        lines = "".join(f"\n  {model}: {line}" for model, line in self.verdicts.items())
        return f"<Comparison on {self.target}, {self.repeats} x {self.folds} folds:{lines}>"

    def _repr_html_(self) -> str:
        rows = [
            (model, method, *(f"{self.mean(model, method, metric):.3f}" for metric in METRICS))
            for model, methods in self.scores.items()
            for method in methods
        ]
        verdicts = "".join(
            f"<p>{escape(model)}: {escape(line)}</p>" for model, line in self.verdicts.items()
        )
        title = f"Does over-sampling help on {self.target}?"
        return html_table(title, ("model", "method", *METRICS.values()), rows) + verdicts

    def to_frame(self) -> Any:
        """Return the scores as a pandas DataFrame, one row for each model, method and split."""
        places = [
            (model, method, split)
            for model, methods in self.scores.items()
            for method in methods
            for split in range(len(methods[method]["gm"]))
        ]
        columns: dict[str, list[Any]] = {
            "model": [model for model, _, _ in places],
            "method": [method for _, method, _ in places],
            "split": [split for _, _, split in places],
        }
        for metric in (*METRICS, "seconds"):
            columns[metric] = [self.scores[m][a][metric][split] for m, a, split in places]
        return data_frame(columns)

    def plot(self, metric: str = "roc_auc", ax: Any = None) -> Any:
        """Draw the differences to the baseline with their intervals; return matplotlib's axes.

        Parameters
        ----------
        metric : str
            The figure to be drawn.
        ax : matplotlib Axes or sequence of these, optional
            Where to draw, one for each model; a new figure unless given.
        """
        if metric not in METRICS:
            raise ParameterError(f"metric must be one of {', '.join(METRICS)}; got {metric!r}.")
        places = axes(ax, len(self.scores))
        for place, model in zip(places, self.scores, strict=False):
            found = [d for d in self.differences if (d.model, d.metric) == (model, metric)][::-1]
            enough = self.folds * self.repeats >= FEWEST_SPLITS
            reach = [[d.mean - d.low, d.high - d.mean] if enough else [0.0, 0.0] for d in found]
            place.errorbar(
                [d.mean for d in found], range(len(found)), xerr=np.transpose(reach), fmt="o"
            )
            place.axvline(0, linestyle="--", color="grey")
            place.set(
                title=model,
                xlabel=f"{METRICS[metric]}, difference to {self.baseline}",
                yticks=range(len(found)),
                yticklabels=[d.method for d in found],
            )
        return places if len(self.scores) > 1 else places[0]

    def _methods(self) -> list[str]:
        return list(dict.fromkeys(name for methods in self.scores.values() for name in methods))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def to_html(self) -> str:
        """Return a page that needs nothing but itself; jinja2 (``mgvae[report]``) makes it."""
        share = self.classes[self.minority] / sum(self.classes.values())
        return render(
            "compare.html",
            {
                "found": self,
                "metrics": METRICS,
                "lower": LOWER_IS_BETTER,
                "fewest": FEWEST_SPLITS,
                "places": {name: i for i, name in enumerate(self._methods())},
                "curves": {model: bands(splits, share) for model, splits in self.curves.items()},
            },
        )


def compare(
    X: Any,
    y: Any,
    *,
    models: Sequence[str] = ("logistic", "random_forest"),
    methods: Sequence[str] = METHODS,
    groups: Any = None,
    folds: int = 5,
    repeats: int = 2,
    random_state: int = 0,
    jobs: int | None = None,
    store: str | Path | None = None,
    column_types: Mapping[Any, KindName] | None = None,
    target: str = "target",
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Cross-validate treatments of imbalance and say what they are worth.

    Encoders, samplers and classifiers see training rows only; thresholds are tuned inside them.

    .. versionadded:: 0.1

    Parameters
    ----------
    X : array, pandas or polars DataFrame, or pyarrow Table
        The rows.
    y : array-like
        Their classes.
    models : sequence of str
        Classifiers: ``"logistic"``, ``"random_forest"``, ``"lightgbm"``, ``"knn"``, ``"mlp"``, or
        ``"package.module:Class"``.
    methods : sequence of str
        Treatments: ``"nothing"``, ``"tuned threshold"``, ``"class weights"``, ``"ROS"``,
        ``"SMOTE"`` (SMOTENC where there are categories), ``"CVAE"``, ``"MGVAE"``; the ensembles
        ``"nothing, bagged"``, ``"class weights, bagged"``, ``"SMOTE, bagged"``,
        ``"BalancedBagging"``, ``"EasyEnsemble"``, ``"BalancedRandomForest"`` and
        ``"BalancedClassifier"``; or ``"package.module:Class"`` of any sampler. The first two are
        always among them.
    groups : array-like, optional
        Rows of one group (a patient, a customer) stay on one side of every split.
    folds, repeats : int
        Repeated, stratified cross-validation.
    random_state : int
        Decides the splits and all other randomness.
    jobs : int, optional
        Splits worked out at once. None is one, unless ``joblib.parallel_config`` around the call
        says another number or another engine; its machines must see the folder ``store``.
    store : path, optional
        Folder in which results are kept; an interrupted comparison goes on where it was. Not kept
        unless given.
    column_types : mapping of column to str, optional
        Kinds of columns that are not what their values suggest.
    target : str
        What the classes are called on the page.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    comparison : Comparison
        Scores, differences to the tuned threshold, and verdicts; ``to_json``, ``to_html``.

    See Also
    --------
    mgvae.report.quality : Judge new rows without a classifier.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from mgvae.compare import compare
    >>> X, y = make_classification(200, 4, weights=[0.8], random_state=0)
    >>> found = compare(X, y, models=["logistic"], methods=["ROS"], folds=2, repeats=1)
    >>> list(found.scores["logistic"])
    ['nothing', 'tuned threshold', 'ROS']
    """
    models = list(dict.fromkeys(models))
    methods = list(dict.fromkeys(["nothing", BASELINE, *methods]))
    check_names(models, methods)
    labels, codes, counts = _read_classes(y, folds, repeats)
    members = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    data = LabelledTable(X, codes, members, column_types)
    name = f"data-{_fingerprint(data, labels)}"
    cells = [
        Cell(
            name, method, "compare", seed=random_state,
            parameters={"model": model, "folds": folds, "repeat": repeat, "fold": fold,
                        "version": version("mgvae"), "curves": True, "said": True},
        )
        for repeat in range(repeats) for fold in range(folds)
        for method in methods for model in models  # which then share a fitted sampler
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        kept = Store(folder if store is None else store)
        todo = _longest_first(waiting(cells, kept, retry=True))
        done = len(cells) - len(todo)
        for _ in run_cells(todo, CrossValidation(data), kept, jobs=jobs, together=_sharing):
            done += 1
            if progress is not None:
                progress(done, len(cells))
        scores, failures = _collect(cells, kept)
        curves = _curves(cells, kept, scores)
        stability = _stability(cells, kept, scores) if repeats > 1 else {}
    differences = _differences(scores, folds)
    rare = str(labels[smallest_class(codes)])
    return Comparison(
        target,
        {str(label): int(count) for label, count in zip(labels, counts, strict=True)},
        rare,
        BASELINE,
        folds,
        repeats,
        random_state,
        scores,
        differences,
        {model: verdict(methods, folds) for model, methods in scores.items()},
        failures,
        {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        curves,
        stability,
        {model: recommend(model, methods, folds) for model, methods in scores.items()},
    )


def _sharing(cell: Cell) -> Hashable:
    """Name the cells that use the same fitted sampler or classifier."""
    settings = cell.parameters
    shared = shared_by(cell.method, settings["model"])
    return id(cell) if shared is None else (settings["repeat"], settings["fold"], shared)


def _longest_first(cells: Sequence[Cell]) -> list[Cell]:
    """Put cells that wait for each other in front, so that no process works alone at the end."""
    sizes = Counter(_sharing(cell) for cell in cells)
    return sorted(cells, key=lambda cell: -sizes[_sharing(cell)])


def _read_classes(
    y: Any, folds: int, repeats: int
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    for name, value, least in (("folds", folds, 2), ("repeats", repeats, 1)):
        if value < least:
            raise ParameterError(Setting(name), f" must be at least {least}; got {value}.")
    labels, codes, counts = np.unique(np.asarray(y), return_inverse=True, return_counts=True)
    if len(labels) < 2:
        raise DataError(f"y must hold two classes or more; it holds {labels.tolist()!r}.")
    if counts.min() < folds:
        raise DataError(
            f"every class needs a row in each of the {folds} folds; class "
            f"{labels[counts.argmin()]!s} has {counts.min()}. Lower ",
            Setting("folds"),
            " or leave that class out.",
        )
    return labels, codes.reshape(-1), counts


def _fingerprint(data: LabelledTable, labels: NDArray[Any]) -> str:
    """Name the data by their content, so that results of other data are never taken for theirs."""
    digest = hashlib.sha256()
    target = Column("", data.y)
    groups = [] if data.groups is None else [Column("", data.groups)]
    for column in [*read_table(data.X).columns, target, *groups]:
        digest.update(repr((column.name, column.dtype, column.levels)).encode())
        values = column.values
        if column.missing is not None:
            digest.update(np.packbits(column.missing).tobytes())
            values = values[~column.missing]
        plain = values.dtype.kind in "biufmM"
        digest.update(
            np.ascontiguousarray(values).tobytes() if plain else repr(values.tolist()).encode()
        )
    digest.update(repr((labels.tolist(), sorted((data.column_types or {}).items()))).encode())
    return digest.hexdigest()[:12]


def _collect(
    cells: Sequence[Cell], store: Store
) -> tuple[dict[str, dict[str, dict[str, list[float]]]], dict[str, str]]:
    """Gather the scores; a method that failed on any split is left out, with its first error."""
    failures: dict[str, str] = {}
    for cell in cells:
        error = None if store.has(cell) else store.error(cell)
        if error is not None:
            name = f"{cell.method} with {cell.parameters['model']}"
            failures.setdefault(name, f"{error['error']}: {error['message']}")
    scores: dict[str, dict[str, dict[str, list[float]]]] = {}
    for cell in cells:
        model = cell.parameters["model"]
        if f"{cell.method} with {model}" in failures:
            continue
        result = store.get(cell) or {}
        figures = {**result["metrics"], "seconds": result["seconds"]["fit"]}
        place = scores.setdefault(model, {}).setdefault(cell.method, {})
        for metric, value in figures.items():
            place.setdefault(metric, []).append(value)
    for model in {cell.parameters["model"] for cell in cells}:
        for method in ("nothing", BASELINE):
            if method not in scores.get(model, {}):
                why = failures[f"{method} with {model}"]
                raise DataError(f"{method} with {model} failed, so there is no measure: {why}")
    return scores, failures


def _curves(
    cells: Sequence[Cell], store: Store, scores: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, list[dict[str, list[float]]]]]:
    """Gather the curves of the methods that have scores."""
    found: dict[str, dict[str, list[dict[str, list[float]]]]] = {}
    for cell in cells:
        model, result = cell.parameters["model"], store.get(cell)
        if result is not None and cell.method in scores[model]:
            found.setdefault(model, {}).setdefault(cell.method, []).append(result["curves"])
    return found


def _differences(
    scores: Mapping[str, Mapping[str, Mapping[str, list[float]]]], folds: int
) -> list[Difference]:
    found = []
    for model, methods in scores.items():
        for metric in METRICS:
            others = [method for method in methods if method != BASELINE]
            base = methods[BASELINE][metric]
            intervals = [paired_difference(methods[m][metric], base, folds) for m in others]
            raised = holm([interval.p_value for interval in intervals])
            for method, interval, p_value in zip(others, intervals, raised, strict=True):
                higher = interval.mean > 0
                better = None if p_value >= 0.05 else higher != (metric in LOWER_IS_BETTER)
                found.append(
                    Difference(
                        model,
                        method,
                        metric,
                        interval.mean,
                        interval.low,
                        interval.high,
                        p_value,
                        better,
                    )
                )
    return found


def _stability(
    cells: Sequence[Cell], store: Store, scores: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, float]]:
    """Compute the mean over rows of the spread of their probability over repeats."""
    said: dict[tuple[str, str], dict[int, list[float]]] = {}
    for cell in cells:
        model, result = cell.parameters["model"], store.get(cell)
        if result is not None and cell.method in scores[model]:
            rows = said.setdefault((model, cell.method), {})
            for row, p in zip(result["said"]["rows"], result["said"]["rare"], strict=True):
                rows.setdefault(row, []).append(p)
    found: dict[str, dict[str, float]] = {}
    for (model, method), by_row in said.items():
        spread = [np.std(p, ddof=1) for p in by_row.values() if len(p) > 1]
        if spread:
            found.setdefault(model, {})[method] = float(np.mean(spread))
    return found
