"""The quality of synthetic rows: figures, columns, examples, and how they were made."""

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

from mgvae.codec import KindName
from mgvae.common.runtime import seed_sequence
from mgvae.errors import DataError
from mgvae.report._columns import ColumnQuality
from mgvae.report._data import PairedRows, open_tables
from mgvae.report._examples import Example, examples
from mgvae.report._figures import Figure, Verdict, summarise
from mgvae.report._images import open_images
from mgvae.report._measure import MOST, Parts, measure, measure_columns
from mgvae.report.page import render

__all__ = ["ClassQuality", "QualityReport", "TrainingCurve", "quality"]

_PACKAGES = ("mgvae", "torch", "numpy", "scikit-learn", "imbalanced-learn")
_POINTS = 200  # of a loss curve


@dataclass(frozen=True)
class ClassQuality:
    """The new rows of one class.

    .. versionadded:: 0.1

    Parameters
    ----------
    label : str
        The class.
    n_real, n_synthetic : int
        Its rows.
    verdict : {"good", "caution", "bad", "unknown"}
        Of all figures together.
    summary : list of str
        Three lines: whether to use the rows, the weakest point, what to do next.
    figures : list of Figure
        Every figure with its reading, verdict and threshold.
    columns : list of ColumnQuality
        Every column, the farthest first.
    examples : list of Example
        Some new rows with their source and nearest real row.

    See Also
    --------
    mgvae.report.QualityReport : What holds the classes.
    mgvae.report.Figure : One measured number.
    """

    label: str
    n_real: int
    n_synthetic: int
    verdict: Verdict
    summary: list[str]
    figures: list[Figure]
    columns: list[ColumnQuality]
    examples: list[Example]

    def __getitem__(self, name: str) -> Figure:
        """Return a figure by its name."""
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise KeyError(name)


@dataclass(frozen=True)
class TrainingCurve:
    """One stage of training.

    Parameters
    ----------
    name : str
        The stage.
    steps : int
        Its steps.
    seconds : float
        How long it took.
    at : list of int
        The steps at which ``terms`` are given; a long stage is thinned out.
    terms : dict of str to list of float
        The loss terms, each value a mean over the steps up to the next.
    validation : list of (int, float)
        Steps and validation values.
    best_step : int or None
        Where early stopping found the best.
    """

    name: str
    steps: int
    seconds: float
    at: list[int]
    terms: dict[str, list[float]]
    validation: list[tuple[int, float]]
    best_step: int | None


@dataclass(frozen=True)
class QualityReport:
    """The result of :func:`quality`.

    .. versionadded:: 0.1

    Parameters
    ----------
    target : str
        The column that holds the class.
    majority : str
        The largest class.
    classes : list of ClassQuality
        Every class that has new rows.
    notes : list of str
        What was left out or cut to size.
    training : list of TrainingCurve
        Empty unless the sampler was given.
    settings : dict
        The sampler's parameters.
    versions : dict
        Of everything that decides a figure.
    command : str or None
        What repeats it.

    See Also
    --------
    mgvae.report.quality : Make one.
    mgvae.report.ClassQuality : The part about one class.
    """

    target: str
    majority: str
    classes: list[ClassQuality]
    notes: list[str]
    training: list[TrainingCurve] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def to_html(self) -> str:
        """Return a page that needs no other file; requires jinja2 (``mgvae[report]``)."""
        return render("quality.html", {"report": self})


