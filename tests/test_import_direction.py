"""Imports go down the walk only, and each third-party package has its room.

The rules are the tables below. The imports are read from the sources, those inside
functions too (see `import_reader`).
A room is a module or a subpackage directly under `proximity_kernel`; the door is
`proximity_kernel` itself.
"""

import ast
import sys
import textwrap
from pathlib import Path

import pytest
from import_reader import read_imports

PACKAGE = "proximity_kernel"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE
DOOR = "__init__"

# ---------------------------------------------------------------- the rules, as data

# In the order that data meets them: a room may import those before it.
WALK = (
    "_table",
    "_cells",
    "_columns",
    "_ranks",
    "_centers",
    "_typical",
    "_codes",
    "_survey",
    "_rows",
    "_absence",
    "_missingness",
    "_reference",
    "_weights",
    "_matching",
    "_representation",
    "_kernel",
    "_model",
    "_state",
    "_saving",
    "_batches",
    "_imputation",
    "_decoded",
    "_frames",
    "_filling",
    "_estimator",
)
# Beside the walk, and the first room of the walk that may import each.
BESIDE = {
    "_threads": "_centers",
    "_loops": "_codes",
    "_bitmaps": "_codes",
    "_tallies": "_matching",
    "_search": "_matching",
    "_options": "_batches",
    "_values": "_state",
    "_archive": "_saving",
}
# The only rooms that may know the compiler, and the loops written with them.
COMPILER = ("_compile", "_lanes", "_vectors")
LOOPS = ("_loops", "_bitmaps", "_tallies", "_search", "_centroids", "_scan")
# Public modules built on the estimator, which the door may name.
BUILT_ON = ("cluster", "neighbors", "outliers", "explanation", "model_file")
# Rooms behind `cluster` alone, but for the words of `_profiles`.
CLUSTERING = ("_points", "_seeds", "_lloyd", "_strength", "_profiles")
# Rooms behind the others.
BEHIND = ("_nearest", "_embedding", "_sums", "_passes")
# Public subpackages with code that others may call.
SHARED = ("baselines", "datasets", "plots")


def _walk_rules():
    """What each room of the walk may import of the package."""
    return {
        room: {
            *WALK[:place],
            *(beside for beside, start in BESIDE.items() if place >= WALK.index(start)),
        }
        for place, room in enumerate(WALK)
    }


# room -> the rooms it may import. A room that is not here fails the test: give it a
# place first.
MAY_IMPORT = {
    **_walk_rules(),
    "_compile": set(),
    "_lanes": set(),
    "_loops": {"_compile"},
    "_bitmaps": {"_compile", "_lanes"},
    "_tallies": {"_compile", "_lanes", "_bitmaps"},
    "_search": {"_compile", "_lanes", "_bitmaps", "_tallies"},
    "_threads": set(),
    "_values": {"_extras"},
    "_archive": {"_whole"},
    "_options": {"_centers", "_codes", "_matching", "_missingness"},
    "_vectors": set(),
    "_centroids": {"_compile", "_vectors"},
    "_points": {"_centroids", "_threads"},
    "_seeds": {"_centroids", "_points", "_threads"},
    "_lloyd": {"_centroids", "_points", "_seeds", "_threads"},
    "_strength": {"_lloyd", "_points"},
    "_profiles": {*WALK},
    **{room: {*WALK, "_threads"} for room in BUILT_ON},
    "_sums": {*WALK, "_threads", "_embedding", *CLUSTERING},
    "_passes": {*WALK, "_threads", "_options", "_embedding", "_sums", *CLUSTERING},
    "cluster": {*WALK, "_threads", "_options", "_embedding", "_passes", *CLUSTERING},
    "_scan": {"_compile"},
    "_nearest": {"_scan", "_threads"},
    "_embedding": {*WALK},
    "neighbors": {*WALK, "_nearest", "_embedding", "_options", "_threads"},
    "outliers": {*WALK, "_embedding", "_options", "explanation"},
    "explanation": {*WALK, "_profiles"},
    "model_file": {"_archive", "_saving", "_estimator", *BUILT_ON},
    DOOR: {*WALK, *BUILT_ON, "io"},
    "_extras": set(),
    "_whole": set(),
    # Data and drawing know nothing of the method.
    "datasets": {"_extras", "_whole"},
    "plots": {"_extras", "_whole"},
    # The same fit in pieces needs the rooms themselves.
    "dask": {*WALK, *BESIDE, *CLUSTERING, *BEHIND, "_extras", "_whole"},
    # Users of the public door, like anybody.
    "baselines": {DOOR, *BUILT_ON, "datasets", "_extras"},
    "experiments": {DOOR, *BUILT_ON, *SHARED, "_extras", "_whole"},
    "report": {DOOR, *BUILT_ON, *SHARED, "_columns", "_table", "_extras", "_whole"},
    "io": {"_extras", "_whole"},
    "cli": {
        *(DOOR, *BUILT_ON, *SHARED),
        *("io", "experiments", "report", "_extras", "_whole"),
    },
    "__main__": {"cli"},
}

