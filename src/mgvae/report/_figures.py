"""Figures with a verdict: what was measured, how to read it, and where the limits are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Figure", "Verdict", "judge", "summarise", "unknown"]

Verdict = Literal["good", "caution", "bad", "unknown"]
_WORST: tuple[Verdict, ...] = ("bad", "caution", "unknown", "good")


@dataclass(frozen=True)
class Figure:
    """One figure.

    .. versionadded:: 0.1

    Parameters
    ----------
    name : str
        Its key for programs.
    group : str
        ``"fidelity"``, ``"diversity"``, ``"separation"`` or ``"privacy"``.
    title : str
        Its name for people.
    value : float or None
        What was measured; None where it could not be.
    reference : float or None
        What real rows give, or chance; None where nothing is compared with.
    verdict : {"good", "caution", "bad", "unknown"}
        The traffic light.
    threshold : str
        Where its limits are.
    reading : str
        What it means, in a sentence.

    See Also
    --------
    mgvae.report.ClassQuality : What holds the figures.
    """

    name: str
    group: str
    title: str
    value: float | None
    reference: float | None
    verdict: Verdict
    threshold: str
    reading: str


def judge(value: float, good: float, caution: float) -> Verdict:
    """Return the verdict for two limits; the better side is that of ``good``.

    Examples
    --------
    >>> judge(0.2, 0.1, 0.3), judge(0.2, 0.9, 0.5), judge(0.9, 0.9, 0.5)
    ('caution', 'bad', 'good')
    """
    sign = 1.0 if good <= caution else -1.0
    if sign * value <= sign * good:
        return "good"
    return "caution" if sign * value <= sign * caution else "bad"


def unknown(name: str, group: str, title: str, why: str) -> Figure:
    """Return a figure that could not be measured, and why."""
    return Figure(name, group, title, None, None, "unknown", "none", why)


def summarise(
    figures: Sequence[Figure], label: str, *, table: bool = True
) -> tuple[Verdict, list[str]]:
    """Summarise in three lines whether to use the rows of a class.

    Bad copies, a collapsed spread, or two bad figures mean no; one bad figure or three doubtful
    ones mean care. If less than half of the figures could be measured, the answer is unknown.

    Examples
    --------
    >>> good = Figure("a", "fidelity", "A", 1.0, None, "good", "", "All well.")
    >>> summarise([good], "yes")[1][0]
    'The new rows of class yes look usable: all 1 figures are good.'
    """
    bad = [figure for figure in figures if figure.verdict == "bad"]
    doubtful = [figure for figure in figures if figure.verdict == "caution"]
    measured = [figure for figure in figures if figure.verdict != "unknown"]
    good = len(measured) - len(bad) - len(doubtful)
    count = f"{good} of {len(measured)} figures are good, {len(bad)} bad"
    verdict: Verdict
    if len(bad) > 1 or any(figure.name in ("copies", "spread") for figure in bad):
        verdict, first = "bad", f"Do not use the new rows of class {label} as they are: {count}."
    elif 2 * len(measured) < len(figures):
        verdict = "unknown"
        first = (
            f"Class {label} has too few rows to judge: {len(measured)} of {len(figures)} figures "
            "could be measured."
        )
    elif bad or len(doubtful) > 2:
        verdict, first = "caution", f"Use the new rows of class {label} with care: {count}."
    elif doubtful:
        verdict, first = "good", f"The new rows of class {label} look usable: {count}."
    else:
        verdict = "good"
        first = f"The new rows of class {label} look usable: all {good} figures are good."
    by_worst = sorted(figures, key=lambda figure: _WORST.index(figure.verdict))
    weakest = by_worst[0] if by_worst and by_worst[0].verdict in ("bad", "caution") else None
    second = f"Weakest point, {weakest.title.lower()}: {weakest.reading}" if weakest else (
        "No weak point was found in fidelity, diversity, separation or privacy."
    )  # fmt: skip
    answer = "mgvae compare answers it" if table else "train one with and one without them"
    third = f"Whether they help a classifier is another question: {answer}."
    return verdict, [first, second, third]
