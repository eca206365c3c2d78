"""Whether the outputs of the library are, bit for bit, what they were.

    python benchmarks/same_bits.py record FILE            # JSON: name -> sha256
    python benchmarks/same_bits.py check FILE             # exit code 1 if anything differs
    python benchmarks/same_bits.py check FILE --only 'cli-*'

Each configuration is a small function that uses the public interface only and gives named parts;
``configuration:part`` is one name in the file. What may rightly differ (times, dates, versions) is
left out before hashing. A configuration that raises is recorded as ``error: <type>``.

A file belongs to one machine, one torch and one numpy: record and check with the same ones. To
record another state of the code, put its ``src`` in PYTHONPATH; the first line says what is used.
"""

import argparse
import contextlib
import dataclasses
import fnmatch
import functools
import hashlib
import io
import json
import os
import re
import runpy
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import torch
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import mgvae
from mgvae import CGAN, CVAE, MGVAE, BalancedClassifier, TorchClassifier, balance_dataset

Parts = dict[str, Any]
CASES: dict[str, Callable[[], Parts]] = {}
FILES = Path(__file__).resolve().parent.parent / "tests" / "storage"
CHANGING = {"seconds", "created", "versions"}  # keys of plain data that differ between equal runs
SMALL = {"hidden_sizes": (16, 16), "batch_size": 32}
SHORT = {"pretrain_steps": 30, "finetune_steps": 15, "n_exemplars": 16, "latent_size": 3, **SMALL}
SHORT_CVAE = {"steps": 40, "latent_size": 3, **SMALL}
SHORT_CGAN = {"steps": 40, "noise_size": 8, "on_collapse": "warn", **SMALL}
SAMPLERS = {"mgvae": (MGVAE, SHORT), "cvae": (CVAE, SHORT_CVAE), "cgan": (CGAN, SHORT_CGAN)}


