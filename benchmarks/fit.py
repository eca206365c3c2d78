"""Processor time of the default fit, against the bare matrix products that it cannot do without.

Run: ``MGVAE_DATA=... python benchmarks/fit.py [table ...]``. One thread, one process.

For each table: the processor's seconds of ``MGVAE().fit``, those of the matrix products of the same
training steps alone (forward and backward, nothing else), their ratio, and where the time goes.
Both are taken in turns, and the fastest of each counts: other load on the machine can only slow a
turn down. Aims: a ratio of at most 2.0 for tables and 1.3 for images; 1.5 s for 10,000 × 20.

Images take a tenth of their default steps, since all their steps take minutes: what does not grow
with the steps weighs ten times as much as it does for a user.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from mgvae import MGVAE
from mgvae.codec import TableCodec
from mgvae.codec.images import ImageCodec
from mgvae.methods.mgvae import classes, learning, method
from mgvae.methods.mgvae.method import MajorityGuided
from mgvae.networks import Dense
from mgvae_paper.real_tables import read_labelled_table

IMAGE_STEPS = {"pretrain_steps": 800, "finetune_steps": 60}


def numbers(n: int, width: int) -> tuple[Any, Any, dict[str, Any]]:
    """Make a table of numbers, a twentieth of it the minority."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.05).astype(int)
    X = rng.normal(size=(n, width)) + 0.7 * y[:, None]
    return X, y, {}


def adult() -> tuple[Any, Any, dict[str, Any]]:
    """Read the adult table."""
    rows = read_labelled_table("adult")
    return rows.X, rows.y, {}


def images() -> tuple[Any, Any, dict[str, Any]]:
    """Make grey images, a twentieth of them the minority: soft spots at places of their own."""
    rng = np.random.default_rng(0)
    y = (rng.random(5_000) < 0.05).astype(int)
    rows, columns = np.mgrid[:28, :28]
    centre = rng.normal(14 + 3 * y[:, None], 3, size=(len(y), 2))
    distance = np.hypot(rows - centre[:, :1, None], columns - centre[:, 1:, None])
    return (255 * np.exp(-((distance / 4) ** 2))).astype(np.uint8), y, IMAGE_STEPS


DATA: dict[str, Callable[[], tuple[Any, Any, dict[str, Any]]]] = {
    **{
        f"{n} x {width}": partial(numbers, n, width)
        for width in (20, 200)
        for n in (1_000, 10_000, 100_000)
    },
    "adult": adult,
    "images": images,
}


class Shape(NamedTuple):
    """The matrix products of one training step."""

    encoder: tuple[int, ...]
    heads: int
    latent: int
    decoder: tuple[int, ...]
    batch: int
    exemplars: int
    components: int

    def products(self) -> Iterator[tuple[int, int, int, bool]]:
        """Iterate over rows, inputs and outputs, and whether a gradient flows on to the inputs."""
        both = self.batch + self.exemplars
        for i, (inputs, outputs) in enumerate(zip(self.encoder, self.encoder[1:], strict=False)):
            yield both, inputs, outputs, i > 0
        yield both, self.encoder[-1], self.latent, True
        if self.heads == 2:
            yield self.batch, self.encoder[-1], self.latent, True
        yield self.batch, self.latent, self.components, True
        for inputs, outputs in zip(self.decoder, self.decoder[1:], strict=False):
            yield self.batch, inputs, outputs, True


