"""Try to work the rows of a table out of a model file.

The attacker has the file alone, and knows the library. Each attack gives candidates, rows in the
units of the table; a row counts as recovered when a candidate is nearer than 0.05 standard
deviations (root mean square over the columns). Rows of the same population that the model has never
seen are looked for among the same candidates: what is found of them is chance. The seeds of one
kind of model are also judged together.

========== =======================================================================================
chain      differences that occur with both signs join two rows; a tree of them gives all rows
           but for one offset, which the ends of the columns' ranges and other knots fix
solve      the same where differences are sums: in turns, the weights of each guide's neighbours
           and the rows of all guides are solved for by least squares, from the decoded codes on
decode     what the decoder makes of a latent code
invert     the row that the encoder sends to a latent code, found by descent
posterior  the most likely row given a blurred latent code, where rows are distributed as decoded
           codes are
average    the codes of guides that lie close together, averaged, and decoded
residual   a bridge's anchors: what the decoder makes of the code, and the residual
together   with ``--files``: models of the same rows with other seeds. Their guides are laid side by
           side, as they come and by the best match of what is decoded; decoded and likely rows are
           averaged, and all files' sums are solved together
========== =======================================================================================

Each candidate is also tried with its numbers moved to the nearest values that the codec holds.

    python benchmarks/recover_rows.py --seeds 3
    python benchmarks/recover_rows.py --seeds 3 --sizes 300 --files 5
"""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_matrix, identity
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import splu
from scipy.spatial import cKDTree
from scipy.stats import fisher_exact
from torch import Tensor

from mgvae import MGVAE
from mgvae.methods.mgvae.bridge import GUIDE_BLUR
from mgvae.methods.mgvae.generation import BLUR

NEAR = 0.05  # standard deviations
CHANCE = 0.01  # that any finding of a run is one by chance
SIZES = (100, 300, 800, 2000)
N_MINORITY = 60
N_COLUMNS = 8


def main() -> int:
    """Attack models of tables of several sizes, and print what was recovered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--tables", nargs="+", default=[*TABLES], choices=[*TABLES])
    parser.add_argument("--generation", nargs="+", default=["bridge", "translate"])
    parser.add_argument("--without-rows", action="store_true", help="save the models so")
    parser.add_argument("--files", type=int, default=1, help="models of the same rows")
    chosen = parser.parse_args()
    saving = {"without_rows": chosen.without_rows, "files": chosen.files}
    sides = ("majority", "minority") if chosen.without_rows else ("majority",)
    kinds = [*itertools.product(chosen.sizes, chosen.tables, chosen.generation)]
    tries = len(kinds) * (chosen.seeds + 1) * len(sides)
    findings = 0
    print(f"{'':34s}{'majority':>22s}{'minority':>22s}")
    print(f"{'rows  columns     model      seed':34s}" + 2 * "  seen  unseen      p ")
    for n, shape, generation in kinds:
        told = 2 if generation == "translate" else len(sides)
        all_found = np.zeros((2, 3), int)
        for seed in [*range(chosen.seeds), "all"]:
            found = all_found
            if seed != "all":
                sampled = attack(TABLES[shape], n, generation, seed, **saving)
                found = np.array([[len(seen), len(unseen), size] for seen, unseen, size in sampled])
                all_found += found
            chances = [beyond_chance(*side) for side in found]
            cells = "".join(
                f"{seen:6d}{unseen:8d}{p:8.3f}"
                for (seen, unseen, _), p in zip(found, chances, strict=True)
            )
            print(f"{n:5d} {shape:11s} {generation:11s}{seed:>4}  {cells}", flush=True)
            findings += sum(p < CHANCE / tries for p in chances[:told])
    print(f"{findings} findings: of {tries} sides more was found than chance gives")
    return int(findings > 0)


def independent(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight columns that know nothing of each other."""
    return rng.normal(size=(n, N_COLUMNS))


