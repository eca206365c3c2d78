"""The quality of synthetic rows: three samples of every class, measured and judged."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgvae.codec import Column, KindName, cell_texts
from mgvae.common.runtime import seed_sequence
from mgvae.errors import DataError, ParameterError
from mgvae.report._advice import Made
from mgvae.report._association import associations
from mgvae.report._data import Rows, Tables, majority_of, open_tables, split_target
from mgvae.report._examples import examples, parentage
from mgvae.report._images import open_images
from mgvae.report._measure import measure, measure_columns
from mgvae.report._parts import MOST, Parts
from mgvae.report._predicates import with_predicates
from mgvae.report._report import ClassQuality, KeptRelation, QualityReport, TrainingCurve
from mgvae.report._second import ENOUGH, SecondRows, second_rows
from mgvae.report._verdicts import answers, copies_rows, headline, overall
from mgvae.report._views import map_rows, view_associations
from mgvae.report._words import in_words_of
from mgvae.samplers import resolved_settings

__all__ = ["quality"]

_PACKAGES = ("mgvae", "torch", "numpy", "scikit-learn", "imbalanced-learn")
_POINTS = 200  # of a loss curve


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
    name: str | None = None,
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
    name : str, optional
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
    part = float(held_out or 0) if held_out is None or isinstance(held_out, Real) else None
    if part is not None:
        second = _second(real, synthetic, targets, sampler, part, for_second)
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
    part = 0.0 if sampler is None and part is not None else part
    given += [] if second is None else [("synthetic", second.X, second.y)]
    given += [] if reserve is None else [reserve]
    tables = _open(given, column_types, sampler)
    rows, made = tables.rows[0], tables.rows[1]
    labels = [str(label) for label in np.unique(made.labels)]
    unseen = [label for label in labels if label not in rows.labels]
    if unseen:
        raise DataError(f"synthetic has rows of classes that real has not: {unseen[:10]}.")
    starts = _read_parents(anchors, "anchors", tables)
    guides = _read_parents(sources, "sources", tables)
    settings = _settings(sampler, second)
    majority = rows.at(rows.of(majority_of(rows.labels)))
    things = tables.things
    counts = np.unique(rows.labels, return_counts=True)[1]
    classes, cut = [], False
    for label, seeds in zip(labels, for_classes.spawn(len(labels)), strict=True):
        rng = np.random.default_rng(seeds)
        learned, unseen_rows, new, basis = _three(label, tables, second, part)
        parts = Parts.cut(learned, unseen_rows, new, majority, rng)
        here = made.of(label)
        own = made.at(here)
        cut = cut or max(len(learned), len(own)) > MOST
        columns = measure_columns(parts, tables.kinds)
        even = parts.even(rng)
        links = associations(even[0].columns, even[1].columns, tables.kinds, rng)
        figures = [
            figure.in_words_of(things)
            for figure in measure(
                parts, even, links, own, rows, columns, tables.names, tables.kinds, rng
            )
        ]
        n_real = int((rows.labels == label).sum())
        how = Made(
            settings,
            getattr(sampler, "constraints", "auto"),
            n_real,
            len(own),
            int(counts.max()),
            len(counts),
            held_out=unseen_rows is not None,
            may_hold_out=sampler is not None and n_real >= ENOUGH,
            things=things,
        )
        found = answers(figures, how)
        verdict = overall(found, figures)
        shown, pairs = view_associations(even, links, tables.names, tables.kinds, rng)
        classes.append(
            ClassQuality(
                label,
                n_real,
                len(own),
                len(learned),
                0 if unseen_rows is None else len(unseen_rows),
                in_words_of(things, basis),
                verdict,
                headline(label, found, verdict, copied=copies_rows(figures), things=things),
                found,
                figures,
                columns,
                _kept(tables, own),
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
        [in_words_of(things, note) for note in _notes(tables, cut)],
        _training(sampler),
        settings,
        {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        command,
        name or f"new {things}",
        things,
    )


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


def _settings(sampler: Any, second: SecondRows | None) -> dict[str, Any]:
    """Return the settings of the sampler; of one that is not fitted, as its copy resolved them."""
    given = resolved_settings(sampler)
    if second is None or hasattr(sampler, "state_"):
        return given
    own = ("sampling_strategy", "random_state", "checkpoint", "callback", "verbose")
    return resolved_settings(second.sampler) | {k: given[k] for k in own if k in given}


def _open(given: list[tuple[str, Any, Any]], column_types: Any, sampler: Any) -> Tables:
    """Read tables or images."""
    real = given[0][1]
    if isinstance(real, np.ndarray) and real.ndim > 2:
        return open_images(given)
    constraints = getattr(sampler, "constraints", None)
    asked = constraints if isinstance(constraints, list | tuple) else ()
    declared = [text for text in asked if isinstance(text, str) and text not in ("only", "auto")]
    tables = open_tables(given, column_types, declared)
    return with_predicates(tables, given, [one for one in asked if callable(one)])


def _kept(tables: Tables, made: Rows) -> list[KeptRelation]:
    """Return the relations of the table, and how many new rows break each."""
    counts = made.broken.sum(0)
    return [
        KeptRelation(relation.text, relation.declared, int(n))
        for relation, n in zip(tables.relations, counts, strict=True)
    ]


def _three(
    label: str, tables: Tables, second: SecondRows | None, part: float | None
) -> tuple[Rows, Rows | None, Rows, str]:
    """Return the three samples of a class, and what they are in words.

    A part is what was to be held out from the second sampler; None if rows were given.
    """
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
    if part is None and len(last.of(label)):
        return (
            rows.at(own),
            last.at(last.of(label)),
            new,
            f"New rows are compared with {len(last.of(label)):,} real rows that were held out "
            f"from the sampler, and with the {len(own):,} that it learned from.",
        )
    why = (
        "none of the rows that were held out is of this class"
        if part is None
        else "there are no real rows that the sampler never saw"
        if part == 0
        else f"a class of {len(own):,} rows is too small to hold a part out"
        if len(own) < ENOUGH
        else f"{part:.3g} of {len(own):,} rows leaves fewer than {ENOUGH // 2} on one side"
    )
    return (
        rows.at(own),
        None,
        new,
        f"New rows are compared only with the rows that they were made from, because {why}. "
        "Therefore some figures cannot be known.",
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
    if tables.things == "images":
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