class Watch:
    """The processor's seconds by stage, and the steps taken by shape."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.steps: Counter[Shape] = Counter()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that notes the time of its calls under a name."""

        def call(*arguments: Any, **options: Any) -> Any:
            begin = time.process_time()
            found = function(*arguments, **options)
            self.seconds[name] += time.process_time() - begin
            return found

        return call

    def counted(self, learn: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that notes the steps of a training and their shape."""

        def call(
            vae: Any, rows: Any, learned: Any, majority: Any, stage: Any, *more: Any, **o: Any
        ):
            history = learn(vae, rows, learned, majority, stage, *more, **o)
            self.steps[shape_of(vae, stage, len(learned))] += history.steps
            return history

        return call

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Put the watch at the doors of all stages."""
        doors = [
            (TableCodec, "fit", "codec"),
            (TableCodec, "encode", "codec"),
            (ImageCodec, "encode", "codec"),
            (method, "pretrain", "pre-training"),
            (method, "fisher_of_generated", "Fisher"),
            (classes, "choose_ewc_weight", "weight"),
            (classes, "finetune", "fine-tuning"),
            (MajorityGuided, "generator", "bridge"),
        ]
        patches = [
            mock.patch.object(place, name, self.timed(stage, getattr(place, name)))
            for place, name, stage in doors
        ]
        patches.append(mock.patch.object(learning, "_learn", self.counted(learning._learn)))
        for patch in patches:
            patch.start()
        yield
        for patch in patches:
            patch.stop()


def shape_of(vae: Any, stage: Any, n_rows: int) -> Shape:
    """Return the shape of a training step."""
    if not (isinstance(vae.encoder, Dense) and isinstance(vae.decoder, Dense)):
        raise TypeError("the products of dense networks only are known")
    encoder, decoder = (
        (layers.linear[0].in_features, *(layer.out_features for layer in layers.linear))
        for layers in (vae.encoder, vae.decoder)
    )
    heads = 1 + (vae.log_variance_head is not None)
    n, s = min(stage.batch_size, n_rows), stage.n_exemplars
    return Shape(encoder, heads, vae.latent_size, decoder, n, s, s + stage.n_remembered)


def products(shape: Shape, steps: int) -> float:
    """Return the processor's seconds of the bare products of some steps."""
    generator = torch.Generator().manual_seed(0)
    made = [
        (
            torch.randn(n, i, generator=generator),
            torch.randn(o, i, generator=generator),
            torch.randn(n, o, generator=generator),
            flows,
        )
        for n, i, o, flows in shape.products()
    ]
    begin = time.process_time()
    for _ in range(steps):
        for inputs, weights, gradients, flows in made:
            torch.mm(inputs, weights.T)
            torch.mm(gradients.T, inputs)
            if flows:
                torch.mm(gradients, weights)
    return time.process_time() - begin


def measure(name: str, turns: int) -> str:
    """Measure one table; return a row of the table of results."""
    X, y, options = DATA[name]()
    fits, bare = [], []
    for _ in range(turns):
        watch = Watch()
        sampler = MGVAE(random_state=0, **options)
        with watch.watching():
            begin = time.process_time()
            sampler.fit(X, y)
            seconds = time.process_time() - begin
        begin = time.process_time()
        sampler.generate(len(y), sampler.classes_[-1], random_state=0)
        drawing = time.process_time() - begin
        fits.append((seconds, watch.seconds, drawing))
        bare.append(sum(products(shape, steps) for shape, steps in watch.steps.items()))
    seconds, stages, drawing = min(fits, key=lambda found: found[0])
    parts = [
        stages[s] for s in ("codec", "pre-training", "Fisher", "weight", "fine-tuning", "bridge")
    ]
    cells = [name, f"{seconds:.2f}", f"{min(bare):.2f}", f"**{seconds / min(bare):.2f}**"]
    cells += [f"{part:.2f}" for part in (*parts, drawing)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a table of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="table", help=f"of: {', '.join(DATA)}")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):  # else a second thread of numpy's waits, which counts as work
        X, y, _ = numbers(500, 5)
        MGVAE(pretrain_steps=5, finetune_steps=5, random_state=0).fit(X, y)  # what is done once
        titles = ["table", "fit, s", "products, s", "ratio", "codec", "pre-training", "Fisher"]
        titles += ["weight", "fine-tuning", "bridge", "drawing as many rows"]
        print(f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", sep="\n")
        for name in options.tables or DATA:
            print(measure(name, options.turns), flush=True)


if __name__ == "__main__":
    main()
