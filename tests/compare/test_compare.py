"""compare: no leak, honest statistics, resumable, and a verdict that follows from the scores."""

import json
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imblearn.metrics import geometric_mean_score
from imblearn.over_sampling import RandomOverSampler
from scipy import stats
from sklearn import metrics
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from mgvae import MGVAE
from mgvae.cli._run import run
from mgvae.compare import Comparison, Recommendation, _arms, compare
from mgvae.compare._advice import _python, recommend
from mgvae.compare._curves import COSTS
from mgvae.compare._methods import KNOWN
from mgvae.compare._page import bands
from mgvae.compare._scores import METRICS, scores
from mgvae.compare._verdict import verdict
from mgvae.compare._work import LeakError, _check_leak
from mgvae.errors import DataError, ParameterError
from mgvae.experiments import Store
from mgvae.experiments.judging import holm, paired_difference
from mgvae.experiments.tables import LabelledTable, NumericEncoder

QUICK = {"models": ["logistic"], "folds": 3, "repeats": 1}
HERE = __name__


def table(n: int = 240, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    weights = [0.85] if n_classes == 2 else [0.75, 0.15]
    return make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, weights=weights, class_sep=0.6,
        random_state=0,
    )  # fmt: skip


# no leak


class Suspicious(LogisticRegression):
    """A classifier that will not judge rows that it was trained on."""

    def fit(self, X, y):
        self.seen_ = {row.tobytes() for row in np.ascontiguousarray(X)}
        return super().fit(X, y)

    def predict_proba(self, X):
        if any(row.tobytes() in self.seen_ for row in np.ascontiguousarray(X)):
            raise LeakError("these rows were trained on")
        return super().predict_proba(X)


def test_nothing_is_trained_on_the_rows_it_is_judged_by() -> None:
    X, y = table()
    with pytest.raises(LeakError):  # it would notice
        Suspicious().fit(X, y).predict_proba(X[:3])
    found = compare(X, y, **QUICK | {"models": [f"{HERE}:Suspicious"]}, methods=["ROS", "SMOTE"])
    assert not found.failures


class Leaky(RandomOverSampler):
    """Hands out rows of the test part, in the very numbers that the fold gives them."""

    stolen: np.ndarray

    def fit_resample(self, X, y):
        X_new, y_new = super().fit_resample(X, y)
        return np.concatenate([X_new, self.stolen[:20]]), np.append(y_new, np.ones(20, int))


def test_a_leaking_sampler_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()
    transform = NumericEncoder.transform

    def overheard(self: NumericEncoder, rows: np.ndarray) -> np.ndarray:
        Leaky.stolen = transform(self, rows)  # last of the test rows
        return Leaky.stolen

    monkeypatch.setattr(NumericEncoder, "transform", overheard)
    monkeypatch.setattr(Leaky, "stolen", X, raising=False)
    found = compare(X, y, **QUICK, methods=[f"{HERE}:Leaky", "ROS"])
    (name,) = found.failures
    assert name == f"{HERE}:Leaky with logistic"
    assert found.failures[name].startswith("LeakError: the sampler gave 20 rows")
    assert list(found.scores["logistic"]) == ["nothing", "tuned threshold", "ROS"]


def test_what_counts_as_a_leak() -> None:
    rng = np.random.default_rng(0)
    known, hidden = rng.normal(size=(50, 2)), rng.normal(size=(20, 2))
    _check_leak(np.concatenate([known, known + 0.1, known]), known, hidden)
    with pytest.raises(LeakError, match="5 rows"):
        _check_leak(np.concatenate([known, hidden[:5]]), known, hidden)
    few = rng.integers(3, size=(70, 2)).astype(float)  # where rows meet by chance
    _check_leak(few, few[:30], few[30:])


def test_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    groups, y = rng.integers(30, size=200), rng.integers(2, size=200)
    data = LabelledTable(np.zeros((200, 1)), y, groups)
    seen = []
    for fold in range(4):
        train, test = data.split(4, 0, 0, fold)
        assert not set(groups[train]) & set(groups[test])
        seen.extend(test)
    assert sorted(seen) == list(range(200))


