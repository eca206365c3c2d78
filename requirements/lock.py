"""Write the lock files: every package that make installs, with the hash of its file.

The versions come from constraints.txt, the hashes from the index that pip uses. They are those of
the files for CPython 3.11 on Linux x86-64, the platform that the tests run on. Torch is left out:
indexes serve different builds of the same version.

    python requirements/lock.py
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = ["hatchling", "editables"]  # what builds this package itself
UNHASHED = {"mgvae", "torch"}


def resolve(extra: str) -> dict[str, str]:
    """Return the line of every package that the package with an extra needs."""
    report = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
         "--constraint", HERE.parent / "constraints.txt", "--report", "-",
         f"{HERE.parent}[{extra}]", *BUILD],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    lines = {}
    for found in json.loads(report)["install"]:
        name, version = found["metadata"]["name"], found["metadata"]["version"]
        if name not in UNHASHED:
            digest = found["download_info"]["archive_info"]["hashes"]["sha256"]
            lines[name] = f"{name}=={version} --hash=sha256:{digest}"
    return lines


def write(name: str, lines: dict[str, str], *head: str) -> None:
    """Write one lock file."""
    text = "\n".join([*head, *sorted(lines.values(), key=str.lower)]) + "\n"
    (HERE / name).write_text(text, encoding="ascii")


demo = resolve("demo")
write("demo.lock", demo)
for extra in ("test", "docs"):
    more = {name: line for name, line in resolve(extra).items() if name not in demo}
    write(f"{extra}.lock", more, "--requirement demo.lock")
