"""How Sphinx builds the site: ``make docs``. Nothing is fetched while it is built or read."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")

ROOT = Path(__file__).resolve().parents[1]

project = "adc"
author = "the adc authors"
copyright = "the adc authors"
version = release = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]  # type: ignore[index]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "gallery"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence"]

html_theme = "furo"
html_title = "adc"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "monokai"
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1000,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "plot_gallery": "True",
    "copyfile_regex": r".*\.rst",
}

MOVED = {
    "](gallery/)": "](auto_gallery/index.rst)",
    "](../examples/)": "](auto_gallery/index.rst)",
    "](../CONTRIBUTING.md)": "](contributing.md)",
}
"""Links that lead to folders and files where the repository is read, and to pages of the site here."""


def as_pages(app: Any, name: str, source: list[str]) -> None:
    for there, here in MOVED.items():
        source[0] = source[0].replace(there, here)
    # MLIR has no lexer.
    source[0] = source[0].replace("```mlir\n", "```text\n")


def setup(app: Any) -> None:
    app.connect("source-read", as_pages)
