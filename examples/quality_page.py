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
# One command reads it, finds clusters and writes the page. It prints what it assumed
# about the file, and a summary.


def run(*arguments: str) -> None:
    """Run a command in the folder of the file and print what it prints."""
    done = subprocess.run(
        ["proximity-kernel", *arguments],
        cwd=folder.name, capture_output=True, text=True, check=True,
    )  # fmt: skip
    print(f"$ proximity-kernel {' '.join(arguments)}\n{done.stderr}{done.stdout}")


run("cluster", "penguins.csv", "-k", "3", "-o", "c.csv", "--report", "penguins.html")
print(f"penguins.html: {(Path(folder.name) / 'penguins.html').stat().st_size:,} bytes")

# %%
# The page is one file that loads nothing from the network: send it, or keep it beside
# the data. This is how it begins; `the page of the plain penguins
# <../../penguins.html>`__ is part of this site. :doc:`/report` describes every section.
#
# .. image:: /pictures/report.png
#    :alt: The first screen of the report about the penguins
#
# The strangest rows, with reasons
# --------------------------------

run("outliers", "penguins.csv", "--top", "3", "-o", "outliers.csv")
folder.cleanup()

# %%
# What you do today
# -----------------
# ydata-profiling and ``DataFrame.describe`` tell more about *columns*: correlations,
# quantiles, long lists of alerts. They do not say which *rows* are alike, which are
# strange and why, or how well the missing cells are known from the other columns. Use
# both.
