"""Random tables with relations between their columns, and what says whether rows keep them."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.codec.random_tables import Spec, Spreadsheet

Row = dict[str, Any]
Plant = Callable[[str, int, np.random.Generator], "Planted"]


@dataclass
class Planted:
    """Columns, and what all their rows keep, said without the library's help."""

    columns: list[Spec]
    holds: Callable[[Row], bool]


def key(name: str, n: int, rng: np.random.Generator) -> Planted:
    """A text that determines another."""
    cities = [f"city {i}" for i in range(12)]
    lands = {city: f"land {i % 5}" for i, city in enumerate(cities)}
    cells = [cities[i] for i in rng.integers(0, 12, n)]
    columns = [Spec(f"{name}a", "text", cells), Spec(f"{name}b", "text", [lands[c] for c in cells])]
    return Planted(columns, lambda row: lands[row[f"{name}a"]] == row[f"{name}b"])


def combinations(name: str, n: int, rng: np.random.Generator) -> Planted:
    """A month, a rate and an index of which few combinations occur; no column determines all."""
    seen = [("jan", 1.5, 10), ("jan", 1.25, 11), ("feb", 1.5, 12), ("feb", 1.25, 10),
            ("mar", 4.0, 13), ("apr", 4.0, 14)]  # fmt: skip
    cells = [seen[i] for i in rng.integers(0, 6, n)]
    kinds = ("text", "cents", "count")
    columns = [
        Spec(f"{name}{k}", k, list(c)) for k, c in zip(kinds, zip(*cells, strict=True), strict=True)
    ]
    return Planted(columns, lambda row: tuple(row[c.name] for c in columns) in seen)


def pair_key(name: str, n: int, rng: np.random.Generator) -> Planted:
    """Two whole numbers that together determine a third, and neither alone."""
    a, b = rng.integers(0, 4, n), rng.integers(0, 4, n)
    cells = {"a": a.tolist(), "b": b.tolist(), "c": ((a * 7 + b * 5) % 11).tolist()}
    columns = [Spec(f"{name}{k}", "count", c) for k, c in cells.items()]
    return Planted(
        columns, lambda row: (row[f"{name}a"] * 7 + row[f"{name}b"] * 5) % 11 == row[f"{name}c"]
    )


def one_hot(name: str, n: int, rng: np.random.Generator) -> Planted:
    """Flags of one category."""
    drawn = rng.integers(0, 3, n)
    columns = [Spec(f"{name}{i}", "whole", (drawn == i).astype(float).tolist()) for i in range(3)]
    return Planted(columns, lambda row: sum(row[c.name] for c in columns) == 1)


def total(name: str, n: int, rng: np.random.Generator) -> Planted:
    """A sum of three numbers."""
    parts = {k: np.round(rng.gamma(2.0, 30.0, n), 2) for k in "xyz"}
    cells = {**parts, "total": np.round(sum(parts.values()), 2)}
    columns = [Spec(f"{name}{k}", "cents", c.tolist()) for k, c in cells.items()]

    def holds(row: Row) -> bool:
        return abs(sum(row[f"{name}{k}"] for k in "xyz") - row[f"{name}total"]) < 1e-2

    return Planted(columns, holds)


def difference(name: str, n: int, rng: np.random.Generator) -> Planted:
    """A difference of whole numbers, some rows of which are missing as a whole."""
    a, b = rng.integers(0, 1000, n), rng.integers(0, 1000, n)
    gone = rng.random(n) < 0.2
    cells = {"a": a, "b": b, "c": a - b}
    columns = [
        Spec(f"{name}{k}", "int64", [None if g else int(v) for v, g in zip(c, gone, strict=True)])
        for k, c in cells.items()
    ]

    def holds(row: Row) -> bool:
        a, b, c = (row[f"{name}{k}"] for k in "abc")
        absent = [cell is None for cell in (a, b, c)]
        return all(absent) or (not any(absent) and a - b == c)

    return Planted(columns, holds)


def scaled(name: str, n: int, rng: np.random.Generator) -> Planted:
    """Degrees of two kinds."""
    celsius = rng.normal(10, 8, n)
    columns = [
        Spec(f"{name}C", "heavy", celsius.tolist()),
        Spec(f"{name}F", "heavy", (celsius * 1.8 + 32).tolist()),
    ]
    return Planted(columns, lambda row: abs(row[f"{name}C"] * 1.8 + 32 - row[f"{name}F"]) < 1e-3)


