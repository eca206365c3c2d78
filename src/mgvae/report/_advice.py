"""What can be done about a verdict: only what can be followed where the rows were made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mgvae.errors import Setting
from mgvae.report._figures import Figure, Question, Verdict
from mgvae.report._words import Things, in_words_of

__all__ = ["Advice", "Made", "advise"]

_HALF = 0.5  # of the class is held out, and of the new rows is left away


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
        Its new value. For ``sampling_strategy`` it is the size of the class as a part of the
        largest class, which imbalanced-learn takes where there are two classes.

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
class Made:
    """How the new rows of a class were made, which decides what can be changed.

    Parameters
    ----------
    settings : mapping
        Those of the sampler, with every ``"auto"`` replaced; empty if it is not known.
    constraints : "auto", list or None
        What the sampler was told about relations between columns.
    n_real, n_new, n_majority : int
        Real and new rows of the class, and rows of the largest one.
    n_classes : int
        Classes of the real rows.
    held_out : bool
        Whether there were real rows that the sampler never saw.
    may_hold_out : bool
        Whether a part of the class can be held out from a copy of the sampler.
    things : {"rows", "images"}
        What the samples are.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    constraints: Any = "auto"
    n_real: int = 0
    n_new: int = 0
    n_majority: int = 0
    n_classes: int = 2
    held_out: bool = True
    may_hold_out: bool = False
    things: Things = "rows"


def advise(
    question: Question, verdict: Verdict, figures: Sequence[Figure], made: Made
) -> list[Advice]:
    """Return what can be done about a verdict that is not good.

    Parameters
    ----------
    question : {"faithful", "diverse", "private"}
        What was asked.
    verdict : {"caution", "bad", "unknown"}
        The answer.
    figures : sequence of Figure
        Those that help to answer the question.
    made : Made
        How the rows were made.

    Examples
    --------
    >>> made = Made({"generation": "bridge", "temperature": 1.0})
    >>> [advice.change for advice in advise("diverse", "bad", [], made)]
    ['temperature=1.5', 'collect more real rows of the class']
    """
    if verdict == "unknown":
        found = [] if made.held_out else [_held_out(made)]
        found.append(_more_rows("with more of them the figures become sure"))
    else:
        found = _BY_QUESTION[question](figures, made)
        if _is_off(figures, "copies"):
            found.append(Advice(
                "leave out new rows that equal a real one", "no real row is handed out",
                "there are fewer new rows",
            ))  # fmt: skip
    return [
        replace(
            one,
            change=in_words_of(made.things, one.change),
            gain=in_words_of(made.things, one.gain),
            cost=in_words_of(made.things, one.cost),
        )
        for one in found
    ]


def _private(_: Sequence[Figure], made: Made) -> list[Advice]:
    found = [
        Advice(
            "keep the new rows where the real ones may be seen",
            "you can train with them, and nobody sees what they may not",
            "they cannot be handed out",
        )
    ]
    if made.settings.get("generation") == "bridge":
        found.append(_translate(made))
    elif "generation" in made.settings:
        found.append(_more_rows("a model of more rows holds less of each; it may not suffice"))
    else:
        found.append(Advice(
            "take a sampler that does not start from single rows",
            "what is made from no single row cannot give one away",
            "the new rows look less like real ones",
        ))  # fmt: skip
    return found


def _faithful(figures: Sequence[Figure], made: Made) -> list[Advice]:
    settings, found = made.settings, []
    ours = "generation" in settings
    if ours and settings["generation"] != "bridge":
        found.append(_set(
            "generation", "bridge", "new rows start from real minority rows",
            "they lie closer to these: less private",
        ))  # fmt: skip
    if ours and settings.get("rejection", 0.0) == 0:
        found.append(_set(
            "rejection", 0.2, "the fifth of the new rows that the model finds least plausible is "
            "thrown away", "a quarter more rows have to be made, and they vary less",
        ))  # fmt: skip
    if ours and _temperature(settings) > 1:
        found.append(_set(
            "temperature", 1.0, "less noise in the new rows", "they vary less",
        ))  # fmt: skip
    asked = made.constraints
    if (asked is None or "only" in asked) and _is_off(figures, "relations"):
        asked = [one for one in asked or () if one != "only"]
        found.append(_set(
            "constraints", asked or "auto", "new rows keep what every real row keeps",
            "some cells are changed after they were made",
        ))  # fmt: skip
    return [*found, *_fewer(made), _more_rows("the sampler has more to learn from")]


