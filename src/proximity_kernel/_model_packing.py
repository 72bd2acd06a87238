"""Convert a fitted model to plain arrays and JSON, and back with checks.

The compiled loops do not check their arguments: a code past its bins would make them
read outside their arrays. A file can contain anything, so everything that is read from
a file is checked to be what a fit can produce, before it reaches a loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._bins import MOST_LEAVES, SCORES, Bins, CategoricalBins, NumericBins, Typical
from ._cascade import Cascade, build_cascade
from ._coded import code_dtype, count_bins
from ._missingness import MissingCells
from ._model import Model
from ._pairwise import (
    MOST_CODES,
    MOST_WEIGHT,
    SMOOTHINGS,
    PairCounts,
    Pairwise,
    lay_out_evidence,
    restore_pairwise,
)
from ._saving import State, check, check_number, decode, encode, is_finite
from ._shared.options import MAX_BINS
from ._table.columns import FORMS, ColumnType

_MOST_SAMPLES = 1 << 50
_TYPE = ("name", "kind", "family", "place", "form", "order")  # attributes of ColumnType


def pack_model(model: Model) -> State:
    """Split a model into JSON values and arrays."""
    features = zip(model.types, model.bins, model.typical, strict=True)
    rule, arrays = _pack_matcher(model)
    matcher = model.matcher
    needs = matcher.bitmaps.words.nbytes if isinstance(matcher, Cascade) else 0
    if model.feature_weights is not None:
        arrays = {**arrays, "feature_weights": model.feature_weights}
    if any(map(_is_fine, model.bins)):
        arrays = {**arrays, "leaf_counts": model.leaf_counts}
    values = {
        "features": [_pack_feature(*feature) for feature in features],
        "missingness": [vars(cells) for cells in model.missingness],
        "categorical_features": encode(
            model.categorical_features, "categorical_features"
        ),
        "rarity": model.rarity,
        **rule,
    }
    return State(values, arrays, needs=needs)


def unpack_model(state: State) -> Model:
    """Rebuild a model; raise ValueError if no fit can produce it."""
    check(state.values["features"], "no features")
    features = map(_unpack_feature, state.values["features"])
    types, bins, typical = zip(*features, strict=True)
    held = zip(state.values["missingness"], bins, types, strict=True)
    missingness = tuple(_read_missing_cells(*feature) for feature in held)
    informative = np.array([cells.informative for cells in missingness])
    n_bins = np.array([own.n_bins for own in bins], np.int64) + informative
    matcher, totals, n_samples = _unpack_matcher(state, n_bins, informative)
    chosen = decode(state.values["categorical_features"])
    leaf_counts = _read_leaf_counts(state, bins, n_bins, totals)
    feature_weights = _read_feature_weights(state, n_bins)
    rarity = state.values["rarity"]
    check(type(rarity) is float and 0 <= rarity <= 1, "rarity is not from 0 to 1")
    return Model(
        types, chosen, bins, missingness, matcher, typical, totals, n_samples,
        leaf_counts, feature_weights, rarity,
    )  # fmt: skip


def _is_fine(bins: Bins) -> bool:
    """Return whether a feature is "fine": only these have leaves within bins."""
    return getattr(bins, "cuts", None) is not None


def _read_leaf_counts(
    state: State, bins: tuple[Bins, ...], n_bins: NDArray[np.int64], totals: Any
) -> NDArray[np.int64]:
    """Read how often each leaf was observed; counts must add up to those of bins."""
    if not any(map(_is_fine, bins)):
        return np.zeros((len(bins), MOST_LEAVES), totals.dtype)
    counts = _check_counts(state.arrays["leaf_counts"], "leaf_counts", 2)
    good = counts.shape == (len(bins), MOST_LEAVES) and counts.dtype == totals.dtype
    check(good and (counts < _MOST_SAMPLES).all(), "invalid counts of leaves")
    by_feature = np.split(totals, np.cumsum(n_bins)[:-1])
    for own, leaves, of_bins in zip(bins, counts, by_feature, strict=True):
        if _is_fine(own):
            added = np.zeros(own.n_bins, counts.dtype)
            np.add.at(added, own.parents, leaves[: len(own.parents)])
            check((added == of_bins[: own.n_bins]).all(), "invalid counts of leaves")
    return counts


def _read_feature_weights(
    state: State, n_bins: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Read the weights of the features; None if all are equal."""
    if "feature_weights" not in state.arrays:
        return None
    weights = state.array("feature_weights", np.float64)
    check(len(weights) == len(n_bins) and is_finite(weights), "invalid feature weights")
    some = weights[n_bins > 0] if n_bins.any() else weights
    check((weights >= 0).all() and some.any(), "invalid feature weights")
    return weights


