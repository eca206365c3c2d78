"""The figures against independent implementations, and against data whose answer is known."""

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imblearn.over_sampling import RandomOverSampler
from PIL import Image
from scipy import stats
from sklearn.metrics import pairwise_distances, roc_auc_score

from mgvae import MGVAE
from mgvae.codec import Column
from mgvae.errors import DataError, ParameterError
from mgvae.report import Answer, quality
from mgvae.report._association import association
from mgvae.report._columns import compare_column
from mgvae.report._intervals import auc_interval, clustered_share
from mgvae.report._neighbours import closeness, coverage_density, foreign_share

Draw = Callable[..., pd.DataFrame]


def draw(n: int, label: str, shift: float, seed: int) -> pd.DataFrame:
    """Rows of one class, of every kind that is compared."""
    rng = np.random.default_rng(seed)
    a = rng.normal(shift, 1.0, n)
    return pd.DataFrame(
        {
            "a": a,
            "b": a + rng.normal(0, 0.5, n),
            "n": rng.poisson(3 + abs(shift), n),
            "c": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1] if shift else [0.1, 0.3, 0.6]),
            "y": label,
        }
    )


@pytest.fixture(scope="module")
def real() -> pd.DataFrame:
    return pd.concat([draw(800, "no", 0.0, 1), draw(200, "yes", 2.0, 2)], ignore_index=True)


numbers = st.lists(st.integers(-5, 5), min_size=1, max_size=30)


@given(numbers, numbers)
def test_column_distances_are_scipys(a: list[int], b: list[int]) -> None:
    columns = [Column("a", np.array(values, float)) for values in (a, b, a)]
    found = compare_column(*columns, "continuous")
    assert found.distance == pytest.approx(stats.ks_2samp(a, b).statistic)
    found = compare_column(*columns, "categorical")
    shares = [np.array([values.count(v) / len(values) for v in range(-5, 6)]) for values in (a, b)]
    assert found.distance == pytest.approx(1 - np.minimum(*shares).sum())


def test_chance_is_what_two_samples_of_one_distribution_give() -> None:
    rng = np.random.default_rng(0)
    for kind, make in (
        ("continuous", lambda n: rng.normal(size=n)),
        ("categorical", lambda n: rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])),
    ):
        found = [
            compare_column(*(Column("a", make(n)) for n in (60, 90, 60)), kind) for _ in range(300)
        ]
        seen, said = np.mean([f.distance for f in found]), np.mean([f.chance for f in found])
        assert said == pytest.approx(seen, rel=0.12)


def test_missing_numbers_count() -> None:
    half = np.arange(10) < 5
    full, holed = Column("a", np.arange(10.0)), Column("a", np.arange(10.0), half)
    assert compare_column(full, holed, full, "continuous").distance >= 0.5


def test_association_is_scipys(real: pd.DataFrame) -> None:
    rng = np.random.default_rng(0)
    c, d = rng.integers(3, size=200), rng.integers(4, size=200)
    d[:100] = c[:100]
    a, b = rng.normal(c), rng.integers(5, size=200).astype(float)
    columns = [Column(str(i), values) for i, values in enumerate((a, b, c, d))]
    found = association(columns, ["continuous", "continuous", "categorical", "categorical"])
    assert found[0, 1] == pytest.approx(stats.spearmanr(a, b).statistic)
    table = pd.crosstab(c, d).to_numpy()
    assert found[2, 3] == pytest.approx(stats.contingency.association(table, "cramer"))
    ranks = stats.rankdata(a)
    groups = [ranks[c == level] for level in range(3)]
    within = sum(((g - g.mean()) ** 2).sum() for g in groups)
    assert found[0, 2] ** 2 == pytest.approx(1 - within / ((ranks - ranks.mean()) ** 2).sum())


def test_neighbours_by_hand() -> None:
    rng = np.random.default_rng(0)
    real, new = rng.normal(size=(40, 3)), rng.normal(0.5, 1, size=(30, 3))
    own = pairwise_distances(real)
    radii = np.sort(own, 1)[:, 5]
    across = np.linalg.norm(new[:, None] - real[None], axis=2)
    coverage, density = coverage_density(real, new)
    assert coverage == np.mean([(across[:, j] <= radii[j]).any() for j in range(40)])
    assert density == pytest.approx(np.sum(across <= radii) / (5 * 30))
    nearest = np.sort(across, 1)
    found = closeness(new, real)
    np.testing.assert_allclose(found.nearest, nearest[:, 0])
    np.testing.assert_allclose(found.ratio, nearest[:, 0] / nearest[:, 1])
    np.fill_diagonal(own, np.inf)
    alone = closeness(real, real, same=True)
    np.testing.assert_allclose(alone.nearest, own.min(1))
    np.testing.assert_array_equal(alone.index, own.argmin(1))


