"""The course on Gaussian discriminant analysis: its likelihood and estimates, LDA and QDA, and the geometry of LDA."""

import math

import numpy as np
import pytest
from by_hand import gradient, log_normal, sigmoid, softmax

from suffice import Gaussian, GaussianDiscriminant

rng = np.random.default_rng(5)
y = np.repeat([0, 1], [12, 20])
X = rng.normal(size=(32, 2)) @ [[1.0, 0.4], [0.0, 0.8]] + np.array([[0.0, 0.0], [2.0, 1.0]])[y]
kinds = np.repeat([0, 1, 2], [8, 11, 13])
Z = rng.normal(size=(32, 2)) @ [[1.0, 0.2], [0.0, 0.9]] + np.array([[0.0, 0.0], [2.5, 0.5], [1.0, 3.0]])[kinds]
NEW = rng.normal(1.0, 2.0, size=(25, 2))


def by_hand(X, y, c):
    """Return π_c, μ_c and Σ_c with 1/N_c."""
    own = X[y == c]
    mean = own.mean(axis=0)
    return (y == c).mean(), mean, (own - mean).T @ (own - mean) / len(own)


def shared(X, y):
    """Return Σ = 1/m Σ_i (x_i − μ_{y_i})(x_i − μ_{y_i})ᵀ."""
    away = X - np.array([X[y == c].mean(axis=0) for c in np.unique(y)])[y]
    return away.T @ away / len(X)


def lda(X=X, y=y, **settings):
    return GaussianDiscriminant("tied", prior=None, **settings).fit(X, y)


# -- the model and its estimates -------------------------------------------------------------------------------------


def test_the_class_is_a_coin_with_probability_psi():
    psi = y.mean()
    assert lda().class_prior_ == pytest.approx([psi**y * (1 - psi) ** (1 - y) for y in (0, 1)], abs=1e-12)


def test_the_estimates_are_the_shares_and_means_of_the_classes_and_their_common_covariance():
    (found,) = lda().distributions_
    for c in (0, 1):
        share, mean, _ = by_hand(X, y, c)
        assert lda().class_prior_[c] == pytest.approx(share, abs=1e-12)
        assert found.mean()[c] == pytest.approx(mean, abs=1e-12)
        assert found.covariance()[c] == pytest.approx(shared(X, y), abs=1e-12)  # with 1/m, not 1/(m − k)


def test_with_a_covariance_per_class_each_is_that_of_the_rows_of_its_class():
    # the course writes the sum for Σ_c without 1/N_c; the maximum of its likelihood has the factor
    (found,) = GaussianDiscriminant("full", prior=None).fit(Z, kinds).distributions_
    for c in range(3):
        _, mean, covariance = by_hand(Z, kinds, c)
        assert found.mean()[c] == pytest.approx(mean, abs=1e-12)
        assert found.covariance()[c] == pytest.approx(covariance, abs=1e-12)
        assert (found.covariance()[c] * (kinds == c).sum()) != pytest.approx(covariance)


def test_the_log_likelihood_adds_the_density_of_each_row_in_its_class_and_the_probability_of_the_class():
    psi, sigma = y.mean(), shared(X, y)
    total = 0.0
    for c in (0, 1):
        total += log_normal(X[y == c], X[y == c].mean(axis=0), sigma).sum()
    total += y.sum() * math.log(psi) + (1 - y).sum() * math.log(1 - psi)
    assert lda().log_likelihood(X, y) == pytest.approx(total, abs=1e-9)


def test_all_gradients_of_the_log_likelihood_are_zero_at_the_estimates():
    (found,) = lda().distributions_
    psi, means, sigma = lda().class_prior_[1], found.mean(), found.covariance()[0]

    def likelihood(psi, m0, m1, sigma):
        of_rows = log_normal(X[y == 0], m0, sigma).sum() + log_normal(X[y == 1], m1, sigma).sum()
        return of_rows + y.sum() * math.log(psi) + (1 - y).sum() * math.log(1 - psi)

    assert gradient(lambda p: likelihood(float(p), *means, sigma), psi) == pytest.approx(0, abs=1e-5)
    assert gradient(lambda m: likelihood(psi, m, means[1], sigma), means[0]) == pytest.approx([0, 0], abs=1e-5)
    assert gradient(lambda m: likelihood(psi, means[0], m, sigma), means[1]) == pytest.approx([0, 0], abs=1e-5)
    by_sigma = gradient(lambda s: likelihood(psi, *means, s), sigma)
    assert by_sigma == pytest.approx(np.zeros((2, 2)), abs=1e-4)


