"""Results on disk, a row for each trial, kept as soon as it is known.

A run that is killed loses what it was computing and nothing else: rows are appended
whole, and a last line without its end, which a kill in the middle of writing can
leave, is taken away before the next row is written.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from .._whole import whole_file
from ._trials import KEY, RequestError

# What is known about every trial, whatever it measures.
ABOUT = ("seconds", "memory_mb", "note", "error", "commit", "machine", "versions")


class Ledger:
    """The results of one experiment, in a CSV file.

    Parameters
    ----------
    path : Path
        Made with its folder when the first row is written.
    scores : tuple of str
        The columns for what is measured.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from proximity_kernel_paper.experiments._trials import Trial
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder) / "nmi.csv", ("nmi",))
    ...     ledger.append(Trial("mammo", "Mean", 0), {"nmi": 0.25, "seconds": 1.5})
    ...     ledger.read()[["dataset", "method", "seed", "nmi"]].values.tolist()
    [['mammo', 'Mean', 0, 0.25]]
    """

    def __init__(self, path: Path, scores: tuple[str, ...]) -> None:
        self.path = path
        self.scores = scores
        self.columns = (*KEY, *scores, *ABOUT)
        self._mended = False

    def read(self) -> pd.DataFrame:
        """Read all rows.

        Returns
        -------
        pandas.DataFrame
            A row for each trial, the last one where a trial was repeated. Text is text,
            empty where there is none; scores are numbers, NaN where there are none.

        Raises
        ------
        RequestError
            If the file holds other columns than these.
        """
        text = self._whole_lines()
        if not text:
            rows = pd.DataFrame(columns=list(self.columns), dtype=str)
        else:
            self._check(text.partition("\n")[0])
            rows = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
        for column in (*self.scores, "seconds", "memory_mb"):
            rows[column] = pd.to_numeric(rows[column], errors="coerce")
        broken = rows["seed"].map(lambda seed: not str(seed).isdigit())
        if broken.any():
            line = int(broken.to_numpy().argmax()) + 2
            raise RequestError(
                f"{self.path}, line {line}: no row of results; move the file away, or "
                "take that line out."
            )
        rows["seed"] = rows["seed"].astype(int)
        return rows.drop_duplicates(list(KEY), keep="last", ignore_index=True)

    def append(self, trial: Any, outcome: Mapping[str, Any]) -> None:
        """Add the row of a trial, and see it on the disk before going on.

        Parameters
        ----------
        trial : Trial
        outcome : mapping from str to value
            By column; those not given stay empty.
        """
        unknown = set(outcome) - set(self.columns)
        if unknown:
            raise ValueError(f"{self.path.name} has no column {sorted(unknown)}.")
        row = dict(zip(KEY, trial.key, strict=True)) | dict(outcome)
        line = _write_line([row.get(column, "") for column in self.columns])
        if not self._mended:
            self._mend()
        with self.path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def forget_failures(self) -> None:
        """Take away the rows of trials that failed, so that they are tried again."""
        rows = self.read()
        kept = rows.loc[rows["error"] == "", list(self.columns)]
        if len(kept) < len(rows):
            with whole_file(self.path) as part:
                kept.to_csv(part, index=False, lineterminator="\n")

    def _mend(self) -> None:
        """Make the file end with a whole line, of which the first is the header."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = self._whole_lines()
        if whole:
            self._check(whole.partition("\n")[0])
            with self.path.open("r+b") as file:
                file.truncate(len(whole.encode()))
        else:
            self.path.write_text(_write_line(self.columns))
        self._mended = True

    def _whole_lines(self) -> str:
        if not self.path.exists():
            return ""
        text = self.path.read_bytes().decode()
        return text[: text.rfind("\n") + 1]

    def _check(self, header: str) -> None:
        found = next(csv.reader([header]))
        if found != list(self.columns):
            raise RequestError(
                f"{self.path} holds the columns {found}, not {list(self.columns)}; it "
                "is of another experiment or version: move it away."
            )


def _write_line(values: Any) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow([_flat(value) for value in values])
    return buffer.getvalue()


def _flat(value: Any) -> Any:
    """Put a value on one line, so that a line of the file is a row."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(value.split()) if isinstance(value, str) else value
