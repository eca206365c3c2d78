"""Cells repeat themselves, and results say what they must and no more."""

import json
from pathlib import Path

import numpy as np
import pytest

from mgvae.experiments import Cell
from mgvae_paper import protocols
from mgvae_paper.data import split
from mgvae_paper.methods import make_cell
from mgvae_paper.protocols import Evaluation
from mgvae_paper.resampling import resample


def short(method, protocol, dataset="musk"):
    cell = make_cell(dataset, method, protocol)
    classifier = {**cell.parameters["classifier"], "epochs": 2}
    settings = {"pretrain_steps": 20, "finetune_steps": 10} if method == "MGVAE" else {}
    if method == "OCVAE":
        settings = {"steps": 20}
    parameters = {**cell.parameters, "classifier": classifier}
    if settings:
        parameters["settings"] = {**cell.parameters.get("settings", {}), **settings}
    return Cell(dataset, method, protocol, seed=1, parameters=parameters)


@pytest.mark.parametrize("protocol", ["paper", "clean"])
@pytest.mark.parametrize("method", ["ERM", "ROS", "SMOTE", "LDAM", "OCVAE", "MGVAE"])
def test_a_cell_repeats_itself(small_data, tmp_path, method, protocol):
    cell = short(method, protocol)
    first, second = (Evaluation(None, tmp_path / str(i))(cell) for i in range(2))
    for name in ("metrics", "confusion_matrix", "rows", "epoch", "settings"):
        assert first[name] == second[name]
    assert first.get("tuned") == second.get("tuned")
    assert ("tuned" in first) == (protocol == "clean")
    json.dumps(first, allow_nan=False)
    assert {"seconds", "peak_memory_mb", "versions", "commit"} <= set(first)
    balanced = first["rows"]["resampled"]
    resampling = method in ("SMOTE", "OCVAE", "MGVAE") or (method, protocol) == ("ROS", "clean")
    assert (balanced[0] == balanced[1]) == resampling


@pytest.mark.parametrize("method", ["SMOTE", "MGVAE"])
def test_cells_of_images(small_data, tmp_path, method):
    cell = short(method, "clean", "mnist-100")
    result = Evaluation(None, tmp_path)(cell)
    assert result["rows"]["resampled"] == [280, 280]
    assert sum(map(sum, result["confusion_matrix"])) == 200


def test_results_say_nothing_of_this_machine(small_data, tmp_path):
    text = json.dumps(Evaluation(tmp_path, tmp_path)(short("MGVAE", "paper")))
    assert str(tmp_path) not in text
    assert str(Path.home()) + "/" not in text


def of_one_sampler(method, dataset, seed):
    cell = short(method, "paper", dataset)
    return Cell(
        dataset, method, "paper", seed=seed, parameters={**cell.parameters, "sampler_seed": 3}
    )


@pytest.mark.parametrize(("method", "dataset"), [("MGVAE", "musk"), ("OCVAE", "mnist-100")])
def test_seeds_share_a_sampler_and_differ_in_the_classifier(
    small_data, tmp_path, monkeypatch, method, dataset
):
    seen = []
    real = protocols.train_classifier
    monkeypatch.setattr(
        protocols, "train_classifier", lambda X, y, *a, **k: seen.append(X) or real(X, y, *a, **k)
    )
    evaluation = Evaluation(None, tmp_path / "one")
    results = [evaluation(of_one_sampler(method, dataset, seed)) for seed in (0, 1)]
    results.append(Evaluation(None, tmp_path / "other")(of_one_sampler(method, dataset, 1)))
    assert (seen[0] == seen[1]).all()
    assert (seen[1] == seen[2]).all()  # read from the cache, or made anew
    assert results[1]["metrics"] == results[2]["metrics"]
    assert results[0]["settings"] == results[1]["settings"] == results[2]["settings"]
    assert results[1]["seconds"]["sampler"] == 0.0


def test_published_images_are_truncated_to_bytes(small_data, tmp_path):
    parameters = short("MGVAE", "paper", "mnist-100").parameters
    assert parameters["truncated"]
    parts = split("mnist-100", "paper")
    truncated, rounded = (
        resample(parts.X_train, parts.y_train, {**parameters, "truncated": how}, 0, tmp_path)
        .X[len(parts.X_train) :]
        .astype(int)
        for how in (True, False)
    )
    assert set(np.unique(rounded - truncated)) == {0, 1}