def test_a_row_is_not_its_own_neighbour_even_among_equals() -> None:
    doubles = np.repeat(np.arange(10.0), 2)[:, None]
    found = closeness(doubles, doubles, same=True)
    assert (found.nearest == 0).all()
    assert (found.index != np.arange(20)).all()
    # every row's double is foreign: alone it would not be
    assert foreign_share(doubles[::2], doubles[::2], doubles[1::2] + 0.01, same=True) > 0


def verdicts(real: pd.DataFrame, new: pd.DataFrame, **options: object) -> dict[str, str]:
    report = quality(real, new, target="y", **options)
    (one,) = report.classes
    assert len(one.summary) == 4
    assert json.loads(report.to_json())["classes"][0]["label"] == "yes"
    for answer in one.answers:  # something can be done about everything that is not well
        assert (answer.verdict == "good") != bool(answer.advice)
        assert all(advice.gain and advice.cost for advice in answer.advice)
    answers = {answer.question: answer.verdict for answer in one.answers}
    return {f.name: f.verdict for f in one.figures} | answers | {"all": one.verdict}


def test_fresh_rows_of_the_same_distribution_are_good(real: pd.DataFrame) -> None:
    unseen = draw(300, "yes", 2.0, 8)
    found = verdicts(real, draw(600, "yes", 2.0, 3), held_out=unseen)
    assert set(found.values()) == {"good"}


def test_without_unseen_rows_nothing_is_called_faithful_or_private(real: pd.DataFrame) -> None:
    found = verdicts(real, draw(600, "yes", 2.0, 3))
    assert found["faithful"] == found["private"] == found["nearer"] == "unknown"
    assert found["diverse"] == found["columns"] == "good"


def test_copies_are_seen(real: pd.DataFrame) -> None:
    copies = real[real["y"] == "yes"].sample(600, replace=True, random_state=0)
    unseen = draw(200, "yes", 2.0, 8)
    for options in ({}, {"held_out": unseen}):
        found = verdicts(real, copies, **options)
        assert found["copies"] == found["closest"] == found["ratio"] == found["all"] == "bad"
        assert found["private"] == found["learned"] == "bad"
        assert found["columns"] == "good"
    assert found["nearer"] == "bad"
    assert "exact copies" in quality(real, copies, target="y").headline


def test_near_copies_are_seen_whatever_they_look_like(real: pd.DataFrame) -> None:
    """Learned rows with a little noise: no exact copy, and fine but for the unseen rows."""
    rng = np.random.default_rng(0)
    near = real[real["y"] == "yes"].sample(600, replace=True, random_state=0)
    near = near.assign(
        a=near["a"] + rng.normal(0, 0.02, 600), b=near["b"] + rng.normal(0, 0.02, 600)
    )
    report = quality(real, near, target="y", held_out=draw(200, "yes", 2.0, 8))
    one = report.classes[0]
    assert one["copies"].verdict == "good"
    assert one["nearer"].verdict == one["closest"].verdict == "bad"
    assert one["nearer"].value > 0.8
    assert one["learned"].value < 0.45 < one["discriminator"].value
    assert one.verdict != "good"
    assert "close to the rows they were made from" in one.headline


def test_more_learned_than_held_out_rows_do_not_make_a_copy(real: pd.DataFrame) -> None:
    fresh = draw(1500, "yes", 2.0, 3)
    few = quality(real, fresh, target="y", held_out=draw(40, "yes", 2.0, 8)).classes[0]["nearer"]
    low, high = few.interval
    assert low < 0.5 < high
    assert few.value == pytest.approx(0.5, abs=0.1)


class Copier(RandomOverSampler):
    """Copies what it has learned from, and remembers it."""

    seen: ClassVar[list[pd.DataFrame]] = []

    def fit_resample(self, X, y):
        self.seen.append(X)
        return super().fit_resample(X, y)