PUBLIC_USERS = {*BUILT_ON, *SHARED, "dask", "experiments", "report", "cli"}
FROM_ESTIMATOR_ON = {
    "_saving",
    "_batches",
    "_estimator",
    "_embedding",
    "_passes",
    *PUBLIC_USERS,
}

# third-party package -> the only rooms that may import it
ROOMS_OF = {
    "numba": {*COMPILER},
    "llvmlite": {*COMPILER},
    "narwhals": {"_table", "_columns", "_frames", "report"},
    "sklearn": FROM_ESTIMATOR_ON,
    "joblib": FROM_ESTIMATOR_ON | {"_threads"},
    "dask": {"dask"},
    "distributed": {"dask"},
    "torch": {"baselines"},
    "matplotlib": {"plots"},
}

# What a core installation holds; anything else must not be needed to import the core.
INSTALLED = {"joblib", "llvmlite", "narwhals", "numba", "numpy", "scipy"}
INSTALLED |= {"sklearn", "threadpoolctl"}
CORE = {*WALK, *BESIDE, *COMPILER, *LOOPS, *CLUSTERING, *BEHIND, *BUILT_ON, DOOR}

# ------------------------------------------------------------------------ judging


def _inner(imported, rooms):
    """(room, parts below the room) of an import of this package."""
    parts = imported.module.split(".")[1:]
    # A name that is no room (a misspelt one, say) is taken for a name of the door.
    if not parts and imported.name in rooms:
        return imported.name, []
    if imported.name:
        parts = [*parts, imported.name]
    if imported.module == PACKAGE:
        return DOOR, parts
    return parts[0], parts[1:]


def _inner_complaint(room, imported, rooms, door_names):
    target, below = _inner(imported, rooms)
    if target == room and room != DOOR:
        return None
    if target == DOOR and room == DOOR:
        return "imports itself"
    if target not in MAY_IMPORT[room]:
        return f"may not import {target}"
    if target == DOOR and below and below[0] not in {*door_names, "__version__"}:
        return f"imports {below[0]}, which the public door does not name"
    if not target.startswith("_") and any(part.startswith("_") for part in below):
        return f"reaches into the private parts of {target}"
    return None


def _outer_complaint(room, imported):
    top = imported.module.partition(".")[0]
    if top in ROOMS_OF and room not in ROOMS_OF[top]:
        return f"may not import {top}"
    optional = top not in INSTALLED and top not in sys.stdlib_module_names
    if optional and room in CORE and imported.when == "import":
        return f"imports the optional {top} at module level"
    return None


def complaints(text, path, door_names=()):
    """What is wrong with the imports of a source text at `path` under the package."""
    path = Path(path)
    room = path.parts[0].removesuffix(".py")
    if room not in MAY_IMPORT:
        return [f"{path}: {room} has no place in MAY_IMPORT"]
    found = []
    for imported in read_imports(text, ".".join([PACKAGE, *path.parent.parts])):
        if imported.module.partition(".")[0] == PACKAGE:
            said = _inner_complaint(room, imported, set(MAY_IMPORT), door_names)
        else:
            said = _outer_complaint(room, imported)
        if said:
            found.append(f"{path}:{imported.line}: {room} {said}")
    return found