# statistics


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=20))
def test_without_overlap_it_is_the_paired_t_test(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    if np.std(a - b) < 1e-6:
        return
    found, usual = paired_difference(a, b, folds=10**9), stats.ttest_rel(a, b)
    assert found.p_value == pytest.approx(usual.pvalue, rel=1e-4, abs=1e-9)
    low, high = usual.confidence_interval()
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-4, abs=1e-6)
    wider = paired_difference(a, b, folds=5)
    growth = np.sqrt((1 / len(a) + 1 / 4) * len(a))
    assert wider.high - wider.low == pytest.approx(growth * (high - low), rel=1e-4)
    assert wider.p_value >= found.p_value


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_step_by_step(p_values: list[float]) -> None:
    raised = holm(p_values)
    for level in (0.01, 0.05, 0.3):
        rejected, left = set(), sorted(range(len(p_values)), key=lambda i: p_values[i])
        for i, place in enumerate(left):
            if min(1.0, (len(left) - i) * p_values[place]) >= level:
                break
            rejected.add(place)
        assert {i for i, p in enumerate(raised) if p < level} == rejected


def test_scores_are_the_usual_ones() -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1], [80, 20]))
    p = rng.random(100)
    predicted = (p > 0.6).astype(int)
    found = scores(y, predicted, np.stack([1 - p, p], 1), 1)
    assert found == pytest.approx(
        {
            "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
            "gm": geometric_mean_score(y, predicted),
            "f1": metrics.f1_score(y, predicted),
            "recall": metrics.recall_score(y, predicted),
            "precision": metrics.precision_score(y, predicted),
            "average_precision": metrics.average_precision_score(y, p),
            "roc_auc": metrics.roc_auc_score(y, p),
            "brier": metrics.brier_score_loss(y, p),
            "log_loss": metrics.log_loss(y, p),
        }
    )


def judged(nothing: float, tuned: float, **samplers: float) -> str:
    rng = np.random.default_rng(0)
    luck = rng.normal(0, 0.03, 10)

    def around(mean: float) -> dict[str, list[float]]:
        gm = mean + luck + rng.normal(0, 0.004, 10)
        return {"gm": gm.tolist(), "average_precision": (0.4 + luck).tolist()}

    methods = {"nothing": nothing, "tuned threshold": tuned, **samplers}
    return verdict({name: around(mean) for name, mean in methods.items()}, folds=5)


def test_the_verdict_follows_the_scores() -> None:
    assert "adds little here" in judged(0.6, 0.7, MGVAE=0.7)
    assert "over-sampling adds +0.10" in judged(0.6, 0.7, MGVAE=0.8)
    worse = judged(0.6, 0.8, MGVAE=0.65, ROS=0.7)
    assert worse.count("does worse than a tuned threshold") == 2
    assert "The best of the methods that make rows is ROS, which raises GM by" in worse
    assert "lowers GM by" in judged(0.6, 0.7, MGVAE=0.5)
    assert "Tuning the threshold changes GM by +0.10" in judged(0.6, 0.7)


def test_the_best_method_is_not_the_best_by_gm_alone() -> None:
    """One more point of GM does not outweigh average precision, ROC AUC and log loss."""

    def scores(gm: float, ap: float, auc: float, loss: float) -> dict[str, list[float]]:
        means = {"gm": gm, "average_precision": ap, "roc_auc": auc, "log_loss": loss}
        noise = np.random.default_rng(0).normal(0, 0.001, 10)
        return {name: (mean + noise).tolist() for name, mean in means.items()}

    said = verdict(
        {
            "nothing": scores(0.6, 0.5, 0.8, 0.4),
            "tuned threshold": scores(0.7, 0.5, 0.8, 0.4),
            "MGVAE": scores(0.6, 0.4, 0.7, 0.5),
            "crude": scores(0.75, 0.3, 0.6, 0.9),
            "sound": scores(0.74, 0.6, 0.9, 0.3),
        },
        folds=5,
    )
    assert "is sound, which raises GM by 0.14" in said
    assert "average precision by +0.10" in said
    assert "log loss by -0.10" in said


# what is recommended


