"""Arrays in, axes out.

Each function draws one thing, on axes of its own; `draw_lines` alone draws on axes that
it is given, those of `make_panels`. Nothing is computed here but what drawing needs,
and no file is read; one function writes: `save_figure`.

The figures can be read in print and by the colorblind: methods differ by color, and by
marker and line as well. A name has the look of its place among the names drawn; give
the same ``names`` to several figures, and it has the same look in all of them.

matplotlib is imported when something is drawn. No setting of it is changed for others,
and the state of pyplot is not touched.

Examples
--------
>>> from proximity_kernel_paper.plots import draw_lines, make_panels
>>> figure, [ax] = make_panels(["adult"], size=(3, 2))
>>> draw_lines(ax, [0.1, 0.3, 0.5], {"PK": [0.9, 0.8, 0.7], "Mean": [0.8, 0.5, 0.2]})
>>> ax.get_legend_handles_labels()[1]
['PK', 'Mean']
"""

from __future__ import annotations

from ._bins import draw_bins
from ._distributions import draw_distributions
from ._lines import draw_lines
from ._panels import make_panels, share_legend
from ._ranks import draw_critical_difference
from ._save import save_figure
from ._scatter import draw_scatter

__all__ = [
    "draw_bins",
    "draw_critical_difference",
    "draw_distributions",
    "draw_lines",
    "draw_scatter",
    "make_panels",
    "save_figure",
    "share_legend",
]
