"""GAIN: a generator fills the holes, a discriminator guesses which were filled.

The generator G sees a row with noise in its gaps, and the mask M of what is observed.
The discriminator D sees the filled row and a hint, part of the mask, and says for each
cell how likely it is an observed one. G learns to deceive D in the gaps and to
reproduce what is observed; the second, weighted by `alpha`, does most of the work.

J. Yoon, J. Jordon, M. van der Schaar: GAIN: Missing Data Imputation using Generative
Adversarial Nets, ICML 2018.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from ._training import (
    DeepImputer,
    Floats,
    Scaling,
    build_network,
    descend,
    draw_batches,
)

_NOISE = 0.01  # in the gaps, uniform from 0 to this


class Gain(DeepImputer):
    """Generative adversarial imputation.

    Generator and discriminator have two hidden layers as wide as the table. The table
    is scaled to the range 0 to 1 inside. No loss looks at a gap's own value, so what is
    put there settles late: by 500 epochs on some hundred rows, often not by 100.

    Parameters
    ----------
    epochs, batch_size, learning_rate, random_state, verbose
        As of `DeepImputer`.
    alpha : float
        Weight of the squared error on observed cells in the generator's loss.
    hint_rate : float
        Probability that the hint tells of an observed cell that it is one.
    """

    def __init__(
        self,
        epochs: int = 500,
        batch_size: int = 128,
        alpha: float = 100.0,
        hint_rate: float = 0.9,
        learning_rate: float = 1e-3,
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(epochs, batch_size, learning_rate, random_state, verbose)
        self.alpha = alpha
        self.hint_rate = hint_rate

    def _train(self, values: Floats, generator: torch.Generator) -> None:
        self._scaling = Scaling.to_unit_range(values)
        cells = self._scaling.apply(values)
        d = values.shape[1]
        self._generator = build_network([2 * d, d, d, d], generator)
        judge = build_network([2 * d, d, d, d], generator)
        judging = torch.optim.Adam(judge.parameters(), lr=self.learning_rate)
        filling = torch.optim.Adam(self._generator.parameters(), lr=self.learning_rate)
        for epoch in range(1, self.epochs + 1):
            for rows in draw_batches(len(cells), self.batch_size, generator):
                mask, observed, guess = self._fill(cells[rows], generator)
                filled = mask * observed + (1 - mask) * guess
                told = torch.rand(mask.shape, generator=generator) < self.hint_rate
                hint = mask * told
                judged = judge(torch.cat([filled.detach(), hint], 1))
                descend(judging, binary_cross_entropy_with_logits(judged, mask))
                deceit = -(1 - mask) * logsigmoid(judge(torch.cat([filled, hint], 1)))
                errors = (mask * (observed - guess)).square()
                error = errors.sum() / mask.sum().clamp(1)
                loss = deceit.mean() + self.alpha * error
                descend(filling, loss)
            self._report(epoch, loss.item())

    def _fill(
        self, cells: Tensor, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Give the mask, the observed cells (0 in the gaps) and a guess at every cell.

        Without a generator the noise is at its mean: a row is filled alike in
        whatever company.
        """
        mask, observed = cells.isfinite().float(), cells.nan_to_num()
        noise = torch.full(mask.shape, 0.5)
        if generator is not None:
            noise = torch.rand(mask.shape, generator=generator)
        seen = torch.cat([observed + (1 - mask) * _NOISE * noise, mask], 1)
        return mask, observed, self._generator(seen).sigmoid()

    def _predict(self, values: Floats) -> Floats:
        return self._scaling.undo(self._fill(self._scaling.apply(values))[2])
