"""The log-likelihood of rows with their classes: joint, conditional, and of rows without labels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError

import suffice
from suffice import GaussianDiscriminant, GenerativeClassifier, Mixture, NaiveBayes

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal([3, 1], 1, (60, 2))])
y = np.repeat(["a", "b"], [40, 60])


def test_the_joint_log_likelihood_is_that_of_the_course():
    model = GaussianDiscriminant("tied", prior=None).fit(X, y)
    means = [X[:40].mean(0), X[40:].mean(0)]
    sigma = ((X[:40] - means[0]).T @ (X[:40] - means[0]) + (X[40:] - means[1]).T @ (X[40:] - means[1])) / 100
    hand = sum(
        np.log(share) + multivariate_normal(mean, sigma).logpdf(rows)
        for share, mean, part in ((0.4, means[0], X[:40]), (0.6, means[1], X[40:]))
        for rows in part
    )
    assert model.log_likelihood(X, y) == pytest.approx(hand)


def test_joint_and_conditional_differ_by_the_log_likelihood_of_the_rows():
    model = NaiveBayes().fit(X, y)
    joint, conditional = model.log_likelihood(X, y), model.log_likelihood(X, y, conditional=True)
    assert joint - conditional == pytest.approx(model.score_samples(X).sum())
    own = model.predict_log_proba(X)[np.arange(100), (y == "b").astype(int)]
    assert conditional == pytest.approx(own.sum())
    assert model.log_likelihood(X) == pytest.approx(model.score_samples(X).sum())


def test_maximum_likelihood_maximises_it_and_logistic_regression_the_conditional_one():
    model = GaussianDiscriminant("tied", prior=None).fit(X, y)
    best = model.log_likelihood(X, y)
    for other in (GaussianDiscriminant("tied", prior=None).fit(X + 0.1, y), GaussianDiscriminant("tied").fit(X, y)):
        assert other.log_likelihood(X, y) < best
    logistic = suffice.LogisticRegression().fit(X, y)
    conditional = np.log(logistic.predict_proba(X))[np.arange(100), (y == "b").astype(int)].sum()
    assert conditional >= model.log_likelihood(X, y, conditional=True)


def test_rows_without_a_label_add_their_own_log_likelihood():
    model = NaiveBayes().fit(X, y)
    some = y.astype(object)
    some[::3] = None
    there = np.arange(100) % 3 != 0
    expected = model.log_likelihood(X[there], y[there]) + model.score_samples(X[~there]).sum()
    assert model.log_likelihood(X, some) == pytest.approx(expected)
    conditional = model.log_likelihood(X[there], y[there], conditional=True)
    assert model.log_likelihood(X, some, conditional=True) == pytest.approx(conditional)
    numbers = NaiveBayes().fit(X, np.where(y == "a", 0, 1))
    marked = np.where(there, np.where(y == "a", 0, 1), -1)
    assert numbers.log_likelihood(X, marked) == pytest.approx(expected)


def test_it_is_the_bound_of_em_with_missing_labels():
    some = y.astype(object)
    some[::2] = None
    model = GenerativeClassifier(prior=None, missing_label=None, tol=1e-13, max_iter=2000).fit(X, some)
    assert model.log_likelihood(X, some) == pytest.approx(model.bound_history_[-1], rel=1e-9)


def test_a_weight_of_2_counts_a_row_twice_and_of_0_not_at_all():
    model = NaiveBayes().fit(X, y)
    weight = np.arange(100) % 3
    repeated = np.repeat(np.arange(100), weight)
    for conditional in (False, True):
        assert model.log_likelihood(X, y, weight, conditional=conditional) == pytest.approx(
            model.log_likelihood(X[repeated], y[repeated], conditional=conditional)
        )
    mixture = Mixture(2, random_state=0).fit(X)
    assert mixture.log_likelihood(X, weight) == pytest.approx(mixture.log_likelihood(X[repeated]))
    assert mixture.log_likelihood(X) == pytest.approx(mixture.score(X) * 100)


def test_class_probabilities_are_labels_too():
    model = NaiveBayes().fit(X, y)
    soft = pd.DataFrame(rng.dirichlet([1, 1], 100), columns=["a", "b"])
    joint = model.predict_joint_log_proba(X)
    assert model.log_likelihood(X, soft) == pytest.approx((soft.to_numpy() * joint).sum())
    soft.loc[5] = np.nan
    left = (soft.to_numpy() * joint)[np.arange(100) != 5].sum() + logsumexp(joint[5])
    assert model.log_likelihood(X, soft) == pytest.approx(left)


def test_any_table_and_any_source_give_the_same(tmp_path):
    frame = pd.DataFrame(X, columns=["u", "v"])
    model = NaiveBayes().fit(frame, y)
    expected = model.log_likelihood(frame, y)
    for table in (frame[["v", "u"]], pl.from_pandas(frame).with_columns(w=1), X, X.tolist()):
        assert model.log_likelihood(table, y) == pytest.approx(expected)
    assert model.log_likelihood(suffice.stream([(X[:30], y[:30]), (X[30:], y[30:])])) == pytest.approx(expected)
    frame.assign(kind=y).to_parquet(tmp_path / "rows.parquet")
    assert model.log_likelihood(suffice.scan(tmp_path / "rows.parquet", target="kind")) == pytest.approx(expected)
    suffice.save(model, tmp_path / "m")
    assert suffice.load(tmp_path / "m").log_likelihood(frame, y) == expected


def test_several_components_per_class_are_summed():
    model = GenerativeClassifier(n_components=2, random_state=0).fit(X, y)
    joint = model.predict_joint_log_proba(X)
    assert model.log_likelihood(X, y) == pytest.approx(joint[np.arange(100), (y == "b").astype(int)].sum())


def test_what_is_impossible_has_minus_infinity():
    model = NaiveBayes("bernoulli", prior=None).fit([[1], [1], [0], [1]], ["a", "a", "b", "b"])
    assert model.log_likelihood([[0]], ["a"]) == -np.inf
    assert model.log_likelihood([[0]], ["a"], conditional=True) == -np.inf
    assert model.log_likelihood([[0]], ["a"], [0.0]) == 0.0


def test_what_cannot_be_used_is_refused():
    model = NaiveBayes().fit(X, y)
    with pytest.raises(ValueError, match="pass y"):
        model.log_likelihood(X, conditional=True)
    with pytest.raises(ValueError, match="'c'"):
        model.log_likelihood(X[:2], ["a", "c"])
    with pytest.raises(ValueError, match="one label per row"):
        model.log_likelihood(X, y[:3])
    with pytest.raises(ValueError, match="features"):
        model.log_likelihood(X[:, :1], y)
    with pytest.raises(ValueError, match="0 sample"):
        model.log_likelihood(X[:0], y[:0])
    with pytest.raises(ValueError, match="beside it"):
        model.log_likelihood(suffice.stream([(X, y)]), y)
    with pytest.raises(NotFittedError):
        NaiveBayes().log_likelihood(X, y)
