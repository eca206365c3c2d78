"""The long attacks: fuzzers, kills and leaks, as tests that run on demand.

    pytest -m long

Each is a script in ``benchmarks/`` that takes minutes and names its seed. Shorter samples of the
same attacks stand with the tests of what they attack, and always run.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "benchmarks"

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    "command",
    [
        ("fuzz_inputs.py", "--count", "2000", "--seed", "0"),
        ("fuzz_models.py", "--count", "2000", "--seed", "0"),
        ("recover_rows.py", "--seeds", "1"),
        ("recover_rows.py", "--seeds", "1", "--without-rows"),
        ("recover_categories.py", "--seeds", "1"),
        ("kill_resume.py", "--kills", "20", "--seed", "0"),
        ("memory_loop.py",),
    ],
    ids=" ".join,
)
def test_attack_finds_nothing(command: tuple[str, ...]) -> None:
    name, *options = command
    done = subprocess.run(
        [sys.executable, SCRIPTS / name, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
