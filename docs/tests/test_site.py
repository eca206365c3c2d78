"""The pages that were built: nothing leads nowhere, and nothing is fetched from elsewhere."""

import json
import re
from urllib.parse import unquote, urlsplit

ELSEWHERE = re.compile(r"^(https?:)?//")


def test_no_link_and_no_anchor_leads_nowhere(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else {""}
            if not target.exists() or unquote(parts.fragment) not in anchors | {""}:
                broken.append((path.name, link))
    assert not broken


def test_pages_fetch_nothing_from_elsewhere(site, pages):
    wanted = [(p.name, where) for p, page in pages.items() for where in page.fetched]
    assert not [found for found in wanted if ELSEWHERE.match(found[1])]
    missing = [
        (path.name, where)
        for path, page in pages.items()
        for where in page.fetched
        if not where.startswith("data:")
        and not (path.parent / unquote(urlsplit(where).path)).exists()
    ]
    assert not missing
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        found = re.findall(r"(?:@import|url\()\s*[\"']?([^\"')]+)", text)
        assert not [where for where in found if ELSEWHERE.match(where)], style


def test_every_image_has_words(pages):
    assert not [(path.name, image) for path, page in pages.items() for image in page.silent]


def test_search_finds_pages_and_names(site):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])

    def titles(stem):
        found = index["terms"][stem]
        return {index["titles"][i] for i in (found if isinstance(found, list) else [found])}

    assert "Checkpoints" in titles("sigterm")
    assert "Tables" in titles("identifi")
    assert "MGVAE" in {name for *_, name in index["objects"]["mgvae"]}
