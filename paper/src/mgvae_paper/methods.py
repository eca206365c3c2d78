"""Methods by name: from a name, a data set and a protocol to the parameters of a cell.

All settings are declared in ``settings.toml``. Besides the methods named there, any
imbalanced-learn sampler or torch loss takes part: installed under the entry point group
``mgvae.methods``, or named as ``package.module:Class``.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.metadata import entry_points
from typing import Any

from mgvae.errors import ParameterError
from mgvae.experiments import Cell
from mgvae.experiments.estimators import load_class
from mgvae_paper.data import DATASETS

__all__ = ["BUDGETS", "ENTRY_POINTS", "find_class", "make_cell", "method_names"]

BUDGETS = ("full", "cpu")
"""The published lengths, and the shorter ones declared for a machine without a GPU."""

ENTRY_POINTS = "mgvae.methods"
"""The entry point group in which a package offers samplers and losses."""

_MOVED = {
    "mgvae.bench.controls:BorrowedDifference": "mgvae_paper.controls:BorrowedDifference",
    "mgvae.bench.controls:CodecSMOTE": "mgvae_paper.controls:CodecSMOTE",
}
"""Names of classes in cells, which are part of their keys and never change, and their homes."""

_CONDITIONS = ("method", "protocol", "kind", "family", "dataset", "budget")
_EFFECTS = (
    "sampler", "settings", "classifier", "pretrain_seed", "image_size", "folds", "classifiers",
    "weights", "fresh", "revision", "sampler_seed", "truncated", "arms",
)  # fmt: skip


def method_names() -> list[str]:
    """Return the names of all methods that need no import path.

    Examples
    --------
    >>> {"nothing", "ERM", "MGVAE"} <= set(method_names())
    True
    """
    declared = [name for rule in _rules() for name in _values(rule.get("method", []))]
    return list(dict.fromkeys([*declared, *_offered()]))


def make_cell(
    dataset: str,
    method: str,
    protocol: str,
    *,
    budget: str = "full",
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    draw: int | None = None,
    sampler_seed: int | None = None,
) -> Cell:
    """Put together the cell of a method on a data set.

    Parameters
    ----------
    dataset, method, protocol : str
        What to run; ``method`` is a name or ``package.module:Class``.
    budget : {"full", "cpu"}
        The cell is of the full budget wherever no shorter one is declared.
    seed : int
        Decides every random choice.
    settings : mapping, optional
        Parameters of the sampler that differ from the declared ones.
    draw : int, optional
        Decides the draw of the data in place of the seed.
    sampler_seed : int, optional
        Decides the sampler's randomness in place of the seed, which is left to the classifier.

    Examples
    --------
    >>> cell = make_cell("musk", "RW", "paper", budget="cpu")
    >>> cell.budget, cell.parameters["classifier"]["loss"]
    ('full', 'rw')
    """
    if budget not in BUDGETS:
        raise ParameterError(f"budget must be one of {', '.join(BUDGETS)}; got {budget!r}.")
    facts = {"method": method, "protocol": protocol, "budget": budget, "dataset": dataset}
    if dataset in DATASETS:
        facts |= {"kind": DATASETS[dataset].kind, "family": DATASETS[dataset].family}
    parameters = _own(method) if method not in _declared() else {}
    shortened = False
    for rule in _rules():
        if all(facts.get(name) in _values(rule[name]) for name in _CONDITIONS if name in rule):
            parameters = _merged(parameters, {k: rule[k] for k in _EFFECTS if k in rule})
            shortened |= "budget" in rule
    if settings:
        parameters = _merged(parameters, {"settings": dict(settings)})
    if draw not in (None, seed):
        parameters["draw"] = draw
    if sampler_seed is not None:
        parameters["sampler_seed"] = sampler_seed
    return Cell(dataset, method, protocol, budget if shortened else "full", seed, parameters)


def find_class(name: str) -> Any:
    """Import a class by its name in a cell, wherever it is today.

    Examples
    --------
    >>> find_class("mgvae.bench.controls:CodecSMOTE")
    <class 'mgvae_paper.controls.CodecSMOTE'>
    """
    return load_class(_MOVED.get(name, name))


def _own(method: str) -> dict[str, Any]:
    """Return the parameters of a method of the user's: a sampler, or else a loss."""
    path = _offered().get(method, method)
    if ":" not in path:
        raise ParameterError(
            f"there is no method {method!r}; there are {', '.join(method_names())}, and any "
            "sampler or loss named as package.module:Class."
        )
    if hasattr(find_class(path), "fit_resample"):
        return {"sampler": path}
    return {"classifier": {"loss": path}}


def _declared() -> set[str]:
    return {name for rule in _rules() for name in _values(rule.get("method", []))}


def _offered() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


@cache
def _rules() -> tuple[dict[str, Any], ...]:
    text = resources.files("mgvae_paper").joinpath("settings.toml").read_text(encoding="utf-8")
    rules = tomllib.loads(text)["rules"]
    for rule in rules:
        unknown = set(rule) - {*_CONDITIONS, *_EFFECTS}
        if unknown:
            raise ParameterError(f"settings.toml: a rule has the unknown keys {sorted(unknown)}.")
    return tuple(rules)


def _values(condition: str | list[str]) -> list[str]:
    return [condition] if isinstance(condition, str) else condition


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Join two trees of settings, the new ones winning."""
    joined = dict(old)
    for name, value in new.items():
        inner = isinstance(value, Mapping)
        joined[name] = _merged(joined.get(name, {}), value) if inner else value
    return joined
