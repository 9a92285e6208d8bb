"""The contributions of `explain` add up exactly to the log-odds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from suffice import Gaussian, GenerativeClassifier

from .cases import CASES, each, law, shapes


def _assert_adds_up(model, x):
    logs = model.predict_log_proba(x)
    classes = model.classes_.tolist()
    for target, against in ((None, None), (classes[0], classes[1]), (classes[-1], classes[0])):
        explanation = model.explain(x, target=target, against=against)
        a, b = (
            np.array([classes.index(label) for label in side]) for side in (explanation.target, explanation.against)
        )
        rows = np.arange(len(logs))
        log_odds = logs[rows, a] - logs[rows, b]
        total = explanation.baseline + explanation.contributions.sum(1)
        np.testing.assert_allclose(total, log_odds, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(explanation.log_odds, total)
    best = model.explain(x)
    np.testing.assert_array_equal(best.target, model.predict(x))
    assert (best.log_odds > -1e-12).all()  # a tie may round to less than 0


@each(CASES)
@law
@given(shape=shapes())
def test_contributions_add_up_to_the_log_odds(case, shape):
    x, y = case.table(shape)
    _assert_adds_up(case.model().fit(x, y), x)


@each([case for case in CASES if case.scores_missing])
@law
@given(shape=shapes())
def test_contributions_add_up_for_rows_with_missing_values_which_add_nothing(case, shape):
    x, y = case.table(shape)
    model = case.model().fit(x if x.dtype == object else x.astype(np.float64), y)
    with_missing_cells = case.with_missing_cells(x, shape.rng, share=0.5)
    _assert_adds_up(model, with_missing_cells)
    assert (model.explain(with_missing_cells).contributions[pd.isna(with_missing_cells)] == 0.0).all()


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_contributions_add_up_for_blocks_of_several_families(covariance):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 90)
    x = np.column_stack(
        [rng.normal(y), rng.normal(-y), rng.poisson(1 + y), rng.random(90) < 0.3, rng.integers(0, 4, 90)]
    )
    families = {(0, 1): Gaussian(covariance), 2: "poisson", 3: "bernoulli", 4: "categorical"}
    model = GenerativeClassifier(families).fit(x, y)
    x[::3, 1], x[::4, 4], x[::5, 2] = np.nan, np.nan, np.nan
    _assert_adds_up(model, x)
    assert model.explain(x).columns == [0, 1, 2, 3, 4]
