"""
A data-quality page in one command
==================================

What is in this file, and what is wrong with it? The file is the penguins as somebody
might send them: semicolons, decimal commas, two marks for a missing cell, an id, and a
body mass in which a digit slipped.
"""

# sphinx_gallery_thumbnail_path = 'pictures/report.png'

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from proximity_kernel.datasets import load_penguins

folder = TemporaryDirectory()
penguins = load_penguins()
penguins.insert(0, "penguin_id", [f"P{i:03}" for i in range(1, len(penguins) + 1)])
penguins.loc[41, "body_mass_g"] *= 10
penguins["sex"] = penguins["sex"].fillna("?")
path = Path(folder.name) / "penguins.csv"
penguins.to_csv(path, sep=";", decimal=",", na_rep="n/a", index=False)
print(path.read_text()[:400])

# %%
# How the file is read
# --------------------
# ``look`` shows what would be assumed, and writes nothing.


def run(*arguments: str) -> None:
    """Run a command in the folder of the file and print what it prints."""
    done = subprocess.run(
        ["proximity-kernel", *arguments],
        cwd=folder.name, capture_output=True, text=True, check=True,
    )  # fmt: skip
    print(f"$ proximity-kernel {' '.join(arguments)}\n{done.stderr}{done.stdout}")


run("look", "penguins.csv")

# %%
# The page
# --------
# One command finds clusters and writes the page. It is one file that loads nothing from
# the network: send it, or keep it beside the data.

run("cluster", "penguins.csv", "-o", "clusters.csv", "--report", "penguins.html")
folder.cleanup()

# %%
# This is how such a page begins: `the page of the demo <../../penguins.html>`__, the
# penguins with a fifth of their cells hidden. :doc:`/report` describes every section.
#
# .. image:: /pictures/report.png
#    :alt: The first screen of a report: findings, a map of the rows, clusters
#
# What you do today
# -----------------
# ydata-profiling and ``DataFrame.describe`` tell more about *columns*: correlations,
# quantiles, long lists of alerts. They do not say which *rows* are alike, which are
# strange and why, or how well the missing cells are known from the other columns. Use
# both.