def test_the_class_probabilities_and_the_gaussians_are_estimated_separately():
    thinned = np.r_[np.flatnonzero(y == 0)[::2], np.flatnonzero(y == 1)]  # other shares, the same rows of class 1
    full, part = (GaussianDiscriminant("full", prior=None).fit(X[rows], y[rows]) for rows in (np.arange(32), thinned))
    assert part.distributions_[0].mean()[1] == pytest.approx(X[y == 1].mean(axis=0), abs=1e-12)
    assert part.distributions_[0].covariance()[1] == pytest.approx(full.distributions_[0].covariance()[1], abs=1e-12)
    assert part.class_prior_ == pytest.approx([6 / 26, 20 / 26], abs=1e-12)


# -- the posterior ---------------------------------------------------------------------------------------------------


def test_the_posterior_of_two_classes_is_bayes_rule_over_their_densities():
    psi, sigma = y.mean(), shared(X, y)
    p1 = np.exp(log_normal(NEW, X[y == 1].mean(axis=0), sigma)) * psi
    p0 = np.exp(log_normal(NEW, X[y == 0].mean(axis=0), sigma)) * (1 - psi)
    assert lda().predict_proba(NEW)[:, 1] == pytest.approx(p1 / (p1 + p0), abs=1e-10)


def test_the_posterior_of_any_number_of_classes_is_normalised_over_all_of_them():
    model = GaussianDiscriminant("full", prior=None).fit(Z, kinds)
    joint = np.column_stack(
        [
            share * np.exp(log_normal(NEW, mean, sigma))
            for share, mean, sigma in (by_hand(Z, kinds, c) for c in range(3))
        ]
    )
    assert model.predict_proba(NEW) == pytest.approx(joint / joint.sum(axis=1, keepdims=True), abs=1e-10)


def test_the_log_posterior_has_half_the_log_determinant_of_2_pi_sigma():
    # the course writes −½ |2πΣ_c| here, without the logarithm
    model = GaussianDiscriminant("full", prior=None).fit(Z, kinds)
    scores = []
    for c in range(3):
        share, mean, sigma = by_hand(Z, kinds, c)
        squares = np.array([(x - mean) @ np.linalg.inv(sigma) @ (x - mean) for x in NEW])
        scores.append(math.log(share) - 0.5 * math.log(np.linalg.det(2 * math.pi * sigma)) - 0.5 * squares)
    assert model.predict_joint_log_proba(NEW) == pytest.approx(np.column_stack(scores), abs=1e-10)


def test_the_most_probable_class_is_predicted():
    model = GaussianDiscriminant("full", prior=None).fit(Z, kinds)
    joint = np.column_stack(
        [
            math.log(share) + log_normal(NEW, mean, sigma)
            for share, mean, sigma in (by_hand(Z, kinds, c) for c in range(3))
        ]
    )
    assert (model.predict(NEW) == joint.argmax(axis=1)).all()


def test_the_posterior_of_class_1_is_logistic_in_theta():
    # θ = (Σ⁻¹(μ0 − μ1), ½ (μ1ᵀΣ⁻¹μ1 − μ0ᵀΣ⁻¹μ0) + log (1 − ψ)/ψ), p(1 | x) = 1 / (1 + e^θᵀx)
    m0, m1, inverse, psi = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0), np.linalg.inv(shared(X, y)), y.mean()
    slope = inverse @ (m0 - m1)
    constant = 0.5 * (m1 @ inverse @ m1 - m0 @ inverse @ m0) + math.log((1 - psi) / psi)
    assert lda().predict_proba(NEW)[:, 1] == pytest.approx(1 / (1 + np.exp(NEW @ slope + constant)), abs=1e-10)
    assert lda().coef_[0] == pytest.approx(-slope, abs=1e-10)  # the library's log-odds are of class 1, −θᵀx
    assert lda().intercept_[0] == pytest.approx(-constant, abs=1e-10)


