"""Sums add: stats(a) + stats(b) = stats(a ++ b), (a + b) − b = a, and the empty statistic is the identity."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given

from suffice import GenerativeClassifier
from suffice.families import Codes
from suffice.statistics.responsibilities import Labels, SoftLabels

from .cases import (
    BERNOULLI,
    CASES,
    CATEGORICAL,
    EXPONENTIAL,
    GAUSSIANS,
    MULTINOMIAL,
    NEGATIVE_BINOMIAL,
    POISSON,
    Shape,
    assert_same_model,
    assert_same_statistics,
    each,
    law,
    shapes,
)


def _sums(case, x, y, weight=None, k=None):
    return case.family.statistics(case.encode(x), Labels(y, weight, int(y.max()) + 1 if k is None else k))


def _halves(case, shape):
    x, y = case.table(shape)
    weight = shape.rng.uniform(0.1, 3.0, len(x))
    cut = int(shape.rng.integers(1, len(x)))
    return (x[:cut], y[:cut], weight[:cut]), (x[cut:], y[cut:], weight[cut:]), (x, y, weight)


@each(CASES)
@law
@given(shape=shapes())
def test_statistics_of_two_parts_add_up_to_those_of_the_whole(case, shape):
    a, b, whole = _halves(case, shape)
    merged = _sums(case, *a, k=shape.k) + _sums(case, *b, k=shape.k)
    assert_same_statistics(merged, _sums(case, *whole, k=shape.k), scale=100.0)


@each(CASES)
@law
@given(shape=shapes())
def test_statistics_of_soft_labels_add_up_to_those_of_the_whole(case, shape):
    x, _ = case.table(shape)
    weights = shape.rng.dirichlet(np.ones(shape.k), size=len(x))
    cut = len(x) // 3

    def sums(rows):
        return case.family.statistics(case.encode(x[rows]), SoftLabels(weights[rows]))

    merged = sums(slice(None, cut)) + sums(slice(cut, None))
    assert_same_statistics(merged, sums(slice(None)), scale=100.0)


@each(CASES)
@law
@given(shape=shapes())
def test_statistics_that_were_added_can_be_taken_out_again(case, shape):
    a, b, _ = _halves(case, shape)
    first, second = _sums(case, *a, k=shape.k), _sums(case, *b, k=shape.k)
    left = first + second - second
    # a class that has no rows left has no mean to speak of
    present = np.bincount(a[1], minlength=shape.k) > 0
    for name, values in _by_class(first, present).items():
        np.testing.assert_allclose(_by_class(left, present)[name], values, rtol=1e-9, atol=1e-9, err_msg=name)


@each(CASES)
@law
@given(shape=shapes())
def test_a_weighted_sum_of_statistics_is_that_of_weighted_rows(case, shape):
    a, b, _ = _halves(case, shape)
    parts = [_sums(case, *a, k=shape.k), _sums(case, *b, k=shape.k), _sums(case, *a, k=shape.k)]
    combined = type(parts[0]).combined(parts, (0.5, 2.0, 1.0))
    assert_same_statistics(combined, parts[0].times(1.5) + parts[1].times(2.0), scale=100.0)
    back = type(parts[0]).combined([combined, parts[1]], (1.0, -2.0))
    present = np.bincount(a[1], minlength=shape.k) > 0
    for name, values in _by_class(parts[0].times(1.5), present).items():
        np.testing.assert_allclose(_by_class(back, present)[name], values, rtol=1e-8, atol=1e-8, err_msg=name)


def _by_class(statistics, present):
    if not hasattr(statistics, "center"):
        return statistics.arrays()
    scatter = statistics.scatter if "second" in statistics.class_fields else statistics.scatter[None]
    scatter = scatter[present] if "second" in statistics.class_fields else scatter
    return {"count": statistics.count, "mean": statistics.mean[present], "scatter": scatter}


@each(CASES)
@law
@given(shape=shapes())
def test_the_empty_statistic_changes_nothing_on_either_side(case, shape):
    x, y = case.table(shape)
    sums = _sums(case, x, y)
    empty = case.family.empty(shape.k, shape.d)
    for same in (sums + empty, empty + sums, sums - empty, case.family.empty(0, shape.d) + sums):
        assert_same_statistics(same, sums, rtol=1e-15)


@each(CASES)
@law
@given(shape=shapes())
def test_statistics_over_fewer_classes_still_add(case, shape):
    x, y = case.table(shape)
    early = y < shape.k - 1
    some, rest = _sums(case, x[early], y[early], k=shape.k - 1), _sums(case, x[~early], y[~early], k=shape.k)
    whole = _sums(case, x, y)
    assert_same_statistics(some + rest, whole)
    assert_same_statistics(rest + some, whole)


@law
@given(shape=shapes())
def test_counts_over_fewer_categories_still_add(shape):
    x, y = CATEGORICAL.table(shape)
    few = (x < 2).all(1)
    labels = Labels(y, None, shape.k)
    narrow = CATEGORICAL.family.statistics(Codes(x[few], np.full(shape.d, 2)), Labels(y[few], None, shape.k))
    wide = CATEGORICAL.family.statistics(CATEGORICAL.encode(x[~few]), Labels(y[~few], None, shape.k))
    whole = CATEGORICAL.family.statistics(CATEGORICAL.encode(x), labels)
    assert_same_statistics(narrow + wide, whole)
    assert_same_statistics(wide + narrow, whole)
    assert_same_statistics(whole - narrow, wide)


@each(GAUSSIANS)
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_merge_exactly_far_from_zero(case, offset):
    x, y = case.table(Shape(3, 40, 3, 3))
    near = _sums(case, x, y)
    x = x + offset
    merged = _sums(case, x[:20], y[:20], k=3) + _sums(case, x[20:], y[20:], k=3)
    # the cells themselves are rounded to 1.5e-8 there
    np.testing.assert_allclose(merged.scatter, near.scatter, rtol=1e-6, atol=1e-6)


@each(CASES)
def test_statistics_cannot_be_changed(case):
    x, y = case.table(Shape(0, 5, 2, 2))
    for values in _sums(case, x, y).arrays().values():
        if values.dtype == np.float64:
            with pytest.raises(ValueError, match="read-only"):
                values[...] = 0.0


# -- whole models -----------------------------------------------------------------------------------------------


@each(CASES)
@law
@given(shape=shapes())
def test_models_of_two_parts_merge_into_the_model_of_the_whole(case, shape):
    x, y = case.table(shape)
    order = np.argsort(y == 0, kind="stable")  # the second part has a class that the first has not
    x, y = x[order], y[order]
    cut = int(np.sum(y != 0)) // 2 + 2
    a = case.model().partial_fit(x[:cut], y[:cut])
    b = case.model().partial_fit(x[cut:], y[cut:])
    whole = case.model().fit(x, y)
    for merged in (a.statistics_ + b.statistics_, b.statistics_ + a.statistics_):
        model = type(whole).from_statistics(merged, families=case.family)
        assert_same_model(model, whole, x)


@each(CASES)
@law
@given(shape=shapes())
def test_a_model_forgets_rows_as_if_it_had_never_seen_them(case, shape):
    x, y = case.table(shape)
    weight = shape.rng.uniform(0.1, 3.0, len(x))
    forgotten = shape.rng.random(len(x)) < 0.3
    forgotten[y == shape.k - 1] = shape.seed % 2 == 0 and shape.k > 2  # at times a whole class is forgotten
    if not forgotten.any():
        forgotten[0] = True
    kept = ~forgotten
    assume(len(np.unique(y[kept])) > 1)  # a classifier needs two classes
    everyone = case.model().partial_fit(x, y, sample_weight=weight).statistics_
    some = case.model().partial_fit(x[forgotten], y[forgotten], sample_weight=weight[forgotten]).statistics_
    reduced = type(case.model()).from_statistics(everyone - some, families=case.family)
    assert_same_model(reduced, case.model().fit(x[kept], y[kept], sample_weight=weight[kept]), x[kept], rtol=1e-8)


def _words(seed, n, letters):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "word": rng.choice(np.array(list(letters), dtype=object), n),
            "flag": rng.random(n) < 0.4,
        }
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_classes_and_categories_are_matched_by_name(seed, weighted):
    a, b = _words(seed, 40, "pqrs"), _words(seed + 100, 30, "srxa")
    labels_a = np.array(["u", "v"] * 20, dtype=object)
    labels_b = np.array(["w", "u", "a"] * 10, dtype=object)
    rng = np.random.default_rng(seed)
    weight_a, weight_b = (rng.uniform(0.1, 1.0, n) if weighted else np.ones(n) for n in (40, 30))
    one = GenerativeClassifier().fit(a, labels_a, weight_a)
    two = GenerativeClassifier().fit(b, labels_b, weight_b)
    both, labels = pd.concat([a, b], ignore_index=True), np.concatenate([labels_a, labels_b])
    whole = GenerativeClassifier().fit(both, labels, np.concatenate([weight_a, weight_b]))
    merged = GenerativeClassifier.from_statistics(one.statistics_ + two.statistics_)
    assert merged.statistics_.schema.categories == whole.statistics_.schema.categories
    assert_same_model(merged, whole, both)
    back = GenerativeClassifier.from_statistics(one.statistics_ + two.statistics_ - two.statistics_)
    assert back.statistics_.schema.categories == one.statistics_.schema.categories
    assert_same_model(back, one, both)


#: four rows to keep, and one that comes three more times
_KEPT_AND_FORGOTTEN = {
    BERNOULLI: ([[0.0], [1.0], [0.0], [1.0]], [1.0]),
    CATEGORICAL: ([[0], [1], [0], [1]], [2]),
    MULTINOMIAL: ([[2.0, 0.0], [1.0, 1.0], [3.0, 0.0], [2.0, 2.0]], [0.0, 4.0]),
    POISSON: ([[0.0], [1.0], [0.0], [2.0]], [4.0]),
    EXPONENTIAL: ([[0.5], [1.0], [0.0], [2.5]], [4.5]),
    NEGATIVE_BINOMIAL: ([[0.0], [1.0], [0.0], [2.0]], [4.0]),
}


@each(list(_KEPT_AND_FORGOTTEN))
@pytest.mark.parametrize("weights", [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], ids=["left-above-zero", "left-below-zero"])
def test_rows_forgotten_one_by_one_leave_nothing_behind(case, weights):
    """In floating point 0.1 + 0.2 + 0.3 − 0.1 − 0.2 − 0.3 is a little more than 0, and the other way round less."""
    kept, forgotten = _KEPT_AND_FORGOTTEN[case]
    x, y = np.array([*kept, forgotten, forgotten, forgotten]), np.array([0, 1, 0, 1, 0, 0, 0])
    weight = np.array([1.0, 1.0, 1.0, 1.0, *weights])
    left = case.model().fit(x, y, weight).statistics_
    for i in (4, 5, 6):
        row = slice(i, i + 1)
        left = left - case.model().partial_fit(x[row], y[row], sample_weight=weight[row]).statistics_
    never = case.model(prior=None).fit(x[:4], y[:4])
    assert left.schema.categories == never.statistics_.schema.categories
    reduced = GenerativeClassifier.from_statistics(left, families=case.family, prior=None)
    assert_same_model(reduced, never, x[:4])


@each(list(_KEPT_AND_FORGOTTEN))
def test_rows_that_were_never_added_cannot_be_taken_out(case):
    kept, other = _KEPT_AND_FORGOTTEN[case]
    known = case.model().fit(np.array(kept), [0, 1, 0, 1]).statistics_
    strange = case.model().partial_fit(np.array([other]), [0]).statistics_
    with pytest.raises(ValueError, match="only be subtracted from sums that contain them"):
        known - strange


def test_more_cannot_be_taken_out_than_was_put_in():
    x, y = GAUSSIANS[0].table(Shape(1, 10, 2, 2))
    all_rows = GAUSSIANS[0].model().fit(x, y).statistics_
    with pytest.raises(ValueError, match="only be subtracted from sums that contain them"):
        all_rows - (all_rows + all_rows)
