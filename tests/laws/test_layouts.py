"""What an array holds decides, not how it lies in memory: every layout gives what the plain float64 copy gives."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import suffice
from suffice import (
    GLM,
    GaussianDiscriminant,
    GenerativeClassifier,
    LogisticRegression,
    Mixture,
    MixtureSearch,
    NaiveBayes,
    SoftKMeans,
    dropin,
)

N = 36
rng = np.random.default_rng(0)
#: numbers that every type below holds exactly
y = np.arange(N) % 3
X = np.round(rng.gamma(2.0, 2.0 + y[:, None], (N, 3))) + 1.0
binary, counts = (X > 4).astype(float), X
codes = np.minimum(X, 6.0)
shares = X / 64.0
parts = np.stack([1.0 + y, 1.0 + X[:, 0] % 4, 14.0 - y - X[:, 0] % 4], axis=1) / 16.0
weights = np.array([0.5, 1.0, 2.0, 3.0])[rng.integers(0, 4, N)]
soft = np.eye(4)[y][:, :3] * 0.5 + 0.125 * np.array([1.0, 1.0, 2.0])
offset = np.array([0.0, 0.25, -0.5])[rng.integers(0, 3, N)]
assert (soft.sum(axis=1) == 1.0).all()


# -- layouts ----------------------------------------------------------------------------------------------------------


def strided(a):
    """Return a view with a gap after every element in every dimension."""
    wide = np.full([2 * n for n in a.shape], 77, dtype=a.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    view[...] = a
    return view


def every_second_row(a):
    return np.repeat(a, 2, axis=0)[::2]


def reversed_rows(a):
    return a[::-1].copy()[::-1]


def reversed_all(a):
    back = tuple(slice(None, None, -1) for _ in a.shape)
    return a[back].copy()[back]


def column_of_a_matrix(a):
    wide = np.full((len(a), 5, *a.shape[1:]), 77, dtype=a.dtype)
    wide[:, 3] = a
    return wide[:, 3]


def read_only(a):
    same = a.copy()
    same.flags.writeable = False
    return same


def unaligned(a):
    memory = np.zeros(a.nbytes + 1, dtype=np.uint8)[1:]
    same = memory.view(a.dtype).reshape(a.shape)
    same[...] = a
    assert not same.flags.aligned
    return same


def arrow_array(a):
    return pa.concat_arrays([pa.array([77.0]), pa.array(a)]).slice(1)


def arrow_chunks(a):
    return pa.chunked_array([[77.0], a[:5], a[5:6], [], a[6:]]).slice(1)


ARRAYS = {
    "strided": strided,
    "every second row": every_second_row,
    "reversed rows": reversed_rows,
    "reversed": reversed_all,
    "column of a matrix": column_of_a_matrix,
    "Fortran": np.asfortranarray,
    "big-endian": lambda a: a.astype(">f8"),
    "big-endian, strided": lambda a: strided(a.astype(">f8")),
    "read-only": read_only,
    "unaligned": unaligned,
    "float16": lambda a: a.astype(np.float16),
    "float32": lambda a: a.astype(np.float32),
    "float32, reversed": lambda a: reversed_all(a.astype(np.float32)),
    "big-endian float32": lambda a: a.astype(">f4"),
    "longdouble": lambda a: a.astype(np.longdouble),
    "object": lambda a: a.astype(object),
    "object, strided": lambda a: strided(a.astype(object)),
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "memory map": lambda a: a.view(np.memmap),
    "masked array": lambda a: np.ma.array(a),
}
INTEGERS = {
    **{str(np.dtype(kind)): lambda a, kind=kind: a.astype(kind) for kind in ("i1", "u2", "i4", "u8", ">i8", ">i4")},
    "strided int64": lambda a: strided(a.astype(np.int64)),
    "reversed int32": lambda a: reversed_all(a.astype(np.int32)),
    "unaligned int64": lambda a: unaligned(a.astype(np.int64)),
    "Fortran int64": lambda a: np.asfortranarray(a.astype(np.int64)),
    "list of integers": lambda a: a.astype(int).tolist(),
}
COLUMNS = {
    "pandas": pd.Series,
    "pandas, every second": lambda a: pd.Series(np.repeat(a, 2))[::2],
    "pandas, a column of a frame": lambda a: pd.DataFrame({"u": a, "v": a, "w": a})["v"],
    "pandas, float32": lambda a: pd.Series(a, dtype="float32"),
    "pandas, nullable": lambda a: pd.Series(a, dtype="Float64"),
    "pandas, Arrow-backed": lambda a: pd.Series(a, dtype="double[pyarrow]"),
    "pandas, a strange index": lambda a: pd.Series(a, index=np.arange(len(a))[::-1]),
    "pandas extension array": lambda a: pd.array(a, dtype="Float64"),
    "pandas index": pd.Index,
    "polars": pl.Series,
    "polars, every second": lambda a: pl.Series(np.repeat(a, 2))[::2],
    "polars, float32": lambda a: pl.Series(a, dtype=pl.Float32),
    "polars, two chunks": lambda a: pl.concat([pl.Series(a[:7]), pl.Series(a[7:])], rechunk=False),
    "Arrow array, sliced": arrow_array,
    "Arrow, several chunks": arrow_chunks,
    "frame of one column": lambda a: pd.DataFrame({"a": a}),
}
NAMES = ["a", "b", "c"]
FRAMES = {
    "pandas": lambda a: pd.DataFrame(a, columns=NAMES),
    "pandas, every second row": lambda a: pd.DataFrame(np.repeat(a, 2, axis=0), columns=NAMES)[::2],
    "pandas, column by column": lambda a: pd.DataFrame({name: strided(a[:, j]) for j, name in enumerate(NAMES)}),
    "pandas, mixed widths": lambda a: pd.DataFrame(a, columns=NAMES).astype({"b": "float32", "c": "float16"}),
    "pandas, nullable": lambda a: pd.DataFrame(a, columns=NAMES).astype("Float64"),
    "pandas, Arrow-backed": lambda a: pd.DataFrame(a, columns=NAMES).astype("double[pyarrow]"),
    "pandas, objects": lambda a: pd.DataFrame(a, columns=NAMES).astype(object),
    "polars": lambda a: pl.DataFrame(a, schema=NAMES),
    "polars, every second row": lambda a: pl.DataFrame(np.repeat(a, 2, axis=0), schema=NAMES)[::2],
    "Arrow": lambda a: pa.table(list(a.T), NAMES),
    "Arrow, several chunks": lambda a: pa.concat_tables(
        [pa.table(list(part.T), NAMES) for part in (a[:1], a, a[5:])]
    ).slice(1, len(a)),
}
SPARSE = {
    "csr_array": scipy.sparse.csr_array,
    "csc_matrix": scipy.sparse.csc_matrix,
    "coo_array": scipy.sparse.coo_array,
    "bsr_array": lambda a: scipy.sparse.bsr_array(a, blocksize=(2, 3)),
    "lil_matrix": scipy.sparse.lil_matrix,
    "dok_array": scipy.sparse.dok_array,
    "dia_array": scipy.sparse.dia_array,
    "float32": lambda a: scipy.sparse.csr_array(a.astype(np.float32)),
    "longdouble": lambda a: scipy.sparse.csr_array(a.astype(np.longdouble)),
    "integers": lambda a: scipy.sparse.csr_array(a.astype(np.int16)),
    "64-bit indices": lambda a: with_parts(a, index=lambda part: part.astype(np.int64)),
    "strided parts": lambda a: with_parts(a, strided, strided),
    "reversed parts": lambda a: with_parts(a, reversed_rows, reversed_rows),
    "unaligned parts": lambda a: with_parts(a, unaligned, unaligned),
    "read-only parts": lambda a: with_parts(a, read_only, read_only),
    "unsorted": lambda a: unsorted(a),
    "duplicates": lambda a: duplicated(a),
    "explicit zeros": lambda a: duplicated(a, second=0.0),
    "a slice of rows": lambda a: scipy.sparse.csr_array(np.concatenate([a, a]))[len(a) :],
}


def with_parts(a, data=lambda part: part, index=lambda part: part):
    same = scipy.sparse.csr_array(a)
    same.data, same.indices, same.indptr = data(same.data), index(same.indices), index(same.indptr)
    return same


def unsorted(a):
    same = scipy.sparse.csr_array(a)
    order = np.concatenate([np.arange(i, j)[::-1] for i, j in zip(same.indptr[:-1], same.indptr[1:], strict=True)])
    return scipy.sparse.csr_array((same.data[order], same.indices[order], same.indptr), a.shape)


def duplicated(a, second=0.25):
    """Return every cell as two entries that add up to it."""
    same = scipy.sparse.csr_array(a)
    data = np.repeat(same.data, 2) * np.tile([1.0 - second, second], same.nnz)
    return scipy.sparse.csr_array((data, np.repeat(same.indices, 2), 2 * same.indptr), a.shape)


# -- what is fitted ---------------------------------------------------------------------------------------------------


def parameters(model):
    """Return what a generative model has learned: the natural parameters of its distributions, and its sums."""
    found = [distributions.natural_parameters() for distributions in model.distributions_]
    return [*found, model.statistics_.joint.class_count]


def classified(model, X):
    return [model.predict(X), model.predict_proba(X), model.score_samples(X), *parameters(model)]


def fitted(make, results, X, y, w):
    return results(make().fit(X, y, sample_weight=w), X)


def in_batches(make, results, X, y, w):
    """Fit the rows twice over: what the sums of batches give."""
    model = make().partial_fit(X, y, sample_weight=w)
    return results(model.partial_fit(X, y, sample_weight=w), X)


def streamed(make, results, X, y, w):
    return results(make().fit(suffice.stream(lambda: iter([(X, y, w), (X, y, w)]))), X)


def mixed(model, X):
    return [model.predict_proba(X), model.score_samples(X), model.score(X), *parameters(model)]


def searched(model, X):
    return [model.predict(X), *(model.results_[name] for name in ("bic", "icl", "log_likelihood"))]


def theirs(model, X):
    names = ("theta_", "var_", "feature_log_prob_", "means_", "covariances_", "coef_", "class_count_", "priors_")
    found = [getattr(model, name) for name in names if hasattr(model, name)]
    return [model.predict(X), model.predict_proba(X), *(np.asarray(part) for part in found if part is not None)]


def regressed(model, X):
    return [
        model.predict(X),
        model.coef_,
        model.std_errors_,
        [model.intercept_, model.deviance_, model.log_likelihood_],
    ]


def logistic(model, X):
    return [model.predict(X), model.predict_proba(X), model.coef_, model.intercept_]


def of_family(family, X, y, w):
    """Return the posterior of a family, and its estimate; there is no y."""
    distribution = family.fit(X, w)
    return [family.posterior(X, sample_weight=w).mean(), distribution.natural_parameters(), distribution.log_prob(X)]


def ranked(X, y, w):
    return [row.bic for row in suffice.best_family(X, w)]


few = {"max_iter": 3, "tol": 0.0, "init": "random", "n_init": 1, "random_state": 0}
CLASSIFIERS = {
    **{
        f"NaiveBayes({name!r})": (table, partial(fitted, partial(NaiveBayes, name), classified))
        for name, table in {
            "gaussian": X, "bernoulli": binary, "categorical": codes, "multinomial": counts, "poisson": counts,
            "exponential": X, "gamma": X, "inverse_gaussian": X, "lognormal": X, "beta": shares, "dirichlet": parts,
            "negative_binomial": counts, "geometric": counts,
        }.items()
    },
    **{
        f"GaussianDiscriminant({name!r})": (X, partial(fitted, partial(GaussianDiscriminant, name), classified))
        for name in ("full", "tied", "diagonal", "spherical", "VEV")
    },
    "GenerativeClassifier": (
        X,
        partial(fitted, lambda: GenerativeClassifier({0: "poisson", (1, 2): "gaussian"}), classified),
    ),
    "components of classes": (
        X, partial(fitted, lambda: NaiveBayes(n_components={1: 2}, random_state=0, max_iter=3), classified)
    ),
    "partial_fit": (X, partial(in_batches, NaiveBayes, classified)),
    "partial_fit, full": (X, partial(in_batches, partial(GaussianDiscriminant, "full"), classified)),
    "stream": (X, partial(streamed, partial(GaussianDiscriminant, "tied"), classified)),
    "stream of categories": (codes, partial(streamed, partial(NaiveBayes, "categorical"), classified)),
}  # fmt: skip
UNLABELLED = {
    "Mixture": (X, partial(fitted, lambda: Mixture(2, **few), mixed)),
    "Mixture of categories": (codes, partial(fitted, lambda: Mixture(2, "categorical", **few), mixed)),
    "Mixture of a stream": (X, partial(streamed, lambda: Mixture(2, **few), mixed)),
    "Mixture.partial_fit": (X, partial(in_batches, lambda: Mixture(2, covariance="tied", **few), mixed)),
    "SoftKMeans": (X, partial(fitted, lambda: SoftKMeans(2, **few), mixed)),
    "MixtureSearch": (
        X, partial(fitted, lambda: MixtureSearch([1, 2], "VVV", n_init=1, max_iter=3, random_state=0), searched)
    ),
    "dropin.GaussianMixture": (
        X, partial(fitted, lambda: dropin.GaussianMixture(2, init_params="random", max_iter=3, random_state=0), theirs)
    ),
}  # fmt: skip
DROP_INS = {
    f"dropin.{make.__name__}": (table, partial(fitted, make, theirs))
    for make, table in {
        dropin.BernoulliNB: binary,
        dropin.CategoricalNB: codes,
        dropin.ComplementNB: counts,
        dropin.GaussianNB: X,
        dropin.LinearDiscriminantAnalysis: X,
        dropin.MultinomialNB: counts,
        dropin.QuadraticDiscriminantAnalysis: X,
    }.items()
}
REGRESSIONS = {
    f"GLM({family!r})": (X, partial(fitted, partial(GLM, family, alpha=0.5), regressed))
    for family in ("gaussian", "poisson", "gamma", "negative-binomial")
} | {
    "GLM of a stream": (X, partial(streamed, partial(GLM, "poisson"), regressed)),
    "LogisticRegression": (X, partial(fitted, partial(LogisticRegression, 0.5), logistic)),
}
FAMILIES = {
    f"{family!r}.posterior": (table, partial(of_family, family))
    for family, table in [
        (suffice.Gaussian("full"), X),
        (suffice.Gaussian("diagonal"), X),
        (suffice.Bernoulli(), binary),
        (suffice.Poisson(), counts),
        (suffice.Multinomial(), counts),
        (suffice.Exponential(), X),
    ]
} | {"best_family": (X[:, 0], ranked)}
ALL = {**CLASSIFIERS, **UNLABELLED, **DROP_INS, **REGRESSIONS, **FAMILIES}


def flat(results):
    """Return all numbers of nested lists of arrays as one array."""
    if isinstance(results, (list, tuple)):
        return np.concatenate([flat(part) for part in results])
    return np.asarray(results, dtype=np.float64).ravel()


def law(layouts, fit, wanted, tolerance=lambda name: 1e-12):
    """Fit every layout of something, and report all that do not give what is wanted."""
    wanted, wrong = flat(wanted), []
    assert np.isfinite(wanted).all()
    for name, layout in layouts.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # convergence, and columns as y
                found = flat(fit(layout))
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if found.shape != wanted.shape:
            wrong.append(f"{name}: {found.shape} in place of {wanted.shape} numbers")
            continue
        off = np.max(np.abs(found - wanted) / (1.0 + np.abs(wanted)))
        if not off <= tolerance(name):
            wrong.append(f"{name}: off by {off:.2g}")
    assert not wrong, "\n".join(wrong)


def reference(fit, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(*arguments)


#: models that see every layout; the others see a third of them, each another third, and what is slow to fit a ninth
EVERY = (
    "NaiveBayes('gaussian')", "NaiveBayes('categorical')", "NaiveBayes('poisson')", "GaussianDiscriminant('full')",
    "partial_fit", "stream", "Mixture", "GLM('poisson')", "dropin.GaussianNB",
    "dropin.LinearDiscriminantAnalysis",
)  # fmt: skip
SLOW = ("components of classes", "MixtureSearch")


def layouts_for(name, *kinds):
    found = {layout: make for kind in kinds for layout, make in kind.items()}
    step = 1 if name in EVERY else 9 if name in SLOW else 3
    return dict(list(found.items())[list(ALL).index(name) % step :: step])


@pytest.mark.parametrize("name", ALL)
def test_weights(name):
    table, fit = ALL[name]
    labels = y + 1.0
    wanted = reference(fit, table, labels, weights)
    law(layouts_for(name, ARRAYS, COLUMNS), lambda layout: fit(table, labels, layout(weights)), wanted)
    wanted = reference(fit, table, labels, 2.0 * weights)
    law(layouts_for(name, INTEGERS), lambda layout: fit(table, labels, layout(2.0 * weights)), wanted)
    wanted = reference(fit, table, labels, np.full(N, 2.0))
    law({"broadcast": np.broadcast_to}, lambda layout: fit(table, labels, layout(2.0, N)), wanted)


@pytest.mark.parametrize("name", [*CLASSIFIERS, *DROP_INS, *REGRESSIONS])
def test_labels_and_responses(name):
    table, fit = ALL[name]
    wanted = reference(fit, table, y + 1.0, weights)
    law(layouts_for(name, ARRAYS, COLUMNS, INTEGERS), lambda layout: fit(table, layout(y + 1.0), weights), wanted)


def almost(layout):
    """Rows of float32 are summed as they are, which is faster and costs digits."""
    return 1e-3 if "float32" in layout else 1e-12


@pytest.mark.parametrize("name", ALL)
def test_rows(name):
    table, fit = ALL[name]
    kinds = [ARRAYS, FRAMES if table.ndim == 2 else COLUMNS]
    if (table == np.round(table)).all():
        kinds.append(INTEGERS)
    wanted = reference(fit, table, y + 1.0, weights)
    law(layouts_for(name, *kinds), lambda layout: fit(layout(table), y + 1.0, weights), wanted, tolerance=almost)


@pytest.mark.parametrize("name", ["NaiveBayes('categorical')", "NaiveBayes('gaussian')", "dropin.CategoricalNB"])
def test_tables_that_are_cut_into_batches(name, monkeypatch):
    for module in ("tables.sources", "models.passes"):
        monkeypatch.setattr(f"suffice.{module}.BATCH_ROWS", 13)
    table, fit = ALL[name]
    labels, frame = y + 1.0, FRAMES["polars"](table)
    wanted = reference(fit, table, labels, weights)
    law(FRAMES, lambda layout: fit(layout(table), labels, weights), wanted)
    law(ARRAYS | COLUMNS, lambda layout: fit(frame, layout(labels), layout(weights)), wanted)


# -- sparse rows ------------------------------------------------------------------------------------------------------

zeros = np.where(rng.random(X.shape) < 0.4, 0.0, X)
SPARSE_FITS = {
    **{
        f"NaiveBayes({name!r})": (table, partial(fitted, partial(NaiveBayes, name), classified))
        for name, table in {
            "gaussian": zeros, "bernoulli": np.sign(zeros), "multinomial": zeros, "poisson": zeros,
            "categorical": zeros, "geometric": zeros,
        }.items()
    },
    "GaussianDiscriminant": (zeros, partial(fitted, partial(GaussianDiscriminant, "full"), classified)),
    "Mixture": (zeros, partial(fitted, lambda: Mixture(2, "poisson", **few), mixed)),
    "Mixture of a stream": (zeros, partial(streamed, lambda: Mixture(2, "poisson", **few), mixed)),
    "GLM": (zeros, partial(fitted, partial(GLM, "poisson"), regressed)),
    "LogisticRegression": (zeros, partial(fitted, partial(LogisticRegression, 0.5), logistic)),
    "dropin.BernoulliNB": (zeros, partial(fitted, dropin.BernoulliNB, theirs)),
    "dropin.ComplementNB": (zeros, partial(fitted, dropin.ComplementNB, theirs)),
    "dropin.MultinomialNB": (zeros, partial(fitted, dropin.MultinomialNB, theirs)),
    "Poisson().posterior": (zeros, partial(of_family, suffice.Poisson())),
}  # fmt: skip


@pytest.mark.parametrize("name", SPARSE_FITS)
def test_sparse_rows(name):
    table, fit = SPARSE_FITS[name]
    wanted = reference(fit, scipy.sparse.csr_array(table), y + 1.0, weights)
    law({"dense": np.asarray}, lambda layout: fit(layout(table), y + 1.0, weights), wanted, lambda _: 1e-7)

    def fit_and_leave_alone(layout):
        given = layout(table)
        before = given.copy()
        found = fit(given, y + 1.0, weights)
        if hasattr(given, "indptr"):
            for part in ("data", "indices", "indptr"):
                np.testing.assert_array_equal(getattr(given, part), getattr(before, part))
        return found

    law(SPARSE, fit_and_leave_alone, wanted, tolerance=almost)


def outside(which, place, value, kind=scipy.sparse.csr_array):
    """Return sparse rows one of whose parts points outside of them."""
    rows = kind(zeros)
    part = getattr(rows, which).copy()
    part[place] = value
    setattr(rows, which, part)
    return rows


@pytest.mark.parametrize("name", SPARSE_FITS)
@pytest.mark.parametrize(
    ("which", "place", "value"),
    [("indices", 3, 3), ("indices", 3, -5), ("indptr", -1, 10**6), ("indptr", 4, 2), ("indptr", 0, 1)],
)
def test_sparse_rows_that_point_outside_of_themselves_are_refused(name, which, place, value):
    _, fit = SPARSE_FITS[name]
    with pytest.raises(ValueError, match="check_format"):
        fit(outside(which, place, value), y + 1.0, weights)


@pytest.mark.parametrize("kind", [scipy.sparse.csc_array, scipy.sparse.bsr_matrix])
@pytest.mark.parametrize(("which", "value"), [("indices", 50), ("indices", -5), ("indptr", 10**6)])
def test_other_formats_that_point_outside_of_themselves_are_refused_before_they_are_converted(kind, which, value):
    with pytest.raises(ValueError, match="check_format"):
        NaiveBayes("poisson").fit(outside(which, 2, value, kind), y)


# -- the rest ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("make", [NaiveBayes, partial(GaussianDiscriminant, "full")])
def test_soft_labels(make, missing):
    model = partial(make, max_iter=3)
    given = np.where((np.arange(N) % 4 == 3)[:, None], np.nan, soft) if missing else soft
    fit = partial(fitted, model, classified)
    # names of columns are names of classes
    frames = {name: frame for name, frame in FRAMES.items() if "objects" not in name}

    def named(layout):
        found = fit(X, layout(given), weights)
        return [np.unique(found[0], return_inverse=True)[1], *found[1:]]

    law(ARRAYS, lambda layout: fit(X, layout(given), weights), reference(fit, X, given, weights))
    law(frames, named, reference(named, np.asarray))


@pytest.mark.parametrize("what", ["offset", "exposure"])
def test_offsets_and_exposures(what):
    values = offset if what == "offset" else np.exp2(4.0 * offset)

    def fit(given):
        model = GLM("poisson").fit(X, y, weights, **{what: given})
        found = [model.coef_, model.std_errors_, model.predict(X, **{what: given})]
        return [*found, [model.score(X, y, weights, **{what: given})]]

    law(ARRAYS | COLUMNS, lambda layout: fit(layout(values)), fit(values))


@pytest.mark.parametrize("start", [y, soft], ids=["labels", "responsibilities"])
def test_the_start_of_a_mixture(start):
    def fit(init):
        return mixed(Mixture(3, init=init, max_iter=2, tol=0.0).fit(X, sample_weight=weights), X)

    layouts = ARRAYS | ({} if start is soft else COLUMNS | INTEGERS)
    law(layouts, lambda layout: fit(layout(1.0 * start)), reference(fit, start))


def test_rows_without_a_label():
    fit = partial(fitted, partial(NaiveBayes, missing_label=-1.0, max_iter=3), classified)
    labels = np.where(np.arange(N) % 2 == 0, y + 1.0, -1.0)
    signed = {name: make for name, make in INTEGERS.items() if "uint" not in name}
    law(ARRAYS | COLUMNS | signed, lambda layout: fit(X, layout(labels), weights), reference(fit, X, labels, weights))


def test_scores_with_weights():
    model = reference(Mixture(2, **few).fit, X)

    def scores(w):
        return [[model.score(X, sample_weight=w), model.bic(X, w), model.aic(X, w), model.icl(X, w)]]

    law(ARRAYS | COLUMNS, lambda layout: scores(layout(weights)), scores(weights))


def test_rows_to_explain_and_to_transform():
    model = GaussianDiscriminant("tied").fit(X, y)

    def results(rows):
        found = model.explain(rows)
        return [found.contributions, found.baseline, model.transform(rows), model.mahalanobis(rows)]

    unnamed = ARRAYS | INTEGERS
    law(unnamed, lambda layout: results(layout(X)), results(X), tolerance=almost)
    model.fit(FRAMES["pandas"](X), y)
    law(FRAMES, lambda layout: results(layout(X)), results(FRAMES["pandas"](X)), tolerance=almost)


@pytest.mark.torch
@pytest.mark.parametrize("name", ALL)
def test_torch(name):
    torch = pytest.importorskip("torch")
    table, fit = ALL[name]
    layouts = {
        "tensor": torch.tensor,
        "strided": lambda a: torch.tensor(np.repeat(a, 2, axis=0))[::2],
        "needs a gradient": lambda a: torch.tensor(a, requires_grad=True),
    }
    wanted = reference(fit, table, y + 1.0, weights)
    law(layouts_for(name, layouts), lambda layout: fit(table, y + 1.0, layout(weights)), wanted)
    if name in DROP_INS:
        del layouts["needs a gradient"]  # scikit-learn takes no such labels
    if name not in UNLABELLED | FAMILIES:
        law(layouts_for(name, layouts), lambda layout: fit(table, layout(y + 1.0), weights), wanted)
    if not name.startswith("dropin"):
        law(
            layouts_for(name, layouts),
            lambda layout: fit(layout(table), y + 1.0, weights),
            wanted,
            tolerance=lambda _: 1e-7,  # sums in another order, which EM carries on
        )