def case(name: str, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Declare a configuration: the function it stands above, called with these arguments."""

    def declare(function: Callable[..., Parts]) -> Callable[..., Parts]:
        assert name not in CASES, name
        CASES[name] = functools.partial(function, *args, **kwargs)
        return function

    return declare


def quick(name: str, **changes: Any) -> Any:
    """Make a sampler that trains for a moment."""
    made, short = SAMPLERS[name]
    return make(made, **{"random_state": 0, **short, **changes})


def make(made: Callable[..., Any], **settings: Any) -> Any:
    """Make a sampler; what is no parameter of MGVAE is an expert setting of it."""
    if made is not MGVAE and not isinstance(made, functools.partial):
        return made(**settings)
    known = MGVAE().get_params()
    if "likelihood" in settings and "likelihood" not in known:  # it was a parameter once
        likelihood = settings.pop("likelihood")
        settings |= {"table_likelihood": likelihood, "image_likelihood": likelihood}
    sampler = made(**{name: value for name, value in settings.items() if name in known})
    sampler.expert_settings = {k: v for k, v in settings.items() if k not in known}
    return sampler


# ---------------------------------------------------------------------------------------- hashing


def sha(value: Any) -> str:
    """Hash a value of any type that a part may have."""
    digest = hashlib.sha256()
    for piece in pieces(value):
        digest.update(piece)
    return digest.hexdigest()


def pieces(value: Any) -> Iterator[bytes]:
    """Return the bytes that make up a value, with what is needed to tell it from any other."""
    match value:
        case np.ndarray() | np.generic():
            yield f"array {value.dtype.str} {value.shape};".encode()
            if value.dtype.hasobject:
                yield repr(value.tolist()).encode()
            else:
                yield np.ascontiguousarray(value).tobytes()
        case torch.Tensor():
            yield from pieces(value.detach().cpu().numpy())
        case pd.DataFrame():
            yield from pieces(("pandas", repr(value.columns.tolist()), value.index))
            for j in range(value.shape[1]):
                yield from pieces(value.iloc[:, j])
        case pd.Series() | pd.Index():
            dtype = value.dtype
            levels = list(dtype.categories) if isinstance(dtype, pd.CategoricalDtype) else None
            yield from pieces((type(value).__name__, str(value.name), str(dtype), repr(levels)))
            if isinstance(dtype, np.dtype):
                yield from pieces(value.to_numpy())
            else:
                yield repr(value.tolist()).encode()
        case pl.DataFrame():
            for column in value.get_columns():
                yield from pieces(("polars", column.name, str(column.dtype)))
                yield repr(column.to_list()).encode()
        case pl.Series():
            yield from pieces(value.to_frame())
        case pa.Table():
            yield f"arrow {value.schema.to_string()};".encode()
            for column in value.columns:
                yield repr(column.to_pylist()).encode()
        case Path():
            if value.is_dir():
                for path in sorted(path for path in value.rglob("*") if path.is_file()):
                    yield from pieces((path.relative_to(value).as_posix(), path))
            else:
                yield from pieces(value.read_bytes())
        case bytes():
            yield b"bytes %d;" % len(value)
            yield value
        case Mapping():
            yield b"mapping %d;" % len(value)
            for key, item in value.items():
                yield from pieces(key)
                yield from pieces(item)
        case list() | tuple():
            yield b"sequence %d;" % len(value)
            for item in value:
                yield from pieces(item)
        case None | bool() | int() | float() | str():
            yield f"{type(value).__name__} {value!r};".encode()
        case _ if dataclasses.is_dataclass(value):
            yield from pieces(stripped(dataclasses.asdict(value)))
        case _:
            raise TypeError(f"no hash for {type(value)}")


def stripped(value: Any) -> Any:
    """Leave out of plain data what differs between equal runs."""
    if isinstance(value, Mapping):
        return {k: stripped(v) for k, v in value.items() if k not in CHANGING}
    return [stripped(item) for item in value] if isinstance(value, list | tuple) else value


def stripped_text(text: str) -> str:
    """Leave out of a text for people what differs between equal runs."""
    text = re.sub(r"\bin \d+(\.\d+)? s\b", "in _ s", text)
    text = re.sub(r"(?m)^Saved: .*$", "Saved: _", text)
    text = re.sub(r"Made by mgvae \S+\. ", "", text)
    return re.sub(r"(?s)<h3>Versions</h3>.*?</table>", "", text)


def model_content(path: str | Path) -> Parts:
    """Return tensors and metadata of a model file, without versions, date and checksum."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
        metadata = {key: text for key, text in file.metadata().items() if key != "sha256"}
    return {
        "tensors": tensors,
        "metadata": stripped({k: json.loads(metadata[k]) for k in metadata}),
    }


# ------------------------------------------------------------------------------------------- data


def numbers(n: int = 160, share: float = 0.8, seed: int = 0) -> tuple[Any, Any]:
    """Return a table of numbers with two classes."""
    return make_classification(n, 6, weights=[share], class_sep=1.5, random_state=seed)


def three_classes() -> tuple[Any, Any]:
    """Return a table with a majority and two smaller classes, labelled in words."""
    X, y = make_classification(
        180, 5, n_informative=4, n_redundant=0, n_classes=3, weights=[0.6, 0.25], random_state=1
    )
    return X, np.array(["much", "some", "rare"])[y]


def mixed_columns(n: int = 120) -> dict[str, Any]:
    """Return columns of every kind, with missing cells, as lists that any container takes."""
    rng = np.random.default_rng(5)
    days = np.datetime64("2021-03-01T00:00:00", "us") + rng.integers(0, 900, n) * 86_400_000_000
    return {
        "amount": [None if v < 7 else round(v, 2) for v in rng.lognormal(3, 1, n).tolist()],
        "visits": rng.poisson(4, n).tolist(),
        "since": days.astype("datetime64[us]").tolist(),
        "town": rng.choice(np.array(["Ulm", "Bonn", "Köln", None], object), n).tolist(),
        "member": (rng.random(n) < 0.4).tolist(),
        "score": rng.normal(size=n).tolist(),
        "customer_id": [f"C-{i:05}" for i in range(n)],
        "unit": ["EUR"] * n,
    }  # fmt: skip


def mixed_target(n: int = 120) -> list[str]:
    """Return the classes of the mixed table: every fifth row is of the minority."""
    return ["yes" if i % 5 == 0 else "no" for i in range(n)]


def mixed(container: str) -> tuple[Any, Any]:
    """Return the mixed table in a container, and its classes."""
    columns, y = mixed_columns(), mixed_target()
    if container == "polars":
        return pl.DataFrame(columns), pl.Series("y", y)
    if container == "arrow":
        return pa.table(columns), np.array(y)
    frame = pd.DataFrame(columns, index=[f"row {i}" for i in range(len(y))])
    frame["town"] = frame["town"].astype("category")
    return frame, pd.Series(y, index=frame.index, name="y")


def grey_images() -> tuple[Any, Any]:
    """Return scikit-learn's digits 3 and 8 as bytes, few of the second."""
    X, y = load_digits(return_X_y=True)
    few = np.concatenate([np.flatnonzero(y == 3)[:60], np.flatnonzero(y == 8)[:15]])
    return (X[few] * 15.9375).astype(np.uint8).reshape(-1, 8, 8), y[few]


def colour_images(side: int = 16) -> tuple[Any, Any]:
    """Return patches of colour: blue ones and a few red ones, channels last."""
    rng = np.random.default_rng(11)
    X = rng.integers(0, 60, (40, side, side, 3))
    y = np.repeat(["blue", "red"], [30, 10])
    X[:30, 2:9, 3:12, 2] += 180
    X[30:, 4:12, 2:10, 0] += 180
    return X.astype(np.uint8), y


def outcome(sampler: Any, X: Any, y: Any, label: Any = None) -> Parts:
    """Fit and resample; give all that a user can see of the result."""
    X_new, y_new = sampler.fit_resample(X, y)
    parts: Parts = {
        "X": X_new,
        "y": y_new,
        "sources": sampler.source_indices_,
        "anchors": sampler.anchor_indices_,
        "history": sampler.history_,
        "strategy": repr(sampler.sampling_strategy_),
        "classes": [sampler.classes_, str(sampler.majority_)],
        "ewc": getattr(sampler, "ewc_weights_", None),
    }
    made = [known for known, n in sampler.sampling_strategy_.items() if n > 0]
    if made:
        label = made[0] if label is None else label
        parts["generate"] = [
            sampler.generate(4, label),
            sampler.generate(3, label),
            sampler.generate(5, label, random_state=9),
            sampler.generate(7, label, random_state=9, partition=(1, 3)),
        ]
    return parts


def translated(sampler: Any, X: Any, y: Any) -> Parts:
    """Return the outcome, and translations of the first majority rows to the first other class."""
    parts = outcome(sampler, X, y)
    label = next(known for known, n in sampler.sampling_strategy_.items() if n > 0)
    rows = np.flatnonzero(np.asarray(y) == sampler.majority_)[:6]
    some = X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows.tolist()]
    again = [sampler.translate(some, label, random_state=4), sampler.translate(some, label)]
    return {**parts, "translate": again}


# ------------------------------------------------------------------------- samplers: true defaults


@case("default-mgvae-seed0", MGVAE, 0)
@case("default-mgvae-seed1", MGVAE, 1)
@case("default-cvae", CVAE, 0)
def default_fit(made: Any, seed: int) -> Parts:
    """Fit a table of 300 rows with nothing but a seed."""
    X, y = make_classification(300, 8, weights=[0.88], random_state=seed)
    return outcome(made(random_state=seed), X, y)


@case("default-networks-cgan")
def default_networks_cgan() -> Parts:
    """Fit a CGAN with its own networks, for a tenth of its steps."""
    return outcome(CGAN(random_state=0, steps=150, on_collapse="warn"), *numbers(300))


@case("default-mgvae-mixed")
def default_mixed() -> Parts:
    """Fit a mixed pandas table with nothing but a seed."""
    return outcome(MGVAE(random_state=2), *mixed("pandas"))


# --------------------------------------------------------------------------- samplers × containers


def declare_containers() -> None:
    """Declare every sampler on every container, and on two seeds."""
    for name in SAMPLERS:
        for seed in (0, 1):
            case(f"float64-{name}-seed{seed}", name, "float64", seed)(in_container)
        for container in ("float32", "pandas", "polars", "arrow"):
            case(f"{container}-{name}", name, container)(in_container)
        case(f"grey-{name}", name, "grey")(in_container)
        case(f"colour-{name}", name, "colour")(in_container)


