"""What the three deep imputers share: scaling, small networks, batches, progress.

They all see the table in the same way: columns with nothing observed are set aside,
the rest is scaled, and a network learns to fill the holes of the scaled table. What
is random is drawn from a generator of the imputer's own, so that training neither
reads nor moves the generators of torch and numpy that everybody shares.

The networks are a few layers on a table: they are trained on the CPU.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from torch import Tensor, nn

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

FAR = 1e3  # in scaled units: what lies further out counts as this far
_REPORTS = 10  # lines of progress in one training


@dataclass(frozen=True)
class Scaling:
    """A shift and a factor per column, learned from the cells observed."""

    shift: Floats
    factor: Floats

    @classmethod
    def to_unit_range(cls, values: Floats) -> Scaling:
        """Scale each column from 0 at its minimum to 1 at its maximum."""
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        return cls(low, _nonzero(high - low))

    @classmethod
    def to_unit_variance(cls, values: Floats) -> Scaling:
        """Scale each column to mean 0 and standard deviation 1."""
        return cls(np.nanmean(values, axis=0), _nonzero(np.nanstd(values, axis=0)))

    def apply(self, values: Floats) -> Tensor:
        """Scale, as a tensor; gaps stay NaN."""
        scaled = torch.from_numpy((values - self.shift) / self.factor)
        return scaled.clamp(-FAR, FAR).float()

    def undo(self, scaled: Tensor) -> Floats:
        """Return to the units of the table."""
        return scaled.double().numpy() * self.factor + self.shift


def _nonzero(spread: Floats) -> Floats:
    """Replace the spread of a constant column by 1."""
    return np.where(spread > 0, spread, 1.0)


class DeepImputer(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """Fills the holes of a numeric table with what a network predicts.

    Parameters
    ----------
    epochs : int
        Times that the training passes over the table.
    batch_size : int
        Rows per step, at most; a smaller table is one batch.
    learning_rate : float
        Of Adam.
    random_state : int or None
        Seed of all that is random; None takes a fresh one for every fit.
    verbose : bool
        Whether to report progress on stderr.
    """

    def __init__(
        self,
        epochs: int,
        batch_size: int,
        learning_rate: float,
        random_state: int | None,
        verbose: bool,
    ) -> None:
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        values: Floats,
        categorical: Mask,  # noqa: ARG002 (the contract's; codes are numbers here)
    ) -> Self:
        """Train on a table.

        Parameters
        ----------
        values : ndarray of shape (n, d)
            The table, with NaN in its holes.
        categorical : ndarray of bool, of shape (d,)
            The columns that hold codes. These methods take codes for numbers.

        Returns
        -------
        self
        """
        self._used = np.isfinite(values).any(axis=0)
        if self._used.any():
            generator = torch.Generator().manual_seed(_draw_seed(self.random_state))
            self._train(values[:, self._used], generator)
        return self

    def impute(self, values: Floats) -> Floats:
        """Fill the holes of a table, each row by itself.

        Parameters
        ----------
        values : ndarray of shape (m, d)
            Rows seen in `fit` or new ones, with NaN in their holes.

        Returns
        -------
        ndarray of shape (m, d)
            The same where a cell is observed, else the prediction; 0 in columns
            with nothing observed in `fit`.
        """
        predicted = np.zeros(values.shape)
        if self._used.any() and len(values):
            with torch.no_grad():
                predicted[:, self._used] = self._predict(values[:, self._used])
        return np.where(np.isnan(values), predicted, values)

    @abstractmethod
    def _train(self, values: Floats, generator: torch.Generator) -> None:
        """Learn from columns that each have something observed."""

    @abstractmethod
    def _predict(self, values: Floats) -> Floats:
        """Predict every cell of the same columns."""

    def _report(self, epoch: int, loss: float) -> None:
        """Say on stderr, a few times in a training, how far it is."""
        every = max(1, self.epochs // _REPORTS)
        if self.verbose and (epoch % every == 0 or epoch == self.epochs):
            name = type(self).__name__
            sys.stderr.write(f"{name}: epoch {epoch}/{self.epochs}, loss {loss:.4g}\n")


def _draw_seed(random_state: int | None) -> int:
    """Draw a seed for torch; None draws a fresh one."""
    return int(np.random.default_rng(random_state).integers(2**63))


def draw_batches(n: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Row numbers in random order, in batches of nearly equal length up to `size`."""
    order = torch.randperm(n, generator=generator)
    yield from torch.tensor_split(order, -(-n // size))


def descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Take one step down the loss."""
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()


def build_network(widths: list[int], generator: torch.Generator) -> nn.Sequential:
    """Dense layers with ReLU between them, Xavier weights and zero biases."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        # torch's own start would draw from the generator that everybody shares.
        layer = torch.nn.Linear(before, after, device="meta").to_empty(device="cpu")
        torch.nn.init.xavier_normal_(layer.weight, generator=generator)
        torch.nn.init.zeros_(layer.bias)
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])
