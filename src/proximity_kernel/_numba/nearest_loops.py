"""The compiled loops that look for the rows nearest to a row.

A tile holds some of the rows as columns, in whole levels rounded up: a byte for each
entry. Adding up the few columns that a row touches bounds its similarity with all rows
of the tile from above, a processor's vector at a time. Only where the bound beats what
is asked for is the similarity itself computed, always by the same sum in the same
order: the answer does not depend on tiles, threads or the machine.

Naked arrays in and out; everything is checked before it comes here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiling import compiled, inlined

WHOLE = 256  # the share of an entry that counts in full
_CHUNK = 64  # bounds that are looked at together


@compiled
def fill_tile(
    indptr: Any, indices: Any, levels: Any, first: int, last: int, tile: Any
) -> None:
    """Lay the sparse rows from `first` up to `last` out as columns of a dense tile."""
    tile[:] = 0
    for r in range(first, last):
        for p in range(indptr[r], indptr[r + 1]):
            tile[np.uint64(indices[p]), np.uint64(r - first)] = levels[p]


@inlined
def _add_bounds(
    indices: Any, shares: Any, first: int, last: int, tile: Any, n: int, whole: Any,
    bounds: Any,
) -> None:  # fmt: skip
    """Add up the columns of a tile that a row touches.

    The entries of the row are those from `first` up to `last`. The whole ones are
    added eight columns at a time, so that the sums are read an eighth as often.
    """
    for c in range(n):
        bounds[c] = 0
    n_whole = 0
    for p in range(first, last):
        share = shares[p]
        if share == WHOLE:
            whole[n_whole] = indices[p]
            n_whole += 1
        elif share > 0:
            t0 = tile[np.uint64(indices[p])]
            for c in range(n):
                # Cast in the middle: so the compiler sees that sixteen bits will do.
                bounds[c] += np.uint16(np.uint16(t0[c] * share + 255) >> 8)
    at = 0
    while at + 8 <= n_whole:
        t0, t1 = tile[whole[at]], tile[whole[at + 1]]
        t2, t3 = tile[whole[at + 2]], tile[whole[at + 3]]
        t4, t5 = tile[whole[at + 4]], tile[whole[at + 5]]
        t6, t7 = tile[whole[at + 6]], tile[whole[at + 7]]
        for c in range(n):
            bounds[c] = np.uint16(
                bounds[c] + t0[c] + t1[c] + t2[c] + t3[c]
                + t4[c] + t5[c] + t6[c] + t7[c]
            )  # fmt: skip
        at += 8
    while at + 4 <= n_whole:
        t0, t1 = tile[whole[at]], tile[whole[at + 1]]
        t2, t3 = tile[whole[at + 2]], tile[whole[at + 3]]
        for c in range(n):
            bounds[c] = np.uint16(bounds[c] + t0[c] + t1[c] + t2[c] + t3[c])
        at += 4
    while at < n_whole:
        t0 = tile[whole[at]]
        for c in range(n):
            bounds[c] = np.uint16(bounds[c] + t0[c])
        at += 1


@inlined
def _any_from(bounds: Any, first: int, least: Any) -> Any:
    """Whether a bound of the chunk at place `first` is at least `least`, perhaps.

    Always so for the last chunk if it is shorter: a loop of known length is fast.
    """
    chunk = bounds[first : first + _CHUNK]
    if chunk.shape[0] < _CHUNK:
        return True
    found = np.uint16(0)
    for c in range(_CHUNK):
        found |= np.uint16(chunk[c] >= least)
    return found > 0


@inlined
def _compare(
    indptr: Any, indices: Any, data: Any, r: int, row: Any, n_features: float, out: Any
) -> None:
    """Write the similarity of sparse row r and a dense row, in the dtype of `out`."""
    total = 0.0
    for p in range(indptr[r], indptr[r + 1]):
        total += np.float64(data[p]) * row[np.uint64(indices[p])]
    out[0] = min(total / n_features, 1.0)


@inlined
def _spread(
    indices: Any, data: Any, first: int, last: int, row: Any, clear: bool
) -> None:
    """Write a sparse row into a dense one, or zeros where it has entries."""
    for p in range(first, last):
        row[np.uint64(indices[p])] = 0.0 if clear else data[p]


@inlined
def _least_bound(similarity: Any, scale: float, slack: float) -> Any:
    """Find the lowest bound that a greater similarity can have."""
    if similarity < 0:  # as before anything is found
        return np.uint16(0)
    least = np.floor(similarity * scale * (1 - 1e-9) - slack) + 1
    return np.uint16(min(max(least, 0.0), 65535.0))


@compiled
def keep_nearest(
    indptr: Any, indices: Any, data: Any, shares: Any, scales: Any, slack: float,
    first_query: int, last_query: int, r_indptr: Any, r_indices: Any, r_data: Any,
    first: int, last: int, n_features: float, tile: Any, bounds: Any, whole: Any,
    row: Any, one: Any, values: Any, found: Any,
) -> None:  # fmt: skip
    """Merge the rows of a tile into the nearest of each query, nearest first.

    Rows come in rising order and only a greater similarity moves one down, so ties
    go to the lower number.
    """
    k, n = values.shape[1], last - first
    for q in range(first_query, last_query):
        worst = values[q, k - 1]
        if worst >= 1:
            continue
        start, stop = indptr[q], indptr[q + 1]
        _add_bounds(indices, shares, start, stop, tile, n, whole, bounds)
        _spread(indices, data, start, stop, row, False)
        least = _least_bound(worst, scales[q], slack * (stop - start))
        for chunk in range(0, n, _CHUNK):
            if not _any_from(bounds, chunk, least):
                continue
            for c in range(chunk, min(chunk + _CHUNK, n)):
                if bounds[c] < least:
                    continue
                _compare(r_indptr, r_indices, r_data, first + c, row, n_features, one)
                value = one[0]
                if value <= worst:
                    continue
                at = k - 1
                while at > 0 and values[q, at - 1] < value:
                    values[q, at] = values[q, at - 1]
                    found[q, at] = found[q, at - 1]
                    at -= 1
                values[q, at] = value
                found[q, at] = first + c
                worst = values[q, k - 1]
                least = _least_bound(worst, scales[q], slack * (stop - start))
        _spread(indices, data, start, stop, row, True)


@compiled
def list_near(
    indptr: Any, indices: Any, data: Any, shares: Any, scales: Any, slack: float,
    first_query: int, last_query: int, r_indptr: Any, r_indices: Any, r_data: Any,
    first: int, last: int, n_features: float, tile: Any, bounds: Any, whole: Any,
    row: Any, one: Any, similarity: float, queries: Any, found: Any, values: Any,
) -> int:  # fmt: skip
    """List the rows of a tile that reach a similarity with each query; count them."""
    n, count = last - first, 0
    for q in range(first_query, last_query):
        start, stop = indptr[q], indptr[q + 1]
        _add_bounds(indices, shares, start, stop, tile, n, whole, bounds)
        _spread(indices, data, start, stop, row, False)
        # One less than what a greater similarity needs: an equal one is enough.
        least = _least_bound(similarity, scales[q], slack * (stop - start) + 1)
        for chunk in range(0, n, _CHUNK):
            if not _any_from(bounds, chunk, least):
                continue
            for c in range(chunk, min(chunk + _CHUNK, n)):
                if bounds[c] < least:
                    continue
                _compare(r_indptr, r_indices, r_data, first + c, row, n_features, one)
                if one[0] >= similarity:
                    queries[count] = q
                    found[count] = first + c
                    values[count] = one[0]
                    count += 1
        _spread(indices, data, start, stop, row, True)
    return count


@compiled
def spread_groups(
    values: Any, groups: Any, starts: Any, members: Any, out_values: Any, out: Any
) -> None:
    """Replace the nearest groups of equal rows by the nearest rows.

    Group g holds the rows ``members[starts[g]:starts[g + 1]]``, rising. Rows of equal
    similarity are in rising order, whatever their groups.
    """
    k = out.shape[1]
    for q in range(values.shape[0]):
        n = 0
        for rank in range(values.shape[1]):
            g, value = groups[q, rank], values[q, rank]
            for m in range(starts[g], min(starts[g + 1], starts[g] + k)):
                member = members[m]
                if n == k and (out_values[q, k - 1] > value or out[q, k - 1] < member):
                    break
                at = min(n, k - 1)
                while at > 0 and out_values[q, at - 1] == value:
                    if out[q, at - 1] < member:
                        break
                    out[q, at] = out[q, at - 1]
                    out_values[q, at] = value
                    at -= 1
                out[q, at] = member
                out_values[q, at] = value
                n = min(n + 1, k)
