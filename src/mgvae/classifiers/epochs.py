"""The rows a classifier learns from: brought to the device, held out, and balanced every epoch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from torch import Tensor

from mgvae.errors import DataError
from mgvae.methods.mgvae.bridge import MOST_GUIDES, NEIGHBOURS, nearest

__all__ = [
    "TrainingRows",
    "as_samples",
    "as_training_rows",
    "fit_maker",
    "flat_samples",
    "fresh_epochs",
    "split",
    "without_zero_weights",
]

_CHANNELS = (1, 3, 4)  # sizes of a last axis that is taken for the colour channels


@dataclass(frozen=True)
class TrainingRows:
    """Samples of shape (n, *sample_shape), their class codes, and their weights if they differ."""

    X: Tensor
    y: Tensor
    weight: Tensor | None

    def select(self, positions: NDArray[np.intp]) -> "TrainingRows":
        """Return some of the rows."""
        picked = torch.from_numpy(positions).to(self.y.device)
        weight = None if self.weight is None else self.weight.index_select(0, picked)
        return TrainingRows(self.X.index_select(0, picked), self.y.index_select(0, picked), weight)


def split(
    codes: NDArray[np.intp], fraction: float, seeds: np.random.SeedSequence
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Hold out a part of every class: at least one row, but never its last."""
    rng = np.random.default_rng(seeds)
    held = [np.empty(0, dtype=np.intp)]
    for code in range(codes.max() + 1) if fraction > 0 else ():
        members = rng.permutation(np.flatnonzero(codes == code))
        held.append(members[: min(max(1, round(fraction * len(members))), len(members) - 1)])
    mask = np.ones(len(codes), dtype=bool)
    mask[np.concatenate(held)] = False
    return np.flatnonzero(mask), np.flatnonzero(~mask)


def flat_samples(X: Any, sample_shape: Sequence[int] | None) -> tuple[Any, tuple[int, ...] | None]:
    """Return images as rows and the shape of one; pixels of type uint8 become parts of 1."""
    shape = None if sample_shape is None else tuple(int(size) for size in sample_shape)
    if getattr(X, "ndim", 0) > 2:
        X = np.asarray(X)
        shape = X.shape[1:]
        X = X.reshape(len(X), -1)
    if shape is not None and len(shape) > 1 and getattr(X, "dtype", None) == np.uint8:
        X = np.asarray(X) / np.float32(255)
    return X, shape


