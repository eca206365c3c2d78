"""Options that several commands share.

None stands for "as the library does": the defaults live there and nowhere else.
"""

from typing import Annotated, Literal

import typer

__all__ = [
    "Debug",
    "Delimiter",
    "Drop",
    "DropMissingTarget",
    "Encoding",
    "Force",
    "Formulas",
    "Input",
    "InputFormat",
    "Json",
    "Missing",
    "NoHeader",
    "OutputFormat",
    "Quiet",
    "Seed",
    "Target",
    "Types",
    "or_stdout",
]


def or_stdout(path: str | None) -> str | None:
    """Return ``-`` for the names that a system has for standard output, and others as they are.

    Examples
    --------
    >>> or_stdout("/dev/stdout"), or_stdout("a.csv")
    ('-', 'a.csv')
    """
    return "-" if path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1") else path


def _formats() -> list[str]:
    from mgvae.files import EXTENSIONS

    return sorted(set(EXTENSIONS.values()))


Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="Table to read: .csv .tsv .txt .data .jsonl .ndjson (also with .gz), .parquet, "
        ".feather or .arrow; - reads standard input.",
    ),
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="Column that holds the class.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave a column out, of the output too. Repeatable."),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COLUMN=KIND",
        help="Say what a column is, for example zip=categorical; continuous, integer, "
        "categorical, ordinal, boolean, datetime, identifier, ... Repeatable.",
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help='Text that stands for a missing cell, for example "?". In text files an empty cell, '
        "NA, N/A, NaN and null always do. Repeatable.",
    ),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option(
        "--drop-missing-target",
        help="Leave out rows whose class is missing; rows are counted without them.",
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option("--no-header", help="The first line is a row; the columns are c0, c1, ..."),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What stands between the cells of a text file; found out unless given.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoding of a text file, if not UTF-8: latin-1, cp1252 ..."),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        autocompletion=_formats,
        help="Format of INPUT if its name does not say: csv, tsv, parquet, feather, arrow, jsonl.",
    ),
]
OutputFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", autocompletion=_formats, help="Likewise for the output."),
]
Formulas = Annotated[
    Literal["keep", "escape"],
    typer.Option(
        "--csv-formulas",
        help="Text cells that a spreadsheet would run (they begin with = + - or @): write them "
        "as they are, or with a ' in front.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="SEED",
        min=0,
        max=2**32 - 1,
        help="The same seed gives the same rows. One is drawn, and shown, unless given.",
    ),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace an output that exists.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object for programs on standard output.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless it fails.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
