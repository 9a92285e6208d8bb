"""Whatever is printed as a table is also a data frame, in the library of the training table."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from suffice import (
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianDiscriminant,
    LogNormal,
    MixtureSearch,
    Multinomial,
    NaiveBayes,
    best_family,
    compare,
    stream,
)
from suffice.tables.results import result_frame

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
WEATHER = {"sky": ["sun", "rain", None, "sun"] * 5, "wind": [3.0, 20.0, 24.0, None] * 5, "calm": [True, False] * 10}
PLAYED = ["play", "stay", "stay", "play"] * 5
SIZES = np.random.default_rng(0).normal(size=(40, 2))


def results(table):
    model = NaiveBayes().fit(table, PLAYED)
    numbers = type_of(table)({"wind": [1.0, 2.5, 9.0, 12.0] * 5})
    yield model.explain(table)
    yield model.check(table, PLAYED)
    yield best_family(numbers["wind"])
    yield compare(NaiveBayes(), NaiveBayes(prior=None), numbers, np.array(PLAYED), sizes=[4, 8], n_splits=2)
    yield MixtureSearch(2, covariance=["EII", "VVI"]).fit(numbers)


def type_of(table):
    return next(make for name, make in FRAMES.items() if isinstance(table, KINDS[name]))


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_result_is_a_frame_of_the_library_of_training_unless_another_is_asked_for(library):
    for result in results(FRAMES[library](WEATHER)):
        assert isinstance(result.to_frame(), KINDS[library]), result
        for other, kind in KINDS.items():
            frame = result.to_frame(other)
            assert isinstance(frame, kind)
            assert len(frame) > 0


def test_the_contributions_of_a_row_sum_to_its_log_odds():
    table = pd.DataFrame(WEATHER)
    explanation = NaiveBayes().fit(table, PLAYED).explain(table)
    frame = explanation.to_frame()
    assert frame.groupby("row")["contribution"].sum().to_numpy() == pytest.approx(explanation.log_odds)
    assert list(frame.columns) == ["row", "target", "against", "column", "value", "contribution"]
    assert frame["column"].tolist()[:4] == ["(baseline)", "sky", "wind", "calm"]
    assert frame["value"].tolist()[1:4] == ["sun", "3.0", "True"]
    assert frame["value"].isna().tolist()[8:12] == [True, True, False, False]


def test_values_are_numbers_if_all_columns_are_numbers_and_missing_if_they_were_read_from_a_stream():
    y = SIZES[:, 0] > 0
    model = NaiveBayes().fit(SIZES, y)
    assert model.explain(SIZES).to_frame("pandas")["value"].dropna().tolist() == SIZES.ravel().tolist()
    streamed = model.explain(stream(lambda: iter([SIZES])))
    assert streamed.to_frame("pandas")["value"].isna().all()
    assert streamed.cells(0) == [None, None]


def test_columns_in_another_order_keep_their_values():
    table = pd.DataFrame(WEATHER)
    model = NaiveBayes().fit(table, PLAYED)
    turned = model.explain(table[["calm", "wind", "sky"]]).to_frame()
    pd.testing.assert_frame_equal(turned, model.explain(table).to_frame())


def test_a_comparison_has_the_means_over_the_splits_and_their_standard_errors():
    y = SIZES[:, 0] > 0
    curves = compare(NaiveBayes(), GaussianDiscriminant(), SIZES, y, sizes=[8, 20], n_splits=4)
    frame = curves.to_frame("pandas").set_index(["model", "rows"])
    assert frame.loc[("NaiveBayes", 20), "error"] == pytest.approx(curves.error[0, 1].mean())
    of_four = curves.log_loss[1, 0].std(ddof=1) / 2
    assert frame.loc[("GaussianDiscriminant", 8), "log_loss_se"] == pytest.approx(of_four)
    assert (frame["splits"] == 4).all()


def test_a_posterior_has_the_mean_and_the_interval_of_each_parameter():
    sky = Categorical().posterior([["sun", "a"], ["rain", "b"], ["sun", "a"]]).to_frame(0.9, "pandas")
    assert sky[["column", "of"]].to_numpy().tolist() == [[0, "sun"], [0, "rain"], [1, "a"], [1, "b"]]
    assert sky["mean"].tolist() == pytest.approx([3 / 5, 2 / 5, 3 / 5, 2 / 5])
    for family, rows, names in (
        (Bernoulli(), SIZES > 0, {"probability"}),
        (Multinomial(), SIZES > 0, {"probability"}),
        (Gaussian("full"), SIZES, {"mean", "variance"}),
        (Gaussian("tied-spherical"), SIZES, {"mean", "variance"}),
        (LogNormal(), np.exp(SIZES), {"mean of log x", "variance of log x"}),
    ):
        frame = family.posterior(rows).to_frame(library="pandas")
        assert set(frame["parameter"]) == names
        assert len(frame) == 2 * len(names)
        assert ((frame["low"] < frame["mean"]) & (frame["mean"] < frame["high"])).all()


def test_words_among_numbers_become_text_and_nothing_else_does():
    frame = result_frame({"mixed": [1.5, "a", None], "numbers": [1, 2.5, None], "flags": [True, None, False]}, "polars")
    assert frame["mixed"].to_list() == ["1.5", "a", None]
    assert frame["numbers"].to_list() == [1.0, 2.5, None]
    assert frame["flags"].to_list() == [True, None, False]


def test_a_library_that_is_not_installed_is_replaced_unless_it_is_asked_for():
    assert isinstance(result_frame({"a": [1]}, known="modin"), pd.DataFrame)
    with pytest.raises(ValueError, match="library must be one of 'pandas', 'polars', 'pyarrow', not 'modin'"):
        result_frame({"a": [1]}, "modin")


@pytest.mark.parametrize(
    ("asked", "absent", "said"),
    [
        ("'polars'", ["polars"], "takes polars, which is not installed; pip install polars"),
        ("None", ["pandas", "polars", "pyarrow"], "none of them is installed; pip install pandas"),
    ],
)
def test_what_is_not_installed_is_named_with_the_remedy(asked, absent, said):
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent!r}))\n"
        f"from suffice.tables.results import result_frame; print(type(result_frame({{'a': [1]}}, {asked})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said in done.stdout + done.stderr
