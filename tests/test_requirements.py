"""The pinned versions and the hashes that make installs by say the same."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINE = re.compile(r"([A-Za-z0-9._-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(name):
    lines = (ROOT / "requirements" / name).read_text(encoding="ascii").splitlines()
    found = {}
    for line in lines:
        if line == "--requirement demo.lock":
            found |= locked("demo.lock")
        else:
            package, version = LINE.fullmatch(line).groups()
            found[normal(package)] = version
    return found


def pinned():
    lines = (ROOT / "constraints.txt").read_text(encoding="ascii").split()
    return {normal(name): version for name, _, version in (line.partition("==") for line in lines)}


def test_every_pinned_package_but_torch_has_a_hash():
    versions = pinned()
    del versions["torch"]
    assert locked("test.lock") | locked("docs.lock") == versions


def test_everything_that_is_declared_is_locked():
    project, paper = (
        tomllib.loads((ROOT / name).read_text(encoding="utf-8"))["project"]
        for name in ("pyproject.toml", "paper/pyproject.toml")
    )
    extras = project["optional-dependencies"]

    def names(requirements):
        for requirement in requirements:
            name = normal(re.match(r"[A-Za-z0-9._-]+", requirement)[0])
            if name == "mgvae":
                inner = re.search(r"\[(.*)\]", requirement)[1].split(",")
                yield from (n for extra in inner for n in names(extras[extra]))
            else:
                yield name

    for extra in ("demo", "test", "docs"):
        needed = {*names(project["dependencies"]), *names(extras[extra])} - {"torch"}
        assert needed <= set(locked(f"{extra}.lock"))
    assert {*names(paper["dependencies"])} - {"torch"} <= set(locked("test.lock"))
