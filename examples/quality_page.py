"""
A data-quality page in one command
==================================

What is in this file, and what is wrong with it? The file is the penguins as somebody
might send them: semicolons, decimal commas, two marks for a missing cell, an id, and a
body mass in which a digit slipped.
"""

# sphinx_gallery_thumbnail_path = 'pictures/report.png'

import re
import subprocess
import sys
import textwrap
from html import unescape
from pathlib import Path
from tempfile import mkdtemp

from proximity_kernel.datasets import load_penguins

folder = Path(sys.argv[1] if len(sys.argv) > 1 else mkdtemp())
penguins = load_penguins()
penguins.insert(0, "penguin_id", [f"P{i:03}" for i in range(1, len(penguins) + 1)])
penguins.loc[41, "body_mass_g"] *= 10
penguins["sex"] = penguins["sex"].fillna("?")
path = folder / "penguins.csv"
penguins.to_csv(path, sep=";", decimal=",", na_rep="n/a", index=False)
print(*path.read_text().splitlines()[:5], sep="\n")

# %%
# How the file is read
# --------------------
# ``look`` shows what would be assumed, and writes nothing.


def run(*arguments: str) -> None:
    """Run a command in the folder of the file and print what it prints."""
    done = subprocess.run(
        ["proximity-kernel", *arguments],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    print(f"$ proximity-kernel {' '.join(arguments)}\n{done.stderr}{done.stdout}")


run("look", "penguins.csv")

# %%
# The page
# --------
# One command finds clusters and writes the page. It is one file that loads nothing from
# the network: send it, or keep it beside the data.

run("cluster", "penguins.csv", "-o", "clusters.csv", "--report", "penguins.html")

# %%
# What it found
# -------------
# The page begins with its findings. Here they are as text, the slipped digit (row P042)
# among them:

page = (folder / "penguins.html").read_text(encoding="utf-8")
listed = re.findall('<ul class="findings">(.*?)</ul>', page, re.DOTALL)[0]
for finding in re.findall("<li>(.*?)</li>", listed, re.DOTALL):
    text = unescape(re.sub("<[^>]*>", "", finding))
    print(textwrap.fill(text, 88, initial_indent="- ", subsequent_indent="  "))

# %%
# This is `the page of this file <../../quality/penguins.html>`__; :doc:`/report`
# describes every section.
#
# .. image:: /pictures/report.png
#    :alt: The first screen of the report: findings, a map of the rows, clusters
#
# What it does not check
# ----------------------
# It reports four or more rows that equal an earlier row, and ids that repeat, but not
# rows that are nearly equal (:doc:`near_duplicates` finds them). It does not look for
# two names of one thing (DE, Deutschland), for totals that do not add up, or for limits
# that you know (an age below 120). A wrong number inside the usual range is named only
# if it does not fit the rest of its row.
#
# What you do today
# -----------------
# ydata-profiling and ``DataFrame.describe`` tell more about *columns*: correlations,
# quantiles, long lists of alerts. They do not say which *rows* are alike, which are
# strange and why, or how well the missing cells are known from the other columns. Use
# both. For rules that a file must obey, take pandera or Great Expectations.
