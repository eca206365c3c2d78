"""What results look like in a notebook: short, escaped, and with the numbers they hold."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

from mgvae import MGVAE
from mgvae.compare import compare
from mgvae.errors import DataError, ParameterError
from mgvae.report import quality

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray, MGVAE, np.ndarray, np.ndarray]:
    X, y = make_classification(200, 4, weights=[0.8], random_state=0)
    y = np.where(y, NASTY, "no")
    sampler = MGVAE(pretrain_steps=5, finetune_steps=5, random_state=0)
    X_new, y_new = (part[200:] for part in sampler.fit_resample(X, y))
    return X, y, sampler, X_new, y_new


def test_a_quality_report(rows) -> None:
    X, y, _, X_new, y_new = rows
    report = quality(X, X_new, target=(y, y_new))
    assert len(repr(report)) < 1000
    assert report.headline in repr(report)
    assert NASTY not in report._repr_html_()
    frame = report.to_frame()
    (one,) = report.classes
    assert frame["figure"].tolist() == [figure.name for figure in one.figures]
    found = frame.set_index("figure")
    assert found.loc["coverage", "value"] == one["coverage"].value
    assert tuple(found.loc["coverage", ["low", "high"]]) == one["coverage"].interval
    drawn = report.plot()
    assert drawn.get_legend_handles_labels()[1] == list(one.map.points)
    plt.close("all")


def test_a_comparison(rows) -> None:
    X, y, *_ = rows
    found = compare(X, y, models=["logistic", "knn"], methods=["ROS"], folds=2, repeats=1)
    assert len(repr(found)) < 2000
    assert all(line in repr(found) for line in found.verdicts.values())
    assert NASTY not in found._repr_html_()
    frame = found.to_frame()
    assert len(frame) == 2 * 3 * 2
    means = frame.groupby(["model", "method"])["roc_auc"].mean()
    assert means["knn", "ROS"] == pytest.approx(found.mean("knn", "ROS", "roc_auc"))
    first, second = found.plot("average_precision")
    assert [tick.get_text() for tick in first.get_yticklabels()] == ["ROS", "nothing"]
    assert second.get_title() == "knn"
    plt.close("all")
    with pytest.raises(ParameterError, match="metric must be one of"):
        found.plot("fame")


def test_histories_and_samplers(rows) -> None:
    sampler = rows[2]
    for history in sampler.history_.values():
        assert len(repr(history)) < 500
        assert history.stage in repr(history)
        assert NASTY not in history._repr_html_()
        frame = history.to_frame()
        assert len(frame) == history.steps == 5
        for name in frame.columns[1:]:
            assert frame[name].tolist() == history.terms[name]
    place = history.plot()
    assert len(place.lines) >= len(history.terms)
    plt.close("all")
    assert len(repr(sampler)) < 500


def test_a_fitted_sampler(rows) -> None:
    _, y, sampler, _, y_new = rows
    shown = sampler._repr_html_()
    assert NASTY not in shown
    assert f"<td>{(y == NASTY).sum()}</td><td>{len(y_new)}</td>" in shown
    assert "fitted to" not in clone(sampler)._repr_html_()
    frame = sampler.to_frame()
    for name, history in sampler.history_.items():
        own = frame[frame["stage"] == name]
        assert own["step"].tolist() == list(range(history.steps))
        for term, values in history.terms.items():
            assert own[term].tolist() == values
    places = sampler.plot()
    assert [place.get_title() for place in places] == list(sampler.history_)
    plt.close("all")
    with pytest.raises(NotFittedError):
        clone(sampler).to_frame()


def test_a_sampler_from_a_file_has_no_history(rows, tmp_path) -> None:
    path = tmp_path / "model"
    rows[2].save(path, without_rows=False)
    with pytest.raises(DataError, match="holds none"):
        MGVAE.load(path).plot()


def test_a_sampler_of_one_class_needs_no_label(rows) -> None:
    X, y, sampler, *_ = rows
    first, second = (sampler.generate(3, *label, random_state=0) for label in ([], [NASTY]))
    np.testing.assert_array_equal(first, second)
    y = np.where(np.arange(200) % 7, y, "more")
    several = MGVAE(pretrain_steps=2, finetune_steps=2, random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="is not a class that this sampler generates"):
        several.generate(3)