def _pack_feature(column: ColumnType, bins: Bins, typical: Typical) -> dict[str, Any]:
    """Convert the type, the bins and the typical values of a feature to JSON."""
    values: dict[str, Any] = {name: getattr(column, name) for name in _TYPE}
    if isinstance(bins, CategoricalBins):
        rare = sorted(bins.infrequent)  # type: ignore[type-var]  # as at fit
        values |= {"categories": list(bins.categories), "infrequent": rare}
        values |= {"common": list(typical.values[-1:])}
    else:
        values["centers"] = bins.centers.tolist()
        for name in ("groups", "cuts", "levels"):
            array = getattr(bins, name)
            values[name] = None if array is None else array.tolist()
        values |= {"typical": np.asarray(typical.values).tolist()}
    values["spread"] = typical.spread.tolist()
    return {key: encode(value, column.place) for key, value in values.items()}


def _unpack_feature(packed: Mapping[str, Any]) -> tuple[ColumnType, Bins, Typical]:
    """Rebuild the type, the bins and the typical values of a feature."""
    held = {key: decode(packed[key]) for key in packed}
    *texts, order = (held[key] for key in _TYPE)
    check(all(type(text) is str for text in texts), "a column type is no text")
    check(held["kind"] in ("numeric", "categorical"), "the kind of a column is unknown")
    check(held["form"] in FORMS, "the form of numbers is unknown")
    check(order is None or type(order) is tuple, "an order is no tuple")
    check(order is None or held["kind"] == "numeric", "labels have an order")
    column = ColumnType(**{key: held[key] for key in _TYPE})
    spread = _read_floats(held["spread"])
    check((spread >= 0).all(), "a spread is negative")
    read = _read_numbers if column.kind == "numeric" else _read_labels
    bins, typical = read(held, order, spread)
    check(bins.n_bins == len(spread) <= MAX_BINS, "bins and spreads do not match")
    return column, bins, typical


def _read_floats(items: Any) -> NDArray[np.float64]:
    """Read a list of finite floats."""
    check(type(items) is list and all(type(n) is float for n in items), "no numbers")
    numbers = np.array(items, np.float64)
    check(is_finite(numbers), "a number is not finite")
    return numbers


def _read_numbers(
    held: Mapping[str, Any], order: Any, spread: NDArray[np.float64]
) -> tuple[NumericBins, Typical]:
    """Rebuild the bins of a numeric feature, and their typical values."""
    centers, values = _read_floats(held["centers"]), _read_floats(held["typical"])
    check((np.diff(centers) > 0).all(), "centers do not rise")
    check(len(values) == len(centers), "bins without typical values")
    if order is not None and len(values):
        good = values.min() >= 0 and values.max() < len(order)
        check(good, "a rank is out of range")
    groups = held["groups"]
    if groups is not None:
        whole = all(type(group) is int for group in groups)
        rising = whole and groups == sorted(groups) and set(groups) == {0, 1}
        check(rising and len(groups) == len(centers), "invalid coarse bins")
        groups = np.array(groups, np.int64)
    bins = NumericBins(centers, groups, *_read_cuts(held, centers))
    return bins, Typical(values, spread)


def _read_cuts(
    held: Mapping[str, Any], centers: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.int64] | None]:
    """Rebuild the cuts and levels of a "fine" feature; None for other features."""
    if held["cuts"] is None:
        return None, None
    cuts, levels = _read_floats(held["cuts"]), held["levels"]
    check((np.diff(cuts) > 0).all(), "cuts do not rise")
    known = range(1, len(SCORES))
    check(all(type(one) is int and one in known for one in levels), "invalid levels")
    check(len(levels) == len(cuts) < MOST_LEAVES, "cuts and levels do not match")
    bins = NumericBins(centers, None, cuts, np.array(levels, np.int64))
    size = len(centers)
    check(len(bins.midpoints) == size - 1, "cuts do not match the bins")
    good = (np.searchsorted(bins.midpoints, centers) == range(size)).all()
    check(good, "centers do not match the cuts")
    return bins.cuts, bins.levels