def without_zero_weights(
    X: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Leave out rows that weigh nothing."""
    present = weight > 0
    if present.all():
        return X, y, weight
    if not present.any():
        raise DataError("sample_weight must be greater than 0 for some row; all weights are zero.")
    return X[present], y[present], weight[present]


def as_training_rows(
    X: NDArray[np.floating],
    codes: NDArray[np.intp],
    weight: NDArray[np.float64],
    sample_shape: tuple[int, ...],
    device: torch.device,
) -> TrainingRows:
    """Bring rows to the device, as the network wants them; the mean weight becomes 1."""
    samples = as_samples(X, sample_shape, device)
    equal = bool((weight == weight[0]).all())
    return TrainingRows(
        samples,
        torch.from_numpy(codes.astype(np.int64)).to(device),
        None if equal else torch.from_numpy(weight / weight.mean()).to(samples),
    )


def as_samples(
    X: NDArray[np.floating], sample_shape: tuple[int, ...], device: torch.device
) -> Tensor:
    """Shape rows as the network wants them: images as (n, channels, height, width)."""
    rows = torch.from_numpy(np.require(X, requirements=["C", "W"]))
    if device.type == "mps":  # which has no float64
        rows = rows.float()
    samples = rows.to(device).reshape(-1, *sample_shape)
    if len(sample_shape) == 2:
        return samples.unsqueeze(1)
    if len(sample_shape) == 3 and sample_shape[2] in _CHANNELS and sample_shape[0] not in _CHANNELS:
        return samples.movedim(-1, 1).contiguous()
    return samples


def fit_maker(
    sampler: Any,
    X: Any,
    codes: NDArray[np.intp],
    encode: Callable[[Any], NDArray[np.floating]],
    for_fit: np.random.SeedSequence,
    for_rows: np.random.SeedSequence,
) -> tuple[Any, Callable[[int, int], NDArray[np.floating]]]:
    """Fit a copy of a sampler, and return it with a function that makes rows for the network.

    Parameters
    ----------
    sampler : GenerativeSampler
        What to fit; one without a ``random_state`` gets one.
    X, codes : object and ndarray of int
        The rows as the sampler takes them, and their classes.
    encode : callable
        From rows as the sampler makes them to flat rows of numbers.
    for_fit, for_rows : numpy.random.SeedSequence
        Decide the fit, and the rows.

    Returns
    -------
    fitted : GenerativeSampler
        The copy.
    make : callable
        ``make(n, code)`` gives ``n`` new rows of a class, flat.
    """
    fitted = clone(sampler)
    if fitted.random_state is None:
        fitted.set_params(random_state=int(for_fit.generate_state(1)[0]))
    fitted.fit(X, codes)

    def make(n: int, code: int) -> NDArray[np.floating]:
        return encode(fitted.generate(n, code, random_state=for_rows.spawn(1)[0]))

    return fitted, make


def fresh_epochs(
    rows: TrainingRows,
    make: Callable[[int, int], NDArray[np.floating]] | None,
    synthetic_share: float,
    sample_shape: tuple[int, ...],
    seeds: np.random.SeedSequence,
    borrowed: float = 0.0,
    share: float = 1.0,
) -> Callable[[], TrainingRows]:
    """Return a function that balances rows anew for every epoch.

    Every class has at least a share of the rows of the largest. Of one that has fewer, a part is
    generated, and the rest are real rows, all of them, each as often as the others as far as the
    number allows. To each of its rows x a part of a difference between two neighbours of the
    largest class may be added, x + b (x_k - x_n), with b between 0 and ``borrowed``.

    Parameters
    ----------
    rows : TrainingRows
        The real rows.
    make : callable or None
        ``make(n, code)`` gives ``n`` new rows of a class, flat; None repeats real rows only.
    synthetic_share : float
        The part of a smaller class that is generated.
    sample_shape : tuple of int
        Shape of a sample as users give it.
    seeds : numpy.random.SeedSequence
        Decides which real rows come once more than others, and the differences.
    borrowed : float
        The largest b.
    share : float
        How large every class becomes at least, as a part of the largest.
    """
    rng = np.random.default_rng(seeds)
    codes = rows.y.cpu().numpy()
    members = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    least = round(share * max(len(own) for own in members))
    made_part = 0.0 if make is None else synthetic_share
    lend = _differences(rows, max(members, key=len), borrowed, rng) if borrowed else None

    def epoch() -> TrainingRows:
        parts: list[TrainingRows] = []
        for code, own in enumerate(members):
            first = len(parts)
            n_real = max(len(own), round((1.0 - made_part) * least))
            repeated = np.resize(rng.permutation(own), n_real)
            real = rows.select(repeated)
            parts.append(real)
            if make is not None and n_real < least:
                made = make(least - n_real, code)
                X = as_samples(made, sample_shape, rows.X.device).to(rows.X)
                y = rows.y.new_full((len(X),), code)
                weight = None if real.weight is None else real.weight.mean().expand(len(X))
                parts.append(TrainingRows(X, y, weight))
            if lend is not None and len(own) < least:
                parts[first:] = [
                    replace(part, X=part.X + lend(len(part.X))) for part in parts[first:]
                ]
        weights = [part.weight for part in parts if part.weight is not None]
        return TrainingRows(
            torch.cat([part.X for part in parts]),
            torch.cat([part.y for part in parts]),
            torch.cat(weights) if weights else None,
        )

    return epoch


def _differences(
    rows: TrainingRows, members: NDArray[np.intp], most: float, rng: np.random.Generator
) -> Callable[[int], Tensor]:
    """Return a function that draws parts of differences between neighbouring rows of one class."""
    kept = rng.permutation(members)[:MOST_GUIDES]
    X = rows.select(kept).X
    flat = X.flatten(1).cpu()
    near = nearest(flat, flat, min(NEIGHBOURS, len(kept) - 1), same=True)

    def draw(n: int) -> Tensor:
        first = rng.integers(len(kept), size=n)
        second = near[first, rng.integers(near.shape[1], size=n)]
        parts = torch.from_numpy(most * rng.random(n)).to(X)
        difference = X[torch.from_numpy(second).to(X.device)]
        difference -= X[torch.from_numpy(first).to(X.device)]
        return difference * parts.view(-1, *[1] * (X.ndim - 1))

    return draw
