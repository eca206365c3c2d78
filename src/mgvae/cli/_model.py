"""Model files that a command is given."""

from typing import TYPE_CHECKING, Annotated

import typer

from mgvae.errors import ParameterError

if TYPE_CHECKING:
    from mgvae.storage import Revived

__all__ = ["Model", "open_model"]

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="File that a sampler's save method wrote.")
]


def open_model(path: str) -> "Revived":
    """Read a model file with any sampler in it."""
    from mgvae.samplers import CGAN, CVAE, MGVAE
    from mgvae.storage import read_model

    try:
        return read_model(path, {kind.__name__: kind for kind in (MGVAE, CVAE, CGAN)})
    except OSError as error:
        raise ParameterError(f"MODEL: {path} cannot be read: {error.strerror}.") from None
