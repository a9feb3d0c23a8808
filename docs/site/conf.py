# SPDX-License-Identifier: Apache-2.0
"""Sphinx: `make docs` copies the pages and the generated ones to build/docs/source and builds them with this file."""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent

project = "Ingot"
author = "the Ingot developers"
copyright = author
extensions = ["myst_parser", "breathe", "sphinx_copybutton", "sphinx_design"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["site"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

breathe_projects = {"ingot": str(HERE.parent / "xml")}
breathe_default_project = "ingot"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
primary_domain = None
# Fields of unnamed unions and structs appear twice: for themselves and in the struct around them.
suppress_warnings = ["duplicate_declaration.c"]
highlight_language = "text"

html_theme = "furo"
html_title = "Ingot"
html_static_path = ["site/static"]
html_css_files = ["ingot.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# Nothing is fetched from elsewhere: the pages work without a network, also from a folder of files.
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#8a4b08", "color-brand-content": "#8a4b08",
        "font-stack": "system-ui, sans-serif", "font-stack--monospace": "ui-monospace, 'DejaVu Sans Mono', monospace",
    },
    "dark_css_variables": {"color-brand-primary": "#e8a854", "color-brand-content": "#e8a854"},
}  # fmt: skip
