"""The jobs: the same data for scikit-learn and for us, and a check that both give the same answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import discriminant_analysis, naive_bayes

from suffice import dropin


@dataclass
class Job:
    """One piece of work; `same` compares the two results."""

    name: str
    theirs: Callable[[], Any]
    ours: Callable[[], Any]
    same: Callable[[Any, Any], bool]
    data_bytes: float
    #: floating-point operations that the matrix products need, and bytes that must be read at least
    operations: float


def _posteriors_agree(theirs: Any, ours: Any) -> bool:
    return bool(np.allclose(theirs, ours, atol=1e-7))


def _pair(
    name: str,
    theirs: Any,
    ours: Any,
    X: Any,
    y: Any,
    *,
    fit_flops: float,
    predict_flops: float,
    predict: str = "predict_proba",
) -> Iterator[Job]:
    """Yield the fit and the prediction of two models of the same kind."""
    size = X.data.nbytes if sparse.issparse(X) else X.nbytes

    def fitted_alike(a: Any, b: Any) -> bool:
        few = slice(0, 2000)
        return _posteriors_agree(a.predict_proba(X[few]), b.predict_proba(X[few]))

    yield Job(f"{name} fit", lambda: theirs.fit(X, y), lambda: ours.fit(X, y), fitted_alike, size, fit_flops)
    yield Job(
        f"{name} {predict}",
        lambda: getattr(theirs, predict)(X),
        lambda: getattr(ours, predict)(X),
        _posteriors_agree,
        size,
        predict_flops,
    )


def jobs(scale: float) -> Iterator[Job]:
    """Yield all jobs, with `scale` times their full number of rows; data is made as it is needed."""
    rng = np.random.default_rng(0)
    n, d, k = int(1_000_000 * scale), 50, 10
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) + 0.1 * y[:, None]
    shape = f"{n:,} × {d}, {k} classes"
    yield from _pair(
        f"GaussianNB {shape}",
        naive_bayes.GaussianNB(),
        dropin.GaussianNB(),
        X,
        y,
        fit_flops=4.0 * n * d,
        predict_flops=4.0 * n * d * k,
    )
    half = n // 2
    X, y = X[:half].copy(), y[:half].copy()
    shape = f"{half:,} × {d}, {k} classes"
    yield from _pair(
        f"LDA {shape}",
        discriminant_analysis.LinearDiscriminantAnalysis(),
        dropin.LinearDiscriminantAnalysis(),
        X,
        y,
        fit_flops=1.0 * half * d * (d + 3),
        predict_flops=2.0 * half * d * k,
    )
    yield from _pair(
        f"QDA {shape}",
        discriminant_analysis.QuadraticDiscriminantAnalysis(),
        dropin.QuadraticDiscriminantAnalysis(),
        X,
        y,
        fit_flops=1.0 * half * d * (d + 3),
        predict_flops=1.0 * half * d * (d + 1) * k,
    )
    del X
    columns, values = 20, 10
    codes = rng.integers(0, values, (n, columns))
    y = rng.integers(0, k, n)
    yield from _pair(
        f"CategoricalNB {n:,} × {columns}, {values} values",
        naive_bayes.CategoricalNB(),
        dropin.CategoricalNB(),
        codes,
        y,
        fit_flops=1.0 * n * columns,
        predict_flops=1.0 * n * columns * k,
        predict="predict",
    )
    del codes
    rows, words, cells, k = int(200_000 * scale), 50_000, int(9_000_000 * scale), 20
    where = (rng.integers(0, rows, cells), rng.integers(0, words, cells))
    bags = sparse.csr_array((rng.integers(1, 5, cells).astype(float), where), shape=(rows, words))
    bags.sum_duplicates()
    y = rng.integers(0, k, rows)
    shape = f"{rows:,} × {words:,} sparse, {k} classes"
    flops = {"fit_flops": 2.0 * bags.nnz, "predict_flops": 2.0 * bags.nnz * k}
    yield from _pair(f"MultinomialNB {shape}", naive_bayes.MultinomialNB(), dropin.MultinomialNB(), bags, y, **flops)
    ones = bags.copy()
    ones.data = np.ones_like(ones.data)
    yield from _pair(f"BernoulliNB {shape}", naive_bayes.BernoulliNB(), dropin.BernoulliNB(), ones, y, **flops)
