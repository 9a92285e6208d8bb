"""Random problems and settings: every drop-in class answers as scikit-learn's does, and fits the same attributes.

A problem may have columns that are constant and an offset of 1e8. These cost scikit-learn digits, so that it then gets
the same table without the offset: every cell is a multiple of 1/64, so that the offset is exact, and none of these
models minds where zero is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import sklearn.discriminant_analysis
import sklearn.mixture
import sklearn.naive_bayes
from scipy import sparse

from suffice import dropin

OFFSET = 1e8
FEW, MANY = 300, 1750
TOLERANCE = 1e-8


@dataclass
class Problem:
    """Rows to learn from, rows to predict, and the settings of an estimator."""

    name: str
    X: np.ndarray
    y: np.ndarray | None
    new: np.ndarray
    params: dict[str, Any]
    weight: np.ndarray | None = None
    #: what is added to our rows and not to theirs
    offset: float = 0.0
    #: the rows of each call of partial_fit; none is one call of fit
    batches: list[np.ndarray] = field(default_factory=list)
    sparse: bool = False
    #: what has to be the same, relative to its largest entry
    attributes: tuple[str, ...] = ()


def labels(rng, n, k):
    """Return labels of k classes, each with a row at least, as numbers or words."""
    y = rng.permutation(np.concatenate([np.arange(k), rng.integers(0, k, n - k)]))
    return y, [np.array(["d", "b", "c", "a", "e"])[y], y * 3 - 1, y.astype(float), y % 2 == 0 if k == 2 else y][
        rng.integers(4)
    ]


def weights(rng, n):
    """Return weights of rows, some of them 0, or None."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.uniform(0.1, 3.0, n)
    if kind == 1:
        return np.where(rng.random(n) < 0.2, 0.0, rng.integers(1, 4, n)).astype(float)
    return None


def given_prior(rng, k):
    return rng.dirichlet(np.ones(k)) if rng.random() < 0.3 else None


def numbers(rng, y, d, *, spread=1.0):
    """Return rows of Gaussian classes, in multiples of 1/64."""
    k = y.max() + 1
    mixing = np.eye(d) + 0.3 * rng.uniform(-1, 1, (k, d, d))
    X = np.einsum("nd,nde->ne", rng.standard_normal((len(y), d)), mixing[y]) * spread
    return np.round(64.0 * (X + rng.normal(0, 1.5, (k, d))[y])) / 64.0


def gaussian_nb(rng):
    n, d, k = int(rng.integers(6, 80)), int(rng.integers(1, 9)), int(rng.integers(1, 6))
    codes, y = labels(rng, n, k)
    X = numbers(rng, codes, d) * 2.0 ** rng.integers(-3, 6, d)
    new = X[rng.permutation(n)] + np.round(64 * rng.normal(size=X.shape)) / 64
    if d > 1 and rng.random() < 0.2:  # where all columns are constant, theirs is 0 / 0
        X[:, 0] = new[:, 0] = 3.0
    params = {"priors": given_prior(rng, k), "var_smoothing": float(10 ** rng.uniform(-9, 0))}
    offset = OFFSET if rng.random() < 0.2 else 0.0
    attributes = ("theta_", "var_", "epsilon_", "class_prior_", "class_count_")
    problem = Problem("GaussianNB", X, y, new, params, weights(rng, n), offset, attributes=attributes)
    if rng.random() < 0.2:
        problem.batches = [np.arange(n)]  # of several batches scikit-learn's smoothing is that of the last alone
    return problem


def discrete(rng, name):
    n, d, k = int(rng.integers(6, 80)), int(rng.integers(1, 12)), int(rng.integers(1, 6))
    _, y = labels(rng, n, k)
    X = rng.poisson(rng.gamma(1.0, 1.0, size=d), size=(n, d)).astype(np.float64)
    if name == "CategoricalNB":
        X = rng.integers(0, rng.integers(1, 7, size=d), size=(n, d))
    params: dict[str, Any] = {
        "alpha": float(10 ** rng.uniform(-3, 2)),
        "class_prior": given_prior(rng, k),
        "fit_prior": bool(rng.random() < 0.7),
        "force_alpha": bool(rng.random() < 0.8),
    }
    if rng.random() < 0.2:
        params["alpha"] = float(rng.choice([0.0, 1e-12]))
        params["force_alpha"] = False  # scikit-learn divides 0 by 0 otherwise
    elif name in ("MultinomialNB", "ComplementNB") and rng.random() < 0.3:
        params["alpha"] = rng.uniform(0.1, 3.0, size=d)
    if name == "ComplementNB":
        params["norm"] = bool(d > 1 and rng.random() < 0.5)  # of one column scikit-learn's is 0 / 0
    if name == "BernoulliNB":
        params["binarize"] = float(rng.choice([0.0, 0.5, 1.0, 2.0]))
        if rng.random() < 0.2:
            params["binarize"], X = None, (X > 0).astype(np.float64)
    if name == "CategoricalNB" and rng.random() < 0.5:
        most = int(X.max()) + 1
        params["min_categories"] = most + 2 if rng.random() < 0.5 else X.max(0) + rng.integers(1, 3, d)
    own = {
        "CategoricalNB": ("category_count_", "n_categories_"),
        "ComplementNB": ("feature_all_", "feature_count_"),
    }.get(name, ("feature_count_",))
    attributes = (*own, "feature_log_prob_", "class_log_prior_", "class_count_")
    problem = Problem(name, X, y, X[rng.permutation(n)], params, weights(rng, n), attributes=attributes)
    problem.sparse = name != "CategoricalNB" and rng.random() < 0.4
    if rng.random() < 0.3 and not (name == "CategoricalNB" and "min_categories" not in params):
        problem.batches = np.array_split(np.arange(n), rng.integers(1, 4))
    return problem