def _read_labels(
    held: Mapping[str, Any], _: Any, spread: NDArray[np.float64]
) -> tuple[CategoricalBins, Typical]:
    """Rebuild the bins of a categorical feature, and their typical labels."""
    categories, rare = held["categories"], held["infrequent"]
    check(type(categories) is list and type(rare) is list, "categories are no list")
    distinct = len({*categories, *rare})
    check(distinct == len(categories) + len(rare), "a category occurs twice")
    check((spread <= 1).all(), "a share is not from 0 to 1")
    bins = CategoricalBins(tuple(categories), frozenset(rare))
    if not rare:
        return bins, Typical(bins.categories, spread)
    (common,) = held["common"]
    check(common in bins.infrequent, "the typical label of the infrequent bin")
    return bins, Typical((*categories, common), spread)


def _pack_matcher(model: Model) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Split the rule that estimates missing cells into JSON values and arrays."""
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
    small = pairs.dtype  # kept for fractions
    if small == np.int64:
        small = np.min_scalar_type(int(pairs.max(initial=0)))
    values = {
        "matching": "pairwise",
        "n_samples": model.n_samples,
        "smoothing": matcher.smoothing,
    }
    return values, {**arrays, "pairs": pairs.astype(small)}


def _unpack_matcher(
    state: State, n_bins: NDArray[np.int64], informative: NDArray[np.bool_]
) -> tuple[Pairwise | Cascade, NDArray[np.int64], int]:
    """Rebuild the rule that estimates missing cells.

    Also returns how often each bin was observed, of shape (total bins,), and the number
    of fitted rows.
    """
    if state.values["matching"] == "cascade":
        rows, counts = _read_rows(state, n_bins)
        width = int(n_bins.sum()) + len(n_bins)
        state.check_growth(len(rows) * width // 8, "the bitmaps of the cascade")
        totals = count_bins(rows, counts, n_bins)
        n_samples = int(np.ceil(counts.sum()))
        return build_cascade(rows, counts, n_bins), totals, n_samples
    check(state.values["matching"] == "pairwise", "an unknown matching")
    n_samples = check_number(state.values["n_samples"], _MOST_SAMPLES)
    smoothing = state.values["smoothing"]
    check(type(smoothing) is int and smoothing in SMOOTHINGS, "invalid smoothing")
    pairs = _read_pairs(state, n_bins, n_samples)
    pairs = replace(pairs, informative=informative)
    weights = state.array("weights", np.float64)
    inside = (weights >= 0) & (weights <= MOST_WEIGHT)  # not NaN
    check(len(weights) == pairs.n_entries and inside.all(), "invalid weights")
    return restore_pairwise(pairs, smoothing, weights), pairs.totals, n_samples


def _read_pairs(state: State, n_bins: NDArray[np.int64], n_samples: int) -> PairCounts:
    """Rebuild the counts of pairs of codes."""
    totals = _read_totals(state, "totals", n_bins, n_samples)
    counted = (totals[0] > 0).tolist() == (n_bins > 0).tolist()
    check(counted, "totals do not match the bins")
    marginals = _read_totals(state, "marginals", n_bins, n_samples)
    pairs = state.arrays["pairs"]
    check(pairs.dtype.kind in "uf", "invalid counts of pairs")
    if pairs.dtype.kind == "u":  # numbers too large become negative
        pairs = pairs.astype(np.int64)
    pairs = _check_counts(pairs, "counts of pairs", pairs.ndim)
    check(pairs.max(initial=0) <= n_samples, "invalid counts of pairs")
    check(pairs.dtype == totals[1].dtype == marginals[1].dtype, "invalid counts")
    n_features, n_codes = len(n_bins), len(totals[1])
    if "sources" not in state.arrays:
        check(n_codes <= MOST_CODES, "too many pairs")
        state.check_growth(n_features**2, "the pairs of features")
        check(pairs.shape == (n_codes * (n_codes + 1) // 2,), "invalid counts of pairs")
        whole = np.zeros((n_codes, n_codes), pairs.dtype)
        whole[np.triu_indices(n_codes)] = pairs
        whole += np.triu(whole, 1).T
        return PairCounts(n_bins, totals[1], marginals[1], whole)
    sources = state.array("sources", np.int64, ndim=2)
    kept = state.array("kept", np.int64, ndim=2)
    check(len(sources) == len(kept) == n_features, "invalid sources")
    n_kept = kept.shape[1]
    check(pairs.shape == (*sources.shape, n_kept + 1, n_kept), "invalid shape of pairs")
    check(((sources >= 0) & (sources < n_features)).all(), "invalid sources")
    check(((kept >= -1) & (kept < n_bins[:, None])).all(), "invalid kept codes")
    last = kept[:, 1:] == -1  # padding, which must come last
    rising = last | ((kept[:, :-1] >= 0) & (np.diff(kept, axis=1) > 0))
    check(rising.all(), "invalid kept codes")
    return PairCounts(n_bins, totals[1], marginals[1], pairs, sources, kept)


def _check_counts(counts: NDArray[Any], name: str, ndim: int) -> NDArray[Any]:
    """Return counts of rows: int64 or, of fractions, float64; finite and at least 0."""
    check(counts.ndim == ndim, f"{name} have {counts.ndim} dimensions")
    check(counts.dtype in (np.int64, np.float64), f"{name} are {counts.dtype}")
    good = is_finite(counts) and (counts >= 0).all()
    check(good, f"{name} are negative or not finite")
    return counts


def _read_totals(
    state: State, name: str, n_bins: NDArray[np.int64], n_samples: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read how often each bin was observed, and the sum over each feature's bins."""
    totals = _check_counts(state.arrays[name], name, 1)
    check(len(totals) == n_bins.sum(), f"{name} do not match the bins")
    # Sum as floats, because sums of crafted integers could overflow.
    parts = np.split(totals, np.cumsum(n_bins)[:-1])
    observed = np.array([part.sum(dtype=np.float64) for part in parts])
    check(observed.max() <= n_samples, f"{name} exceed the number of rows")
    return observed, totals