def in_container(name: str, container: str, seed: int = 0) -> Parts:
    """Fit a sampler for a moment on data in a container."""
    thin = {"network_width": 0.1} if container == "colour" else {}
    sampler = quick(name, random_state=seed, **thin)
    if container in ("float64", "float32"):
        X, y = numbers()
        X = X.astype(container)
    elif container == "grey":
        X, y = grey_images()
    elif container == "colour":
        X, y = colour_images()
    else:
        X, y = mixed(container)
        return outcome(sampler, X, y) | {"columns": repr(sampler.codec_.describe())}
    return outcome(sampler, X, y) if name == "cgan" else translated(sampler, X, y)


declare_containers()


@case("list-of-lists")
def list_of_lists() -> Parts:
    """Fit rows of Python values; what comes out are such rows."""
    X, y = mixed("pandas")
    rows = X.drop(columns="since").astype(object).where(X.notna(), None).to_numpy().tolist()
    X_new, y_new = quick("mgvae").fit_resample(rows, y.tolist())
    return {"X": repr(X_new), "y": repr(list(y_new))}


@case("pandas-indexes")
def pandas_indexes() -> Parts:
    """Fit frames whose index is of whole numbers, of dates and of two levels."""
    X, y = numbers(80)
    found = {}
    indexes = {
        "numbers": pd.RangeIndex(5, 85),
        "dates": pd.date_range("2020-01-01", periods=80, freq="D"),
        "levels": pd.MultiIndex.from_product([range(8), list("abcdefghij")]),
    }
    for name, index in indexes.items():
        frame = pd.DataFrame(X, index=index, columns=[f"x{j}" for j in range(X.shape[1])])
        found[name] = outcome(quick("mgvae"), frame, y)["X"]
    return found


# ----------------------------------------------------------------------------------- MGVAE: options


@case("bridge-seed3", generation="bridge", random_state=3)
@case("translate-seed0", generation="translate")
@case("translate-seed3", generation="translate", random_state=3)
@case("responsibility-seed0", generation="responsibility")
@case("responsibility-seed3", generation="responsibility", random_state=3)
@case("prior-standard", prior="standard", generation="translate")
@case("posterior-shared", posterior_variance="shared", leave_one_out=False)
@case("remembered", n_remembered=50, generation="translate")
@case("squared-error-symmetric", likelihood="squared_error", scaling="symmetric")
@case("bernoulli-minmax", likelihood="bernoulli", scaling="minmax", generation="translate")
@case("identity-mean", scaling="identity", decoder_output="mean", generation="translate")
@case("temperature-zero", temperature=0.0, generation="translate")
@case("temperature-two-bridge", temperature=2.0)
@case("rejection-bridge", rejection=0.3)
@case("rejection-translate", rejection=0.3, generation="translate", decoder_output="sample")
@case(
    "early-stopping",
    early_stopping=True,
    finetune_steps=100,
    finetune_learning_rate=0.03,
    patience=1,
)
@case("ewc-none", ewc_weight=0)
@case("ewc-fixed", ewc_weight=25.0, fisher_samples=10)
@case("constant-schedule-clipped", schedule="constant", clip_norm=0.5)
@case("epochs", pretrain_steps="4 epochs", finetune_steps="6 epochs")
@case("no-pretraining", pretrain_steps=0)
@case("strategy-ratio", sampling_strategy=0.6)
@case("strategy-dict", sampling_strategy={1: 50})
@case("learning-rates", pretrain_learning_rate=5e-3, finetune_learning_rate=5e-4)
def with_option(**changes: Any) -> Parts:
    """Fit a small table, enough rows of its minority for every option, with some settings."""
    return translated(quick("mgvae", **changes), *numbers())


@case("mixed-translate", generation="translate")
@case("mixed-responsibility", generation="responsibility", rejection=0.2)
@case("mixed-kinds", column_types={"visits": "categorical", "score": "ordinal"})
@case("mixed-identifiers-missing", identifiers="missing")
def with_mixed_option(**changes: Any) -> Parts:
    """Fit the mixed pandas table with some settings."""
    return translated(quick("mgvae", **changes), *mixed("pandas"))


@case("random-states")
def random_states() -> Parts:
    """Fit with every kind of random state, and generate with them."""
    states = {
        "number": lambda: np.int64(4),
        "legacy": lambda: np.random.RandomState(4),
        "generator": lambda: np.random.default_rng(4),
    }
    found = {}
    for name, state in states.items():
        sampler = quick("mgvae", random_state=state())
        found[name] = outcome(sampler, *numbers(80))
        found[f"{name}-later"] = sampler.generate(4, 1, random_state=state())
    return found


@case("callback")
def callback() -> Parts:
    """Note all that a callback is told, and that telling changes nothing."""
    told: list[Any] = []

    def note(stage: str, done: int, total: int, terms: Mapping[str, float]) -> None:
        told.append([stage, done, total, {k: float(v) for k, v in terms.items()}])

    return outcome(quick("mgvae", callback=note), *numbers()) | {"told": told}


# ------------------------------------------------------------------------- classes and few rows


@case("three-classes-mgvae", "mgvae")
@case("three-classes-cvae", "cvae")
@case("three-classes-cgan", "cgan")
@case("three-classes-dict", "mgvae", sampling_strategy={"rare": 60, "some": 50})
@case("three-classes-minority", "mgvae", sampling_strategy="minority")
@case("three-classes-all", "mgvae", sampling_strategy={"rare": 40, "much": 120}, seed=5)
def several_classes(name: str, seed: int = 0, **changes: Any) -> Parts:
    """Fit three classes, labelled in words."""
    return outcome(quick(name, random_state=seed, **changes), *three_classes())


@case("target-containers")
def target_containers() -> Parts:
    """Fit with flags, one column per class, and polars or pandas labels."""
    X, y = numbers(80)
    X3, y3 = three_classes()
    targets = {
        "flags": (X, y.astype(bool)),
        "category": (X, pd.Series(y, name="t").map({0: "a", 1: "b"}).astype("category")),
        "polars": (pl.DataFrame(X), pl.Series("t", y)),
        "one column per class": (X3, (y3[:, None] == np.unique(y3)).astype(int)),
    }
    found = {name: quick("mgvae").fit_resample(*data) for name, data in targets.items()}
    return {name: list(pair) for name, pair in found.items()}


