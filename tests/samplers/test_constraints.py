"""Relations between columns, the way users take: samplers, streams, model files, command line."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mgvae import CGAN, CVAE, MGVAE, balance_dataset
from mgvae.cli._run import run
from mgvae.errors import CodecWarning, DataError, ParameterError
from tests.codec.planted import Planted, plant
from tests.codec.random_tables import to_lists
from tests.codec.test_real_tables import ADULT
from tests.stored import with_stored_guides

pytestmark = pytest.mark.filterwarnings("ignore:.*rows of the data do not keep")

QUICK: dict[Any, dict[str, Any]] = {
    MGVAE: {"pretrain_steps": 20, "finetune_steps": 20},
    CVAE: {"steps": 20},
    CGAN: {"steps": 20, "on_collapse": "warn"},
}
NAMES = ["key", "combinations", "total", "order", "zero_when", "missing_when"]


def quick(sampler: Any = MGVAE, **parameters: Any) -> Any:
    return sampler(random_state=0, **QUICK[sampler], **parameters)


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray, list[Planted]]:
    sheet, planted = plant(NAMES, 400, 0)
    X = sheet.to("pandas")
    return X, np.where(X["order3_0"].rank() < 60, "few", "many"), planted


def count_broken(frame: Any, planted: list[Planted]) -> int:
    cells = to_lists(frame)
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    return sum(not one.holds(row) for one in planted for row in rows)


@pytest.mark.parametrize(
    ("sampler", "container"),
    [(MGVAE, "pandas"), (MGVAE, "polars"), (MGVAE, "pyarrow"), (CVAE, "pandas"), (CGAN, "polars")],
)
@pytest.mark.filterwarnings("ignore::mgvae.errors.CollapseWarning")
def test_new_rows_keep_relations(table: Any, sampler: Any, container: str) -> None:
    frame, y, planted = table
    X = {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame, preserve_index=False),
    }[container]
    balanced, labels = quick(sampler).fit_resample(X, y)
    assert count_broken(balanced, planted) == 0
    assert (labels == "few").sum() == (labels == "many").sum()


def test_without_constraints_they_are_broken(table: Any) -> None:
    X, y, planted = table
    assert count_broken(quick(constraints=None).fit_resample(X, y)[0], planted) > 0


def test_the_same_rows_come_from_batches(table: Any, tmp_path: Path) -> None:
    X, y, planted = table
    whole = pa.Table.from_pandas(X.assign(y=y), preserve_index=False)
    pq.write_table(whole, tmp_path / "in.parquet", row_group_size=37)
    balance_dataset(tmp_path / "in.parquet", "y", tmp_path / "out.parquet", quick())
    found = pq.read_table(tmp_path / "out.parquet").drop_columns(["y"])
    expected, _ = quick().fit_resample(whole.drop_columns(["y"]), y)
    assert found.equals(expected)
    assert count_broken(found, planted) == 0


def test_a_model_file_holds_them(table: Any, tmp_path: Path) -> None:
    X, y, planted = table
    sampler = quick(constraints=["`order3_2` <= `total2_total`"]).fit(X, y)
    sampler.save(tmp_path / "m.safetensors")
    again = MGVAE.load(tmp_path / "m.safetensors")
    assert again.codec_.relations == sampler.codec_.relations
    made = again.generate(200, label="few", random_state=1)
    stored = with_stored_guides(sampler)
    pd.testing.assert_frame_equal(made, stored.generate(200, label="few", random_state=1))
    assert count_broken(made, planted) == 0
    assert (made["order3_2"] <= made["total2_total"]).all()


def test_translated_rows_keep_relations(table: Any) -> None:
    X, y, planted = table
    sampler = quick(generation="translate").fit(X, y)
    assert count_broken(sampler.translate(X[y == "many"], label="few"), planted) == 0


class TestPredicates:
    """Functions from rows to booleans."""

    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.arange(200) % 5 == 0

    def test_rows_that_fail_are_made_again(self) -> None:
        sampler = quick(constraints=["only", lambda X: X[:, 0] + X[:, 1] > 0])
        X, _ = sampler.fit_resample(self.X, self.y)
        new = X[200:]
        assert (new[:, 0] + new[:, 1] > 0).all()
        assert len(new) == 120
        anchors = sampler.anchor_indices_[200:]
        assert self.y[anchors].all()
        apart = np.abs(new - self.X[anchors]).mean()
        assert apart < np.abs(new - self.X[np.roll(anchors, 1)]).mean()  # they are still its own
        assert (sampler.generate(50, label=True)[:, :2].sum(axis=1) > 0).all()

    def test_all_others_stay_as_they_were(self) -> None:
        with_it = quick(constraints=["only", lambda X: X[:, 0] > -1.0]).fit_resample(self.X, self.y)
        without = quick(constraints=None).fit_resample(self.X, self.y)
        kept = without[0][:, 0] > -1.0
        np.testing.assert_array_equal(with_it[0][kept], without[0][kept])

    def test_what_no_row_keeps(self) -> None:
        sampler = quick(constraints=[lambda X: X[:, 0] > 1e9]).fit(self.X, self.y)
        with pytest.raises(DataError, match="None of 20 new rows of class True"):
            sampler.generate(20, label=True)

    def test_what_few_rows_keep(self) -> None:
        limit = np.sort(self.X[self.y, 0])[-1] - 1e-3
        sampler = quick(constraints=[lambda X: X[:, 0] >= limit]).fit(self.X, self.y)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            made = sampler.generate(20, label=True, random_state=0)
        left = int((made[:, 0] < limit).sum())
        assert [str(w.message) for w in said if issubclass(w.category, CodecWarning)] == (
            [f"{left} of 20 new rows of class True do not keep what constraints asks for, after 50 "
             "attempts for each."] if left else []
        )  # fmt: skip

    def test_what_is_no_mask(self) -> None:
        with pytest.raises(ParameterError, match="one boolean for each row"):
            quick(constraints=[lambda _: [1, 2, 3]]).fit_resample(self.X, self.y)

    def test_a_file_does_not_hold_it(self, tmp_path: Path) -> None:
        sampler = quick(constraints=["0 <= 1", lambda X: X[:, 2] > 0]).fit(self.X, self.y)
        with pytest.warns(CodecWarning, match="functions, which a model file cannot hold"):
            sampler.save(tmp_path / "m.safetensors")
        again = MGVAE.load(tmp_path / "m.safetensors")
        assert again.constraints == ("0 <= 1",)
        made = again.generate(100, label=True)
        assert (made[:, 0] <= made[:, 1]).all()


def test_identifiers_stay_distinct_when_rows_are_made_again() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": np.arange(200), "a": rng.normal(size=200)})
    y = np.arange(200) % 5 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CodecWarning)
        balanced, _ = quick(constraints=[lambda f: f["a"] > 0]).fit_resample(X, y)
    assert balanced["id"].is_unique
    assert (balanced["a"].iloc[200:] > 0).all()


def test_published_recipes_look_for_none() -> None:
    X = np.random.default_rng(0).integers(0, 9, (200, 2))
    X = np.column_stack([X, X[:, 0]])
    y = np.arange(200) % 5 == 0
    short = {"random_state": 0, "pretrain_steps": 5, "finetune_steps": 5, "n_exemplars": 10}
    assert MGVAE.from_preset("paper-tables", **short).fit(X, y).codec_.relations == []
    declared = MGVAE.from_preset("paper-tables", constraints=["0 <= 1"], **short).fit(X, y)
    assert [r.text for r in declared.codec_.relations if r.declared] == ["0 <= 1"]


def test_new_rows_of_adult_and_bank_keep_what_all_rows_do(
    data_folder: Callable[[str], Path],
) -> None:
    options = {"names": ADULT, "na_values": "?", "skipinitialspace": True}
    adult = pd.read_csv(data_folder("mixed/adult.data.gz"), **options).sample(6000, random_state=0)
    new = quick().fit_resample(adult, adult.pop("income"))[0].iloc[6000:]
    seen = adult.groupby("education")["education_num"].first()
    assert (new["education"].map(seen) == new["education_num"]).all()
    assert new["occupation"].isna()[new["workclass"].isna()].all()

    bank = pd.read_csv(data_folder("mixed/bank-full.csv.gz"), sep=";").sample(6000, random_state=0)
    new = quick().fit_resample(bank, bank.pop("y"))[0].iloc[6000:]
    assert ((new["pdays"] == -1) == (new["previous"] == 0)).all()
    assert (new["poutcome"] == "unknown")[new["pdays"] == -1].all()


def test_images_have_no_columns() -> None:
    images = np.zeros((30, 8, 8), np.uint8)
    with pytest.raises(ParameterError, match="constraints is for tables"):
        quick(constraints=["a <= b"]).fit(images, np.arange(30) % 5 == 0)


class TestCommandLine:
    """``--keep``, ``--no-relations`` and what ``--dry-run`` lists."""

    @pytest.fixture
    def file(self, table: Any, tmp_path: Path) -> Path:
        X, y, _ = table
        X.assign(y=y).to_csv(tmp_path / "in.csv", index=False)
        return tmp_path / "in.csv"

    def relations(self, capfd: Any, file: Path, *options: str) -> list[dict[str, Any]]:
        assert run(["balance", str(file), "-t", "y", "--dry-run", "--json", *options]) == 0
        return json.loads(capfd.readouterr().out)["relations"]  # type: ignore[no-any-return]

    def test_dry_run_lists_them(self, file: Path, capfd: Any) -> None:
        assert run(["balance", str(file), "-t", "y", "--dry-run"]) == 0
        said = capfd.readouterr().out
        assert "order3_0 <= order3_1" in said
        assert "key0_a -> key0_b: 12 combinations" in said

    def test_options(self, file: Path, capfd: Any) -> None:
        found = self.relations(capfd, file)
        assert {r["kind"] for r in found} == {"combinations", "together", "sum", "order"}
        assert self.relations(capfd, file, "--no-relations") == []
        (only,) = self.relations(capfd, file, "--no-relations", "--keep", "order3_0 < total2_total")
        assert only["text"] == "order3_0 < total2_total"
        assert only["declared"]

    def test_a_mistake_names_the_option(self, file: Path, capfd: Any) -> None:
        assert run(["balance", str(file), "-t", "y", "--dry-run", "--keep", "nothing <= x"]) == 2
        assert "--keep: 'nothing <= x' names the column 'nothing'" in capfd.readouterr().err
