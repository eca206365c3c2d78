"""Figures with a verdict: what was measured, how sure it is, and where the limits are."""

from dataclasses import dataclass, replace
from typing import Literal

from mgvae.report._intervals import Interval
from mgvae.report._words import Things, in_words_of

__all__ = [
    "Figure",
    "Question",
    "Verdict",
    "judge",
    "judge_between",
    "plain_number",
    "unknown",
    "worst",
]

Verdict = Literal["good", "caution", "bad", "unknown"]
Question = Literal["faithful", "diverse", "private"]

_WORST: tuple[Verdict, ...] = ("bad", "caution", "unknown", "good")


@dataclass(frozen=True)
class Figure:
    """One figure.

    .. versionadded:: 0.1

    Parameters
    ----------
    name : str
        Its key for programs.
    group : {"faithful", "diverse", "private"}
        The question that it helps to answer.
    title : str
        Its name for people.
    value : float or None
        What was measured; None where it could not be.
    reference : float or None
        What real rows give, or chance; None where nothing is compared with.
    verdict : {"good", "caution", "bad", "unknown"}
        The traffic light; unknown also where the interval reaches from good to bad.
    threshold : str
        Where its limits are.
    reading : str
        What it means, in a sentence.
    interval : (float, float) or None
        The ends of its 95% interval.
    reference_name : str
        What ``reference`` is the figure of.
    as_share : bool
        Whether it is a share, which people read in per cent.

    See Also
    --------
    mgvae.report.ClassQuality : What holds the figures.
    """

    name: str
    group: Question
    title: str
    value: float | None
    reference: float | None
    verdict: Verdict
    threshold: str
    reading: str
    interval: Interval | None = None
    reference_name: str = "real rows"
    as_share: bool = False

    def in_words_of(self, things: Things) -> "Figure":
        """Return the figure with sentences that speak of rows or of images."""
        return replace(
            self,
            title=in_words_of(things, self.title),
            threshold=in_words_of(things, self.threshold),
            reading=in_words_of(things, self.reading),
            reference_name=in_words_of(things, self.reference_name),
        )

    def spell(self, value: float | None) -> str:
        """Return a value of this figure, such as its own or its reference, as people read it."""
        if value is None:
            return "–"
        if self.as_share:
            return f"{value:.1%}" if 0 < value < 0.1 else f"{value:.0%}"
        return f"{value:.3g}" if abs(value) >= 10 else f"{value:.2f}"


def plain_number(value: float) -> str:
    """Return a number of the table as people read it: four digits, and a power of ten if it must.

    Examples
    --------
    >>> [plain_number(x) for x in (684013.0, 73.012, 0.00025, 3.2e9, 2e-7, 0.0)]
    ['684,013', '73.01', '0.00025', '3.2e+09', '2e-07', '0']
    """
    if 1000 <= abs(value) < 1e8:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def judge(value: float, good: float, caution: float, interval: Interval | None = None) -> Verdict:
    """Return the verdict for two limits; the better side is that of ``good``.

    An interval that reaches from the good side to the bad one decides nothing.

    Examples
    --------
    >>> judge(0.2, 0.1, 0.3), judge(0.2, 0.9, 0.5), judge(0.9, 0.9, 0.5)
    ('caution', 'bad', 'good')
    >>> judge(0.2, 0.1, 0.3, (0.05, 0.4))
    'unknown'
    """
    sign = 1.0 if good <= caution else -1.0
    if interval is not None:
        ends = {judge(end, good, caution) for end in interval}
        if ends == {"good", "bad"}:
            return "unknown"
    if sign * value <= sign * good:
        return "good"
    return "caution" if sign * value <= sign * caution else "bad"


def judge_between(
    value: float, good: Interval, caution: Interval, interval: Interval | None = None
) -> Verdict:
    """Return the verdict for a figure that may be neither too low nor too high.

    Examples
    --------
    >>> [judge_between(v, (0.4, 0.65), (0.3, 0.8)) for v in (0.2, 0.35, 0.5, 0.7, 0.9)]
    ['bad', 'caution', 'good', 'caution', 'bad']
    """
    sides = [judge(value, g, c, interval) for g, c in zip(good, caution, strict=True)]
    return worst(sides)


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the worst of some verdicts; what is not known is worse than good.

    Examples
    --------
    >>> worst(["good", "unknown", "caution"])
    'caution'
    """
    return min(verdicts, key=_WORST.index)


def unknown(name: str, group: Question, title: str, why: str) -> Figure:
    """Return a figure that could not be measured, and why."""
    return Figure(name, group, title, None, None, "unknown", "none", why)