@case("few-rows-1-mgvae", "mgvae", 1)
@case("few-rows-2-mgvae", "mgvae", 2)
@case("few-rows-1-translate", "mgvae", 1, generation="translate", early_stopping=True)
@case("few-rows-2-cvae", "cvae", 2)
@case("few-rows-2-cgan", "cgan", 2)
def few_rows(name: str, count: int, **changes: Any) -> Parts:
    """Fit a minority of hardly any row."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50 + count, 3))
    return outcome(quick(name, **changes), X, np.repeat([0, 1], [50, count]))


@case("nothing-to-do")
def nothing_to_do() -> Parts:
    """Fit classes that are balanced already, and a table whose columns hold one value each."""
    rng = np.random.default_rng(3)
    even = outcome(quick("mgvae"), rng.normal(size=(20, 2)), np.repeat([0, 1], 10))
    flat = outcome(quick("mgvae"), np.full((20, 2), 7.0), np.repeat([0, 1], [15, 5]))
    return {"even": even, "flat": flat}


# ---------------------------------------------------------------------------- presets and images


@case("paper-tables-seed0", 0)
@case("paper-tables-seed1", 1)
def paper_tables(seed: int) -> Parts:
    """Fit the published settings for tables, for few epochs."""
    short = {"pretrain_steps": "6 epochs", "finetune_steps": "8 epochs", "fisher_samples": 20}
    sampler = make(functools.partial(MGVAE.from_preset, "paper-tables"), random_state=seed, **short)
    return translated(sampler, *numbers(200))


@case("paper-images-seed0", 0)
@case("paper-images-seed1", 1)
def paper_images(seed: int) -> Parts:
    """Fit the published settings for small images, for few steps."""
    short = {"pretrain_steps": 4, "finetune_steps": 4, "fisher_samples": 10}
    sampler = make(functools.partial(MGVAE.from_preset, "paper-images"), random_state=seed, **short)
    return translated(sampler, *grey_images())


@case("paper-faces")
def paper_faces() -> Parts:
    """Fit the published settings for faces, with thin networks and few steps."""
    short = {"pretrain_steps": 3, "finetune_steps": 3, "fisher_samples": 4, "network_width": 0.1}
    sampler = make(functools.partial(MGVAE.from_preset, "paper-faces"), random_state=0, **short)
    return translated(sampler, *colour_images())


@case("images-defaults", "grey", latent_size="auto", hidden_sizes="auto", n_exemplars="auto")
@case("images-bridge", "grey", generation="bridge")
@case("images-responsibility", "grey", generation="responsibility")
@case("images-residual", "colour", network="residual", network_width=0.1)
@case("images-cnn-bridge", "colour", network="cnn", network_width=0.1, generation="bridge")
@case("images-bfloat16", "grey", precision="bfloat16")
@case("images-squared-error", "grey", likelihood="squared_error", decoder_output="sample")
def with_image_option(which: str, **changes: Any) -> Parts:
    """Fit images with some settings."""
    return translated(
        quick("mgvae", **changes), *(grey_images if which == "grey" else colour_images)()
    )


@case("images-shapes")
def image_shapes() -> Parts:
    """Fit images as rows of pixels, as floats with channels first, and larger grey ones."""
    X, y = grey_images()
    C, c = colour_images()
    large = np.repeat(np.repeat(X[:, :, :], 5, 1), 5, 2)
    thin = {"pretrain_steps": 8, "finetune_steps": 6, "network_width": 0.1}
    first = np.moveaxis(C, -1, 1).astype(np.float32) / 255
    return {
        "rows": outcome(quick("mgvae", sample_shape=(8, 8)), X.reshape(len(X), -1) / 255.0, y),
        "first": outcome(quick("mgvae", sample_shape="channels_first", **thin), first, c),
        "large": outcome(quick("mgvae", **thin), large, y),
        "dcgan": outcome(quick("cgan", steps=4, network="dcgan", network_width=0.05), C, c),
        "cnn cvae": outcome(quick("cvae", steps=6, network="cnn", network_width=0.1), X, y),
    }


@case("images-grid")
def images_grid() -> Parts:
    """Draw a picture of translations by two samplers."""
    from mgvae.images import grid

    X, y = grey_images()
    samplers = {name: quick(name).fit(X, y) for name in SAMPLERS}
    return {"picture": np.asarray(grid(samplers, X[:3], columns=3, random_state=1))}


@case("balanced-dataset")
def balanced_dataset() -> Parts:
    """Go twice through a torch data set that is balanced as it is read."""
    from torch.utils.data import DataLoader, TensorDataset

    from mgvae.datasets import BalancedDataset

    X, y = grey_images()
    real = TensorDataset(torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y))
    balanced = BalancedDataset(real, quick("mgvae").fit(X, y), random_state=0)
    return {f"epoch {i}": [list(batch) for batch in DataLoader(balanced, 50)] for i in range(2)}


# ------------------------------------------------------------------------- files and checkpoints


@case("save-mgvae-numbers", "mgvae", "numbers")
@case("save-mgvae-translate", "mgvae", "numbers", generation="translate")
@case("save-mgvae-responsibility", "mgvae", "three", generation="responsibility")
@case("save-mgvae-pandas", "mgvae", "pandas")
@case("save-mgvae-polars", "mgvae", "polars")
@case("save-mgvae-images", "mgvae", "grey")
@case("save-cvae-arrow", "cvae", "arrow")
@case("save-cgan-colour", "cgan", "colour", network_width=0.05, steps=3)
def save_and_load(name: str, which: str, **changes: Any) -> Parts:
    """Save a fitted sampler; give what is in the file, and what it makes once loaded."""
    data = {
        "numbers": numbers,
        "three": three_classes,
        "grey": grey_images,
        "colour": colour_images,
    }
    X, y = data[which]() if which in data else mixed(which)
    sampler = quick(name, **changes).fit(X, y)
    label = next(known for known, n in sampler.sampling_strategy_.items() if n > 0)
    sampler.generate(2, label)
    sampler.save("model.safetensors")
    again = type(sampler).load("model.safetensors")
    made = [again.generate(6, label, random_state=1), again.generate(3, label)]
    return model_content("model.safetensors") | {"made": made, "settings": repr(again)}


@case("load-v1", 1)
@case("load-v2", 2)
def load_earlier(version: int) -> Parts:
    """Load a file of an earlier version; generate, and save it anew."""
    sampler = MGVAE.load(FILES / f"model-v{version}.safetensors")
    made = [sampler.generate(40, "yes", random_state=0), sampler.generate(5, "yes")]
    part = sampler.generate(9, "yes", random_state=0, partition=(2, 4))
    sampler.save("again.safetensors")
    return {"made": made, "part": part} | model_content("again.safetensors")


class CutOffError(Exception):
    """What ends a run in the middle."""


@case("checkpoint-mgvae", "mgvae", (20, 50))
@case("checkpoint-mgvae-stopping", "mgvae", (40, 60), early_stopping=True, ewc_weight=1.0)
@case("checkpoint-cvae", "cvae", (25,))
@case("checkpoint-cgan", "cgan", (25,))
def checkpoints(name: str, cuts: Iterable[int], **changes: Any) -> Parts:
    """Cut a run off after some steps, as often as told; give what it ends with."""
    X, y = three_classes()
    settings = {"checkpoint": ("run", 0.0), **changes}
    for cut in cuts:
        left = cut

        def count(*_: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise CutOffError

        with contextlib.suppress(CutOffError):
            quick(name, callback=count, **settings).fit(X, y)
    resumed = outcome(quick(name, **settings), X, y)
    once_more = outcome(quick(name, **settings), X, y)
    plain = outcome(quick(name, **changes), X, y)
    files = sorted(path.name for path in Path("run").iterdir())
    return {"resumed": resumed, "once more": once_more, "plain": plain, "files": files}


# --------------------------------------------------------------------------------------- streams


def mixed_table() -> pa.Table:
    """Return the mixed table with its classes as one more column."""
    return pa.table(mixed_columns() | {"y": mixed_target()})


@case("stream-parquet", "parquet", "mgvae")
@case("stream-table-marked", "table", "mgvae", mark="source", only_synthetic=True)
@case("stream-dataset-cvae", "dataset", "cvae")
@case("stream-iterator-cgan", "iterator", "cgan", mark="source")
def stream(kind: str, name: str, **changes: Any) -> Parts:
    """Balance a table on disk or in batches into a Parquet file."""
    table = mixed_table()
    if kind == "parquet":
        pq.write_table(table, "in.parquet", row_group_size=37)
    if kind == "dataset":
        Path("in").mkdir()
        for i in range(3):
            pq.write_table(table.slice(40 * i, 40), f"in/{i}.parquet")
    sources = {
        "parquet": lambda: "in.parquet",
        "table": lambda: table,
        "dataset": lambda: pyarrow.dataset.dataset("in"),
        "iterator": lambda: iter(table.to_batches(max_chunksize=17)),
    }
    sampler = balance_dataset(sources[kind](), "y", "out.parquet", quick(name), **changes)
    made = sampler.generate(5, "yes", random_state=0)
    return {"file": Path("out.parquet"), "rows": pq.read_table("out.parquet"), "made": made}


# ----------------------------------------------------------------------------------- classifiers


@case("classifier-ce", loss="ce")
@case("classifier-rw", loss="rw")
@case("classifier-cbrw", loss="cbrw")
@case("classifier-focal", loss="focal")
@case("classifier-ldam", loss="ldam")
@case("classifier-double-softmax", paper_double_softmax=True)
@case("classifier-sgd-weights", optimizer="sgd", class_weight="balanced", weight_decay=1e-3)
@case("classifier-held-out", validation_fraction=0.3, patience=2, epochs=12)
@case("classifier-held-out-loss", validation_fraction=0.3, selection="loss", loss="focal")
def classifier(**changes: Any) -> Parts:
    """Train the perceptron on three classes, with float64 and with float32 rows."""
    X, y = three_classes()
    found = {}
    for dtype in ("float64", "float32"):
        model = TorchClassifier(**{"epochs": 6, "random_state": 0, **changes})
        model.fit(X.astype(dtype), y)
        found[dtype] = [model.predict_proba(X.astype(dtype)), model.predict(X.astype(dtype))]
        found[f"{dtype}-history"] = model.history_
    return found


@case("classifier-sampler", "mgvae")
@case("classifier-sampler-borrowed", "mgvae", borrowed=1.0, synthetic_share=0.7)
@case("classifier-sampler-cvae", "cvae", validation_fraction=0.25)
def classifier_with_sampler(name: str, **changes: Any) -> Parts:
    """Train on epochs that a sampler balances, each anew."""
    X, y = three_classes()
    sampler = quick(name, random_state=None)
    model = TorchClassifier(sampler=sampler, epochs=4, random_state=1, **changes).fit(X, y)
    return {"proba": model.predict_proba(X), "history": model.history_}


@case("classifier-resnet20")
@case("classifier-resnet20-sampler", sampler=True, loss="ldam")
def classifier_of_images(sampler: bool = False, **changes: Any) -> Parts:
    """Train the residual network on tiny images."""
    X, y = grey_images()
    maker = quick("mgvae") if sampler else None
    model = TorchClassifier("resnet20", epochs=2, batch_size=40, random_state=0, sampler=maker,
                            **changes).fit(X, y)  # fmt: skip
    return {"proba": model.predict_proba(X), "history": model.history_}


@case("balanced-classifier")
@case("balanced-classifier-none", correct="none")
@case("balanced-classifier-sigmoid", calibration="sigmoid", random_state=3)
@case("balanced-classifier-isotonic", calibration="isotonic", random_state=3, decide="corrected")
def balanced_classifier(**changes: Any) -> Parts:
    """Train on resampled rows, with probabilities for the true shares of the classes."""
    X, y = three_classes()
    model = BalancedClassifier(LogisticRegression(), quick("mgvae"), **changes).fit(X, y)
    shares = [model.priors_, model.resampled_priors_]
    return {"proba": model.predict_proba(X), "predict": model.predict(X), "shares": shares}


@case("losses")
def losses() -> Parts:
    """Work out every loss with its gradient, and the weights of classes."""
    from mgvae.losses import CosineLinear, FocalLoss, LDAMLoss, class_weights

    rng = np.random.default_rng(0)
    target = torch.from_numpy(rng.integers(0, 3, 20))
    counts = [90, 9, 1]
    weights = class_weights(counts, "effective", beta=0.99)
    found: Parts = {"weights": [class_weights(counts), weights]}
    made = {
        "focal": FocalLoss(gamma=2.0, weight=weights),
        "focal sum": FocalLoss(gamma=0.5, reduction="sum"),
        "ldam": LDAMLoss(counts, weight=weights),
        "ldam none": LDAMLoss(counts, reduction="none"),
    }
    for name, loss in made.items():
        logits = torch.from_numpy(rng.normal(size=(20, 3)))
        logits = (logits.tanh() if "ldam" in name else logits).requires_grad_()
        value = loss(logits, target)
        value.sum().backward()
        found[name] = [value, logits.grad]
    layer = CosineLinear(4, 3)
    layer.initialise(torch.Generator().manual_seed(0))
    found["cosine"] = layer(torch.from_numpy(rng.normal(size=(5, 4)).astype(np.float32)))
    return found


@case("metrics")
def metrics() -> Parts:
    """Work out every metric on labels drawn at random."""
    from mgvae import metrics as m

    rng = np.random.default_rng(0)
    true = rng.choice(["a", "b", "c"], 200, p=[0.7, 0.25, 0.05])
    said = np.where(rng.random(200) < 0.7, true, rng.choice(["a", "b", "c"], 200))
    found: Parts = {
        name: getattr(m, name)(true, said)
        for name in ("accuracy", "acsa", "geometric_mean", "confusion_matrix", "per_class_recall")
    }
    for name in ("batched_acsa", "batched_geometric_mean"):
        found[name] = getattr(m, name)(true, said, random_state=1, batch_size=30)
    found["recall_at"] = m.recall_at(true == "b", rng.random(200), majority_recall=0.8)
    model = LogisticRegression().fit(*numbers())
    found["scorers"] = {k: float(v(model, *numbers(seed=1))) for k, v in m.scorers().items()}
    return found


# ----------------------------------------------------------------------------- report and compare


def without_times(report: Any) -> Any:
    """Return a quality report without times and versions."""
    training = [dataclasses.replace(stage, seconds=0.0) for stage in report.training]
    return dataclasses.replace(report, training=training, versions={"mgvae": "_"})


@case("quality-mixed", "mixed")
@case("quality-images", "grey")
@case("quality-held-out", "held out")
def quality_report(which: str) -> Parts:
    """Judge new rows; give the report as JSON and as a page."""
    from mgvae.report import quality

    sampler = quick("mgvae")
    if which == "mixed":
        table = mixed_table()
        X, y = table.drop_columns("y"), np.array(mixed_target())
        X_new, y_new = sampler.fit_resample(X, y)
        new = X_new.slice(len(y)).append_column("y", pa.array(y_new[len(y) :]))
        target, real, more = "y", table, {}
    else:
        X, y = grey_images() if which == "grey" else three_classes()
        X_new, y_new = sampler.fit_resample(X, y)
        real, new, target, more = X, X_new[len(y) :], (y, y_new[len(y) :]), {}
        if which == "held out":
            target, more = (*target, y[::4]), {"held_out": X[::4] + 0.01}
    sources = sampler.source_indices_[len(y) :]
    report = without_times(
        quality(real, new, target=target, sources=sources, sampler=sampler, **more)
    )
    return {"json": report.to_json(), "html": report.to_html()}


@case("compare")
def compare_numbers() -> Parts:
    """Compare the default methods on a small table."""
    from mgvae.compare import compare

    X, y = numbers(90)
    found = compare(X, y, models=("logistic",), folds=2, repeats=1, random_state=3, jobs=1)
    clean = stripped(json.loads(found.to_json()))
    return {"json": clean, "verdicts": found.verdicts}


@case("compare-mixed-groups")
def compare_mixed() -> Parts:
    """Compare over-samplers of old on a mixed table, with rows that stay together."""
    from mgvae.compare import compare

    X, y = mixed("pandas")
    methods = ("class weights", "ROS", "SMOTE")
    groups = np.arange(len(y)) // 2
    found = compare(X, y, models=("logistic", "knn"), methods=methods, folds=2,
                    repeats=1, groups=groups, jobs=1, target="answer")  # fmt: skip
    return {"json": stripped(json.loads(found.to_json()))}


# ----------------------------------------------------------------------------- the command line


def command(*arguments: str) -> Parts:
    """Run ``python -m mgvae`` in this process, which spares many imports of torch."""
    argv, out, err = sys.argv, sys.stdout, sys.stderr
    with tempfile.TemporaryFile("w+b") as stdout, tempfile.TemporaryFile("w+b") as stderr:
        try:
            sys.argv = ["mgvae", *arguments]
            sys.stdout = io.TextIOWrapper(stdout, "utf-8", write_through=True)
            sys.stderr = io.TextIOWrapper(stderr, "utf-8", write_through=True)
            runpy.run_module("mgvae", run_name="__main__")
            code: Any = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            new_out, new_err = sys.stdout, sys.stderr
            sys.argv, sys.stdout, sys.stderr = argv, out, err
            texts = []
            for file, wrapper in ((stdout, new_out), (stderr, new_err)):
                wrapper.flush()
                file.seek(0)
                texts.append(file.read())
                wrapper.detach()
    return {"code": code, "stdout": texts[0], "stderr": texts[1]}


def told(*arguments: str) -> str:
    """Run a command that must succeed; give what it prints, without times."""
    done = command(*arguments)
    assert done["code"] == 0, done["stderr"].decode()
    return stripped_text(done["stdout"].decode())


def told_json(*arguments: str) -> Any:
    """Run a command that must succeed and prints JSON; give it without times."""
    return stripped(json.loads(told(*arguments, "--json")))


STEPS = ("--pretrain-steps", "30", "--finetune-steps", "15", "--seed", "7")


def write_csv(path: str) -> None:
    """Write the mixed table as people would: semicolons, decimal commas, marks for missing."""
    columns = mixed_columns() | {"note": ["=1+1", "plain", "-x"] * 40, "answer": mixed_target()}
    lines = [";".join(columns)]
    for row in zip(*columns.values(), strict=True):
        cells = []
        for value in row:
            text = "?" if value is None else str(value)
            cells.append(text.replace(".", ",") if isinstance(value, float) else text)
        lines.append(";".join(cells))
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_pictures(folder: str) -> None:
    """Write a folder of PNG images with one folder per class, and one that is damaged."""
    from PIL import Image

    X, y = grey_images()
    for i, (pixels, label) in enumerate(zip(X[25:], y[25:], strict=True)):
        place = Path(folder, f"digit {label}")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).resize((16, 16)).save(place / f"{i:03}.png")
    Path(folder, "digit 3", "damaged.png").write_bytes(b"\x89PNG\r\n")


@case("cli-balance-csv")
def cli_csv() -> Parts:
    """Balance a CSV file, with marks, a page and a model file."""
    write_csv("in.csv")
    text = told("balance", "in.csv", "-t", "answer", "-o", "out.csv", "--missing", "?", *STEPS,
                "--mark-synthetic", "--report", "page.html", "--save-model", "m.safetensors",
                "--type", "visits=categorical", "--csv-formulas", "escape")  # fmt: skip
    page = stripped_text(Path("page.html").read_text(encoding="utf-8"))
    found = {"text": text, "file": Path("out.csv"), "page": page}
    return found | model_content("m.safetensors")


@case("cli-balance-csv-options")
def cli_csv_options() -> Parts:
    """Balance a CSV file to other formats, with a strategy and columns left out."""
    write_csv("in.csv")
    base = ("balance", "in.csv", "-t", "answer", "--missing", "?", *STEPS)
    found: Parts = {"dry run": told(*base, "--dry-run"), "dry": told_json(*base, "--dry-run")}
    found["json"] = told_json(*base, "-o", "out.tsv", "--strategy", '{"yes": 50}',
                              "--drop", "note", "--identifiers", "missing")  # fmt: skip
    found["only"] = told(*base, "-o", "-", "--only-synthetic", "--mark-name", "from")
    steps = ("--pretrain-steps", "2 epochs", "--finetune-steps", "6")
    told(*base, "-o", "paper.csv", "--preset", "paper-tables", "--strategy", "0.4", *steps)
    return found | {"tsv": Path("out.tsv"), "paper": Path("paper.csv")}


@case("cli-balance-parquet")
def cli_parquet() -> Parts:
    """Balance a Parquet file into Parquet and Feather."""
    pq.write_table(mixed_table(), "in.parquet")
    base = ("balance", "in.parquet", "-t", "y", "-q", "--mark-synthetic", *STEPS)
    told(*base, "-o", "out.parquet", "--checkpoint", "run")
    told(*base, "-o", "out.feather")
    return {"parquet": Path("out.parquet"), "feather": Path("out.feather")}


@case("cli-balance-jsonl")
def cli_jsonl() -> Parts:
    """Balance a file of JSON lines."""
    columns = mixed_columns() | {"y": mixed_target()}
    columns["since"] = [str(day) for day in columns["since"]]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = told("balance", "in.jsonl", "-t", "y", "-o", "out.jsonl", *STEPS)
    return {"text": text, "file": Path("out.jsonl")}


@case("cli-balance-images-grid")
def cli_images() -> Parts:
    """Balance a folder of images, look at the model, and draw a grid with it."""
    write_pictures("in")
    base = ("balance", "in", "--size", "16", *STEPS)
    report = told_json(*base, "-o", "out", "--save-model", "m.safetensors")
    text = told(*base, "-o", "new", "--only-synthetic", "--network", "mlp", "--report", "p.html")
    told("grid", "in", "m.safetensors", "-o", "grid.png", "--rows", "3", "--columns", "4", "-q")
    told("grid", "in", "m.safetensors", "-o", "bare.png", "--no-reference", "--label", "digit 8")
    page = stripped_text(Path("p.html").read_text(encoding="utf-8"))
    return {
        "json": report, "text": text, "out": Path("out"), "new": Path("new"), "page": page,
        "grid": Path("grid.png"), "bare": Path("bare.png"), "info": told("info", "m.safetensors"),
    }  # fmt: skip


@case("cli-sample-info")
def cli_sample() -> Parts:
    """Look at model files and make rows of them, in one file and in several."""
    found: Parts = {}
    for version in (1, 2):
        name = f"model-v{version}.safetensors"
        Path(name).write_bytes((FILES / name).read_bytes())
        found[f"info {version}"] = told("info", name)
        found[f"json {version}"] = told_json("info", name)
        told("sample", name, "-n", "30", "--seed", "3", "-o", f"{version}.csv", "-q")
        found[f"csv {version}"] = Path(f"{version}.csv")
    base = ("sample", "model-v2.safetensors", "-n", "20", "--label", "yes", "--seed", "3")
    found["said"] = told(*base, "--partitions", "3", "--target", "y", "-o", "parts")
    found["stdout"] = told(*base, "-o", "-", "--output-format", "jsonl")
    found["json"] = told_json(*base, "-o", "one.parquet")
    return found | {"parts": Path("parts"), "parquet": Path("one.parquet")}


@case("cli-report-compare")
def cli_report() -> Parts:
    """Judge files of rows, and compare methods on one, by commands."""
    write_csv("in.csv")
    base = ("-t", "answer", "--missing", "?")
    told("balance", "in.csv", *base, "-o", "out.csv", "-q", "--mark-synthetic", *STEPS)
    report = told_json("report", "in.csv", "out.csv", *base)
    text = told("report", "in.csv", "out.csv", *base, "-o", "page.html")
    compared = told_json("compare", "in.csv", *base, "--method", "ROS", "--model", "logistic",
                         "--folds", "2", "--repeats", "1", "--seed", "2")  # fmt: skip
    page = stripped_text(Path("page.html").read_text(encoding="utf-8"))
    return {"report": report, "text": text, "page": page, "compare": compared}


@case("cli-help")
def cli_help() -> Parts:
    """Ask every command for help, and the benchmarks for their lists."""
    commands = ("balance", "report", "info", "sample", "grid", "compare", "bench", "bench run")
    found = {name: told(*name.split(), "--help") for name in commands}
    found |= {"mgvae": told("--help"), "list": told("bench", "list")}
    return found | {"status": told("bench", "status", "--results", "none")}


@case("cli-errors")
def cli_errors() -> Parts:
    """Use commands wrongly: exit codes and what is said."""
    write_csv("in.csv")
    Path("broken.safetensors").write_bytes(b"nothing")
    wrong = {
        "no target": ("balance", "in.csv", "-o", "out.csv"),
        "no such target": ("balance", "in.csv", "-t", "none", "-o", "out.csv"),
        "no such file": ("balance", "none.csv", "-t", "y", "-o", "out.csv"),
        "exists": ("balance", "in.csv", "-t", "answer", "-o", "in.csv"),
        "no such preset": ("balance", "in.csv", "-t", "answer", "-o", "o.csv", "--preset", "x"),
        "no such label": ("sample", "m.safetensors", "-n", "3", "--label", "x", "-o", "o.csv"),
        "broken": ("info", "broken.safetensors"),
        "no such option": ("balance", "--nonsense"),
    }
    Path("m.safetensors").write_bytes((FILES / "model-v2.safetensors").read_bytes())
    return {name: command(*arguments) for name, arguments in wrong.items()}


@case("errors")
def errors() -> Parts:
    """Use the library wrongly: types of errors and what they say."""
    X, y = numbers(60)
    fitted, gan = quick("mgvae").fit(X, y), quick("cgan").fit(X, y)
    fitted.save("model.safetensors")
    calls: dict[str, Callable[[], Any]] = {
        "not fitted": lambda: MGVAE().generate(3, 1),
        "parameter": lambda: MGVAE(latent_size=0).fit(X, y),
        "preset": lambda: MGVAE.from_preset("none"),
        "standard bridge": lambda: quick("mgvae", prior="standard", generation="bridge").fit(X, y),
        "label": lambda: fitted.generate(3, 7),
        "count": lambda: fitted.generate(-1, 1),
        "partition": lambda: fitted.generate(3, 1, partition=(0, 2)),
        "columns": lambda: fitted.translate(X[:, :2], 1),
        "lengths": lambda: quick("mgvae").fit(X, y[:-1]),
        "one class": lambda: quick("mgvae").fit(X, np.zeros(60, int)),
        "infinite": lambda: quick("mgvae").fit(np.where(X > 2, np.inf, X), y),
        "gan": lambda: gan.translate(X[:2], 1),
        "other class": lambda: CVAE.load("model.safetensors"),
        "bernoulli": lambda: quick("mgvae", likelihood="bernoulli").fit(X, y),
        "classifier": lambda: TorchClassifier(loss="none").fit(X, y),
        "stream": lambda: balance_dataset(mixed_table(), "none", "out.parquet"),
    }
    found = {}
    for name, call in calls.items():
        try:
            call()
            found[name] = "no error"
        except Exception as error:  # noqa: BLE001 (what it is, is the outcome)
            found[name] = f"{type(error).__name__}: {error}"
    return found


# ---------------------------------------------------------------------------------------- running


def run(name: str) -> dict[str, str]:
    """Run a configuration in a folder of its own; give the hashes of its parts."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        warnings.catch_warnings(record=True) as seen,
    ):
        warnings.simplefilter("always")
        try:
            parts = CASES[name]()
            said = [
                f"{one.category.__name__}: {one.message}"
                for one in seen
                if one.category.__module__.split(".")[0] == "mgvae"
            ]
            parts |= {"warnings": said} if said else {}
            return {f"{name}:{part}": sha(value) for part, value in parts.items()}
        except Exception as error:  # noqa: BLE001 (one failure must not hide the others)
            traceback.print_exc()
            return {name: f"error: {type(error).__name__}"}


