"""Files of the repository as pages of the site.

A page may take in a Markdown file from outside ``docs/``::

    <!-- file: CHANGELOG.md -->

Links in Markdown files are those that work when one reads the repository. Here they become links
between pages: a link to a file that is a page, or that is taken in by one, leads to that page; a
link to any other file of the repository is shown as the name of that file.
"""

import os
import re
from pathlib import Path, PurePosixPath

MARK = re.compile(r"<!-- file: (\S+?)(?: from: (.+?))? -->\n")
LINK = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?!https?:|mailto:)([^()\s#]*)(#[^()\s]*)?\)"
)
FENCE = re.compile(r"(^```.*?^```[^\n]*\n)", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"\A# .*\n")


def setup(app):
    """Rewrite pages when they are read."""
    app.connect("builder-inited", find_pages)
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def find_pages(app):
    """Find which page shows which file of the repository."""
    docs = Path(app.srcdir)
    pages = {}
    for path in docs.rglob("*.md"):
        name = path.relative_to(docs.parent).as_posix()
        pages[name] = name
        for mark in MARK.finditer(path.read_text(encoding="utf-8")):
            pages[mark[1]] = name
    app.repository_pages = pages


def rewrite(app, name, source):
    """Take in files, and turn links between files into links between pages."""
    file = Path(app.env.doc2path(name))
    if file.suffix != ".md":
        return
    docs = Path(app.srcdir)
    page = file.relative_to(docs.parent).as_posix()
    parts = MARK.split(source[0])
    text = links(app, parts[0], page, page)
    for taken, start, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        app.env.note_dependency(str(docs.parent / taken))
        inner = (docs.parent / taken).read_text(encoding="utf-8")
        if start:
            inner = inner[inner.index(start) :]
        text += links(app, HEADING.sub("", inner), taken, page) + links(app, rest, page, page)
    source[0] = text


def links(app, text, file, page):
    """Rewrite the links of a text that stands in a file and is shown on a page."""
    root = Path(app.srcdir).parent

    def change(found):
        image, words, path, anchor = found.groups()
        if not path:
            return found[0]
        target = os.path.normpath(PurePosixPath(file).parent / path)
        here = PurePosixPath(page).parent
        if image or target in app.repository_pages:
            to = os.path.relpath(app.repository_pages.get(target, target), here)
            return f"{image}[{words}]({to}{anchor or ''})"
        if not (root / target).exists():
            return found[0]  # Sphinx says that it leads nowhere
        return words if words.startswith("`") or target in words else f"{words} (`{target}`)"

    pieces = FENCE.split(text)
    return "".join(p if i % 2 else LINK.sub(change, p) for i, p in enumerate(pieces))
