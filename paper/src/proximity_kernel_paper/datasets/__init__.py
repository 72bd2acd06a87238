"""Tables with holes, to try things on, and ways to make holes in others.

The tables are entries of a catalogue: the folder ``catalogue`` holds one small file of
facts for each (where it comes from, its digest, its columns, how it is written). A new
table is a new file there, and no new code. `load` reads one, `list_datasets` names
them, `describe` counts them beside the figures of the paper. `list_held_out` names
others, which a rule chose from two packages; `load` reads them too.

The penguins come with the library; the files of the others do not. They are looked for
in the data home: an argument, else the environment variable ``PROXIMITY_KERNEL_DATA``,
else a folder in the user's cache; what is not there is downloaded from its publisher.

`simulate_missing` hides cells of a table by chance, by another column's value, or by
the value itself.
"""

from __future__ import annotations

from ._catalogue import list_datasets
from ._describe import describe
from ._held_out import list_held_out
from ._load import Dataset, load
from ._missingness import simulate_missing

__all__ = [
    "Dataset",
    "describe",
    "list_datasets",
    "list_held_out",
    "load",
    "simulate_missing",
]
