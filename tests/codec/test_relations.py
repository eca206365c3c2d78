"""Relations between columns: found, kept by decoded rows, declared, stored."""

import copy
import json
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgvae.codec import TableCodec, only_rows, read_table
from mgvae.errors import CodecWarning, DataError, ParameterError
from tests.codec.planted import PLANTS, Planted, plant
from tests.codec.random_tables import Spreadsheet, spreadsheets, to_lists, types
from tests.codec.test_real_tables import ADULT

CONTAINERS = ["pandas", "polars", "pyarrow"]


def fitted(X: Any, constraints: Any = "auto") -> TableCodec:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        return TableCodec(constraints=constraints).fit(read_table(X))


def between(codec: TableCodec, X: Any, seed: int) -> np.ndarray:
    """Codes half-way between rows, as a network makes them."""
    rng = np.random.default_rng(seed)
    encoded = codec.encode(read_table(X))
    return (0.6 * encoded + 0.4 * encoded[rng.permutation(len(encoded))]).astype(np.float32)


def noise(codec: TableCodec, seed: int) -> np.ndarray:
    """Codes that no row ever had."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 2.0, (200, codec.width)).astype(np.float32)


def count_broken(frame: Any, planted: list[Planted]) -> int:
    cells = to_lists(frame)
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    return sum(not one.holds(row) for one in planted for row in rows)


class TestPlanted:
    """Rows keep what was planted, said without the library's help."""

    @pytest.mark.parametrize("container", CONTAINERS)
    @given(
        names=st.lists(st.sampled_from(sorted(PLANTS)), min_size=1, max_size=4, unique=True),
        n=st.integers(200, 500),
        seed=st.integers(0, 2**32 - 1),
    )
    @settings(max_examples=12, deadline=None)
    def test_decoded_rows_keep_it(
        self, container: str, names: list[str], n: int, seed: int
    ) -> None:
        sheet, planted = plant(names, n, seed)
        X = sheet.to(container)
        codec, plain = fitted(X), fitted(X, None)
        assert codec.spans == plain.spans
        for codes in (between(codec, X, seed), noise(codec, seed)):
            made = only_rows(X, codec.decode(codes, np.random.default_rng(0)))
            assert types(made) == types(X)
            assert count_broken(made, planted) == 0
            for spec, cells in zip(sheet.columns, to_lists(made).values(), strict=True):
                known = [cell for cell in cells if cell is not None]
                assert spec.gaps or len(known) == len(cells)
                assert not known or min(spec.present) <= min(known) <= max(known) <= max(
                    spec.present
                )

    @pytest.mark.parametrize("name", sorted(PLANTS))
    def test_without_relations_rows_break_it(self, name: str) -> None:
        """The tests above can fail."""
        sheet, planted = plant([name], 400, 0)
        X = sheet.to("pandas")
        codec = fitted(X, None)
        made = only_rows(X, codec.decode(noise(codec, 0), np.random.default_rng(0)))
        assert count_broken(made, planted) > 0

    def test_columns_that_no_relation_needs(self) -> None:
        sheet, _ = plant(["total"], 300, 0)
        X = sheet.to("pandas")
        X.insert(0, "alone", np.random.default_rng(0).normal(size=300))
        assert [r.text.split(" = ")[0] for r in fitted(X).relations] == ["total0_total"]

    def test_arrays(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 3))
        X = np.column_stack([X, X[:, 0] - X[:, 1], np.sort(X[:, :2], axis=1)])
        codec = fitted(X)
        made = only_rows(X, codec.decode(noise(codec, 0), np.random.default_rng(0)))
        assert np.allclose(made[:, 3], made[:, 0] - made[:, 1], atol=1e-5)
        assert (made[:, 4] <= made[:, 5]).all()

    @given(seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=8, deadline=None)
    def test_batches_find_what_a_whole_table_does(self, seed: int) -> None:
        sheet, _ = plant(sorted(PLANTS), 300, seed)
        X = sheet.to("pandas")
        whole = fitted(X)
        rng = np.random.default_rng(seed)
        cuts = [0, *sorted(rng.choice(np.arange(1, 300), 4, replace=False).tolist()), 300]
        parts = [read_table(X.iloc[a:b]) for a, b in pairwise(cuts)]
        codec = TableCodec(constraints="auto")
        for part in parts:
            codec.observe(part)
        codec.finish()
        for part in parts:
            codec.confirm(part)
        codec.settle()
        assert codec.to_dict() == whole.to_dict()

    def test_rows_that_keep_it_are_the_same_with_relations_and_without(self) -> None:
        sheet, planted = plant(["key", "order", "zero_when", "missing_when"], 400, 0)
        X = sheet.to("pandas")
        codec, plain = fitted(X), fitted(X, None)
        codes = between(codec, X, 0)
        made, as_before = (
            only_rows(X, c.decode(codes, np.random.default_rng(0))) for c in (codec, plain)
        )
        cells = to_lists(as_before)
        rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        kept = np.array([all(one.holds(row) for one in planted) for row in rows])
        assert 0 < kept.sum() < len(kept)
        pd.testing.assert_frame_equal(made[kept], as_before[kept])

    def test_a_stored_codec_repairs_alike(self) -> None:
        sheet, _ = plant(sorted(PLANTS), 300, 0)
        X = sheet.to("pandas")
        codec = fitted(X)
        again = TableCodec.from_dict(json.loads(json.dumps(codec.to_dict())))
        assert again.relations == codec.relations
        made, remade = (
            only_rows(X, c.decode(noise(codec, 0), np.random.default_rng(0)))
            for c in (codec, again)
        )
        pd.testing.assert_frame_equal(made, remade)


