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


def tell(
    reports: "Sequence[QualityReport]",
    page: str | None,
    console: "Console",
    *,
    strategy: str | None = None,
) -> "list[QualityReport]":
    """Write the page, if one is asked for, and print the summaries; return what was told.

    Parameters
    ----------
    reports : sequence of QualityReport
        What to tell, in the words of the library.
    page : str or None
        Where to write the page.
    console : rich.console.Console
        Where to tell people.
    strategy : str or None
        What --strategy says, if the rows were made just now.
    """
    from mgvae.report import side_by_side

    told = [with_options(report, strategy) for report in reports]
    if page is not None:
        write_page(side_by_side(told), page)
    for report in told:
        if len(told) > 1:
            console.print(report.name, style="bold")
        _show(report, console)
    return told


def with_options(found: "QualityReport", strategy: str | None = None) -> "QualityReport":
    """Return a report whose advice names options, and only those that the command takes."""
    images = found.things == "images"
    classes = [
        replace(
            one,
            answers=[
                replace(
                    answer,
                    advice=[
                        replace(advice, change=change)
                        for advice in answer.advice
                        if (change := _as_options(advice, strategy, images)) is not None
                    ],
                )
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


def _as_options(advice: "Advice", strategy: str | None, images: bool) -> str | None:
    """Return what to change in the words of the command line; None if it cannot be."""
    name, value = advice.setting, advice.value
    if name is None:
        return advice.change
    if name == "constraints":
        return "leave out --no-relations"
    if name == "held_out" and value is None:
        return None if images else "--held-out FILE"
    if name == "sampling_strategy":
        return spell(Setting("share", value)) + (" in the place of --strategy" if strategy else "")
    return spell(Setting(name, value))


def _show(found: "QualityReport", console: "Console") -> None:
    for one in found.classes:
        for line in one.summary:
            say(console, line)
        advice = {a.change: a for answer in one.answers for a in answer.advice}
        for change, given in advice.items():
            say(console, f"  {change}: {given.gain}. Cost: {given.cost}.")