def advised(**gm: float) -> Recommendation:
    rng = np.random.default_rng(0)
    luck = rng.normal(0, 0.03, 10)

    def around(mean: float) -> dict[str, list[float]]:
        own = (mean + luck + rng.normal(0, 0.004, 10)).tolist()
        return {"gm": own, "average_precision": own, "roc_auc": own, "log_loss": [-v for v in own]}

    names = {"tuned": "tuned threshold"}
    return recommend("logistic", {names.get(k, k): around(v) for k, v in gm.items()}, folds=5)


def test_the_recommendation_follows_the_scores() -> None:
    assert advised(nothing=0.6, tuned=0.6, BalancedClassifier=0.6).method == "nothing"
    assert advised(nothing=0.6, tuned=0.7, BalancedClassifier=0.7).method == "tuned threshold"
    best = advised(nothing=0.6, tuned=0.7, SMOTE=0.75, BalancedClassifier=0.8, MGVAE=0.78)
    assert best.method == "BalancedClassifier"
    assert "GM 0.8" in best.why
    assert advised(nothing=0.8, tuned=0.8, SMOTE=0.6).method == "nothing"


@pytest.mark.parametrize("method", KNOWN)
def test_the_python_of_a_recommendation_runs(method: str) -> None:
    X, y = table()
    python = _python(method, "logistic")
    if method == "class weights, bagged":
        assert python == ""
        return
    if method in ("MGVAE", "CVAE", "BalancedClassifier"):  # whose sampler takes seconds
        compile(python, method, "exec")
        return
    names = {"X": X, "y": y}
    exec(python, names)  # noqa: S102
    assert names["model"].predict(X).shape == (len(y),)


def test_the_python_of_class_weights() -> None:
    assert 'LogisticRegression(max_iter=1000, class_weight="balanced")' in _python(
        "class weights", "logistic"
    )
    assert 'LGBMClassifier(class_weight="balanced")' in _python("class weights", "lightgbm")
    assert _python("class weights", "knn") == ""  # neighbours know no weights


# the comparison as a whole


def test_ensembles_take_part_and_share_one_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(150)
    fits = []

    fit = MGVAE.fit
    monkeypatch.setattr(MGVAE, "fit", lambda self, X, y: fits.append(len(y)) or fit(self, X, y))
    monkeypatch.setattr(
        _arms, "MGVAE", lambda **options: MGVAE(pretrain_steps=5, finetune_steps=5, **options)
    )
    methods = [m for m in KNOWN if m not in ("ROS", "CVAE", "SMOTE")]
    models = ["logistic", "knn"]
    found = compare(X, y, models=models, methods=methods, folds=2, repeats=2)
    assert len(fits) == 4  # once a split, for two methods and two classifiers
    assert set(found.failures) == {"class weights with knn", "class weights, bagged with knn"}
    assert set(found.scores["logistic"]) == set(methods)
    assert all(0 <= v < 0.5 for by in found.stability.values() for v in by.values())
    nothing, bagged = (found.stability["logistic"][m] for m in ("nothing", "nothing, bagged"))
    assert nothing == found.stability["logistic"]["tuned threshold"]
    assert bagged > 0
    assert set(found.recommendations) == set(models)
    assert json.loads(found.to_json())["recommendations"]["knn"]["method"] in methods


def test_resumable_and_the_same_with_two_jobs(tmp_path: Path) -> None:
    X, y = table()
    methods = ["ROS", "class weights"]
    calls: list[tuple[int, int]] = []

    def run_again(store: Path, **options: object) -> Comparison:
        calls.clear()
        return compare(
            X, y, **QUICK, methods=methods, store=store,
            progress=lambda *done: calls.append(done), **options,
        )  # fmt: skip

    first = run_again(tmp_path / "a")
    assert calls[-1] == (12, 12)
    assert len(list(Store(tmp_path / "a"))) == 12
    again = run_again(tmp_path / "a")
    assert not calls
    assert again == first
    (kept,) = (tmp_path / "a").rglob("*.jsonl")
    kept.write_bytes(b"".join(kept.read_bytes().splitlines(keepends=True)[1:]))
    resumed = run_again(tmp_path / "a")
    assert calls == [(12, 12)]
    parallel = run_again(tmp_path / "b", jobs=2)
    for found in (resumed, parallel):  # all but the time it took
        for method, by_metric in first.scores["logistic"].items():
            for metric in METRICS:
                assert found.scores["logistic"][method][metric] == by_metric[metric]
    calls.clear()
    compare(X + 1, y, **QUICK, methods=methods, store=tmp_path / "a",
            progress=lambda *done: calls.append(done))  # fmt: skip
    assert len(calls) == 12  # other data