def run_all(names: Iterable[str]) -> dict[str, str]:
    """Run configurations, telling how long each takes."""
    found, started = {}, time.perf_counter()
    for name in names:
        before = time.perf_counter()
        found |= run(name)
        print(f"{time.perf_counter() - before:6.1f} s  {name}", file=sys.stderr, flush=True)
    print(f"{time.perf_counter() - started:6.1f} s  in all", file=sys.stderr)
    return found


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return a line for each name whose hash changed or is missing."""
    lines = [f"missing  {name}" for name in before if name not in now]
    return lines + [
        f"changed  {name}" for name in before if name in now and now[name] != before[name]
    ]


def main() -> int:
    """Record or check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["record", "check", "list"])
    parser.add_argument("file", type=Path, nargs="?", help="JSON file of hashes by name")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="such as 'cli-*'")
    given = parser.parse_args()
    names = [name for name in CASES if fnmatch.fnmatch(name, given.only)]
    if given.action == "list":
        print("\n".join(names))
        return 0
    if given.file is None:
        parser.error("say which FILE")
    file = given.file.resolve()
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if given.action == "check" and not known:
        parser.error(f"{file} has nothing to check")
    chosen = {k: v for k, v in known.items() if fnmatch.fnmatch(k.split(":")[0], given.only)}

    print(f"mgvae of {Path(mgvae.__file__).parent}", file=sys.stderr)
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "CUDA_VISIBLE_DEVICES": ""}
    torch.set_num_threads(1)
    with threadpool_limits(1):
        now = run_all(names)
    if given.action == "record":
        rest = {} if given.only == "*" else {k: v for k, v in known.items() if k not in chosen}
        file.write_text(json.dumps(rest | now, indent=1) + "\n", encoding="utf-8")
        failed = [name for name, value in now.items() if value.startswith("error")]
        print(f"{len(now)} hashes of {len(names)} configurations; failed: {failed or 'none'}")
        return 0
    lines = differences(chosen, now)
    new = [name for name in now if name not in known]
    print(
        "\n".join([*lines, *(f"new      {name}" for name in new)]), end="\n" if lines or new else ""
    )
    print(f"{len(chosen)} hashes checked, {len(lines)} differ")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
