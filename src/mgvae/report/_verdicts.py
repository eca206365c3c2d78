"""Three verdicts on the new rows of a class, each with a way out, and one line for all of them.

Faithful: could the rows have stood in the table? Diverse: do they show the whole class? Private: do
they give away the rows that they were made from? A question is answered by its worst figure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mgvae.errors import Setting
from mgvae.report._figures import Figure, Question, Verdict, worst

__all__ = [
    "QUESTIONS",
    "Advice",
    "Answer",
    "answers",
    "copies_rows",
    "headline",
    "overall",
]

QUESTIONS: dict[Question, str] = {
    "faithful": "Could they have stood in the table?",
    "diverse": "Do they show the whole class?",
    "private": "Do they keep the real rows secret?",
}
"""The questions, as they are asked on the page."""

_ANSWERS: dict[Question, dict[Verdict, str]] = {
    "faithful": {
        "good": "New rows look like real rows that the sampler never saw.",
        "caution": "New rows look mostly like real ones, but not in everything.",
        "bad": "New rows can be told from real ones.",
        "unknown": "It cannot be known whether new rows look like unseen real ones.",
    },
    "diverse": {
        "good": "New rows vary as real ones do.",
        "caution": "New rows vary less than real ones.",
        "bad": "New rows leave parts of the class out.",
        "unknown": "It cannot be known whether new rows show the whole class.",
    },
    "private": {
        "good": "New rows show no sign of being copied from single real rows.",
        "caution": "New rows lie closer to the rows they were made from than they should.",
        "bad": "New rows lie very close to the rows they were made from. Whoever sees the new rows "
        "may learn about real ones.",
        "unknown": "It cannot be known whether new rows give away the rows they were made from.",
    },
}

_CLAUSES: dict[Question, dict[Verdict, str]] = {
    "faithful": {
        "good": "look like real ones",
        "caution": "look mostly like real ones",
        "bad": "do not look like real ones",
        "unknown": "may or may not look like real ones",
    },
    "diverse": {
        "good": "vary as these do",
        "caution": "vary less than these",
        "bad": "leave parts of the class out",
        "unknown": "may or may not show the whole class",
    },
    "private": {
        "good": "show no sign of copying",
        "caution": "are not quite private: they lie rather close to the rows they were made from",
        "bad": "are not private: they lie very close to the rows they were made from",
        "unknown": "may or may not give away the rows they were made from",
    },
}


@dataclass(frozen=True)
class Advice:
    """One thing that can be done about a verdict.

    .. versionadded:: 0.1

    Parameters
    ----------
    change : str
        What to do; a parameter and its value, or a sentence.
    gain : str
        What it is good for.
    cost : str
        What it costs.
    setting : str or None
        The parameter to change, if one is.
    value : object
        Its new value.

    See Also
    --------
    mgvae.report.Answer : What it is advice on.
    """

    change: str
    gain: str
    cost: str
    setting: str | None = None
    value: Any = None


@dataclass(frozen=True)
class Answer:
    """The verdict on one question.

    .. versionadded:: 0.1

    Parameters
    ----------
    question : {"faithful", "diverse", "private"}
        What is asked.
    verdict : {"good", "caution", "bad", "unknown"}
        Of the worst figure.
    reading : str
        The answer in words, and the figure that decides.
    advice : list of Advice
        What can be done; empty if all is well.

    See Also
    --------
    mgvae.report.ClassQuality : What holds the three answers.
    """

    question: Question
    verdict: Verdict
    reading: str
    advice: list[Advice]


def answers(
    figures: Sequence[Figure], settings: Mapping[str, Any], *, held_out: bool = True
) -> list[Answer]:
    """Answer the three questions.

    Parameters
    ----------
    figures : sequence of Figure
        All figures of the class.
    settings : mapping
        Those of the sampler, with every ``"auto"`` replaced; empty if it is not known.
    held_out : bool
        Whether there were real rows that the sampler never saw.

    Examples
    --------
    >>> good = Figure("spread", "diverse", "Spread", 1.0, 1.0, "good", "", "All well.")
    >>> answers([good], {})[1].reading
    'New rows vary as real ones do.'
    """
    found = []
    for question in QUESTIONS:
        own = [figure for figure in figures if figure.group == question]
        verdict = worst([figure.verdict for figure in own] or ["unknown"])
        reading = _ANSWERS[question][verdict]
        decides = next((f for f in own if f.verdict == verdict), None)
        if decides is not None and verdict != "good":
            reading += f" {decides.title}: {decides.reading}"
            if verdict == "unknown" and held_out and decides.interval is not None:
                low, high = decides.interval
                reading += (
                    f" With so few rows it may be anything from {decides.spell(low)} to "
                    f"{decides.spell(high)}."
                )
        advice = [] if verdict == "good" else _advise(question, verdict, own, settings)
        if verdict == "unknown" and not held_out:
            advice.insert(0, _held_out())
        found.append(Answer(question, verdict, reading, advice))
    return found


def overall(found: Sequence[Answer], figures: Sequence[Figure]) -> Verdict:
    """Return one verdict: on training with the rows.

    Rows that are not private may still serve to train with, so that question alone asks for care
    only, unless rows are copied outright.
    """
    by_question = {answer.question: answer.verdict for answer in found}
    verdict = worst([by_question["faithful"], by_question["diverse"]])
    if copies_rows(figures) or verdict == "bad":
        return "bad"
    return worst([verdict, "caution"]) if by_question["private"] in ("bad", "caution") else worst(
        [verdict, by_question["private"]]
    )  # fmt: skip


def copies_rows(figures: Sequence[Figure]) -> bool:
    """Return whether too many new rows are exact copies."""
    return any(figure.name == "copies" and figure.verdict == "bad" for figure in figures)


def headline(label: str, found: Sequence[Answer], verdict: Verdict, *, copied: bool = False) -> str:
    """Return one line that says whether to use the rows.

    Examples
    --------
    >>> good = [Answer(question, "good", "", []) for question in QUESTIONS]
    >>> headline("yes", good, "good")
    'Use them: the new rows of class yes look like real ones, vary as these do, and show no sign of
    copying.'
    """
    by_question = {answer.question: answer.verdict for answer in found}
    first, second, third = (_CLAUSES[q][by_question[q]] for q in QUESTIONS)
    third = "are in part exact copies of real rows" if copied else third
    if by_question["private"] in ("bad", "caution") and verdict != "bad":
        sure = by_question["faithful"] == by_question["diverse"] == "good"
        care = "Train with them, but" if sure else "Train with them with care, and"
        return (
            f"{care} do not hand them out: the new rows of class {label} {first} and {second}, but "
            f"they {third}."
        )
    start = {
        "good": "Use them",
        "caution": "Use them with care",
        "bad": "Do not use them as they are",
        "unknown": "Too little is known to recommend them",
    }[verdict]
    return f"{start}: the new rows of class {label} {first}, {second}, and {third}."


def _advise(
    question: Question, verdict: Verdict, figures: Sequence[Figure], settings: Mapping[str, Any]
) -> list[Advice]:
    if verdict == "unknown":
        return [_more_rows("with more of them the figures become sure")]
    ours = "generation" in settings
    generation, rejection = settings.get("generation"), settings.get("rejection", 0.0)
    temperature = settings.get("temperature", 1.0)
    found: list[Advice] = []
    if question == "private":
        found.append(Advice(
            "keep the new rows where the real ones may be seen",
            "you can train with them, and nobody sees what they may not",
            "they cannot be handed out",
        ))  # fmt: skip
        if generation == "bridge":
            found.append(_set(
                "generation", "translate", "new rows then start from no single minority row, which "
                "made them private on each of the six tables that were tried",
                "they look less like real ones. On three of the six tables (wine_quality, yeast1, "
                "pima) the loss was small; on the others (adult, bank-full, page-blocks0) the new "
                "rows could then be told from real ones",
            ))  # fmt: skip
        elif ours:
            found.append(_more_rows("a model of more rows holds less of each; it may not suffice"))
        else:
            found.append(Advice(
                "take a sampler that does not start from single rows",
                "what is made from no single row cannot give one away",
                "the new rows look less like real ones",
            ))  # fmt: skip
    elif question == "faithful":
        if ours and generation != "bridge":
            found.append(_set(
                "generation", "bridge", "new rows start from real minority rows",
                "they lie closer to these: less private",
            ))  # fmt: skip
        if ours and rejection == 0:
            found.append(_set(
                "rejection", 0.2, "the fifth of the new rows that the model finds least plausible "
                "is thrown away", "a quarter more rows have to be made, and they vary less",
            ))  # fmt: skip
        if ours and temperature not in ("auto",) and temperature > 1:
            found.append(_set(
                "temperature", 1.0, "less noise in the new rows", "they vary less",
            ))  # fmt: skip
        if "constraints" in settings and _is_off(figures, "relations"):
            found.append(_set(
                "constraints", "auto", "new rows keep what every real row keeps",
                "some cells are changed after they were made",
            ))  # fmt: skip
        found.append(_fewer())
        found.append(_more_rows("the sampler has more to learn from"))
    else:
        if ours and rejection > 0:
            found.append(_set(
                "rejection", 0.0, "unusual rows are kept", "some of them are implausible",
            ))  # fmt: skip
        if ours:
            found.append(_set(
                "temperature", 1.5, "more noise, more variety", "rows look less like real ones",
            ))  # fmt: skip
        found.append(_more_rows("the sampler sees more of the class"))
    if _is_off(figures, "copies"):
        found.append(Advice(
            "leave out new rows that equal a real one", "no real row is handed out",
            "there are fewer new rows",
        ))  # fmt: skip
    return found


def _is_off(figures: Sequence[Figure], name: str) -> bool:
    return any(figure.name == name and figure.verdict != "good" for figure in figures)


def _set(name: str, value: Any, gain: str, cost: str) -> Advice:
    return Advice(str(Setting(name, value)), gain, cost, name, value)


def _fewer() -> Advice:
    return Advice(
        "sampling_strategy=0.5",
        "fewer rows are made, so a classifier learns less from synthetic rows",
        "the classes stay uneven, so decide at another threshold",
        "sampling_strategy",
        0.5,
    )


def _more_rows(gain: str) -> Advice:
    return Advice("collect more real rows of the class", gain, "time")


def _held_out() -> Advice:
    return Advice(
        "held_out=rows that the sampler never saw",
        "new rows are compared with real rows that the sampler never saw",
        "the sampler has fewer rows to learn from",
        "held_out",
    )
