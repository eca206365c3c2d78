"""Sphinx's configuration: ``make docs`` builds the site into build/site."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("MPLBACKEND", "agg")

from mgvae import __version__  # noqa: E402

project = "mgvae"
author = "the mgvae developers"
copyright = author  # noqa: A001
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "repository",
    "commands",
    "mathjax_file",
]
exclude_patterns = ["_templates", "tests", "gallery/**/*.ipynb", "gallery/*.ipynb"]
templates_path = ["_templates"]
smartquotes = False  # --option stays --option
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 4
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"

# API
autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"show-inheritance": False}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "min_reported_time": 0,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib", "gallery_setup.reset"),
    "parallel": int(os.environ.get("MGVAE_DOCS_JOBS", "2")),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("mgvae",),
    "reference_url": {},
}

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "mgvae"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_extra_path = ["llms.txt"]
html_theme_options = {
    "logo": {"text": "mgvae", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": True,
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
