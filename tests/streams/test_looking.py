"""The first pass: nothing depends on how the rows are cut into batches."""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn.utils import check_sampling_strategy
from scipy.special import ndtr

from mgvae import MGVAE
from mgvae.codec import TableCodec, read_table
from mgvae.codec._facts import NumberFacts
from mgvae.errors import CodecWarning
from mgvae.files import open_source
from mgvae.samplers import look, read_target, rows_to_make
from mgvae.streams import InBatches, LabelReader
from tests.codec.random_tables import Spreadsheet, spreadsheets
from tests.streams.tables import cut


@given(sheet=spreadsheets(), places=st.lists(st.integers(0, 1000), max_size=6), data=st.data())
@settings(max_examples=30)
def test_one_pass_finds_what_a_table_in_memory_tells(
    sheet: Spreadsheet, places: list[int], data: st.DataObject
) -> None:
    X = sheet.to("pyarrow")
    labels = data.draw(st.lists(st.sampled_from(["p", "q", "r"]), min_size=len(X), max_size=len(X)))
    if len(set(labels)) < 2:
        return
    table = X.append_column("y!", pa.array(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        source = open_source(lambda: iter(cut(table, places)))
        seen = look(MGVAE(), InBatches(source, "y!"))
        codec = TableCodec().fit(read_table(X))
    assert seen.samples.codec.to_dict() == codec.to_dict()
    classes, codes = np.unique(labels, return_inverse=True)
    assert seen.classes.tolist() == classes.tolist()
    assert seen.codes.tolist() == codes.tolist()


@given(places=st.lists(st.integers(0, 100_000), max_size=5), seed=st.integers(0, 99))
@settings(max_examples=10)
def test_beyond_the_bound_facts_do_not_depend_on_batches(places: list[int], seed: int) -> None:
    values = np.random.default_rng(seed).standard_cauchy(100_000)
    whole, parts = NumberFacts(), NumberFacts()
    whole.observe(values)
    for part in np.split(values, sorted(places)):
        parts.observe(part)
    assert parts.sample().tolist() == whole.sample().tolist()
    assert (parts.low, parts.high, parts.count) == (values.min(), values.max(), 100_000)
    assert 8_000 < parts.sample().size <= 16_386


def test_quantiles_of_many_rows_are_near_the_true_ones() -> None:
    """The Dvoretzky-Kiefer-Wolfowitz inequality, which fails once in a million such columns."""
    n = 200_000
    table = pa.table({"u": np.random.default_rng(5).random(n), "y": np.arange(n) % 10 == 0})
    seen = look(MGVAE(), InBatches(open_source(table), "y"))
    codec = seen.samples.codec
    u = np.linspace(0.001, 0.999, 999)  # the true distribution function of u is u itself
    found = ndtr(codec.encode(read_table(pa.table({"u": u})))[:, 0].astype(float))
    m = 8192  # the sample holds at least half of its bound
    assert np.abs(found - u).max() <= np.sqrt(np.log(2 / 1e-6) / (2 * m)) + 1 / 256


def test_texts_and_identifiers_beyond_the_bound() -> None:
    n = 70_000  # more levels than are counted
    words = [f"this is the long and boring text with the number {i}" for i in range(n)]
    keys = [f"K{i:06d}" for i in range(n)]
    table = pa.table({"text": words, "key": keys, "y": np.arange(n) % 9 == 0})
    seen = look(MGVAE(), InBatches(open_source(table), "y"))
    assert [c.kind for c in seen.samples.codec.describe()] == ["text", "identifier"]
    assert seen.samples.codec.describe()[1].note.endswith("K070000")


def test_repeated_identifiers_that_were_asked_for_do_not_depend_on_batches() -> None:
    X = pa.table({"key": [f"C-{i}" for i in range(40)] + ["C-7"], "x": np.arange(41) % 7})
    codecs = []
    for size in (41, 10):
        codec = TableCodec({"key": "identifier"})
        for start in range(0, 41, size):
            codec.observe(read_table(X.slice(start, size)))
        codecs.append(codec.finish().to_dict())
    assert codecs[0] == codecs[1]


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b", "b"],
        [3, 1, 3, 3],
        [2.0, 1.0, 2.0, 2.0],
        [True, False, True, True],
        pa.array(["b", "a", "b", "b"]).dictionary_encode(),
    ],
)
def test_labels_are_those_of_an_array(labels: Any) -> None:
    column = labels if isinstance(labels, pa.Array) else pa.array(labels)
    found = LabelReader("y")
    for start in range(4):
        found.observe(column.slice(start, 1))
    classes, codes = found.finish()
    want = read_target(pa.chunked_array([column]), "y")[0]
    assert classes.dtype == want.dtype
    assert (classes[codes] == want).all()
    assert codes.dtype == np.uint8


@pytest.mark.parametrize("strategy", ["auto", "minority", "all", "not minority", {"b": 9}, {}])
@pytest.mark.parametrize("counts", [(5, 3), (2, 7, 7, 1)])
def test_rows_to_make_are_those_of_imbalanced_learn(strategy: Any, counts: tuple[int, ...]) -> None:
    classes = np.array(list("abcd"[: len(counts)]), dtype=object)
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    want = check_sampling_strategy(strategy, classes[codes], "over-sampling")
    assert rows_to_make(strategy, classes, codes) == dict(want)
    assert rows_to_make(lambda _: {"a": 9}, classes, codes) == {"a": 9 - counts[0]}


def test_strategies_that_cannot_be_met_name_the_labels() -> None:
    classes, codes = np.array(["x", "y"], dtype=object), np.array([0, 1, 0])
    for strategy, words in (
        ({"z": 5}, "'z'"),
        ({"y": -1}, "'y'"),
        ({"x": 1}, "'x' shall have 1 rows and has 2"),
        (0.1, "sampling_strategy=0.1: the smaller class has 1 rows to 2 already, a ratio of 0.5"),
        (7, "range"),
    ):
        with pytest.raises(ValueError, match=words):
            rows_to_make(strategy, classes, codes)
