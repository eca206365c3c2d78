"""The README and the pages do what they say."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from torch.utils.data import TensorDataset

from mgvae.samplers import _mgvae

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if "gallery" not in path.parts
)
ELSEWHERE = {"docs/distributed.md"}  # needs clusters: tests/samplers/test_engines.py
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]+)[^)]*\)|src(?:set)?=\"([^\"]+)\"")


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def your_data(page):
    """Return what pages leave to the reader: data, a classifier, files in the folder."""
    X, y = make_classification(300, 6, weights=[0.8], random_state=0)
    names = {
        "X": X,
        "y": y,
        "X_test": X[:10],
        "patients": np.arange(len(X)) // 3,
        "classifier": LogisticRegression(),
    }
    table = pd.DataFrame(X, columns=list("abcdef")).assign(default=y)
    if page == "docs/tables.md":
        names["X"] = pd.DataFrame({"zip": y * 7 + np.arange(300) % 5, "amount": X[:, 0]})
    elif page == "docs/images.md":
        X = np.random.default_rng(0).random((300, 8, 8, 1)).astype(np.float32)
        names |= {"X": X, "sampler": _mgvae.MGVAE(random_state=0).fit(X, y)}
        names["dataset"] = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
    elif page == "docs/report.md":
        sampler = _mgvae.MGVAE(random_state=0)
        made = sampler.fit_resample(table.drop(columns="default"), table["default"])
        names |= {"real": table, "sampler": sampler}
        names["synthetic"] = made[0].iloc[300:].assign(default=made[1].iloc[300:])
    elif page == "docs/large-tables.md":
        table.rename(columns={"default": "class"}).to_parquet("big.parquet")
    return names


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Train for a few steps, in a folder of its own: pages are tested for what they call."""
    steps = {"pretrain_steps": 10, "finetune_steps": 10}
    short = {family: {**auto, **steps} for family, auto in _mgvae.MGVAE_DEFAULTS.items()}
    monkeypatch.setattr(_mgvae, "MGVAE_DEFAULTS", short)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if BLOCK.search(text_of(p)) and p not in ELSEWHERE]
)
def test_the_code_of_a_page_runs(page, quick):
    names = your_data(page)
    for block in BLOCK.findall(text_of(page)):
        exec(compile(block, page, "exec"), names)  # noqa: S102


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_to_files(page):
    """The site's own links and anchors are checked where it is built: docs/tests."""
    lost = [
        link
        for found in LINK.findall(text_of(page))
        for link in found
        if link and "gallery/" not in link and not ((ROOT / page).parent / link).exists()
    ]
    assert not lost
