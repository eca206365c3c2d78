"""Advice of the quality report can be followed: every option that it names is taken there."""

import html
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mgvae.methods.mgvae import duration

Balance = Callable[..., tuple[int, str, str]]

QUICK = ["--pretrain-steps", "2", "--finetune-steps", "2", "--seed", "1"]


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty photos of one class, 22 of another, six of a third whose name is not to be changed."""
    rng = np.random.default_rng(0)
    for label, n in (("house", 40), ("shed", 22), ("row house", 6)):
        folder = tmp_path / "photos" / label
        folder.mkdir(parents=True)
        for i in range(n):
            Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(folder / f"{i}.png")
    monkeypatch.setattr(duration, "_step_seconds", lambda *_: 0.1)  # which is measured otherwise
    return tmp_path / "photos"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Sixty rows of one class, 22 of another; c is the sum of a and b."""
    rng = np.random.default_rng(0)
    lines = ["a,b,c,y"]
    for i, (a, b) in enumerate(rng.integers(-999, 999, (82, 2)).tolist()):
        a = a if i < 60 else a + 3000
        lines.append(f"{a},{b},{a + b},{'no' if i < 60 else 'yes'}")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "unseen.csv").write_text("\n".join([lines[0], *lines[41:]]) + "\n")
    return tmp_path / "table.csv"


def advised(said: str) -> list[str]:
    """Return the options that the printed advice begins with."""
    lines = [line for line in said.splitlines() if " Cost: " in line]
    return [line.strip().split(": ")[0] for line in lines if "--" in line.split(": ")[0]]


def follow(given: Sequence[object], advice: str) -> list[str]:
    """Change a command line as an advice says."""
    kept = [str(argument) for argument in given]
    if advice.startswith("leave out "):
        return [argument for argument in kept if argument != advice.removeprefix("leave out ")]
    change, _, instead = advice.partition(" in the place of ")
    option, value = shlex.split(change)
    for name in (option, instead):
        if name in kept:
            place = kept.index(name)
            del kept[place : place + 2]
    return [*kept, option, value]


def check(
    balance: Balance, given: Sequence[object], expected: set[str], folder: Path, suffix: str = ""
) -> str:
    """Follow every advice of a run; give the page that it stood on."""
    page = folder / "page.html"
    code, said, complaint = balance(*given, "--report", page, "-o", folder / f"first{suffix}")
    assert code == 0, complaint
    found = set(advised(said))
    text = html.unescape(page.read_text())
    assert found == set(re.findall(r"<li><code>(.*?)</code>: ", text))  # the page says the same
    assert expected <= found
    for i, advice in enumerate(sorted(found)):
        changed = follow(given, advice.replace("FILE", str(folder / "unseen.csv")))
        report = ["--report", page, "--force"] if "--held-out" in changed else []
        code, _, complaint = balance(*changed, *report, "-o", folder / f"next{i}{suffix}")
        assert code == 0, (advice, complaint)
    return text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--temperature", "2"],
            {"--generation bridge", "--rejection 0.2", "--temperature 1.0", "--share 0.8"},
        ),
        (["--held-out", "0", "--generation", "bridge"], {"--held-out 0.5"}),
    ],
)
def test_images(
    options: list[str], expected: set[str], photos: Path, balance: Balance, tmp_path: Path
) -> None:
    page = check(balance, [photos, *QUICK, *options], expected, tmp_path)
    shown = re.sub(r"<(script|style)>.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert not re.findall(r"[^.\n]*\b[Rr]ows?\b[^.\n]*", shown.replace("row house", ""))
    assert "class row house" in shown
    assert "synthetic images" in shown


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--held-out", "0.1"], {"--held-out 0.5"}),
        (
            ["--generation", "translate", "--temperature", "2", "--strategy", "0.9"],
            {
                "--generation bridge", "--rejection 0.2", "--temperature 1.0",
                "--share 0.6 in the place of --strategy",
            },
        ),
        (["--generation", "translate", "--no-relations"], {"leave out --no-relations"}),
    ],
)  # fmt: skip
def test_tables(
    options: list[str], expected: set[str], table: Path, balance: Balance, tmp_path: Path
) -> None:
    check(balance, [table, "-t", "y", *QUICK, *options], expected, tmp_path, ".csv")


def test_a_table_with_a_small_class(table: Path, balance: Balance, tmp_path: Path) -> None:
    table.write_text("\n".join(table.read_text().splitlines()[:71]) + "\n")
    options = ["--temperature", "0", "--share", "0.3"]
    check(balance, [table, "-t", "y", *QUICK, *options], {"--held-out FILE"}, tmp_path, ".csv")
