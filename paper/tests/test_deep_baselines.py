"""GAIN, MIWAE and MIRACLE: they beat the mean, repeat themselves, and keep quiet."""

import pickle
import re

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.base import clone

from proximity_kernel_paper.baselines import _miracle, _training
from proximity_kernel_paper.baselines._gain import Gain
from proximity_kernel_paper.baselines._miracle import Miracle
from proximity_kernel_paper.baselines._miwae import Miwae

D = 8
NOISE = 0.3
LOADINGS = np.random.default_rng(7).normal(size=(2, D))
NUMERIC = np.zeros(D, dtype=bool)

each_method = pytest.mark.parametrize("method", [Gain, Miwae, Miracle])


def two_factors(n, seed):
    """A Gaussian table of two factors, and the same with 30 % of its cells hidden."""
    rng = np.random.default_rng(seed)
    full = rng.normal(size=(n, 2)) @ LOADINGS + NOISE * rng.normal(size=(n, D))
    return full, np.where(rng.random(full.shape) < 0.3, np.nan, full)


def expect(holed):
    """The best there is: the expectation given what a row observes."""
    covariance = LOADINGS.T @ LOADINGS + NOISE**2 * np.eye(D)
    filled = holed.copy()
    for row in filled:
        o, m = ~np.isnan(row), np.isnan(row)
        slopes = covariance[np.ix_(m, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
        row[m] = slopes @ row[o]
    return filled


def rmse(full, filled, holed):
    return np.sqrt(np.mean((full - filled)[np.isnan(holed)] ** 2))


@pytest.fixture
def holed():
    return two_factors(40, seed=3)[1]


def quick(method, **options):
    """Trained for a moment, where the quality of the fill does not matter."""
    return method(**{"epochs": 3, "random_state": 0, **options})


# --------------------------------------------------------------------- what they learn

# method, epochs, and the most that its error may be of the mean's. Measured over
# several seeds: 0.55 to 0.68, 0.48 to 0.51, 0.48 to 0.50; the best possible is 0.47.
QUALITY = [(Gain, 500, 0.75), (Miwae, 50, 0.6), (Miracle, 100, 0.6)]


@pytest.mark.parametrize(("method", "epochs", "most"), QUALITY)
def test_beats_the_mean_on_correlated_data(method, epochs, most):
    full, holed = two_factors(600, seed=0)
    mean = np.nanmean(holed, axis=0)
    imputer = method(epochs=epochs, random_state=0).fit(holed, NUMERIC)
    new = two_factors(600, seed=1)
    for complete, gaps in [(full, holed), new]:
        error = rmse(complete, imputer.impute(gaps), gaps)
        best = rmse(complete, expect(gaps), gaps)
        assert best < error < most * rmse(complete, mean, gaps)


# -------------------------------------------------------------------- what they promise


@each_method
def test_same_seed_same_answer(method, holed):
    first = quick(method).fit(holed, NUMERIC).impute(holed)
    torch.rand(7)
    imputer = quick(method).fit(holed, NUMERIC)
    np.testing.assert_array_equal(imputer.impute(holed), first)
    torch.rand(7)
    np.testing.assert_array_equal(imputer.impute(holed), first)
    np.testing.assert_array_equal(imputer.fit(holed, NUMERIC).impute(holed), first)
    other = quick(method, random_state=1).fit(holed, NUMERIC).impute(holed)
    assert (other != first).any()


@each_method
def test_no_seed_is_a_fresh_one(method, holed):
    imputer = quick(method, random_state=None)
    first = imputer.fit(holed, NUMERIC).impute(holed)
    assert (imputer.fit(holed, NUMERIC).impute(holed) != first).any()


@each_method
@pytest.mark.parametrize("random_state", [0, None])
def test_shared_generators_are_left_alone(method, random_state, holed):
    before = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    quick(method, random_state=random_state).fit(holed, NUMERIC).impute(holed)
    assert torch.equal(torch.get_rng_state(), before[0])
    np.testing.assert_equal(np.random.get_state(), before[1])  # noqa: NPY002


@each_method
def test_observed_cells_are_unchanged(method, holed):
    holed.flags.writeable = False
    filled = quick(method).fit(holed, NUMERIC).impute(holed)
    seen = ~np.isnan(holed)
    np.testing.assert_array_equal(filled[seen], holed[seen])
    assert filled.dtype == np.float64
    assert np.isfinite(filled).all()


@each_method
def test_a_row_is_filled_alike_in_whatever_company(method, holed):
    imputer = quick(method).fit(holed, NUMERIC)
    together = imputer.impute(holed)
    alone = np.concatenate([imputer.impute(row[None]) for row in holed])
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-4)


@each_method
def test_rows_unlike_the_fitted_ones(method, holed):
    imputer = quick(method).fit(holed, NUMERIC)
    empty, far = np.full((1, D), np.nan), holed[:2].copy()
    far[0, 0], far[1, 1] = 1e200, -1e200
    assert np.isfinite(imputer.impute(np.concatenate([empty, far]))).all()
    full = two_factors(5, seed=4)[0]
    np.testing.assert_array_equal(imputer.impute(full), full)
    assert imputer.impute(np.empty((0, D))).shape == (0, D)


@each_method
def test_a_column_with_nothing_observed_is_filled_with_0(method, holed):
    rest = quick(method).fit(holed, NUMERIC).impute(holed)
    wider = np.insert(holed, 2, np.nan, axis=1)
    imputer = quick(method).fit(wider, np.zeros(D + 1, dtype=bool))
    filled = imputer.impute(wider)
    np.testing.assert_array_equal(filled[:, 2], 0)
    np.testing.assert_array_equal(np.delete(filled, 2, axis=1), rest)
    wider[0, 2] = 5.0
    assert imputer.impute(wider)[0, 2] == 5.0
    nothing = np.full((3, 2), np.nan)
    imputer.fit(nothing, np.zeros(2, dtype=bool))
    np.testing.assert_array_equal(imputer.impute(nothing), 0)


@each_method
@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_any_batch_size(method, batch_size, holed):
    holed[0] = np.nan  # alone in a batch, it has no observed cell to learn from
    imputer = quick(method, batch_size=batch_size).fit(holed, NUMERIC)
    assert np.isfinite(imputer.impute(holed)).all()
    if batch_size == 1000:  # one step an epoch is still a step
        longer = quick(method, batch_size=batch_size, epochs=4).fit(holed, NUMERIC)
        assert (longer.impute(holed) != imputer.impute(holed)).any()


@each_method
def test_odd_tables(method):
    full, holed = two_factors(30, seed=5)
    imputer = quick(method).fit(full, NUMERIC)  # nothing was missing
    assert np.isfinite(imputer.impute(holed)).all()
    np.testing.assert_array_equal(imputer.impute(full), full)
    for table in (
        holed[:, :1],
        np.array([[1.0, np.nan, 2.0]]),
        np.where(holed > 0, 4, holed),
    ):
        categorical = np.zeros(table.shape[1], dtype=bool)
        assert np.isfinite(quick(method).fit(table, categorical).impute(table)).all()


@each_method
def test_units_do_not_matter(method, holed):
    filled = quick(method).fit(holed, NUMERIC).impute(holed)
    scaled = quick(method).fit(1e6 * holed - 3e6, NUMERIC).impute(1e6 * holed - 3e6)
    np.testing.assert_allclose((scaled + 3e6) / 1e6, filled, rtol=1e-3, atol=1e-3)


@each_method
def test_copies(method, holed):
    imputer = quick(method, learning_rate=0.01).fit(holed, NUMERIC)
    assert clone(imputer).get_params() == imputer.get_params()
    again = pickle.loads(pickle.dumps(imputer))
    np.testing.assert_array_equal(again.impute(holed), imputer.impute(holed))


# --------------------------------------------------------------------------- progress


@each_method
def test_silent_unless_asked(method, holed, capsys):
    quick(method, epochs=25).fit(holed, NUMERIC).impute(holed)
    assert capsys.readouterr() == ("", "")
    quick(method, epochs=25, verbose=True).fit(holed, NUMERIC).impute(holed)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert 10 <= len(lines) <= 13
    assert re.fullmatch(rf"{method.__name__}: epoch 25/25, loss -?[\d.e+-]+", lines[-1])


# ---------------------------------------------------------------- the formulae, by hand


def test_batches_cover_the_rows_once():
    generator = torch.Generator().manual_seed(0)
    batches = list(_training.draw_batches(10, 4, generator))
    assert sorted(map(len, batches)) == [3, 3, 4]
    assert sorted(torch.cat(batches).tolist()) == list(range(10))


def test_miwae_weights():
    imputer = quick(Miwae, epochs=1, latent=2, hidden=5)
    holed = two_factors(6, seed=6)[1]
    imputer.fit(holed, NUMERIC)
    cells = imputer._scaling.apply(holed)
    noise = torch.randn(3, 6, 2, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        log_weights, (loc, *_) = imputer._weigh(cells, noise)
        center, spread = (
            imputer._encoder(cells.nan_to_num()).double().numpy().T.reshape(2, 2, 6)
        )
        spread = np.logaddexp(0, spread)
        z = (center + spread * noise.numpy().transpose(0, 2, 1)).transpose(0, 2, 1)
        decoded = imputer._decoder(torch.from_numpy(z).float()).double().numpy()
    mean, scale, df = decoded.reshape(3, 6, 3, D).transpose(2, 0, 1, 3)
    density = stats.t.logpdf(
        cells.numpy(), np.logaddexp(0, df) + 3, mean, np.logaddexp(0, scale) + 1e-3
    )
    truth = np.nansum(density, axis=2) + stats.norm.logpdf(z).sum(axis=2)
    truth -= stats.norm.logpdf(z, center.T, spread.T).sum(axis=2)
    np.testing.assert_allclose(log_weights.numpy(), truth, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(loc.numpy(), mean, atol=1e-5)


@pytest.fixture
def nets():
    """Three columns, of which the last has an indicator."""
    generator = torch.Generator().manual_seed(0)
    return _miracle._Nets.start(3, torch.tensor([2]), 4, generator)


def test_miracle_runs_every_net_at_once(nets):
    rows = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        columns, indicators = nets.predict(rows)
        for i, own in enumerate([0, 1, 2, 2]):
            inputs = nets.inputs[i].clone()
            inputs[own] = 0
            first = torch.nn.functional.elu(rows @ inputs + nets.input_bias[i])
            second = torch.nn.functional.elu(first @ nets.shared + nets.shared_bias)
            truth = second @ nets.outputs[i] + nets.output_bias[i]
            torch.testing.assert_close(torch.cat([columns, indicators], 1)[:, i], truth)


def test_miracle_penalises_cycles_alone(nets):
    with torch.no_grad():
        nets.inputs[:] = 0
        nets.inputs[1, 0, 0] = 0.5  # from column 0 to column 1
        nets.inputs[2, :2, 1] = 2.0
        nets.inputs[3] = 7.0  # the indicator
        nets.inputs[0, 0] = 3.0  # its own column, which no net sees
        assert nets.cycles().item() == pytest.approx(0, abs=1e-5)
        nets.inputs[2] = 0
        nets.inputs[0, 1, 2] = 2.0  # and back
        # The eigenvalues of A * A are 0 and plus and minus sqrt(0.25 * 4).
        assert nets.cycles().item() == pytest.approx(2 * np.cosh(1) - 2, abs=1e-5)
        nets.inputs[3] = 0
        assert nets.lasso().item() == pytest.approx((0.5 + 2) / 4)


def test_miracle_moment_term_weighs_by_inverse_probability():
    imputer = quick(Miracle, lasso=0, dag=0)
    generator = torch.Generator().manual_seed(0)
    imputer._nets = nets = _miracle._Nets.start(2, torch.tensor([1]), 4, generator)
    rows = torch.tensor([[0.0, 1.0], [2.0, 5.0], [4.0, 9.0]])
    observed = torch.tensor([[True, True], [True, True], [True, False]])
    with torch.no_grad():
        nets.output_bias[:] = torch.tensor([1.0, 2.0, 0.5])
        nets.outputs[:2] = 0  # constant predictions
        nets.outputs[2] = 3.0  # of the indicator, by row
        nets.inputs[2] = 1.0
        p = nets.predict(rows)[1].sigmoid()[:, 0].numpy()
        with_term = imputer._loss(rows, observed).item()
        imputer.moment = 0.0
        without = imputer._loss(rows, observed).item()
    mean = np.average([1.0, 5.0], weights=1 / p[:2])
    truth = ((2.0 - 1.0) ** 2 + (mean - 2.0) ** 2) / 2
    assert with_term - without == pytest.approx(truth, rel=1e-4)
    assert without == pytest.approx(
        ((1 + 1 + 9) / 3 + (1 + 9) / 2) / 2
        - (np.log(p[:2]).sum() + np.log(1 - p[2])) / 3,
        rel=1e-4,
    )


def test_miracle_moment_term_leaves_out_what_a_batch_does_not_observe():
    imputer = quick(Miracle, lasso=0, dag=0)
    generator = torch.Generator().manual_seed(0)
    imputer._nets = nets = _miracle._Nets.start(2, torch.tensor([1]), 4, generator)
    rows = torch.tensor([[0.0, 3.0], [2.0, 3.0]])
    observed = torch.tensor([[True, False], [True, False]])
    nets.output_bias.data[:2] = 3.0
    losses = []
    for imputer.moment in (1.0, 0.0):
        nets.output_bias.grad = None
        loss = imputer._loss(rows, observed)
        loss.backward()
        losses.append(loss.item())
        assert nets.output_bias.grad[1] == 0
    with torch.no_grad():
        mean = nets.predict(rows)[0][:, 0].mean().item()
    assert losses[0] - losses[1] == pytest.approx((1 - mean) ** 2 / 2, rel=1e-4)
