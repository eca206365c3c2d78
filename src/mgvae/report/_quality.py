"""The quality of synthetic rows: verdicts, figures, pictures, and how they were made."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec import Column, KindName, cell_texts
from mgvae.common.notebook import axes, data_frame, html_table
from mgvae.common.runtime import seed_sequence
from mgvae.errors import DataError, ParameterError
from mgvae.report._columns import ColumnQuality
from mgvae.report._data import Rows, Tables, majority_of, open_tables, split_target
from mgvae.report._examples import Example, Parentage, examples, parentage
from mgvae.report._figures import Figure, Verdict
from mgvae.report._images import open_images
from mgvae.report._measure import MOST, Parts, measure, measure_columns
from mgvae.report._second import ENOUGH, SecondRows, second_rows
from mgvae.report._verdicts import QUESTIONS, Answer, answers, copies_rows, headline, overall
from mgvae.report._views import PairView, Relations, RowMap, map_rows, view_relations
from mgvae.report.page import render

__all__ = [
    "ClassQuality",
    "QualityReport",
    "TrainingCurve",
    "quality",
    "resolved_settings",
    "side_by_side",
]

_PACKAGES = ("mgvae", "torch", "numpy", "scikit-learn", "imbalanced-learn")
_POINTS = 200  # of a loss curve
ANSWER_WORDS: dict[Verdict, str] = {
    "good": "yes",
    "caution": "partly",
    "bad": "no",
    "unknown": "cannot be known",
}


@dataclass(frozen=True, repr=False)
class ClassQuality:
    """The new rows of one class.

    .. versionadded:: 0.1

    Parameters
    ----------
    label : str
        The class.
    n_real, n_synthetic : int
        Its rows.
    n_learned, n_held_out : int
        Real rows that the sampler whose rows were measured learned from, and never saw.
    basis : str
        Which rows the figures compare, in words.
    verdict : {"good", "caution", "bad", "unknown"}
        Whether to train with the rows.
    headline : str
        The same in one line.
    answers : list of Answer
        Whether they are faithful, diverse and private, and what can be done about it.
    figures : list of Figure
        Every figure with its reading, verdict and threshold.
    columns : list of ColumnQuality
        Every column, the farthest first.
    relations : Relations or None
        The associations of columns.
    pairs : list of PairView
        The columns whose relation differs most.
    map : RowMap
        Majority, minority and new rows on a plane.
    examples : list of Example
        Some new rows with their parents and nearest real row.
    parentage : Parentage or None
        Which cells came from which parent.

    See Also
    --------
    mgvae.report.QualityReport : What holds the classes.
    mgvae.report.Figure : One measured number.
    """

    label: str
    n_real: int
    n_synthetic: int
    n_learned: int
    n_held_out: int
    basis: str
    verdict: Verdict
    headline: str
    answers: list[Answer]
    figures: list[Figure]
    columns: list[ColumnQuality]
    relations: Relations | None
    pairs: list[PairView]
    map: RowMap
    examples: list[Example]
    parentage: Parentage | None

    @property
    def summary(self) -> list[str]:
        """Four lines: whether to use the rows, and the three answers."""
        lines = [
            f"{answer.question.capitalize()}: {ANSWER_WORDS[answer.verdict]}. {answer.reading}"
            for answer in self.answers
        ]
        return [self.headline, *lines]

    def __repr__(self) -> str:
        said = ", ".join(f"{a.question}: {ANSWER_WORDS[a.verdict]}" for a in self.answers)
        return f"<ClassQuality of {self.label}: {self.n_synthetic:,} new rows; {said}>"

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


@dataclass(frozen=True, repr=False)
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
    name : str
        What the rows are called beside others.

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
    name: str = "new rows"

    @property
    def headline(self) -> str:
        """One line on all classes."""
        if len(self.classes) == 1:
            return self.classes[0].headline
        usable = [one for one in self.classes if one.verdict in ("good", "caution")]
        return (
            f"The new rows of {len(usable)} of {len(self.classes)} classes can be used"
            f"{', with the care that is said below' if usable else ''}."
        )

    def __repr__(self) -> str:
        lines = "".join(f"\n  {one!r}" for one in self.classes)
        return f"<QualityReport on {self.name}: {self.headline}{lines}>"

    def _repr_html_(self) -> str:
        rows = [
            (one.label, f"{one.n_synthetic:,}", *(ANSWER_WORDS[a.verdict] for a in one.answers))
            for one in self.classes
        ]
        columns = ("class", "new rows", *(f"{question}?" for question in QUESTIONS))
        return html_table(self.headline, columns, rows)

    def to_frame(self) -> Any:
        """Return the figures as a pandas DataFrame, one row for each class and figure."""
        found = [(one.label, figure) for one in self.classes for figure in one.figures]
        ends = [figure.interval or (None, None) for _, figure in found]
        return data_frame(
            {
                "class": [label for label, _ in found],
                "question": [figure.group for _, figure in found],
                "figure": [figure.name for _, figure in found],
                "value": [figure.value for _, figure in found],
                "low": [low for low, _ in ends],
                "high": [high for _, high in ends],
                "reference": [figure.reference for _, figure in found],
                "verdict": [figure.verdict for _, figure in found],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the map of the rows of every class; return matplotlib's axes.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of these, optional
            Where to draw, one for each class; a new figure unless given.
        """
        places = axes(ax, max(1, len(self.classes)))
        for place, one in zip(places, self.classes, strict=False):
            for kind, points in one.map.points.items():
                x, y = zip(*points, strict=True) if points else ((), ())
                marker = "s" if kind == "new" else "o"
                place.scatter(x, y, 12, marker=marker, alpha=0.6, label=kind.replace("_", " "))
            place.set(title=f"class {one.label}", xticks=[], yticks=[])
            place.legend()
        return places if len(self.classes) > 1 else places[0]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self) | {"headline": self.headline}

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def to_html(self) -> str:
        """Return a page that needs no other file; requires jinja2 (``mgvae[report]``)."""
        return side_by_side([self])