def quality(
    real: Any,
    synthetic: Any,
    *,
    target: Any,
    sources: Any = None,
    held_out: Any = None,
    sampler: Any = None,
    column_types: Mapping[Any, KindName] | None = None,
    command: str | None = None,
    random_state: Any = 0,
) -> QualityReport:
    """Measure the quality of synthetic rows.

    .. versionadded:: 0.1

    Parameters
    ----------
    real, synthetic : array, pandas or polars DataFrame, or pyarrow Table
        The real rows of all classes, and the new rows alone, with the same columns; or arrays of
        images, which are compared by their 50 main components.
    target : name, position, or pair of array-like
        The column of both that holds the class (its position in arrays); or, if the tables do not
        hold it, the classes of the real rows and those of the new ones.
    sources : array-like of int, optional
        For each new row the row of ``real`` it was made from, -1 for none: the end of a sampler's
        ``source_indices_``.
    held_out : table, optional
        Real rows that the sampler has not seen, with the target as a column or, with a pair, as
        its third part. New rows should not be closer to the real ones than these are; without
        them each real row is held out in turn.
    sampler : fitted sampler, optional
        Shows its loss curves and settings.
    column_types : mapping of column to str, optional
        Kinds of columns that are not what their values suggest, as the samplers take it.
    command : str, optional
        What repeats the run, to be shown.
    random_state : None, int, RandomState or Generator
        Draws the rows that are looked at where there are many.

    Returns
    -------
    report : QualityReport
        Figures, with ``to_json`` and ``to_html``.

    See Also
    --------
    mgvae.compare.compare : Find out whether the rows help a classifier.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from mgvae import MGVAE
    >>> from mgvae.report import quality
    >>> X, y = make_classification(300, 4, weights=[0.8], random_state=0)
    >>> sampler = MGVAE(pretrain_steps=20, finetune_steps=20, random_state=0)
    >>> X_new, y_new = (part[300:] for part in sampler.fit_resample(X, y))
    >>> report = quality(
    ...     X, X_new, target=(y, y_new), sources=sampler.source_indices_[300:], sampler=sampler
    ... )
    >>> report.classes[0]["copies"].verdict
    'good'
    """
    tables = _open(real, synthetic, target, column_types)
    origins = _read_sources(sources, tables)
    reserve = None if held_out is None else _read_held_out(real, held_out, target, column_types)
    labels = [str(label) for label in np.unique(tables.labels_new)]
    unseen = [label for label in labels if label not in tables.labels]
    if unseen:
        raise DataError(f"synthetic has rows of classes that real has not: {unseen[:10]}.")
    classes, cut = [], False
    for label, seeds in zip(labels, seed_sequence(random_state).spawn(len(labels)), strict=True):
        rng = np.random.default_rng(seeds)
        parts = Parts(tables, label, rng)
        cut = cut or max(len(parts.all_real), len(parts.all_new)) > MOST
        columns = measure_columns(tables, parts)
        seen = None if reserve is None else reserve.encoded_new[reserve.labels_new == label][:MOST]
        figures = measure(tables, parts, columns, seen, rng)
        verdict, lines = summarise(figures, label, table=tables.images is None)
        classes.append(
            ClassQuality(
                label,
                len(parts.all_real),
                len(parts.all_new),
                verdict,
                lines,
                figures,
                columns,
                examples(tables, parts, origins, rng),
            )
        )
    return QualityReport(
        tables.target,
        tables.majority,
        classes,
        _notes(tables, cut, held_out is None),
        _training(sampler),
        _settings(sampler),
        {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        command,
    )


def _open(real: Any, new: Any, target: Any, column_types: Any) -> PairedRows:
    """Read tables or images."""
    if len(new) == 0:
        raise DataError("synthetic has no rows, so there is nothing to judge.")
    if isinstance(real, np.ndarray) and real.ndim > 2:
        return open_images(real, np.asarray(new), target)
    return open_tables(real, new, target, column_types)


def _read_sources(sources: Any, tables: PairedRows) -> Any:
    if sources is None:
        return None
    rows = np.asarray(sources)
    n, most = len(tables.labels_new), len(tables.labels)
    if rows.shape != (n,) or rows.dtype.kind not in "iu" or rows.max(initial=-1) >= most:
        raise DataError(
            f"sources must name, for each of the {n} synthetic rows, a row of real as a whole "
            f"number below {most}, or -1; got shape {rows.shape}, {rows.dtype}. A sampler's "
            "source_indices_ begins with the original rows: leave these out."
        )
    return rows.astype(np.int64)


def _read_held_out(real: Any, held_out: Any, target: Any, column_types: Any) -> PairedRows:
    if isinstance(target, tuple):
        if len(target) != 3:
            raise DataError("held_out needs its classes: give them as the third part of target.")
        target = (target[0], target[2])
    return _open(real, held_out, target, column_types)


def _notes(tables: PairedRows, cut: bool, in_turn: bool) -> list[str]:
    notes = []
    if tables.images is not None:
        notes.append("Images are compared by the main components of their pixels.")
    if cut:
        notes.append(
            f"Of classes with more rows, {MOST:,} were drawn for distances and distributions; "
            "exact copies were counted among all."
        )
    if in_turn:
        notes.append(
            "No real rows were held out from the sampler: for privacy each real row is held out in "
            "turn and compared with the others."
        )
    left = [
        f"{real.name} ({kind})"
        for (real, _), kind in zip(tables.columns, tables.kinds, strict=True)
        if kind in ("constant", "identifier", "text", "empty")
    ]
    if left:
        more = f" and {len(left) - 10} more" if len(left) > 10 else ""
        notes.append(f"Columns that are not compared: {', '.join(left[:10])}{more}.")
    return notes


def _training(sampler: Any) -> list[TrainingCurve]:
    stages = []
    for name, history in getattr(sampler, "history_", {}).items():
        width = max(1, -(-history.steps // _POINTS))
        starts = list(range(0, history.steps, width))
        terms = {
            term: [float(np.mean(values[start : start + width])) for start in starts]
            for term, values in history.terms.items()
            if len(values) == history.steps and np.isfinite(values).all()
        }
        validation = [(int(step), float(v)) for step, v in history.validation if np.isfinite(v)]
        stages.append(
            TrainingCurve(name, history.steps, round(history.seconds, 2), starts, terms, validation,
                  history.best_step)
        )  # fmt: skip
    return stages


def _settings(sampler: Any) -> dict[str, Any]:
    if sampler is None:
        return {}
    parameters = sampler.get_params(deep=False).items()
    return {k: v if isinstance(v, str | int | float | None) else str(v) for k, v in parameters}
