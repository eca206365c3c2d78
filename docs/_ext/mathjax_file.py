"""MathJax as one file of the site, so that formulas are set without a network."""

import importlib.util
from pathlib import Path

from sphinx.util.fileutil import copy_asset_file

FILE = "tex-svg.js"  # the variant that draws its glyphs itself and needs no fonts


def setup(app):
    """Set the path, and copy the file when the pages are written."""
    app.config.mathjax_path = f"mathjax/{FILE}"
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def copy(app, exception):
    """Copy MathJax from the package sphinx-mathjax-offline."""
    if exception is None:
        package = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
        folder = Path(app.outdir, "_static", "mathjax")
        folder.mkdir(parents=True, exist_ok=True)
        copy_asset_file(package / "static" / "mathjax" / FILE, folder)
