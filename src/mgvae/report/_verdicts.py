"""Three verdicts on the new rows of a class, each with a way out, and one line for all of them.

Faithful: could the rows have stood in the table? Diverse: do they show the whole class? Private: do
they give away the rows that they were made from? A question is answered by its worst figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mgvae.report._advice import Advice, Made, advise
from mgvae.report._figures import Figure, Question, Verdict, worst
from mgvae.report._words import Things, in_words_of

__all__ = [
    "QUESTIONS",
    "Answer",
    "answers",
    "copies_rows",
    "headline",
    "overall",
]

QUESTIONS: dict[Question, str] = {
    "faithful": "Could they have stood among the real ones?",
    "diverse": "Do they show the whole class?",
    "private": "Do they keep the real ones secret?",
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

_STARTS: dict[Verdict, str] = {
    "good": "Use them",
    "caution": "Use them with care",
    "bad": "Do not use them as they are",
    "unknown": "Too little is known to recommend them",
}


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


def answers(figures: Sequence[Figure], made: Made) -> list[Answer]:
    """Answer the three questions.

    Parameters
    ----------
    figures : sequence of Figure
        All figures of the class.
    made : Made
        How the new rows of the class were made.

    Examples
    --------
    >>> good = Figure("spread", "diverse", "Spread", 1.0, 1.0, "good", "", "All well.")
    >>> answers([good], Made())[1].reading
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
            if verdict == "unknown" and made.held_out and decides.interval is not None:
                low, high = decides.interval
                reading += (
                    f" With so few rows the figure may be anything from {decides.spell(low)} to "
                    f"{decides.spell(high)}."
                )
        advice = [] if verdict == "good" else advise(question, verdict, own, made)
        found.append(Answer(question, verdict, in_words_of(made.things, reading), advice))
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


def headline(
    label: str,
    found: Sequence[Answer],
    verdict: Verdict,
    *,
    copied: bool = False,
    things: Things = "rows",
) -> str:
    """Return one line that says whether to use the rows, or images, of a class.

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
        start, end = f"{care} do not hand them out", f"{first} and {second}, but they {third}"
    else:
        start, end = _STARTS[verdict], f"{first}, {second}, and {third}"
    return f"{start}: the new {things} of class {label} {in_words_of(things, end)}."
