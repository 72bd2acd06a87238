"""
A map of the rows
=================

Kernel PCA places the penguins so that similar rows lie near each other. The table and
the clusters are those of the home page: the sex, the year and the species are left out;
the species only color the dots. The similarity is on the fine scale, which tells more
rows apart than the four bins of the clusters. ``python examples/penguins_map.py
FILE.svg`` draws the picture of the home page and of the README.
"""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
from sklearn.decomposition import KernelPCA

from proximity_kernel import ProximityKernel, ProximityKMeans
from proximity_kernel.datasets import load_penguins

# Okabe and Ito's colors, which the color-blind can tell apart; shapes for print.
STYLE = {
    "Adelie": ("#E69F00", "o"),
    "Chinstrap": ("#56B4E9", "s"),
    "Gentoo": ("#009E73", "^"),
}

# %%

if __name__ == "__main__":
    mpl.rcParams.update({"svg.hashsalt": "penguins", "font.size": 9})
    penguins = load_penguins().drop(columns=["sex", "year"])
    species = penguins.pop("species")
    km = ProximityKMeans(3, random_state=0).fit(penguins)
    kernel = ProximityKernel("fine").fit(penguins).kernel(penguins)
    place = KernelPCA(2, kernel="precomputed").fit_transform(kernel)
    usual = species.groupby(km.labels_).transform(lambda one: one.mode()[0])
    apart = (species != usual).to_numpy()

    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for name, (color, marker) in STYLE.items():
        inside = (species == name).to_numpy()
        axes.scatter(*place[inside].T, s=16, c=color, marker=marker, label=name)
    axes.scatter(
        *place[apart].T, s=70, facecolors="none", edgecolors="black",
        linewidths=0.9, label="in the cluster of\nanother species",
    )  # fmt: skip
    axes.set(
        xticks=[],
        yticks=[],
        title="344 penguins, placed by similarity; species not used",
    )
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    if len(sys.argv) > 1:  # the file to draw to
        figure.savefig(sys.argv[1], metadata={"Date": None})