def _diverse(_: Sequence[Figure], made: Made) -> list[Advice]:
    settings, found = made.settings, []
    if settings.get("rejection", 0.0) > 0 and "generation" in settings:
        found.append(_set(
            "rejection", 0.0, "unusual rows are kept", "some of them are implausible",
        ))  # fmt: skip
    if "generation" in settings and _temperature(settings) < 1.5:
        found.append(_set(
            "temperature", 1.5, "more noise, more variety", "new rows look less like real ones",
        ))  # fmt: skip
    return [*found, _more_rows("the sampler sees more of the class")]


_BY_QUESTION: dict[Question, Callable[[Sequence[Figure], Made], list[Advice]]] = {
    "faithful": _faithful,
    "diverse": _diverse,
    "private": _private,
}


def _temperature(settings: Mapping[str, Any]) -> float:
    value = settings.get("temperature", 1.0)
    return float(value) if isinstance(value, int | float) else 1.0


def _is_off(figures: Sequence[Figure], name: str) -> bool:
    return any(f.name == name and f.verdict in ("caution", "bad") for f in figures)


def _set(name: str, value: Any, gain: str, cost: str) -> Advice:
    return Advice(str(Setting(name, value)), gain, cost, name, value)


def _translate(made: Made) -> Advice:
    gain, cost = "new rows then start from no single minority row", "they look less like real ones"
    if made.things == "rows":
        gain += ", which made them private on each of the six tables that were tried"
        cost += (
            ". On three of the six tables (wine_quality, yeast1, pima) the loss was small; on the "
            "others (adult, bank-full, page-blocks0) the new rows could then be told from real ones"
        )
    return _set("generation", "translate", gain, cost)


def _fewer(made: Made) -> list[Advice]:
    """Advise half as many rows, if there is something between none and all."""
    if made.n_new < 2:
        return []
    gain = "fewer rows are made, so a classifier learns less from synthetic rows"
    cost = "the classes stay uneven, so decide at another threshold"
    share = _between(made.n_real, made.n_real + made.n_new, made.n_majority)
    if share is None or "sampling_strategy" not in made.settings:
        return [Advice("make fewer new rows", gain, cost)]
    if made.n_classes == 2:
        return [_set("sampling_strategy", share, gain, cost)]
    change = "change sampling_strategy so that fewer new rows are made"
    return [Advice(change, gain, cost, "sampling_strategy", share)]


def _between(n: int, most: int, majority: int) -> float | None:
    """Return the roundest part of the majority about half way between two numbers of rows.

    Examples
    --------
    >>> _between(40, 200, 200), _between(190, 200, 200), _between(10, 12, 100_000)
    (0.6, 0.97, 0.00011)
    """
    for digits in range(1, 7):
        share = round((n + _HALF * (most - n)) / majority, digits)
        if share <= 1 and n < round(share * majority) < most:
            return share
    return None


def _more_rows(gain: str) -> Advice:
    return Advice("collect more real rows of the class", gain, "time")


def _held_out(made: Made) -> Advice:
    gain = "new rows are compared with real rows that the sampler never saw"
    if made.may_hold_out:
        return _set("held_out", _HALF, gain, "a second sampler is fitted")
    return Advice(
        "held_out=rows that the sampler never saw",
        gain,
        "the sampler has fewer rows to learn from",
        "held_out",
    )
