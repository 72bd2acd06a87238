"""MIWAE: a deep latent variable model fitted to the cells that are observed.

A row comes from z ~ N(0, I) by a decoder that gives a Student-t for each cell. An
encoder proposes z for a row with zeros in its gaps. Training raises the importance
weighted bound of the likelihood of the observed cells alone, so no gap is ever
guessed; afterwards the same weights average the decoder's mean in the gaps.

P.-A. Mattei, J. Frellsen: MIWAE: Deep Generative Modelling and Imputation of
Incomplete Data Sets, ICML 2019.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

from ._training import (
    DeepImputer,
    Floats,
    Scaling,
    build_network,
    descend,
    draw_batches,
)

_BLOCK_FLOATS = 2**22  # of one layer's output while imputing


class Miwae(DeepImputer):
    """Missing data importance-weighted autoencoder.

    Encoder and decoder have two hidden layers. The table is standardised inside.

    Parameters
    ----------
    epochs, batch_size, learning_rate, random_state, verbose
        As of `DeepImputer`.
    hidden : int
        Width of the hidden layers.
    latent : int or None
        Length of z; None is half the columns, at least 1 and at most 10.
    n_importance : int
        Draws of z per row in training.
    n_samples : int
        Draws of z per row in imputing.
    """

    def __init__(
        self,
        epochs: int = 100,
        batch_size: int = 64,
        hidden: int = 128,
        latent: int | None = None,
        n_importance: int = 20,
        n_samples: int = 200,
        learning_rate: float = 1e-3,
        random_state: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(epochs, batch_size, learning_rate, random_state, verbose)
        self.hidden = hidden
        self.latent = latent
        self.n_importance = n_importance
        self.n_samples = n_samples

    def _train(self, values: Floats, generator: torch.Generator) -> None:
        self._scaling = Scaling.to_unit_variance(values)
        cells = self._scaling.apply(values)
        p, h = values.shape[1], self.hidden
        q = self.latent or min(10, max(1, p // 2))
        self._encoder = build_network([p, h, h, 2 * q], generator)
        self._decoder = build_network([q, h, h, 3 * p], generator)
        # The same draws for every row: it is filled alike in whatever company.
        self._draws = torch.randn(self.n_samples, 1, q, generator=generator)
        optimizer = torch.optim.Adam(
            [*self._encoder.parameters(), *self._decoder.parameters()],
            lr=self.learning_rate,
        )
        for epoch in range(1, self.epochs + 1):
            for rows in draw_batches(len(cells), self.batch_size, generator):
                shape = (self.n_importance, len(rows), q)
                noise = torch.randn(shape, generator=generator)
                log_weights, _ = self._weigh(cells[rows], noise)
                loss = math.log(len(noise)) - log_weights.logsumexp(0).mean()
                descend(optimizer, loss)
            self._report(epoch, loss.item())

    def _weigh(self, cells: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Log p(x_obs|z) p(z)/q(z|x) and the mean of x given z, for each draw of z."""
        mask, observed = cells.isfinite(), cells.nan_to_num()
        center, spread = self._encoder(observed).chunk(2, -1)
        spread = softplus(spread) + 1e-6
        z = center + spread * noise
        # The constants of the two normal densities cancel.
        prior_to_proposal = (noise.square() - z.square()) / 2 + spread.log()
        loc, scale, df = self._decoder(z).chunk(3, -1)
        density = _log_student(observed, loc, softplus(scale) + 1e-3, softplus(df) + 3)
        return (density * mask).sum(-1) + prior_to_proposal.sum(-1), loc

    def _predict(self, values: Floats) -> Floats:
        width = max(self.hidden, 3 * values.shape[1])
        size = max(1, _BLOCK_FLOATS // (len(self._draws) * width))
        blocks = torch.split(self._scaling.apply(values), size)
        return self._scaling.undo(torch.cat([self._average(rows) for rows in blocks]))

    def _average(self, cells: Tensor) -> Tensor:
        """Average x given z, by self-normalised importance weights."""
        log_weights, loc = self._weigh(cells, self._draws)
        return torch.einsum("sn,snp->np", log_weights.softmax(0), loc)


def _log_student(x: Tensor, loc: Tensor, scale: Tensor, df: Tensor) -> Tensor:
    """Log density of Student's t."""
    half = (df + 1) / 2
    squared = ((x - loc) / scale).square()
    constant = torch.lgamma(half) - torch.lgamma(df / 2) - (df * math.pi).log() / 2
    return constant - scale.log() - half * torch.log1p(squared / df)
