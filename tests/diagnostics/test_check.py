"""Whether assumptions hold: known figures, and what is said of data made to keep or to break them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris

from suffice import Gaussian, GaussianDiscriminant, GenerativeClassifier, NaiveBayes, Poisson
from suffice.diagnostics.dependence import dependence, residuals
from suffice.diagnostics.measures import box_m, box_m_of_columns, dispersion, mardia, skewed_columns

X, y_iris = load_iris(return_X_y=True)


def found(model, X, y, assumption):
    return next(f for f in model.fit(X, y).check(X, y).findings if f.assumption == assumption)


def test_mardia_of_setosa_agrees_with_published_figures():
    # MVN (R): skewness statistic 25.66434, kurtosis statistic 1.294992
    skewness, kurtosis = mardia(X[:50])
    assert 50 * skewness.statistic / 6 == pytest.approx(25.66434, abs=1e-4)
    assert (kurtosis.statistic - 24) / np.sqrt(8 * 24 / 50) == pytest.approx(1.294992, abs=1e-5)


def test_box_m_of_iris_agrees_with_published_figures():
    # heplots (R): chi-squared 140.94 with 20 degrees of freedom
    measure = box_m([X[y_iris == c] for c in range(3)])
    assert np.log(measure.p) == pytest.approx(stats.chi2.logsf(140.94, 20), abs=0.01)


def test_the_two_ways_to_third_moments_agree():
    rows = np.random.default_rng(0).exponential(size=(30, 6))
    many = np.vstack([rows] * 4)  # 120 rows take the other way
    assert mardia(rows)[0].statistic == pytest.approx(mardia(many)[0].statistic, rel=1e-9)


@pytest.mark.parametrize("d", [1, 3, 8])
def test_p_values_are_uniform_where_the_assumption_holds(d):
    rng = np.random.default_rng(d)
    skewness, kurtosis, covariances = [], [], []
    for _ in range(300):
        a, b = rng.normal(size=(2, 120, d))
        one, other = mardia(a)
        skewness.append(one.p)
        kurtosis.append(other.p)
        covariances.append(box_m([a, b]).p)
    for p in (skewness, covariances):
        assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert 0.01 < np.mean(np.array(kurtosis) < 0.05) < 0.12  # Mardia's kurtosis is slow to become normal


def test_dependence_of_numbers_is_their_correlation_within_the_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    a = rng.normal(size=4000)
    b = 0.6 * a + 0.8 * rng.normal(size=4000) + 10 * y
    measured = dependence([residuals([a[y == c], b[y == c]]) for c in (0, 1)], [True, True])
    assert measured.correlation[0, 1] == pytest.approx(0.6, abs=0.03)
    assert measured.nats[0, 1] == pytest.approx(-0.5 * np.log(1 - 0.36), abs=0.03)


def test_dependence_of_categories_is_chi_squared():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 2000)
    b = np.where(rng.random(2000) < 0.3, a, rng.integers(0, 4, 2000))
    statistic, p, _, _ = stats.chi2_contingency(pd.crosstab(a, b))
    measured = dependence([residuals([a, b])], [False, False])
    assert measured.p[0, 1] == pytest.approx(p, rel=1e-6)
    assert measured.strength[0, 1] == pytest.approx((statistic - 6) / 2000 / 2, rel=1e-6)


def test_dependence_of_a_number_and_a_category_is_the_correlation_ratio():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 3000)
    b = a + rng.normal(size=3000)
    groups = [b[a == v] for v in range(3)]
    between = sum(len(g) * (g.mean() - b.mean()) ** 2 for g in groups) / (len(b) * b.var())
    measured = dependence([residuals([a, b])], [False, True])
    assert measured.strength[0, 1] == pytest.approx(between - 2 / 3000, rel=1e-6)


def test_missing_cells_are_left_out():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3000))
    b += a
    missing = rng.random(3000) < 0.3
    a[missing] = np.nan
    whole = dependence([residuals([a[~missing], b[~missing]])], [True, True])
    part = dependence([residuals([a, b])], [True, True])
    assert part.correlation[0, 1] == pytest.approx(whole.correlation[0, 1], abs=0.01)


def test_normal_rows_with_one_covariance_pass():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 3000)
    rows = rng.normal(size=(3000, 4)) @ rng.normal(size=(4, 4)) + 3.0 * y[:, None]
    check = GaussianDiscriminant(covariance="tied").fit(rows, y).check(rows, y)
    assert check.holds
    assert {finding.assumption for finding in check.findings} == {"normality", "equal covariances"}


def test_skewed_rows_are_not_normal():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 2000)
    finding = found(NaiveBayes(), rng.exponential(size=(2000, 2)) + y[:, None], y, "normality")
    assert finding.verdict == "broken"
    assert "column" in finding.sentence
    assert "best_family" in finding.sentence


def test_classes_of_different_spread_do_not_share_a_covariance():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 2000)
    rows = rng.normal(size=(2000, 3)) * np.where(y, 3.0, 1.0)[:, None]
    finding = found(GaussianDiscriminant(covariance="tied"), rows, y, "equal covariances")
    assert finding.verdict == "broken"
    assert "covariance='full'" in finding.sentence


def test_a_copied_column_breaks_naive_bayes_and_not_discriminant_analysis():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 2000)
    rows = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["a", "b", "c"])
    rows["copy of a"] = rows["a"] + 0.2 * rng.normal(size=2000)
    finding = found(NaiveBayes(), rows, y, "independence")
    assert finding.verdict == "broken"
    assert "'a' and 'copy of a' (correlation 0.98)" in finding.sentence
    assert "1 of 6 pairs" in finding.sentence
    full = GaussianDiscriminant(covariance="full").fit(rows, y).check(rows, y)
    assert "independence" not in {finding.assumption for finding in full.findings}


def test_columns_of_different_blocks_are_compared():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 2000)
    number = rng.normal(size=2000)
    rows = pd.DataFrame({"word": np.where(number > 0, "high", "low"), "number": number, "other": rng.normal(size=2000)})
    model = GenerativeClassifier(covariance="full")
    finding = found(model, rows, y, "independence")
    assert finding.verdict == "broken"
    assert "'word' and 'number' (Cramér's V" in finding.sentence
    assert "1 of 2 pairs" in finding.sentence  # number and other are one block


def test_counts_that_vary_too_much_for_poisson():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 2000)
    model = GenerativeClassifier(families=Poisson())
    assert found(model, rng.poisson(3.0, size=(2000, 1)), y, "variance of counts").verdict == "holds"
    finding = found(model, rng.negative_binomial(1, 0.2, size=(2000, 1)), y, "variance of counts")
    assert finding.verdict == "broken"
    assert "times its mean" in finding.sentence
    assert dispersion(rng.poisson(3.0, size=(4000, 1)).astype(float))[0].statistic == pytest.approx(1.0, abs=0.1)


def with_missing(rows, seed=0):
    """Return rows with a fifth of the cells missing, a constant column, an empty one and one with few cells."""
    rows = rows.copy()
    rows[np.random.default_rng(seed).random(rows.shape) < 0.2] = np.nan
    rows[:, 0], rows[:, 1], rows[15:, 2] = 0.1, np.nan, np.nan
    return rows


def test_the_normality_of_each_column_is_tested_as_scipy_tests_it():
    rng = np.random.default_rng(0)
    rows = with_missing(np.concatenate([rng.normal(size=(60, 5)), rng.gamma(0.5, size=(60, 5)) + 1e6], axis=1))
    measures = skewed_columns(rows)
    assert [measure is None for measure in measures] == [True] * 3 + [False] * 7
    for column, measure in zip(rows.T[3:], measures[3:], strict=True):
        values = column[~np.isnan(column)]
        expected = stats.normaltest(values)
        assert (measure.statistic, measure.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-6)
        effect = stats.skew(values) ** 2 / 12 + stats.kurtosis(values) ** 2 / 48
        assert measure.effect == pytest.approx(effect, rel=1e-6)


def test_the_variance_of_each_column_is_tested_as_that_of_one_column():
    rng = np.random.default_rng(1)
    groups = [with_missing(rng.normal(size=(n, 6)) * rng.uniform(1, 2, 6) + 1e5, n) for n in (30, 50, 21)]
    measures = box_m_of_columns(groups)
    assert [measure is None for measure in measures] == [True, True] + [False] * 4
    for j, measure in list(enumerate(measures))[2:]:
        columns = [group[~np.isnan(group[:, j]), j] for group in groups]
        one = box_m([column[:, None] for column in columns])
        assert (measure.statistic, measure.p, measure.effect) == pytest.approx((one.statistic, one.p, one.effect))


def test_the_dispersion_of_each_column_is_that_of_its_cells():
    rows = with_missing(np.random.default_rng(2).poisson(2.0, size=(80, 6)).astype(float))
    rows[:, 3] = 0.0
    for column, measure in zip(rows.T, dispersion(rows), strict=True):
        values = column[~np.isnan(column)]
        if len(values) < 2 or values.mean() == 0:
            assert (measure.statistic, measure.p, measure.effect) == (1.0, 1.0, 0.0)
            continue
        ratio = values.var(ddof=1) / values.mean()
        tail = stats.chi2(len(values) - 1)
        p = 2 * min(tail.sf(ratio * (len(values) - 1)), tail.cdf(ratio * (len(values) - 1)))
        assert (measure.statistic, measure.p) == pytest.approx((ratio, p), abs=1e-12)


def test_a_small_effect_is_no_alarm_however_many_rows():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 20_000)
    a = rng.normal(size=20_000)
    rows = np.column_stack([a, 0.1 * a + rng.normal(size=20_000)])  # certain, and of no weight
    assert NaiveBayes().fit(rows, y).check(rows, y).holds


def test_awkward_columns_give_an_answer():
    rng = np.random.default_rng(1)
    y = np.array(["a", "b"])[rng.integers(0, 2, 60)]
    rows = np.column_stack([np.ones(60), rng.normal(size=60), rng.normal(size=60)])
    rows = np.column_stack([rows, rows[:, 1]])
    rows[::7, 2] = np.nan
    for covariance in ("diagonal", "tied-diagonal", "tied", "full", "spherical"):
        model = GenerativeClassifier(families=Gaussian(covariance)).fit(rows, y)
        assert "Checked 60 rows of 2 classes." in str(model.check(rows, y))


def test_labels_that_do_not_fit_are_refused():
    model = NaiveBayes().fit(X, y_iris)
    with pytest.raises(ValueError, match="150 rows and y 149 labels"):
        model.check(X, y_iris[:-1])
    with pytest.raises(ValueError, match="none of the labels is a class"):
        model.check(X, y_iris + 10)


def test_too_few_rows_are_not_called_normal_or_independent():
    check = NaiveBayes().fit(X[::40], y_iris[::40]).check(X[::40], y_iris[::40])
    assert {finding.verdict for finding in check.findings} == {"not checked"}


def test_remedies_fit_the_families():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1000)
    counts = rng.poisson(3.0, size=(1000, 1))
    same = np.column_stack([counts, counts])
    assert "covariance" not in found(NaiveBayes("poisson"), same, y, "independence").sentence
    narrow = found(NaiveBayes("poisson"), rng.binomial(20, 0.95, size=(1000, 1)), y, "variance of counts")
    assert "NegativeBinomial" not in narrow.sentence