class TestChance:
    """What holds by chance is no relation."""

    @pytest.mark.parametrize("container", CONTAINERS)
    @given(sheet=spreadsheets())
    @settings(max_examples=15, deadline=None)
    def test_columns_that_have_nothing_in_common(self, container: str, sheet: Spreadsheet) -> None:
        X = sheet.to(container)
        codec, plain = fitted(X), fitted(X, None)
        assert codec.relations == []
        assert codec.to_dict() == plain.to_dict()

    def test_a_key_that_hardly_repeats(self) -> None:
        X = pd.DataFrame({"key": [*range(15), 3, 3], "value": list("abcabcabcabcabcaa")})
        X.loc[3, "value"] = "a"
        assert fitted(X, "auto").relations == []

    def test_an_order_of_columns_that_lie_apart(self) -> None:
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": rng.random(500), "b": 5 + rng.random(500)})
        assert fitted(X).relations == []

    def test_one_exception_is_enough(self) -> None:
        sheet, _ = plant(["order"], 20_000, 0)
        X = sheet.to("pandas")
        X.loc[19_999, "order0_0"] = X.loc[19_999, "order0_2"] + 0.1
        found = [set(relation.columns) for relation in fitted(X).relations]
        assert {"order0_0", "order0_2"} not in found

    def test_a_wide_table_compares_the_first_columns(self) -> None:
        X = np.random.default_rng(0).normal(size=(100, 300))
        X[:, 1], X[:, 299] = X[:, 0], X[:, 298]
        assert [relation.columns for relation in fitted(X).relations] == [(1, 0)]


