"""Try to work rows of categories out of a model file.

Sums of differences between categories take few values. Where a file holds several sums over the
same neighbours of a row, with the same weights for all columns, the sums span the space of the
exact differences. In this space there are few vectors that can be a difference of two rows, -1 at
a level of one and 1 at a level of the other in each column, and these can be listed. What the row
itself is, the largest sums and the decoder tell; its neighbours follow.

With ``--files``, there are several models of the same rows with other seeds. Their guides are laid
side by side, as they come and by the best match of what is decoded. In sums of differences to a
row, its own level has the largest squares, the more clearly the more sums there are.

Rows of the same population that the model has never seen are looked for among the same candidates:
what is found of them is chance.

    python benchmarks/recover_categories.py --seeds 5
    python benchmarks/recover_categories.py --seeds 5 --files 5
"""

import argparse
import itertools
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import fisher_exact

from mgvae import MGVAE
from mgvae.codec import read_table

Row = tuple[int, ...]
CHANCE = 0.01  # that any finding of a run is one by chance
SIZES = (100, 150, 400)
LEVELS = {"eight of eight": [8] * 8, "twelve of three": [3] * 12, "mixed": [2, 3, 4, 5, 8, 12, 20]}
N_MINORITY = 60


def main() -> int:
    """Attack models of tables of several sizes, and print what was recovered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--without-rows", action="store_true", help="save the models so")
    parser.add_argument("--files", type=int, default=1, help="models of the same rows")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    tries = len(chosen.sizes) * len(LEVELS) * (chosen.seeds + 1)
    findings = 0
    saving = {"without_rows": chosen.without_rows, "files": chosen.files}
    print(f"{'rows  columns          seed':30s}  seen  unseen      p")
    for n, (name, levels) in itertools.product(chosen.sizes, LEVELS.items()):
        found = [attack(levels, n, seed, **saving) for seed in range(chosen.seeds)]
        whole = tuple(np.sum(found, 0).tolist())
        for seed, (seen, unseen) in [*enumerate(found), ("all", whole)]:
            p = beyond_chance(seen, unseen, n * chosen.seeds if seed == "all" else n)
            print(f"{n:5d} {name:18s}{seed:>5}{seen:8d}{unseen:8d}{p:8.3f}", flush=True)
            findings += p < CHANCE / tries
    print(f"{findings} findings: of {tries} tests more was found than chance gives")
    return int(findings > 0)


def categories(rng: np.random.Generator, n: int, levels: list[int]) -> pd.DataFrame:
    """Columns of so many levels, which three hidden numbers make more or less likely."""
    hidden = rng.normal(size=(n, 3))
    columns = {}
    for j, size in enumerate(levels):
        likely = hidden @ np.random.default_rng(j).normal(size=(3, size))
        drawn = (likely + rng.gumbel(size=(n, size))).argmax(1)
        columns[f"c{j}"] = [f"v{level}" for level in drawn]
    return pd.DataFrame(columns)


def attack(levels: list[int], n: int, seed: int, files: int = 1, **saving: Any) -> tuple[int, int]:
    """Fit and save models; return how many rows are recovered, of those seen and of others."""
    models = []
    for k in range(files):
        rows, sampler = fitted(levels, n, seed, seed + 1000 * k)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            sampler.save(path, **saving)
            models.append(MGVAE.load(path))
    return recovered(models, rows.iloc[:n], rows.iloc[n:])


def fitted(
    levels: list[int], n: int, seed: int, state: int = 0, **options: Any
) -> tuple[pd.DataFrame, MGVAE]:
    """Return majority rows, the second half of them unseen, and a model."""
    rng = np.random.default_rng([seed, n])
    rows, others = categories(rng, 2 * n, levels), categories(rng, N_MINORITY, levels)
    X = pd.concat([rows.iloc[:n], others], ignore_index=True)
    y = np.repeat([0, 1], [n, N_MINORITY])
    return rows, MGVAE(random_state=state, **options).fit(X, y)


def recovered(samplers: list[MGVAE], seen: pd.DataFrame, unseen: pd.DataFrame) -> tuple[int, int]:
    """Return how many of the rows are among the candidates."""
    sampler = samplers[0]
    found = candidates(sampler)
    if len(samplers) > 1:
        found |= together(samplers)
    columns = columns_of(sampler)
    return tuple(
        sum(levels_of(row, columns) in found for row in sampler.codec_.encode(read_table(rows)))
        for rows in (seen, unseen)
    )  # type: ignore[return-value]


def beyond_chance(seen: int, unseen: int, n: int) -> float:
    """Return the probability that as many more rows are found of those seen by chance."""
    return float(fisher_exact([[seen, n - seen], [unseen, n - unseen]], "greater").pvalue)


def columns_of(sampler: MGVAE) -> list[slice]:
    """Return the outputs of each column."""
    ends = np.cumsum([0, *(span.size for span in sampler.state_.layout.spans)])
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def levels_of(encoded: np.ndarray, columns: list[slice]) -> Row:
    """Return the most likely level of each column."""
    return tuple(int(encoded[column].argmax()) for column in columns)


def held_by(sampler: MGVAE) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a file's latent means of guides, what the decoder makes of them, and the sums."""
    (generator,) = sampler.state_.generators.values()
    model, tensors = generator.stored()
    vae: Any = model
    held = {name.rpartition("_")[2]: tensor for name, tensor in tensors.items()}
    centres = held["centres"] if "centres" in held else held["guides"]
    with torch.no_grad():
        decoded = vae.likelihood.mean(vae.decoder(centres)).numpy()
    return centres.numpy(), decoded, held["differences"].double().numpy()


