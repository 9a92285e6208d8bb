"""All fourteen covariance structures: the largest likelihood within the structure, priors, and odd data."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize
from scipy.special import logsumexp

import suffice
from suffice import Gaussian, GaussianDiscriminant, NormalInverseWishart
from suffice.families.gaussian.covariance import CODES, STRUCTURES, as_structure, expected_log_likelihood
from suffice.families.gaussian.covariance.orientation import axes_of
from suffice.statistics.moments import DiagonalMoments, FullMoments
from suffice.statistics.responsibilities import SoftLabels

every_structure = pytest.mark.parametrize("structure", CODES.values(), ids=CODES)
ITERATIVE = [CODES[code] for code in ("VEI", "VEE", "VEV", "EVE", "VVE")]


def random_moments(rng, k, d, rows=None):
    """Return the moments of k classes with covariances of their own, and weights that are no whole numbers."""
    count = rng.uniform(d + 2, 4 * d + 12, size=(k, 1)) if rows is None else np.asarray(rows, float)[:, None]
    factors = rng.normal(size=(k, d, 3 * d)) @ rng.normal(size=(3 * d, 3 * d)) / (3 * d)
    scatter = count[:, :, None] * (factors @ factors.transpose(0, 2, 1) + 0.05 * np.eye(d))
    first = rng.normal(size=(k, d))
    second = scatter + first[:, :, None] * first[:, None, :] / count[:, :, None]
    return FullMoments(count, 5.0 * rng.normal(size=(k, d)), first, second)


def objective(structure, compact, moments):
    """Return Σ_c −½ n_c log|Σ_c| − ½ tr(Σ_c⁻¹ S_c)."""
    whole = moments.scatter
    if structure.diagonal:
        whole = np.diagonal(whole, axis1=1, axis2=2)
    broadcast = np.broadcast_to(compact, whole.shape)
    return expected_log_likelihood(broadcast, whole, moments.count)


def covariances(structure, compact, k):
    matrices = np.stack([np.diag(row) for row in compact]) if structure.diagonal else compact
    return np.broadcast_to(matrices, (k, *matrices.shape[1:]))


class Parametrisation:
    """λ_c D_c A_c D_cᵀ in unconstrained numbers, all zero at some given covariances of the structure."""

    def __init__(self, structure, compact, k):
        self.structure, self.k, self.d = structure, k, compact.shape[-1]
        sigma = covariances(structure, compact, k)
        if structure.code[2] == "I":
            self.axes = np.broadcast_to(np.eye(self.d), sigma.shape)
        elif structure.code[2] == "E":
            self.axes = np.broadcast_to(axes_of(sigma), sigma.shape)
        else:
            self.axes = np.linalg.eigh(sigma)[1]
        along = np.einsum("cij,cik,ckj->cj", self.axes, sigma, self.axes)
        self.log_volume = np.log(along).mean(1, keepdims=True)
        self.log_shape = np.log(along) - self.log_volume
        copies = [{"E": 1, "V": k, "I": 0}[letter] for letter in structure.code]
        self.sizes = [copies[0], copies[1] * (self.d - 1), copies[2] * self.d * (self.d - 1) // 2]

    def compact(self, numbers):
        volume, shape, angles = np.split(numbers, np.cumsum(self.sizes)[:-1])
        log_shape = np.zeros((1, self.d))
        if len(shape):
            shape = shape.reshape(-1, self.d - 1)
            log_shape = np.hstack([shape, -shape.sum(1, keepdims=True)])
        along = np.exp(self.log_volume + volume[:, None] + self.log_shape + log_shape)
        if self.structure.diagonal:
            return along
        axes = self.axes
        if len(angles):
            axes = axes @ np.stack([self._rotation(part) for part in angles.reshape(-1, self.d * (self.d - 1) // 2)])
        return np.einsum("cij,cj,ckj->cik", axes, along, axes)

    def _rotation(self, angles):
        skew = np.zeros((self.d, self.d))
        skew[np.triu_indices(self.d, 1)] = angles
        return expm(skew - skew.T)


def assert_largest(structure, compact, k, value, optimiser):
    """Check that nothing within the structure has a larger value."""
    rng = np.random.default_rng(1)
    family = Parametrisation(structure, compact, k)
    n = sum(family.sizes)
    best = value(family.compact(np.zeros(n)))
    for size in (1e-4, 1e-3, 1e-2, 0.1, 0.5):
        for _ in range(4):
            assert value(family.compact(size * rng.normal(size=n))) <= best + 1e-11 * abs(best)
    if optimiser:
        found = minimize(lambda numbers: -value(family.compact(numbers)), np.zeros(n))
        assert -found.fun <= best + 1e-6 * abs(best)


# -- maximum likelihood -------------------------------------------------------------------------------------------


@every_structure
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_nothing_within_the_structure_is_more_likely(structure, k, d):
    moments = random_moments(np.random.default_rng(10 * k + d), k, d)
    compact = structure.estimate(moments, None)
    assert compact.shape[1:] == ((d,) if structure.diagonal else (d, d))
    assert compact.shape[0] == (1 if structure.tied else k)
    assert_largest(structure, compact, k, lambda other: objective(structure, other, moments), True)


@every_structure
def test_what_the_classes_share_is_the_same_for_all(structure):
    k, d = 4, 3
    compact = structure.estimate(random_moments(np.random.default_rng(5), k, d), None)
    sigma = covariances(structure, compact, k)
    eigenvalues = np.linalg.eigvalsh(sigma)
    volume = np.exp(np.log(eigenvalues).mean(1))
    shape = eigenvalues / volume[:, None]
    assert (np.ptp(volume) < 1e-10 * volume.max()) == (structure.code[0] == "E")
    assert (np.ptp(shape, axis=0).max() < 1e-10) == (structure.code[1] in "EI")
    if structure.code[2] == "E":  # the same axes: they commute
        products = sigma[:, None] @ sigma[None, :]
        np.testing.assert_allclose(products, products.transpose(0, 1, 3, 2), atol=1e-10 * np.abs(products).max())
    if structure.code[1] == "I":
        np.testing.assert_allclose(shape, 1.0)


@pytest.mark.parametrize(
    "chain",
    [
        "EII VII VEI VVI VVE VVV",
        "EII EEI VEI VVI VVV",
        "EEI EVI VVI",
        "EEI EEE VEE VVE VVV",
        "EEE EVE EVV VVV",
        "EEE EEV VEV VVV",
        "EEV EVV",
        "VEE VEV",
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_structure_is_no_less_likely_than_one_that_it_contains(chain, seed):
    moments = random_moments(np.random.default_rng(seed), 4, 4)
    values = []
    for code in chain.split():
        compact = CODES[code].estimate(moments, None)
        values.append(expected_log_likelihood(covariances(CODES[code], compact, 4), moments.scatter, moments.count))
    assert all(a <= b + 1e-9 * abs(b) for a, b in pairwise(values))


@pytest.mark.parametrize("name", ["VEI", "EVI"])
def test_columns_with_different_numbers_of_rows(name):
    rng = np.random.default_rng(2)
    count, scatter = rng.uniform(3, 30, size=(3, 4)), rng.uniform(1, 9, size=(3, 4))
    moments = DiagonalMoments(count, rng.normal(size=(3, 4)), np.zeros((3, 4)), scatter)
    compact = STRUCTURES[name].estimate(moments, None)
    assert_largest(
        STRUCTURES[name], compact, 3, lambda other: expected_log_likelihood(other, moments.scatter, count), True
    )


# -- iterations of EM -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", ITERATIVE, ids=lambda structure: structure.name)
@pytest.mark.parametrize("resolved", [False, True])
def test_going_on_from_the_last_iteration_never_loses(structure, resolved):
    rng = np.random.default_rng(3)
    a, b = random_moments(rng, 4, 4), random_moments(rng, 4, 4)
    prior = structure.resolve(a, NormalInverseWishart(freedom=0.0)) if resolved else None
    last = None
    for share in np.linspace(0.0, 1.0, 15):
        mixed = FullMoments(
            *((1 - share) * x + share * y for x, y in zip(a.arrays().values(), b.arrays().values(), strict=True))
        )
        found = structure.estimate(mixed, prior, last)
        if last is not None:

            def value(compact, mixed=mixed):
                return objective(structure, compact, mixed) + structure.log_prior(compact, prior, 4, 4)

            assert value(found) >= value(last)
            assert value(found) >= value(structure.estimate(mixed, prior)) - 0.02 * abs(value(found))
        last = found


@pytest.mark.parametrize("structure", ITERATIVE, ids=lambda structure: structure.name)
def test_an_iteration_cut_short_returns_no_worse_than_its_start(structure, monkeypatch):
    rng = np.random.default_rng(4)
    start, moments = structure.estimate(random_moments(rng, 3, 4), None), random_moments(rng, 3, 4)
    monkeypatch.setattr("suffice.families.gaussian.covariance.convex._MAX_ITERATIONS", 1)
    monkeypatch.setattr("suffice.families.gaussian.covariance.constrained.MAX_FURTHER_ITERATIONS", 1)
    for _ in range(5):
        found = structure.estimate(moments, None, start)
        assert objective(structure, found, moments) >= objective(structure, start, moments)
        start = found


@every_structure
@pytest.mark.parametrize("table", ["plain", "constant column", "a column twice", "few rows"])
def test_the_penalised_likelihood_of_a_mixture_never_falls(structure, table):
    rng = np.random.default_rng(15)
    x = np.concatenate([rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3)) + 2 * rng.normal(size=3) for _ in range(3)])
    k, x = (
        3,
        {
            "plain": x,
            "constant column": np.insert(x, 1, 3.7, axis=1),
            "a column twice": np.hstack([x, x[:, :1]]),
            "few rows": x[::12],
        }[table],
    )
    family = Gaussian(structure)
    prior = family.fixed_prior(
        family.statistics(x, SoftLabels(np.ones((len(x), 1)))), NormalInverseWishart(mean_count=0.2, freedom=0.0)
    )
    shares, last, model = rng.dirichlet(np.full(k, 0.5), len(x)), -np.inf, None
    for _ in range(12):
        moments = family.statistics(x, SoftLabels(shares))
        model = family.improve(moments, prior, model)
        scores = model.score(x) + np.log(shares.mean(0))
        rows = logsumexp(scores, axis=1, keepdims=True)
        value = rows.sum() + family.log_prior(model, moments, prior)
        assert value >= last - 1e-10 * abs(value)
        last, shares = value, np.exp(scores - rows)


@pytest.mark.parametrize("name", ["EVE", "VVE"])
def test_axes_are_found_again_where_classes_have_equal_eigenvalues(name):
    axes = np.linalg.qr(np.random.default_rng(6).normal(size=(4, 4)))[0]
    along = np.array([[2.0, 2, 1, 0.25], [1, 4, 0.5, 0.5], [1, 1, 1, 1]])
    sigma = np.einsum("ij,cj,kj->cik", axes, along, axes)
    found = axes_of(sigma)
    rotated = found.T @ sigma @ found
    np.testing.assert_allclose(rotated, rotated * np.eye(4), atol=1e-10)
    count = np.array([[20.0], [30.0], [10.0]])
    moments = FullMoments(count, np.zeros((3, 4)), np.zeros((3, 4)), count[:, :, None] * sigma)
    np.testing.assert_allclose(STRUCTURES[name].estimate(moments, None, sigma), sigma, atol=1e-9)


# -- priors -------------------------------------------------------------------------------------------------------

PRIORS = {
    "auto": NormalInverseWishart(),
    "mode": NormalInverseWishart(freedom=0.0),
    "means": NormalInverseWishart(2.5, mean_count=0.7),
    "unbiased": NormalInverseWishart(0),
}
every_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)


@every_structure
@every_prior
def test_a_resolved_prior_is_the_same_prior_on_the_same_moments(structure, prior):
    moments = random_moments(np.random.default_rng(7), 3, 4)
    resolved = structure.resolve(moments, prior)
    expected = structure.estimate(moments, prior)
    assert isinstance(resolved.scatter_count, float)
    assert np.shape(resolved.scatter) in ((4,), (4, 4))
    np.testing.assert_allclose(structure.estimate(moments, resolved), expected, rtol=1e-12)
    again = structure.resolve(random_moments(np.random.default_rng(8), 3, 4), resolved)
    np.testing.assert_array_equal(again.scatter, resolved.scatter)
    np.testing.assert_array_equal(again.mean, resolved.mean)


@every_structure
@every_prior
@pytest.mark.parametrize("k", [1, 3])
def test_the_estimate_maximises_likelihood_and_prior_together(structure, prior, k):
    moments = random_moments(np.random.default_rng(9), k, 4)
    resolved = structure.resolve(moments, prior)
    kappa = resolved.mean_count
    means = moments.mean + kappa / (kappa + moments.count) * (resolved.mean - moments.mean)
    off = moments.mean - means
    about = moments.scatter + moments.count[:, :, None] * off[:, :, None] * off[:, None, :]
    scatter = np.diagonal(about, axis1=1, axis2=2) if structure.diagonal else about

    def value(compact):
        penalty = structure.log_prior(compact if not structure.tied else compact[:1], resolved, k, 4, means)
        return expected_log_likelihood(np.broadcast_to(compact, scatter.shape), scatter, moments.count) + penalty

    assert_largest(structure, structure.estimate(moments, resolved), k, value, False)


def test_the_penalty_is_that_of_the_posterior_mode():
    moments = random_moments(np.random.default_rng(9), 2, 3)
    full = STRUCTURES["full"]
    prior = full.resolve(moments, NormalInverseWishart(4.0, np.ones(3), freedom=0.0))
    sigma = full.estimate(moments, prior)
    np.testing.assert_allclose(
        sigma, (4.0 * np.eye(3) + moments.scatter) / (4.0 + moments.count[:, :, None]), rtol=1e-9
    )
    expected = sum(-0.5 * 4.0 * np.log(np.linalg.det(one)) - 0.5 * np.trace(np.linalg.inv(one) * 4.0) for one in sigma)
    np.testing.assert_allclose(full.log_prior(sigma, prior, 2, 3), expected)
    assert full.log_prior(sigma, None, 2, 3) == 0.0


def test_a_penalty_needs_a_resolved_prior():
    sigma = np.eye(2)[None]
    with pytest.raises(ValueError, match="resolve"):
        STRUCTURES["full"].log_prior(sigma, NormalInverseWishart(), 1, 2)
    with pytest.raises(ValueError, match="resolve"):
        STRUCTURES["full"].log_prior(sigma, NormalInverseWishart(1, np.ones(2), 1.0), 1, 2, np.ones((1, 2)))
    with pytest.raises(ValueError, match="freedom"):
        NormalInverseWishart(freedom=np.inf)


# -- numbers of parameters, and names -----------------------------------------------------------------------------


def test_numbers_of_parameters_are_those_of_mclust():
    k, d = 3, 5
    pairs = d * (d - 1) // 2
    expected = {
        "EII": 1,
        "VII": k,
        "EEI": d,
        "VEI": k + d - 1,
        "EVI": 1 + k * (d - 1),
        "VVI": k * d,
        "EEE": d * (d + 1) // 2,
        "VEE": k + (d - 1) + pairs,
        "EVE": 1 + k * (d - 1) + pairs,
        "VVE": k + k * (d - 1) + pairs,
        "EEV": 1 + (d - 1) + k * pairs,
        "VEV": k + (d - 1) + k * pairs,
        "EVV": 1 + k * (d - 1) + k * pairs,
        "VVV": k * d * (d + 1) // 2,
    }
    assert {code: structure.n_parameters(k, d) for code, structure in CODES.items()} == expected
    for code, structure in CODES.items():
        assert structure.n_parameters(4, 1) == (1 if code[0] == "E" else 4)


def test_codes_are_other_names_of_the_same_structures():
    words = {
        "VVV": "full",
        "EEE": "tied",
        "VVI": "diagonal",
        "EEI": "tied-diagonal",
        "VII": "spherical",
        "EII": "tied-spherical",
    }
    assert len(STRUCTURES) == len(CODES) == 14
    for code, structure in CODES.items():
        assert as_structure(code) is structure is as_structure(structure.name)
        assert structure.name == words.get(code, code)
        assert structure.shared.tied
    with pytest.raises(ValueError, match="'VVE'"):
        as_structure("EIE")


# -- odd data -----------------------------------------------------------------------------------------------------


def odd_tables():
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4)), np.repeat([0, 1], 20)
    constant = x.copy()
    constant[:, 1] = 3.7
    double = np.hstack([x, x[:, :1]])
    scales = x * np.array([1e-9, 1.0, 1e9, 1.0])
    return {
        "constant column": (constant, y),
        "all columns constant": (np.ones((40, 3)), y),
        "a column twice": (double, y),
        "fewer rows than columns": (rng.normal(size=(6, 9)), np.repeat([0, 1], 3)),
        "one row a class": (x[:2], np.array([0, 1])),
        "scales apart": (scales, y),
        "a class of one value": (np.where((y == 1)[:, None], 2.0, x), y),
    }


@every_structure
@pytest.mark.parametrize("table", odd_tables())
def test_odd_tables_give_models_that_predict(structure, table):
    X, y = odd_tables()[table]
    model = GaussianDiscriminant(structure.code).fit(X, y)
    compact = model.distributions_[0].compact
    assert np.isfinite(compact).all()
    assert np.isfinite(model.predict_proba(X)).all()
    moments, family, found = model.statistics_.joint.blocks[0], Gaussian(structure), model.distributions_[0]
    resolved = family.fixed_prior(moments, NormalInverseWishart())
    again = family.estimate(moments, resolved).compact
    np.testing.assert_allclose(again, compact, rtol=1e-6, atol=1e-9 * compact.max())
    assert np.isfinite(family.log_prior(found, moments, resolved))
    assert family.improve(moments, resolved, found).compact.shape == compact.shape


@every_structure
def test_an_empty_class_gets_what_is_believed(structure):
    moments = random_moments(np.random.default_rng(12), 2, 3).with_classes(np.array([0, 2]), 3)
    compact = structure.estimate(moments.to_layout(structure.layout), NormalInverseWishart())
    eigenvalues = np.linalg.eigvalsh(covariances(structure, compact, 3))
    assert np.isfinite(compact).all()
    assert eigenvalues.min() > 1e-4
    assert eigenvalues.max() < 1e4


@pytest.mark.parametrize("code", ["VEE", "EVV", "EEV", "VVE", "VEI", "EVI"])
def test_a_singular_covariance_is_refused_where_there_is_no_prior(code):
    X, y = np.random.default_rng(14).normal(size=(20, 3)), np.repeat([0, 1], 10)
    X[y == 0, 1] = 1.0
    X[y == 1, 1] = 1.0 if code != "EVI" else X[y == 1, 1]
    with pytest.raises(ValueError, match=r"singular|not positive"):
        GaussianDiscriminant(code, prior=None).fit(X, y)


# -- models -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", dict.fromkeys([*STRUCTURES, *CODES]))
def test_models_of_every_structure_predict_and_come_back_from_a_file(name, tmp_path):
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    model = GaussianDiscriminant(covariance=name, prior=NormalInverseWishart(3.0, freedom=0.5)).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.transform(X).shape == (150, 2)
    suffice.save(model, tmp_path / "model.suffice")
    again = suffice.load(tmp_path / "model.suffice")
    assert again.covariance == name
    assert again.prior.freedom == 0.5
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
