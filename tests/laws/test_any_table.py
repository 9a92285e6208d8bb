"""Whatever numbers a table holds, a model is fitted and its answers are finite, or one clear error says why not."""

import warnings
from functools import partial

import numpy as np
import pytest

from suffice import (
    GLM,
    GaussianDiscriminant,
    GenerativeClassifier,
    LogisticRegression,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    SoftKMeans,
)

STRUCTURES = ["full", "tied", "diagonal", "spherical", "VEI", "EVE", "VVE", "EEV", "VEE"]
KINDS = {
    "normal": lambda X, rng: X,
    "whole numbers": lambda X, rng: np.round(3.0 * X),
    "columns twice": lambda X, rng: X[:, np.arange(X.shape[1]) // 2],
    "constant columns": lambda X, rng: np.where(np.arange(X.shape[1]) % 2, X, 3.0),
    "columns of all sizes": lambda X, rng: X * 10.0 ** rng.integers(-12, 12, X.shape[1]),
    "heavy tails": lambda X, rng: np.tan(1.5 * np.tanh(X)) ** 3,
    "two dimensions": lambda X, rng: X[:, :1] @ rng.normal(size=(1, X.shape[1])) + X[:, -1:],
    "zeros and ones": lambda X, rng: (X > 0).astype(float),
    "one of many": lambda X, rng: np.eye(X.shape[1])[rng.integers(0, X.shape[1], len(X))],
    "tiny": lambda X, rng: 1e-100 * X,
    "far from 0": lambda X, rng: X + 1e8,
}


def models(rng):
    """Yield each estimator with settings drawn at random."""
    structure, prior, alpha = (
        rng.choice(STRUCTURES),
        [None, "auto"][rng.integers(2)],
        float(rng.choice([0.0, 1e-3, 1.0])),
    )
    yield LogisticRegression(alpha, fit_intercept=bool(rng.integers(2)))
    yield GLM(str(rng.choice(["gaussian", "poisson", "gamma"])), alpha=alpha)
    yield NaiveBayes(prior=prior)
    yield GaussianDiscriminant(str(structure), prior=prior)
    yield Mixture(2, covariance=str(structure), prior=prior, max_iter=30, random_state=0)
    yield Mixture(3, covariance=str(structure), prior=prior, max_iter=30, random_state=0)
    yield SoftKMeans(3, max_iter=30, random_state=0)
    yield MixtureSearch(2, [str(structure), "EII"], max_iter=30, random_state=0)
    yield GenerativeClassifier(n_components=2, random_state=0)


def complaint(model, X, y, weight):
    """Fit a model, and return the error where there is one."""
    try:
        model.fit(X, y, sample_weight=weight)
    except ValueError as error:
        return error
    return None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_finite_or_one_error_says_why(kind, seed):
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    n, d = int(rng.choice([2, 3, 5, 10, 40])), int(rng.choice([1, 2, 3, 8, 30]))
    X = KINDS[kind](rng.normal(size=(n, d)), rng)
    y = rng.integers(0, min(3, n), n)
    weight = rng.choice([0.0, 1e-3, 1.0, 2.5], n) if seed % 3 == 0 else None
    for model in models(rng):
        response = np.abs(np.round(2.0 * rng.normal(size=n))) + 0.1 if isinstance(model, GLM) else y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            error = complaint(model, X, response, weight)
            assert error is None or (len(str(error)) > 40 and not isinstance(error, np.linalg.LinAlgError)), model
            answers = [] if error else ["predict", "predict_proba", "score_samples"]
            for name in filter(partial(hasattr, model), answers):
                assert np.isfinite(getattr(model, name)(X)).all(), (model, name)
