"""The methods that the proximity kernel is measured against, behind one contract.

`registry` maps a name to a `Method`, the paper's names and grids. Beside the paper's
nine baselines it holds PK, which is `ProximityKernel` with its defaults
(``matching="cascade"`` is the paper's rule), an ablation of it, and methods that the
paper does not compare: scaled imputers, imputers that give distributions, and Gower's
similarity.

The imputation methods see the *coded* table: categories as integers in sorted order,
ordered ones by rank. They give the filled, coded table with every column scaled to
[0, 1]. GAIN, MIRACLE and MIWAE load torch when they are built.

Examples
--------
>>> import pandas as pd
>>> from proximity_kernel_paper.baselines import registry
>>> table = pd.DataFrame({"age": [20, 30, None, 40], "sex": ["f", "m", "m", None]})
>>> registry["Mean"].build().fit_transform(table).round(2)
array([[0.  , 0.  ],
       [0.5 , 1.  ],
       [0.5 , 1.  ],
       [1.  , 0.67]])
>>> list(registry)
['Mean', 'MissForest', 'MICE', 'KNN', 'EM', 'GAIN', 'MIRACLE', 'MIWAE', 'HI-PMK', 'PK',
 'prior only', 'mean or mode', 'scaled KNN', 'MICE, draws',
 'MIWAE, draws', 'scaled KNN, shares', 'forest, probabilities', 'Gower',
 'isotree']
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ._method import Method, imputation, transformer

__all__ = ["Method", "registry"]

_STEPS = (10, 100, 200, 500)
_EPOCHS = (100, 200, 500)
_BATCHES = (32, 64, 128, 256)
_BINS = (2, 3, 4, 6, 8)

_METHODS = (
    imputation("Mean", "._simple", "Mean"),
    imputation("MissForest", "._missforest", "MissForest", max_iter=(5, 10, 15)),
    imputation("MICE", "._simple", "MICE", max_iter=_STEPS),
    imputation("KNN", "._simple", "KNN", n_neighbors=(5, 10, 20)),
    imputation("EM", "._em", "EM", max_iter=_STEPS),
    imputation("GAIN", "._gain", "Gain", epochs=_EPOCHS, batch_size=_BATCHES),
    imputation(
        "MIRACLE",
        "._miracle",
        "Miracle",
        learning_rate=(1e-3, 1e-4, 1e-5),
        batch_size=_BATCHES,
    ),
    imputation("MIWAE", "._miwae", "Miwae", epochs=_EPOCHS, batch_size=_BATCHES),
    transformer("HI-PMK", "._hipmk", "HIPMK"),
    transformer("PK", "._ablations", "ProximityKernel", n_bins=_BINS),
    transformer("prior only", "._ablations", "PriorOnly", n_bins=_BINS),
    imputation("mean or mode", "._simple", "ModeMean"),
    imputation("scaled KNN", "._simple", "ScaledKNN"),
    transformer("MICE, draws", "._soft", "MiceDraws"),
    transformer("MIWAE, draws", "._soft", "MiwaeDraws"),
    transformer("scaled KNN, shares", "._soft", "KNNShares"),
    transformer("forest, probabilities", "._soft", "ForestShares"),
    transformer("Gower", "._gower", "Gower"),
    transformer("isotree", "._isotree", "IsolationSimilarity"),
)

registry: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in _METHODS}
)