class TestDeclared:
    """What users ask for."""

    X = pd.DataFrame(
        {
            "low": np.arange(100.0) % 7,
            "high": np.arange(100.0) % 11,
            "the sum": np.arange(100) % 13,
            "kind": list("abcd") * 25,
            "size": [1, 2, 1, 2] * 25,
        }
    )

    def made(self, *constraints: str) -> pd.DataFrame:
        codec = fitted(self.X, ["only", *constraints])
        assert all(relation.declared for relation in codec.relations)
        return only_rows(self.X, codec.decode(noise(codec, 1), np.random.default_rng(0)))

    def test_orders(self) -> None:
        made = self.made("low <= high", "`the sum` > high")
        assert (made["low"] <= made["high"]).all()
        assert (made["the sum"] > made["high"]).mean() > 0.9  # the largest has no larger one

    def test_sums(self) -> None:
        made = self.made("`the sum` = 2 * low - 1")
        assert (made["the sum"] == 2 * made["low"] - 1).all()

    def test_keys_and_combinations(self) -> None:
        made = self.made("kind -> size", "(low, kind)")
        assert set(zip(made["kind"], made["size"], strict=True)) <= {
            ("a", 1), ("b", 2), ("c", 1), ("d", 2),
        }  # fmt: skip
        seen = set(zip(self.X["low"], self.X["kind"], strict=True))
        assert set(zip(made["low"], made["kind"], strict=True)) <= seen

    def test_found_ones_are_kept_besides(self) -> None:
        texts = {r.text: r.declared for r in fitted(self.X, ["low <= high"]).relations}
        assert texts["low <= high"]
        assert not texts["kind -> size: 4 combinations"]

    def test_real_rows_that_break_it_are_told(self) -> None:
        with pytest.warns(CodecWarning, match="rows of the data do not keep 'high <= low'"):
            TableCodec(constraints=["only", "high <= low"]).fit(read_table(self.X))

    @pytest.mark.parametrize(
        ("constraint", "words"),
        [
            ("low <= hihg", "Did you mean 'high'"),
            ("low <=", "must be such as"),
            ("low", "must be such as"),
            ("low <= high <= low", "must be such as"),
            ("low = ", "must be such as"),
            ("low = low + high", "must be such as"),
            ("low = __import__('os')", "must be such as|does not have"),
            ("kind <= low", "column 'kind' is categorical"),
            ("-> low", "must be such as|does not have"),
            ("(" * 50_000, "must be such as"),
        ],
    )
    def test_what_cannot_be_read(self, constraint: str, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            fitted(self.X, [constraint])

    def test_a_key_that_the_data_contradict(self) -> None:
        with pytest.raises(DataError, match="'size -> kind' does not hold"):
            fitted(self.X, ["size -> kind"])

    @pytest.mark.parametrize("constraints", ["all", 3, [3]])
    def test_what_is_no_list(self, constraints: Any) -> None:
        with pytest.raises(ParameterError, match="constraints"):
            TableCodec(constraints=constraints)

    @given(text=st.text("abc <=>-+*`(),.0123456789", max_size=30))
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        try:
            TableCodec(constraints=["only", text]).fit(read_table(pd.DataFrame({"a": [1.5, 2]})))
        except (ParameterError, DataError):
            return


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    sheet, _ = plant(sorted(PLANTS), 300, 0)
    return json.loads(json.dumps(fitted(sheet.to("pandas")).to_dict()))  # type: ignore[no-any-return]


class TestHostileFiles:
    """A file cannot claim what is no relation of its columns."""

    @pytest.mark.parametrize(
        ("form", "field", "value"),
        [
            ("order", "lower", 10**9),
            ("order", "lower", -1),
            ("order", "strict", "yes"),
            ("order", "more", 1),
            ("linear", "target", 99),
            ("linear", "terms", [[0, float("inf")]]),
            ("linear", "terms", [[0, 0.0]]),
            ("linear", "terms", []),
            ("linear", "constant", 1e300),
            ("together", "states", [[0, 1e9], [1, 0.0]]),
            ("together", "states", []),
            ("whenever", "states", [[0, None]]),
            ("joint", "cells", {}),
            ("joint", "cells", {"0": [0.5], "1": [0.0, 1.0]}),
            ("joint", "cells", {"0": [1e300], "1": [0.0]}),
            ("joint", "cells", {"x": [0.0], "1": [0.0]}),
        ],
    )
    def test_refused(self, stored: dict[str, Any], form: str, field: str, value: Any) -> None:
        data = copy.deepcopy(stored)
        next(r for r in data["relations"] if r["form"] == form)[field] = value
        with pytest.raises(DataError):
            TableCodec.from_dict(data)

    def test_orders_in_a_circle(self, stored: dict[str, Any]) -> None:
        data = copy.deepcopy(stored)
        order = next(r for r in data["relations"] if r["form"] == "order")
        data["relations"].append(order | {"lower": order["upper"], "upper": order["lower"]})
        with pytest.raises(DataError, match="contradict"):
            TableCodec.from_dict(data)


class TestRealTables:
    """Relations that every real row keeps, named by hand."""

    def test_adult(self, data_folder: Callable[[str], Path]) -> None:
        X = pd.read_csv(
            data_folder("mixed/adult.data.gz"), names=ADULT, na_values="?", skipinitialspace=True
        )
        codec = fitted(X)
        made = only_rows(X, codec.decode(between(codec, X, 0), np.random.default_rng(0)))
        seen = X.groupby("education")["education_num"].first()
        for frame in (X, made):
            assert (frame["education"].map(seen) == frame["education_num"]).all()
            assert frame["occupation"].isna()[frame["workclass"].isna()].all()

    def test_bank(self, data_folder: Callable[[str], Path]) -> None:
        X = pd.read_csv(data_folder("mixed/bank-full.csv.gz"), sep=";")
        codec = fitted(X)
        made = only_rows(X, codec.decode(between(codec, X, 0), np.random.default_rng(0)))
        for frame in (X, made):
            assert ((frame["pdays"] == -1) == (frame["previous"] == 0)).all()
            assert (frame["poutcome"] == "unknown")[frame["pdays"] == -1].all()
