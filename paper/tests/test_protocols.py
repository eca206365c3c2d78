"""Cells repeat themselves, and results say what they must and no more."""

import json
from pathlib import Path

import pytest

from mgvae.experiments import Cell
from mgvae_paper.methods import make_cell
from mgvae_paper.protocols import Evaluation


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
