"""Sample from a model, fit, and the parameters come back within their standard errors."""

import numpy as np
import pytest

from suffice import GenerativeClassifier

from .cases import CASES, GAUSSIANS, MULTINOMIAL, TEXT, Shape, each, in_order_of_words


@each(CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_parameters_come_back_within_their_standard_errors(case, seed):
    x, y = case.table(Shape(seed, 200, 3, 3))
    truth = case.model().fit(x, y)
    rows, labels = truth.sample(30_000, random_state=seed)
    again = case.model(prior=None).fit(rows, labels)
    count = again.statistics_.class_count[:, None]
    share = truth.class_prior_
    assert (np.abs(again.class_prior_ - share) < 5 * np.sqrt(share * (1 - share) / len(labels))).all()
    true, found = truth.distributions_[0], again.distributions_[0]
    if case in GAUSSIANS:
        assert (np.abs(found.means - true.means) < 5 * np.sqrt(true.variance() / count)).all()
        variance = np.einsum("kii->ki", true.covariance())
        # Var S_ij = (Σ_ij² + Σ_ii Σ_jj) / n
        error = np.sqrt((true.covariance() ** 2 + variance[:, :, None] * variance[:, None, :]) / count[:, :, None])
        off = np.abs(found.covariance() - true.covariance())
        assert (off <= 5 * error).all()
        assert (off > 1e-4 * error).any()  # it did not just copy the truth
        return
    (p,), (q,) = in_order_of_words(truth, 0), in_order_of_words(again, 0)
    if case in (MULTINOMIAL, TEXT):
        count = again.statistics_.joint.blocks[0].total.sum(1, keepdims=True)
    spread = np.einsum("kii->ki", true.statistic_covariance())  # words of the first table are in alphabetical order
    assert (np.abs(p - q) < 5 * np.sqrt(spread / count)).all()
    assert (p != q).any()


@each(CASES)
def test_the_same_seed_draws_the_same_rows(case):
    x, y = case.table(Shape(3, 20, 2, 2))
    model = case.model().fit(x, y)
    (a, u), (b, v) = model.sample(20, random_state=7), model.sample(20, random_state=7)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(u, v)
    assert not np.array_equal(a, model.sample(20, random_state=8)[0])


def test_a_mixed_sample_is_a_table_that_the_model_reads():
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"size": rng.normal(size=90), "word": rng.choice(["p", "q", "r"], 90), "flag": rng.random(90) < 0.3}
    )
    labels = rng.choice(["u", "v"], 90)
    truth = GenerativeClassifier().fit(table, labels)
    rows, drawn = truth.sample(20_000, random_state=1)
    assert isinstance(rows, pd.DataFrame)
    assert rows.columns.tolist() == table.columns.tolist()
    again = GenerativeClassifier().fit(rows, drawn)
    for a, b in zip(truth.distributions_, again.distributions_, strict=True):
        np.testing.assert_allclose(a.moment_parameters(), b.moment_parameters(), atol=0.08)
    assert truth.predict_proba(rows).shape == (20_000, 2)