def quality(
    real: Any,
    synthetic: Any,
    *,
    target: Any,
    sources: Any = None,
    anchors: Any = None,
    held_out: Any = 0.5,
    sampler: Any = None,
    column_types: Mapping[Any, KindName] | None = None,
    command: str | None = None,
    name: str = "new rows",
    random_state: Any = 0,
) -> QualityReport:
    """Measure the quality of synthetic rows.

    .. versionadded:: 0.1

    New rows cannot be judged by the rows that they were made from: exact copies would get the best
    marks. They are compared with real rows that the sampler never saw. Either such rows are given
    as ``held_out``; or the sampler is given, and a copy of it learns from a part of each class and
    is judged by the other part. With neither, what only unseen rows can tell stays unknown.

    Parameters
    ----------
    real : array, pandas or polars DataFrame, or pyarrow Table
        The real rows of all classes; or an array of images, which are compared by their 50 main
        components.
    synthetic : of the same kind, or None
        The new rows alone, with the same columns. None takes those of the copy of ``sampler``.
    target : name, position, or tuple of array-like
        The column that holds the class (its position in arrays); or, if the tables do not hold it,
        the classes of the real rows, of the new ones, and of those held out.
    sources, anchors : array-like of int, optional
        For each new row its parents, as rows of ``real``, -1 for none: the end of a sampler's
        ``source_indices_`` (the majority row that guided it) and ``anchor_indices_`` (the minority
        row that it started from).
    held_out : table or float, default=0.5
        Real rows that the sampler has not seen. A number is the part of each class that is held
        out from a copy of ``sampler``, which is fitted for the figures; 0 fits none.
    sampler : sampler, optional
        What made the rows: any over-sampler with ``fit_resample``. A fitted one also shows its
        loss curves and settings.
    column_types : mapping of column to str, optional
        Kinds of columns that are not what their values suggest, as the samplers take it.
    command : str, optional
        What repeats the run, to be shown.
    name : str
        What the rows are called beside others.
    random_state : None, int, RandomState or Generator
        Decides which rows are held out, and which are looked at where there are many.

    Returns
    -------
    report : QualityReport
        Verdicts and figures, with ``to_json`` and ``to_html``.

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
    >>> report = quality(X, X_new, target=(y, y_new), sampler=sampler)
    >>> report.classes[0].n_held_out
    30
    >>> report.classes[0]["copies"].verdict
    'good'
    """
    for_second, for_classes = seed_sequence(random_state).spawn(2)
    targets = target if isinstance(target, tuple) else (target, target, target)
    given = [("real", real, targets[0])]
    reserve: Any = None
    second: SecondRows | None = None
    if held_out is None or isinstance(held_out, Real):
        second = _second(real, synthetic, targets, sampler, float(held_out or 0), for_second)
    else:
        if len(targets) != 3:
            raise DataError("held_out needs its classes: give them as the third part of target.")
        reserve = ("held_out", held_out, targets[2])
    if synthetic is not None:
        if len(synthetic) == 0:
            raise DataError("synthetic has no rows, so there is nothing to judge.")
        given.append(("synthetic", synthetic, targets[1]))
    elif second is None:
        raise ParameterError(
            "synthetic is None, so a sampler must be given that can learn from a part of a class "
            f"of at least {ENOUGH} rows."
        )
    given += [] if second is None else [("synthetic", second.X, second.y)]
    given += [] if reserve is None else [reserve]
    tables = _open(given, column_types)
    rows, made = tables.rows[0], tables.rows[1]
    labels = [str(label) for label in np.unique(made.labels)]
    unseen = [label for label in labels if label not in rows.labels]
    if unseen:
        raise DataError(f"synthetic has rows of classes that real has not: {unseen[:10]}.")
    starts = _read_parents(anchors, "anchors", tables)
    guides = _read_parents(sources, "sources", tables)
    settings = resolved_settings(sampler)
    majority = rows.at(rows.of(majority_of(rows.labels)))
    classes, cut = [], False
    for label, seeds in zip(labels, for_classes.spawn(len(labels)), strict=True):
        rng = np.random.default_rng(seeds)
        learned, unseen_rows, new, basis = _three(label, tables, second, reserve is not None)
        parts = Parts.cut(learned, unseen_rows, new, majority, rng)
        here = made.of(label)
        own = made.at(here)
        cut = cut or max(len(learned), len(own)) > MOST
        columns = measure_columns(parts, tables.kinds)
        figures = measure(parts, own, rows, columns, tables.names, tables.kinds, rng)
        found = answers(figures, settings, held_out=unseen_rows is not None)
        verdict = overall(found, figures)
        shown, pairs = view_relations(parts, tables.names, tables.kinds, rng)
        classes.append(
            ClassQuality(
                label,
                int((rows.labels == label).sum()),
                len(own),
                len(learned),
                0 if unseen_rows is None else len(unseen_rows),
                basis,
                verdict,
                headline(label, found, verdict, copied=copies_rows(figures)),
                found,
                figures,
                columns,
                shown,
                pairs,
                map_rows(parts, rng),
                examples(tables, made, label, starts, guides, rng),
                parentage(own, rows, starts[here], guides[here], tables.kinds),
            )
        )
    return QualityReport(
        tables.target,
        majority_of(rows.labels),
        classes,
        _notes(tables, cut),
        _training(sampler),
        settings,
        {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        command,
        name,
    )


def side_by_side(reports: Sequence[QualityReport]) -> str:
    """Return one page on the rows of several samplers, judged by the same rules.

    .. versionadded:: 0.1

    Parameters
    ----------
    reports : sequence of QualityReport
        On rows of the same table; each has a ``name``.

    Returns
    -------
    page : str
        HTML that needs no other file; requires jinja2 (``mgvae[report]``).

    See Also
    --------
    mgvae.report.quality : Make a report.

    Examples
    --------
    >>> from imblearn.over_sampling import SMOTE, RandomOverSampler
    >>> from sklearn.datasets import make_classification
    >>> from mgvae.report import quality, side_by_side
    >>> X, y = make_classification(300, 4, weights=[0.8], random_state=0)
    >>> samplers = {"SMOTE": SMOTE(), "copies": RandomOverSampler()}
    >>> page = side_by_side(
    ...     [quality(X, None, target=(y,), sampler=s, name=name) for name, s in samplers.items()]
    ... )
    >>> "SMOTE" in page and "copies" in page
    True
    """
    values = {"reports": list(reports), "questions": QUESTIONS, "answers": ANSWER_WORDS}
    return render("quality.html", values)


def _second(
    real: Any,
    synthetic: Any,
    targets: tuple[Any, ...],
    sampler: Any,
    part: float,
    seeds: np.random.SeedSequence,
) -> SecondRows | None:
    """Let a copy of the sampler learn from a part of each class."""
    if not 0 <= part < 1:
        raise ParameterError(
            f"held_out must be a table of real rows, or a part from 0 to 1; got {part}."
        )
    if sampler is None or part == 0:
        return None
    X, y = (real, targets[0]) if not np.isscalar(targets[0]) else split_target(real, targets[0])
    y = np.asarray(y)
    texts = cell_texts(Column("y", y))
    largest = int(np.unique(texts, return_counts=True)[1].max())
    if synthetic is None:
        wanted = {
            str(label): min(MOST, largest - int(n))
            for label, n in zip(*np.unique(texts, return_counts=True), strict=True)
            if n < largest
        }
    else:
        labels = (
            targets[1] if not np.isscalar(targets[1]) else split_target(synthetic, targets[1])[1]
        )
        found = np.unique(cell_texts(Column("y", np.asarray(labels))), return_counts=True)
        wanted = {str(label): min(MOST, int(n)) for label, n in zip(*found, strict=True)}
    return second_rows(sampler, X, y, wanted, part, seeds)


def _open(given: list[tuple[str, Any, Any]], column_types: Any) -> Tables:
    """Read tables or images."""
    real = given[0][1]
    if isinstance(real, np.ndarray) and real.ndim > 2:
        return open_images(given)
    return open_tables(given, column_types)


def _three(
    label: str, tables: Tables, second: SecondRows | None, reserved: bool
) -> tuple[Rows, Rows | None, Rows, str]:
    """Return the three samples of a class, and what they are in words."""
    rows, made, last = tables.rows[0], tables.rows[1], tables.rows[-1]
    own = rows.of(label)
    if second is not None:
        held = np.intersect1d(own, second.held_out)
        if len(held):
            learned = np.setdiff1d(own, held)
            return (
                rows.at(learned),
                rows.at(held),
                last.at(last.of(label)),
                f"Figures are about a second sampler with the same settings: it learned from "
                f"{len(learned):,} of the {len(own):,} real rows of the class, and its rows are "
                f"compared with the other {len(held):,}. The sampler of your rows learned from "
                "all of them.",
            )
    new = made.at(made.of(label))
    if reserved and len(last.of(label)):
        return (
            rows.at(own),
            last.at(last.of(label)),
            new,
            f"New rows are compared with {len(last.of(label)):,} real rows that were held out "
            f"from the sampler, and with the {len(own):,} that it learned from.",
        )
    why = (
        f"a class of {len(own)} rows is too small to hold a part out"
        if second is not None or len(own) < ENOUGH
        else "there are no real rows that the sampler never saw"
    )
    return (
        rows.at(own),
        None,
        new,
        f"New rows are compared with the rows that they were made from only, for {why}: some "
        "figures cannot be known.",
    )


def _read_parents(given: Any, name: str, tables: Tables) -> NDArray[np.int64]:
    n, most = len(tables.rows[1]), len(tables.rows[0])
    if given is None:
        return np.full(n, -1)
    rows = np.asarray(given)
    if rows.shape != (n,) or rows.dtype.kind not in "iu" or rows.max(initial=-1) >= most:
        raise DataError(
            f"{name} must name, for each of the {n} synthetic rows, a row of real as a whole "
            f"number below {most}, or -1; got shape {rows.shape}, {rows.dtype}. A sampler's "
            "source_indices_ and anchor_indices_ begin with the original rows: leave these out."
        )
    return rows.astype(np.int64)


def _notes(tables: Tables, cut: bool) -> list[str]:
    notes = []
    if tables.rows[0].images is not None:
        notes.append("Images are compared by the main components of their pixels.")
    if cut:
        notes.append(
            f"Of classes with more rows, {MOST:,} were drawn for distances and distributions; "
            "exact copies were counted among all."
        )
    left = [
        f"{name} ({kind})"
        for name, kind in zip(tables.names, tables.kinds, strict=True)
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


def resolved_settings(sampler: Any) -> dict[str, Any]:
    """Return the parameters of a sampler; of a fitted one, with every ``"auto"`` replaced."""
    if sampler is None:
        return {}
    settings = dict(sampler.get_params(deep=False))
    found: dict[str, Any] = {}
    if hasattr(sampler, "state_"):
        method = sampler.state_.method.settings
        found = {one.name: getattr(method, one.name) for one in fields(method)}
    settings |= {name: value for name, value in found.items() if name in settings}
    rates = [found.get(f"{stage}_learning_rate") for stage in ("pretrain", "finetune")]
    if "learning_rate" in settings and None not in rates:
        settings["learning_rate"] = str(tuple(rates))
    weights = getattr(sampler, "ewc_weights_", None)
    if weights:
        settings["ewc_weight"] = ", ".join(
            f"{name}: {weight:g}" for name, weight in weights.items()
        )
    return {
        k: v if isinstance(v, str | int | float | None) else str(v) for k, v in settings.items()
    }
