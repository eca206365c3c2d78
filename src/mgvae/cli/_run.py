"""One command of ``mgvae``."""

from collections.abc import Sequence

from mgvae.cli._app import app
from mgvae.cli.program import run_app

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Run one command of ``mgvae``; see :func:`mgvae.cli.program.run_app`.

    Examples
    --------
    >>> run(["--version"])
    mgvae ...
    0
    """
    return run_app(app, "mgvae", arguments)