def test_the_posterior_of_class_0_is_logistic_with_the_opposite_sign():
    m0, m1, inverse, psi = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0), np.linalg.inv(shared(X, y)), y.mean()
    exponent = NEW @ inverse @ (m1 - m0) + 0.5 * (m0 @ inverse @ m0 - m1 @ inverse @ m1) + math.log(psi / (1 - psi))
    assert lda().predict_proba(NEW)[:, 0] == pytest.approx(1 / (1 + np.exp(exponent)), abs=1e-10)


# -- LDA and QDA -----------------------------------------------------------------------------------------------------


def test_lda_has_a_linear_log_odds_and_a_softmax_posterior():
    # γ_c = log π_c − ½ μ_cᵀΣ⁻¹μ_c, β_c = Σ⁻¹μ_c; −½ xᵀΣ⁻¹x is the same for all classes and cancels
    model, inverse = lda(Z, kinds), np.linalg.inv(shared(Z, kinds))
    means = np.array([Z[c == kinds].mean(axis=0) for c in range(3)])
    shares = np.array([(c == kinds).mean() for c in range(3)])
    gamma = np.log(shares) - 0.5 * np.einsum("ci,ij,cj->c", means, inverse, means)
    beta = means @ inverse
    assert model.predict_proba(NEW) == pytest.approx(softmax(gamma + NEW @ beta.T), abs=1e-10)
    assert model.coef_ == pytest.approx(beta, abs=1e-9)
    assert model.intercept_ == pytest.approx(gamma, abs=1e-9)


def test_the_terms_that_all_classes_share_complete_the_log_posterior_of_lda():
    model, inverse = lda(Z, kinds), np.linalg.inv(shared(Z, kinds))
    kappa = -0.5 * np.einsum("ni,ij,nj->n", NEW, inverse, NEW) - 0.5 * math.log(
        np.linalg.det(2 * math.pi * shared(Z, kinds))
    )
    mean, share = Z[kinds == 1].mean(axis=0), (kinds == 1).mean()
    gamma, beta = math.log(share) - 0.5 * mean @ inverse @ mean, inverse @ mean
    assert model.predict_joint_log_proba(NEW)[:, 1] == pytest.approx(gamma + NEW @ beta + kappa, abs=1e-10)


def test_qda_has_a_quadratic_log_odds():
    model = GaussianDiscriminant("full", prior=None).fit(X, y)
    (p0, m0, s0), (p1, m1, s1) = by_hand(X, y, 0), by_hand(X, y, 1)
    i0, i1 = np.linalg.inv(s0), np.linalg.inv(s1)
    square = -0.5 * np.einsum("ni,ij,nj->n", NEW, i1 - i0, NEW)
    linear = NEW @ (i1 @ m1 - i0 @ m0)
    constant = -0.5 * (m1 @ i1 @ m1 - m0 @ i0 @ m0) - 0.5 * math.log(np.linalg.det(s1) / np.linalg.det(s0))
    assert model.decision_function(NEW) == pytest.approx(square + linear + constant + math.log(p1 / p0), abs=1e-9)


def test_along_any_line_the_log_odds_of_lda_are_straight_and_those_of_qda_a_parabola():
    start, step = np.array([0.3, -0.2]), np.array([0.5, 0.8])
    line = start + np.arange(4)[:, None] * step
    assert np.diff(lda().decision_function(line), 2) == pytest.approx([0, 0], abs=1e-9)
    bent = np.diff(GaussianDiscriminant("full", prior=None).fit(X, y).decision_function(line), 2)
    (_, _, s0), (_, _, s1) = by_hand(X, y, 0), by_hand(X, y, 1)
    curvature = -step @ (np.linalg.inv(s1) - np.linalg.inv(s0)) @ step
    assert bent == pytest.approx([curvature, curvature], abs=1e-9)


