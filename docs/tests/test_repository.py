"""Files that other programs read: workflows, templates, the citation."""

import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from mgvae import __version__

ROOT = Path(__file__).resolve().parent.parent.parent
GITHUB = ROOT / ".github"


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", sorted((GITHUB / "workflows").glob("*.yml"))),
        ("github-issue-forms", [GITHUB / "ISSUE_TEMPLATE" / f"{n}.yml" for n in ("bug", "idea")]),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("citation-file-format", [ROOT / "CITATION.cff"]),
    ],
)
def test_a_file_follows_its_schema(schema, files):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    found = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_the_citation_has_the_version_of_the_package():
    citation = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert f"version = {{{__version__}}}" in (ROOT / "docs/project/cite.md").read_text(
        encoding="utf-8"
    )


def test_workflows_test_every_python_that_is_promised():
    jobs = YAML(typ="safe").load((GITHUB / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    matrix = jobs["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
