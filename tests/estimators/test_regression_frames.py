"""Summaries, intervals and tests of regressions as data frames."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice
from suffice import GLM, LogisticRegression, likelihood_ratio_test

LIBRARIES = {
    "pandas": (lambda f: f, pd.DataFrame),
    "polars": (pl.from_pandas, pl.DataFrame),
    "pyarrow": (pa.table, pa.Table),
}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.normal(size=200), "dose": rng.normal(size=200)}), rng.integers(0, 3, 200)


@pytest.mark.parametrize("library", LIBRARIES)
def test_results_are_frames_of_the_library_of_training(table, library, tmp_path):
    X, y = table
    convert, kind = LIBRARIES[library]
    X = convert(X)
    model = GLM("poisson").fit(X, y)
    suffice.save(model, tmp_path / "glm.suffice")
    for fitted in (model, suffice.load(tmp_path / "glm.suffice")):
        summary = fitted.summary()
        frame = summary.to_frame()
        assert isinstance(frame, kind)
        assert list(getattr(frame, "columns", [])) == [
            "term", "estimate", "std_error", "z", "p_value", "low", "high",
        ] or library == "pyarrow"  # fmt: skip
        np.testing.assert_array_equal(np.asarray(frame["estimate"]), fitted.parameters_)
        assert list(np.asarray(frame["term"])) == ["(intercept)", "age", "dose"]
        intervals = fitted.conf_int(0.9).to_frame()
        assert isinstance(intervals, kind)
        np.testing.assert_array_equal(np.asarray(intervals["low"]), fitted.conf_int(0.9)[:, 0])
        assert isinstance(fitted.predict_interval(X).to_frame(), kind)
    several = LogisticRegression().fit(X, y)
    assert isinstance(several.summary().to_frame(), kind)
    assert list(np.asarray(several.conf_int().to_frame()["term"])) == several.parameter_names_
    assert isinstance(model.summary().to_frame("polars"), pl.DataFrame)
    smaller = GLM("poisson").fit(X[["age"]] if library != "pyarrow" else X.select(["age"]), y)
    test = likelihood_ratio_test(smaller, model)
    frame = test.to_frame()
    assert isinstance(frame, kind)
    assert list(np.asarray(frame["terms"])) == ["dose"]
    assert list(np.asarray(frame["p_value"])) == [test.p_value]


def test_intervals_are_arrays_like_any_other(table):
    X, y = table
    model = GLM().fit(X.to_numpy(), y)
    intervals = model.conf_int()
    assert isinstance(intervals.to_frame(), pd.DataFrame)
    assert list(model.summary().to_frame().columns)[3] == "t"
    low, high = intervals.T
    np.testing.assert_array_equal(low < high, True)
    assert intervals.shape == (3, 2)
    assert intervals[1:].to_frame().columns.tolist() == ["low", "high"]
    with pytest.raises(ValueError, match=r"intervals have two columns, .* shape \(3,\)"):
        low.to_frame()
    again = pickle.loads(pickle.dumps(intervals))
    assert again.to_frame().equals(intervals.to_frame())
    with pytest.raises(ValueError, match="library must be one of 'pandas'"):
        intervals.to_frame("dask")
