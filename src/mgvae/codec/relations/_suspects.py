"""Which relations a sample of rows suggests.

A relation of all rows holds in every sample of them, so none is missed by looking at few rows, and
what is suspected wrongly is cleared when all rows are looked at (:mod:`._evidence`). A relation
may hold by chance: it is suspected only where, if the columns had nothing to do with each other,
at least 20 rows of the sample would be expected to break it.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations as pairs_of
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from mgvae.codec._kinds import Numeric
from mgvae.codec._levels import Levels
from mgvae.codec.relations._block import Block, Tokens
from mgvae.codec.relations._joint import mix
from mgvae.codec.relations._linear import Linear
from mgvae.codec.relations._order import Order
from mgvae.codec.relations._together import State

__all__ = ["ENOUGH", "Edge", "suspect_clusters", "suspect_linear", "suspect_orders",
           "suspect_states"]  # fmt: skip

ENOUGH = 20.0  # rows that would be expected to break a relation if it held by chance
_SCREEN = 1024  # rows that are looked at first
_MOST_LEVELS = 4096  # of a column that may determine others
_FEW_COLUMNS, _FEW_LEVELS = 32, 64  # columns, and levels of each, among which pairs are keys
_FEW_NUMBERS = 30  # values of a number that come back as they are
_FEW_COMBINATIONS = 64  # of two columns neither of which determines the other
_COMPARED = 2048  # combinations of columns that are merged
_MOST_TERMS = 8  # of a sum
_MOST_ORDERS = 512
_MOST_PAIRS = 512  # of states one of which is never without the other
_STATES = 20  # levels of a column that are compared with states of others
_SMALLEST_SHARE = 0.01  # of a number that is a state,
_LARGE_SHARE = 0.2  # and of one that another state is compared with one way
_PAIR_SHARE = 0.05  # of the rows that would contradict a pair of columns by chance
_NOTHING = 1e-7  # of the variation of standardised columns

Codes = NDArray[np.intp]


class Edge(NamedTuple):
    """Columns that determine another, or just few combinations of columns."""

    sources: tuple[int, ...]
    target: int
    determined: bool


class _Coded(NamedTuple):
    """A column of the sample whose values repeat.

    Attributes
    ----------
    column : int
        Which.
    codes : ndarray of int
        Its values, counted from 0.
    n_levels : int
        How many they are.
    ordinary : ndarray of bool
        The rows that say whether its values determine others: of a column of many numbers not
        those that are missing, zero or the most frequent, which are states (``suspect_states``).
    """

    column: int
    codes: Codes
    n_levels: int
    ordinary: NDArray[np.bool_]


def suspect_clusters(
    block: Block, columns: Sequence[int], sums: Sequence[Linear] = ()
) -> tuple[list[list[Edge]], list[Linear]]:
    """Find groups of columns with few combinations.

    These are columns that determine others, alone or in pairs, pairs of columns with less than
    half of the combinations that chance would give, and the columns of a sum with few combinations,
    such as the flags of one category.

    Returns
    -------
    clusters : list of list of Edge
        The reasons for each group.
    sums : list of Linear
        The sums with many combinations.
    """
    coded = _coded(block, columns)
    if len(coded) < 2 or len(block) < ENOUGH:
        return [], list(sums)
    known = {c.column: c for c in coded}
    edges = list(_single_keys(coded))
    determined = {(e.sources[0], e.target) for e in edges}
    few = sorted((c for c in coded if c.n_levels <= _FEW_LEVELS), key=lambda c: c.n_levels)
    few = sorted(few[:_FEW_COLUMNS])
    edges += _pair_keys(few, determined)
    edges += _few_combinations(few, determined)
    many = [s for s in sums if not all(j in known for j in s.columns)]
    for one in (s for s in sums if s not in many):
        if _count(known, one.columns) <= _FEW_COMBINATIONS:
            edges.append(Edge(tuple(j for j, _ in one.terms), one.target, determined=True))
        else:
            many.append(one)
    return _merge(edges, known, len(block)), many


def _coded(block: Block, columns: Sequence[int]) -> list[_Coded]:
    found = []
    for j in columns:
        levels, codes = np.unique(block.tokens(j), return_inverse=True, equal_nan=True)
        if 2 <= len(levels) <= min(_MOST_LEVELS, len(block) / 2):
            codes = codes.reshape(-1)
            ordinary = np.ones(len(codes), bool)
            if isinstance(block.columns[j].kind, Numeric) and len(levels) > _FEW_NUMBERS:
                states = (block.tokens(j) == 0) | (codes == np.bincount(codes).argmax())
                ordinary = ~(states | np.isnan(block.tokens(j)))
            found.append(_Coded(j, codes, len(levels), ordinary))
    return found


def _single_keys(coded: Sequence[_Coded]) -> Iterator[Edge]:
    """Find columns that determine another."""
    matrix = np.stack([c.codes for c in coded], axis=1).astype(np.int32)
    sizes = np.array([c.n_levels for c in coded])
    surprising = np.array([_surprise(c.codes) * len(matrix) >= ENOUGH for c in coded])
    for i, key in enumerate(coded):
        others = np.flatnonzero((sizes <= key.n_levels) & surprising)
        for other in _determined(key.codes, matrix, others[others != i]).tolist():
            if _single_evidence(key, coded[other]) >= ENOUGH:
                yield Edge((key.column,), coded[other].column, determined=True)


def _determined(key: Codes, matrix: NDArray[np.int32], others: Codes) -> Codes:
    """Return which of some columns of a matrix are the same wherever the key is."""
    for rows in (slice(_SCREEN), slice(None)):
        order = np.argsort(key[rows], kind="stable")
        same = np.flatnonzero(np.diff(key[rows][order]) == 0)
        part = matrix[rows][:, others]
        others = others[(part[order[same]] == part[order[same + 1]]).all(axis=0)]
        if not others.size:
            break
    return others


def _single_evidence(key: _Coded, other: _Coded) -> float:
    """Compute how many rows would contradict the key if the columns had nothing in common."""
    codes = other.codes[key.ordinary]
    if not codes.size:
        return 0.0
    repeats = len(codes) - len(np.unique(key.codes[key.ordinary]))
    return repeats * _surprise(codes)


def _surprise(codes: Codes) -> float:
    """Return the chance that two rows differ."""
    return float(1 - ((np.bincount(codes) / len(codes)) ** 2).sum())


def _pair_keys(few: Sequence[_Coded], known: set[tuple[int, int]]) -> Iterator[Edge]:
    """Find pairs of columns that together determine a third, which neither does alone."""
    if len(few) < 3:
        return
    matrix = np.stack([c.codes for c in few], axis=1).astype(np.int32)
    enough = max(ENOUGH, _PAIR_SHARE * len(matrix))
    surprising = [m for m, c in enumerate(few) if _surprise(c.codes) * len(matrix) >= enough]
    for i, k in pairs_of(range(len(few)), 2):
        a, b = few[i], few[k]
        if (a.column, b.column) in known or (b.column, a.column) in known:
            continue
        joint = a.codes * b.n_levels + b.codes
        others = [
            m
            for m in surprising
            if m not in (i, k) and not {(side.column, few[m].column) for side in (a, b)} & known
        ]
        for m in _determined(joint, matrix, np.array(others, np.intp)).tolist():
            c = few[m]
            if min(_contradictions(joint, side.codes, c.codes) for side in (a, b)) >= enough:
                yield Edge((a.column, b.column), c.column, determined=True)


def _contradictions(key: Codes, given: Codes, codes: Codes) -> float:
    """Compute how many rows would contradict the key if the codes depended on ``given`` only."""
    n_given, n_codes = given.max() + 1, codes.max() + 1
    table = np.bincount(given * n_codes + codes, minlength=n_given * n_codes)
    table = table.reshape(n_given, n_codes)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    surprise = 1 - (shares**2).sum(axis=1)
    _, first = np.unique(key, return_index=True)
    repeated = np.ones(len(key), bool)
    repeated[first] = False
    return float(surprise[given[repeated]].sum())


def _few_combinations(few: Sequence[_Coded], known: set[tuple[int, int]]) -> Iterator[Edge]:
    """Find pairs of columns with less than half of the combinations that chance would give."""
    for a, b in pairs_of(few, 2):
        if (a.column, b.column) in known or (b.column, a.column) in known:
            continue
        n = len(a.codes)
        seen = np.bincount(a.codes * b.n_levels + b.codes, minlength=a.n_levels * b.n_levels)
        shares = [np.bincount(c.codes) / n for c in (a, b)]
        expected = (1 - np.exp(-n * np.outer(*shares))).sum()
        n_seen = int((seen > 0).sum())
        most = min(_FEW_COMBINATIONS, expected / 2, n / ENOUGH)
        if n_seen <= most and _absent(seen, shares, n) >= max(ENOUGH, _PAIR_SHARE * n):
            yield Edge((a.column,), b.column, determined=False)


def _absent(seen: Codes, shares: Sequence[Tokens], n: int) -> float:
    """Compute how many rows chance would put into combinations that were never seen."""
    expected = n * np.outer(*shares).ravel()
    return float(expected[seen == 0].sum())


def _merge(edges: Sequence[Edge], known: dict[int, _Coded], n: int) -> list[list[Edge]]:
    """Put edges that share a column into one group, as long as its combinations are few."""
    groups: list[tuple[set[int], list[Edge]]] = []
    for edge in sorted(edges, key=lambda e: (not e.determined, len(e.sources), -_size(e, known))):
        columns = {*edge.sources, edge.target}
        touched = [group for group in groups if group[0] & columns]
        merged = columns.union(*(group[0] for group in touched))
        largest = max(known[j].n_levels for j in merged)
        count = _count(known, sorted(merged))
        few = (_COMPARED, n / 4) if edge.determined else (_FEW_COMBINATIONS, n / ENOUGH)
        if count > largest and count > min(few):
            continue
        reasons = [reason for group in touched for reason in group[1]]
        groups = [group for group in groups if group not in touched]
        groups.append((merged, [*reasons, edge]))
    return [reasons for _, reasons in groups]


def _count(known: dict[int, _Coded], columns: Sequence[int]) -> int:
    """Count the combinations of columns."""
    codes = np.stack([known[j].codes for j in columns], 1).astype(np.float64)
    return len(np.unique(mix(codes)))


def _size(edge: Edge, known: dict[int, _Coded]) -> int:
    return sum(known[j].n_levels for j in edge.sources)


def suspect_states(
    block: Block, columns: Sequence[int]
) -> tuple[list[list[State]], list[tuple[State, State]]]:
    """Find states of columns that the same rows have, or one only with another.

    Returns
    -------
    classes : list of list of State
        States that the same rows have, levels before numbers.
    pairs : list of (State, State)
        States, the second of which all rows have that have the first.
    """
    n = len(block)
    states: list[State] = []
    rows: list[NDArray[np.bool_]] = []
    classes: dict[bytes, list[State]] = {}
    for j in columns:
        for token, has in _states(block, j):
            share = has.mean()
            if 2 * n * share * (1 - share) >= ENOUGH:
                alike = classes.setdefault(np.packbits(has).tobytes(), [])
                if not alike:
                    states.append((j, token))
                    rows.append(has)
                if j not in [k for k, _ in alike]:
                    alike.append((j, token))
    if not states:
        return [], []
    flags = np.stack(rows, axis=1).astype(np.float32)
    both = flags.T @ flags  # exact: counts of at most 8,192
    counts = np.diag(both)
    surprising = counts[:, None] * (1 - counts[None] / n) >= ENOUGH
    number = [isinstance(block.columns[j].kind, Numeric) and t == t for j, t in states]
    plain = ~np.array(number) | (counts >= _LARGE_SHARE * n)
    surprising &= plain[:, None] & plain[None]
    found = np.argwhere((both == counts[:, None]) & surprising)
    pairs = [(states[i], states[k]) for i, k in found.tolist() if states[i][0] != states[k][0]]
    return [_levels_first(block, c) for c in classes.values() if len(c) > 1], pairs[:_MOST_PAIRS]


def _levels_first(block: Block, states: Sequence[State]) -> list[State]:
    return sorted(states, key=lambda s: not isinstance(block.columns[s[0]].kind, Levels))


def _states(block: Block, j: int) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    tokens = block.tokens(j)
    missing = np.isnan(tokens)
    if missing.any():
        yield np.nan, missing
    values, counts = np.unique(tokens[~missing], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    if isinstance(block.columns[j].kind, Levels):
        chosen = values[order[:_STATES]].tolist()
    else:
        frequent = counts >= _SMALLEST_SHARE * len(tokens)
        chosen = values[order[:1]][frequent[order[:1]]].tolist()
        chosen += [0.0] if 0.0 in values[frequent] and 0.0 not in chosen else []
    for token in chosen:
        yield token, tokens == token


def suspect_linear(block: Block, columns: Sequence[int]) -> Iterator[Linear]:
    """Find numbers that are sums of others, by elimination.

    Random sums of the rows keep every linear relation between the columns and are as few as the
    columns; those that add nothing to the columns before them are sums of these.
    """
    numbers = [j for j in columns if isinstance(block.columns[j].kind, Numeric)]
    masks: dict[bytes, list[int]] = {}
    for j in numbers:
        masks.setdefault(np.isnan(block.tokens(j)).tobytes(), []).append(j)
    complete = masks.pop(bytes(len(block)), [])
    yield from _eliminate(block, complete, set(complete), slice(None))
    for mask, gappy in masks.items():
        present = ~np.frombuffer(mask, bool)
        yield from _eliminate(block, sorted(complete + gappy), set(gappy), present)


def _eliminate(
    block: Block, columns: Sequence[int], wanted: set[int], rows: NDArray[np.bool_] | slice
) -> Iterator[Linear]:
    values = {j: block.tokens(j)[rows] for j in columns}
    columns = [j for j in columns if _varies(values[j])]
    columns = columns[: max(0, len(next(iter(values.values()), ())) - int(ENOUGH))]
    if len(columns) < 2:
        return
    raw = np.stack([values[j] for j in columns], 1)
    with np.errstate(all="ignore"):  # numbers near the largest and the smallest double
        mean, spread = raw.mean(axis=0), raw.std(axis=0)
        scaled = (raw - mean) / spread
    if not np.isfinite(scaled).all():
        return
    rng = np.random.default_rng(0)  # any directions serve
    sums = rng.normal(size=(len(columns) + 8, len(raw))) @ scaled / np.sqrt(len(raw))
    triangle, pivots = qr(sums, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    rank = int((diagonal > _NOTHING * max(diagonal[0], 1e-300)).sum())
    free, bound = pivots[:rank], pivots[rank:]
    factors = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
    systems = []
    for i, target in enumerate(bound):
        used = np.flatnonzero(np.abs(factors[:, i]) > 1e-5)
        if 1 <= len(used) <= _MOST_TERMS:
            terms = {free[k]: factors[k, i] * spread[target] / spread[free[k]] for k in used}
            systems.append({target: -1.0} | terms)
    for system in systems:
        involved = {columns[k] for k in system}
        if not involved & wanted:
            continue
        own = [k for k in system if sum(k in other for other in systems) == 1]
        target = max(own, key=lambda k: _readable(block, columns, system, k))
        terms = {k: _round(-f / system[target]) for k, f in system.items() if k != target}
        rest = raw[:, target] - sum(f * raw[:, k] for k, f in terms.items())
        constant = _round(float(np.median(rest)), np.ptp(raw[:, target]))
        yield Linear(
            columns[target],
            tuple(sorted((columns[k], f) for k, f in terms.items())),
            constant,
        )


def _varies(values: Tokens) -> bool:
    """Return whether so many rows differ from the most frequent value that it is no accident."""
    if not len(values):
        return False
    if len(set(values[: 3 * int(ENOUGH)].tolist())) > ENOUGH:  # one of each differs already
        return True
    return bool(len(values) - np.unique(values, return_counts=True)[1].max() >= ENOUGH)


def _readable(
    block: Block, columns: Sequence[int], system: dict[int, float], k: int
) -> tuple[bool, int, int]:
    """Rank the columns of a system: what is computed is a sum of others rather than a difference.

    It is no date if it can be helped, and the last of equals.
    """
    kind = block.columns[columns[k]].kind
    signs = [-f / system[k] > 0 for other, f in system.items() if other != k]
    return getattr(kind, "kind", "") != "datetime", sum(signs), columns[k]


def _round(number: float, reach: float = 0.0) -> float:
    """Return the simple number that another is up to rounding, if there is one."""
    if abs(number) <= 1e-9 * reach:
        return 0.0
    for simple in (round(number), 1 / round(1 / number) if 0 < abs(number) < 1 else 0.0):
        if simple and abs(number - simple) <= 1e-6 * abs(number):
            return float(simple)
    return float(f"{number:.10g}")


def suspect_orders(block: Block, columns: Sequence[int]) -> list[Order]:
    """Find columns that are never larger than another, though their ranges overlap."""
    families: dict[str, list[int]] = {}
    for j in columns:
        kind = block.columns[j].kind
        if isinstance(kind, Numeric):
            letter = np.dtype(kind.dtype).kind
            families.setdefault(kind.dtype if letter in "mM" else "number", []).append(j)
    found: list[tuple[float, Order]] = []
    for family in families.values():
        found += _orders(block, family)
    found.sort(key=lambda pair: -pair[0])
    return [order for _, order in found[:_MOST_ORDERS]]


def _orders(block: Block, family: Sequence[int]) -> list[tuple[float, Order]]:
    head = np.stack([block.tokens(j)[:_SCREEN:4] for j in family])
    found = []
    for i, lower in enumerate(family):
        possible = ~(head[i][None] > head).any(axis=1)
        for k in np.flatnonzero(possible).tolist():
            if k == i:
                continue
            a, b = block.tokens(lower), block.tokens(family[k])
            present = ~(np.isnan(a) | np.isnan(b))
            if (a > b).any() or not present.any():
                continue
            expected = np.searchsorted(np.sort(b[present]), a[present]).mean()
            if expected >= ENOUGH:
                found.append((float(expected), Order(lower, family[k])))
    return found
