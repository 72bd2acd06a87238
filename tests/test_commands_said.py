"""What commands say beside their results: short, and what the user can use."""

import re
from types import SimpleNamespace

from commanding import run_inside
from rich.console import Console

from proximity_kernel.commands import explain


def test_the_summary_is_short_and_tells_what_sets_clusters_apart(tmp_path, capfd):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(60)))
    assert run_inside("cluster", path, "-k", "30", "-o", tmp_path / "c.csv") == 0
    said = capfd.readouterr().err
    assert "and 10 more (--profiles FILE has them all)" in said
    assert len(re.findall(r"^ +\d+ +\d+ +\d+%", said, re.MULTILINE)) == 20
    assert run_inside("cluster", path, "-k", "1", "-o", tmp_path / "c.csv") == 0
    assert re.search(r"0 +60 +100% +nothing sets it apart", capfd.readouterr().err)


def test_few_rows_have_few_neighbors_and_pairs_are_counted(tmp_path, capfd):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n2,b\n1,a\n")
    assert run_inside("neighbors", path, "--quiet") == 0
    assert len(capfd.readouterr().out.splitlines()) == 1 + 3 * 2
    assert run_inside("similarity", path, "--above", "0.9") == 0
    assert "1 pair of at least 0.9" in capfd.readouterr().err


def test_parts_of_many_columns_have_more_digits(capsys):
    features = [
        SimpleNamespace(name=f"c{j}", contribution=0.005, alike="same", a="x", b="x")
        for j in range(200)
    ]
    why = SimpleNamespace(similarity=1.0, features=features)
    Console(width=60).print(*explain._draw(why, "1", "2"))
    assert re.search(r"^c7 +0\.0050 +same", capsys.readouterr().out, re.MULTILINE)
