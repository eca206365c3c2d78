"""The results in the repository."""

import json
from pathlib import Path

import pytest

from mgvae.experiments import Cell
from mgvae_paper.methods import find_class
from mgvae_paper.store import open_store
from mgvae_paper.tables import find_table

FOLDER = Path(__file__).parent.parent / "results"
FILES = sorted(FOLDER.glob("*/*.jsonl"))


def test_few_files_hold_all_results_once():
    cells = [Cell(**result["cell"]) for result in open_store(FOLDER)]
    assert len(cells) >= 1584
    assert len({cell.key for cell in cells}) == len(cells)
    assert len(FILES) <= 15


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_lines_are_sorted_and_in_the_file_where_they_are_looked_for(path):
    store = open_store(FOLDER)
    results = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
    cells = [Cell(**result["cell"]) for result in results]
    assert {store.path(cell) for cell in cells} == {path}
    places = [(c.dataset, c.method, c.budget, c.seed, c.key) for c in cells]
    assert places == sorted(places)


def test_every_sampler_that_a_result_names_can_still_be_found():
    names = {result["cell"]["parameters"].get("sampler") for result in open_store(FOLDER)} - {None}
    assert len(names) >= 7
    assert all(hasattr(find_class(name), "fit_resample") for name in names)


@pytest.mark.parametrize(
    "name",
    ["mnist", "fashionmnist", "musk", "water_quality", "isolet", "ablation_mnist",
     "lambda_fashionmnist", "upper_bound", "grid_musk", "grid_water_quality", "grid_isolet",
     "published_mnist"],
)  # fmt: skip
def test_the_papers_tables_are_whole_at_full_length(name):
    store = open_store(FOLDER)
    missing = [str(c) for c in find_table(name).cells("paper") if not store.has(c)]
    assert not missing
