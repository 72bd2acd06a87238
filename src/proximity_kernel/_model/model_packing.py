"""A fitted model in, plain arrays and JSON out, and back, checked for sense.

The compiled loops trust what they are given: a code past its bins would make them read
memory that is not theirs. A file may be anything, so what is read from one is compared
with what a fit makes, before any loop sees it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins.centers import Bins, CategoricalBins, NumericBins
from .._bins.codes import Typical, code_dtype, count_bins
from .._matching.cascade import Cascade, build_cascade
from .._matching.pairwise import (
    MOST_CODES,
    SMOOTHINGS,
    PairCounts,
    Pairwise,
    restore_pairwise,
)
from .._saving.estimator_state import (
    State,
    check,
    check_number,
    decode,
    encode,
    is_finite,
)
from .._shared.options import MAX_BINS
from .._table.columns import ColumnType
from .missingness import Absence
from .model import Model

_MOST_SAMPLES = 1 << 50


def pack_model(model: Model) -> State:
    """Take a model apart."""
    features = []
    for column, bins, typical in zip(
        model.types, model.bins, model.typical, strict=True
    ):
        held = {
            "name": column.name,
            "kind": column.kind,
            "family": column.family,
            "order": encode(column.order, column.place),
            "place": column.place,
        }
        if isinstance(bins, CategoricalBins):
            rare = sorted(bins.infrequent)  # type: ignore[type-var]  # as at fit
            held["categories"] = encode(list(bins.categories), column.place)
            held["infrequent"] = encode(rare, column.place)
            held["common"] = [encode(v, column.place) for v in typical.values[-1:]]
            held["others"] = float(typical.spread[-1]) if bins.n_bins else 0.0
        else:
            held["n_bins"], held["grouped"] = bins.n_bins, bins.groups is not None
        features.append(held)
    numeric = [
        (b, t)
        for b, t in zip(model.bins, model.typical, strict=True)
        if isinstance(b, NumericBins)
    ]
    groups = [b.groups for b, _ in numeric if b.groups is not None]
    absences = [vars(absence) for absence in model.absences]
    chosen = encode(model.categorical_features, "categorical_features")
    held, matched = _pack_matcher(model)
    return State(
        {
            "features": features,
            "absences": absences,
            "categorical_features": chosen,
            **held,
        },
        {
            **matched,
            "centers": _join([b.centers for b, _ in numeric], np.float64),
            "groups": _join(groups, np.int64),
            "typical": _join([t.values for _, t in numeric], np.float64),
            "spread": _join([t.spread for _, t in numeric], np.float64),
        },
    )


def unpack_model(state: State) -> Model:
    """Put a model together again, if it can be one that was fitted."""
    features = state.values["features"]
    types = tuple(_read_type(held) for held in features)
    bins, typical = _read_bins(state, types)
    absences = tuple(
        _read_absence(held, own, column)
        for held, own, column in zip(state.values["absences"], bins, types, strict=True)
    )
    informative = np.array([absence.informative for absence in absences])
    n_bins = np.array([own.n_bins for own in bins], np.int64) + informative
    check(len(n_bins) > 0, "no features")
    matcher, totals, n_samples = _unpack_matcher(state, n_bins)
    return Model(
        types,
        decode(state.values["categorical_features"]),
        bins,
        absences,
        matcher,
        typical,
        totals,
        n_samples,
    )


def _pack_matcher(model: Model) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Take the rule apart that estimates missing cells."""
    matcher = model.matcher
    if isinstance(matcher, Cascade):
        maps = matcher.bitmaps
        return {"matching": "cascade"}, {"rows": maps.rows, "counts": maps.counts}
    counts = matcher.counts
    pairs = counts.pairs
    arrays = {
        "totals": counts.totals,
        "marginals": counts.marginals,
        "weights": matcher.weights,
    }
    if counts.sources is not None and counts.kept is not None:
        arrays |= {"sources": counts.sources, "kept": counts.kept}
    else:
        pairs = pairs[np.triu_indices(len(pairs))]
    small = np.min_scalar_type(int(pairs.max(initial=0)))
    values = {
        "matching": "pairwise",
        "n_samples": model.n_samples,
        "smoothing": matcher.smoothing,
    }
    return values, {**arrays, "pairs": pairs.astype(small)}


