"""What is published: built, unpacked beside nothing but what it requires, and tried."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = ("pandas", "polars", "PIL", "matplotlib", "jinja2", "lightning", "lightgbm", "dask", "ray")
HIDE = f"""
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: (
    None if name.partition(".")[0] in {EXTRAS!r} else find(name, *more)
)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the sdist, and the wheel's package without any extra."""
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("the project is not at hand")
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*command, "--target", folder / "site", wheel], check=True)
    return folder


def python(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code with the built package, and without what only extras bring."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    return subprocess.run(
        [sys.executable, "-c", HIDE + code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_package_works_without_extras(folder: Path) -> None:
    done = python(
        folder,
        """
import numpy as np, mgvae
from mgvae.cli._run import run
print(mgvae.__file__)
X, y = np.random.default_rng(0).normal(size=(60, 3)), np.repeat([0, 1], [45, 15])
sampler = mgvae.MGVAE(pretrain_steps=2, finetune_steps=2, random_state=0)
print(len(sampler.fit_resample(X, y)[0]))
assert not set(sys.modules) & {"pandas", "polars", "PIL", "matplotlib", "jinja2"}
assert not set(sys.modules) & {"torch._dynamo", "sympy"}  # a first fit would wait for these
raise SystemExit(run(["--help"]))
""",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    where, rows, *_ = done.stdout.splitlines()
    assert Path(where).is_relative_to(folder / "site")
    assert rows == "90"
    assert (folder / "site" / "mgvae" / "py.typed").exists()


def test_a_missing_extra_is_named(folder: Path) -> None:
    (folder / "photos" / "a").mkdir(parents=True, exist_ok=True)
    (folder / "photos" / "a" / "1.png").write_bytes(b"none")
    done = python(
        folder,
        """
from mgvae.cli._run import run
raise SystemExit(run(["balance", "photos", "-o", "out", "--dry-run"]))
""",
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "pip install" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_source_holds_what_builds_it_and_no_data(folder: Path) -> None:
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {"pyproject.toml", "README.md", "LICENSE", "src/mgvae/__init__.py"} <= set(names)
    assert not [name for name in names if name.startswith((".venv", "data/"))]
