"""Pictures of estimators: what is drawn is what was fitted."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    plot_evidence,
    plot_map,
    plot_profiles,
)
from proximity_kernel.datasets import load_penguins

mpl.use("agg")
PENGUINS = load_penguins()


@pytest.fixture(scope="module")
def km():
    return ProximityKMeans(3, random_state=0).fit(PENGUINS)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_a_map_has_every_row_in_the_color_of_its_cluster(km):
    drawn = plot_map(km, PENGUINS).collections
    sizes = [len(one.get_offsets()) for one in drawn]
    assert sizes == np.bincount(km.labels_).tolist()


def test_a_map_is_colored_by_labels_or_numbers(km):
    axes = plot_map(km.kernel_, PENGUINS, color=PENGUINS["species"])
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["Adelie", "Chinstrap", "Gentoo"]
    axes = plot_map(km.kernel_, PENGUINS, color=PENGUINS["body_mass_g"])
    assert len(axes.collections[0].get_offsets()) == len(PENGUINS)
    assert plot_map(km.kernel_, PENGUINS).get_legend() is None
    with pytest.raises(ValueError, match="one entry for each of the 344 rows"):
        plot_map(km, PENGUINS, color=[1, 2])


def test_profiles_draw_the_shares_of_the_first_values(km):
    axes = plot_profiles(km, n_values=2)
    first = [
        one
        for c in range(3)
        for one in [one for one in km.profiles_ if one["cluster"] == c][:2]
    ]
    assert [bar.get_width() for bar in axes.patches] == [one["share"] for one in first]
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        f"{one['feature']} {one['value']}" for one in first
    ]


def test_profiles_need_clusters():
    with pytest.raises(TypeError, match="ProximityKMeans, got ProximityKernel"):
        plot_profiles(ProximityKernel())
    with pytest.raises(NotFittedError):
        plot_profiles(ProximityKMeans(2))


def test_evidence_is_drawn_in_the_given_axes():
    kernel = ProximityKernel().fit(PENGUINS)
    _, given = plt.subplots()
    axes = plot_evidence(kernel, ax=given)
    assert axes is given
    drawn = axes.images[0].get_array()
    np.testing.assert_array_equal(drawn, kernel.column_evidence())
