"""The protocol folds: honest parts, fair classifiers, figures against plain scikit-learn."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from mgvae.codec import TableCodec, read_table
from mgvae.errors import DataError, ParameterError
from mgvae.experiments.tables import LabelledTable
from mgvae_paper import folds, real_tables
from mgvae_paper.controls import BorrowedDifference, CodecSMOTE
from mgvae_paper.folds import _fitted, _split, drawn_rows, evaluate, in_epochs, judge
from mgvae_paper.methods import make_cell
from mgvae_paper.real_tables import read_labelled_table
from mgvae_paper.tables import find_table

PLAN = {"number": 3, "training_parts": 4, "max_rows": 240}


@pytest.fixture
def rows(monkeypatch):
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 8 == 0).astype(np.int64)
    numbers = rng.normal(size=(400, 3)) + 1.5 * y[:, None]
    numbers[::17, 0] = np.nan
    table = pa.table(
        {
            "number": pa.array(np.arange(400) / 7),
            **{f"x{j}": pa.array(numbers[:, j], from_pandas=True) for j in range(3)},
            "level": np.where(rng.random(400) < 0.3 + 0.4 * y, "a", "b"),
        }
    )
    made = LabelledTable(table, y, np.arange(400) // 4)
    monkeypatch.setattr(folds, "read_labelled_table", lambda *_: made)
    return made


@pytest.mark.parametrize("grouped", [False, True])
def test_parts_are_disjoint_and_complete_and_keep_groups_together(rows, grouped):
    data = drawn_rows(LabelledTable(rows.X, rows.y, rows.groups if grouped else None), 240, seed=1)
    assert np.bincount(data.y).tolist() == [210, 30]
    tested = []
    for parts in _split(data, PLAN, 1):
        assert sorted(np.concatenate(parts)) == list(range(240))
        tested += list(parts[2])
        share = [data.y[part].mean() for part in parts]
        assert np.ptp(share) < 0.08
        if grouped:
            groups = [set(data.groups[part]) for part in parts]
            assert sum(map(len, groups)) == len(set.union(*groups))
    assert sorted(tested) == list(range(240))


def test_rows_are_drawn_by_the_seed_without_repeats(rows):
    first, again, other = (
        drawn_rows(rows, 240, seed).X["number"].to_pylist() for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len(set(first)) == 240
    assert drawn_rows(rows, 400, 1).X.num_rows == 400


class Spy:
    """A sampler that notes what it sees."""

    seen: list[set[int]] = []  # noqa: RUF012

    def __init__(self, random_state=0):
        pass

    def get_params(self, deep=True):  # noqa: ARG002
        return {}

    def fit_resample(self, X, y):
        Spy.seen.append({tuple(row) for row in X})
        return np.concatenate([X, X[y == 1]]), np.concatenate([y, y[y == 1]])


def test_a_sampler_sees_neither_the_test_nor_the_threshold_rows(rows):
    Spy.seen.clear()
    cell = make_cell("abalone", "ROS", "folds")
    parameters = {**cell.parameters, "sampler": f"{__name__}:Spy"}
    parameters["classifiers"] = {"knn": {}}
    spied = type(cell)(cell.dataset, "spy", "folds", parameters=parameters)
    result = evaluate(spied, None)
    assert len(Spy.seen) == 3
    for seen, fold in zip(Spy.seen, result["folds"], strict=True):
        assert len(seen) == sum(fold["rows"]["learn"])
        assert sum(map(sum, (fold["rows"][k] for k in ("learn", "tune", "test")))) == 400


@pytest.mark.parametrize(
    "method", ["nothing", "class weights", "SMOTE", "SMOTE in codec", "no VAE"]
)
def test_a_cell_is_reproduced_and_its_means_are_those_of_its_folds(rows, method):
    cell = make_cell("abalone", method, "folds", seed=2)
    first, second = evaluate(cell, None), evaluate(cell, None)
    assert first["metrics"] == second["metrics"]
    figures = [f for fold in first["folds"] for f in fold["classifiers"].values()]
    assert len(figures) == 3 * 4
    assert first["metrics"]["gm"] == pytest.approx(np.mean([f["gm"] for f in figures]), abs=1e-3)
    for fold in first["folds"]:
        counts = fold["rows"]["resampled"]
        balanced = method not in ("nothing", "class weights")
        assert (counts[0] == counts[1]) == balanced
        assert counts[0] == fold["rows"]["learn"][0]


def test_a_loss_is_refused(rows):
    with pytest.raises(ParameterError, match="sampler"):
        evaluate(make_cell("abalone", "torch.nn:MultiMarginLoss", "folds"), None)


def test_figures_against_scikit_learn():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.2).astype(np.int64)
    score = 0.3 * y + 0.7 * rng.random(300)
    figures = judge(y, score, {"": 0.5, "_tuned": 0.4})
    for ending, threshold in (("", 0.5), ("_tuned", 0.4)):
        said = score >= threshold
        recalls = [np.mean(said[y == 1]), np.mean(~said[y == 0])]
        assert figures[f"gm{ending}"] == pytest.approx(100 * np.sqrt(np.prod(recalls)), abs=1e-3)
        expected = 100 * balanced_accuracy_score(y, said)
        assert figures[f"balanced_accuracy{ending}"] == pytest.approx(expected, abs=1e-3)
    assert figures["ap"] == pytest.approx(100 * average_precision_score(y, score), abs=1e-3)
    assert figures["roc_auc"] == pytest.approx(100 * roc_auc_score(y, score), abs=1e-3)


def test_weights_are_as_good_as_repeated_rows():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 30])
    Z = rng.normal(size=(120, 2)) + y[:, None]
    Z_repeated = np.concatenate([Z, *[Z[y == 1]] * 2])
    y_repeated = np.concatenate([y, np.ones(60, np.int64)])
    weighted = _fitted(LogisticRegression(C=1e6, tol=1e-10), Z, y, weighted=True)
    repeated = _fitted(LogisticRegression(C=1e6, tol=1e-10), Z_repeated, y_repeated, weighted=False)
    np.testing.assert_allclose(weighted(Z), repeated(Z), atol=1e-4)
    votes = _fitted(KNeighborsClassifier(5), Z, y, weighted=True)(Z)
    plain = KNeighborsClassifier(5).fit(Z, y).predict_proba(Z)[:, 1] * 5  # votes of the minority
    np.testing.assert_allclose(votes, 3 * plain / (3 * plain + 5 - plain))


def test_more_rows_are_not_a_longer_training():
    for n in (100, 1000, 1001, 2000):
        given = in_epochs({"steps": 500, "batch_size": 128}, n)
        steps = given["max_iter"] * -(-n // 128)
        assert 500 <= steps < 500 + -(-n // 128)
        assert "steps" not in given


def test_a_borrowed_difference_is_one_between_majority_neighbours():
    minority = np.array([[100.0, 100.0], [200.0, 200.0]], np.float32)
    majority = np.stack([np.arange(50), np.zeros(50)], axis=1).astype(np.float32)
    made = BorrowedDifference()._make(minority, majority, 500, np.random.default_rng(0))
    anchor = minority[(made[:, 1] > 150).astype(int)]
    np.testing.assert_array_equal(made[:, 1], anchor[:, 1])
    moved = np.abs(made[:, 0] - anchor[:, 0])
    assert 4 < moved.max() <= 10  # ten neighbours of an end of the line
    assert (moved > 0).mean() > 0.99


@pytest.mark.parametrize("sampler", [CodecSMOTE, BorrowedDifference])
def test_controls_give_cells_that_the_table_can_hold(rows, sampler):
    X, y = sampler(random_state=0).fit_resample(rows.X, rows.y)
    assert X.slice(0, 400).equals(rows.X)
    assert X.schema == rows.X.schema
    assert np.bincount(y).tolist() == [350, 350]
    assert set(X["level"].to_pylist()) == {"a", "b"}
    codec = TableCodec().fit(read_table(rows.X))
    np.testing.assert_array_equal(
        codec.encode(read_table(X.slice(0, 400))), codec.encode(read_table(rows.X))
    )
    for name in ("x1", "x2"):
        assert max(X[name].to_pylist()) <= max(rows.X[name].to_pylist())


def test_few_minority_rows_are_enough():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1], [28, 2])
    assert CodecSMOTE().fit_resample(X, y)[0].shape == (56, 2)
    pictures = rng.random((30, 4)).astype(np.float32)
    made = BorrowedDifference(codec=False).fit_resample(pictures, y)[0]
    np.testing.assert_array_equal(made[:30], pictures)
    assert pictures.min() <= made.min() <= made.max() <= pictures.max()


def test_a_changed_file_is_refused(tmp_path):
    (tmp_path / "tabular").mkdir()
    path = tmp_path / "tabular" / "ecoli.csv.gz"
    path.write_bytes(gzip.compress(b"a,target\n1,0\n"))
    with pytest.raises(DataError, match="checksum"):
        read_labelled_table("ecoli", tmp_path)


def test_the_real_tables_are_as_counted(data_folder):
    folder = data_folder("tabular").parent
    counts = {
        name: np.bincount(read_labelled_table(name, folder).y).tolist()
        for name in ("ecoli", "adult")
    }
    assert counts == {"ecoli": [301, 35], "adult": [37155, 11687]}
    adult = read_labelled_table("adult", folder).X
    assert adult.num_columns == 14
    assert adult["workclass"].null_count == 2799


def test_the_declared_tables_are_more_than_twenty_and_views_cost_nothing():
    table = find_table("efficacy")
    assert len(table.columns("folds")) >= 20
    assert set(real_tables.REAL_TABLES) < set(table.columns("folds"))
    assert len(table.rows("folds")) == 11
    assert len(table.cells("folds", seeds=1)) == 9 * len(table.columns("folds"))
