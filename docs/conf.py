"""How Sphinx builds the site; `scripts/docs` calls it."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
INIT = (ROOT / "src" / "proximity_kernel" / "__init__.py").read_text(encoding="utf-8")

project = "proximity-kernel"
author = "The proximity-kernel developers"
project_copyright = f"{author}. BSD-3-Clause"
release = version = re.findall(r'__version__ = "(.+)"', INIT)[0]

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
templates_path = ["_templates"]
exclude_patterns = ["_build"]

# A link or a reference that leads nowhere is a warning, and warnings are errors.
nitpicky = True
default_role = "literal"
highlight_language = "none"
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

# Types are in the docstrings, with shapes; annotations would repeat them.
autodoc_typehints = "none"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

# The order in which the gallery shows the examples: the jobs first.
EXAMPLES = [
    "similar_patients.py",
    "survey_segments.py",
    "anomalies.py",
    "imputation.py",
    "near_duplicates.py",
    "matched_comparison.py",
    "quality_page.py",
    "hidden_cells.py",
    "kernel_classifiers.py",
    "neighbors_graph.py",
    "penguins_map.py",
]

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "generated/examples",
    "backreferences_dir": "generated/used",  # the examples on the page of a class
    "doc_module": ("proximity_kernel",),
    "capture_repr": (),  # what is printed, not what a last line returns
    "filename_pattern": "/",  # run all of them
    "within_subsection_order": EXAMPLES.index,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "notebook_extensions": set(),  # a notebook would lack the lines that make a table
    "show_memory": False,
    "min_reported_time": 1e9,  # times are those of the machine that built the page
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "image_scrapers": ("matplotlib",),
}
html_theme = "pydata_sphinx_theme"
html_title = "proximity-kernel"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"start": []}  # it has no pages below it
html_theme_options = {
    "show_prev_next": False,
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def leave_out(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Skip the members that come from scikit-learn; its own pages have them."""
    home = getattr(member, "__module__", None) or ""
    return True if home.startswith("sklearn") else None


def adapt_page(app: Any, docname: str, source: list[str]) -> None:
    """Link examples to their pages, and close blocks where doctest needs a blank line.

    In the repository a page links to the program of an example, on the site to what it
    gave.
    """
    text = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)
    text = re.sub(
        r"\]\(\.\./examples/(\w+)\.py\)", r"](generated/examples/\1.rst)", text
    )
    source[0] = text.replace("](../examples/)", "](generated/examples/index.rst)")


def setup(app: Any) -> None:
    """Connect the above; Sphinx calls this."""
    app.connect("source-read", adapt_page)
    app.connect("autodoc-skip-member", leave_out)
