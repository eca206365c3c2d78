"""The commands."""

from typing import Annotated

import typer

from mgvae.cli import balance, compare, grid, info, report, sample
from mgvae.common.version import __version__

__all__ = ["app"]

app = typer.Typer(
    name="mgvae",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mgvae {__version__}")
        raise typer.Exit


@app.callback()
def mgvae(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Balance imbalanced data with rows made by a majority-guided VAE.

    `mgvae COMMAND --help` explains a command and gives examples.
    """


app.command(epilog=balance.EXAMPLES)(balance.balance)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=info.EXAMPLES)(info.info)
app.command(epilog=sample.EXAMPLES)(sample.sample)
app.command(epilog=grid.EXAMPLES)(grid.grid)
app.command(epilog=compare.EXAMPLES)(compare.compare)