def test_a_second_sampler_is_fitted_without_the_held_out_rows(real: pd.DataFrame) -> None:
    Copier.seen.clear()
    X, y = real.drop(columns="y"), real["y"]
    sampler = Copier(random_state=0)
    new, y_new = (part[1000:] for part in sampler.fit_resample(X, y))
    one = quality(X, new, target=(y, y_new), sampler=sampler, held_out=0.25).classes[0]
    first, second = Copier.seen
    assert (len(first), len(second)) == (1000, 950)
    assert (one.n_real, one.n_learned, one.n_held_out) == (200, 150, 50)
    assert set(second.index) < set(first.index)
    assert "150 of the 200" in one.basis
    assert one["nearer"].value > 0.95  # what is held out is not what was copied
    assert one["nearer"].verdict == "bad"
    alone = quality(X, None, target=(y,), sampler=sampler).classes[0]
    assert alone.n_held_out == 100
    assert alone["copies"].value == 1.0


def test_a_class_too_small_to_be_split_cannot_be_known() -> None:
    real = pd.concat([draw(90, "no", 0, 1), draw(15, "yes", 2, 2)], ignore_index=True)
    sampler = RandomOverSampler(random_state=0)
    new, y_new = (part[105:] for part in sampler.fit_resample(real.drop(columns="y"), real["y"]))
    one = quality(real, new.assign(y=y_new), target="y", sampler=sampler).classes[0]
    assert one.n_held_out == 0
    assert "too small" in one.basis
    assert one["nearer"].verdict == "unknown"
    assert one["copies"].verdict == "bad"


def test_real_rows_that_differ_by_chance_are_the_measure_of_relations() -> None:
    """Half of a small class may have other correlations than the other half."""
    real = pd.concat([draw(60, "no", 0, 1), draw(30, "yes", 2, 2)], ignore_index=True)
    other = draw(30, "yes", 2, 8).assign(b=lambda rows: rows["b"].to_numpy()[::-1])
    again = real[real["y"] == "yes"]
    found = quality(real, again, target="y", held_out=other).classes[0]["association"]
    assert found.value == found.reference > 0.2
    assert found.verdict == "good"


def test_intervals_hold_what_they_say() -> None:
    rng = np.random.default_rng(0)
    held = []
    for _ in range(200):
        _, (low, high) = auc_interval(rng.normal(0, 1, 40), rng.normal(0.5, 1, 60))
        held.append(low <= stats.norm.cdf(0.5 / np.sqrt(2)) <= high)
    assert 0.9 <= np.mean(held) <= 0.99
    held = []
    for _ in range(200):  # rows of one cluster are alike: they count as one
        truth = rng.random(80) < 0.3
        clusters = rng.integers(80, size=1000)
        _, (low, high) = clustered_share(truth[clusters].astype(float), clusters, rng)
        held.append(low <= 0.3 <= high)
    assert 0.88 <= np.mean(held) <= 0.99


def test_auc_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(5, size=30) / 4, rng.integers(6, size=50) / 4
    said = roc_auc_score(np.repeat([0, 1], [30, 50]), np.concatenate([a, b]))
    assert auc_interval(a, b)[0] == pytest.approx(said)


def test_collapse_is_seen(real: pd.DataFrame) -> None:
    one = draw(1, "yes", 2.0, 5)
    found = verdicts(real, pd.concat([one] * 300, ignore_index=True))
    assert found["spread"] == found["distinct"] == found["coverage"] == found["all"] == "bad"


def test_majority_rows_under_another_name_are_seen(real: pd.DataFrame) -> None:
    found = verdicts(real, draw(300, "yes", 0.0, 4))
    assert found["separation"] == found["columns"] == found["discriminator"] == "bad"
    assert found["copies"] == "good"


def test_lost_relations_are_seen(real: pd.DataFrame) -> None:
    new = draw(400, "yes", 2.0, 6)
    for column in "abnc":
        new[column] = new[column].sample(frac=1, random_state=ord(column)).to_numpy()
    found = verdicts(real, new)
    assert found["columns"] == "good"
    assert found["association"] != "good"


def test_held_out_rows_are_the_measure(real: pd.DataFrame) -> None:
    new = draw(300, "yes", 2.0, 7)
    far = draw(300, "yes", 9.0, 8)  # what is held out lies far from all, the new rows do not
    assert verdicts(real, new, held_out=far)["closest"] == "bad"


