"""How the project is installed, and where its site is: the first release changes both.

Nothing is published yet, so messages say what works in a copy of the repository, and
estimators link to no page.
"""

from __future__ import annotations

SITE = ""
"""The address of the documentation, without a slash at its end; empty: no site yet."""
_INSTALL = 'in a copy of the repository, pip install ".[{}]"'


def how_to_install(extra: str) -> str:
    """Write the command that installs an extra of this project, for a message.

    >>> how_to_install("cli")
    'in a copy of the repository, pip install ".[cli]"'
    """
    return _INSTALL.format(extra)
