"""``mgvae balance`` from end to end, with few training steps."""

import csv
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mgvae import MGVAE, files
from mgvae.cli import balance as command
from mgvae.cli._run import run
from mgvae.samplers import resolved_settings

FAST = ["--pretrain-steps", "3", "--finetune-steps", "3", "--seed", "0"]


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    """A small table with every kind of column, in the dress of a spreadsheet's export."""
    rng = np.random.default_rng(0)
    lines = ["id;amount;grade;since;note;default"]
    for i in range(60):
        amount = f"{rng.gamma(2, 50):.2f}".replace(".", ",")
        grade = rng.choice(["A", "B", "=C"])
        since = f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"
        note = rng.choice(["x", "?"])
        lines.append(f"L{i:05d};{amount};{grade};{since};{note};{'no' if i % 6 else 'yes'}")
    path = tmp_path / "loans.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


Balance = Callable[..., tuple[int, str, str]]


def test_rows_and_classes(loans: Path, balance: Balance, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    code, said, _ = balance(loans, "-t", "default", "--missing", "?", "-o", out, *FAST)
    assert code == 0
    old, new = loans.read_text(), out.read_text()
    assert new.startswith(old)  # originals first, character by character
    rows = list(csv.DictReader(io.StringIO(new), delimiter=";"))
    assert Counter(row["default"] for row in rows) == {"no": 50, "yes": 50}
    originals, synthetic = rows[:60], rows[60:]
    for row in synthetic:  # each cell is spelled like the originals'
        assert row["default"] == "yes"
        assert row["grade"] in {"A", "B", "=C"}
        assert row["note"] in {"x", "?"}
        whole, cents = row["amount"].split(",")
        assert whole.isdigit()
        assert len(cents) == 2
        assert "2024-01-01" <= row["since"] <= "2024-12-28"
    assert len({row["id"] for row in originals + synthetic}) == 100
    for word in ("60 rows", "amount", "continuous", "datetime", "identifier", "5 : 1", "40", "100"):
        assert word in said


def test_marks_point_at_both_parents(loans: Path, balance: Balance, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    assert balance(loans, "-t", "default", "-o", out, "--mark-synthetic", *FAST)[0] == 0
    table = pq.read_table(out)
    marks = table["synthetic_source"].to_pylist()
    assert marks[:60] == [None] * 60
    assert all(table["default"][row].as_py() == "no" for row in marks[60:])
    anchors = table["synthetic_anchor"].to_pylist()
    assert anchors[:60] == [None] * 60
    assert all(table["default"][row].as_py() == "yes" for row in anchors[60:])
    only = tmp_path / "only.parquet"
    options = ["--only-synthetic", "--mark-name", "from", *FAST]
    renamed = {"synthetic_source": "from", "synthetic_anchor": "from_anchor"}
    assert balance(loans, "-t", "default", "-o", only, *options)[0] == 0
    assert pq.read_table(only).to_pylist() == [
        {renamed.get(k, k): v for k, v in row.items()} for row in table.slice(60).to_pylist()
    ]


def test_same_seed_same_file_and_the_drawn_seed_repeats(
    loans: Path, balance: Balance, tmp_path: Path
) -> None:
    steps = FAST[:4]
    paths = [tmp_path / f"{i}.csv" for i in range(4)]
    code, said, _ = balance(loans, "-t", "default", "-o", paths[0], "--json", *steps)
    assert code == 0
    seed = json.loads(said)["seed"]
    for path, its in zip(paths[1:], (seed, seed, seed + 1), strict=True):
        assert balance(loans, "-t", "default", "-o", path, "--seed", its, *steps)[0] == 0
    first, second, third, other = (path.read_bytes() for path in paths)
    assert first == second == third != other


@pytest.mark.parametrize(
    "name", ["o.tsv", "o.jsonl", "o.feather", "o.arrow", "o.csv.gz", "o.parquet"]
)
def test_formats_hold_the_same_table(
    name: str, loans: Path, balance: Balance, tmp_path: Path
) -> None:
    want, out = tmp_path / "want.parquet", tmp_path / name
    for path in (want, out):
        assert balance(loans, "-t", "default", "-o", path, "-q", *FAST) == (0, "", "")
    assert files.read(str(out)).table.to_pydict() == pq.read_table(want).to_pydict()


def test_parquet_in_parquet_out_keeps_the_schema(balance: Balance, tmp_path: Path) -> None:
    n = 40
    table = pa.table(
        {
            "small": pa.array(range(n), pa.int8()),
            "category": pa.array(["a", "b"] * (n // 2)).dictionary_encode(),
            "class": pa.array([i % 4 == 0 for i in range(n)]),
            "float": pa.array(np.linspace(0, 1, n), pa.float32()),
            "when": pa.array(range(n), pa.timestamp("ms", "UTC")),
        },
        metadata={"who": "me"},
    )
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    assert balance(source, "-t", "class", "-o", out, *FAST)[0] == 0
    found = pq.read_table(out)
    assert found.schema.equals(table.schema, check_metadata=True)
    assert found.slice(0, n).to_pydict() == table.to_pydict()
    assert Counter(found["class"].to_pylist()) == {False: 30, True: 30}


def test_dropped_columns_are_gone(loans: Path, balance: Balance, tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    options = ["--drop", "id", "--drop", "note", *FAST]
    code, said, _ = balance(loans, "-t", "default", "-o", out, *options)
    assert code == 0
    assert "Left out: id, note" in said
    assert out.read_text().splitlines()[0] == "amount;grade;since;default"


def test_a_ratio_below_the_present_one(loans: Path, balance: Balance) -> None:
    code, _, said = balance(loans, "-t", "default", "--strategy", 0.01, "--dry-run")
    assert code == 2
    assert "--strategy 0.01: the smaller class has 10 rows to 50 already, a ratio of 0.2." in said


@pytest.mark.parametrize(
    ("strategy", "yes"), [("0.5", 25), ('{"yes": 13}', 13), ("minority", 50), ("auto", 50)]
)
def test_strategies(strategy: str, yes: int, loans: Path, balance: Balance, tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    options = ["--strategy", strategy, *FAST]
    assert balance(loans, "-t", "default", "-o", out, "--only-synthetic", *options)[0] == 0
    assert len(out.read_text().splitlines()) == 1 + yes - 10
    assert out.read_text().startswith("id;amount;")


def test_dry_run_writes_nothing(loans: Path, balance: Balance, tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    code, said, _ = balance(loans, "-t", "default", "-o", out, "--dry-run", "--type", "note=text")
    assert code == 0
    assert "5 : 1" in said
    assert "text" in said
    code, said, _ = balance(loans, "-t", "default", "--dry-run", "--json", "--missing", "?")
    seen = json.loads(said)
    assert [(c["label"], c["rows"], c["new_rows"]) for c in seen["classes"]] == [
        ("no", 50, 0),
        ("yes", 10, 40),
    ]
    missing = loans.read_text().count(";?;")
    assert {c["name"]: c["missing"] for c in seen["columns"]} == {
        "id": 0, "amount": 0, "grade": 0, "since": 0, "note": missing,
    }  # fmt: skip
    assert sorted(os.listdir(tmp_path)) == ["loans.csv"]


def test_standard_streams(loans: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mgvae.cli", "balance", "-", "-t", "default", "-o", "-", *FAST],
        input=loans.read_bytes(),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert done.stdout.startswith(loans.read_bytes())  # data and nothing else
    assert len(done.stdout.splitlines()) == 101
    assert b"5 : 1" in done.stderr


def test_formulas(loans: Path, balance: Balance, tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    options = ["--csv-formulas", "escape", *FAST]
    assert balance(loans, "-t", "default", "-o", out, *options)[0] == 0
    assert {line.split(";")[2] for line in out.read_text().splitlines()[1:]} == {"A", "B", "'=C"}


def test_already_balanced(balance: Balance, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("a,y\n1,p\n2,q\n3,p\n4,q\n")
    assert balance(source, "-t", "y", "-o", tmp_path / "o.csv", *FAST)[0] == 0
    assert (tmp_path / "o.csv").read_bytes() == source.read_bytes()


# the defaults are the library's


def test_defaults_are_those_of_the_sampler(
    loans: Path, balance: Balance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, object]] = []
    real = MGVAE.make_method

    def make_method(self: MGVAE, samples: Any) -> Any:
        seen.append(self.get_params())
        return real(self.set_params(pretrain_steps=1, finetune_steps=1), samples)

    monkeypatch.setattr(MGVAE, "make_method", make_method)
    assert balance(loans, "-t", "default", "-o", tmp_path / "a.csv")[0] == 0
    options = ["--preset", "paper-tables", "--finetune-steps", "7", "--identifiers", "missing"]
    assert balance(loans, "-t", "default", "-o", tmp_path / "b.csv", *options)[0] == 0
    plain, paper = seen
    own = {"random_state": plain["random_state"], "verbose": True}
    assert plain == {**MGVAE().get_params(), **own}
    own = {"random_state": paper["random_state"], "verbose": True}
    own |= {"finetune_steps": 7, "identifiers": "missing"}
    assert paper == {**MGVAE.from_preset("paper-tables").get_params(), **own}


def test_no_option_repeats_a_default() -> None:
    defaults = {n: p.default for n, p in inspect.signature(command.balance).parameters.items()}
    shared = {"strategy", "seed", "identifiers", "pretrain_steps", "finetune_steps", "device"}
    assert {defaults[name] for name in shared | {"jobs", "preset"}} == {None}


# what is refused, before any training

BAD = {
    "ragged.csv": b"a,y\n1,p\n2\n",
    "empty.csv": b"",
    "header.csv": b"a,y\n",
    "latin.csv": b"a,y\n1,\xe9\n",
    "one_class.csv": b"a,y\n1,p\n2,p\n",
    "missing.csv": b"a,y\n1,p\n2,\n",
    "regression.csv": b"a,y\n" + b"".join(b"%d,%d\n" % (i, i) for i in range(300)),
    "fractions.csv": b"a,y\n" + b"".join(b"1,%d.5\n" % i for i in range(30)),
    "names.csv": b"a,y\n" + b"".join(b"1,n%d\n" % i for i in range(30)),
    "mixed.csv": b"a,y\n" + b"".join(b"%d,p\n" % i for i in range(30)) + b"#NUM!,q\n",
    "mixed.jsonl": b'{"a": 1, "y": "p"}\n{"a": "x", "y": "q"}\n',
    "nested.jsonl": b'{"a": [1], "y": "p"}\n{"a": [2], "y": "q"}\n',
    "broken.parquet": b"PAR1 and then nothing",
    "what.xyz": b"a,y\n1,p\n2,q\n",
    "target_only.csv": b"y\np\nq\n",
    "good.csv": b"amount,y\n1,p\n2,q\n",
}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ragged.csv", [], "line 3: 1 fields where the header has 2"),
        ("empty.csv", [], "is empty"),
        ("header.csv", [], "has a header but no rows"),
        (
            "latin.csv",
            [],
            "position 6 (line 2). Say how the file is encoded, for example --encoding",
        ),
        ("one_class.csv", [], "one class only, 'p'"),
        ("missing.csv", [], "1 of 2 cells of column 'y' are missing"),
        ("regression.csv", [], "300 different values. Is it a regression?"),
        ("fractions.csv", [], "Is it a regression?"),
        ("names.csv", [], "can hardly be a class"),
        ("mixed.csv", [], "--missing '#NUM!'"),
        ("mixed.jsonl", [], "line 2: column 'a' holds a string here and a number before"),
        ("nested.jsonl", [], "--type a=categorical"),
        ("broken.parquet", [], "is not a whole parquet file"),
        ("what.xyz", [], "--input-format"),
        ("nowhere.csv", [], "No such file"),
        ("", [], "is a folder"),
        ("target_only.csv", [], "nothing to model"),
        ("good.csv", ["--target", "amuont"], "Did you mean 'amount'? The columns are: amount, y."),
        ("good.csv", ["--drop", "z"], "--drop: there is no column 'z'"),
        ("good.csv", ["--drop", "y"], "is the target"),
        ("good.csv", ["--type", "z=integer"], "--type: there is no column 'z'"),
        ("good.csv", ["--type", "amount"], "COLUMN=KIND"),
        ("good.csv", ["--type", "amount=color"], "'color'"),
        ("good.csv", ["--strategy", "more"], "--strategy must be auto, minority"),
        ("good.csv", ["--strategy", '{"r": 9}'], "there is no class 'r'. The classes are: p, q."),
        ("good.csv", ["--strategy", '{"p": 0.5}'], "whole numbers"),
        ("good.csv", ["--strategy", "7"], "--strategy"),
        ("good.csv", ["--strategy", '{"p": 0}'], "--strategy: class 'p' shall have 0 rows"),
        ("good.csv", ["--preset", "best"], "paper-tables"),
        ("good.csv", ["--device", "abacus"], "abacus"),
        ("good.csv", ["--pretrain-steps", "many", "--strategy", '{"p": 5}'], "many"),
        ("good.csv", ["--jobs", "0"], "--jobs"),
        ("good.csv", ["--seed", "-1"], "seed"),
        ("good.csv", ["--delimiter", "ab"], "--delimiter"),
        ("good.csv", ["--encoding", "klingon"], "klingon"),
        ("good.csv", ["--input-format", "xls"], "--input-format must be one of"),
        ("good.csv", ["--mark-name", "amount"], "already"),
        ("good.csv", ["--output", "-", "--json"], "standard output"),
        ("good.csv", ["--output", "no/such/o.csv"], "no/such"),
        ("good.csv", ["--output", "o.xls"], "--output-format"),
        ("good.csv", ["--output", "good.csv"], "--force"),
        ("good.csv", ["--output", "."], "is a folder"),
        ("good.csv", ["--colour"], "--colour"),
    ],
)
def test_one_line_and_exit_code_2(
    name: str,
    options: list[str],
    message: str,
    balance: Balance,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for file, content in BAD.items():
        Path(file).write_bytes(content)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = ["--target", "y", "--output", "o.csv", "-q", *options]
    code, said, complaint = balance(name or tmp_path, *arguments)
    assert (code, said) == (2, "")
    assert complaint.count("\n") == 1
    assert complaint.startswith("mgvae: error: ")
    assert message in complaint
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_said_to_be_classes(balance: Balance, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_bytes(BAD["fractions.csv"])
    assert balance(source, "-t", "y", "--dry-run", "--type", "y=categorical")[0] == 0


def test_headerless_file_is_suspected(balance: Balance, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("1,p\n2,q\n")
    assert "--no-header" in balance(source, "-t", "c1", "--dry-run")[2]
    assert balance(source, "-t", "c1", "--dry-run", "--no-header")[0] == 0


def test_debug_shows_where(balance: Balance, tmp_path: Path) -> None:
    code, _, complaint = balance(tmp_path / "a.csv", "-t", "y", "--dry-run", "--debug")
    assert code == 2
    assert "Traceback" in complaint
    assert complaint.splitlines()[-1].startswith("mgvae: error: ")


def test_terminal_tricks_in_names_are_shown_harmless(balance: Balance, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("\x1b[31m,[red]b[/red],y\n1,2,p\n3,4,q\n")
    _, said, _ = balance(source, "-t", "y", "--dry-run")
    assert "\x1b[31m" not in said
    assert "[red]b[/red]" in said
    assert "\x1b" not in balance(source, "-t", "z", "--dry-run")[2]


@pytest.mark.parametrize("options", [[], ["--share", "0.5"], ["--no-relations"], ["--drop", "id"]])
def test_a_dry_run_tells_the_same_with_and_without_a_sampler(
    loans: Path, balance: Balance, options: list[str]
) -> None:
    wanted = [loans, "-t", "default", "--dry-run", "--missing", "?", *options]
    assert balance(*wanted) == balance(*wanted, "--device", "cpu")
    assert balance(*wanted, "--json") == balance(*wanted, "--json", "--device", "cpu")


def test_a_dry_run_does_without_torch(loans: Path) -> None:
    program = (
        "import sys; from mgvae.cli._run import run; "
        f"code = run(['balance', {str(loans)!r}, '-t', 'default', '--dry-run']); "
        "sys.exit(code or 'torch' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# failures while working


def test_full_disk_leaves_the_old_file(
    loans: Path, balance: Balance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "o.csv"
    out.write_text("old")
    monkeypatch.setattr("mgvae.files._formats.write_csv", full)
    code, _, complaint = balance(loans, "-t", "default", "-o", out, "--force", "-q", *FAST)
    assert code == 1
    said = f"{out}: No space left on device. Free some room, or write elsewhere."
    assert complaint == f"mgvae: error: {said}\n"
    assert out.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["loans.csv", "o.csv"]


def test_surprises_are_one_line_too(
    loans: Path, balance: Balance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def surprise(*_: object) -> None:
        raise KeyError("oh")

    monkeypatch.setattr(MGVAE, "make_method", surprise)
    code, _, complaint = balance(loans, "-t", "default", "-o", tmp_path / "o.csv", "-q")
    assert code == 1
    assert complaint.count("\n") == 1
    assert "KeyError" in complaint


def test_interrupt(loans: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    out.write_text("old")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "mgvae.cli", "balance", str(loans), "-t", "default", "--force"),
            *("-o", str(out), "--drop", "id", "--pretrain-steps", "100000000"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    assert any(" : 1" in line for line in process.stdout)  # the summary's last line: now it trains
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 130
    assert [line for line in complaint.splitlines() if "training" not in line and line] == [
        "mgvae: interrupted"
    ]
    assert out.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["loans.csv", "o.csv"]


def test_interrupt_ends_even_what_does_not_listen() -> None:
    code = textwrap.dedent("""
        import time
        from mgvae.cli import _interrupt
        _interrupt.watch()
        while True:
            try:
                print("ready", flush=True)
                time.sleep(60)
            except KeyboardInterrupt:
                pass
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    assert (process.returncode, complaint) == (130, "mgvae: interrupted\n")


# the program


def test_help_loads_nothing_heavy() -> None:
    code = textwrap.dedent("""
        import sys
        from mgvae.cli._run import run
        for arguments in (["--help"], ["balance", "--help"], ["--version"]):
            assert run(arguments) == 0
        heavy = {"numpy", "torch", "sklearn", "imblearn", "pyarrow", "scipy", "rich", "pandas"}
        print(sorted(heavy & set(sys.modules)))
    """)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert done.splitlines()[-1] == "[]"
    assert "mgvae balance loans.csv --target default -o balanced.parquet" in done
    assert "130 interrupted" in done


def test_no_command_shows_help(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    bare = capfd.readouterr()
    assert run(["--help"]) == 0
    assert bare == capfd.readouterr()
    assert "balance" in bare.out


def test_shell_completion() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mgvae.cli"],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "_MGVAE_COMPLETE": "complete_bash",
            "COMP_WORDS": "mgvae balance --identifiers ",
            "COMP_CWORD": "3",
        },
    )
    assert done.stdout.split() == ["new", "missing"]


# real data


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mixed/adult.data.gz", ["-t", "c14", "--no-header", "--missing", "?"]),
        ("mixed/bank-full.csv.gz", ["-t", "y", "--missing", "unknown"]),
    ],
)
def test_real_tables(
    name: str,
    options: list[str],
    balance: Balance,
    data_folder: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    source, out = str(data_folder(name)), tmp_path / "o.csv.gz"
    assert balance(source, "-o", out, "-q", *options, *FAST) == (0, "", "")
    how = {"header": "--no-header" not in options, "missing": [options[-1]]}
    old, new = (files.read(str(path), **how).table for path in (source, out))
    n = old.num_rows
    assert new.schema.equals(old.schema)
    assert new.slice(0, n).equals(old)
    target = options[1]
    counts = Counter(new[target].to_pylist())
    assert len(set(counts.values())) == 1
    for column in set(old.column_names) - {target}:
        seen, made = old[column], new[column].slice(n)
        if pa.types.is_string(seen.type):
            assert set(made.to_pylist()) <= set(seen.to_pylist())
        else:
            low, high = pa.compute.min_max(seen).values()
            assert low.as_py() <= pa.compute.min(made).as_py()
            assert pa.compute.max(made).as_py() <= high.as_py()
        assert made.null_count == 0 or seen.null_count > 0


def test_rows_without_a_class_can_be_left_out(
    loans: Path, balance: Balance, tmp_path: Path
) -> None:
    lines = loans.read_text().splitlines()
    holed = tmp_path / "holed.csv"
    without = [line.rsplit(";", 1)[0] + ";" for line in lines[1:3]]
    holed.write_text("\n".join([lines[0], without[0], *lines[1:], without[1]]) + "\n")
    out, plain = tmp_path / "out.csv", tmp_path / "plain.csv"
    code, _, said = balance(holed, "-t", "default", "-o", out, *FAST)
    assert code == 2
    assert "--drop-missing-target" in said
    options = ["--drop-missing-target", *FAST]
    code, said, _ = balance(holed, "-t", "default", "-o", out, *options)
    assert code == 0
    assert "2 rows without a class" in said
    assert balance(loans, "-t", "default", "-o", plain, *FAST)[0] == 0
    assert out.read_bytes() == plain.read_bytes()


def test_options_of_generation(loans: Path, balance: Balance, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    options = ["--generation", "translate", "--share", 0.5, "--rejection", 0.2, "--mark-synthetic"]
    options += ["--temperature", 0.5]
    code, said, _ = balance(loans, "-t", "default", "-o", out, "--json", *options, *FAST)
    assert code == 0
    found = json.loads(said)
    assert found["synthetic_rows"] == 15  # of 50 and 10
    settings = found["settings"]
    assert (settings["generation"], settings["rejection"]) == ("translate", 0.2)
    assert (settings["temperature"], settings["latent_size"]) == (0.5, 10)  # and not "auto"
    assert pq.read_table(out)["synthetic_anchor"].null_count == 75
    for options, words in (
        (["--share", 0.5, "--strategy", "auto"], "give one of them"),
        (["--share", 0.1], "every class has"),
        (["--share", 2], "at most 1"),
        (["--rejection", 1.5], "--rejection"),
        (["--held-out", 0.5], "--report"),
    ):
        code, _, said = balance(loans, "-t", "default", "-o", out, "-f", *options, *FAST)
        assert code == 2
        assert words in said


def test_one_row_of_a_class_is_warned_of(loans: Path, balance: Balance, tmp_path: Path) -> None:
    lines = loans.read_text().splitlines()
    rare = [line for line in lines if line.endswith("yes")]
    few = tmp_path / "few.csv"
    few.write_text("\n".join([line for line in lines if line not in rare[1:]]) + "\n")
    code, _, said = balance(few, "-t", "default", "-o", tmp_path / "out.csv", *FAST)
    assert code == 0
    assert "class 'yes' has one row only" in said
    assert "--strategy" in said


def test_a_saved_model_writes_cells_as_the_table_does(balance: Balance, tmp_path: Path) -> None:
    """Units, decimals, flags and missing cells of ``sample`` are those of ``balance``; ``info``
    says which weight of the penalty "auto" stood for."""
    rng = np.random.default_rng(0)
    lines = ["share,price,seen,when,y"]
    for i in range(60):
        price = f'"${1000 + rng.integers(9999):,}.50"'
        seen = rng.choice(["TRUE", "FALSE", "?"])
        lines.append(f"{rng.integers(100)}%,{price},{seen},{1 + i % 28:02d}.12.2024,{i % 6 == 0}")
    table, model, new = (tmp_path / name for name in ("a.csv", "m.safetensors", "new.csv"))
    table.write_text("\n".join(lines) + "\n")
    options = ["--missing", "?", "-o", tmp_path / "b.csv", "--save-model", model, *FAST]
    assert balance(table, "-t", "y", *options)[0] == 0
    assert run(["sample", str(model), "-n", "200", "--target", "y", "-o", str(new)]) == 0
    with new.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 200
    forms = {
        "share": r"\d+%",
        "price": r"\$\d{1,2},\d{3}\.\d\d",
        "seen": r"TRUE|FALSE|\?",
        "when": r"\d\d\.12\.2024",
        "y": "True",
    }
    for row in rows:
        for name, form in forms.items():
            assert re.fullmatch(form, row[name]), (name, row[name])
    sampler = MGVAE.load(model)
    assert sampler.ewc_weights_ == {"True": 1.0}
    assert resolved_settings(sampler)["ewc_weight"] == "1 for class True"