def _read_missing_cells(
    held: Mapping[str, Any], bins: Bins, column: ColumnType
) -> MissingCells:
    """Rebuild the `MissingCells` of a feature."""
    cells = MissingCells(**held)
    check(type(cells.informative) is bool, "informative is neither true nor false")
    check(bins.n_bins or not cells.informative, "the only bin is for missing cells")
    check(cells.feature == column.name, "missing cells of another feature")
    check(type(cells.reason) is str, "a reason is no text")
    check_number(cells.missing, _MOST_SAMPLES)
    check(cells.overlap is None or type(cells.overlap) is float, "invalid overlap")
    return cells


def _read_rows(
    state: State, n_bins: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Read the distinct rows of the cascade, and their counts."""
    dtype: Any = np.dtype(code_dtype(n_bins))
    rows = state.array("rows", dtype, ndim=2)
    counts = _check_counts(state.arrays["counts"], "counts", 1)
    check(rows.shape == (len(counts), len(n_bins)) and len(rows), "invalid rows")
    check(counts.min() > 0, "a count is not positive")
    check(sum(counts.tolist()) < _MOST_SAMPLES, "too many rows")
    known = np.iinfo(dtype).max - 1  # from here on, codes are unknown or missing
    for j, size in enumerate(n_bins.tolist()):
        codes = rows[:, j]
        check(((codes < size) | (codes >= known)).all(), f"codes of feature {j}")
    return rows, counts


# ----------------------------------------------------------------- rare values


def drop_rare(model: Model, min_count: int) -> Model:
    """Remove labels with fewer rows than `min_count` from a model, and rare pairs.

    Counts of pairs below `min_count` are set to 0. A removed label is unknown to the
    new model, like a label that was never seen. Raises ValueError if a bin of numbers
    has fewer rows, and for a model that contains fitted rows.
    """
    matcher = model.matcher
    if isinstance(matcher, Cascade):
        raise ValueError(
            f"min_count={min_count}: a model with matching='cascade' holds the fitted "
            "rows; use matching='pairwise'."
        )
    marks = [_mark_frequent(model, j, min_count) for j in range(len(model.bins))]
    # The bin of informative missing cells is kept if any other bin is kept.
    by_feature = [
        np.append(own, [own.any()] * int(n))
        for own, n in zip(marks, model.informative, strict=True)
    ]
    wanted = np.concatenate(by_feature).astype(bool)
    n_bins = np.array([own.sum() for own in by_feature], np.int64)
    counts = _keep_codes(matcher.counts, wanted, n_bins, min_count)
    all_bins, all_typical = list(model.bins), list(model.typical)
    for j, bins in enumerate(model.bins):
        if isinstance(bins, CategoricalBins):
            labels = tuple(bins.categories[k] for k in np.flatnonzero(marks[j]))
            all_bins[j] = CategoricalBins(labels)
            all_typical[j] = Typical(labels, model.typical[j].spread[marks[j]])
    missingness = [
        cells if own.any() else replace(cells, informative=False)
        for cells, own in zip(model.missingness, marks, strict=True)
    ]
    informative = np.array([cells.informative for cells in missingness])
    counts = replace(counts, informative=informative)
    layout = lay_out_evidence(counts)
    target = np.repeat(np.arange(len(marks)), np.diff(layout.source_start))
    weights = np.asarray(matcher.weight_table.todense())[target, layout.source]
    return replace(
        model,
        bins=tuple(all_bins),
        typical=tuple(all_typical),
        missingness=tuple(missingness),
        matcher=restore_pairwise(counts, matcher.smoothing, weights),
        totals=model.totals[wanted],
    )


def _mark_frequent(model: Model, j: int, min_count: int) -> NDArray[np.bool_]:
    """Mark the bins of a feature to keep; raise ValueError if a numeric bin is rare."""
    bins = model.bins[j]
    frequent = model.totals_by_feature[j][: bins.n_bins] >= min_count
    if isinstance(bins, CategoricalBins):
        return frequent & (np.arange(bins.n_bins) < len(bins.categories))
    leaves = model.leaf_counts[j]
    if not frequent.all() or ((leaves > 0) & (leaves < min_count)).any():
        raise ValueError(
            f"min_count={min_count}: {model.types[j].place} has a bin of numbers with "
            "fewer rows; fit with fewer bins (n_bins), or drop the column."
        )
    return frequent


def _keep_codes(
    counts: PairCounts,
    wanted: NDArray[np.bool_],
    n_bins: NDArray[np.int64],
    min_count: int,
) -> PairCounts:
    """Select the wanted codes; set counts of pairs below `min_count` to 0."""
    pairs = np.where(counts.pairs < min_count, 0, counts.pairs)
    totals, marginals = counts.totals[wanted], counts.marginals[wanted]
    marginals = np.where(marginals < min_count, 0, marginals)
    if counts.sources is None or counts.kept is None:
        return PairCounts(n_bins, totals, marginals, pairs[wanted][:, wanted])
    starts = np.cumsum(counts.n_bins) - counts.n_bins
    # The new number of each code, among all features.
    before: NDArray[np.int64] = np.cumsum(wanted) - wanted
    new_starts = np.cumsum(n_bins) - n_bins
    kept = np.full_like(counts.kept, -1)
    order = np.full_like(counts.kept, -1)  # the place of each kept code, then -1
    for j, codes in enumerate(counts.kept):
        places = np.flatnonzero((codes >= 0) & wanted[np.maximum(starts[j] + codes, 0)])
        order[j, : len(places)] = places
        new = before[starts[j] + codes[places]]
        kept[j, : len(places)] = new - new_starts[j]
    last = np.full((len(order), 1), pairs.shape[2] - 1)
    rows = np.hstack([order, last])[counts.sources][..., None]
    target, source = np.ogrid[: rows.shape[0], : rows.shape[1]]
    pairs = np.pad(pairs, [(0, 0), (0, 0), (0, 1), (0, 1)])  # zeros at the place -1
    place = target[..., None, None], source[..., None, None], rows
    pairs = pairs[(*place, order[:, None, None])]
    return PairCounts(n_bins, totals, marginals, pairs, counts.sources, kept)
