"""The pairwise rule with loops: the truth for `matching="pairwise"`.

Written from its definition, and sharing nothing with the package. Sentences in
quotation marks are that definition. A code below 0 is a missing cell or an unknown
category.
"""

from collections import Counter
from functools import cache
from math import log

import numpy as np
from scipy.optimize import minimize

SMOOTHINGS = (1, 4, 16)
WEIGHTS = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1)
FLOOR, MOST, PULL, DECIDES = 0.05, 1.5, 10, 14


def find_frequencies(codes, n_bins):
    """How often each code of each feature occurs, among the rows that observe it."""
    out = []
    for j, size in enumerate(n_bins):
        counts = Counter(row[j] for row in codes if row[j] >= 0)
        total = max(counts.total(), 1)
        out.append(np.array([counts[k] / total for k in range(size)]))
    return out


class Pairwise:
    """Counts of codes and of pairs of codes, and how to weigh them.

    Parameters
    ----------
    codes : list of list of int
        The fitted rows.
    n_bins : list of int
        Codes of each feature.
    counted, scored : list of list of int, optional
        Rows whose pairs are counted, and of these the rows that the smoothing and the
        weights are chosen with; all, if they are not given.
    informative : list of int, optional
        Features whose last code stands for missing.
    """

    def __init__(self, codes, n_bins, counted=None, scored=None, informative=()):
        counted = codes if counted is None else counted
        self.n_bins, self.scored = n_bins, counted if scored is None else scored
        self.n_values = [n - (j in informative) for j, n in enumerate(n_bins)]
        self.prior = find_frequencies(codes, n_bins)
        self.usual = find_frequencies(counted, n_bins)
        self.both, self.seen = Counter(), Counter()
        for row in counted:
            known = [(i, a) for i, a in enumerate(row) if a >= 0]
            for i, a in known:
                for j, b in known:
                    if i != j:
                        self.both[i, a, j, b] += 1
                        self.seen[i, j, b] += 1
        self.evidence = cache(self._find_evidence)
        self.choose()

    def _find_evidence(self, i, a, j, smoothing, own):
        """What code a of feature i tells about each bin of j.

        "e_ij(a, b) = log [ (n_ij(a, b) + s q_i(a)) / ((N_ij(b) + s) q_i(a)) ]". With
        `own`, a bin of j, a row is taken out: "n_ij(c_i, c_j) and N_ij(c_j) one less".
        """
        usual = self.usual[i][a]
        if not usual:
            return np.zeros(self.n_bins[j])
        out = []
        for b in range(self.n_bins[j]):
            together, seen = self.both[i, a, j, b], self.seen[i, j, b]
            if b == own:
                together, seen = together - 1, seen - 1
            out.append(
                log((together + smoothing * usual) / ((seen + smoothing) * usual))
            )
        return np.array(out)

    def add_up(self, row, j, smoothing, own=None, weights=None):
        """Add up what the observed cells of a row tell about feature j."""
        total = np.zeros(self.n_bins[j])
        for i, a in enumerate(row):
            if i != j and a >= 0:
                weight = 1 if weights is None else weights[i]
                total = total + weight * self.evidence(i, a, j, smoothing, own)
        return total

    def share(self, total, j, weight):
        """Weigh the bins; with several weights, a row for each.

        "P_j(b) ~ q_j(b) exp( w_j sum ) over the bins with q_j(b) > 0, scaled to sum 1".
        """
        possible = self.prior[j] > 0
        apart = np.where(possible, total - total[possible].max(), 0)
        shares = self.prior[j] * np.exp(np.multiply.outer(weight, apart))
        return shares / shares.sum(axis=-1, keepdims=True)

    def score(self, smoothing):
        """Squared errors of leaving one row out, as {(weight, feature): sum}."""
        errors = np.zeros((len(WEIGHTS), len(self.n_bins)))
        for row in self.scored:
            for j, own in enumerate(row):
                if own >= 0:
                    total = self.add_up(row, j, smoothing, own)
                    shares = self.share(total, j, WEIGHTS)
                    shares[:, own] -= 1
                    errors[:, j] += (shares**2).sum(axis=1)
        return {
            (w, j): errors[at, j]
            for at, w in enumerate(WEIGHTS)
            for j in range(len(self.n_bins))
        }

    def choose(self):
        """Choose the smoothing and the common weights; "the smaller one in a tie".

        Then refine them.
        """
        features, best = range(len(self.n_bins)), None
        self.errors = {}
        for s in SMOOTHINGS:
            errors = self.errors[s] = self.score(s)
            least = [min(errors[w, j] for w in WEIGHTS) for j in features]
            if best is None or round(sum(least), 9) < best:
                best, self.smoothing = round(sum(least), 9), s
                self.common = [
                    min(WEIGHTS, key=lambda w, j=j: round(errors[w, j], 9))
                    for j in features
                ]
        self.weights = [self.refine(j, max(self.common[j], FLOOR)) for j in features]

    def refine(self, j, common):
        """Find "the w_ij that minimize": {source i: weight}.

        "the sum over the scored rows of -log P_j(own bin), own counts out, plus 10
        times the mean over i of ((w_ij - m) / m)^2, with 0 <= w_ij <= 1.5".
        """
        sources = [i for i, size in enumerate(self.n_bins) if i != j and size]
        rows = [row for row in self.scored if row[j] >= 0]
        if not sources or not rows:
            return dict.fromkeys(sources, common)
        told = np.zeros((len(rows), len(sources), self.n_bins[j]))
        own = np.array([row[j] for row in rows])
        for r, row in enumerate(rows):
            for s, i in enumerate(sources):
                if row[i] >= 0:
                    told[r, s] = self.evidence(i, row[i], j, self.smoothing, row[j])
        at = np.arange(len(rows)), own

        def lose(weights):
            shares = self.prior[j] * np.exp(np.einsum("rsb,s->rb", told, weights))
            shares /= shares.sum(axis=1, keepdims=True)
            apart = weights / common - 1
            loss = -np.log(shares[at]).sum() + PULL * np.mean(apart**2)
            shares[at] -= 1
            slope = np.einsum("rb,rsb->s", shares, told)
            return loss, slope + 2 * PULL * apart / common / len(sources)

        found = minimize(
            lose,
            np.full(len(sources), float(common)),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, MOST)] * len(sources),
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 3000, "maxfun": 9000},
        )
        return dict(zip(sources, found.x.tolist(), strict=True))

    def decide(self, row, j):
        """Find what decides: (feature, rows, bin, exceptions), or None.

        "Where a code a of feature i has come with one bin b of j in all of N rows, and
        N log(1 / q_j(b)) > 14"; or "the fact that feature i is observed". "Of what
        decides, the smallest e does, and the first feature if there is a tie".
        """
        found = []
        for i, a in enumerate(row):
            if i == j or a < 0 or not self.n_bins[j]:
                continue
            together = [self.both[i, a, j, b] for b in range(self.n_bins[j])]
            n, b = max(together), int(np.argmax(together))
            if n and n == sum(together) and -n * log(self.prior[j][b]) > DECIDES:
                found.append((i, n, b, 0))
            if a < self.n_values[i]:
                found += self.decide_by_presence(i, j, together)
        # The first of the smallest.
        return min(found, key=lambda d: (d[3] + 1) / (d[1] + d[3] + 2), default=None)

    def decide_by_presence(self, i, j, together):
        """Find whether it decides that feature i is observed, as a list of one or none.

        `together` counts the bins beside the row's code. "Of its N + x rows x may then
        be exceptions, one in a hundred or a single one of 20; but a code of which most
        rows are exceptions does not decide".
        """
        seen = [
            sum(self.both[i, a, j, b] for a in range(self.n_values[i]))
            for b in range(self.n_bins[j])
        ]
        n, b = max(seen), int(np.argmax(seen))
        x, q = sum(seen) - n, self.prior[j][b]
        if not n or n < (0, 20)[x == 1] or (x > 1 and n < 100 * x):
            return []
        surely = -n * log(q) - (x * (1 + log((n + x) / x)) if x else 0)
        most = 2 * together[b] >= sum(together)
        return [(i, n, b, x)] if surely > DECIDES and most else []

    def estimate(self, row, j):
        """Estimate a missing cell: a share for each bin of feature j.

        "P_j = (1 - e) one-hot(b) + e P_j, e = (x + 1) / (N + x + 2)" if a cell decides.
        """
        if not self.n_bins[j]:
            return []
        total = self.add_up(row, j, self.smoothing, weights=self.weights[j])
        shares = self.share(total, j, 1)
        decided = self.decide(row, j)
        if decided is not None:
            _, n, b, x = decided
            rest = (x + 1) / (n + x + 2)
            shares = shares * rest
            shares[b] += 1 - rest
        return shares.tolist()

    def moves(self, row, j):
        """How far each observed cell moves the estimate of feature j.

        The share of the probability that lies elsewhere if that cell is missing, too.
        """
        with_it, found = self.estimate(row, j), {}
        for i, a in enumerate(row):
            if i != j and a >= 0:
                without = self.estimate([*row[:i], -1, *row[i + 1 :]], j)
                apart = sum(abs(x - y) for x, y in zip(with_it, without, strict=True))
                found[i] = apart / 2
        return found