def linear(rng):
    d, k = int(rng.integers(1, 8)), int(rng.integers(2, 6))
    n = int(rng.integers(k * (d + 4), 200))
    codes, y = labels(rng, n, k)
    X, new = numbers(rng, codes, d), numbers(rng, codes, d, spread=2.0)
    solver = ["svd", "lsqr", "eigen"][rng.integers(3)]
    shrinkage = [None, "auto", float(rng.uniform(0.05, 1.0))][rng.integers(3)] if solver != "svd" else None
    if d > 1 and rng.random() < 0.2 and (solver == "svd" or isinstance(shrinkage, float)):
        X[:, 0] = new[:, 0] = 3.0  # constant; scikit-learn's other solvers have no answer
    params = {"solver": solver, "shrinkage": shrinkage, "priors": given_prior(rng, k)}
    if rng.random() < 0.4:
        params["store_covariance"] = True
    if rng.random() < 0.3:
        params["n_components"] = 1
    attributes = ("coef_", "intercept_", "means_", "priors_", "covariance_", "explained_variance_ratio_")
    offset = OFFSET if rng.random() < 0.2 else 0.0
    if offset:
        attributes = tuple(name for name in attributes if name != "intercept_")  # which moves with zero
    return Problem("LinearDiscriminantAnalysis", X, y, new, params, offset=offset, attributes=attributes)


def quadratic(rng):
    d, k = int(rng.integers(1, 7)), int(rng.integers(2, 5))
    codes = np.concatenate([np.repeat(np.arange(k), d + 5), rng.integers(0, k, rng.integers(100))])
    y = codes if rng.random() < 0.5 else np.array(["d", "b", "c", "a"])[codes]
    X, new = numbers(rng, codes, d), numbers(rng, codes, d, spread=2.0)
    params: dict[str, Any] = [
        {},
        {"reg_param": float(rng.uniform(0.0, 1.0))},
        {"solver": "eigen"},
        {"solver": "eigen", "shrinkage": "auto"},
        {"solver": "eigen", "shrinkage": float(rng.uniform(0.05, 1.0))},
    ][rng.integers(5)]
    params |= {"priors": given_prior(rng, k), "store_covariance": bool(rng.random() < 0.5)}
    if rng.random() < 0.3:
        params["tol"] = float(rng.choice([0.0, 1e-7]))
    if d > 1 and rng.random() < 0.2 and params.get("reg_param", params.get("shrinkage")) is not None:
        X[:, 0] = new[:, 0] = 3.0
    offset = OFFSET if rng.random() < 0.2 else 0.0
    attributes = ("means_", "priors_", "scalings_", "covariance_")
    return Problem("QuadraticDiscriminantAnalysis", X, y, new, params, offset=offset, attributes=attributes)


def mixture(rng):
    n, d, k = int(rng.integers(40, 300)), int(rng.integers(1, 5)), int(rng.integers(1, 5))
    X = numbers(rng, rng.integers(0, 3, n), d)
    kind = ["full", "tied", "diag", "spherical"][rng.integers(4)]
    params: dict[str, Any] = {
        "n_components": k,
        "covariance_type": kind,
        "init_params": ["kmeans", "k-means++", "random", "random_from_data"][rng.integers(4)],
        "random_state": int(rng.integers(1000)),
        "max_iter": int(rng.integers(1, 15)),
        "tol": 0.0,
        "reg_covar": float(10 ** rng.uniform(-6, 0)),
        "n_init": int(rng.integers(1, 3)),
    }
    shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[kind]
    spread = rng.normal(size=(k, d, 2 * d))
    matrices = spread @ spread.transpose(0, 2, 1) / (2 * d)
    precisions = {"full": matrices, "tied": matrices[0]}.get(kind, rng.uniform(0.5, 2.0, shape))
    start = {
        "weights_init": rng.dirichlet(np.full(k, 5.0)),
        "means_init": X[rng.choice(n, k, replace=False)],
        "precisions_init": precisions,
    }
    # without a start, distances between rows decide, and these are not the same to the last digit with an offset
    offset = OFFSET if rng.random() < 0.2 else 0.0
    params |= {name: value for name, value in start.items() if offset or rng.random() < 0.4}
    attributes = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")
    attributes += ("lower_bound_", "n_iter_", "converged_")
    return Problem("GaussianMixture", X, None, X, params, offset=offset, attributes=attributes)


