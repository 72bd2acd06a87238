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

import numpy as np
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

    def _weigh(
        self, cells: Tensor, noise: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Log p(x_obs|z) p(z)/q(z|x) and the law of x given z, for each draw of z."""
        mask, observed = cells.isfinite(), cells.nan_to_num()
        center, spread = self._encoder(observed).chunk(2, -1)
        spread = softplus(spread) + 1e-6
        z = center + spread * noise
        # The constants of the two normal densities cancel.
        prior_to_proposal = (noise.square() - z.square()) / 2 + spread.log()
        loc, scale, df = self._decoder(z).chunk(3, -1)
        law = (loc, softplus(scale) + 1e-3, softplus(df) + 3)
        density = _log_student(observed, *law)
        return (density * mask).sum(-1) + prior_to_proposal.sum(-1), law

    def draw(self, values: Floats, seed: int) -> Floats:
        """Fill the holes with draws from what the model takes for likely.

        Parameters
        ----------
        values : ndarray of shape (m, d)
            As of `impute`.
        seed : int
            Of the draws.

        Returns
        -------
        ndarray of shape (m, d)
        """
        drawn = np.zeros(values.shape)
        if self._used.any() and len(values):
            with torch.no_grad():
                drawn[:, self._used] = self._sample(values[:, self._used], seed)
        return np.where(np.isnan(values), drawn, values)

    def _sample(self, values: Floats, seed: int) -> Floats:
        """Draw z by its weight, and then every cell given z."""
        rng = np.random.default_rng(seed)
        found = []
        for cells in self._split(values):
            log_weights, law = self._weigh(cells, self._draws)
            below = log_weights.softmax(0).cumsum(0).numpy()
            chosen = (below < rng.random(len(cells))).sum(0).clip(max=len(below) - 1)
            loc, scale, df = (
                part.numpy()[chosen, np.arange(len(cells))] for part in law
            )
            found.append(torch.from_numpy(loc + scale * rng.standard_t(df)))
        return self._scaling.undo(torch.cat(found))

    def _predict(self, values: Floats) -> Floats:
        blocks = self._split(values)
        return self._scaling.undo(torch.cat([self._average(rows) for rows in blocks]))

    def _split(self, values: Floats) -> tuple[Tensor, ...]:
        """Scale, and split into blocks whose draws fit into memory."""
        width = max(self.hidden, 3 * values.shape[1])
        size = max(1, _BLOCK_FLOATS // (len(self._draws) * width))
        return torch.split(self._scaling.apply(values), size)

    def _average(self, cells: Tensor) -> Tensor:
        """Average x given z, by self-normalised importance weights."""
        log_weights, (loc, _, _) = self._weigh(cells, self._draws)
        return torch.einsum("sn,snp->np", log_weights.softmax(0), loc)


def _log_student(x: Tensor, loc: Tensor, scale: Tensor, df: Tensor) -> Tensor:
    """Log density of Student's t."""
    half = (df + 1) / 2
    squared = ((x - loc) / scale).square()
    constant = torch.lgamma(half) - torch.lgamma(df / 2) - (df * math.pi).log() / 2
    return constant - scale.log() - half * torch.log1p(squared / df)
