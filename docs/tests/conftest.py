"""The site that ``make docs`` has built."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parent.parent.parent / "build" / "site"


class Page(HTMLParser):
    """A page's anchors, links, what it fetches, and its images without words."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.anchors, self.links, self.fetched, self.silent = set(), [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        fetched = [found.get("src"), found.get("poster"), found.get("data")]
        if tag == "link" and found.get("rel") not in ("canonical", "author", "next", "prev"):
            fetched.append(found.get("href"))
        choices = (found.get("srcset") or "").split(",")
        fetched += [choice.strip().split(" ")[0] for choice in choices]
        self.fetched += [where for where in fetched if where]
        if tag == "img" and "alt" not in found:
            self.silent.append(found.get("src"))


@pytest.fixture(scope="session")
def site():
    """Return the folder of the site."""
    assert (SITE / "index.html").exists(), "build the site first: make docs"
    return SITE


@pytest.fixture(scope="session")
def pages(site):
    """Return every page by its path."""
    return {
        path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts
    }