def test_examples_name_their_rows(real: pd.DataFrame) -> None:
    new = draw(50, "yes", 2.0, 9)
    sources = np.random.default_rng(0).integers(800, size=50)
    sources[::5] = -1
    anchors = 800 + np.random.default_rng(1).integers(200, size=50)
    report = quality(real, new, target="y", sources=sources, anchors=anchors)
    for example in report.classes[0].examples:
        origin = sources[example.row]
        assert example.source == (None if origin < 0 else origin)
        assert example.anchor == anchors[example.row]
        name, anchor, source, made, nearest = example.cells[3]
        assert anchor == real["c"][example.anchor]
        assert name == "c"
        assert source == (None if origin < 0 else real["c"][origin])
        assert made == new["c"][example.row]
        assert nearest == real["c"][example.nearest]
        assert real["y"][example.nearest] == "yes"


def test_parentage_counts_cells(real: pd.DataFrame) -> None:
    anchors, guides = np.arange(800, 1000), np.arange(200)
    new = real.loc[anchors].reset_index(drop=True)
    new["c"] = real["c"][guides].to_numpy()
    found = quality(real, new, target="y", anchors=anchors, sources=guides).classes[0].parentage
    alike = np.mean(real["c"][anchors].to_numpy() == real["c"][guides].to_numpy())
    assert found.levels["both"] == pytest.approx(alike, abs=1e-3)
    assert found.levels["guide"] == pytest.approx(1 - alike, abs=1e-3)
    assert found.levels["anchor"] == found.levels["neither"] == 0
    copied = quality(real, real.loc[anchors], target="y", anchors=anchors, sources=guides)
    assert copied.classes[0].parentage.numbers["anchor"] == 0
    assert quality(real, new, target="y", sources=guides).classes[0].parentage is None


def test_views_show_what_was_measured(real: pd.DataFrame) -> None:
    new = draw(400, "yes", 2.0, 6)
    new["b"] = new["b"].sample(frac=1, random_state=0).to_numpy()
    one = quality(real, new, target="y", held_out=draw(200, "yes", 2.0, 8)).classes[0]
    assert set(one.pairs[0].names) == {"a", "b"}
    i, j = (one.associations.names.index(name) for name in "ab")
    assert one.associations.new[i][j] == pytest.approx(one.pairs[0].association_new, abs=0.01)
    assert one.associations.real[i][j] > 0.7 > abs(one.associations.new[i][j])
    assert set(one.map.points) == {"majority", "learned", "held_out", "new"}
    drawn = [point for points in one.map.points.values() for point in points]
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in drawn)


def test_the_pair_that_differs_most_is_the_same_everywhere(real: pd.DataFrame) -> None:
    (one,) = quality(real, draw(3000, "yes", 1.0, 3), target="y").classes  # rows are drawn
    first = one.pairs[0]
    gap = abs(first.association - first.association_new)
    said = f"difference is {gap:.2f}, between {first.names[0]} and {first.names[1]}."
    assert said in one["association"].reading


def test_containers_agree(real: pd.DataFrame) -> None:
    import polars as pl

    new = draw(100, "yes", 2.0, 3)
    first = quality(real, new, target="y")
    second = quality(pl.from_pandas(real), pl.from_pandas(new), target="y")
    third = quality(real.drop(columns="y"), new.drop(columns="y"), target=(real["y"], new["y"]))
    assert first.classes == second.classes == third.classes
    X, X_new = real[["a", "b", "n"]].to_numpy(), new[["a", "b", "n"]].to_numpy()
    assert quality(X, X_new, target=(real["y"], new["y"])).classes[0]["copies"].value == 0


def test_several_classes_and_few_rows() -> None:
    real = pd.concat([draw(90, "no", 0, 1), draw(30, "some", 2, 2), draw(2, "few", -2, 3)])
    new = pd.concat([draw(60, "some", 2, 4), draw(88, "few", -2, 5)])
    report = quality(real, new, target="y")
    few, some = report.classes
    assert (few.label, some.label) == ("few", "some")
    assert few["discriminator"].verdict == few.verdict == "unknown"
    assert few.headline.startswith("Too little is known")
    assert few["discriminator"].value is None
    assert some["discriminator"].value is not None


