"""What a quality report holds: verdicts, figures and pictures of every class."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mgvae.common.notebook import axes, data_frame, html_table
from mgvae.report._columns import ColumnQuality
from mgvae.report._examples import Example, Parentage
from mgvae.report._figures import Figure, Verdict
from mgvae.report._verdicts import QUESTIONS, Answer
from mgvae.report._views import Associations, PairView, RowMap
from mgvae.report._words import Things
from mgvae.report.page import render

__all__ = ["ClassQuality", "KeptRelation", "QualityReport", "TrainingCurve", "side_by_side"]

ANSWER_WORDS: dict[Verdict, str] = {
    "good": "yes",
    "caution": "partly",
    "bad": "no",
    "unknown": "cannot be known",
}


@dataclass(frozen=True)
class KeptRelation:
    """A relation between columns that every real row keeps, or that the user asked for.

    .. versionadded:: 0.1

    Parameters
    ----------
    text : str
        The relation.
    declared : bool
        Whether the user asked for it; it was found otherwise.
    n_broken : int
        New rows of the class that break it.

    See Also
    --------
    mgvae.report.ClassQuality : What holds the relations.
    """

    text: str
    declared: bool
    n_broken: int


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
    relations : list of KeptRelation
        What every real row keeps, and how many new rows do not.
    associations : Associations or None
        How strongly columns hang together.
    pairs : list of PairView
        The columns whose association differs most.
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
    relations: list[KeptRelation]
    associations: Associations | None
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
        return f"<ClassQuality of {self.label}: {self.n_synthetic:,} new; {said}>"

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
    things : {"rows", "images"}
        What was judged.

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
    things: Things = "rows"

    @property
    def headline(self) -> str:
        """One line on all classes."""
        if len(self.classes) == 1:
            return self.classes[0].headline
        usable = [one for one in self.classes if one.verdict in ("good", "caution")]
        return (
            f"The new {self.things} of {len(usable)} of {len(self.classes)} classes can be used"
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
        columns = ("class", f"new {self.things}", *(f"{question}?" for question in QUESTIONS))
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
