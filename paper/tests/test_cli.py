"""The command, from the outside."""

import csv
import io

import pytest
from mgvae_paper.methods import make_cell
from mgvae_paper.tables import find_table, table_names

from mgvae.cli._run import run
from mgvae.experiments import Store


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda *arguments: run(["bench", *arguments])


def test_list_names_everything(bench, capsys):
    assert bench("list") == 0
    shown = capsys.readouterr().out
    for name in (*table_names(), "OCDCGAN", "musk-by-molecule", "exemplars-mnist"):
        assert name in shown


def test_run_resumes_and_table_shows(bench, small_data, capsys, tmp_path):
    command = ["run", "water_quality", "--protocol", "clean", "--seeds", "1", "--only", "erm"]
    assert bench(*command) == 0
    assert "[1/1] water_quality ERM" in capsys.readouterr().err
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "results").rglob("*.json")}
    assert bench(*command) == 0
    assert "Nothing to do" in capsys.readouterr().err
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "results").rglob("*.json")}
    assert bench("table", "water_quality", "--protocol", "clean", "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["method"] for row in rows] == ["ERM", "ERM (tuned threshold)"]
    assert bench("status", "water_quality", "--seeds", "1") == 0
    cells = len(find_table("water_quality").cells("clean", seeds=1))
    line = capsys.readouterr().out.splitlines()[-1].split()
    assert line == ["water_quality", "clean", "1", "0", str(cells - 1)]


def test_a_failure_is_kept_and_retried_on_demand(bench, small_data, capsys, tmp_path):
    method = "imblearn.under_sampling:NoSuchThing"
    assert bench("run", "musk", "--method", method) == 2
    assert method in capsys.readouterr().err
    command = ["run", "musk", "--protocol", "paper", "--seeds", "1", "--only", "erm"]
    assert bench(*command, "--method", "sklearn.svm:SVC") == 1  # neither a sampler nor a loss
    assert "1 cells failed" in capsys.readouterr().err
    store = Store(tmp_path / "results")
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
    assert (tmp_path / "docs" / "results.md").read_text().startswith("# Results")
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