def test_images() -> None:
    rng = np.random.default_rng(0)

    def noisy(n: int, column: int) -> np.ndarray:
        """Noise with a bright column."""
        made = rng.integers(0, 100, (n, 8, 8, 3), dtype=np.uint8)
        made[:, :, column] = 255
        return made

    X, y = np.concatenate([noisy(60, 2), noisy(30, 5)]), np.repeat(["many", "few"], [60, 30])
    new, sources = noisy(40, 5), np.arange(40)
    report = quality(X, new, target=(y, ["few"] * 40), sources=sources)
    (few,) = report.classes
    assert few["separation"].verdict == few["copies"].verdict == "good"
    assert not few.columns
    for example in few.examples:
        for address, image in zip(
            example.pictures[1:],
            (X[example.source], new[example.row], X[example.nearest]),
            strict=True,
        ):
            assert example.pictures[0] is None
            data = base64.b64decode(address.removeprefix("data:image/png;base64,"))
            np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), image)
    page = report.to_html()
    assert page.count("<img ") == 3 * len(few.examples)
    assert 'id="columns"' not in page
    copied = quality(X, X[60:], target=(y, y[60:])).classes[0]
    assert copied["copies"].value == 1.0
    assert quality(X, noisy(40, 2), target=(y, ["few"] * 40)).classes[0][
        "separation"
    ].verdict == "bad"  # fmt: skip


def test_errors_name_the_remedy(real: pd.DataFrame) -> None:
    new = draw(10, "yes", 2.0, 3)
    with pytest.raises(ParameterError, match="no column 'z'"):
        quality(real, new, target="z")
    with pytest.raises(DataError, match="no rows"):
        quality(real, new[:0], target="y")
    with pytest.raises(DataError, match="lacks"):
        quality(real, new.drop(columns="a"), target="y")
    with pytest.raises(DataError, match="classes that real has not"):
        quality(real, new.assign(y="perhaps"), target="y")
    with pytest.raises(DataError, match="leave these out"):
        quality(real, new, target="y", sources=np.arange(1000))
    with pytest.raises(ParameterError, match="held_out must be"):
        quality(real, new, target="y", held_out=1.5)
    with pytest.raises(ParameterError, match="a sampler must be given"):
        quality(real, None, target="y")
    with pytest.raises(ParameterError, match="images have no columns"):
        quality(np.zeros((5, 8, 8)), np.zeros((5, 8, 8)), target="y")
    with pytest.raises(DataError, match="one class for each of 10 rows"):
        quality(real.drop(columns="y"), new.drop(columns="y"), target=(real["y"], real["y"]))


def test_many_columns_are_paired_in_part() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 200)), rng.normal(size=(30, 200))
    report = quality(X, new, target=(np.repeat([0, 1], 30), np.ones(30, int)))
    assert "150 of 200 columns" in report.classes[0]["association"].reading


def test_the_same_seed_gives_the_same_report_and_no_global_state_moves(
    real: pd.DataFrame,
) -> None:
    new = draw(3000, "yes", 2.0, 3)  # more than are looked at
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second, other = (quality(real, new, target="y", random_state=s) for s in (0, 0, 1))
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert first == second != other
    assert any("2,000" in note for note in first.notes)


def test_a_real_table(data_folder: Callable[[str], Path]) -> None:
    table = pd.read_csv(data_folder("tabular/thyroid_sick_train.csv.gz"))
    rows = table[table["target"] == 1]
    half = rows.sample(frac=0.5, random_state=0)
    found = quality(table.drop(index=half.index), half, target="target").classes[0]
    assert found["separation"].verdict == found["columns"].verdict == "good"
    assert found["discriminator"].value < 0.65


def test_advice_that_is_followed_changes_the_verdict() -> None:
    """The default is not private; what the report says to change makes it so."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["no", "yes"], [600, 300])
    X = rng.normal(size=(900, 4)) @ rng.normal(size=(4, 4)) + (labels == "yes")[:, None]
    sampler = MGVAE(random_state=0)

    def judge() -> dict[str, Answer]:
        (one,) = quality(X, None, target=(labels,), sampler=sampler, random_state=1).classes
        return {answer.question: answer for answer in one.answers} | {"said": one.headline}

    before = judge()
    assert before["private"].verdict == "bad"
    assert "do not hand them out" in before["said"]
    (advice,) = [one for one in before["private"].advice if one.setting is not None]
    sampler.set_params(**{advice.setting: advice.value})
    after = judge()
    assert after["private"].verdict == "good"
    assert "do not hand them out" not in after["said"]