def test_probabilities_are_those_of_the_data() -> None:
    X, y = table(600)
    found = compare(X, y, models=["logistic"], methods=["ROS", "class weights"], folds=3, repeats=1)
    nothing = found.mean("logistic", "nothing", "log_loss")
    for method in ("ROS", "class weights"):
        assert found.mean("logistic", method, "log_loss") < nothing + 0.05  # uncorrected: + 0.2
        assert found.mean("logistic", method, "gm") > found.mean("logistic", "nothing", "gm")
    assert found.mean("logistic", "tuned threshold", "log_loss") == nothing


class KnowsByHeart(RandomForestClassifier):
    """A forest that knows by heart what it was shown: each of its leaves is one row."""


def forest_rows(X, y, groups=None, X_test=None, model="KnowsByHeart") -> _arms.Training:
    encoder = NumericEncoder(None).fit(X)
    Z, Z_test = (encoder.transform(X if rows is None else rows) for rows in (None, X_test))
    model = f"{HERE}:{model}"
    return _arms.Training(X, X_test, Z, Z_test, y, groups, encoder, model, (0, 0, 0), (object(),))


def test_the_threshold_of_a_forest_is_tuned_on_trees_that_do_not_know_a_row() -> None:
    X, y = table(600)
    rows = forest_rows(X, y, X_test=np.random.default_rng(0).normal(size=(5000, 5)))
    predicted, said = _arms.train_arm("tuned threshold", rows, lambda _: None)()
    forest = KnowsByHeart(random_state=0, oob_score=True).fit(rows.Z, y)
    unseen = forest.oob_decision_function_[:, 1]
    gm = {cut: geometric_mean_score(y, unseen >= cut) for cut in np.unique(unseen)}
    below, above = said[predicted == 0, 1].max(), said[predicted == 1, 1].min()
    assert below < above < below + 0.02
    near = [gm[cut] for cut in gm if below - 0.01 < cut <= above + 0.01]
    assert max(near) == max(gm.values())


def test_a_forest_tunes_no_threshold_on_rows_of_its_own_groups() -> None:
    X, y = table(200)
    X, y, members = np.repeat(X, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(200), 3)
    knows, does_not = (
        roc_auc_score(y, _arms._unseen(rows, rows.untreated())[:, 1])
        for rows in (forest_rows(X, y), forest_rows(X, y, members))
    )
    assert knows > 0.99  # by the twins of a row
    assert does_not < 0.95


class FewTrees(KnowsByHeart):
    """A forest whose trees have all drawn some of the rows."""

    def __init__(self, n_estimators=3, random_state=0, n_jobs=None, oob_score=False) -> None:
        super().__init__(
            n_estimators, random_state=random_state, n_jobs=n_jobs, oob_score=oob_score
        )


def test_a_forest_of_few_trees_is_not_asked_about_rows_that_all_have_drawn() -> None:
    X, y = table(200)
    rows = forest_rows(X, y, model="FewTrees")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns of such rows
        said = _arms._unseen(rows, rows.untreated())
    np.testing.assert_allclose(said.sum(1), 1.0)


def test_several_classes() -> None:
    X, y = table(300, 3)
    names = np.array(["a", "b", "c"])[y]
    found = compare(X, names, **QUICK, methods=["SMOTE"])
    assert found.minority == "c"
    gain = found.mean("logistic", "tuned threshold", "balanced_accuracy")
    assert gain > found.mean("logistic", "nothing", "balanced_accuracy")