KINDS = {
    "GaussianNB": gaussian_nb,
    "BernoulliNB": lambda rng: discrete(rng, "BernoulliNB"),
    "CategoricalNB": lambda rng: discrete(rng, "CategoricalNB"),
    "ComplementNB": lambda rng: discrete(rng, "ComplementNB"),
    "MultinomialNB": lambda rng: discrete(rng, "MultinomialNB"),
    "LinearDiscriminantAnalysis": linear,
    "QuadraticDiscriminantAnalysis": quadratic,
    "GaussianMixture": mixture,
}


def theirs_of(name):
    for module in (sklearn.naive_bayes, sklearn.discriminant_analysis, sklearn.mixture):
        if hasattr(module, name):
            return getattr(module, name)
    raise AssertionError(name)


def fitted(kind, problem, offset):
    params = dict(problem.params)
    if "means_init" in params:
        params["means_init"] = params["means_init"] + offset
    model = kind(**params)
    X = problem.X + offset if offset else problem.X
    X = sparse.csr_array(X) if problem.sparse else X
    if problem.y is None:
        return model.fit(X)
    weight = {} if problem.weight is None else {"sample_weight": problem.weight}
    if not problem.batches:
        return model.fit(X, problem.y, **weight)
    for rows in problem.batches:
        part = {} if problem.weight is None else {"sample_weight": problem.weight[rows]}
        model.partial_fit(X[rows], problem.y[rows], classes=np.unique(problem.y), **part)
    return model


def close(found, expected, what, *, tolerance=TOLERANCE, scale=None):
    if isinstance(expected, list):
        assert len(found) == len(expected), what
        for one, other in zip(found, expected, strict=True):
            close(one, other, what, tolerance=tolerance)
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, what
    size = max(float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)), 1e-12) if scale is None else scale
    np.testing.assert_allclose(found, expected, rtol=10 * tolerance, atol=tolerance * size, err_msg=what)


def without_offset(values, name, problem):
    """Return an attribute of ours as it would be without the offset."""
    if problem.offset and name in ("theta_", "means_"):
        return values - problem.offset
    return values


def tolerance_of(problem):
    """Return how far apart answers may be: rounding of the parameters themselves may be larger than 1e-8."""
    if problem.offset:  # means near 1e8 have seven decimals, which small variances and iterations of EM magnify
        return 1e-5 if problem.name in ("GaussianNB", "GaussianMixture") else 1e-6
    if problem.name == "BernoulliNB" and np.max(problem.params["alpha"]) < 1e-9:
        return 1e-5  # 1 − p of a p next to 1 has as few digits in theirs as in ours
    return TOLERANCE


def check(problem):
    ours = fitted(getattr(dropin, problem.name), problem, problem.offset)
    theirs = fitted(theirs_of(problem.name), problem, 0.0)
    tolerance = tolerance_of(problem)
    for name in problem.attributes:
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if hasattr(theirs, name):
            found, expected = without_offset(getattr(ours, name), name, problem), getattr(theirs, name)
            if problem.offset and name == "coef_" and len(expected) > 1:  # only their differences say anything
                found, expected = found - found.mean(0), expected - expected.mean(0)
            close(found, expected, name, tolerance=tolerance)
    if problem.y is not None:
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        assert ours.classes_.dtype == theirs.classes_.dtype
    assert ours.n_features_in_ == theirs.n_features_in_
    new = sparse.csr_array(problem.new) if problem.sparse else problem.new
    moved = new + problem.offset if problem.offset else new
    probabilities = theirs.predict_proba(new)
    close(ours.predict_proba(moved), probabilities, "predict_proba", tolerance=tolerance, scale=1.0)
    for method in ("predict_log_proba", "predict_joint_log_proba", "score_samples"):
        if hasattr(theirs, method):
            found, expected = getattr(ours, method)(moved), getattr(theirs, method)(new)
            if "Discriminant" in problem.name:
                # scikit-learn takes the logarithm of probabilities, which has few digits where these are next to 0 or 1
                likely = probabilities > 1e-4
                found, expected = found[likely], expected[likely]
            close(found, expected, method, tolerance=tolerance, scale=max(1.0, float(np.abs(expected).max(initial=0))))
    top = np.sort(probabilities, axis=1)
    clear = top[:, -1] > 1e-6 + (top[:, -2] if top.shape[1] > 1 else 0.0)
    np.testing.assert_array_equal(ours.predict(moved)[clear], theirs.predict(new)[clear])
    if problem.y is None:
        close(ours.score(moved), theirs.score(new), "score")
    elif clear.all():
        assert ours.score(moved, problem.y) == theirs.score(new, problem.y)


def run(name, seed):
    problem = KINDS[name](np.random.default_rng([seed, len(name)]))
    try:
        check(problem)
    except Exception as error:
        error.add_note(f"{name}, seed {seed}: {problem.params}, {problem.X.shape}, offset {problem.offset:g}")
        raise


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_random_problems_have_the_answers_of_scikit_learn(name):
    for seed in range(FEW // len(KINDS)):
        run(name, seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_many_random_problems_have_the_answers_of_scikit_learn(name):
    for seed in range(1000, 1000 + -(-MANY // len(KINDS))):
        run(name, seed)
