"""The table of folders in CONTRIBUTING.md against the tree."""

import re
from pathlib import Path

import proximity_kernel

ROOT = Path(__file__).parents[2]
PACKAGE = Path(proximity_kernel.__file__).parent


def table():
    """What is said about each file and folder, in their order."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = text.split("## The code")[1].split("## Chores")[0]
    return re.findall(r"^\| `([^`]+)` \| (.+) \|$", code, re.MULTILINE)


def listed():
    return [name for name, _ in table() if name.find("/") in (-1, len(name) - 1)]


def test_every_file_and_folder_of_the_root_is_listed_once():
    there = {path.name for path in PACKAGE.glob("*.py")}
    there |= {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(listed()) == sorted(there)


def test_every_file_of_a_folder_is_listed_once():
    there = {"cli/*_command.py"}
    for path in PACKAGE.glob("*/[!_]*.py"):
        if not path.stem.endswith("_command"):
            there.add(f"{path.parent.name}/{path.name}")
    named = [name for name, _ in table() if name not in listed()]
    assert sorted(named) == sorted(there)


def test_the_order_is_that_of_the_layers():
    config = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = config.split("layers = [", 1)[1].split("]", 1)[0]
    depth = {
        name.strip(): k
        for k, line in enumerate(re.findall(r'"([^"]+)"', layers))
        for name in line.split(":")
    }
    names = [name.removesuffix(".py").rstrip("/") for name in listed()]
    order = [depth[name] for name in names if name != "__init__"]
    assert order == sorted(order)


def test_no_two_files_have_the_same_name():
    stems = [path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__"]
    assert sorted(stems) == sorted(set(stems))
