"""The page: complete in itself, escaped, small, and working in a browser."""

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape

from mgvae import MGVAE
from mgvae.report import QualityReport, quality, side_by_side

NASTY = "<script>alert(1)</script>"
QUOTES = "\"'><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def report() -> QualityReport:
    """Two classes, every part of the page, and names that would like to be code."""
    rng = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame(
        {
            NASTY: rng.normal(size=n),
            QUOTES: rng.choice([NASTY, "</script>", "plain"], n),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(90, size=n), "D"),
            "holes": np.where(rng.random(n) < 0.3, np.nan, rng.gamma(2, 1, n)),
        }
    )
    y = pd.Series(np.repeat(["no", NASTY, "rare"], [150, 60, 30]), name="{{ y }}")
    sampler = MGVAE(pretrain_steps=30, finetune_steps=20, early_stopping=True, random_state=0)
    X_new, y_new = sampler.fit_resample(X, y)
    return quality(
        X.assign(**{y.name: y}),
        X_new[n:].assign(**{y.name: y_new[n:]}),
        target=y.name,
        sources=sampler.source_indices_[n:],
        anchors=sampler.anchor_indices_[n:],
        sampler=sampler,
        command=f"mgvae balance '{NASTY}'",
    )


class Reader(HTMLParser):
    """Collects tags with their attributes, and ids."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_users_names_are_text(report: QualityReport) -> None:
    page = report.to_html()
    tags = Reader(page).tags
    assert [tag for tag, _ in tags].count("script") == 1  # the page's own
    assert "img" not in {tag for tag, _ in tags}
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<title>Quality of synthetic rows: {{ y }}</title>" in page


def test_the_page_asks_nobody_for_anything(report: QualityReport) -> None:
    page = report.to_html()
    for tag, attributes in Reader(page).tags:
        for name in ("src", "href", "srcset", "action", "poster", "data"):
            assert attributes.get(name, "data:,") == "data:,", tag
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|https?://", page)
    assert "default-src 'none'" in page


def test_every_tab_has_its_panel_and_every_control_its_label(report: QualityReport) -> None:
    page = report.to_html()
    tags = Reader(page).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    tabs = [attributes for _, attributes in tags if attributes.get("role") == "tab"]
    assert [tab["aria-controls"] for tab in tabs] == [
        "figures", "map", "columns", "relations", "examples", "training", "settings",
    ]  # fmt: skip
    assert all(tab["aria-controls"] in ids for tab in tabs)


def test_everything_is_on_the_page(report: QualityReport) -> None:
    page = report.to_html()
    for one in report.classes:
        assert escape(one.headline) in page
        for figure in one.figures:
            assert figure.title in page
        for answer in one.answers:
            assert escape(answer.reading) in page
            for advice in answer.advice:
                assert escape(advice.cost) in page
    for word in ("ewc", "early stopping kept", "random_state", "torch", "mgvae balance"):
        assert word in page


def test_a_hundred_columns_stay_below_five_megabytes() -> None:
    rng = np.random.default_rng(0)
    X = {f"number {i}": rng.normal(size=400) for i in range(60)}
    X |= {
        f"level {i}": rng.choice([f"a long level {j}" for j in range(30)], 400) for i in range(40)
    }
    table = pd.DataFrame(X).assign(y=np.repeat(["a", "b", "c"], [200, 100, 100]))
    new = table[200:].sample(300, replace=True, random_state=0)
    page = quality(table, new, target="y", sources=np.zeros(300, int)).to_html()
    assert len(page.encode()) < 5_000_000
    assert page.count("preserveAspectRatio") == 2 * 60  # a histogram of every number


def test_samplers_side_by_side(report: QualityReport) -> None:
    other = replace(report, name=NASTY, training=[])
    page = side_by_side([replace(report, name="ours"), other])
    tags = Reader(page).tags
    assert [tag for tag, _ in tags].count("script") == 1
    assert "beside" in {attributes.get("aria-controls") for _, attributes in tags}
    listed = [attributes for tag, attributes in tags if tag == "option"]
    assert len(listed) == 2 * len(report.classes)


def test_no_new_rows_no_training(report: QualityReport) -> None:
    page = replace(report, classes=[], training=[], settings={}, command=None).to_html()
    assert "There are no new rows." in page


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

ACTIONS = """
<script>
window.addEventListener("load", () => {
  const said = [];
  const shown = (selector) =>
    [...document.querySelectorAll(selector)].filter((x) => x.offsetParent !== null).length;
  const tab = (name) => document.getElementById("tab-" + name);
  const press = (target, key) =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const set = (input, value) => {
    if (input.type === "checkbox") input.checked = value; else input.value = value;
    input.dispatchEvent(new Event("input"));
  };
  said.push("panels " + shown("[role=tabpanel]"), "figures " + shown("#figures"));
  tab("map").click();
  const kept = [...document.querySelectorAll("[data-toggles=new]")].find((x) => x.offsetParent);
  const path = kept.closest("[data-class]").querySelector(".dots.new");
  set(kept, false);
  said.push("hidden " + getComputedStyle(path).display);
  tab("columns").click();
  said.push("columns " + shown("#columns"), "cards " + shown("[data-item=column]"));
  set(document.querySelector("[data-filters=column]"), "WHEN");
  said.push("filtered " + shown("[data-item=column]"));
  said.push("count " + document.querySelector("[data-counts=column]").textContent);
  set(document.querySelector("[data-filters=column]"), "");
  press(tab("columns"), "ArrowRight");
  said.push("relations " + shown("#relations"));
  press(tab("relations"), "ArrowRight");
  said.push("examples " + shown("#examples"), "focus " + document.activeElement.id);
  said.push("pages " + shown("[data-page]"));
  const button = [...document.querySelectorAll("[data-step='1']")].find((x) => x.offsetParent);
  button.click();
  said.push("turned " + button.parentElement.querySelector("[role=status]").textContent);
  const before = shown("[data-item=cell]");
  set(document.querySelector("[data-only=cell]"), true);
  said.push("fewer " + (shown("[data-item=cell]") <= before));
  press(tab("examples"), "End");
  said.push("settings " + shown("#settings"));
  const list = document.getElementById("class");
  said.push("summaries " + shown(".summary"), "first " + document.querySelector(".summary").hidden);
  set(list, "1");
  said.push("summaries " + shown(".summary"), "first " + document.querySelector(".summary").hidden);
  said.push("wide " + (document.documentElement.scrollWidth > innerWidth));
  document.title = said.join("; ");
});
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_in_a_browser(report: QualityReport, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(report.to_html().replace("</body>", ACTIONS + "</body>"), encoding="utf-8")
    run = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}",
            "--window-size=500,900", "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in run.stderr
    title = re.search(r"<title>(.*?)</title>", run.stdout).group(1)
    pages = len(report.classes[0].examples)
    assert title.split("; ") == [
        "panels 1", "figures 1", "hidden none", "columns 1", "cards 4", "filtered 1",
        "count 1 of 4", "relations 1", "examples 1", "focus tab-examples", "pages 1",
        f"turned 2 of {pages}", "fewer true", "settings 1", "summaries 1", "first false",
        "summaries 1", "first true", "wide false",
    ]  # fmt: skip
