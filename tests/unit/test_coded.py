"""A table is read once, coded once and represented once, wherever it is used."""

import sys
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from strategies import assert_same_bits, mixed_table

import proximity_kernel._coded as coding
from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityKNNClassifier,
    ProximityNeighbors,
    ProximityOutliers,
)
from proximity_kernel.cli import main
from proximity_kernel.kernel import code_table, fit_coded, represent

PACKAGE = "proximity_kernel."
TABLE = mixed_table(120, 5, 0.2, seed=1)
LABELS = np.arange(120) % 3


@contextmanager
def counting(*wanted):
    """Count the calls of functions of this package, wherever they are imported."""
    found = dict.fromkeys(wanted, 0)

    def wrap(name, function):
        def call(*arguments, **options):
            found[name] += 1
            return function(*arguments, **options)

        return call

    import_module("proximity_kernel.cli.fitting")  # as the commands import it
    modules = [m for name, m in sys.modules.items() if name.startswith(PACKAGE)]
    with pytest.MonkeyPatch.context() as patch:
        for name in wanted:
            for module in modules:
                function = vars(module).get(name)
                if callable(function):
                    patch.setattr(module, name, wrap(name, function))
        yield found


FITS = {
    "kernel": lambda: ProximityKernel().fit(TABLE),
    "kernel, represented": lambda: ProximityKernel().fit_transform(TABLE),
    "kernel with weights": lambda: ProximityKernel().fit_transform(
        TABLE, sample_weight=LABELS
    ),
    "k-means": lambda: ProximityKMeans(3, n_init=1, random_state=0).fit(TABLE),
    "k-means, distances": lambda: ProximityKMeans(
        3, n_init=1, random_state=0
    ).fit_transform(TABLE),
    "k-means with weights": lambda: ProximityKMeans(3, n_init=1, random_state=0).fit(
        TABLE, sample_weight=LABELS
    ),
    "neighbors": lambda: ProximityNeighbors().fit(TABLE),
    "classifier": lambda: ProximityKNNClassifier().fit(TABLE, LABELS),
    "outliers": lambda: ProximityOutliers().fit(TABLE),
    "imputer": lambda: ProximityImputer().fit(TABLE),
    "frozen": lambda: ProximityOutliers(
        kernel=FrozenEstimator(ProximityKernel().fit(TABLE))
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_reads_the_table_once_and_represents_it_at_most_once(name):
    with counting("read_columns", "build_representation") as found:
        FITS[name]()
    assert found["read_columns"] == 1
    assert found["build_representation"] <= 1


@pytest.mark.parametrize(("command", "n_kernels"), [("cluster", 4), ("report", 3)])
def test_a_command_with_a_report_reads_the_table_once(
    command, n_kernels, tmp_path, capsys
):
    """It lays out a kernel once: of clusters, neighbors, without rarity, of the map."""
    path, page = tmp_path / "table.csv", tmp_path / "page.html"
    TABLE.to_csv(path, index=False)
    arguments = [command, str(path)]
    if command == "cluster":
        arguments += ["-o", str(tmp_path / "o.csv")]
    wanted = ("read_columns", "find_distinct", "check_outputs", "lay_out_columns")
    with counting(*wanted) as found:
        assert main([*arguments, "--report", str(page)]) == 0
    capsys.readouterr()
    assert page.exists()
    assert found["read_columns"] == 1
    assert found["find_distinct"] <= 1
    assert found["check_outputs"] == 1
    assert found["lay_out_columns"] == n_kernels


@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
@pytest.mark.parametrize("n_bins", [3, "fine"])
def test_a_coded_table_stands_for_the_table(matching, n_bins):
    if (matching, n_bins) == ("cascade", "fine"):
        return  # they do not go together
    pk = ProximityKernel(n_bins, matching=matching, missingness="informative")
    coded = fit_coded(pk, TABLE)
    whole = pk.transform(TABLE)
    assert_same_bits(pk.transform(coded), whole)
    assert represent(pk, coded) is represent(pk, coded)
    rows = np.array([7, 3, 3, 99])
    assert_same_bits(pk.transform(coded.take(rows)), whole[rows])
    some = pk.transform(coded.take(slice(40, 60)))
    assert_same_bits(some, pk.transform(TABLE[40:60]))
    distinct = coded.distinct(pk.n_bins_)
    once = represent(pk, distinct.take_stored_rows())
    assert_same_bits(once[distinct.index], represent(pk, coded))
    assert_same_bits(pk.kernel(coded, coded.take(rows)), pk.kernel(TABLE)[:, rows])


def test_bins_cannot_stand_for_the_leaves_of_a_fine_scale():
    pk = ProximityKernel("fine").fit(TABLE)
    bins = code_table(pk, TABLE).bins
    bare = pk.model_.take_codes(coding.CodedTable.of_rows(bins))
    with pytest.raises(ValueError, match="represented by leaves"):
        represent(pk, bare)
