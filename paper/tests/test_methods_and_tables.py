"""Declarations: rules, budgets, rows."""

import pytest

from mgvae.errors import ParameterError
from mgvae.experiments import distinct
from mgvae_paper.data import DATASETS
from mgvae_paper.methods import make_cell, method_names
from mgvae_paper.tables import METRICS, find_table, table_names


def test_all_methods_of_the_paper_are_declared():
    paper = {"ERM", "ROS", "SMOTE", "RW", "CBRW", "FOCAL", "LDAM", "OCVAE", "OCGAN", "OCDCGAN"}
    assert paper | {"MGVAE"} <= set(method_names())


def test_a_budget_counts_only_where_it_shortens_something():
    assert make_cell("musk", "RW", "paper", budget="cpu").budget == "full"
    assert make_cell("musk", "MGVAE", "paper", budget="cpu").budget == "cpu"
    full, cpu = (make_cell("musk", "SMOTE", "paper", budget=b) for b in ("full", "cpu"))
    assert full.key == cpu.key


def test_published_settings_follow_the_data():
    weights = {
        name: make_cell(name, "MGVAE", "paper").parameters["settings"].get("ewc_weight")
        for name in ("mnist-600", "fashionmnist-100", "musk")
    }
    assert weights == {"mnist-600": 0.01, "fashionmnist-100": 0.01, "musk": None}
    assert "settings" not in make_cell("musk", "MGVAE", "clean").parameters


@pytest.mark.parametrize("method", ["ERM", "LDAM", "OCVAE", "MGVAE"])
@pytest.mark.parametrize("dataset", ["musk", "mnist-100", "fashionmnist-600"])
def test_the_papers_protocol_has_100_epochs_of_the_double_softmax(method, dataset):
    classifier = make_cell(dataset, method, "paper").parameters["classifier"]
    assert classifier["paper_double_softmax"]
    assert classifier["epochs"] == 100
    assert (
        not make_cell(dataset, method, "clean")
        .parameters["classifier"]
        .get("paper_double_softmax", False)
    )


def test_one_generator_serves_all_seeds_of_a_grid():
    for name in ("grid_musk", "grid_isolet", "grid_mnist"):
        table = find_table(name)
        cells = table.cells("paper")
        assert len(cells) == 3 * len(table.columns("paper")) * len(table.rows("paper"))
        for dataset in table.columns("paper"):
            first, *others = (
                {k: v for k, v in cell.parameters.items() if k != "draw"}
                for cell in cells
                if cell.dataset == dataset
                and cell.parameters["settings"] == cells[0].parameters["settings"]
            )
            assert first["sampler_seed"] == 0
            assert [first] * 2 == others
    draws = {
        cell.parameters.get("draw", cell.seed) for cell in find_table("grid_isolet").cells("paper")
    }
    assert draws == {0}


def test_wildcards_choose_the_rows_of_a_grid():
    table = find_table("grid_musk")
    chosen = table.rows("paper", only=["700*"])
    assert {row.settings["n_exemplars"] for row in chosen} == {700}
    assert len(chosen) == len(table.grid["ewc_weight"]) * len(table.grid["finetune_steps"])


def test_a_users_sampler_and_loss():
    sampler = make_cell("musk", "imblearn.over_sampling:ADASYN", "clean").parameters
    assert sampler["sampler"] == "imblearn.over_sampling:ADASYN"
    loss = make_cell("musk", "torch.nn:MultiMarginLoss", "clean").parameters
    assert loss["classifier"]["loss"] == "torch.nn:MultiMarginLoss"


@pytest.mark.parametrize("method", ["SMOT", "no.such.module:Class", "imblearn.over_sampling:SMOT"])
def test_unknown_methods_are_named(method):
    with pytest.raises(ParameterError, match=method):
        make_cell("musk", method, "paper")


def test_the_ablation_and_the_main_table_share_a_cell():
    ablation = find_table("ablation_mnist").cells("paper")
    methods = find_table("mnist").cells("paper", only=["mgvae"])
    assert len(distinct([*ablation, *methods])) == len(ablation)


@pytest.mark.parametrize("name", table_names())
def test_every_row_of_a_published_table_has_the_papers_values_of_every_column(name):
    table = find_table(name)
    assert all(column in DATASETS for column in table.datasets)
    assert ("paper" in table.protocols) == (table.page == "results")
    if table.page != "results" or table.grid:
        return
    for row in table.rows("paper"):
        assert list(row.paper) == table.columns("paper")
        for values in row.paper.values():
            assert list(values) == list(METRICS)
            assert all(len(value) == 2 and 0 <= value[0] <= 100 for value in values.values())


def test_rows_are_chosen_by_name_or_method_in_any_case():
    table = find_table("ablation_mnist")
    assert [row.name for row in table.rows("paper", only=["mgvae w/o pt"])] == ["MGVAE w/o PT"]
    assert len(table.rows("paper", only=["MGVAE"])) == 4
    with pytest.raises(ParameterError, match="smote"):
        table.rows("paper", only=["smote"])


def test_tuned_thresholds_are_rows_of_the_clean_protocol_without_cells_of_their_own():
    table = find_table("musk")
    assert len(table.rows("clean")) == len(table.rows("paper")) + 3
    assert len(table.cells("clean", seeds=1)) == 2 * len(table.cells("paper", seeds=1))