def test_a_mixed_table() -> None:
    rng = np.random.default_rng(0)
    X, y = table(160)
    mixed = pd.DataFrame(X, columns=list("abcde")).assign(
        kind=rng.choice(["x", "y"], len(y)), when=pd.Timestamp("2024-01-01")
    )
    mixed.loc[::7, "a"] = np.nan
    mixed["when"] += pd.to_timedelta(rng.integers(100, size=len(y)), "D")
    methods = ["class weights", "ROS", "SMOTE", "MGVAE"]
    found = compare(mixed, y, models=["knn"], methods=methods, folds=2, repeats=1)
    assert list(found.failures) == ["class weights with knn"]
    assert set(found.scores["knn"]) == {"nothing", "tuned threshold", "ROS", "SMOTE", "MGVAE"}
    assert json.loads(found.to_json())["verdicts"]["knn"].startswith("MGVAE")
    page = found.to_html()
    for text in (*found.verdicts.values(), *found.failures, "Means over the splits"):
        assert text in page


def test_errors() -> None:
    X, y = table()
    with pytest.raises(ParameterError, match=r"models must each be one of .* got 'forest'"):
        compare(X, y, models=["forest"])
    with pytest.raises(ParameterError, match=r"methods must each be one of .* got 'smote'"):
        compare(X, y, methods=["smote"])
    with pytest.raises(DataError, match="Lower folds or leave that class out"):
        compare(X, np.arange(240) == 3)
    with pytest.raises(DataError, match="two classes"):
        compare(X, np.zeros(240))
    with pytest.raises(ParameterError, match="at least 2"):
        compare(X, y, folds=1)
    with pytest.raises(DataError, match="smaller groups"):
        compare(X, y, **QUICK, methods=["ROS"], groups=np.where(y, 0, np.arange(240)))


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

