"""The command, from the outside."""

import csv
import io
import json

import pytest

from mgvae.cli.program import run_app
from mgvae_paper.cli import app
from mgvae_paper.methods import make_cell
from mgvae_paper.store import open_store
from mgvae_paper.tables import find_table, table_names


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda *arguments: run_app(app, "mgvae-paper", arguments)


def test_list_names_everything(bench, capsys):
    assert bench("list") == 0
    shown = capsys.readouterr().out
    for name in (*table_names(), "OCDCGAN", "musk-by-molecule", "exemplars-mnist"):
        assert name in shown


def test_run_resumes_and_table_shows(bench, small_data, capsys, tmp_path):
    command = ["run", "water_quality", "--protocol", "clean", "--seeds", "1", "--only", "erm"]
    assert bench(*command) == 0
    assert "[1/1] water_quality ERM" in capsys.readouterr().err
    (kept,) = (tmp_path / "results").rglob("*.jsonl")
    before = kept.stat().st_mtime_ns
    assert bench(*command) == 0
    assert "Nothing to do" in capsys.readouterr().err
    assert kept.stat().st_mtime_ns == before
    assert bench("table", "water_quality", "--protocol", "clean", "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["method"] for row in rows] == ["ERM", "ERM (tuned threshold)"]
    assert bench("status", "water_quality", "--seeds", "1") == 0
    cells = len(find_table("water_quality").cells("clean", seeds=1))
    line = capsys.readouterr().out.splitlines()[-1].split()
    assert line == ["water_quality", "clean", "1", "0", str(cells - 1)]


def test_one_column_of_a_table(bench, small_data, capsys):
    command = ["run", "efficacy", "--protocol", "folds", "--seeds", "1", "--only", "nothing"]
    assert bench(*command, "--columns", "water_quality") == 0
    told = capsys.readouterr().err
    assert "[1/1] water_quality nothing" in told
    assert bench(*command, "--columns", "water_quality,mars") == 2
    assert "--columns: 'mars' is no data set of these tables; there are" in capsys.readouterr().err


def test_all_tables_unless_named(bench, small_data, capsys):
    assert bench("run", "--protocol", "clean", "--only", "nosuchrow") == 2
    assert "nosuchrow" in capsys.readouterr().err


def test_results_of_one_file_a_cell_are_packed(bench, capsys, tmp_path):
    cells = [make_cell(d, "ERM", "paper", seed=s) for d in ("musk", "isolet") for s in (1, 0)]
    for i, cell in enumerate(cells):
        path = tmp_path / "old" / cell.protocol / cell.dataset / f"{cell.key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cell": cell.as_dict(), "metrics": {"gm": i}}, indent=1))
    assert bench("pack", "old") == 0
    assert "4 results" in capsys.readouterr().out
    store = open_store(tmp_path / "results")
    assert [store.get(cell)["metrics"]["gm"] for cell in cells] == [0, 1, 2, 3]
    (kept,) = (tmp_path / "results").rglob("*.jsonl")
    places = [json.loads(line)["cell"] for line in kept.read_text().splitlines()]
    assert [(c["dataset"], c["seed"]) for c in places] == [
        ("isolet", 0), ("isolet", 1), ("musk", 0), ("musk", 1)
    ]  # fmt: skip
    before = kept.read_bytes()
    assert bench("pack", "old") == 0
    assert kept.read_bytes() == before
    path.rename(path.with_stem("0123456789abcdef"))
    assert bench("pack", "old") == 2
    assert "another cell" in capsys.readouterr().err
    assert bench("pack", "nowhere") == 2


def test_a_failure_is_kept_and_retried_on_demand(bench, small_data, capsys, tmp_path):
    method = "imblearn.under_sampling:NoSuchThing"
    assert bench("run", "musk", "--method", method) == 2
    assert method in capsys.readouterr().err
    command = ["run", "musk", "--protocol", "paper", "--seeds", "1", "--only", "erm"]
    assert bench(*command, "--method", "sklearn.svm:SVC") == 1  # neither a sampler nor a loss
    assert "1 cells failed" in capsys.readouterr().err
    store = open_store(tmp_path / "results")
    assert store.has(make_cell("musk", "ERM", "paper"))
    assert store.error(make_cell("musk", "sklearn.svm:SVC", "paper")) is not None
    assert bench(*command, "--method", "sklearn.svm:SVC") == 0
    assert "Nothing to do" in capsys.readouterr().err
    assert bench(*command, "--method", "sklearn.svm:SVC", "--retry") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nosuch"], "lambda_fashionmnist"),
        (["run", "musk", "--only", "smoot"], "smoot"),
        (["run", "musk", "--jobs", "0"], "--jobs"),
        (["table", "lambda_fashionmnist", "--protocol", "clean"], "paper only"),
        (["figure", "nosuch"], "exemplars-mnist"),
    ],
)
def test_bad_usage_is_one_line(bench, capsys, arguments, said):
    assert bench(*arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1


def test_page_and_figures(bench, small_data, tmp_path, monkeypatch):
    from mgvae_paper import figures

    assert bench("page") == 0
    assert (tmp_path / "pages" / "results.md").read_text().startswith("# Results")
    quick = {"pretrain_steps": 5, "finetune_steps": 5, "n_exemplars": 20}
    real = figures._Studio.parameters
    monkeypatch.setattr(
        figures._Studio,
        "parameters",
        lambda self, name, method, **settings: real(
            self, name, method, **(quick if method == "MGVAE" else {}), **settings
        ),
    )
    assert bench("figure", "exemplars-mnist") == 0
    assert (tmp_path / "exemplars-mnist.png").read_bytes().startswith(b"\x89PNG")