def _door_names():
    """`__all__` of the door, read without importing anything."""
    for node in ast.parse((SOURCE / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(target) == "__all__" for target in targets):
                return ast.literal_eval(node.value)
    raise AssertionError("the public door has no literal __all__")


FILES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def test_there_are_files_to_read():
    assert Path("__init__.py") in FILES
    assert {Path(f"{room}.py") for room in WALK} <= set(FILES)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_go_down_the_walk(path):
    text = (SOURCE / path).read_text(encoding="utf-8")
    assert complaints(text, path, _door_names()) == []


OFFENDERS = {
    "up the walk": ("_codes.py", "from ._matching import match", "_matching"),
    "up the walk, absolute": (
        "_codes.py",
        "from proximity_kernel._matching import match",
        "_matching",
    ),
    "up the walk, as a module": ("_codes.py", "from . import _kernel", "_kernel"),
    "inside a function": (
        "_centers.py",
        "def f():\n    import proximity_kernel._codes",
        "_codes",
    ),
    "inside a method": (
        "_centers.py",
        "class A:\n    def f(self):\n        from ._codes import g",
        "_codes",
    ),
    "for typing": (
        "_codes.py",
        "import typing\nif typing.TYPE_CHECKING:\n    from . import _kernel",
        "_kernel",
    ),
    "by import_module": (
        "_codes.py",
        "import importlib\nimportlib.import_module('._kernel', __package__)",
        "_kernel",
    ),
    "a room importing the door": (
        "_kernel.py",
        "from proximity_kernel import ProximityKernel",
        "__init__",
    ),
    "bitmaps too early": ("_centers.py", "from . import _bitmaps", "_bitmaps"),
    "lanes from the walk": ("_matching.py", "from ._lanes import f", "_lanes"),
    "the walk from the loops": ("_bitmaps.py", "from . import _codes", "_codes"),
    "the package from threads": ("_threads.py", "from . import _columns", "_columns"),
    "numba outside its rooms": ("_matching.py", "import numba", "numba"),
    "llvmlite outside": ("_kernel.py", "from llvmlite import ir", "llvmlite"),
    "narwhals outside": (
        "_estimator.py",
        "import narwhals.stable.v2 as nw",
        "narwhals",
    ),
    "scikit-learn early": ("_kernel.py", "from sklearn.base import clone", "sklearn"),
    "joblib early": ("_matching.py", "def f():\n    import joblib", "joblib"),
    "dask outside": ("_reference.py", "import dask.array", "dask"),
    "torch outside": ("experiments/gain.py", "import torch", "torch"),
    "matplotlib outside": ("report/page.py", "import matplotlib.pyplot", "matplotlib"),
    "optional at the top": ("_columns.py", "import pandas as pd", "module level"),
    "optional, guarded": (
        "_columns.py",
        "try:\n    import pandas\nexcept ImportError:\n    pandas = None",
        "module level",
    ),
    "past the door": (
        "baselines/mean.py",
        "from proximity_kernel._codes import assign_codes",
        "_codes",
    ),
    "a name not on the door": (
        "experiments/table.py",
        "from proximity_kernel import Secret",
        "does not name",
    ),
    "another's private module": (
        "experiments/table.py",
        "from proximity_kernel.datasets._fetch import get",
        "private",
    ),
    "two levels up": (
        "report/page.py",
        "from .._kernel import kernel",
        "_kernel",
    ),
    "a room without a place": ("_utils.py", "", "no place"),
}


@pytest.mark.parametrize(("path", "text", "said"), OFFENDERS.values(), ids=OFFENDERS)
def test_offending_source_is_complained_about(path, text, said):
    found = complaints(text, path, ["ProximityKernel"])
    assert len(found) == 1
    assert said in found[0]


GOOD = {
    "down the walk": (
        "_matching.py",
        """
        import numpy as np
        from scipy import sparse

        from . import _search, _threads
        from ._reference import Reference
        """,
    ),
    "optional where used": ("_columns.py", "def f():\n    import pandas as pd"),
    "optional for typing": (
        "_columns.py",
        "import typing\nif typing.TYPE_CHECKING:\n    import pandas as pd",
    ),
    "the loops": ("_search.py", "from . import _bitmaps, _compile, _lanes"),
    "the compiler": ("_compile.py", "import numba"),
    "threads": ("_threads.py", "def f():\n    import joblib"),
    "the door": (
        "__init__.py",
        "from proximity_kernel._estimator import ProximityKernel",
    ),
    "a user of the door": (
        "experiments/table.py",
        """
        import pandas as pd
        from sklearn.cluster import KMeans

        from proximity_kernel import ProximityKernel
        from proximity_kernel.datasets import load
        from ._trials import run
        """,
    ),
}


@pytest.mark.parametrize(("path", "text"), GOOD.values(), ids=GOOD)
def test_good_source_is_left_alone(path, text):
    assert complaints(textwrap.dedent(text), path, ["ProximityKernel"]) == []
