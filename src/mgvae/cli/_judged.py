"""What the quality report says on the command line: its page, and its words in options."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mgvae.cli._output import say
from mgvae.cli._words import spell
from mgvae.common.atomic import atomic_write, write_stdout
from mgvae.errors import Setting

if TYPE_CHECKING:
    from rich.console import Console

    from mgvae.report import Advice, QualityReport

__all__ = ["tell", "with_options", "write_page"]

_OTHERWISE = {  # advice on parameters whose options have other words
    "held_out": "--held-out FILE",
    "constraints": "leave out --no-relations",
}


def tell(
    reports: "Sequence[QualityReport]", page: str | None, console: "Console"
) -> "list[QualityReport]":
    """Write the page, if one is asked for, and print the summaries; return what was told."""
    from mgvae.report import side_by_side

    told = [with_options(report) for report in reports]
    if page is not None:
        write_page(side_by_side(told), page)
    for report in told:
        if len(told) > 1:
            console.print(report.name, style="bold")
        _show(report, console)
    return told


def with_options(found: "QualityReport") -> "QualityReport":
    """Return a report whose advice names options in the place of parameters."""
    classes = [
        replace(
            one,
            answers=[
                replace(answer, advice=[_as_option(advice) for advice in answer.advice])
                for answer in one.answers
            ],
        )
        for one in found.classes
    ]
    return replace(found, classes=classes)


def write_page(page: str, path: str) -> None:
    """Write a page, whole or not at all."""
    if path == "-":
        write_stdout(page.encode())
        return
    with atomic_write(path) as file:
        file.write(page.encode())


def _as_option(advice: "Advice") -> "Advice":
    if advice.setting is None:
        return advice
    if advice.setting in _OTHERWISE:
        return replace(advice, change=_OTHERWISE[advice.setting])
    name = {"sampling_strategy": "share"}.get(advice.setting, advice.setting)
    return replace(advice, change=spell(Setting(name, advice.value)))


def _show(found: "QualityReport", console: "Console") -> None:
    for one in found.classes:
        for line in one.summary:
            say(console, line)
        advice = {a.change: a for answer in one.answers for a in answer.advice}
        for change, given in advice.items():
            say(console, f"  {change}: {given.gain}. Cost: {given.cost}.")
