"""``mgvae grid``: a picture of translations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mgvae.cli._options import Debug, Force, Quiet, Seed
from mgvae.errors import DataError, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mgvae.codec.images import ImageCodec

__all__ = ["EXAMPLES", "grid"]

EXAMPLES = """\b
Examples:
  mgvae grid photos/ -o grid.png --size 64
  mgvae grid photos/ faces.safetensors -o grid.png --rows 6 --columns 10
  mgvae grid photos/ mgvae.safetensors cvae.safetensors --label cat -o grid.png
"""


def grid(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Folder of images with one folder per class.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Picture to write, .png.")
    ],
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL]...",
            help="Files that samplers' save methods wrote, shown under each other. Without, a "
            "model is trained on FOLDER.",
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="CLASS", help="Class to show; all unless given. Repeatable."),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, metavar="N", help="Majority images shown.")] = 8,
    columns: Annotated[
        int, typer.Option(min=1, metavar="N", help="Translations of each, by class.")
    ] = 8,
    no_reference: Annotated[
        bool, typer.Option("--no-reference", help="Leave the majority images themselves out.")
    ] = False,
    size: Annotated[
        int | None,
        typer.Option(metavar="PIXELS", help="Side of the images to train on; 64 unless given."),
    ] = None,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,  # noqa: ARG001 (looked for where errors are caught)
) -> None:
    """Draw majority images in the first column and their translations to the right.

    Classes stand side by side, models under each other.
    """
    from mgvae import images
    from mgvae.cli._checks import check_output
    from mgvae.cli._model import open_model
    from mgvae.common.atomic import atomic_write

    if not output.lower().endswith(".png"):
        raise ParameterError(f"--output: the picture is a .png file; got {output}.")
    if models and size is not None:
        raise ParameterError("--size is for training; a model knows the size of its images.")
    check_output(output, force=force)
    if models:
        samplers = {Path(model).stem: open_model(model).sampler for model in models}
    else:
        samplers = {"": _fit(folder, 64 if size is None else size, seed, verbose=not quiet)}
    for name, sampler in samplers.items():
        if not hasattr(sampler.codec_, "shape"):
            raise ParameterError(f"MODEL: {name} is for tables, not for images.")
    first = next(iter(samplers.values()))
    chosen = _majority_images(folder, str(first.majority_), first.codec_, rows, seed)
    picture = images.grid(
        samplers,
        chosen,
        labels=_find_labels(first, label),
        columns=columns,
        reference=not no_reference,
        random_state=seed,
    )
    with atomic_write(output) as file:
        picture.save(file, format="PNG")
    if not quiet:
        typer.echo(f"Wrote {output}, {picture.width} × {picture.height} pixels.")


def _fit(folder: str, size: int, seed: int | None, *, verbose: bool) -> Any:
    from mgvae import MGVAE
    from mgvae.images import read_folder

    found = read_folder(folder, size)
    return MGVAE(random_state=seed, verbose=verbose).fit(found.images, found.labels)


def _find_labels(sampler: Any, wanted: list[str] | None) -> list[Any] | None:
    if not wanted:
        return None
    known = {str(label): label for label, n in sampler.sampling_strategy_.items() if n > 0}
    for label in wanted:
        if label not in known:
            raise ParameterError(
                f"--label: there is no class {label!r}. The classes are: {', '.join(known)}."
            )
    return [known[label] for label in wanted]


def _majority_images(
    folder: str, majority: str, codec: "ImageCodec", rows: int, seed: int | None
) -> "NDArray[np.generic]":
    """Return some images of the majority's folder, as the model knows them."""
    import numpy as np

    from mgvae.images import read_folder

    if not Path(folder, majority).is_dir():
        raise DataError(f"{folder} has no folder {majority!r}, the model's majority class.")
    channels, height, width = codec.shape
    found = read_folder(folder, (height, width), only=majority, grey=channels == 1)
    rng = np.random.default_rng(seed)
    order = np.sort(rng.permutation(len(found.files))[:rows])
    pixels = found.images[order]
    pixels = pixels[:, None] if channels == 1 else np.moveaxis(pixels, -1, 1)
    encoded = pixels.reshape(len(pixels), -1)
    return codec.decode(encoded if codec.dtype == np.uint8 else encoded.astype(np.float32) / 255)
