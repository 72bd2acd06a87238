"""What similarity is for: classes of unseen rows, by near rows and by a kernel machine.

Five folds, balanced accuracy (the mean over classes of the share found), on the twelve
tables. Everything, bins and fills included, is learnt from the training rows alone. Two
classifiers use a similarity and nothing else: the vote of the ten nearest training
rows, and a support vector machine on the matrix of similarities, with C chosen on the
training rows. Logistic regression on the filled table in one-hot form stands beside
them: it is what most would use, and knows no similarity.

Euclid is measured on the table filled by mean or mode, numbers scaled to [0, 1] and
categories one-hot, two of them as far apart as the ends of a number; its machine has
the Gaussian kernel of scikit-learn's default width.
"""

from __future__ import annotations

import operator
import time
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, euclidean_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder
from sklearn.svm import SVC

from proximity_kernel import ProximityKernel

from ..baselines import registry
from ._clustering import load_once
from ._rendering import Rendering, Table, mark_best, write_numbers
from ._trials import Experiment, Request, Trial
from .nmi import FOUR_BINS, OURS, PAPER, QUICK_TABLES, TABLES

SEEDS, QUICK_SEEDS = 2, 1
FOLDS = 5
NEIGHBORS = 10
MOST_ROWS, QUICK_MOST_ROWS = 3_000, 300
PENALTIES = (1.0, 10.0, 100.0)
EUCLID, LOGISTIC = "Euclid", "logistic regression"
KERNELS: Mapping[str, Mapping[str, Any]] = {PAPER: FOUR_BINS, OURS: {}}
METHODS = (*KERNELS, "HI-PMK", "Gower", EUCLID, LOGISTIC)
NEAREST, MACHINE, LINEAR = "10 nearest rows", "support vector machine", LOGISTIC
SCORES = (NEAREST, MACHINE, LINEAR)


def plan(request: Request, done: pd.DataFrame) -> list[Trial]:  # noqa: ARG001 (one round)
    """List the trials: every table and method; a seed shuffles the folds."""
    rows = QUICK_MOST_ROWS if request.quick else MOST_ROWS
    return [
        Trial(table, method, seed, setting={"rows": rows})
        for table in request.choose(TABLES, QUICK_TABLES)
        for method in request.choose(METHODS)
        for seed in range(QUICK_SEEDS if request.quick else SEEDS)
    ]


def measure(trial: Trial, data_home: str | None) -> dict[str, Any]:
    """Classify the rows of each fold by the others."""
    data = load_once(trial.dataset, data_home)
    rows = min(len(data.frame), trial.setting["rows"])
    frame = data.frame.sample(rows, random_state=trial.seed)
    target = data.target.loc[frame.index].astype(str).to_numpy()
    frame = frame.reset_index(drop=True)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=trial.seed)
    started = time.perf_counter()
    found: dict[str, Any] = {}
    for train, test in folds.split(frame, target):
        known, asked, classes = frame.iloc[train], frame.iloc[test], target[train]
        for name, answer in classify(trial.method, known, asked, classes).items():
            answers = found.setdefault(name, np.empty_like(target))
            answers[test] = answer
    return {
        "fit_seconds": time.perf_counter() - started,
        **{name: balanced_accuracy_score(target, got) for name, got in found.items()},
    }


def classify(
    method: str, known: pd.DataFrame, asked: pd.DataFrame, classes: Any
) -> dict[str, Any]:
    """Give the classes of new rows.

    Parameters
    ----------
    method : str
        One of `METHODS`.
    known : pandas.DataFrame of shape (n, d)
        The training rows.
    asked : pandas.DataFrame of shape (m, d)
    classes : ndarray of shape (n,)
        Of the training rows.

    Returns
    -------
    dict from classifier to ndarray of shape (m,)
    """
    if method == LOGISTIC:
        model = make_pipeline(_one_hot(known), LogisticRegression(max_iter=1000))
        search = GridSearchCV(
            model,
            {"logisticregression__C": PENALTIES},
            cv=3,
            scoring="balanced_accuracy",
        )
        return {LINEAR: search.fit(known, classes).predict(asked)}
    near, kernel = compare(method, known, asked)
    search = GridSearchCV(
        SVC(kernel="precomputed"),
        {"C": PENALTIES},
        cv=3,
        scoring="balanced_accuracy",
    )
    return {
        NEAREST: vote(near, classes),
        MACHINE: search.fit(kernel[0], classes).predict(kernel[1]),
    }


