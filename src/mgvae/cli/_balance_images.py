"""``mgvae balance`` for a folder of images."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from mgvae.errors import DataError, ParameterError

if TYPE_CHECKING:
    from mgvae import MGVAE
    from mgvae.images import FolderImages
    from mgvae.methods.mgvae.duration import TrainingPlan

__all__ = ["balance_folder", "refuse_table_options"]

_LISTED = 20  # skipped files shown to people; --json has all


def refuse_table_options(given: Mapping[str, object]) -> None:
    """Raise if an option that only tables have was given for a folder of images."""
    for name, value in given.items():
        if value:
            raise ParameterError(f"{name} is for tables, but INPUT is a folder of images.")


def balance_folder(
    source: str,
    output: str | None,
    *,
    make_sampler: Any,
    strategy: str | None,
    size: int | None,
    minutes: float | None,
    originals: Literal["copy", "link", "leave"],
    dry_run: bool,
    console: Console,
    seed: int,
    page: str | None,
    model: str | None,
    without_rows: bool,
    force: bool,
    command: str,
    share: float | None = None,
    held_out: float = 0.5,
) -> dict[str, Any]:
    """Balance a folder that has one folder per class; give what was done for programs.

    Parameters
    ----------
    source, output : str
        The folder, and the one to write.
    make_sampler : callable
        Makes the sampler for a sampling strategy.
    strategy : str or None
        What --strategy says.
    size : int or None
        Side of the images; their own if None, but at most 64.
    minutes : float or None
        The most that training shall take.
    originals : {"copy", "link", "leave"}
        What becomes of the originals.
    dry_run : bool
        Whether to stop after saying what the folder holds.
    console : rich.console.Console
        Where to tell people.
    seed : int
        Of the sampler, for the report.
    page, model : str or None
        Files for the quality report and the trained model.
    without_rows : bool
        Whether no rows shall be worked out from the model's file.
    force : bool
        Whether those two may be replaced.
    command : str
        What repeats this, for the page.
    share : float or None
        What --share says.
    held_out : float
        The part of each class that is held out for the figures of the report.
    """
    import numpy as np

    from mgvae.cli._checks import check_output, check_page
    from mgvae.cli._columns import new_rows, read_share, read_strategy
    from mgvae.cli._summary import printable
    from mgvae.images import check_new_folder, read_folder, write_folder

    started = time.perf_counter()
    if not dry_run:
        if output is None:
            raise ParameterError("--output: say where to write, or add --dry-run.")
        if output == "-":
            raise ParameterError("--output: images are written to a folder, not to - .")
        check_new_folder(output, source)
        if model is not None:
            check_output(model, force=force, option="--save-model", stdout=False)
        if page is not None:
            check_page(page, force=force, option="--report")
    found = read_folder(source, size)
    labels, counts = np.unique(found.labels, return_counts=True)
    classes = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    if len(classes) < 2:
        raise DataError(
            f"{source} has usable images of {len(classes)} class only; there must be at least two "
            f"folders with images. {_skipped_text(found)}"
        )
    sampler: MGVAE = make_sampler(read_share(share, classes) or read_strategy(strategy, classes))
    wanted = new_rows(sampler.sampling_strategy, classes)
    report = _describe(source, found, classes, wanted)
    _show(console, report)
    if any(wanted.values()):
        plan = sampler.plan(found.images, found.labels, minutes=minutes)
        if minutes is not None:
            sampler.set_params(**plan.parameters)
        report |= {"training_seconds": round(plan.seconds, 1), **plan.parameters}
        console.print(_plan_text(plan, bounded=minutes is not None), soft_wrap=True)
    if dry_run:
        return report

    resampled, classes_of = sampler.fit_resample(found.images, found.labels)
    n = len(found.files)
    write_folder(
        str(output),
        source,
        found,
        resampled[n:],
        classes_of[n:].tolist(),
        sampler.source_indices_[n:].tolist(),
        anchors=sampler.anchor_indices_[n:].tolist(),
        originals=originals,
    )
    if model is not None:
        sampler.save(model, without_rows=without_rows or None)
    seconds = time.perf_counter() - started
    made = len(resampled) - n
    kept = 0 if originals == "leave" else n
    console.print(
        f"Wrote {kept + made:,} images ({kept:,} original, {made:,} new) and manifest.csv to "
        f"{printable(output)} in {seconds:.1f} s, seed {seed}.",
        soft_wrap=True,
    )
    if page is not None and made:
        from mgvae.cli._judged import tell
        from mgvae.report import quality

        judged = quality(
            found.images,
            resampled[n:],
            target=(found.labels, classes_of[n:]),
            sources=sampler.source_indices_[n:],
            anchors=sampler.anchor_indices_[n:],
            held_out=held_out,
            sampler=sampler,
            command=command,
        )
        tell([judged], page, console, strategy=strategy)
    elif page is not None:
        console.print("No image was made, so there is no report.")
    return report | {
        "output": output,
        "images_written": kept + made,
        "synthetic_images": made,
        "seed": seed,
        "seconds": round(seconds, 3),
    }


def _describe(
    source: str, found: "FolderImages", classes: Mapping[str, int], wanted: Mapping[str, int]
) -> dict[str, Any]:
    largest_first = sorted(classes.items(), key=lambda item: -item[1])
    return {
        "input": str(Path(source)),
        "images": len(found.files),
        "shape": list(found.images.shape[1:]),
        "native_size": list(found.native),
        "classes": [
            {"label": label, "images": count, "new_images": wanted.get(label, 0)}
            for label, count in largest_first
        ],
        "imbalance_ratio": max(classes.values()) / min(classes.values()),
        "skipped": [{"file": name, "reason": reason} for name, reason in found.skipped],
    }


def _show(console: Console, report: Mapping[str, Any]) -> None:
    from mgvae.cli._summary import printable

    shape = " × ".join(map(str, report["shape"]))
    console.print(f"{printable(report['input'])}: {report['images']:,} images, {shape}")
    native, used = report["native_size"], report["shape"][:2]
    if native != used:
        console.print(
            f"The files have {native[0]} × {native[1]} pixels; new images will have {used[0]} × "
            f"{used[1]}. --size sets another size, up to 128.",
            soft_wrap=True,
        )
    for entry in report["classes"]:
        console.print(
            f"  {printable(entry['label'])}: {entry['images']:,}, new {entry['new_images']:,}"
        )
    console.print(f"Imbalance {report['imbalance_ratio']:.4g} : 1")
    skipped: Sequence[Mapping[str, str]] = report["skipped"]
    if skipped:
        console.print(f"Skipped {len(skipped):,} files:")
        for entry in skipped[:_LISTED]:
            console.print(f"  {printable(entry['file'])}: {printable(entry['reason'])}")
        if len(skipped) > _LISTED:
            console.print(f"  ... and {len(skipped) - _LISTED:,} more")


def _plan_text(plan: "TrainingPlan", *, bounded: bool) -> str:
    minutes, seconds = divmod(round(plan.seconds), 60)
    took = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    steps = f"--pretrain-steps {plan.pretrain_steps} --finetune-steps {plan.finetune_steps}"
    end = f" The same steps give the same images: {steps}." if bounded else ""
    return f"Training will take about {took}; --minutes sets another time.{end}"


def _skipped_text(found: "FolderImages") -> str:
    if not found.skipped:
        return ""
    name, reason = found.skipped[0]
    return f"{len(found.skipped)} files were skipped, such as {name}: {reason}."
