"""The room of the plots: imports, looks, panels and files."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import pytest
from plotting import METHODS, SAVING, draw_all, line, lines, renderer_of

from proximity_kernel_paper import plots
from proximity_kernel_paper.plots import (
    draw_lines,
    make_panels,
    save_figure,
    share_legend,
)
from proximity_kernel_paper.plots._style import looks

# ------------------------------------------------------------------------ the room


def test_all_is_sorted_and_exact():
    members = {name for name in vars(plots) if name.startswith(("draw", "make"))}
    assert members | {"save_figure", "share_legend"} == set(plots.__all__)
    assert plots.__all__ == sorted(plots.__all__)


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import proximity_kernel_paper.plots", "matplotlib"),
        (SAVING, "matplotlib.pyplot"),
    ],
)
def test_matplotlib_is_imported_late_and_pyplot_never(code, absent, tmp_path):
    code += f"\nimport sys; sys.exit({absent!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_no_setting_is_changed_for_others():
    # Reading "backend" would choose one.
    names = [name for name in mpl.rcParams if name != "backend"]
    before = {name: mpl.rcParams[name] for name in names}
    draw_all()
    assert {name: mpl.rcParams[name] for name in names} == before


@pytest.mark.parametrize("name", draw_all())
def test_no_text_is_smaller_than_eight_points(name):
    from matplotlib.text import Text

    figure = draw_all()[name].figure
    renderer_of(figure)
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 8


# ----------------------------------------------------------------------- the looks


def test_each_method_has_its_own_look():
    known = looks(METHODS)
    for kind in ("marker", "color"):
        assert len({getattr(look, kind) for look in known.values()}) == len(METHODS)
    pairs = {(look.color, look.line) for look in known.values()}
    assert len(pairs) == len(METHODS)


def test_neighbours_differ_in_every_way():
    known = list(looks(METHODS).values())
    for one, other in pairwise(known):
        assert one.color != other.color
        assert one.line != other.line


def test_names_give_the_same_look_in_every_figure():
    both = lines([1, 2], {"Mean": [1, 2], "PK": [2, 3]}, names=METHODS)
    alone = lines([1, 2], {"PK": [2, 3]}, names=METHODS)
    assert line(both, "PK").get_marker() == line(alone, "PK").get_marker()
    assert line(both, "PK").get_color() == line(alone, "PK").get_color()


# ---------------------------------------------------------------------- the panels


def test_panels_are_as_many_as_asked_with_their_titles():
    figure, axes = make_panels(list("abc"), size=(2, 1.5))
    assert figure.axes == axes
    assert [ax.get_title(loc="left") for ax in axes] == list("abc")
    assert figure.get_size_inches().tolist() == [6, 1.5]


def test_one_legend_names_each_once():
    figure, axes = make_panels(["a", "b"], size=(3, 2))
    draw_lines(axes[0], [1, 2], {"PK": [1, 2], "KNN": [1, 2]}, names=METHODS)
    draw_lines(axes[1], [1, 2], {"Mean": [1, 2], "PK": [1, 2]}, names=METHODS)
    legend = share_legend(figure, axes)
    assert [text.get_text() for text in legend.get_texts()] == ["PK", "KNN", "Mean"]


def test_a_legend_fits_under_the_panels():
    figure, axes = make_panels(list("abc"), size=(2.4, 2))
    for ax in axes:
        draw_lines(ax, [1, 2], {name: [1, 2] for name in METHODS}, xlabel="bins")
    legend = share_legend(figure, axes)
    renderer = renderer_of(figure)
    box = legend.get_window_extent(renderer)
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert box.y1 <= min(ax.get_tightbbox(renderer).y0 for ax in axes)


# ---------------------------------------------------------------------- the saving


@pytest.mark.parametrize("name", draw_all())
def test_the_same_data_give_the_same_bytes(name, tmp_path):
    first = save_figure(draw_all()[name].figure, tmp_path / "one")
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 20}):
        second = save_figure(draw_all()[name].figure, tmp_path / "deep" / "two")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_saving_again_gives_the_same_bytes(tmp_path):
    figure, axes = make_panels(list("abc"), size=(2.4, 2))
    for ax in axes:
        draw_lines(ax, [1, 2], {name: [1, 2] for name in METHODS}, xlabel="bins")
    share_legend(figure, axes)
    first, second = (save_figure(figure, tmp_path / name) for name in ("one", "two"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_png_has_200_dots_an_inch_and_svg_has_text(tmp_path):
    ax = lines([1, 2], {"PK": [1, 2]}, xlabel="bins")
    ax.figure.set_size_inches(3, 2)
    png, svg = save_figure(ax.figure, tmp_path / "v1.2")
    assert (png.name, svg.name) == ("v1.2.png", "v1.2.svg")
    size = png.read_bytes()[16:24]
    assert [int.from_bytes(size[:4]), int.from_bytes(size[4:])] == [600, 400]
    text = svg.read_text()
    assert ">bins</text>" in text
    assert "<dc:date>" not in text


def test_a_figure_that_cannot_be_drawn_writes_nothing(tmp_path, monkeypatch):
    ax = lines([1, 2], {"PK": [1, 2]})
    figure, render = ax.figure, ax.figure.savefig

    def fail_at_svg(*arguments, format, **options):  # noqa: A002 (matplotlib's name)
        if format == "svg":
            raise RuntimeError("no ink")
        render(*arguments, format=format, **options)

    monkeypatch.setattr(figure, "savefig", fail_at_svg)
    with pytest.raises(RuntimeError, match="no ink"):
        save_figure(figure, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failed_write_leaves_the_older_file_whole(step, tmp_path, monkeypatch):
    old = tmp_path / "figure.png"
    old.write_bytes(b"old")
    write = Path.write_bytes

    def fail(path, _):
        write(path, b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Path, step, fail)
    with pytest.raises(OSError, match="disk full"):
        save_figure(lines([1, 2], {"PK": [1, 2]}).figure, tmp_path / "figure")
    assert old.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
