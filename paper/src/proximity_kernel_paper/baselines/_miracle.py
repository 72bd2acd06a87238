"""MIRACLE: each column predicted from the others by nets that form a causal graph.

Every column, and the indicator of every incomplete column, has a small net on the
other columns. How strongly column k enters net i is a weighted graph A, and a penalty
pulls it towards one without cycles. The table starts with means in its gaps; after
each epoch the gaps take the mean of the latest predictions, and training goes on with
those. A third term asks that the mean predicted for a column be the one that its
observed cells have when weighted by the inverse of how likely they are observed.

T. Kyono, Y. Zhang, A. Bellot, M. van der Schaar: MIRACLE: Causally-Aware Imputation
via Learning Missing Data Mechanisms, NeurIPS 2021.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, elu

from ._training import FAR, DeepImputer, Floats, Scaling, descend, draw_batches

_START = 0.01  # deviation of the first input weights: a graph near the empty one
_SMALLEST_P = 0.05  # an observed cell weighs at most 20
_BLOCK_ROWS = 2**13  # predicted at once
_ROUNDS = 3  # of `window` predictions each, in filling rows


class Miracle(DeepImputer):
    """Missing data imputation regularised by a causal graph.

    The table is standardised inside. Any row, seen in `fit` or new, is filled like
    the table in training: start from the means, then 3 times `window` rounds in which
    the gaps become the mean of the last `window` predictions.

    Two things are not as in the paper. The net of a column's indicator does not see
    that column, which would tell a filled cell by its lying exactly where it is
    predicted. And the probability p of being observed, by which the moment term
    weighs cells, is taken as given (no gradient goes through it) and is at least
    0.05, lest the indicators bend to fit the means or a few cells outweigh the rest.

    Parameters
    ----------
    epochs, batch_size, learning_rate, random_state, verbose
        As of `DeepImputer`.
    hidden : int
        Width of the input layers and of the hidden layer that the nets share.
    window : int
        Predictions that are averaged in a gap.
    lasso : float
        Weight of the group lasso: the sum of A per net.
    dag : float
        Weight of h + h * h / 2 with h = tr exp(A * A) - d, which is 0 without cycles.
    moment : float
        Weight of the squared differences between predicted and observed means.
    """

    def __init__(
        self,
        epochs: int = 300,
        batch_size: int = 64,
        hidden: int = 32,
        window: int = 10,
        lasso: float = 0.1,
        dag: float = 1.0,
        moment: float = 1.0,
        learning_rate: float = 1e-3,
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(epochs, batch_size, learning_rate, random_state, verbose)
        self.hidden = hidden
        self.window = window
        self.lasso = lasso
        self.dag = dag
        self.moment = moment

    def _train(self, values: Floats, generator: torch.Generator) -> None:
        self._scaling = Scaling.to_unit_variance(values)
        cells = self._scaling.apply(values)
        observed = cells.isfinite()
        incomplete = (~observed).any(0).nonzero().flatten()
        d = values.shape[1]
        self._nets = _Nets.start(d, incomplete, self.hidden, generator)
        optimizer = torch.optim.Adam(self._nets.parameters(), lr=self.learning_rate)
        filled = cells.nan_to_num()  # the mean of a standardised column is 0
        latest: deque[Tensor] = deque(maxlen=self.window)
        for epoch in range(1, self.epochs + 1):
            for rows in draw_batches(len(cells), self.batch_size, generator):
                loss = self._loss(filled[rows], observed[rows])
                descend(optimizer, loss)
            with torch.no_grad():
                filled = self._refill(cells, filled, latest)
            self._report(epoch, loss.item())

    def _loss(self, filled: Tensor, observed: Tensor) -> Tensor:
        """Compute what a step lowers, from filled rows and the mask of their cells."""
        columns, indicators = self._nets.predict(filled)
        counts = observed.sum(0).clamp(1)
        errors = (observed * (columns - filled).square()).sum(0) / counts
        loss = errors.mean() + self.lasso * self._nets.lasso()
        if self.dag:  # else the trace may grow beyond all numbers
            h = self._nets.cycles()
            loss = loss + self.dag * (h + h.square() / 2)
        seen = observed[:, self._nets.incomplete]
        if seen.shape[1]:
            loss = loss + binary_cross_entropy_with_logits(indicators, seen.float())
        # The weights are taken as given, lest the indicators bend to fit the means.
        weights = observed.float()
        p = indicators.detach().sigmoid().clamp(_SMALLEST_P)
        weights[:, self._nets.incomplete] /= p
        means = (weights * filled).sum(0) / weights.sum(0).clamp(1)
        # Of a column with nothing observed in the batch no mean is known.
        apart = observed.any(0) * (means - columns.mean(0)).square()
        return loss + self.moment * apart.mean()

    def _refill(self, cells: Tensor, filled: Tensor, latest: deque[Tensor]) -> Tensor:
        """Add one prediction to the latest, and put their mean in the gaps."""
        blocks = torch.split(filled, _BLOCK_ROWS)
        columns = torch.cat([self._nets.predict(rows)[0] for rows in blocks])
        latest.append(columns.clamp(-FAR, FAR))
        return torch.where(cells.isnan(), torch.stack([*latest]).mean(0), cells)

    def _predict(self, values: Floats) -> Floats:
        cells = self._scaling.apply(values)
        filled = cells.nan_to_num()
        latest: deque[Tensor] = deque(maxlen=self.window)
        for _ in range(_ROUNDS * self.window):
            filled = self._refill(cells, filled, latest)
        return self._scaling.undo(filled)


@dataclass
class _Nets:
    """One net per output, all run at once: d columns, then the indicators."""

    incomplete: Tensor  # the columns that have an indicator
    allowed: Tensor  # (outputs, d, 1), 0 where a net must not see a column
    inputs: Tensor  # (outputs, d, hidden)
    input_bias: Tensor  # (outputs, hidden)
    shared: Tensor  # (hidden, hidden)
    shared_bias: Tensor  # (hidden,)
    outputs: Tensor  # (outputs, hidden)
    output_bias: Tensor  # (outputs,)

    @classmethod
    def start(
        cls, d: int, incomplete: Tensor, hidden: int, generator: torch.Generator
    ) -> _Nets:
        """Draw the first weights."""
        # No net sees its own column; neither does its indicator, which would tell a
        # filled cell by its lying exactly where it is predicted.
        own = torch.cat([torch.arange(d), incomplete])
        allowed = 1 - torch.eye(d)[own].unsqueeze(-1)
        n_outputs = len(own)

        def draw(*shape: int, deviation: float) -> Tensor:
            weights = deviation * torch.randn(shape, generator=generator)
            return weights.requires_grad_()

        return cls(
            incomplete,
            allowed,
            draw(n_outputs, d, hidden, deviation=_START),
            torch.zeros(n_outputs, hidden, requires_grad=True),
            draw(hidden, hidden, deviation=hidden**-0.5),
            torch.zeros(hidden, requires_grad=True),
            draw(n_outputs, hidden, deviation=hidden**-0.5),
            torch.zeros(n_outputs, requires_grad=True),
        )

    def parameters(self) -> list[Tensor]:
        """List what is trained."""
        weights = [self.inputs, self.shared, self.outputs]
        return [*weights, self.input_bias, self.shared_bias, self.output_bias]

    def predict(self, filled: Tensor) -> tuple[Tensor, Tensor]:
        """Every column from the others, and the logits of being observed."""
        inputs = self.inputs * self.allowed
        first = elu(torch.einsum("nk,ikh->nih", filled, inputs) + self.input_bias)
        second = elu(first @ self.shared + self.shared_bias)
        out = torch.einsum("nih,ih->ni", second, self.outputs) + self.output_bias
        d = filled.shape[1]
        return out[:, :d], out[:, d:]

    def lasso(self) -> Tensor:
        """Sum A over the inputs of a net, in the mean over nets."""
        graph: Tensor = torch.linalg.vector_norm(self.inputs * self.allowed, dim=-1)
        return graph.sum(1).mean()

    def cycles(self) -> Tensor:
        """Compute tr exp(A * A) - d, which is 0 without cycles.

        No net takes an indicator as its input, so no cycle leads through one, and the
        columns alone give the same number.
        """
        d = self.inputs.shape[1]
        squares = (self.inputs[:d] * self.allowed[:d]).square().sum(-1)
        walks: Tensor = torch.linalg.matrix_exp(squares)
        return walks.trace() - d
