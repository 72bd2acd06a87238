"""``proximity-kernel outliers``: the most unusual rows, with reasons."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from .._shared.wording import counted, write_plain, write_share
from . import arguments
from .program import Invocation

DESCRIPTION = """\
Find the rows that are least similar to the others, with reasons.

  proximity-kernel outliers patients.csv -o unusual.csv
  proximity-kernel outliers patients.csv --top 20
  proximity-kernel outliers patients.csv --share 0.01
  proximity-kernel outliers new.csv --model m.pk

Output: the ids (or the row numbers, from 1), the score, whether the row
is an outlier, and the reasons if it is. The score is the mean similarity
to all rows, less 1 for each number that is far from all others; lower is
more unusual.
"""
_BLOCK = 2048  # rows at a time


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    arguments.add_input(parser)
    parser.add_argument(
        "--top", type=arguments.whole_number(1), metavar="N",
        help="only the N most unusual rows, ordered, all with reasons",
    )  # fmt: skip
    parser.add_argument(
        "--share", type=arguments.share_up_to(0.5), metavar="S",
        help="share of the rows to call outliers; chosen from the scores by default",
    )  # fmt: skip
    parser.add_argument(
        "--reasons", type=arguments.whole_number(0), default=3, metavar="N",
        help="reasons for each row (3)",
    )  # fmt: skip
    arguments.add_kernel(parser)
    arguments.add_output(parser, report=True)
    arguments.add_model(parser)


def run(invocation: Invocation) -> None:
    """Run the command."""
    from ..cli import fitting
    from .outputs import find_format, make_report

    options = invocation.options
    file_format = find_format(options.output, options.format)
    model, table, _ = fitting.start(invocation, "ProximityOutliers")
    if model is None:
        from .. import ProximityOutliers

        model = ProximityOutliers(
            kernel=fitting.make_kernel(options, ProximityOutliers()),
            contamination=options.share or "auto",
            n_jobs=options.n_jobs,
        )
        coded = fitting.fit(invocation, model, table)
    else:
        coded = fitting.code(model, table)
    frame = _list_outliers(invocation, model, table, coded)
    make_report(invocation, table, coded, model.kernel_)
    from .results import write_results

    write_results(invocation, frame, file_format)


def _list_outliers(invocation: Invocation, model: Any, table: Any, coded: Any) -> Any:
    """Make the table of results: score, outlier or not, and reasons."""
    import numpy as np

    from .results import N_SHOWN, is_for_terminal, join_results, name_rows

    options, shown = invocation.options, is_for_terminal(invocation.options)
    with invocation.progress("scoring"):
        scores = model.score_samples(coded)
    outlying = scores < model.offset_
    rows, explained = np.arange(len(scores)), np.flatnonzero(outlying)
    invocation.note(_count_outliers(scores, model.offset_))
    top = options.top
    if top is None and shown:
        top = min(len(explained) or N_SHOWN, N_SHOWN, len(rows))
        if len(explained) != top:
            of_them = " of them" if len(explained) else ""
            invocation.note(f"The {counted(top, 'most unusual row')}{of_them}:")
    if top is not None:
        rows = explained = np.argsort(scores, kind="stable")[:top]
    reasons = np.full(len(scores), "", dtype=object)
    reasons[explained] = [
        ("\n" if shown else "; ").join(own)
        for own in _explain(invocation, model, table, coded, explained)
    ]
    results = {"score": scores.round(6), "outlier": outlying, "reasons": reasons}
    if shown and len(set(outlying[rows])) == 1:
        del results["outlier"]
    return join_results(name_rows(table), results).iloc[rows]


def _count_outliers(scores: Any, limit: float) -> str:
    """Write how many rows are outliers, and below which score."""
    import numpy as np

    n, of_all = int((scores < limit).sum()), counted(len(scores), "row")
    if not n:
        return (
            f"None of {of_all} is an outlier: the lowest score is {scores.min():.3f}, "
            f"and outliers are below {limit:.3f}."
        )
    return (
        f"{n:,} of {of_all} {'is an outlier' if n == 1 else 'are outliers'}: the score "
        f"is below {limit:.3f} (a typical row has {np.median(scores):.3f})."
    )


def _explain(
    invocation: Invocation, model: Any, table: Any, coded: Any, rows: Any
) -> list[list[str]]:
    """List the reasons why some rows are unusual, in words."""
    options, out = invocation.options, []
    if not options.reasons:
        return [[] for _ in rows]
    columns = _read_columns(table, coded, fitted=options.model is None)
    with invocation.progress("finding reasons", len(rows)) as advance:
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            found = model.reasons(coded.take(block), options.reasons)
            for row, reasons in zip(block, found, strict=True):
                out.append([columns[one.feature].describe(row, one) for one in reasons])
            advance(len(block))
    return out


def _read_columns(table: Any, coded: Any, *, fitted: bool) -> dict[str, _Column]:
    """Collect the columns of the table by name, with the bins of their cells."""
    bins = coded.bins[coded.index]
    return {
        name: _Column(name, table.source[name], table.frame[name], bins[:, j], fitted)
        for j, name in enumerate(table.frame)
    }


@dataclass(frozen=True)
class _Column:
    """A column of the table.

    Attributes
    ----------
    name : str
    cells : pandas.Series
        As they are in the file.
    values : pandas.Series
        As they are compared.
    bins : ndarray of shape (n_rows,)
        The bin of each; missing cells have higher numbers.
    fitted : bool
        Whether the model was fitted to this table, so that its rows can be counted.
    """

    name: str
    cells: Any
    values: Any
    bins: Any
    fitted: bool

    def describe(self, row: int, reason: Any) -> str:
        """Write a reason in words: how rare the value of a row is in its column."""
        import pandas as pd

        from .results import write_short

        if reason.far:
            return f"{self.name} {reason.bin}"
        if reason.missing:
            return f"{self.name} missing, perhaps {reason.bin}"
        is_known = pd.notna(self.values.iloc[row])
        cell = write_short(self.cells.iloc[row]) if is_known else "missing"
        if not self.fitted:
            share = write_share(reason.share)
            where = f" ({reason.bin})" if reason.bin != cell else ""
            return f"{self.name} {cell}{where}: like only {share} of the rows"
        n_known, n_rows = int(self._counts.sum()), counted(len(self.values), "row")
        if not is_known:
            return (
                f"{self.name} missing: only {len(self.values) - n_known:,} of {n_rows}"
            )
        value = self.values.iloc[row]
        n, where = self._ranges.get(self.bins[row]) or (self._counts[value], "")
        if n == n_known:
            return f"{self.name} {cell}: only {n:,} of {n_rows} have a value"
        return f"{self.name} {cell}: only {n:,} of {counted(n_known, 'value')}{where}"

    @cached_property
    def _counts(self) -> Any:
        """How often each value occurs."""
        return self.values.value_counts()

    @cached_property
    def _ranges(self) -> dict[int, tuple[int, str]]:
        """How many numbers or dates are in each bin, and its range in words.

        The limits of a range are numbers with few digits between the bins. A bin with a
        single value is left out.
        """
        if self.values.dtype.kind not in "fM":
            return {}
        parts = self.values.groupby(self.bins).agg(["min", "max", "count", "nunique"])
        parts = parts[parts["count"] > 0]
        limits = [
            _write_limit(last, following)
            for last, following in zip(parts["max"][:-1], parts["min"][1:], strict=True)
        ]
        is_date = self.values.dtype.kind == "M"
        below, above = ("until", "after") if is_date else ("up to", "above")
        words = [f" are between {a} and {b}" for a, b in pairwise(limits)]
        if limits:
            words = [f" are {below} {limits[0]}", *words, f" are {above} {limits[-1]}"]
        parts = parts.assign(where=words or "")
        several = parts.loc[parts["nunique"] > 1, ["count", "where"]]
        return dict(zip(several.index, several.itertuples(index=False), strict=True))


def _write_limit(last: Any, following: Any) -> str:
    """Write a short number or date, at least `last` and less than `following`.

    >>> _write_limit(57.3, 61.27), _write_limit(1.0, 2.0), _write_limit(40.1, 44.9)
    ('60', '1', '42')
    """
    if not isinstance(last, float):
        day = last.ceil("D")
        moment = day if day < following else last
        return str(moment.isoformat().removesuffix("T00:00:00"))
    middle = last + (following - last) / 2
    for digits in range(1, 16):
        for number in (last, middle):
            rounded = float(f"{number:.{digits}g}")
            if last <= rounded < following:
                return write_plain(rounded)
    return write_plain(last)