def candidates(sampler: MGVAE) -> set[Row]:
    """Return rows that the sums of each guide allow, and what the decoder makes of its code."""
    centres, decoded, differences = held_by(sampler)
    columns = columns_of(sampler)
    found = {levels_of(row, columns) for row in decoded}
    _, guide = np.unique(centres, axis=0, return_inverse=True)
    for which in range(guide.max() + 1):
        own = np.flatnonzero(guide.ravel() == which)
        found.update(rows_within(differences[own], decoded[own[0]], columns))
    return found


def together(samplers: list[MGVAE]) -> set[Row]:
    """Return what several files of the same rows give."""
    files = [held_by(sampler)[1:] for sampler in samplers]
    columns, n = columns_of(samplers[0]), len(files[0][0])
    first = torch.from_numpy(files[0][0])
    matched = [
        linear_sum_assignment(torch.cdist(first, torch.from_numpy(other)).numpy())[1]
        for other, _ in files
    ]
    found = set()
    for order in ([np.arange(n)] * len(files), matched):
        decoded = np.mean([x[o] for (x, _), o in zip(files, order, strict=True)], 0)
        squares = sum(np.square(d[o]) for (_, d), o in zip(files, order, strict=True))
        both = np.log(decoded + 1e-3) + len(files) / 2 * np.log(squares + 1e-2)
        found |= {levels_of(row, columns) for said in (decoded, squares, both) for row in said}
    return found


def rows_within(sums: np.ndarray, decoded: np.ndarray, columns: list[slice]) -> Iterator[Row]:
    """Yield a row and all others whose difference to it lies in the space of the sums."""
    own = []
    for column in columns:
        there = np.flatnonzero(np.abs(sums[:, column]).max(0) > 1e-5)
        widest = np.square(sums[:, column]).sum(0)
        own.append(int(widest.argmax() if len(there) else decoded[column].argmax()))
    yield tuple(own)
    basis = reduced(sums)
    for leading in itertools.product((0, 1, -1), repeat=len(basis)):
        vector = np.array(leading) @ basis
        whole = np.rint(vector)
        if not len(basis) or np.abs(vector - whole).max() > 0.02 or not whole.any():
            continue
        row = [stepped(whole[column], level) for column, level in zip(columns, own, strict=True)]
        if None not in row:
            yield tuple(level for level in row if level is not None)


def stepped(step: np.ndarray, level: int) -> int | None:
    """Return the level that a step leads to from another, or None if it is no such step."""
    if not step.any():
        return level
    if np.abs(step).sum() == 2 and step[level] == -1 and step.max() == 1:
        return int(step.argmax())
    return None


def reduced(sums: np.ndarray, least: float = 1e-4) -> np.ndarray:
    """Return the space's basis in which each vector leads with a 1 where the others have 0."""
    _, sizes, vectors = np.linalg.svd(sums, full_matrices=False)
    basis = vectors[sizes > least * max(sizes[0], 1e-6)]
    done = 0
    for j in range(basis.shape[1]):
        if done == len(basis):
            break
        pivot = done + int(np.abs(basis[done:, j]).argmax())
        if abs(basis[pivot, j]) < least:
            continue
        basis[[done, pivot]] = basis[[pivot, done]]
        basis[done] /= basis[done, j]
        others = np.arange(len(basis)) != done
        basis[others] -= basis[others, j : j + 1] * basis[done]
        done += 1
    return basis[:done]


if __name__ == "__main__":
    sys.exit(main())