def order(name: str, n: int, rng: np.random.Generator) -> Planted:
    """The least, the middle and the largest of a day."""
    cells = np.sort(np.round(rng.normal(10, 5, (n, 3)), 1), axis=1)
    columns = [Spec(f"{name}{i}", "cents", cells[:, i].tolist()) for i in range(3)]
    return Planted(columns, lambda row: row[f"{name}0"] <= row[f"{name}1"] <= row[f"{name}2"])


def dates(name: str, n: int, rng: np.random.Generator) -> Planted:
    """A begin and an end, which some rows lack."""
    begin = [dt.datetime(2020, 1, 1) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 9000, n)]
    end = [
        b + dt.timedelta(hours=int(h)) for b, h in zip(begin, rng.integers(1, 900, n), strict=True)
    ]
    gone = rng.random(n) < 0.3
    columns = [
        Spec(f"{name}begin", "datetime", begin),
        Spec(f"{name}end", "datetime", [None if g else e for e, g in zip(end, gone, strict=True)]),
    ]

    def holds(row: Row) -> bool:
        return row[f"{name}end"] is None or row[f"{name}begin"] < row[f"{name}end"]

    return Planted(columns, holds)


def zero_when(name: str, n: int, rng: np.random.Generator) -> Planted:
    """An outcome that is unknown exactly when there was no contact."""
    none = rng.random(n) < 0.6
    outcome = [
        "unknown" if z else ["good", "bad"][i]
        for z, i in zip(none, rng.integers(0, 2, n), strict=True)
    ]
    days = np.where(none, -1, rng.integers(1, 400, n))
    contacts = np.where(none, 0, rng.integers(1, 60, n))
    columns = [
        Spec(f"{name}outcome", "text", outcome),
        Spec(f"{name}days", "int64", days.tolist()),
        Spec(f"{name}contacts", "int64", contacts.tolist()),
    ]

    def holds(row: Row) -> bool:
        states = {
            row[f"{name}outcome"] == "unknown",
            row[f"{name}days"] == -1,
            row[f"{name}contacts"] == 0,
        }
        return len(states) == 1

    return Planted(columns, holds)


def missing_when(name: str, n: int, rng: np.random.Generator) -> Planted:
    """Two numbers that are missing exactly when a flag says so."""
    flag = rng.random(n) < 0.5
    columns = [Spec(f"{name}measured", "bool", flag.tolist())]
    for k in "xy":
        cells = [float(v) if f else None for v, f in zip(rng.gamma(2.0, size=n), flag, strict=True)]
        columns.append(Spec(f"{name}{k}", "heavy", cells))
    return Planted(
        columns,
        lambda row: all((row[f"{name}{k}"] is not None) == row[f"{name}measured"] for k in "xy"),
    )


def missing_whenever(name: str, n: int, rng: np.random.Generator) -> Planted:
    """A level that is missing whenever another is, and in other rows too."""
    job = [None if rng.random() < 0.3 else ["a", "b"][rng.integers(2)] for _ in range(n)]
    branch = [
        None if j is None or rng.random() < 0.1 else ["x", "y", "z"][rng.integers(3)] for j in job
    ]
    columns = [Spec(f"{name}job", "text", job), Spec(f"{name}branch", "text", branch)]
    return Planted(
        columns, lambda row: row[f"{name}job"] is not None or row[f"{name}branch"] is None
    )


PLANTS: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        key, combinations, pair_key, one_hot, total, difference, scaled, order, dates, zero_when,
        missing_when, missing_whenever,
    )
}  # fmt: skip


def plant(names: list[str], n: int, seed: int) -> tuple[Spreadsheet, list[Planted]]:
    """Return a table with such relations, each between columns of its own."""
    rng = np.random.default_rng(seed)
    planted = [PLANTS[name](f"{name}{i}_", n, rng) for i, name in enumerate(names)]
    columns = [column for one in planted for column in one.columns]
    return Spreadsheet([columns[i] for i in rng.permutation(len(columns))]), planted