ACTIONS = """
<script>
window.addEventListener("load", () => {
  const shown = (selector) =>
    [...document.querySelectorAll(selector)].filter((x) => x.offsetParent !== null)
      .map((x) => x.dataset.metric);
  document.getElementById("tab-differences").click();
  const said = [shown("[data-metric]")];
  const list = document.querySelector("[data-shows=metric]");
  list.value = "brier";
  list.dispatchEvent(new Event("input"));
  said.push(shown("[data-metric]"));
  document.getElementById("tab-curves").click();
  const drawn = (name) => getComputedStyle(document.querySelector(`path.line.${name}`)).display;
  const box = document.querySelector("[data-draws=c1]");
  said.push(drawn("c0"), drawn("c1"));
  box.checked = true;
  box.dispatchEvent(new Event("input"));
  said.push(drawn("c1"));
  document.title = said.join("; ");
});
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    found = compare(*table(), **QUICK, methods=["ROS"])
    page = tmp_path / "compare.html"
    page.write_text(found.to_html().replace("</body>", ACTIONS + "</body>"), encoding="utf-8")
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    assert "<title>roc_auc; brier; inline; none; inline</title>" in done.stdout


def test_curves_are_averaged_over_the_splits() -> None:
    found = compare(*table(), **QUICK, methods=["ROS"])
    (splits,) = (next(iter(methods.values())) for methods in found.curves.values())
    assert len(splits) == 3
    drawn = bands(found.curves["logistic"], 0.15)
    for name in ("roc", "precision"):
        band = drawn[name]["nothing"]
        values = np.array([split[name] for split in splits])
        np.testing.assert_allclose(band.ys, values.mean(0))
        np.testing.assert_allclose(np.subtract(band.high, band.low), 2 * values.std(0), atol=1e-12)
    said = drawn["calibration"]["nothing"]
    assert all(low <= y <= high for low, y, high in zip(said.low, said.ys, said.high, strict=True))
    alone = [{**splits[0], "cost": [min(0.15 * c, 0.85) for c in COSTS]}]
    np.testing.assert_allclose(bands({"a": alone}, 0.15)["cost"]["a"].ys, 1.0)


# the command

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def mgvae(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # other processes are slow to start

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run(["compare", *map(str, arguments)])
        said = capfd.readouterr()
        return code, said.out, said.err

    return call


@pytest.mark.parametrize(("cores", "given", "used"), [(2, [], 2), (64, [], 4), (64, [9], 9)])
def test_the_command_takes_the_cores_that_there_are(cores, given, used, mgvae, monkeypatch):
    found = []

    def caught(*_arguments: object, jobs: int, **_settings: object) -> None:
        found.append(jobs)
        raise ParameterError("enough")

    monkeypatch.setattr("joblib.cpu_count", lambda: cores)
    monkeypatch.setattr("mgvae.compare.compare", caught)
    Path("a.csv").write_text("a,y\n" + "1,0\n2,1\n" * 20)
    assert mgvae("a.csv", "-t", "y", *(f"--jobs={n}" for n in given))[0] == 2
    assert found == [used]


@pytest.mark.parametrize(
    ("separate", "advice"),
    [
        (0.0, "Leave the classes as they are. Nothing helps: with a ROC AUC of 0."),
        (1.5, "Tune the threshold. A tuned threshold raises GM from "),
    ],
    ids=["noise", "shifted"],
)
def test_command_where_the_outcome_is_known(separate: float, advice: str, mgvae: Run) -> None:
    """Nothing helps where there is nothing to learn; of two shifted Gaussians, whose best score is
    linear whatever the shares, a threshold is all that is missing."""
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 12 == 0
    frame = pd.DataFrame(rng.normal(size=(1200, 2)) + separate * y[:, None] / 2**0.5)
    frame.set_axis(["a", "b"], axis=1).assign(y=y).to_csv("a.csv", index=False)
    options = ["--model", "logistic", "--method", "ROS", "--seed", 0]
    code, said, _ = mgvae("a.csv", "-t", "y", *options)
    assert code == 0
    assert advice in " ".join(said.split())


def test_command(mgvae: Run, tmp_path: Path) -> None:
    X, y = table()
    rows = pd.DataFrame(X.round(3), columns=["a", "b", "<script>", "d", "e"])
    rows.assign(who=np.arange(240) // 4, y=np.where(y, "<b>yes", "no")).to_csv("a.csv", index=False)
    options = ["a.csv", "-t", "y", "--model", "logistic", "--method", "ROS", "--folds", 2]
    options += ["--repeats", 1, "--groups", "who"]
    code, said, _ = mgvae(*options, "--report", "a.html")
    assert code == 0
    assert "tuned threshold" in said
    assert "ROS raises GM" in said
    assert "model = " in said
    page = Path("a.html").read_text()
    assert "&lt;b&gt;yes" in page
    assert page.count("<script>") == 1
    assert "too few splits" in said
    assert "±" not in said
    assert "too few splits" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.html", "cache"]
    (kept,) = Path("cache").rglob("*.jsonl")
    before = kept.stat().st_mtime_ns
    assert len(list(Store("cache/mgvae/compare"))) == 6
    code, said, _ = mgvae(*options, "--json")
    assert code == 0
    assert kept.stat().st_mtime_ns == before
    report = json.loads(said)
    assert report["classes"] == {"<b>yes": int(y.sum()), "no": int((1 - y).sum())}
    code, _, said = mgvae(*options, "--groups", "whom")
    assert code == 2
    assert "'who'" in said
    code, _, said = mgvae(*options, "--model", "oracle")
    assert code == 2
    assert "random_forest" in said


def test_the_table_fits_a_narrow_terminal(mgvae: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a screen is narrow the columns go into several tables; no name and no figure is cut."""
    X, y = table()
    pd.DataFrame(X).set_axis(list("abcde"), axis=1).assign(y=y).to_csv("a.csv", index=False)
    options = ["--model", "logistic", "--method", "nothing, bagged", "--folds", 2, "--repeats", 1]
    monkeypatch.setenv("COLUMNS", "45")
    code, said, _ = mgvae("a.csv", "-t", "y", *options)
    assert code == 0
    assert "…" not in said
    lines = said.splitlines()
    tables = [i for i, line in enumerate(lines) if line.startswith("method ")]
    assert len(tables) > 1
    for i in tables:
        assert len(lines[i]) <= 45
        names = [re.split(r"  +|(?<=d) (?=[01])", line)[0] for line in lines[i + 1 : i + 4]]
        assert names == ["nothing", "tuned threshold", "nothing, bagged"]
