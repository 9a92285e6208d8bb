"""Which family a column came from, by BIC."""

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import FamilyRanking, best_family, distribution

RNG = np.random.default_rng
COLUMNS = {
    "gaussian": lambda rng: rng.normal(3.0, 2.0, 2000),
    "exponential": lambda rng: rng.exponential(2.0, 2000),
    "gamma": lambda rng: rng.gamma(3.0, 2.0, 2000),
    "inverse_gaussian": lambda rng: rng.wald(2.0, 3.0, 2000),
    "lognormal": lambda rng: rng.lognormal(1.0, 0.8, 2000),
    "beta": lambda rng: rng.beta(2.0, 3.0, 2000),
    "poisson": lambda rng: rng.poisson(4.0, 2000),
    "geometric": lambda rng: rng.geometric(0.3, 2000) - 1,
    "negative_binomial": lambda rng: rng.negative_binomial(4.0, 0.3, 2000),
    "bernoulli": lambda rng: rng.random(2000) < 0.3,
    "categorical": lambda rng: rng.choice(["ash", "elm", "oak"], 2000),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_family_that_a_column_came_from_is_the_best(name):
    ranking = best_family(COLUMNS[name](RNG(1)))
    assert ranking[0].family == name
    assert ranking.best is ranking[0].distribution
    bics = [row.bic for row in ranking]
    assert bics == sorted(bics)


def test_bic_and_aic_are_those_of_the_textbook():
    x = COLUMNS["gamma"](RNG(2))
    row = best_family(x)["gamma"]
    log_likelihood = suffice.Gamma().fit(x).log_prob(x).sum()
    assert row.log_likelihood == pytest.approx(log_likelihood)
    assert row.bic == pytest.approx(2 * np.log(2000) - 2 * log_likelihood)
    assert row.aic == pytest.approx(4 - 2 * log_likelihood)
    assert row.n_parameters == 2


def test_the_shape_of_a_negative_binomial_is_fitted_and_counted():
    x = COLUMNS["negative_binomial"](RNG(3))
    row = best_family(x)["negative_binomial"]
    assert row.n_parameters == 2
    shape = row.distribution.family.shape
    assert shape == pytest.approx(4.0, rel=0.2)
    for other in (0.95 * shape, 1.05 * shape):
        assert suffice.NegativeBinomial(other).fit(x).log_prob(x).sum() < row.log_likelihood


def test_weight_two_is_the_row_twice_and_weight_zero_its_absence():
    x = COLUMNS["poisson"](RNG(4))[:300]
    weight = RNG(5).integers(0, 3, 300)
    weighted, repeated = best_family(x, weight), best_family(np.repeat(x, weight))
    assert [row.family for row in weighted] == [row.family for row in repeated]
    np.testing.assert_allclose([row.bic for row in weighted], [row.bic for row in repeated], rtol=1e-7)


def test_counts_are_compared_with_counts_and_smooth_ones_with_densities_too():
    few = {row.family for row in best_family(RNG(6).poisson(4.0, 500))}
    assert few == {"poisson", "geometric", "negative_binomial", "categorical"} or few == {
        "poisson",
        "geometric",
        "categorical",
    }
    many = {row.family for row in best_family(RNG(6).poisson(400.0, 500))}
    assert {"poisson", "gaussian", "gamma"} <= many
    below_zero = {row.family for row in best_family(RNG(6).poisson(4.0, 500) - 9)}
    assert below_zero == {"gaussian"}


def test_zeros_and_negative_numbers_and_ones_rule_families_out():
    x = RNG(7).beta(2.0, 3.0, 200)
    assert "beta" in {row.family for row in best_family(x)}
    assert "beta" not in {row.family for row in best_family([*x, 1.0])}
    assert {row.family for row in best_family([*x, 0.0])} == {"gaussian", "exponential"}
    assert {row.family for row in best_family([*x, -0.5])} == {"gaussian"}


def test_columns_of_data_frames_with_missing_cells_are_read():
    polars = pytest.importorskip("polars")
    x = COLUMNS["gamma"](RNG(8))
    with_missing_cells = np.where(np.arange(2000) % 10 == 0, np.nan, x)
    plain = best_family(x[np.arange(2000) % 10 != 0])
    for column in (
        pd.Series(with_missing_cells),
        pd.DataFrame({"x": with_missing_cells}),
        polars.Series(with_missing_cells),
        with_missing_cells[:, None],
    ):
        assert [row.bic for row in best_family(column)] == [row.bic for row in plain]
    assert best_family(pd.Series(["a", None, "b", "a"])).best.family.name == "categorical"
    assert best_family(pd.Series([True, None, False], dtype=object)).best.family.name == "bernoulli"
    assert best_family(pd.Series([1, None, 3, 4, 0])).table[0].family in ("poisson", "geometric", "negative_binomial")


def test_what_cannot_be_ranked_is_said():
    with pytest.raises(ValueError, match=r"takes one column, but x has shape \(3, 2\)"):
        best_family(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="at least one cell"):
        best_family([np.nan, np.nan])
    with pytest.raises(ValueError, match="row 1 holds inf"):
        best_family([1.0, np.inf])
    with pytest.raises(ValueError, match="sample_weight needs one number per row"):
        best_family([1.0, 2.5], [1.0])
    constant = best_family(np.full(20, 2.5))
    assert [row.family for row in constant] == ["exponential"]
    assert set(constant.skipped) == {"gaussian", "gamma", "inverse_gaussian", "lognormal"}
    assert "left out" in repr(constant)
    with pytest.raises(ValueError, match="no family fits this column"):
        best_family(np.full(20, -2.5))


def test_a_column_far_from_zero_is_gaussian():
    ranking = best_family(1e8 + RNG(11).normal(size=500))
    assert ranking.best.family == suffice.Gaussian()
    assert ranking.best.variance() == pytest.approx(1.0, rel=0.2)
    assert {"gamma", "inverse_gaussian"} <= set(
        ranking.skipped
    )  # their shapes are too large to tell from infinite ones


def test_the_ranking_prints_as_a_table():
    ranking = best_family(COLUMNS["gamma"](RNG(9)))
    lines = repr(ranking).splitlines()
    assert lines[0].split() == ["family", "BIC", "AIC", "log-likelihood", "parameters"]
    assert lines[1].startswith("gamma ")
    assert len(lines) == 1 + len(ranking) == 6
    with pytest.raises(KeyError, match="'beta' is not among"):
        ranking["beta"]


@pytest.mark.parametrize("name", COLUMNS)
def test_the_plot_has_the_data_and_the_best_families(name):
    ranking = best_family(COLUMNS[name](RNG(10)))
    ax = ranking.plot(most=2)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "data" in texts
    assert any(text.startswith(name.replace("_", " ")) for text in texts)
    assert len(texts) == 1 + min(2, len(ranking))
    assert ax.get_xlabel() == "value"
    assert ax.get_ylabel() in ("density", "probability")
    assert ranking.plot(ax) is ax


def test_a_distribution_by_name():
    assert distribution("gamma") == suffice.Gamma()
    assert distribution("Inverse Gaussian") == suffice.InverseGaussian()
    assert distribution("Log-Normal") == suffice.LogNormal()
    assert distribution("negative-binomial", shape=2.0) == suffice.NegativeBinomial(2.0)
    assert distribution("normal") == suffice.Gaussian()
    with pytest.raises(ValueError, match="unknown family 'weibull'"):
        distribution("weibull")
    assert isinstance(best_family([1.0, 2.5]), FamilyRanking)


def test_importing_the_library_imports_no_plotting():
    code = "import sys, suffice; print([m for m in ('matplotlib', 'suffice.plot.ranking') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_densities_of_whole_numbers_from_zero_are_drawn_where_they_are():
    ranking = best_family(np.append(np.floor(RNG(12).exponential(30.0, 400)), 0.0))
    ax = ranking.plot(most=len(ranking))
    assert {line.get_label().split(" (")[0] for line in ax.lines} == {row.family.replace("_", " ") for row in ranking}
    (curve,) = (line for line in ax.lines if line.get_label().startswith("exponential"))
    assert min(curve.get_xdata()) > 0.0
    for x in (RNG(12).gamma(2.0, 30.0, 400).round() + 1.0, RNG(12).wald(60.0, 60.0, 400).round() + 1.0):
        ranked = best_family(x)
        assert len(ranked.plot(most=9).lines) == len(ranked)


def test_a_plot_needs_a_family_at_least():
    ranking = best_family(COLUMNS["gamma"](RNG(9)))
    for most in (0, -1, 1.5):
        with pytest.raises(ValueError, match=f"most must be a whole number of at least 1, but is {most}"):
            ranking.plot(most=most)


def test_cells_whose_squares_overflow_leave_families_out_and_say_so():
    x = RNG(13).gamma(2.0, 1e200, 200)
    ranking = best_family(x)
    assert ranking[0].family == "gamma"
    assert ranking["gamma"].distribution.shape == pytest.approx(suffice.Gamma().fit(x / 1e200).shape)
    assert "overflow for cells of size 9e+200" in ranking.skipped["gaussian"]
    assert max(map(len, repr(ranking).splitlines()[:-1])) < 80
    with pytest.raises(ValueError, match=r"divide the column by a constant'\}$"):
        best_family(RNG(13).normal(size=20) * 1e200)


def test_arrow_nulls_are_missing_and_decimals_are_numbers():
    pa = pytest.importorskip("pyarrow")
    expected = best_family([1.5, 2.25, 4.0]).table[0].bic
    for column in (pa.array([1.5, None, 2.25, 4.0]), pa.chunked_array([[1.5, None], [2.25, 4.0]])):
        assert best_family(column).table[0].bic == expected
    decimals = [Decimal("1.5"), Decimal("2.25"), None, Decimal("4"), Decimal("NaN")]
    assert best_family(decimals).table[0].bic == expected
    assert best_family(pa.array([3, None, 0, 5])).table[0].bic == best_family([3, 0, 5]).table[0].bic
    assert best_family(pa.array(["a", None, "b"])).best.family.name == "categorical"
    assert best_family(pa.array([True, None, False])).best.family.name == "bernoulli"


def test_values_that_vary_too_little_for_their_size_are_not_called_one_value():
    ranking = best_family(1e8 + RNG(11).normal(size=500))
    for name in ("gamma", "inverse_gaussian"):
        assert "further apart than the rounding of numbers of their size" in ranking.skipped[name]
        assert "only one" not in ranking.skipped[name]
