"""``mgvae report`` from end to end."""

import html
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mgvae.cli._run import run

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def mgvae(capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        said = capfd.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["amount;grade;code;default"]
    for i in range(120):
        amount = f"{rng.gamma(2, 50):.2f}".replace(".", ",")
        code = rng.choice(["007", "12"]) if i % 6 else "12"
        lines.append(f"{amount};{rng.choice(['A', 'B'])};{code};{'no' if i % 6 else 'yes'}")
    path = tmp_path / "loans.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_what_balance_writes_is_understood(loans: Path, mgvae: Run, tmp_path: Path) -> None:
    fast = ["--pretrain-steps", 3, "--finetune-steps", 3, "--seed", 0, "-q"]
    whole, only, page = tmp_path / "whole.csv", tmp_path / "only.csv", tmp_path / "page.html"
    marked = [*fast, "--mark-synthetic"]
    assert mgvae("balance", loans, "-t", "default", "-o", whole, *marked)[0] == 0
    assert mgvae("balance", loans, "-t", "default", "-o", only, "--only-synthetic", *fast)[0] == 0
    code, said, _ = mgvae("report", loans, whole, "-t", "default", "-o", page)
    assert code == 0
    assert said.splitlines()[0] in page.read_text()
    assert [line.split(":")[0] for line in said.splitlines()[1:4]] == [
        "Faithful", "Diverse", "Private"
    ]  # fmt: skip
    assert "--held-out FILE" in said
    assert f"<pre>mgvae report {loans} {whole} -t default -o {page}</pre>" in page.read_text()
    first, second = (
        json.loads(mgvae("report", loans, path, "-t", "default", "--json")[1])["classes"][0]
        for path in (whole, only)
    )
    assert first["n_synthetic"] == second["n_synthetic"] == 80
    assert first["figures"] == second["figures"]  # although "code" looks like numbers in `only`
    assert all(example["source"] % 6 for example in first["examples"])  # majority rows
    assert not any(example["anchor"] % 6 for example in first["examples"])  # minority rows
    assert all(example["source"] is None for example in second["examples"])


def test_errors(loans: Path, mgvae: Run, tmp_path: Path) -> None:
    code, _, said = mgvae("report", loans, loans, "-t", "default")
    assert code == 2
    assert "--output" in said
    other = tmp_path / "other.csv"
    other.write_text("amount;default\n1,5;yes\n")
    code, _, said = mgvae("report", loans, other, "-t", "default", "--json")
    assert code == 2
    assert "grade, code" in said
    other.write_text("amount;grade;code;default\nmuch;A;12;yes\n")
    code, _, said = mgvae("report", loans, other, "-t", "default", "--json")
    assert code == 2
    assert "'amount'" in said
    code, _, said = mgvae("report", loans, loans, "-t", "default", "--source", "x", "--json")
    assert code == 2
    assert "'x'" in said
    code, _, said = mgvae("report", loans, loans, "-t", "default", "-o", loans)
    assert code == 2
    assert "--force" in said


def test_held_out(loans: Path, mgvae: Run, tmp_path: Path) -> None:
    far = tmp_path / "far.csv"
    far.write_text("amount;grade;code;default\n" + "99999,5;A;12;yes\n" * 5)
    options = ["-t", "default", "--json", "--held-out", far]
    code, said, _ = mgvae("report", loans, loans, *options)
    assert code == 0
    found = {one["label"]: one["n_held_out"] for one in json.loads(said)["classes"]}
    assert found == {"no": 0, "yes": 5}


def test_several_files_stand_side_by_side(loans: Path, mgvae: Run, tmp_path: Path) -> None:
    """SMOTE's rows, or anybody's, are judged as ours."""
    fast = ["--pretrain-steps", 3, "--finetune-steps", 3, "--seed", 0, "-q", "--only-synthetic"]
    ours, copies, page = (tmp_path / name for name in ("ours.csv", "copies.csv", "page.html"))
    assert mgvae("balance", loans, "-t", "default", "-o", ours, *fast)[0] == 0
    lines = loans.read_text().splitlines()
    copies.write_text("\n".join([lines[0]] + [line for line in lines if line.endswith("yes")] * 3))
    code, said, _ = mgvae("report", loans, ours, copies, "-t", "default", "-o", page)
    assert code == 0
    assert {"ours", "copies"} <= set(said.splitlines())
    assert "Side by side" in page.read_text()
    found = json.loads(mgvae("report", loans, ours, copies, "-t", "default", "--json")[1])
    first, second = (report["classes"][0] for report in found["reports"])
    assert first["verdict"] != "bad" == second["verdict"]


def test_balance_reports_and_the_command_repeats_it(
    loans: Path, mgvae: Run, tmp_path: Path
) -> None:
    out, page, again = (tmp_path / name for name in ("out.csv", "page.html", "again.csv"))
    fast = ["--pretrain-steps", 3, "--finetune-steps", 3]
    code, said, _ = mgvae("balance", loans, "-t", "default", "-o", out, "--report", page, *fast)
    assert code == 0
    text = html.unescape(page.read_text())
    headline = next(line for line in said.splitlines() if "the new rows of class yes" in line)
    assert headline in text
    assert "second sampler" in text
    assert "10 of the 20 real rows" in text
    assert "--generation translate" in said
    for word in ("pre-training", "fine-tuning of class yes", "ewc", "pretrain_steps"):
        assert word in text.lower()
    command = shlex.split(re.search(r"<pre>(mgvae .*?)</pre>", text).group(1))
    command[command.index(str(out))] = str(again)
    assert mgvae(*command[1:], "--force")[0] == 0
    assert again.read_bytes() == out.read_bytes()
    shown = re.search(r"generation</th><td>(\w+)", text)
    assert shown.group(1) == "bridge"  # and not "auto"
    code, _, said = mgvae("balance", loans, "-t", "default", "-o", out, "-f", "--report", tmp_path)
    assert code == 2
    assert "--report" in said


def test_warnings_are_one_line_in_the_words_of_the_command_line(mgvae: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{rng.integers(10**6)}x,{rng.normal():.3f},{'aab'[i % 3]}" for i in range(400)]
    path = tmp_path / "many.csv"
    path.write_text("\n".join(["city,x,y", *lines, *lines[:50]]) + "\n")
    code, _, said = mgvae("report", path, path, "-t", "y", "-o", tmp_path / "page.html")
    assert code == 0
    assert len(said.splitlines()) == 1
    assert said.startswith("mgvae: warning: column 'city'")
    assert "--type" in said
    assert "column_types" not in said


def test_held_out_rows_are_read_like_the_others(mgvae: Run, tmp_path: Path) -> None:
    """Without a header, with the same delimiter and the same mark of missing cells."""
    rng = np.random.default_rng(0)
    cells = [[f"{rng.normal():.3f}", f"{rng.normal():.3f}", "abbb"[i % 4]] for i in range(240)]
    lines = ["|".join(["?", *row[1:]] if i % 7 == 0 else row) for i, row in enumerate(cells)]
    train, rest = tmp_path / "train.txt", tmp_path / "rest.txt"
    train.write_text("\n".join(lines[:120]) + "\n")
    rest.write_text("\n".join(lines[120:]) + "\n")
    reading = ["--no-header", "--delimiter", "|", "--missing", "?", "-t", "c2"]
    page = tmp_path / "page.html"
    code, said, errors = mgvae(
        "balance", train, *reading, "-o", tmp_path / "out.csv", "--held-out", rest,
        "--report", page, "--pretrain-steps", 2, "--finetune-steps", 2, "--seed", 0,
    )  # fmt: skip
    assert code == 0, errors
    assert "compared with 30 real rows that were held out" in page.read_text()
    assert "Faithful" in said