def test_lda_is_qda_with_equal_covariances():
    same = np.vstack([Z[kinds == 0], Z[kinds == 0] + [3.0, 1.0]])  # two classes with exactly equal covariances
    halves = np.repeat([0, 1], 8)
    qda = GaussianDiscriminant("full", prior=None).fit(same, halves)
    mean = Z[kinds == 0].mean(axis=0)
    sigma = (Z[kinds == 0] - mean).T @ (Z[kinds == 0] - mean) / 8
    by_hand = log_normal(NEW, mean + np.array([3.0, 1.0]), sigma) - log_normal(NEW, mean, sigma)
    assert qda.decision_function(NEW) == pytest.approx(by_hand, abs=1e-9)
    assert lda(same, halves).decision_function(NEW) == pytest.approx(by_hand, abs=1e-9)


# -- the geometry of LDA ---------------------------------------------------------------------------------------------


def test_with_equal_class_probabilities_the_rule_is_a_half_space():
    model, inverse = lda(class_prior="uniform"), np.linalg.inv(shared(X, y))
    m0, m1 = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
    w, b = (m1 - m0) @ inverse, 0.5 * (m0 @ inverse @ m0 - m1 @ inverse @ m1)
    assert (model.predict(NEW) == (NEW @ w + b > 0)).all()
    assert model.coef_[0] == pytest.approx(w, abs=1e-10)
    assert model.intercept_[0] == pytest.approx(b, abs=1e-10)


def test_with_equal_class_probabilities_the_class_of_the_nearer_mean_in_mahalanobis_distance_is_predicted():
    model, inverse = lda(class_prior="uniform"), np.linalg.inv(shared(X, y))
    m0, m1 = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
    halves = [0.5 * np.einsum("ni,ij,nj->n", NEW - m, inverse, NEW - m) for m in (m0, m1)]
    assert (model.predict(NEW) == (halves[0] - halves[1] > 0)).all()
    assert model.decision_function(NEW) == pytest.approx(halves[0] - halves[1], abs=1e-9)


def test_the_log_odds_of_the_means_are_gamma_1_less_gamma_0():
    m0, m1, inverse, psi = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0), np.linalg.inv(shared(X, y)), y.mean()
    by_hand = -0.5 * (m1 - m0) @ inverse @ (m1 + m0) + math.log(psi / (1 - psi))
    assert lda().intercept_[0] == pytest.approx(by_hand, abs=1e-10)


def test_x0_lies_on_the_boundary_and_the_posterior_is_logistic_in_the_distance_from_it():
    m0, m1, inverse, psi = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0), np.linalg.inv(shared(X, y)), y.mean()
    w = inverse @ (m1 - m0)
    x0 = 0.5 * (m1 + m0) - (m1 - m0) * math.log(psi / (1 - psi)) / ((m1 - m0) @ inverse @ (m1 - m0))
    model = lda()
    assert model.boundary_point_ == pytest.approx(x0, abs=1e-10)
    assert w @ x0 == pytest.approx(-model.intercept_[0], abs=1e-9)  # wᵀx0 = −(γ1 − γ0)
    assert model.predict_proba(NEW)[:, 1] == pytest.approx(sigmoid((NEW - x0) @ w), abs=1e-10)
    assert (model.predict(NEW) == (NEW @ w > w @ x0)).all()


def test_the_boundary_of_any_two_of_several_classes_is_linear_too():
    edge, inverse = lda(Z, kinds).boundary(2, 0), np.linalg.inv(shared(Z, kinds))
    m0, m2 = Z[kinds == 0].mean(axis=0), Z[kinds == 2].mean(axis=0)
    odds = math.log((kinds == 2).mean() / (kinds == 0).mean())
    w = inverse @ (m2 - m0)
    x0 = 0.5 * (m2 + m0) - (m2 - m0) * odds / ((m2 - m0) @ inverse @ (m2 - m0))
    assert edge.w == pytest.approx(w, abs=1e-10)
    assert edge.x0 == pytest.approx(x0, abs=1e-10)
    assert edge.b == pytest.approx(-w @ x0, abs=1e-9)
    joint = [
        math.log((kinds == c).mean()) + log_normal(NEW, Z[kinds == c].mean(axis=0), shared(Z, kinds)) for c in (0, 2)
    ]
    assert edge.log_odds(NEW) == pytest.approx(joint[1] - joint[0], abs=1e-9)
    assert edge.projection(NEW) == pytest.approx((NEW - x0) @ w / np.linalg.norm(w), abs=1e-9)


