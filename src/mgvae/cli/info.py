"""``mgvae info``: what is in a model file."""

from typing import TYPE_CHECKING

from mgvae.cli._model import Model, open_model
from mgvae.cli._options import Debug, Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mgvae.codec import ColumnSummary
    from mgvae.samplers import GenerativeSampler

__all__ = ["EXAMPLES", "info"]

EXAMPLES = """\b
Examples:
  mgvae info model.safetensors
  mgvae info model.safetensors --json
"""


def info(
    model: Model,
    json: Json = False,
    debug: Debug = False,  # noqa: ARG001 (looked for where errors are caught)
) -> None:
    """Say what a model was trained on: columns, classes, settings, version and date."""
    from rich.console import Console

    from mgvae.cli._output import print_json
    from mgvae.cli._summary import Summary, printable
    from mgvae.samplers import resolved_settings
    from mgvae.storage import revealed, store_settings

    found = open_model(model)
    sampler = found.sampler
    classes = dict(zip(sampler.classes_.tolist(), sampler.state_.counts, strict=True))
    summary = Summary(
        model,
        sum(sampler.state_.counts),
        _columns(sampler),
        "y",
        dict(sorted(classes.items(), key=lambda pair: -pair[1])),
        sampler.sampling_strategy_,
        (),
        getattr(sampler.codec_, "relations", ()),
    )
    holds = revealed(sampler.state_)
    generates = [str(sampler.classes_[code]) for code in sampler.state_.generators]
    if json:
        report = summary.as_dict()
        del report["dropped"], report["target"]
        report |= {"generates": generates, "settings": store_settings(sampler.get_params())}
        report |= {"resolved_settings": resolved_settings(sampler)}
        report |= {"rows_that_can_be_worked_out": holds}
        report |= {"created": found.created, "versions": dict(found.versions)}
        print_json({"model": type(sampler).__name__} | report)
        return
    console = Console(highlight=False, markup=False)
    summary.show(console)
    console.print()
    for name, text in (
        ("Made by", " ".join(repr(sampler).split())),
        ("Settings", ", ".join(f"{k}={v}" for k, v in resolved_settings(sampler).items())),
        ("Generates", ", ".join(generates)),
        ("Can rows be recovered", _recovery(holds)),
        ("Saved", f"{found.created} by mgvae {found.versions.get('mgvae', '')}"),
    ):
        console.print(printable(f"{name}: {text}"), soft_wrap=True)


def _recovery(holds: "Sequence[str]") -> str:
    """Say whether rows can be recovered from the file."""
    if not holds:
        return "no way is known to work out a row of the table from this file."
    classes = f"class {holds[0]}" if len(holds) == 1 else f"classes {', '.join(holds)}"
    return (
        f"yes. The real rows of {classes} can be worked out from this file: whoever has it has "
        "them. To share a model, save it with --model-without-rows."
    )


def _columns(sampler: "GenerativeSampler") -> "list[ColumnSummary]":
    from mgvae.codec import ColumnSummary, TableCodec

    codec = sampler.codec_
    if isinstance(codec, TableCodec):
        return codec.describe()
    channels, height, width = codec.shape
    note = f"{height} × {width} pixels, {channels} channels"
    return [ColumnSummary("image", "image", str(codec.dtype), 0, note)]