def _one_hot(frame: pd.DataFrame, height: float = 1.0) -> Any:
    """Fill and encode as one would: numbers scaled, categories in columns.

    A category's column has the given height. With the root of 1/2, two categories are
    as far apart as the ends of a number.
    """
    numbers = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
    others = [name for name in frame if name not in numbers]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), MinMaxScaler()), numbers),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"),
                OneHotEncoder(handle_unknown="ignore"),
                FunctionTransformer(partial(operator.mul, height)),
            ),
            others,
        ),
    )


def _dense(points: Any) -> Any:
    return points.toarray() if issparse(points) else points


def compare(
    method: str, known: pd.DataFrame, asked: pd.DataFrame
) -> tuple[Any, tuple[Any, Any]]:
    """Compare rows with the training rows.

    Parameters
    ----------
    method, known, asked
        As of `classify`.

    Returns
    -------
    near : ndarray of shape (m, n)
        Larger is nearer.
    kernel : pair of ndarray of shapes (n, n) and (m, n)
        Similarities of the training rows and of the new rows.
    """
    if method in KERNELS:
        model = ProximityKernel(**KERNELS[method]).fit(known)
        kernel = model.kernel(known), model.kernel(asked, known)
    elif method == EUCLID:
        model = _one_hot(known, np.sqrt(0.5)).fit(known)
        points, others = _dense(model.transform(known)), _dense(model.transform(asked))
        gamma = 1 / max(points.shape[1] * points.var(), 1e-12)
        kernel = rbf_kernel(points, gamma=gamma), rbf_kernel(others, points, gamma)
        return -euclidean_distances(others, points), kernel
    else:
        model = registry[method].build().fit(known)
        kernel = model.transform(known), model.transform(asked)
    return kernel[1], kernel


def vote(near: Any, classes: Any) -> Any:
    """Let the nearest rows vote; of equal votes the class of the nearest wins.

    Parameters
    ----------
    near : ndarray of shape (m, n)
    classes : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> vote(np.array([[3.0, 2.0, 1.0]]), np.array(["a", "b", "b"]))
    array(['b'], dtype='<U1')
    """
    nearest = classes[np.argsort(-near, axis=1, kind="stable")[:, :NEIGHBORS]]
    return np.array([Counter(row).most_common(1)[0][0] for row in nearest.tolist()])


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give the mean over seeds: (method, classifier) by tables, and the mean of these.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.

    Returns
    -------
    pandas.DataFrame
    """
    by_table = results.groupby(["method", "dataset"])[list(SCORES)].mean()
    wide = by_table.stack().unstack("dataset").dropna(how="all")
    wide = wide[[name for name in TABLES if name in wide]]
    return wide.assign(mean=wide.mean(axis=1, skipna=False))


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show the balanced accuracy of all methods, classifier by classifier."""
    wide = summarise(results)
    order = [
        (method, score) for score in SCORES for method in METHODS
        if (method, score) in wide.index
    ]  # fmt: skip
    wide = wide.loc[order]
    wide.index = pd.Index(
        [
            score if method == LOGISTIC else f"{score}: {method}"
            for method, score in wide.index
        ],
        name="classifier: similarity",
    )
    wide.columns.name = None
    title = "Balanced accuracy" + ", quick" * request.quick
    note = (
        f"Balanced accuracy; {FOLDS} folds, {results['seed'].nunique()} shuffles; at "
        f"most {MOST_ROWS:,} rows of a table. All that is learned is learned from the "
        f"training rows. Best and second of a column are marked. {EUCLID} and logistic "
        "regression: missing cells filled with the mean or mode, numbers scaled to "
        "[0, 1], categories one-hot."
    )
    return Rendering(
        (Table(title, write_numbers(wide), mark_best(wide, axis=0), (note,)),)
    )


EXPERIMENT = Experiment(
    "classification",
    "What similarity is for: classes of unseen rows",
    render,
    scores=(*SCORES, "fit_seconds"),
    plan=plan,
    measure=measure,
    choices=(*TABLES, *METHODS),
    unit=("dataset",),
)