def _unpack_matcher(
    state: State, n_bins: NDArray[np.int64]
) -> tuple[Pairwise | Cascade, NDArray[np.int64], int]:
    """Put the rule together again, with how often each bin was observed."""
    if state.values["matching"] == "cascade":
        rows, counts = _read_rows(state, n_bins)
        totals = count_bins(rows, counts, n_bins)
        return build_cascade(rows, counts, n_bins), totals, int(counts.sum())
    check(state.values["matching"] == "pairwise", "an unknown matching")
    n_samples = check_number(state.values["n_samples"], _MOST_SAMPLES)
    smoothing = state.values["smoothing"]
    check(type(smoothing) is int and smoothing in SMOOTHINGS, "smoothing")
    weights = state.array("weights", np.float64)
    check(len(weights) == len(n_bins) and is_finite(weights), "weights")
    check(((weights >= 0) & (weights <= 1)).all(), "weights")
    pairs = _read_pairs(state, n_bins, n_samples)
    return restore_pairwise(pairs, smoothing, weights), pairs.totals, n_samples


def _read_pairs(state: State, n_bins: NDArray[np.int64], n_samples: int) -> PairCounts:
    totals = _read_totals(state, "totals", n_bins, n_samples)
    check((totals[0] > 0).tolist() == (n_bins > 0).tolist(), "totals of other rows")
    marginals = _read_totals(state, "marginals", n_bins, n_samples)
    pairs = state.arrays["pairs"]
    check(pairs.dtype.kind == "u", "counts of pairs")
    check(int(pairs.max(initial=0)) <= n_samples, "counts of pairs")
    pairs = pairs.astype(np.int64)
    n_features, n_codes = len(n_bins), len(totals[1])
    if "sources" not in state.arrays:
        check(n_codes <= MOST_CODES, "too many pairs")
        check(pairs.shape == (n_codes * (n_codes + 1) // 2,), "counts of pairs")
        whole = np.zeros((n_codes, n_codes), np.int64)
        whole[np.triu_indices(n_codes)] = pairs
        whole += np.triu(whole, 1).T
        return PairCounts(n_bins, totals[1], marginals[1], whole)
    sources = state.array("sources", np.int64, ndim=2)
    kept = state.array("kept", np.int64, ndim=2)
    check(len(sources) == len(kept) == n_features, "sources")
    n_kept = kept.shape[1]
    check(pairs.shape == (*sources.shape, n_kept + 1, n_kept), "counts of pairs")
    check(((sources >= 0) & (sources < n_features)).all(), "sources")
    check(((kept >= -1) & (kept < n_bins[:, None])).all(), "kept codes")
    last = kept[:, 1:] == -1  # where there are fewer, the rest is empty
    rising = last | ((kept[:, :-1] >= 0) & (np.diff(kept, axis=1) > 0))
    check(rising.all(), "kept codes")
    return PairCounts(n_bins, totals[1], marginals[1], pairs, sources, kept)


def _read_totals(
    state: State, name: str, n_bins: NDArray[np.int64], n_samples: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read how often each bin was observed, and its sum for each feature."""
    totals = state.array(name, np.int64)
    check(len(totals) == n_bins.sum(), f"{name} of other bins")
    check((totals >= 0).all(), f"{name} are negative")
    # As floats: sums of crafted integers could wrap.
    parts = np.split(totals, np.cumsum(n_bins)[:-1])
    observed = np.array([part.sum(dtype=np.float64) for part in parts])
    check(observed.max() <= n_samples, f"{name} of more rows")
    return observed, totals


def _join(parts: Sequence[Any], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts])


def _read_type(held: Mapping[str, Any]) -> ColumnType:
    texts = [held[key] for key in ("name", "kind", "family", "place")]
    check(all(type(text) is str for text in texts), "a column type is no text")
    check(held["kind"] in ("numeric", "categorical"), f"a {held['kind']!r} column")
    order = decode(held["order"])
    check(order is None or type(order) is tuple, "an order is no tuple")
    check(order is None or held["kind"] == "numeric", "an order of labels")
    return ColumnType(held["name"], held["kind"], held["family"], order, held["place"])


def _read_bins(
    state: State, types: Sequence[ColumnType]
) -> tuple[tuple[Bins, ...], tuple[Typical, ...]]:
    centers, values, spread = (
        state.array(name, np.float64) for name in ("centers", "typical", "spread")
    )
    groups = state.array("groups", np.int64)
    check(len(centers) == len(values) == len(spread), "bins without typical values")
    bins: list[Bins] = []
    typical = []
    at = group_at = 0
    for held, column in zip(state.values["features"], types, strict=True):
        if column.kind == "categorical":
            labels = _read_categories(held)
            bins.append(labels)
            typical.append(_read_common(held, labels))
            continue
        stop = at + check_number(held["n_bins"], MAX_BINS)
        group_stop = group_at + (stop - at if held["grouped"] is True else 0)
        own = groups[group_at:group_stop] if held["grouped"] is True else None
        bins.append(_check_numeric(NumericBins(centers[at:stop], own), stop - at))
        typical.append(Typical(values[at:stop], spread[at:stop]))
        check(is_finite(values[at:stop]), "a typical value is not finite")
        check(is_finite(spread[at:stop]), "a spread is not finite")
        check((spread[at:stop] >= 0).all(), "a spread is negative")
        if column.order is not None and stop > at:
            ranks = values[at:stop]
            check(ranks.min() >= 0 and ranks.max() < len(column.order), "a rank")
        at, group_at = stop, group_stop
    check(at == len(centers) and group_at == len(groups), "more centers than bins")
    return tuple(bins), tuple(typical)


def _check_numeric(bins: NumericBins, size: int) -> NumericBins:
    centers, groups = bins.centers, bins.groups
    check(len(centers) == size and is_finite(centers), "centers are not finite")
    check((np.diff(centers) > 0).all(), "centers do not rise")
    if groups is not None:
        rising = len(groups) == size and (np.diff(groups) >= 0).all()
        check(rising and size and groups[0] == 0 and groups[-1] == 1, "coarse bins")
    return bins


def _read_categories(held: Mapping[str, Any]) -> CategoricalBins:
    categories, rare = decode(held["categories"]), decode(held["infrequent"])
    check(type(categories) is list and type(rare) is list, "categories are no list")
    bins = CategoricalBins(tuple(categories), frozenset(rare))
    distinct = len({*categories, *rare})
    check(distinct == len(categories) + len(rare), "a category is there twice")
    check(bins.n_bins <= MAX_BINS, "too many categories")
    return bins


def _read_common(held: Mapping[str, Any], bins: CategoricalBins) -> Typical:
    spread = np.zeros(bins.n_bins)
    if not bins.infrequent:
        return Typical(bins.categories, spread)
    (common,) = decode(held["common"])
    check(common in bins.infrequent, "the common one of the rare is not rare")
    spread[-1] = held["others"]
    check(0 <= spread[-1] <= 1, "a share is not from 0 to 1")
    return Typical((*bins.categories, common), spread)


def _read_absence(held: Mapping[str, Any], bins: Bins, column: ColumnType) -> Absence:
    absence = Absence(**held)
    check(type(absence.informative) is bool, "informative is neither true nor false")
    check(bins.n_bins or not absence.informative, "gaps of a feature without bins")
    check(absence.feature == column.name, "gaps of another feature")
    check(type(absence.reason) is str, "a reason is no text")
    check_number(absence.missing, _MOST_SAMPLES)
    check(absence.p_value is None or type(absence.p_value) is float, "a p-value")
    return absence


def _read_rows(
    state: State, n_bins: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    dtype: Any = np.dtype(code_dtype(n_bins))
    rows, counts = state.array("rows", dtype, ndim=2), state.array("counts", np.int64)
    check(rows.shape == (len(counts), len(n_bins)) and len(rows), "rows and counts")
    check(counts.min() > 0, "a count is not positive")
    check(sum(counts.tolist()) < _MOST_SAMPLES, "too many rows")
    known = np.iinfo(dtype).max - 1  # unknown or missing, from here on
    for j, size in enumerate(n_bins.tolist()):
        codes = rows[:, j]
        check(((codes < size) | (codes >= known)).all(), f"codes of feature {j}")
    return rows, counts