def test_x0_is_halfway_between_the_means_if_the_classes_are_equally_probable():
    m0, m1 = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
    model = lda(class_prior="uniform")
    assert model.boundary_point_ == pytest.approx(0.5 * (m0 + m1), abs=1e-10)
    w = np.linalg.inv(shared(X, y)) @ (m1 - m0)
    assert w @ model.boundary_point_ == pytest.approx(0.5 * w @ (m1 + m0), abs=1e-10)  # c = ½ wᵀ(μ1 + μ0)


@pytest.mark.parametrize("pi", [0.1, 0.5, 0.9, 0.999])
def test_x0_moves_away_from_the_mean_of_the_more_probable_class(pi):
    m0, m1, inverse = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0), np.linalg.inv(shared(X, y))
    model = lda(class_prior=[1 - pi, pi])
    place = (model.boundary_point_ - m0) @ (m1 - m0) / ((m1 - m0) @ (m1 - m0))  # 0 at μ0, 1 at μ1
    assert place == pytest.approx(0.5 - math.log(pi / (1 - pi)) / ((m1 - m0) @ inverse @ (m1 - m0)), abs=1e-10)
    assert (place < 0.5) == (pi > 0.5)


def test_with_one_variance_for_all_columns_w_points_from_one_mean_to_the_other():
    model = GaussianDiscriminant("tied-spherical", prior=None).fit(X, y)
    m0, m1 = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
    away = X - np.array([m0, m1])[y]
    variance = (away**2).mean()  # σ², over all cells
    assert model.coef_[0] == pytest.approx((m1 - m0) / variance, abs=1e-10)


def test_with_one_variance_rows_are_classified_by_their_projection_on_the_line_through_the_means():
    model = GaussianDiscriminant("tied-spherical", prior=None, class_prior="uniform").fit(X, y)
    m0, m1 = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
    along = (NEW - m0) @ (m1 - m0) / np.linalg.norm(m1 - m0)  # the place of each row on the line, from μ0
    nearer_1 = np.abs(along - np.linalg.norm(m1 - m0)) < np.abs(along)
    assert (model.predict(NEW) == nearer_1).all()


def test_projections_on_the_discriminant_direction_classify_as_the_rows_do():
    model = lda(class_prior="uniform")
    projected = model.transform(X)
    w = np.linalg.inv(shared(X, y)) @ (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    direction = model.scalings_[:, 0]
    assert abs(direction @ w) == pytest.approx(np.linalg.norm(direction) * np.linalg.norm(w), rel=1e-10)  # parallel
    again = lda(projected, y, class_prior="uniform")
    assert (again.predict(model.transform(NEW)) == model.predict(NEW)).all()


def test_the_unbiased_covariance_of_other_textbooks_is_a_setting():
    # the course divides by m; textbooks and R divide by m − k
    from suffice import NormalInverseWishart

    (found,) = GaussianDiscriminant("tied", prior=NormalInverseWishart(0)).fit(X, y).distributions_
    assert found.covariance()[0] == pytest.approx(shared(X, y) * 32 / 30, abs=1e-10)


def test_one_class_by_itself_is_the_gaussian_of_its_rows():
    (found,) = GaussianDiscriminant("full", prior=None).fit(Z, kinds).distributions_
    alone = Gaussian("full").fit(Z[kinds == 2])
    assert found[2].log_prob(NEW) == pytest.approx(log_normal(NEW, *by_hand(Z, kinds, 2)[1:]), abs=1e-10)
    assert alone.log_prob(NEW) == pytest.approx(log_normal(NEW, *by_hand(Z, kinds, 2)[1:]), abs=1e-10)
