"""How Sphinx builds the site; `scripts/docs` calls it."""

import importlib
import inspect
import re
import socket
from pathlib import Path
from typing import Any

from docutils import nodes
from numpydoc.docscrape_sphinx import SphinxDocString
from sphinx.domains.python import PyXRefRole

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
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
templates_path = ["_templates"]
exclude_patterns = ["_build"]

# A link or a reference that leads nowhere is a warning, and warnings are errors.
nitpicky = True
# Methods that come from scikit-learn are in the table of methods, without a section.
nitpick_ignore_regex = [
    ("py:obj", r"proximity_kernel\.(dask\.)?(Dask)?Proximity\w+\.\w+"),
    ("py:(func|class)", r"sklearn\..+"),  # in its docstrings, without a network
]
# Labels of scikit-learn's pages, in the first sentence of an inherited method.
suppress_warnings = ["ref.ref"]
default_role = "name"  # `link_name`
highlight_language = "none"
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

# What is copied from a block are the commands, without prompts and output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def reach(host: str) -> bool:
    """Whether a host answers; a build without a network links to no other site."""
    try:
        socket.create_connection((host, 443), timeout=2).close()
    except OSError:
        return False
    return True


OTHERS = {
    "numpy": ("numpy.org", "doc/stable/"),
    "pandas": ("pandas.pydata.org", "docs/"),
    "sklearn": ("scikit-learn.org", "stable/"),
}
intersphinx_mapping = {
    name: (f"https://{host}/{folder}", None)
    for name, (host, folder) in OTHERS.items()
    if reach(host)
}

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

# What the README and the first page of the site say, in the README.
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_SCREEN = README.partition("\n")[2].partition("[Start](docs")[0]
FIRST_SCREEN = FIRST_SCREEN.replace("](docs/", "](")
FIRST_SCREEN = FIRST_SCREEN.replace("](CONTRIBUTING", "](contributing")
FIRST_SCREEN = FIRST_SCREEN.replace("](paper/docs/", "](")

# Words under which readers look for a page that does not use them.
KEYWORDS = {
    "choosing": "options parameters settings tuning",
    "clusters": "segments groups segmentation number unsupervised save classify new",
    "compare": "drift difference diff change last month monitoring new file",
    "imputation": "impute imputation NaN null confidence probability export fill gaps",
    "model-file": "export persist pickle joblib deploy production",
    "neighbors": "nearest neighbors duplicates matching recommend lookup distance",
    "outliers": "outliers anomalies errors mistakes typos data quality validation",
    "reasons": "why explain explanation interpret SHAP importance",
    "scale": "big data memory chunks streaming out-of-core",
    "sure": "confidence probability calibration uncertainty error",
    "works-with": "coefficients importance pipeline scikit-learn sklearn export",
}

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
html_title = f"proximity-kernel {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(ROOT / "docs" / "_static" / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"start": []}  # it has no pages below it
html_theme_options = {
    "show_prev_next": True,
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def list_names() -> dict[str, str]:
    """List the public names and their methods, and where each is on the site."""
    found = {}
    for module in (
        "",
        ".cluster",
        ".dask",
        ".datasets",
        ".explanation",
        ".io",
        ".kernel",
        ".model_file",
        ".outliers",
    ):
        home = importlib.import_module(f"proximity_kernel{module}")
        for name in home.__all__:
            full, value = f"{home.__name__}.{name}", getattr(home, name)
            found.setdefault(name, full)
            if inspect.isclass(value) and not issubclass(value, Exception):
                for method, own in inspect.getmembers(value, inspect.isroutine):
                    ours = (getattr(own, "__module__", "") or "").startswith(
                        "proximity_kernel"
                    )
                    if ours and not method.startswith("_"):
                        found.setdefault(f"{name}.{method}", f"{full}.{method}")
    return found


NAMES = list_names()
# For the templates: the guide page of each name (others: neighbors), and the methods
# that are described on the page of a class. Other methods of scikit-learn are in the
# table of methods only, and those for metadata routing nowhere.
GUIDES = {
    "choosing": "MissingCells ProximityKernel",
    "clusters": "Groups ProximityKMeans plot_map plot_profiles",
    "dask": "DaskProximityKMeans DaskProximityKernel DaskProximityOutliers",
    "imputation": "ProximityImputer",
    "model-file": "ModelFileError TRUSTED_TYPES load_model",
    "outliers": "ProximityOutliers Reason",
    "prepare": "ColumnSchema FileLayout InputError LoadedTable Schema read_table",
    "reasons": "Cell Explanation Feature explain",
    "report": "TableReport",
    "scale": "LargeTable open_large_table",
    "start": "load_penguins",
    "sure": "plot_evidence",
}
autosummary_context = {
    "ours": set(NAMES.values()),
    "guides": {name: page for page, names in GUIDES.items() for name in names.split()},
}
WRITTEN = "|".join(map(re.escape, sorted(NAMES, key=len, reverse=True)))
PROSE = re.compile(rf"(?<![\[`}}\w])`({WRITTEN})`(?![`\]])")


def link_name(
    role: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any
) -> Any:
    """Link a public name, or one of another library; other texts are code."""
    target = NAMES.get(text, text)
    if text not in NAMES and text.partition(".")[0] not in intersphinx_mapping:
        return [nodes.literal(rawtext, text)], []
    make = PyXRefRole()
    return make("py:obj", rawtext, f"{text} <{target}>", lineno, inliner, {}, [])


def describe_attribute(
    docstring: SphinxDocString, name: str, text: list[str], _: bool
) -> tuple[str, list[str]]:
    """Show what the class says of an attribute.

    numpydoc would put the first line of a property in its place.
    """
    return f"**{name}**", text


def adapt_page(app: Any, docname: str, source: list[str]) -> None:
    """Link names and examples to their pages, and close blocks as doctest cannot.

    In the repository a page links to the program of an example, on the site to what it
    gave. `KEYWORDS` are for the search, not shown.
    """
    text = source[0]
    if docname == "index":
        text = re.sub("<!--.*-->", lambda _: FIRST_SCREEN, text)
    text = re.sub(r"\n\n```$", "\n```", text, flags=re.MULTILINE)
    if not docname.startswith(("generated", "decisions")):
        blocks = re.split(r"(?ms)(^```.*?^```$|^#[^\n]*$)", text)
        blocks[::2] = [PROSE.sub(r"{name}`\1`", prose) for prose in blocks[::2]]
        text = "".join(blocks)
    if docname in KEYWORDS:
        words = ", ".join(KEYWORDS[docname].split())
        text = f"---\nmyst:\n  html_meta:\n    keywords: {words}\n---\n{text}"
    text = re.sub(
        r"\]\(\.\./examples/(\w+)\.py\)", r"](generated/examples/\1.rst)", text
    )
    source[0] = text.replace("](../examples/)", "](generated/examples/index.rst)")


def mend_links(_: Any, page: str, __: str, context: dict[str, Any], ___: Any) -> None:
    """Link the source of a name to its own page.

    viewcode takes all names of a file to be in one module.
    """
    if page.startswith("_modules/"):
        link = r"(/api/([\w.]+)\.html#)(?!\2)[\w.]+"
        context["body"] = re.sub(link, r"\1\2", context["body"])


def setup(app: Any) -> None:
    """Connect the above; Sphinx calls this."""
    app.add_role("name", link_name)
    app.connect("source-read", adapt_page)
    app.connect("html-page-context", mend_links)
    SphinxDocString._process_param = describe_attribute  # noqa: SLF001 - no option