def related(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight columns that three hidden numbers decide but for a little noise."""
    loads = np.random.default_rng(5).normal(size=(3, N_COLUMNS))
    return rng.normal(size=(n, 3)) @ loads + 0.05 * rng.normal(size=(n, N_COLUMNS))


def wide(rng: np.random.Generator, n: int) -> np.ndarray:
    """Sixty columns, more than there are neighbours in a sum, of eight hidden numbers and noise."""
    loads = np.random.default_rng(6).normal(size=(8, 60))
    return rng.normal(size=(n, 8)) @ loads + 0.3 * rng.normal(size=(n, 60))


def skewed(rng: np.random.Generator, n: int) -> np.ndarray:
    """Eight columns with a long tail, half of them rounded to cents."""
    X = np.exp(independent(rng, n) + rng.normal(size=(n, 1)))
    X[:, ::2] = np.round(X[:, ::2], 2)
    return X


TABLES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "independent": independent,
    "related": related,
    "wide": wide,
    "skewed": skewed,
}

Found = tuple[np.ndarray, np.ndarray, int]


def attack(
    table: Callable[[np.random.Generator, int], np.ndarray], n: int, generation: str, seed: int,
    files: int = 1, **saving: Any,
) -> list[Found]:  # fmt: skip
    """Fit and save models of a table; return what was found of the majority and the minority."""
    rng = np.random.default_rng([seed, n])
    rows, others = table(rng, 2 * n), 0.6 * table(rng, 2 * N_MINORITY)
    X = np.concatenate([rows[:n], others[:N_MINORITY]])
    y = np.repeat([0, 1], [n, N_MINORITY])
    models = [
        from_file(MGVAE(generation=generation, random_state=seed + 1000 * k).fit(X, y), **saving)
        for k in range(files)
    ]
    majority, minority = candidates(models[0])
    if files > 1:
        majority = np.concatenate([majority, rows_of(models[0], together(models))])
    deviation = X.std(0)
    return [
        (
            recovered(side[:size], found, deviation),
            recovered(side[size:], found, deviation),
            size,
        )
        for side, found, size in ((rows, majority, n), (others, minority, N_MINORITY))
    ]


def from_file(sampler: MGVAE, **saving: Any) -> MGVAE:
    """Save a model, and load it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        sampler.save(path, **saving)
        return MGVAE.load(path)


def recovered(rows: np.ndarray, found: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Return the positions of the rows that are among the candidates."""
    scale = deviation * np.sqrt(rows.shape[1])
    distance, _ = cKDTree(found / scale).query(rows / scale)
    return np.flatnonzero(distance < NEAR)


def beyond_chance(seen: int, unseen: int, n: int) -> float:
    """Return the probability that as many more rows are found of those seen by chance."""
    table = [[seen, n - seen], [unseen, n - unseen]]
    return float(fisher_exact(table, alternative="greater").pvalue)


def held_by(sampler: MGVAE) -> tuple[Any, dict[str, Tensor]]:
    """Return the model of a file, and the tensors beside it by the last word of their names."""
    (generator,) = sampler.state_.generators.values()
    model, tensors = generator.stored()
    held = {name.rpartition("_")[2]: tensor for name, tensor in tensors.items()}
    held["guides"] = held["centres"] if "centres" in held else held["guides"]
    return model, held


def candidates(sampler: MGVAE) -> tuple[np.ndarray, np.ndarray]:
    """Return what all attacks on one file give for the majority and for the minority."""
    vae, held = held_by(sampler)
    guides = held["guides"]
    distinct = torch.from_numpy(np.unique(guides.numpy(), axis=0))
    majority = from_codes(vae, distinct, blur_of(held))
    if "differences" in held:
        differences = held["differences"].double().numpy()
        majority += chain(sampler, differences, guides.numpy(), majority[1].mean(0).numpy())
        majority.append(solve(differences, guides, decoded(vae, guides)))
    minority = [
        row for name in ("anchors", "means") if name in held for row in from_codes(vae, held[name])
    ]
    if "residuals" in held:
        minority.append(decoded(vae, held["means"]) + held["residuals"])
    return rows_of(sampler, majority), rows_of(sampler, minority or majority)


def together(samplers: list[MGVAE]) -> list[Tensor]:
    """Return what several files of the same rows give."""
    files = [held_by(sampler) for sampler in samplers]
    centres = [decoded(vae, held["guides"]) for vae, held in files]
    likely = [inverted(vae, held["guides"], blur_of(held), likely=True) for vae, held in files]
    as_they_come = [torch.arange(len(centres[0]))] * len(files)
    found = []
    for order in (as_they_come, [beside(centres[0], other) for other in centres]):
        means = torch.stack([x[o] for x, o in zip(centres, order, strict=True)]).mean(0)
        found += [means, torch.stack([x[o] for x, o in zip(likely, order, strict=True)]).mean(0)]
        if "differences" in files[0][1]:
            ordered = [(held, o) for (_, held), o in zip(files, order, strict=True)]
            codes = [held["guides"][o] / held["guides"].std() for held, o in ordered]
            sums = torch.cat([held["differences"][o] for held, o in ordered]).double().numpy()
            found.append(solve(sums, torch.cat(codes, 1).repeat(len(files), 1), means))
    return found


def beside(rows: Tensor, others: Tensor) -> Tensor:
    """Return for each row another one, so that they are near on the whole."""
    return torch.from_numpy(linear_sum_assignment(torch.cdist(rows, others).numpy())[1])


def blur_of(held: dict[str, Tensor]) -> float:
    """Return how strong the noise on the guides of a file is, which everybody can look up."""
    return GUIDE_BLUR if "differences" in held else BLUR


def from_codes(vae: Any, codes: Tensor, blur: float = BLUR) -> list[Tensor]:
    """Return rows by ``decode``, ``invert``, ``posterior`` and ``average``."""
    found = [decoded(vae, codes), inverted(vae, codes), inverted(vae, codes, blur, likely=True)]
    near = torch.cdist(codes, codes).topk(min(len(codes), 5), largest=False).indices
    found += [decoded(vae, codes[near[:, :k]].mean(1)) for k in range(2, near.shape[1] + 1)]
    return found


@torch.no_grad()
def decoded(vae: Any, codes: Tensor) -> Tensor:
    """Return the decoder's means."""
    means: Tensor = vae.likelihood.mean(vae.decoder(codes))
    return means


def inverted(vae: Any, codes: Tensor, blur: float = BLUR, *, likely: bool = False) -> Tensor:
    """Return rows whose latent means are the codes, by descent from what the decoder gives.

    The likely ones are those whose codes, with noise, may be the given ones, and which lie where
    decoded codes lie.
    """
    steps, start = 300, decoded(vae, codes)
    x = start.clone().requires_grad_(True)
    noise = blur * torch.exp(0.5 * vae.log_variance.detach())
    middle = start.mean(0)
    spread = torch.linalg.inv(torch.cov(start.T) + 0.002 * torch.eye(start.shape[1]))
    optimiser = torch.optim.Adam([x], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = (vae.mean(x) - codes).square().sum()
        if likely:
            loss = loss / noise**2 + ((x - middle) @ spread * (x - middle)).sum()
        loss.backward()
        optimiser.step()
        schedule.step()
    return x.detach()


def chain(
    sampler: MGVAE, differences: np.ndarray, centres: np.ndarray, middle: np.ndarray
) -> list[Tensor]:
    """Join differences that occur with both signs, and fix the offset by what the codec holds."""
    _, guide = np.unique(centres, axis=0, return_inverse=True)
    guide = guide.ravel()
    distance, other = cKDTree(differences).query(-differences)
    joined = (distance < 1e-4) & (guide != guide[other])
    start, end, step = guide[joined], guide[other[joined]], differences[joined]
    n = guide.max() + 1
    graph = coo_matrix((np.ones(len(start)), (start, end)), (n, n)).tocsr()
    steps = dict(zip(zip(start, end, strict=True), step, strict=True))
    found = []
    n_parts, part = connected_components(graph, directed=False)
    for which in range(n_parts):
        members = np.flatnonzero(part == which)
        if len(members) < 10:
            continue
        order, before = breadth_first_order(graph, members[0], directed=False)
        rows = np.zeros((n, differences.shape[1]))
        for node in order[1:]:
            last = before[node]
            forward = steps.get((last, node))
            rows[node] = rows[last] + (-steps[node, last] if forward is None else forward)
        rows = rows[order]
        offset = [fix(rows[:, j], scores) for j, scores in enumerate(held_scores(sampler))]
        offsets = (np.array(offset), middle - rows.mean(0))
        found += [torch.from_numpy(rows + by).float() for by in offsets]
    return found


def solve(
    differences: np.ndarray, centres: Tensor, start: Tensor, turns: int = 10, weight: float = 1.0
) -> Tensor:
    """Solve for all guides' rows at once, from sums of differences to their neighbours.

    A sum of differences between neighbours is one of differences to the guide, too.
    """
    distinct, first, guide = np.unique(
        centres.numpy(), axis=0, return_index=True, return_inverse=True
    )
    guide = guide.ravel()
    codes = torch.from_numpy(distinct)
    n, n_sums = len(codes), len(guide)
    near = torch.cdist(codes, codes).topk(min(n, 11), largest=False).indices.numpy()[:, 1:]
    entry = np.repeat(np.arange(n_sums), near.shape[1])
    known = start[torch.from_numpy(first)].numpy().astype(float)
    rows, variance = known, 0.3
    for _ in range(turns):
        apart = rows[near[guide]] - rows[guide][:, None]
        inner = apart @ apart.transpose(0, 2, 1) + 10 * variance * np.eye(near.shape[1])
        weights = np.linalg.solve(inner, apart @ differences[..., None])[..., 0]
        forward = coo_matrix((weights.ravel(), (entry, near[guide].ravel())), (n_sums, n))
        back = coo_matrix((weights.sum(1), (np.arange(n_sums), guide)), (n_sums, n))
        matrix = (forward - back).tocsr()
        normal = (matrix.T @ matrix + weight * variance * identity(n)).tocsc()
        rows = splu(normal).solve(matrix.T @ differences + weight * variance * known)
        variance = max(0.01, float(np.square(differences - matrix @ rows).mean()))
    return torch.from_numpy(rows).float()


def fix(codes: np.ndarray, scores: np.ndarray, tried: int = 8) -> float:
    """Return the offset that brings the codes of a column to the scores that the codec holds.

    Scores are far apart at the ends of a range. The ends of the joined rows are set on some of
    these, and what also fits the codes beside them is taken.
    """
    ends, held = np.sort(codes), np.concatenate([scores[: 2 * tried], scores[-2 * tried :]])
    ends = np.concatenate([ends[:tried], ends[-tried:]])
    starts = [*(scores[:tried] - ends[0]), *(scores[-tried:] - ends[-1])]
    apart = np.array([np.abs(ends[:, None] + by - held).min(1) for by in starts])
    by = starts[int(apart.mean(1).argmin())]
    nearest = held[np.abs(ends[:, None] + by - held).argmin(1)]
    return float(by + np.median(nearest - ends - by))


def held_scores(sampler: MGVAE) -> list[np.ndarray]:
    """Return the codes of the values that the codec holds, by column."""
    kinds = [column["kind"] for column in sampler.codec_.to_dict()["columns"]]
    return [np.asarray(kind["scale"]["scores"]) for kind in kinds]


def rows_of(sampler: MGVAE, encoded: list[Tensor]) -> np.ndarray:
    """Decode candidates, as they are and moved to values that the codec holds."""
    whole = torch.cat(encoded).numpy()
    columns = sampler.codec_.decode(whole, np.random.default_rng(0))
    rows = np.column_stack([column.values for column in columns])
    moved = rows.copy()
    for j, column in enumerate(sampler.codec_.to_dict()["columns"]):
        held = np.asarray(column["kind"]["scale"]["values"])
        right = np.searchsorted(held, rows[:, j]).clip(1, len(held) - 1)
        nearer = rows[:, j] - held[right - 1] < held[right] - rows[:, j]
        moved[:, j] = np.where(nearer, held[right - 1], held[right])
    return np.concatenate([rows, moved])


if __name__ == "__main__":
    sys.exit(main())
